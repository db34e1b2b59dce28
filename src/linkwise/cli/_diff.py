"""`linkwise diff`: what became of the clusters of an earlier clustering."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import _output as out
from ._input import read_ids
from ._score import read_label_column


def diff(
    old: Annotated[Path, typer.Argument(help="The clustering before: one row a line.")],
    new: Annotated[Path, typer.Argument(help="The clustering now: one row a line.")],
    label_column: Annotated[
        str | None, typer.Option(help="Column with the clusters; found by name if not given.")
    ] = None,
    id_column: Annotated[
        str | None, typer.Option(help="Match the rows of both files by this column.")
    ] = None,
    as_json: out.Json = False,
) -> None:
    """Compare two clusterings: clusters split, merged, new or gone, and the rows that moved.

    Rows are matched by --id-column, or by their order when it is not given.

    Examples:

        linkwise diff monday.csv friday.csv --id-column bean

        linkwise diff monday.csv friday.csv --json
    """
    with out.plain_errors():
        from linkwise.datasets import read_table
        from linkwise.evaluation import compare_clusterings

        tables = [read_table(path) for path in (old, new)]
        clusters = [
            [_number(cell) for cell in read_label_column(table, label_column, id_column)]
            for table in tables
        ]
        ids = [read_ids(table, id_column) for table in tables]
        if id_column is None and len(clusters[0]) != len(clusters[1]):
            raise ValueError(
                f"{old} has {len(clusters[0]):,} rows, {new} has {len(clusters[1]):,}; give both "
                "the same rows, or match them with --id-column"
            )
        changes = compare_clusterings(*clusters, old_ids=ids[0], new_ids=ids[1])
        if not changes.n_rows:
            raise ValueError(f"{old} and {new} have no row in common: no {id_column!r} is in both")
    if as_json:
        out.print_json(changes.to_dict())
    else:
        out.console.print(str(changes), markup=False, highlight=False, soft_wrap=True)


def _number(cell: str) -> int | str:
    """Clusters by number where they are numbers: "2" and "2.0" are the same cluster."""
    try:
        return int(float(cell)) if float(cell) == int(float(cell)) else cell
    except (ValueError, OverflowError):
        return cell
