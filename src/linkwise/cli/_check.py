"""`linkwise check`: consistency of constraints, what they entail, how informative they are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table as RichTable

from . import _options as opt
from . import _output as out
from ._input import Reading, constraints_on, read_constraints, read_ids
from ._options import DATA, METHOD, option

if TYPE_CHECKING:
    from linkwise._types import JsonDict
    from linkwise.constraints import Constraints, Diagnosis
    from linkwise.tables import Features

_MAX_NAMES = 8


def check(
    links: Annotated[
        Path,
        typer.Argument(
            help="File of constraints: CSV, JSON lines, Parquet, Excel; .nwk is a tree."
        ),
    ],
    data: Annotated[
        Path | None, option(DATA, about="The data: rows and ids are checked against it.")
    ] = None,
    id_column: opt.IdColumn = None,
    features: opt.FeatureNames = None,
    text_column: opt.TextColumn = None,
    embedding: opt.Embedding = None,
    no_scale: opt.NoScale = False,
    missing: opt.Missing = None,
    encoding: opt.Encoding = None,
    sheet: opt.Sheet = None,
    column: opt.ColumnRoles = None,
    clusters: Annotated[int | None, opt.count_option("Number of clusters you want.")] = None,
    time_limit: Annotated[
        float,
        option(METHOD, about="Seconds to search whether -k clusters suffice.", min=0.0, rare=True),
    ] = 10.0,
    as_json: opt.Json = False,
    help_all: opt.HelpAll = False,
) -> None:
    """Tell whether constraints are consistent, what follows from them and what they are worth.

    LINKS has columns i, j, link[, weight] with link one of must/cannot, same/different,
    yes/no or 1/-1, or a, b, c[, weight] for "a and b are closer to each other than to c".

    What they are worth is measured on the columns that `linkwise cluster` would use.

    Exit code: 0 consistent, 1 contradiction, 2 wrong usage, 70 a fault in linkwise.

    Examples:

        linkwise check pairs.csv

        linkwise check pairs.csv --data beans.csv --id-column bean -k 3
    """
    with out.plain_errors():
        how = Reading(
            id_column, features, text_column, embedding, no_scale, tuple(missing or ()), encoding,
            sheet,
        )  # fmt: skip
        worth: JsonDict = {}
        n_rows = None
        if data is None:
            if id_column is not None:
                raise ValueError("--id-column names a column of --data; give --data too")
            known = read_constraints(links, "auto", column or [], encoding)
            if not known.has_ids:
                known.to_rows(None)
        else:
            table = how.table(data)
            n_rows = table.n_rows
            known, id_column = constraints_on(table, links, how, column or [])
            by_row = known.to_rows(n_rows, read_ids(table, id_column))
            if clusters is not None and clusters > n_rows:
                known.diagnose(clusters, n_rows=n_rows)  # says what is wrong
            if by_row:
                try:
                    made = how.rows(table, [] if id_column is None else [id_column])
                    worth = {"worth": _worth(by_row, made, clusters)}
                except ValueError as error:  # consistency does not need columns
                    if features is not None:
                        raise
                    worth = {"worth": {"not_measured": out.in_words(error)}}
        diagnosis = known.diagnose(clusters, n_rows=n_rows, time_limit=time_limit)
    if as_json:
        out.print_json({"file": str(links), **diagnosis.to_dict(), **worth})
    else:
        _show(links, diagnosis, worth)
    raise typer.Exit(out.CONSISTENT if diagnosis.consistent else out.CONTRADICTION)


def _worth(known: Constraints, made: Features, clusters: int | None) -> JsonDict:
    """Informativeness against k-means and coherence."""
    import numpy as np
    from sklearn.cluster import KMeans

    X = made.X
    worth: JsonDict = {"features": X.shape[1], "columns": _columns(made)}
    coherence = known.coherence(X)
    if np.isfinite(coherence):
        worth["coherence"] = round(coherence, 4)
    if clusters is not None and clusters <= len(np.unique(X, axis=0)):
        kmeans = KMeans(clusters, n_init=10, random_state=0)
        worth["informativeness"] = round(known.informativeness(X, kmeans), 4)
    return worth


def _columns(made: Features) -> list[str]:
    assert made.preparation is not None
    text = made.preparation.text
    names = [own.name for own in made.preparation.columns]
    return names + ([] if text is None else text.columns)


def _show(links: Path, diagnosis: Diagnosis, worth: JsonDict) -> None:
    from linkwise.constraints import contradiction_lines, diagnosis_lines, verdict

    good = diagnosis.consistent
    title = escape(f"{links.name}: {verdict(diagnosis)}")
    body = RichTable.grid(padding=(0, 1))
    for line in contradiction_lines(diagnosis):
        body.add_row("[red]✗[/red]", escape(line))
    facts = diagnosis_lines(diagnosis, out.in_options)
    for line in [*facts, *_worth_lines(worth.get("worth", {}))]:
        body.add_row("•", escape(line))
    out.console.print(
        Panel(body, title=title, title_align="left", border_style="green" if good else "red")
    )


def _worth_lines(worth: JsonDict) -> list[str]:
    if "not_measured" in worth:
        return [f"informativeness and coherence are not measured: {worth['not_measured']}"]
    lines = []
    if "informativeness" in worth:
        lines.append(
            f"informativeness {worth['informativeness']:.0%}: share violated by unconstrained "
            "k-means; higher = more informative"
        )
    if "coherence" in worth:
        lines.append(
            f"coherence {worth['coherence']:.0%}: share of pairs of a must-link and a "
            "cannot-link that do not oppose each other; higher = easier to satisfy both"
        )
    if lines:
        lines.append(f"measured on {_some(worth['columns'])}")
    return lines


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _MAX_NAMES:,} more" if len(names) > _MAX_NAMES else ""
    return ", ".join(names[:_MAX_NAMES]) + more
