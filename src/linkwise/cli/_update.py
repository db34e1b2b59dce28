"""`linkwise update`: new rows for a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from . import _options as opt
from . import _output as out
from ._input import Reading, read_constraints, read_ids
from ._options import DATA, OUTPUT, option
from ._write import check_kind, check_target, write_labels

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from linkwise._types import JsonDict, Matrix
    from linkwise.persistence import SavedModel


def update(
    model: Annotated[Path, typer.Argument(help="A model saved by linkwise cluster --save.")],
    data: opt.Data,
    id_column: opt.IdColumn = None,
    missing: opt.Missing = None,
    encoding: opt.Encoding = None,
    sheet: opt.Sheet = None,
    skip_known: Annotated[
        bool,
        option(DATA, "--skip-known", about="Leave out rows whose ids the model has already."),
    ] = False,
    constraints: opt.ConstraintsFile = None,
    column: opt.ColumnRoles = None,
    output: opt.Output = None,
    save: Annotated[
        Path | None, option(OUTPUT, about="File for the new model; MODEL is replaced if absent.")
    ] = None,
    as_json: opt.Json = False,
    help_all: opt.HelpAll = False,
) -> None:
    """Add new rows to a saved model; clusters keep their numbers and names.

    Earlier rows keep their clusters, and the file is replaced as a whole or not at all. A new
    cluster is created only if cannot-links rule out every existing one. The order of
    the columns does not matter.

    Examples:

        linkwise update beans.linkwise new.csv

        linkwise update beans.linkwise new.csv --constraints pairs.csv -o clusters.csv
    """
    with out.plain_errors():
        from linkwise.persistence import load_model

        check_target(output, "-o", [model, data, constraints, save])
        check_target(save, "--save", [data, constraints, output])
        check_kind(output)
        saved = load_model(model)
        with out.warnings_as_notes():
            how = Reading(
                id_column or _id_column(saved), missing=tuple(missing or ()), encoding=encoding,
                sheet=sheet,
            )  # fmt: skip
            rows, ids = _new_rows(saved, data, how, skip_known)
        known = None
        if constraints is not None:
            ids_are = "text" if saved.ids else "auto"
            known = read_constraints(constraints, ids_are, column or [], encoding)
        with out.warnings_as_notes():
            found = saved.update(rows, sample_ids=ids, constraints=known)
        labels = _old(found)[len(_old(saved)) :]
        if output is not None:
            write_labels(
                output, labels, ids, id_column or _id_column(saved), _called(found, labels)
            )
        found.save(save or model)  # last: until then, the same command can be given again
    told = {"model": str(save or model), **found.model.changes_.to_dict()}
    if as_json:
        out.print_json({**told, "output": output and str(output)})
    else:
        _show(found, told, output)


def _id_column(saved: SavedModel) -> str | None:
    return saved.facts.get("id_column")


def _new_rows(
    saved: SavedModel, data: Path, how: Reading, skip_known: bool
) -> tuple[Matrix, list[str] | None]:
    """Features of the new rows and their ids, if the model has ids."""
    table = how.table(data)
    ids = read_ids(table, how.id_column)
    X = saved.features(table)
    if not skip_known:
        return X, None if saved.ids is None and len(_old(saved)) else ids
    if ids is None or saved.ids is None:
        raise ValueError("--skip-known needs ids: save the model with --id-column, and give it")
    there = set(map(str, saved.ids))
    left = [row for row, name in enumerate(ids) if name not in there]
    if not left:
        raise ValueError(f"{data}: the model has all of its {len(ids):,} rows already")
    if len(left) < len(ids):
        out.print_note(f"{len(ids) - len(left):,} rows are in the model already; left out")
    return X[left], [ids[row] for row in left]


def _old(saved: SavedModel) -> NDArray[np.int32]:
    import numpy as np

    return np.asarray(getattr(saved.model, "labels_", ()), dtype=np.int32)


def _called(saved: SavedModel, labels: NDArray[np.int32]) -> list[str] | None:
    if not saved.names:
        return None
    return [saved.names.get(c, "") for c in range(int(labels.max(initial=-1)) + 1)]


def _show(saved: SavedModel, told: JsonDict, output: Path | None) -> None:
    def name(cluster: str) -> str:
        called = saved.names.get(int(cluster), "")
        return f"cluster {cluster} ({called})" if called else f"cluster {cluster}"

    joined = ", ".join(f"{count:,} in {name(c)}" for c, count in told["joined"].items())
    lines = [f"{told['new_rows']:,} new rows: {joined}"]
    lines += [f"{name(c)} is new: {why}" for c, why in told["opened"].items()]
    lines += [f"{name(c)} is retired: {why}" for c, why in told["retired"].items()]
    lines += [f"violated: {what}" for what in told["violated"]]
    shift = told["center_shift"]
    if any(shift):
        far = max(range(len(shift)), key=shift.__getitem__)
        lines.append(f"centers moved by at most {shift[far]:.3g} ({name(str(far))})")
    out.console.print("\n".join(lines), markup=False, highlight=False, soft_wrap=True)
    out.console.print(f"model: [bold]{escape(told['model'])}[/bold]", soft_wrap=True)
    if output is not None:
        text = f"clusters of the new rows: [bold]{escape(str(output))}[/bold]"
        out.console.print(text, soft_wrap=True)
