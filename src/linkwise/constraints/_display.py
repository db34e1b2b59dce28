"""Constraints and their diagnosis in words, and tables in HTML."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from linkwise._errors import Wording, in_python

from ._builder import KINDS

if TYPE_CHECKING:
    from ._constraints import Constraints
    from ._diagnosis import ClusterCount, Diagnosis


# -------------------------------------------------------------------- words


def explain_count(count: ClusterCount, wording: Wording = in_python) -> str:
    """Explain whether the number of clusters is possible."""
    given = wording("n_clusters", count.n_clusters)
    k, groups = count.n_clusters, [f"{{{shorten(group, ', ')}}}" for group in count.proof[:12]]
    listed = ", ".join([*groups, *["..."] * (len(count.proof) > 12)])
    if count.status == "too small":
        return (
            f"{given} is too small: the {len(count.proof)} groups {listed} must all be "
            f"apart from each other; use at least {count.least}"
        )
    if count.status == "infeasible":
        if not count.proof:
            return "no number of clusters can satisfy constraints that contradict each other"
        reason = "an odd ring of cannot-links" if k == 2 else "exhaustive search"
        return (
            f"{given} cannot keep all cannot-links, proved by {reason} over the "
            f"{len(count.proof)} groups {listed}; use a larger number or drop some cannot-links"
        )
    if count.status == "too large":
        return f"{given} is too large: must-links leave only {count.most} groups of rows"
    if count.status == "undecided":
        return f"whether {k} clusters suffice could not be decided within the time limit"
    if count.status == "feasible":
        return f"{k} clusters can satisfy all cannot-links"
    return f"at least {count.least} clusters are needed"


def chain(rows: Sequence[Hashable], n_rows: int) -> str:
    """Rows linked one to the next: 0-4-7, or with blanks where ids may have dashes themselves.

    Of a long chain, `rows` may hold only the beginning and the last.
    """
    joint = "-" if all(isinstance(row, int) for row in rows) else " - "
    return shorten(rows, joint, 8 if n_rows == len(rows) else len(rows) - 1)


def shorten(rows: Sequence[Hashable], joint: str, most: int = 8) -> str:
    """The rows in one line; the middle of a long list is left out."""
    if len(rows) <= most:
        return joint.join(str(row) for row in rows)
    head = joint.join(str(row) for row in rows[: most - 2])
    return f"{head}{joint}...{joint}{rows[-1]}"


def places(proof: Constraints, most: int = 8) -> str:
    """Where constraints were given: lines of one file together."""
    parts: list[str] = []
    every = [proof._links(kind) for kind in KINDS]
    groups = proof._apart
    source = np.concatenate([*(links.source for links in every), groups.source[groups.group]])
    line = np.concatenate([*(links.line for links in every), groups.line])
    for number in dict.fromkeys(source.tolist()):
        origin, numbers = proof._sources[number], np.unique(line[source == number])
        shown = [f"{n:,}" for n in numbers[:most].tolist()]
        shown += ["..."] * (len(numbers) > most)
        if origin.is_file and len(numbers) > 1:
            parts.append(f"lines {_and(shown)} of {origin.name}")
        else:
            parts.extend(origin.at(n) for n in numbers[:most].tolist())
            parts.extend(["..."] * (len(numbers) > most))
    return _and(parts)


def _and(parts: Sequence[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else "".join(parts)


def count(number: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun: "1 group", "1,200 groups"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def kinds(given: Constraints | Diagnosis) -> list[str]:
    """Number of constraints of each kind that occurs."""
    numbers = [
        (given.n_must_link, "must-link"),
        (given.n_cannot_link, "cannot-link"),
        (given.n_relative, "relative constraint"),
        (given.n_apart, "apart group"),
    ]
    return [count(number, noun) for number, noun in numbers if number]


def diagnosis_lines(diagnosis: Diagnosis, wording: Wording = in_python) -> list[str]:
    """The diagnosis without its contradictions, one sentence per line."""
    lines = [_and(kinds(diagnosis)) or "no constraints"]
    if diagnosis.n_repeated:
        lines[0] += f" ({count(diagnosis.n_repeated, 'repetition')} merged)"
    of_all = "" if diagnosis.n_rows is None else f" of {diagnosis.n_rows:,}"
    lines.append(f"they touch {count(diagnosis.n_touched, 'row')}{of_all}")
    sizes = diagnosis.component_sizes
    if sizes:
        lines.append(
            f"{count(len(sizes), 'group')} of rows that must be together, "
            f"the largest of {sizes[0]:,} rows"
        )
    lines.append(
        f"it follows that {count(diagnosis.n_entailed_must_link, 'pair')} must be together and "
        f"{diagnosis.n_entailed_cannot_link:,} apart"
    )
    spare = diagnosis.redundant.n_constraints
    if spare:
        lines.append(f"{count(spare, 'constraint')} would follow from the others")
    least = diagnosis.clusters.least
    lines.append(f"at least {count(least, 'cluster')} {'is' if least == 1 else 'are'} needed")
    if diagnosis.clusters.status is not None:
        lines.append(explain_count(diagnosis.clusters, wording))
    return lines


def contradiction_lines(diagnosis: Diagnosis) -> list[str]:
    """The contradictions, and the constraints that take part in several of them."""
    lines = [str(contradiction) for contradiction in diagnosis.contradictions]
    more = diagnosis.n_contradictions - len(lines)
    if more:
        lines.append(f"... and {more:,} more")
    lines.extend(
        f"look first at: {link} ({link.where}), part of {times} of them"
        for link, times in diagnosis.suspects
    )
    return lines


def verdict(diagnosis: Diagnosis) -> str:
    """The diagnosis in one line."""
    if diagnosis.n_contradictions:
        return f"contradictory: {count(diagnosis.n_contradictions, 'contradiction')}"
    if not diagnosis.clusters.possible:
        return f"not possible with {count(diagnosis.clusters.n_clusters or 0, 'cluster')}"
    return "consistent"


def diagnosis_text(diagnosis: Diagnosis) -> str:
    """The diagnosis in plain words."""
    lines = [verdict(diagnosis)]
    lines.extend(f"  {line}" for line in contradiction_lines(diagnosis))
    lines.extend(f"- {line}" for line in diagnosis_lines(diagnosis))
    return "\n".join(lines)


# -------------------------------------------------------------------- HTML


def table_html(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A small table; every cell is escaped, so ids stay text."""
    cells = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"
