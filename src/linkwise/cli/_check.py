"""`linkwise check`: consistency of constraints, what they entail, how informative they are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table as RichTable

from . import _output as out
from ._input import (
    Encoding,
    FeatureNames,
    Impute,
    Missing,
    Reading,
    Sheet,
    check_rows,
    clusters_option,
    column_names,
    make_features,
    read_constraints,
    read_rows,
)

if TYPE_CHECKING:
    from linkwise._types import JsonDict, Matrix
    from linkwise.constraints import Constraints, Diagnosis
    from linkwise.datasets import Table

_MAX_NAMES = 8


def check(
    links: Annotated[
        Path,
        typer.Argument(
            help="File of constraints: CSV, JSON lines, Parquet, Excel; .nwk is a tree."
        ),
    ],
    data: Annotated[
        Path | None, typer.Option(help="The data: rows and ids are checked against it.")
    ] = None,
    id_column: Annotated[
        str | None,
        typer.Option(help="Column of --data with the ids; row numbers from 0 if absent."),
    ] = None,
    clusters: Annotated[int | None, clusters_option("Number of clusters you want.")] = None,
    features: FeatureNames = None,
    impute: Impute = None,
    missing: Missing = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
    column: Annotated[
        list[str] | None,
        typer.Option(help="Own column names in LINKS: i=person_1 (repeat for j, link, ...)."),
    ] = None,
    ids: Annotated[
        str, typer.Option(help="Are rows named by number (rows), by id (text), or auto?")
    ] = "auto",
    time_limit: Annotated[
        float, typer.Option(help="Seconds to search whether -k clusters suffice.", min=0.0)
    ] = 10.0,
    as_json: out.Json = False,
) -> None:
    """Tell whether constraints are consistent, what follows from them and what they are worth.

    LINKS has columns i, j, link[, weight] with link one of must/cannot, same/different,
    yes/no or 1/-1, or a, b, c[, weight] for "a and b are closer to each other than to c".

    What they are worth is measured on the columns that `linkwise cluster` would use.

    Exit code: 0 consistent, 1 contradiction, 2 wrong usage, 70 a fault in linkwise.

    Examples:

        linkwise check links.csv

        linkwise check links.csv --data beans.csv --id-column bean -k 3
    """
    with out.plain_errors():
        if id_column is not None and data is None:
            raise ValueError("--id-column names a column of --data; give --data too")
        if id_column is not None and ids == "auto":
            ids = "text"  # the data has ids, so these are ids whatever they look like
        known = read_constraints(links, ids, column or [], encoding)
        worth: JsonDict = {}
        n_rows = None
        if data is None:
            if not known.has_ids:
                known.to_rows(None)
        else:
            how = Reading(tuple(missing or ()), encoding, sheet)
            table, names = read_rows(data, id_column, how)
            n_rows = table.n_rows
            by_row = check_rows(known, table, names, table.numeric_names)
            if clusters is not None and clusters > n_rows:
                known.diagnose(clusters, n_rows=n_rows)  # says what is wrong
            if by_row:
                worth = {"worth": _measure(by_row, table, id_column, features, impute, clusters)}
        diagnosis = known.diagnose(clusters, n_rows=n_rows, time_limit=time_limit)
    if as_json:
        out.print_json({"file": str(links), **diagnosis.to_dict(), **worth})
    else:
        _show(links, diagnosis, worth)
    raise typer.Exit(out.CONSISTENT if diagnosis.consistent else out.CONTRADICTION)


def _measure(
    known: Constraints,
    table: Table,
    id_column: str | None,
    features: str | None,
    impute: str | None,
    clusters: int | None,
) -> JsonDict:
    """What the constraints are worth on the columns that `linkwise cluster` would use."""
    leave_out = [] if id_column is None else [id_column]
    chosen = None if features is None else column_names(features)
    try:
        made = make_features(table, chosen, leave_out=leave_out, impute=impute, standardize=True)
    except ValueError as error:
        if chosen is not None or impute is not None:
            raise
        return {"not_measured": out.in_words(error)}  # consistency does not need columns
    columns = table.expanded(chosen or [name for name in table.columns if name not in leave_out])
    about = {
        "features": made.X.shape[1],
        "columns": table.folded(columns),
        "with_gaps": [name for name in columns if _gaps(table, name).any()],
        "categories": [name for name in columns if name not in table.numeric_names],
    }
    return about | _worth(known, made.X, clusters)


def _gaps(table: Table, name: str) -> Any:
    from linkwise.datasets._features import missing

    return missing(table.column(name))


def _worth(known: Constraints, X: Matrix, clusters: int | None) -> JsonDict:
    """Informativeness against k-means and coherence."""
    import numpy as np
    from sklearn.cluster import KMeans

    worth: JsonDict = {}
    coherence = known.coherence(X)
    if np.isfinite(coherence):
        worth["coherence"] = round(coherence, 4)
    if clusters is not None and clusters <= len(np.unique(X, axis=0)):
        kmeans = KMeans(clusters, n_init=10, random_state=0)
        worth["informativeness"] = round(known.informativeness(X, kmeans), 4)
    return worth


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
        how = ["standardized"]
        if worth["with_gaps"]:
            how.append(f"gaps in {_some(worth['with_gaps'])} filled with the median")
        if worth["categories"]:
            how.append(f"one column per value of {_some(worth['categories'])}")
        lines.append(f"measured on {_some(worth['columns'])} ({'; '.join(how)})")
    return lines


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _MAX_NAMES:,} more" if len(names) > _MAX_NAMES else ""
    return ", ".join(names[:_MAX_NAMES]) + more
