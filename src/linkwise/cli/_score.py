"""`linkwise score`: compare a clustering with the truth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table as RichTable

from . import _output as out

if TYPE_CHECKING:
    from linkwise.datasets import Table

_LABEL_NAMES = ("cluster", "label", "labels", "class", "target", "truth", "y")
_WORDS = {
    "ari": "adjusted Rand index (1 = equal, 0 = by chance)",
    "nmi": "normalised mutual information",
    "rand": "Rand index",
    "pair_f": "F over pairs of rows",
    "pair_precision": "precision over pairs",
    "pair_recall": "recall over pairs",
    "kept": "constraints kept",
    "kept_weight": "weight of constraints kept",
}


def score(
    labels: Annotated[Path, typer.Argument(help="The clustering: one row a line.")],
    truth: Annotated[Path, typer.Argument(help="The true classes: one row a line.")],
    label_column: Annotated[
        str | None, typer.Option(help="Column with the clusters; found by name if not given.")
    ] = None,
    truth_column: Annotated[
        str | None, typer.Option(help="Column with the classes; found by name if not given.")
    ] = None,
    id_column: Annotated[
        str | None, typer.Option(help="Match the rows of both files by this column.")
    ] = None,
    constraints: Annotated[
        Path | None, typer.Option(help="File of constraints: also tell how many are kept.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
) -> None:
    """Compare a clustering with the true classes.

    Rows are matched by --id-column, or by their order when it is not given. Names of clusters do
    not matter.

    Examples:

        linkwise score labels.csv truth.csv

        linkwise score labels.csv beans.csv --truth-column origin --id-column bean
    """
    with out.plain_errors():
        from linkwise.datasets import read_table
        from linkwise.evaluation import score as compare

        found, true = read_table(labels), read_table(truth)
        clusters = _labels(found, label_column, id_column, "--label-column")
        classes = _labels(true, truth_column, id_column, "--truth-column")
        names = out.read_ids(found, id_column)
        if names is None:
            if len(clusters) != len(classes):
                raise ValueError(
                    f"{labels} has {len(clusters):,} rows, {truth} has {len(classes):,}; give both "
                    "the same rows, or match them with --id-column"
                )
        else:
            classes = _matched(names, out.read_ids(true, id_column) or [], classes, labels, truth)
        known = None
        if constraints is not None:
            known = out.read_constraints(constraints, "text" if names else "rows", [])
        result = compare(classes, clusters, constraints=known, sample_ids=names).to_dict()
    if as_json:
        out.print_json(result)
        return
    table = RichTable(title=f"{labels.name} against {truth.name}, {result['n_rows']:,} rows")
    table.add_column("score")
    table.add_column("value", justify="right")
    for name, words in _WORDS.items():
        if name in result:
            table.add_row(words, f"{result[name]:.4f}")
    out.console.print(table)


def _labels(table: Table, column: str | None, id_column: str | None, option: str) -> list[Any]:
    """The label column as text, found by name when it is not given."""
    if column is None:
        column = _find(list(table.columns), id_column, str(table.path), option)
    cells = table.text(column).tolist()
    for row, cell in enumerate(cells):
        if not cell:
            raise ValueError(f"{table.path}: row {row + 1} has no {column!r}")
    return cells


def _find(names: list[str], id_column: str | None, path: str, option: str) -> str:
    others = [name for name in names if name != id_column]
    if len(others) == 1:
        return others[0]
    known = [name for name in others if name.lower() in _LABEL_NAMES]
    if len(known) == 1:
        return known[0]
    raise ValueError(f"{path}: which column holds the labels? Give {option}: {', '.join(names)}")


def _matched(
    names: list[str], others: list[str], classes: list[Any], labels: Path, truth: Path
) -> list[Any]:
    """The classes in the order of `names`; both files must have the same ids, each once."""
    for path, ids in ((labels, names), (truth, others)):
        if len(set(ids)) < len(ids):
            twice = next(name for name in ids if ids.count(name) > 1)
            raise ValueError(f"{path}: the id {twice!r} stands in more than one row")
    by_id = dict(zip(others, classes, strict=True))
    missing = [name for name in names if name not in by_id]
    if missing:
        raise ValueError(
            f"{len(missing):,} rows of {labels} are not in {truth}, the first {missing[0]!r}"
        )
    return [by_id[name] for name in names]
