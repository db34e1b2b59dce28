"""`linkwise sessions`: what is in the files of sessions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table as RichTable

from . import _options as opt
from . import _output as out
from ._options import OUTPUT, option

if TYPE_CHECKING:
    from linkwise._types import JsonDict
    from linkwise.active import Answer

_MAX_CONTRADICTIONS = 10


def sessions(
    files: Annotated[
        list[Path],
        typer.Argument(help="Files that `label` or `studio` made."),
    ],
    last: Annotated[int, option(OUTPUT, about="Number of last answers to show.", min=0)] = 0,
    constraints_out: Annotated[
        Path | None,
        option(OUTPUT, about="File for the answers as constraints: .csv, .jsonl, .parquet."),
    ] = None,
    as_json: opt.Json = False,
    help_all: opt.HelpAll = False,
) -> None:
    """Show what is in sessions: settings, answers by person, contradictions.

    Examples:

        linkwise sessions work.db

        linkwise sessions work.db --last 20
    """
    with out.plain_errors():
        if constraints_out is not None and len(files) > 1:
            raise ValueError("--constraints-out writes the answers of one session; name one file")
        found = [_read(path, last, constraints_out) for path in files]
    if as_json:
        out.print_json(found)
        return
    for session in found:
        _show(session)


def _read(path: Path, last: int, constraints_out: Path | None) -> JsonDict:
    """Settings, answers and contradictions of one file."""
    from linkwise.active._answer_log import fold_with
    from linkwise.active._corrections import overruled_by
    from linkwise.active._incremental_closure import explain, links
    from linkwise.active._neighborhoods import find_neighborhoods
    from linkwise.active._settings import stored_settings
    from linkwise.active._store import Store

    settings = stored_settings(path)
    store = Store(path)
    try:
        answers, counts, names = store.answers(), store.counts(), store.names()
        corrections = [one for one in store.corrections() if one.is_active]
    finally:
        store.close()
    rows = {row for answer in answers for row in (answer.i, answer.j)}
    called = names if rows <= names.keys() else None  # None: rows have no ids
    standing = [answer for answer in answers if answer.is_active]
    known, accepted, disputed = fold_with(standing, corrections)
    overruled = overruled_by(corrections)
    counted = [answer for answer in accepted if answer.id not in overruled]
    if constraints_out is not None:
        links(counted, called).write(constraints_out)
    said = [count.n_clusters for count in counts if count.is_active]
    n_clusters = said[-1] if said else settings["n_clusters"]
    for one in corrections:
        if one.change:
            n_clusters = (n_clusters or one.details["n_before"]) + one.change
    people = {who: _counts(a for a in standing if a.who == who) for who in _people(standing)}
    return {
        "file": str(path),
        "begun": settings["begun"],
        "data": settings["data"],
        "data_changes": settings.get("carried", []),
        "n_clusters": n_clusters,
        "strategy": settings["strategy"],
        "model": settings["model"]["name"],
        "random_state": settings["random_state"],
        "answers": {**_counts(standing), "undone": len(answers) - len(standing)},
        "people": people,
        "groups": len(find_neighborhoods(known, n_clusters).roots),
        "first": answers[0].at.isoformat() if answers else None,
        "last": answers[-1].at.isoformat() if answers else None,
        "contradictions": [str(explain(answer, counted, called)) for answer in disputed],
        "last_answers": [
            _as_dict(answer, called) for answer in answers[max(0, len(answers) - last) :]
        ]
        if last
        else [],
    }


def _people(answers: Iterable[Answer]) -> list[str]:
    return list(dict.fromkeys(answer.who for answer in answers))


def _counts(answers: Iterable[Answer]) -> dict[str, int]:
    counts = Counter(answer.said for answer in answers)
    return {said: counts[said] for said in ("same", "different", "unsure")}


def _as_dict(answer: Answer, called: dict[int, str] | None) -> JsonDict:
    return {
        "id": answer.id,
        "rows": [answer.i, answer.j],
        "names": [str(row) if called is None else called[row] for row in (answer.i, answer.j)],
        "said": answer.said,
        "weight": answer.weight,
        "who": answer.who,
        "at": answer.at.isoformat(),
        "undone": not answer.is_active,
    }


def _show(session: JsonDict) -> None:
    data, k = session["data"], session["n_clusters"]
    source = f"{data['source']}, " if data["source"] else ""
    facts = [
        ("begun", _time(session["begun"])),
        ("data", f"{source}{data['n_rows']:,} rows, {data['n_features']:,} features"),
        *((f"  changed {_time(one['at'])}", one["what"]) for one in session["data_changes"]),
        ("clusters", "not known" if k is None else str(k)),
        ("questions by", session["strategy"]["name"]),
        ("model", session["model"]),
        ("answers", _words(session["answers"])),
        *((f"  by {who}", _words(counts)) for who, counts in session["people"].items()),
        ("last answer", _time(session["last"]) if session["last"] else "none yet"),
        ("groups found", str(session["groups"])),
        *(("contradiction", text) for text in session["contradictions"][:_MAX_CONTRADICTIONS]),
    ]
    table = RichTable(title=escape(session["file"]), show_header=False, title_justify="left")
    for name, value in facts:
        table.add_row(escape(name), escape(value))
    out.console.print(table)
    for answer in session["last_answers"]:
        back = " (taken back)" if answer["undone"] else ""
        i, j = answer["names"]
        out.console.print(
            escape(f"{answer['id']:>5}  {i} and {j}: {answer['said']}{back}  {answer['who']}  ")
            + _time(answer["at"]),
            highlight=False,
        )


def _words(counts: dict[str, int]) -> str:
    total = sum(counts[said] for said in ("same", "different", "unsure"))
    undone = f"; {counts['undone']} taken back" if counts.get("undone") else ""
    told = ", ".join(f"{counts[said]} {said}" for said in ("same", "different", "unsure"))
    return f"{total} ({told}){undone}"


def _time(text: str) -> str:
    return text[:16].replace("T", " ") + " UTC"
