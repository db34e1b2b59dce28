"""The input of `linkwise cluster`: rows, and the constraints and labels on them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from linkwise._help import see

from . import _output as out
from ._compare import Comparison, compare
from ._input import column_names, constraints_on, read_ids, recognized_ids

if TYPE_CHECKING:
    from collections.abc import Hashable

    import numpy as np
    from numpy.typing import NDArray
    from sklearn.base import BaseEstimator

    from linkwise._types import Matrix
    from linkwise.constraints import Constraints
    from linkwise.report import Report
    from linkwise.tables import Features, Table

    from ._cluster import Request

# Cells that stand for no label; -1 is scikit-learn's.
_NO_LABEL = ("", "-1", "unknown", "unlabeled", "unlabelled", "none", "n/a", "na", "nan", "?", "-")


@dataclass(frozen=True, kw_only=True)
class Labels:
    """Labels of some rows."""

    y: NDArray[np.int64]  # -1 is unknown
    names: tuple[str, ...]  # of the numbers in y


@dataclass(frozen=True, kw_only=True)
class Input:
    """Rows to cluster, with constraints and labels."""

    n_rows: int
    features: list[str]  # columns of X, or the words of texts
    id_column: str | None = None
    ids: list[str] | None = None
    known: Constraints | None = None  # by id where rows have ids
    labels: Labels | None = None
    classes: tuple[str, ...] = ()  # names of labels, for methods whose clusters start from them

    @property
    def X(self) -> Matrix:
        """The rows as numbers."""
        raise NotImplementedError

    def described(self, report: Report, clusters: NDArray[np.integer]) -> Report:
        """The report with rows and clusters in the words of the file."""
        raise NotImplementedError

    def compared(self, model: BaseEstimator) -> Comparison | None:
        """The comparison with plain k-means, if there is one."""
        return None

    def close(self) -> None:
        """Close connections."""

    @property
    def y(self) -> NDArray[np.int64] | None:
        """Labels as numbers."""
        return None if self.labels is None else self.labels.y

    def all_known(self) -> Constraints:
        """Constraints and labels together."""
        from linkwise.constraints import Constraints

        known = self.known or Constraints()
        if self.labels is None:
            return known
        names: Sequence[Hashable] = self.ids or range(self.n_rows)
        return known + Constraints(
            labels={names[row]: int(self.labels.y[row]) for row in self._labeled()}
        )

    def in_lines(self, text: str) -> str:
        """A message on `all_known`, in the words of the file."""
        return text

    def _labeled(self) -> list[int]:
        return [] if self.labels is None else (self.labels.y >= 0).nonzero()[0].tolist()

    def names(self, clusters: NDArray[np.integer]) -> list[str] | None:
        """Names of the clusters: the labels they started from, or the most frequent label.

        None if there are no labels, or they are the numbers; "" for a cluster without labeled rows.
        """
        import numpy as np

        if self.labels is None or not self.labels.names:
            return None
        y, n_clusters = self.labels.y, int(clusters.max()) + 1
        if self.classes:
            called = [*self.classes, *[""] * (n_clusters - len(self.classes))]
        else:
            both = (y >= 0) & (clusters >= 0)
            count = np.zeros((n_clusters, len(self.labels.names)), dtype=np.int64)
            np.add.at(count, (clusters[both], y[both]), 1)
            called = [self.labels.names[row.argmax()] if row.any() else "" for row in count]
        return None if called == [str(number) for number in range(len(called))] else called


@dataclass(frozen=True, kw_only=True)
class TableInput(Input):
    """Rows of a table in memory."""

    table: Table
    made: Features

    @property
    def X(self) -> Matrix:
        """The rows as numbers."""
        return self.made.X

    def in_lines(self, text: str) -> str:
        """A message on `all_known`, with lines of the data in place of numbers of labels."""
        rows = self._labeled()

        def line(found: re.Match[str]) -> str:
            return f"{self.table.place_of(rows[int(found[1])])} of {self.table.path.name}"

        return re.sub(r"\blabels\[(\d+)\]", line, text) if rows else text

    def described(self, report: Report, clusters: NDArray[np.integer]) -> Report:
        """The report with descriptions of the clusters, in the units of the file."""
        text = None if self.made.preparation is None else self.made.preparation.text
        texts = None if text is None else text.joined(self.table)
        return report.describe(self.made.units, clusters, self.features, texts=texts)

    def compared(self, model: BaseEstimator) -> Comparison | None:
        """The comparison with plain k-means on held-out links."""
        from linkwise.constraints import Constraints

        if self.known is None and self.labels is None:
            return None
        known = (self.known or Constraints()).to_rows(self.n_rows, self.ids)
        return compare(model, self.X, known, self.y)


def read(request: Request) -> TableInput:
    """Rows, constraints and labels of a request."""
    table = request.table(request.data)
    least = request.clusters.least if request.clusters is not None else 1
    if least > table.n_rows:
        raise ValueError(
            f"-k {least} is larger than the number of rows, {table.n_rows:,}" + see("clusters")
        )
    known, id_column = None, request.id_column
    if request.constraints is not None:
        known, id_column = constraints_on(table, request.constraints, request, request.column or [])
    elif id_column is None:
        id_column = recognized_ids(table)
    ids = read_ids(table, id_column)
    made = request.rows(table, [*request.no_features, *([id_column] if id_column else [])])
    for more in _groups(request, table, ids):
        known = more if known is None else known + more
    labels = None
    if request.label_column is not None:
        labels = _partial_labels(table, request.label_column, request)
    _note_knowledge(request, known, labels)
    return TableInput(
        n_rows=table.n_rows, features=made.names, id_column=id_column, ids=ids, known=known,
        labels=labels, table=table, made=made,
        classes=labels.names if labels and request.method.starts_from_labels else (),
    )  # fmt: skip


def _groups(request: Request, table: Table, ids: list[str] | None) -> list[Constraints]:
    """Constraints from columns of groups and ranks, by id where rows have ids."""
    from linkwise.constraints import Constraints, Tree

    groups = []
    names: Sequence[Hashable] = ids or range(table.n_rows)
    columns = {"together": request.together_column, "apart": request.apart_column}
    for kind, column in columns.items():
        if column is None:
            continue
        cells = [cell.strip() for cell in table.text(column)]
        of_row = {name: cell for name, cell in zip(names, cells, strict=True) if cell}
        if len(set(of_row.values())) == len(of_row):
            out.print_note(f"--{kind}-column {column}: no two rows have the same value")
        else:
            groups.append(Constraints(**{kind: of_row}))  # type: ignore[arg-type]
    if request.taxonomy_columns is not None:
        ranks = column_names(request.taxonomy_columns, "--taxonomy-columns")
        cells_of = {name: [cell.strip() or None for cell in table.text(name)] for name in ranks}
        groups.append(Constraints.from_tree(Tree.from_taxonomy(cells_of, names)))
    return groups


def _partial_labels(table: Table, column: str, request: Request) -> Labels:
    """Labels as 0, 1, 2, ..., -1 where unknown.

    Numbers 0 to k - 1 stay what they are, so that label 2 is cluster 2; others are numbered in
    their order.
    """
    import numpy as np

    table.column(column)  # raises if there is none
    cells = np.array([cell.strip() for cell in table.text(column)], dtype=object)
    known = np.array([cell.lower().removesuffix(".0") not in _NO_LABEL for cell in cells])
    if words := {cell for cell in cells[~known] if cell and cell.removesuffix(".0") != "-1"}:
        listed = ", ".join(sorted(map(repr, words)))
        out.print_note(
            f"--label-column {column}: {listed} is no label: these rows count as unknown"
        )
    y = np.full(len(cells), -1, dtype=np.int64)
    names = tuple(sorted(set(cells[known])))
    if not names:
        out.print_note(f"no row has a label in {column!r}")
        return Labels(y=y, names=())
    if request.method.takes == "one tagged group":
        tag = _tag(names, column, request)
        y[cells == tag] = 0
        return Labels(y=y, names=(tag,))
    k = request.k if isinstance(request.k, int) else None
    if k is not None and len(names) > k + 5 and len(names) > 3 * k:
        out.print_note(
            f"--label-column {column} has {len(names):,} labels, far more than -k {k}, and rows "
            f"of different labels are kept apart; for groups that only belong together give "
            f"--together-column {column}"
        )
    if k is not None and set(names) <= set(map(str, range(k))):
        names = tuple(map(str, range(k)))
    numbers = {name: number for number, name in enumerate(names)}
    y[known] = [numbers[cell] for cell in cells[known]]
    return Labels(y=y, names=names)


def _tag(names: tuple[str, ...], column: str, request: Request) -> str:
    """The label of the known cluster of preidentified."""
    there = ", ".join(names[:20])
    tag = request.parameters.get("tag", names[0] if len(names) == 1 else None)
    if tag is None:
        raise ValueError(
            f"{column!r} has {len(names):,} labels; give the one of the known cluster with --set "
            f"tag=NAME: {there}"
        )
    if str(tag) not in names:
        raise ValueError(f"--set tag={tag}: no row has this label in {column!r}; there are {there}")
    return str(tag)


def _note_knowledge(request: Request, known: Constraints | None, labels: Labels | None) -> None:
    if known is None and labels is None:
        out.print_note(
            "no constraints or labels are given (--constraints, --label-column): this is plain "
            "clustering"
        )
    method = request.method
    if known is not None and known.n_relative and "triplets" not in method.takes:
        out.print_note(
            f"{method.short} does not use triplets; the report only counts which of the "
            f"{known.n_relative:,} are satisfied (--algorithm recon uses them)"
        )
