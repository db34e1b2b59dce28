"""`linkwise score`: compare a clustering with the truth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table as RichTable

from . import _options as opt
from . import _output as out
from ._input import Reading, read_constraints, read_ids
from ._options import DATA, option

if TYPE_CHECKING:
    from linkwise.tables import Table

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
    labels: Annotated[Path, typer.Argument(help="A clustering: one row a line.")],
    truth: Annotated[
        Path, typer.Argument(help="The true classes, or an earlier clustering: one row a line.")
    ],
    label_column: Annotated[
        str | None, option(DATA, about="Column of LABELS with the clusters; found if absent.")
    ] = None,
    truth_column: Annotated[
        str | None, option(DATA, about="Column of TRUTH with the classes; found if absent.")
    ] = None,
    id_column: Annotated[
        str | None, option(DATA, about="Column of ids, by which rows of both files are matched.")
    ] = None,
    missing: opt.Missing = None,
    encoding: opt.Encoding = None,
    sheet: opt.Sheet = None,
    constraints: opt.ConstraintsFile = None,
    column: opt.ColumnRoles = None,
    changes: Annotated[
        bool,
        option(
            opt.OUTPUT, "--changes",
            about="Show what changed since TRUTH: clusters split, merged, new or gone.",
        ),
    ] = False,
    as_json: opt.Json = False,
    help_all: opt.HelpAll = False,
) -> None:  # fmt: skip
    """Compare a clustering with the true classes, or with an earlier clustering.

    Rows are matched by --id-column, or by their order when it is not given; rows of TRUTH without
    a cluster are left out, and counted. Names of clusters do not matter, but -1 is no cluster:
    such rows keep no must-link.

    Examples:

        linkwise score clusters.csv beans.csv --truth-column origin --id-column bean

        linkwise score friday.csv monday.csv --id-column bean --changes
    """
    with out.plain_errors():
        how = Reading(id_column, missing=tuple(missing or ()), encoding=encoding, sheet=sheet)
        found, true = how.table(labels), how.table(truth)
        clusters = read_label_column(found, label_column, id_column)
        other = truth_column or (label_column if changes else None)
        classes = read_label_column(true, other, id_column, "--truth-column")
        names, others = read_ids(found, id_column), read_ids(true, id_column)
        if names is None and len(clusters) != len(classes):
            raise ValueError(
                f"{labels} has {len(clusters):,} rows, {truth} has {len(classes):,}; give both "
                "the same rows, or match them with --id-column"
            )
        if changes:
            _show_changes(classes, clusters, others, names, as_json)
            return
        n_without = 0
        if names is not None:
            assert others is not None
            classes = _matched(names, others, classes, labels, truth)
            n_without = _note_unlabeled(names, others, labels, truth)
        known = None
        if constraints is not None:
            ids = "text" if names else "rows"
            known = read_constraints(constraints, ids, column or [], encoding)
        from linkwise.evaluation import score as compare

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


def _show_changes(
    old: list[str], new: list[str], old_ids: list[str] | None, new_ids: list[str] | None,
    as_json: bool,
) -> None:  # fmt: skip
    """What became of the clusters of an earlier clustering."""
    from linkwise.evaluation import compare_clusterings

    before, after = ([_number(cell) for cell in cells] for cells in (old, new))
    found = compare_clusterings(before, after, old_ids=old_ids, new_ids=new_ids)
    if not found.n_rows:
        raise ValueError("the files have no row in common; is --id-column the right one?")
    if as_json:
        out.print_json(found.to_dict())
    else:
        out.console.print(str(found), markup=False, highlight=False, soft_wrap=True)


def _number(cell: str) -> int | str:
    """Clusters by number where they are numbers: "2" and "2.0" are the same cluster."""
    try:
        return int(float(cell)) if float(cell) == int(float(cell)) else cell
    except (ValueError, OverflowError):
        return cell


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
