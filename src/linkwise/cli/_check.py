"""`linkwise check`: consistency of constraints, what they entail, how informative they are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table as RichTable

from . import _options as opt
from . import _output as out
from ._input import Measuring, constraints_on, read_constraints, read_ids
from ._options import DATA, option

if TYPE_CHECKING:
    from linkwise._types import JsonDict
    from linkwise.constraints import Constraints, Diagnosis
    from linkwise.tables import Features


@dataclass(frozen=True, kw_only=True)
class Check(Measuring):
    """The options of the command."""

    links: Annotated[
        Path,
        typer.Argument(
            help="File of constraints: CSV, JSON lines, Parquet, Excel; .nwk is a tree."
        ),
    ]
    data: Annotated[
        Path | None, option(DATA, about="The data: rows and ids are checked against it.")
    ] = None
    column: opt.ColumnRoles = None
    clusters: Annotated[int | None, opt.count_option("Number of clusters you want.")] = None
    as_json: opt.Json = False


def check(request: Check) -> None:
    """Check whether constraints are consistent, and show what follows from them.

    LINKS has columns i, j, link[, weight] with link one of must/cannot, same/different,
    yes/no or 1/-1, or a, b, c[, weight] for "a and b are closer to each other than to c".

    With --data, informativeness is measured on the columns that `linkwise cluster` would use.

    Exit code: 0 consistent, 1 contradiction, 2 wrong usage, 70 a fault in linkwise.

    Examples:

        linkwise check pairs.csv

        linkwise check pairs.csv --data beans.csv --id-column bean -k 3
    """
    with out.plain_errors():
        worth: JsonDict = {}
        n_rows = None
        if request.data is None:
            known = _read_alone(request)
        else:
            known, n_rows, worth = _read_with(request, request.data)
        diagnosis = known.diagnose(request.clusters, n_rows=n_rows)
    if request.as_json:
        result = {"worth": worth} if worth else {}
        out.print_json({"file": str(request.links), **diagnosis.to_dict(), **result})
    else:
        _show(request.links, diagnosis, worth)
    raise typer.Exit(out.CONSISTENT if diagnosis.consistent else out.CONTRADICTION)


def _read_alone(request: Check) -> Constraints:
    if request.id_column is not None:
        raise ValueError("--id-column names a column of --data; give --data too")
    known = read_constraints(request.links, "auto", request.column or [], request.encoding)
    if not known.has_ids:
        known.to_rows(None)
    return known


def _read_with(request: Check, data: Path) -> tuple[Constraints, int, JsonDict]:
    """The constraints, the number of rows of the data, and the measures on it."""
    table = request.table(data)
    known, id_column = constraints_on(table, request.links, request, request.column or [])
    by_row = known.to_rows(table.n_rows, read_ids(table, id_column))
    if request.clusters is not None and request.clusters > table.n_rows:
        known.diagnose(request.clusters, n_rows=table.n_rows)  # raises
    worth: JsonDict = {}
    if by_row:
        try:
            made = request.rows(table, [] if id_column is None else [id_column])
            worth = _worth(by_row, made, request.clusters)
        except ValueError as error:  # consistency does not need columns
            if request.features is not None:
                raise
            worth = {"not_measured": out.in_words(error)}
    return known, table.n_rows, worth


def _worth(known: Constraints, made: Features, clusters: int | None) -> JsonDict:
    """Informativeness against k-means and coherence."""
    import numpy as np
    from sklearn.cluster import KMeans

    assert made.preparation is not None
    X, text = made.X, made.preparation.text
    columns = [column.name for column in made.preparation.columns]
    columns += [] if text is None else text.columns
    worth: JsonDict = {"features": X.shape[1], "columns": columns}
    coherence = known.coherence(X)
    if np.isfinite(coherence):
        worth["coherence"] = round(coherence, 4)
    if clusters is not None and clusters <= len(np.unique(X, axis=0)):
        kmeans = KMeans(clusters, n_init=10, random_state=0)
        worth["informativeness"] = round(known.informativeness(X, kmeans), 4)
    return worth


def _show(links: Path, diagnosis: Diagnosis, worth: JsonDict) -> None:
    from linkwise.constraints import contradiction_lines, diagnosis_lines, verdict

    title = escape(f"{links.name}: {verdict(diagnosis)}")
    body = RichTable.grid(padding=(0, 1))
    for line in contradiction_lines(diagnosis):
        body.add_row("[red]✗[/red]", escape(line))
    for line in [*diagnosis_lines(diagnosis, out.in_options), *_worth_lines(worth)]:
        body.add_row("•", escape(line))
    color = "green" if diagnosis.consistent else "red"
    out.console.print(Panel(body, title=title, title_align="left", border_style=color))


def _worth_lines(worth: JsonDict) -> list[str]:
    from linkwise.tables import listed

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
    return [*lines, f"measured on {listed(worth['columns'])}"] if lines else []
