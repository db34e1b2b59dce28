"""`linkwise predict`: clusters of new rows by a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import _output as out
from ._input import Data, Encoding, IdColumn, Missing, Reading, Sheet, read_rows
from ._write import check_kind, check_target, write_appended, write_labels


def predict(
    model: Annotated[Path, typer.Argument(help="A model saved by linkwise cluster --save.")],
    data: Data,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="File for the labels: .csv, .tsv, .xlsx, .parquet, .npy."
        ),
    ] = None,
    append: Annotated[
        bool,
        typer.Option("--append", help="-o has the columns of the data too, then the clusters."),
    ] = False,
    id_column: IdColumn = None,
    missing: Missing = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
    as_json: out.Json = False,
) -> None:
    """Give new rows the clusters of a saved model.

    Columns are found by name and prepared as they were for the fit; the order does not matter.

    Examples:

        linkwise cluster beans.csv -k 3 --constraints links.csv --save beans.linkwise

        linkwise predict beans.linkwise new.csv -o labels.csv
    """
    with out.plain_errors():
        from zipfile import is_zipfile

        from linkwise.persistence import load_model

        check_target(output, "-o", [model, data])
        check_kind(output)
        is_workbook = data.suffix.lower() == ".xlsx"  # a zip file too
        if is_zipfile(data) and not is_workbook and not is_zipfile(model):
            raise ValueError(f"the model comes first: linkwise predict {data} {model}")
        saved = load_model(model)
        id_column = id_column or saved.facts.get("id_column")
        how = Reading(tuple(missing or ()), encoding, sheet)
        table, ids = read_rows(data, id_column, how)
        with out.warnings_as_notes():
            labels = saved.predict(table)
        called = None
        if saved.names:
            called = [saved.names.get(c, "") for c in range(int(labels.max(initial=-1)) + 1)]
        if output is not None and append:
            write_appended(output, table.original, labels, called)
        elif output is not None:
            write_labels(output, labels, ids, id_column, called)
    sizes = {int(c): int((labels == c).sum()) for c in sorted(set(labels.tolist()))}
    if as_json:
        out.print_json({"rows": len(labels), "sizes": sizes, "output": output and str(output)})
        return
    told = ", ".join(f"{size:,} in cluster {number}" for number, size in sizes.items())
    out.console.print(f"{len(labels):,} rows: {told}", highlight=False, soft_wrap=True)
    if output is not None:
        out.console.print(f"clusters of all rows: {output}", markup=False, highlight=False)
    else:
        out.print_note("to keep the cluster of each row, give -o labels.csv")
