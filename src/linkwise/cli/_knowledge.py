"""The input of `linkwise cluster`: rows, and the constraints and labels on them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from linkwise._help import see

from . import _output as out
from ._compare import Comparison, compare
from ._input import column_names, constraints_on, read_ids, recognized_ids

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from sklearn.base import BaseEstimator

    from linkwise._types import JsonDict
    from linkwise.constraints import Constraints
    from linkwise.report import Report
    from linkwise.tables import Features, Table

    from ._cluster import Request

_MANY_LABELS = 3  # times as many labels as clusters look like groups
# Labels that say that there is none; -1 is scikit-learn's.
_NO_LABEL = ("", "-1", "unknown", "unlabeled", "unlabelled", "none", "n/a", "na", "?", "-")


@dataclass(frozen=True)
class Given:
    """Rows to cluster, with constraints and labels."""

    table: Table
    made: Features
    ids: list[str] | None
    id_column: str | None
    known: Constraints | None  # by id where rows have ids
    y: NDArray[np.int64] | None
    labels: tuple[str, ...]  # what the numbers of y stand for
    classes: tuple[str, ...]  # the same, for methods whose clusters begin with labels

    @property
    def X(self) -> Any:
        """The rows as numbers."""
        return self.made.X

    @property
    def features(self) -> list[str]:
        """Names of the columns of `X`, or the words of texts."""
        return self.made.names

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.table.n_rows

    def all_known(self) -> Constraints:
        """Constraints and labels together."""
        from linkwise.constraints import Constraints

        known = self.known or Constraints()
        if self.y is None:
            return known
        names: Sequence[Any] = self.ids or range(len(self.y))
        labels = {names[row]: int(self.y[row]) for row in self._labeled()}
        return known + Constraints(labels=labels)

    def _labeled(self) -> list[int]:
        return [] if self.y is None else (self.y >= 0).nonzero()[0].tolist()

    def in_lines(self, text: str) -> str:
        """A text on `all_known`, with lines of the data in place of numbers of labels."""
        rows = self._labeled()

        def line(found: re.Match[str]) -> str:
            return f"{self.table.place_of(rows[int(found[1])])} of {self.table.path.name}"

        return re.sub(r"\blabels\[(\d+)\]", line, text) if rows else text

    def names(self, found: NDArray[np.integer]) -> list[str] | None:
        """Names of the clusters: the labels they started from, or the most frequent label.

        None if no label says anything; "" for a cluster without labeled rows.
        """
        import numpy as np

        if self.classes:
            called = [*self.classes, *[""] * (int(found.max()) + 1 - len(self.classes))]
        elif self.y is not None and self.labels:
            seen = (self.y >= 0) & (found >= 0)
            count = np.zeros((int(found.max()) + 1, len(self.labels)), dtype=np.int64)
            np.add.at(count, (found[seen], self.y[seen]), 1)
            called = [self.labels[row.argmax()] if row.any() else "" for row in count]
        else:
            return None
        return None if called == [str(number) for number in range(len(called))] else called

    def described(self, report: Report, found: NDArray[np.integer]) -> Report:
        """The report with what each cluster is like, in the units of the file."""
        text = None if self.made.preparation is None else self.made.preparation.text
        texts = None if text is None else text.joined(self.table)
        return report.describe(self.made.units, found, self.features, texts=texts)

    def compared(self, model: BaseEstimator) -> Comparison | None:
        """The result beside plain k-means; None if too little is known."""
        known = self.known
        if known is None and self.y is None:
            return None
        from linkwise.constraints import Constraints

        known = (known or Constraints()).to_rows(self.n_rows, self.ids)
        return compare(model, self.X, known, self.y)

    def close(self) -> None:
        """Nothing is open."""

    @property
    def legend(self) -> JsonDict:
        """The label that each cluster was seeded with, for methods that work so."""
        return {"labels": list(self.classes)} if self.classes else {}


def read(request: Request) -> Given:
    """Rows, constraints and labels of a request."""
    how, label_column = request.reading, request.label_column
    if how.id_column is not None and how.id_column == label_column:
        raise ValueError(f"--id-column and --label-column are both {label_column!r}")
    table = how.table(request.data)
    least = request.clusters.least if request.clusters is not None else 1
    if least > table.n_rows:
        raise ValueError(
            f"-k {least} is larger than the number of rows, {table.n_rows:,}" + see("clusters")
        )
    known, id_column = None, how.id_column
    if request.constraints is not None:
        known, id_column = constraints_on(
            table, request.constraints, how, request.column or [],
            ignore_unknown=request.ignore_unknown,
        )  # fmt: skip
    elif request.column:
        raise ValueError("--column names columns of --constraints; give --constraints too")
    elif id_column is None:
        id_column = recognized_ids(table)
    ids = read_ids(table, id_column)
    leave_out = [*request.no_features, *([] if id_column is None else [id_column])]
    made = how.rows(table, leave_out)
    groups = _groups(request, table, ids)
    known = groups if known is None else known if groups is None else known + groups
    y: NDArray[np.int64] | None = None
    labels: tuple[str, ...] = ()
    if label_column is not None:
        y, labels = _partial_labels(table, label_column, request)
    _note_knowledge(request, known, y)
    classes = labels if request.method.starts_from_labels else ()
    return Given(table, made, ids, id_column, known, y, labels, classes)


def _groups(request: Request, table: Table, ids: list[str] | None) -> Constraints | None:
    """Constraints from columns of groups and ranks, by id where rows have ids."""
    from linkwise.constraints import Constraints, Tree

    found = None
    names: Sequence[Any] = ids or range(table.n_rows)
    columns = {"together": request.together_column, "apart": request.apart_column}
    for kind, column in columns.items():
        if column is None:
            continue
        cells = [cell.strip() for cell in table.text(column)]
        of_row = {name: cell for name, cell in zip(names, cells, strict=True) if cell}
        if len(set(of_row.values())) == len(of_row):
            out.print_note(f"--{kind}-column {column}: no two rows have the same value")
            continue
        own = Constraints(**{kind: of_row})
        found = own if found is None else found + own
    if request.taxonomy_columns is not None:
        ranks = column_names(request.taxonomy_columns, "--taxonomy-columns")
        cells_of = {name: [cell.strip() or None for cell in table.text(name)] for name in ranks}
        own = Constraints.from_tree(Tree.from_taxonomy(cells_of, names))
        found = own if found is None else found + own
    return found


def _partial_labels(
    table: Table, column: str, request: Request
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Labels as 0, 1, 2, ..., -1 where unknown, and what they are called.

    Numbers 0 to k - 1 stay what they are, so that label 2 is cluster 2; others are numbered in
    their order.
    """
    import numpy as np

    cells = np.array([cell.strip() for cell in table.text(column)], dtype=object)
    table.column(column)  # says what is wrong
    known = np.array([cell.lower().removesuffix(".0") not in _NO_LABEL for cell in cells])
    words = {cell for cell in cells[~known] if cell and cell.removesuffix(".0") != "-1"}
    if words:
        told = ", ".join(sorted(map(repr, words)))
        out.print_note(f"--label-column {column}: {told} is no label: these rows count as unknown")
    y = np.full(len(cells), -1, dtype=np.int64)
    names = tuple(sorted(set(cells[known])))
    k = request.k if isinstance(request.k, int) else None
    if not names:
        out.print_note(f"no row has a label in {column!r}")
        return y, ()
    tag = request.parameters.get("tag")
    if request.method.takes == "one tagged group":
        tag = names[0] if tag is None and len(names) == 1 else tag
        if tag is None:
            raise ValueError(
                f"{column!r} has {len(names):,} labels; say with --set tag=NAME which of them is "
                f"the known cluster: {', '.join(names[:20])}"
            )
        if str(tag) not in names:
            raise ValueError(
                f"--set tag={tag}: no row has this label in {column!r}; there are "
                f"{', '.join(names[:20])}"
            )
        y[cells == str(tag)] = 0
        return y, (str(tag),)
    if k is not None and len(names) > max(_MANY_LABELS * k, k + 5):
        out.print_note(
            f"--label-column {column} has {len(names):,} labels, far more than -k {k}, and rows "
            f"of different labels are kept apart; for groups that only belong together give "
            f"--together-column {column}"
        )
    numbers = {name: number for number, name in enumerate(names)}
    if k is not None and set(names) <= set(map(str, range(k))):
        names = tuple(map(str, range(k)))
        numbers = {name: int(name) for name in names}
    y[known] = [numbers[cell] for cell in cells[known]]
    return y, names


def _note_knowledge(
    request: Request, known: Constraints | None, y: NDArray[np.int64] | None
) -> None:
    if known is None and y is None:
        out.print_note(
            "no constraints or labels are given (--constraints, --label-column): this is plain "
            "clustering"
        )
    method = request.method
    if known is not None and known.n_relative and "triplets" not in method.takes:
        out.print_note(
            f"{method.short} does not use triplets; the report only tells which of the "
            f"{known.n_relative:,} hold (--algorithm recon uses them)"
        )
