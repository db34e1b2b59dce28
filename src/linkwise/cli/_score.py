"""`linkwise score`: compare a clustering with the truth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table as RichTable

from . import _output as out
from ._input import read_constraints, read_ids

if TYPE_CHECKING:
    from linkwise.datasets import Table

_LABEL_NAMES = ("cluster", "label", "labels", "class", "target", "truth", "y")
_WORDS = {
    "ari": "adjusted Rand index (1 = equal, 0 = by chance)",
    "nmi": "normalized mutual information",
    "rand": "Rand index",
    "pair_f": "F over pairs of rows",
    "pair_precision": "precision over pairs",
    "pair_recall": "recall over pairs",
    "satisfied": "constraints satisfied",
    "satisfied_weight": "weight of constraints satisfied",
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
        Path | None, typer.Option(help="File of constraints: also tell how many are satisfied.")
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(help="Own column names in --constraints: i=person_1 (repeat for j, ...)."),
    ] = None,
    as_json: out.Json = False,
) -> None:
    """Compare a clustering with the true classes.

    Rows are matched by --id-column, or by their order when it is not given; rows of TRUTH without
    a label are left out, and counted. Names of clusters do not matter, but -1 is no cluster: such
    rows keep no must-link.

    Examples:

        linkwise score labels.csv truth.csv

        linkwise score labels.csv beans.csv --truth-column origin --id-column bean
    """
    with out.plain_errors():
        from linkwise.datasets import read_table
        from linkwise.evaluation import score as compare

        found, true = read_table(labels), read_table(truth)
        clusters = read_label_column(found, label_column, id_column)
        classes = read_label_column(true, truth_column, id_column, "--truth-column")
        names = read_ids(found, id_column)
        n_without = 0
        if names is None:
            if len(clusters) != len(classes):
                raise ValueError(
                    f"{labels} has {len(clusters):,} rows, {truth} has {len(classes):,}; give both "
                    "the same rows, or match them with --id-column"
                )
        else:
            others = read_ids(true, id_column) or []
            classes = _matched(names, others, classes, labels, truth)
            n_without = _note_unlabeled(names, others, labels, truth)
        known = None
        if constraints is not None:
            known = read_constraints(constraints, "text" if names else "rows", column or [])
        scores = compare(classes, _numbered(clusters), constraints=known, sample_ids=names)
        result = {**scores.to_dict(), "rows_without_label": n_without}
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


def read_label_column(
    table: Table, column: str | None, id_column: str | None, option: str = "--label-column"
) -> list[str]:
    """The label column as text, found by name when it is not given."""
    if column is None:
        column = _find(list(table.columns), id_column, str(table.path), option)
    cells = table.text(column).tolist()
    for row, cell in enumerate(cells):
        if not cell:
            raise ValueError(f"{table.path}: row {row + 1} has no {column!r}")
    return cells


def _numbered(clusters: list[str]) -> list[int]:
    """The clusters by number; -1 stays -1, which the library knows as no cluster."""
    number: dict[str, int] = {}
    return [-1 if _is_noise(name) else number.setdefault(name, len(number)) for name in clusters]


def _is_noise(name: str) -> bool:
    try:
        return float(name) == -1  # "-1.0" too, where a column was saved as floats
    except ValueError:
        return False


def _find(names: list[str], id_column: str | None, path: str, option: str) -> str:
    others = [name for name in names if name != id_column]
    if len(others) == 1:
        return others[0]
    known = [name for name in others if name.lower() in _LABEL_NAMES]
    if len(known) == 1:
        return known[0]
    raise ValueError(f"{path}: which column holds the labels? Give {option}: {', '.join(names)}")


def _matched(
    names: list[str], others: list[str], classes: list[str], labels: Path, truth: Path
) -> list[str]:
    """The classes in the order of `names`; each id must have a class."""
    by_id = dict(zip(others, classes, strict=True))
    missing = [name for name in names if name not in by_id]
    if len(missing) == len(names):
        raise ValueError(
            f"no row of {labels} is in {truth}: one has ids such as {names[0]!r}, the other such "
            f"as {others[0]!r}; is --id-column the right one?"
        )
    if missing:
        raise ValueError(
            f"{len(missing):,} rows of {labels} are not in {truth}, the first {missing[0]!r}"
        )
    return [by_id[name] for name in names]


def _note_unlabeled(names: list[str], others: list[str], labels: Path, truth: Path) -> int:
    """How many rows of the truth have no label; says so when there are any."""
    labeled = set(names)
    without = [name for name in others if name not in labeled]
    if without:
        out.print_note(
            f"rows of {truth} that {labels} lacks are not scored: {len(without):,} of "
            f"{len(others):,}, the first {without[0]!r}"
        )
    return len(without)
