"""`linkwise sessions`: what is in the files of sessions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
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
    from linkwise.active._corrections import Correction
    from linkwise.active._questions import ClusterCountAnswer


@dataclass(frozen=True, kw_only=True)
class Sessions:
    """The options of the command."""

    files: Annotated[list[Path], typer.Argument(help="Files that `label` or `studio` made.")]
    constraints_out: Annotated[
        Path | None,
        option(OUTPUT, about="File for the answers as constraints: .csv, .jsonl, .parquet."),
    ] = None
    as_json: opt.Json = False


def sessions(request: Sessions) -> None:
    """Show what is in sessions: settings, answers by person, contradictions.

    Examples:

        linkwise sessions work.db

        linkwise sessions work.db --constraints-out links.csv
    """
    with out.plain_errors():
        if request.constraints_out is not None and len(request.files) > 1:
            raise ValueError("--constraints-out writes the answers of one session; name one file")
        found = [_read(path, request.constraints_out) for path in request.files]
    if request.as_json:
        out.print_json(found)
        return
    for session in found:
        _show(session)


def _read(path: Path, constraints_out: Path | None) -> JsonDict:
    """Settings, answers and contradictions of one file."""
    from linkwise.active._answer_log import fold_with
    from linkwise.active._corrections import names_of_clusters, overruled_by
    from linkwise.active._incremental_closure import explain, links
    from linkwise.active._neighborhoods import find_neighborhoods
    from linkwise.active._settings import stored_settings
    from linkwise.active._store import Store
    from linkwise.llm import spending, tested_names

    settings = stored_settings(path)
    store = Store(path)
    try:
        answers, counts, names = store.answers(), store.counts(), store.names()
        corrections = [one for one in store.corrections() if one.is_active]
    finally:
        store.close()
    rows = {row for answer in answers for row in (answer.i, answer.j)}
    ids = names if rows <= names.keys() else None  # None: rows have no ids
    active = [answer for answer in answers if answer.is_active]
    known, accepted, disputed = fold_with(active, corrections)
    overruled = overruled_by(corrections)
    counted = [answer for answer in accepted if answer.id not in overruled]
    if constraints_out is not None:
        links(counted, ids).write(constraints_out)
    n_clusters = _n_clusters(settings["n_clusters"], counts, corrections)
    people = dict.fromkeys(answer.who for answer in active)
    named = tested_names(names_of_clusters(corrections), settings.get("kept", {}))
    return {
        "file": str(path),
        **{name: settings[name] for name in ("begun", "data", "strategy", "random_state")},
        "data_changes": settings.get("carried", []),
        "n_clusters": n_clusters,
        "model": settings["model"]["name"],
        "answers": {**_counts(active), "undone": len(answers) - len(active)},
        "people": {who: _counts(a for a in active if a.who == who) for who in people},
        "groups": len(find_neighborhoods(known, n_clusters).roots),
        "first": answers[0].at.isoformat() if answers else None,
        "last": answers[-1].at.isoformat() if answers else None,
        "names": {one.cluster: str(one) for one in named},
        "costs": {model: spent._asdict() for model, spent in spending(path).items()},
        "contradictions": [str(explain(answer, counted, ids)) for answer in disputed],
    }


def _n_clusters(
    n_clusters: int | None, counts: Iterable[ClusterCountAnswer], corrections: Iterable[Correction]
) -> int | None:
    """The number of clusters after what was given, and after merges and splits."""
    for count in counts:
        n_clusters = count.n_clusters if count.is_active else n_clusters
    for one in corrections:
        if one.change:
            n_clusters = (n_clusters or one.details["n_before"]) + one.change
    return n_clusters


def _counts(answers: Iterable[Answer]) -> dict[str, int]:
    counts = Counter(answer.said for answer in answers)
    return {kind: counts[kind] for kind in ("same", "different", "unsure")}


def _show(session: JsonDict) -> None:
    from linkwise.tables import MAX_LISTED

    data, k = session["data"], session["n_clusters"]
    source = f"{data['source']}, " if data["source"] else ""
    facts = [
        ("begun", _time(session["begun"])),
        ("data", f"{source}{data['n_rows']:,} rows, {data['n_features']:,} features"),
        *((f"  changed {_time(one['at'])}", one["what"]) for one in session["data_changes"]),
        ("clusters", "unknown" if k is None else str(k)),
        ("questions by", session["strategy"]["name"]),
        ("model", session["model"]),
        ("answers", _words(session["answers"])),
        *((f"  by {who}", _words(counts)) for who, counts in session["people"].items()),
        *(
            (f"  cost of {model}", f"{cost['cost']:.2f} ({cost['calls']:,} calls)")
            for model, cost in session["costs"].items()
        ),
        ("last answer", _time(session["last"]) if session["last"] else "none yet"),
        ("groups found", str(session["groups"])),
        *((f"  cluster {number + 1}", name) for number, name in session["names"].items()),
        *(("contradiction", text) for text in session["contradictions"][:MAX_LISTED]),
    ]
    table = RichTable(title=escape(session["file"]), show_header=False, title_justify="left")
    for name, value in facts:
        table.add_row(escape(name), escape(value))
    out.console.print(table)


def _words(counts: dict[str, int]) -> str:
    kinds = ("same", "different", "unsure")
    listed = ", ".join(f"{counts[kind]} {kind}" for kind in kinds)
    undone = f"; {counts['undone']} taken back" if counts.get("undone") else ""
    return f"{sum(counts[kind] for kind in kinds)} ({listed}){undone}"


def _time(text: str) -> str:
    return text[:16].replace("T", " ") + " UTC"
