"""`linkwise predict`: clusters of new rows by a saved model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import _options as opt
from . import _output as out
from ._input import Reading, read_ids
from ._write import check_kind, check_target, write_appended, write_labels

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from linkwise.persistence import SavedModel


@dataclass(frozen=True, kw_only=True)
class Predict(Reading):
    """The options of the command."""

    model: Annotated[Path, typer.Argument(help="A model saved by linkwise cluster --save.")]
    data: opt.Data
    output: opt.Output = None
    append: opt.Append = False
    as_json: opt.Json = False


def predict(request: Predict) -> None:
    """Give new rows the clusters of a saved model.

    Columns are found by name and prepared as they were for the fit; the order does not matter.

    Examples:

        linkwise cluster beans.csv --constraints pairs.csv --save beans.linkwise

        linkwise predict beans.linkwise new.csv -o clusters.csv
    """
    with out.plain_errors():
        check_target(request.output, "-o", [request.model, request.data])
        check_kind(request.output)
        _check_order(request)
        labels = _predict(request)
    sizes = {c: labels.count(c) for c in sorted(set(labels))}
    if request.as_json:
        output = request.output and str(request.output)
        out.print_json({"rows": len(labels), "sizes": sizes, "output": output})
        return
    listed = ", ".join(f"{size:,} in cluster {number}" for number, size in sizes.items())
    out.console.print(f"{len(labels):,} rows: {listed}", highlight=False, soft_wrap=True)
    if request.output is not None:
        out.console.print(f"clusters of all rows: {request.output}", markup=False, highlight=False)
    else:
        out.print_note("to keep the cluster of each row, give -o clusters.csv")


def _check_order(request: Predict) -> None:
    from zipfile import is_zipfile

    is_workbook = request.data.suffix.lower() == ".xlsx"  # a zip file too
    if is_zipfile(request.data) and not is_workbook and not is_zipfile(request.model):
        raise ValueError(f"the model comes first: linkwise predict {request.data} {request.model}")


def _predict(request: Predict) -> list[int]:
    """Clusters of the rows, which are written too."""
    from linkwise.persistence import load_model

    saved = load_model(request.model)
    how = replace(request, id_column=request.id_column or saved.facts.get("id_column"))
    table = how.table(request.data)
    ids = read_ids(table, how.id_column)
    with out.warnings_as_notes():
        labels = saved.predict(table)
    names = cluster_names(saved, labels)
    if request.output is not None and request.append:
        write_appended(request.output, table.frame, labels, names)
    elif request.output is not None:
        write_labels(request.output, labels, ids, how.id_column, names)
    return labels.tolist()


def cluster_names(saved: SavedModel, labels: NDArray[np.integer]) -> list[str] | None:
    """Names of the clusters 0 to the last one in `labels`."""
    if not saved.names:
        return None
    return [saved.names.get(c, "") for c in range(int(labels.max(initial=-1)) + 1)]
