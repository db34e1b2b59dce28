"""`linkwise predict`: clusters of new rows by a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import _options as opt
from . import _output as out
from ._input import Reading, read_ids
from ._write import check_kind, check_target, write_appended, write_labels


def predict(
    model: Annotated[Path, typer.Argument(help="A model saved by linkwise cluster --save.")],
    data: opt.Data,
    id_column: opt.IdColumn = None,
    missing: opt.Missing = None,
    encoding: opt.Encoding = None,
    sheet: opt.Sheet = None,
    output: opt.Output = None,
    append: opt.Append = False,
    as_json: opt.Json = False,
    help_all: opt.HelpAll = False,
) -> None:
    """Give new rows the clusters of a saved model.

    Columns are found by name and prepared as they were for the fit; the order does not matter.

    Examples:

        linkwise cluster beans.csv --constraints pairs.csv --save beans.linkwise

        linkwise predict beans.linkwise new.csv -o clusters.csv
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
        how = Reading(id_column, missing=tuple(missing or ()), encoding=encoding, sheet=sheet)
        table = how.table(data)
        ids = read_ids(table, id_column)
        with out.warnings_as_notes():
            labels = saved.predict(table)
        called = None
        if saved.names:
            called = [saved.names.get(c, "") for c in range(int(labels.max(initial=-1)) + 1)]
        if output is not None and append:
            write_appended(output, table.frame, labels, called)
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
        out.print_note("to keep the cluster of each row, give -o clusters.csv")
