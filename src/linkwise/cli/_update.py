"""`linkwise update`: new rows for a saved model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from . import _options as opt
from . import _output as out
from ._input import Reading, read_constraints, read_ids
from ._options import DATA, OUTPUT, option
from ._predict import cluster_names
from ._write import check_kind, check_target, write_labels

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from linkwise._types import JsonDict, Matrix
    from linkwise.persistence import SavedModel


@dataclass(frozen=True, kw_only=True)
class Update(Reading):
    """The options of the command."""

    model: Annotated[Path, typer.Argument(help="A model saved by linkwise cluster --save.")]
    data: opt.Data
    skip_known: Annotated[
        bool,
        option(DATA, "--skip-known", about="Leave out rows whose ids the model has already."),
    ] = False
    constraints: opt.ConstraintsFile = None
    column: opt.ColumnRoles = None
    output: opt.Output = None
    save: Annotated[
        Path | None, option(OUTPUT, about="File for the new model; MODEL is replaced if absent.")
    ] = None
    as_json: opt.Json = False


def update(request: Update) -> None:
    """Add new rows to a saved model; clusters keep their numbers and names.

    Earlier rows keep their clusters, and the file is replaced as a whole or not at all. A new
    cluster is created only if cannot-links rule out every existing one. The order of
    the columns does not matter.

    Examples:

        linkwise update beans.linkwise new.csv

        linkwise update beans.linkwise new.csv --constraints pairs.csv -o clusters.csv
    """
    model, data, output, save = request.model, request.data, request.output, request.save
    with out.plain_errors():
        from linkwise.persistence import load_model

        check_target(output, "-o", [model, data, request.constraints, save])
        check_target(save, "--save", [data, request.constraints, output])
        check_kind(output)
        saved = load_model(model)
        request = replace(request, id_column=request.id_column or saved.facts.get("id_column"))
        with out.warnings_as_notes():
            rows, ids = _new_rows(saved, request)
            known = None
            if request.constraints is not None:
                known = read_constraints(
                    request.constraints, "text" if saved.ids else "auto", request.column or [],
                    request.encoding,
                )  # fmt: skip
            updated = saved.update(rows, sample_ids=ids, constraints=known)
        labels = _labels(updated)[len(_labels(saved)) :]
        if output is not None:
            names = cluster_names(updated, labels)
            write_labels(output, labels, ids, request.id_column, names)
        updated.save(save or model)  # last: until then, the same command can be repeated
    result = {"model": str(save or model), **updated.model.changes_.to_dict()}
    if request.as_json:
        out.print_json({**result, "output": output and str(output)})
    else:
        _show(updated, result, output)


def _new_rows(saved: SavedModel, request: Update) -> tuple[Matrix, list[str] | None]:
    """Features of the new rows and their ids, if the model has ids."""
    table = request.table(request.data)
    ids = read_ids(table, request.id_column)
    X = saved.features(table)
    if not request.skip_known:
        return X, None if saved.ids is None and len(_labels(saved)) else ids
    if ids is None or saved.ids is None:
        raise ValueError("--skip-known needs ids: save the model with --id-column, and give it")
    there = set(map(str, saved.ids))
    new = [row for row, name in enumerate(ids) if name not in there]
    if not new:
        raise ValueError(f"{request.data}: the model has all of its {len(ids):,} rows already")
    if len(new) < len(ids):
        out.print_note(f"{len(ids) - len(new):,} rows are in the model already; left out")
    return X[new], [ids[row] for row in new]


def _labels(saved: SavedModel) -> NDArray[np.int32]:
    import numpy as np

    return np.asarray(getattr(saved.model, "labels_", ()), dtype=np.int32)


def _show(saved: SavedModel, result: JsonDict, output: Path | None) -> None:
    def name(cluster: str) -> str:
        called = saved.names.get(int(cluster), "")
        return f"cluster {cluster} ({called})" if called else f"cluster {cluster}"

    joined = ", ".join(f"{count:,} in {name(c)}" for c, count in result["joined"].items())
    lines = [f"{result['new_rows']:,} new rows: {joined}"]
    lines += [f"{name(c)} is new: {why}" for c, why in result["opened"].items()]
    lines += [f"{name(c)} is retired: {why}" for c, why in result["retired"].items()]
    lines += [f"violated: {link}" for link in result["violated"]]
    shift = result["center_shift"]
    if any(shift):
        far = max(range(len(shift)), key=shift.__getitem__)
        lines.append(f"centers moved by at most {shift[far]:.3g} ({name(str(far))})")
    out.console.print("\n".join(lines), markup=False, highlight=False, soft_wrap=True)
    out.console.print(f"model: [bold]{escape(result['model'])}[/bold]", soft_wrap=True)
    if output is not None:
        text = f"clusters of the new rows: [bold]{escape(str(output))}[/bold]"
        out.console.print(text, soft_wrap=True)
