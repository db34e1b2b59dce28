"""`linkwise score`: compare a clustering with the truth."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table as RichTable

from . import _options as opt
from . import _output as out
from ._input import Reading, read_constraints, read_ids
from ._options import DATA, option

if TYPE_CHECKING:
    from linkwise._types import JsonDict

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


@dataclass(frozen=True, kw_only=True)
class Score(Reading):
    """The options of the command."""

    labels: Annotated[Path, typer.Argument(help="A clustering: one row a line.")]
    truth: Annotated[
        Path, typer.Argument(help="The true classes, or an earlier clustering: one row a line.")
    ]
    label_column: Annotated[
        str | None, option(DATA, about="Column of LABELS with the clusters; found if absent.")
    ] = None
    truth_column: Annotated[
        str | None, option(DATA, about="Column of TRUTH with the classes; found if absent.")
    ] = None
    constraints: opt.ConstraintsFile = None
    column: opt.ColumnRoles = None
    changes: Annotated[
        bool,
        option(
            opt.OUTPUT, "--changes",
            about="Show what changed since TRUTH: clusters split, merged, new or gone.",
        ),
    ] = False  # fmt: skip
    as_json: opt.Json = False


@dataclass(frozen=True)
class _Column:
    """The label of each row of a file, and its id."""

    path: Path
    labels: list[str]
    ids: list[str] | None

    @classmethod
    def read(cls, how: Reading, path: Path, name: str | None, flag: str) -> _Column:
        """The label column of a file, recognized by its name if none is given."""
        table = how.table(path)
        name = name or _find(list(table.columns), how.id_column, str(path), flag)
        cells = table.text(name).tolist()
        if "" in cells:
            row = cells.index("")
            raise ValueError(
                f"{path}: {table.place_of(row)} has no {name!r}; remove this row, or give another "
                f"column with {flag}"
            )
        return cls(path, cells, read_ids(table, how.id_column))


def score(request: Score) -> None:
    """Compare a clustering with the true classes, or with an earlier clustering.

    Rows are matched by --id-column, or by their order when it is not given; rows of TRUTH without
    a cluster are left out, and counted. Names of clusters do not matter, but -1 is no cluster:
    such rows keep no must-link.

    Examples:

        linkwise score clusters.csv beans.csv --truth-column origin --id-column bean

        linkwise score friday.csv monday.csv --id-column bean --changes
    """
    with out.plain_errors():
        truth_column = request.truth_column or (request.label_column if request.changes else None)
        new = _Column.read(request, request.labels, request.label_column, "--label-column")
        old = _Column.read(request, request.truth, truth_column, "--truth-column")
        if new.ids is None and len(new.labels) != len(old.labels):
            raise ValueError(
                f"{new.path} has {len(new.labels):,} rows, {old.path} has {len(old.labels):,}; "
                "give both the same rows, or match them with --id-column"
            )
        if request.changes:
            _show_changes(old, new, request.as_json)
            return
        result = _scores(request, new, old)
    if request.as_json:
        out.print_json(result)
        return
    title = f"{new.path.name} against {old.path.name}, {result['n_rows']:,} rows"
    table = RichTable("score", title=title)
    table.add_column("value", justify="right")
    for name, words in _WORDS.items():
        if name in result:
            table.add_row(words, f"{result[name]:.4f}")
    out.console.print(table)


def _scores(request: Score, new: _Column, old: _Column) -> JsonDict:
    """The scores, with rows matched by id."""
    from linkwise.evaluation import score as compare

    classes, n_without = old.labels, 0
    if new.ids is not None and old.ids is not None:
        classes = _matched(new, old)
        n_without = _note_unlabeled(new, old)
    known = None
    if request.constraints is not None:
        ids = "auto" if new.ids is None else "text"
        known = read_constraints(request.constraints, ids, request.column or [], request.encoding)
    scores = compare(classes, _numbered(new.labels), constraints=known, sample_ids=new.ids)
    return {**scores.to_dict(), "rows_without_label": n_without}


def _show_changes(old: _Column, new: _Column, as_json: bool) -> None:
    """What became of the clusters of an earlier clustering."""
    from linkwise.evaluation import compare_clusterings

    before, after = ([_number(cell) for cell in column.labels] for column in (old, new))
    changes = compare_clusterings(before, after, old_ids=old.ids, new_ids=new.ids)
    if not changes.n_rows:
        raise ValueError("the files have no row in common; is --id-column the right one?")
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


def _numbered(clusters: list[str]) -> list[int]:
    """The clusters by number; -1 stays -1, which the library reads as no cluster."""
    number: dict[str, int] = {}
    return [
        -1 if _number(name) == -1 else number.setdefault(name, len(number)) for name in clusters
    ]


def _find(names: list[str], id_column: str | None, path: str, flag: str) -> str:
    others = [name for name in names if name != id_column]
    usual = [name for name in others if name.lower() in _LABEL_NAMES]
    for candidates in (others, usual):
        if len(candidates) == 1:
            return candidates[0]
    raise ValueError(f"{path}: which column holds the labels? Give {flag}: {', '.join(names)}")


def _matched(new: _Column, old: _Column) -> list[str]:
    """The classes in the order of the clustering; each id must have a class."""
    assert new.ids is not None
    assert old.ids is not None
    by_id = dict(zip(old.ids, old.labels, strict=True))
    missing = [name for name in new.ids if name not in by_id]
    if len(missing) == len(new.ids):
        raise ValueError(
            f"no row of {new.path} is in {old.path}: one has ids such as {new.ids[0]!r}, the other "
            f"such as {old.ids[0]!r}; is --id-column the right one?"
        )
    if missing:
        raise ValueError(
            f"{len(missing):,} rows of {new.path} are not in {old.path}, the first {missing[0]!r}; "
            "add them, or remove them from the clustering"
        )
    return [by_id[name] for name in new.ids]


def _note_unlabeled(new: _Column, old: _Column) -> int:
    """Number of rows of the truth without a cluster; with a note if there are any."""
    labeled = set(new.ids or ())
    without = [name for name in old.ids or () if name not in labeled]
    if without:
        out.print_note(
            f"rows of {old.path} that {new.path} lacks are not scored: {len(without):,} of "
            f"{len(old.labels):,}, the first {without[0]!r}"
        )
    return len(without)
