"""The input of `linkwise cluster`: rows, and the constraints and labels on them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkwise._help import see

from . import _output as out
from ._input import Reading, check_rows, column_names, make_features, read_constraints, read_rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from linkwise._methods import Method
    from linkwise._types import JsonDict, Matrix
    from linkwise.constraints import Constraints
    from linkwise.datasets import Preparation, Table
    from linkwise.report import Report

_ID_NAMES = ("id", "key", "row", "index", "rowid", "row_id")
_MAX_DENSE_CELLS = 100_000_000
_MANY_LABELS = 3  # times as many labels as clusters look like groups
_UNEVEN_RATIO = 10.0  # of the standard deviations of two columns


@dataclass(frozen=True)
class ClusterInput:
    """Rows to cluster, with constraints and labels."""

    table: Table
    X: Matrix
    features: list[str]
    k: int | None
    ids: list[str] | None
    label_column: str | None
    known: Constraints | None = None  # by id where rows have ids
    y: NDArray[np.int64] | None = None
    classes: tuple[str, ...] = ()  # what clusters are called, for methods that begin with labels
    labels: tuple[str, ...] = ()  # what the numbers of y stand for
    units: Any = None  # X before it was standardized, for people to read
    texts: Any = None
    preparation: Preparation | None = None

    def with_knowledge(
        self, path: Path | None, columns: list[str], method: Method, tag: str | None,
        groups: dict[str, str], encoding: str | None = None, ignore_unknown: bool = False,
    ) -> ClusterInput:  # fmt: skip
        """The same input with constraints and labels."""
        if path is None and columns:
            raise ValueError("--column names columns of --constraints; give --constraints too")
        known, y = None, None
        classes: tuple[str, ...] = ()
        labels: tuple[str, ...] = ()
        if path is not None:
            known = read_constraints(path, "text" if self.ids else "auto", columns, encoding)
            found = check_rows(
                known, self.table, self.ids, self.features, ignore_unknown=ignore_unknown
            )
            known = found if ignore_unknown and not self.ids else known
        if groups:
            known = self._groups(groups) if known is None else known + self._groups(groups)
        if self.label_column is not None:
            y, names = _partial_labels(self.table, self.label_column, self.k, method, tag)
            classes = names if method.starts_from_labels else ()
            labels = names
            self._doubt_labels(len(names))
        elif tag is not None:
            raise ValueError("--tag names a label of --label-column; give --label-column too")
        _note_unused(method, known, y)
        return replace(self, known=known, y=y, classes=classes, labels=labels)

    def _groups(self, columns: dict[str, str]) -> Constraints:
        """Constraints from columns of groups, by id where rows have ids."""
        from linkwise.constraints import Constraints

        found = Constraints()
        for kind, column in columns.items():
            if kind == "taxonomy":
                found += self._taxonomy(column_names(column, "--taxonomy-columns"))
                continue
            cells = [cell.strip() or None for cell in self.table.text(column)]
            names = self.ids or range(len(cells))
            of_row = {name: cell for name, cell in zip(names, cells, strict=True) if cell}
            if len(set(of_row.values())) == len(of_row):
                out.print_note(f"--{kind}-column {column}: no two rows have the same value")
                continue
            found += Constraints(**{kind: of_row})  # type: ignore[arg-type]
        return found

    def _taxonomy(self, ranks: list[str]) -> Constraints:
        """The triplets of a tree whose ranks are columns; rows are its leaves."""
        from linkwise.constraints import Constraints, Tree

        table = {name: [cell.strip() or None for cell in self.table.text(name)] for name in ranks}
        names: Sequence[Any] = self.ids or range(self.table.n_rows)
        return Constraints.from_tree(Tree.from_taxonomy(table, names))

    def _doubt_labels(self, n_labels: int) -> None:
        """Ask whether a column of groups was meant if there are far more labels than clusters."""
        if self.k is None or n_labels <= max(_MANY_LABELS * self.k, self.k + 5):
            return
        out.print_note(
            f"--label-column {self.label_column} has {n_labels:,} labels, far more than -k "
            f"{self.k}, and rows of different labels are kept apart; for groups that only belong "
            f"together give --together-column {self.label_column}"
        )

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.table.n_rows

    def all_known(self) -> Constraints:
        """Constraints and labels together, as the hard methods take them."""
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
        from linkwise.datasets._features import place_of

        rows = self._labeled()

        def line(found: re.Match[str]) -> str:
            return f"{place_of(self.table, rows[int(found[1])])} of {self.table.path.name}"

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
        return report.describe(self.units, found, self.features, texts=self.texts)

    def close(self) -> None:
        """Nothing is open."""

    @property
    def legend(self) -> JsonDict:
        """The label that each cluster was seeded with, for methods that work so."""
        return {"labels": list(self.classes)} if self.classes else {}


def read_input(
    data: Path,
    k: int | None,
    id_column: str | None,
    label_column: str | None,
    features: str | None,
    impute: str | None,
    standardize: bool,
    groups: Sequence[str] = (),
    how: Reading | None = None,
) -> ClusterInput:
    """The input from a file whose columns are the features."""
    table, ids = _read_table(data, k, id_column, label_column, how)
    leave_out = [name for name in (id_column, label_column, *groups) if name is not None]
    chosen = None if features is None else column_names(features)

    made = make_features(table, chosen, leave_out=leave_out, impute=impute, standardize=standardize)
    suspect = [name for name in made.names if chosen is None and _looks_like_id(name)]
    if suspect:
        out.print_note(
            f"the column {suspect[0]!r} is used as a feature; if it holds ids, give "
            f"--id-column {suspect[0]}"
        )
    return ClusterInput(
        table,
        made.X,
        made.names,
        k,
        ids,
        label_column,
        units=made.units,
        preparation=made.preparation,
    )


def _looks_like_id(name: str) -> bool:
    return name.lower() in _ID_NAMES or name.lower().endswith(("_id", " id", "_key", " key"))


def note_uneven(X: NDArray[np.float64], names: list[str]) -> None:
    """Print a note if one column dominates all distances by its unit."""
    spread = X.std(axis=0)
    varying = spread > 0
    if varying.sum() < 2:
        return
    least = int(spread.argmin() if varying.all() else (spread + (~varying) * spread.max()).argmin())
    most = int(spread.argmax())
    if spread[most] > _UNEVEN_RATIO * spread[least]:
        out.print_note(
            f"{names[most]!r} varies {spread[most] / spread[least]:,.0f} times as much as "
            f"{names[least]!r} and decides most distances; --standardize makes columns count alike"
        )


def _read_table(
    data: Path,
    k: int | None,
    id_column: str | None,
    label_column: str | None,
    how: Reading | None = None,
) -> tuple[Table, list[str] | None]:
    if id_column is not None and id_column == label_column:
        raise ValueError(f"--id-column and --label-column are both {id_column!r}")
    table, ids = read_rows(data, id_column, how)
    if k is not None and k > table.n_rows:
        raise ValueError(
            f"-k {k} is larger than the number of rows, {table.n_rows:,}" + see("clusters")
        )
    return table, ids


def read_text_input(
    data: Path,
    k: int | None,
    id_column: str | None,
    label_column: str | None,
    text_column: str,
    stop_words: str | None,
    method: Method,
    how: Reading | None = None,
    embedding: str = "tfidf",
) -> ClusterInput:
    """The input from a file in which the words of one column are the features."""
    from linkwise.datasets import prepare_text

    table, ids = _read_table(data, k, id_column, label_column, how)
    made = prepare_text(table, text_column, stop_words=stop_words, embedding=embedding)
    X = made.X
    if method.sparse == "no" and embedding == "tfidf":
        if X.shape[0] * X.shape[1] > _MAX_DENSE_CELLS:
            raise ValueError(
                f"{method.short} needs dense data; {X.shape[0]:,} texts of {X.shape[1]:,} words "
                "are too large for that: use hmrf, pck or mpck"
            )
        X = X.toarray()
    what = "words" if embedding == "tfidf" else f"dimensions of {embedding}"
    features = [f"{text_column} ({X.shape[1]:,} {what})"]
    texts = table.text(text_column).tolist()
    return ClusterInput(
        table,
        X,
        features,
        k,
        ids,
        label_column,
        units=made.X,
        texts=texts,
        preparation=made.preparation,
    )


def _partial_labels(
    table: Table, column: str, k: int | None, method: Method, tag: str | None
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Labels as 0, 1, 2, ..., -1 where unknown, and what they are called.

    Numbers 0 to k - 1 stay what they are, so that label 2 is cluster 2; others are numbered in
    their order.
    """
    import numpy as np

    cells = [cell.strip() for cell in table.text(column)]
    values = table.column(column)
    if values.dtype == object:
        known = np.array([cell is not None for cell in values]) & ~np.isin(cells, ("", "-1"))
        values = np.array(cells)
    else:
        known = np.isfinite(values) & (values != -1)
    y = np.full(len(values), -1, dtype=np.int64)
    if not known.any():
        out.print_note(f"no row has a label in {column!r}")
        return y, ()
    levels, first, codes = np.unique(values[known], return_index=True, return_inverse=True)
    names = [cells[row] for row in np.flatnonzero(known)[first]]
    if method.option("tag") is not None and tag is None and len(names) == 1:
        tag = names[0]
    if tag is not None:
        if tag not in names:
            raise ValueError(
                f"--tag {tag}: no row has this label in {column!r}; there are "
                f"{', '.join(names[:20])}"
            )
        y[known] = np.where(codes.reshape(-1) == names.index(tag), 0, -1)
        return y, (tag,)
    if k is not None and values.dtype.kind == "f" and np.isin(levels, np.arange(k)).all():
        y[known] = values[known].astype(np.int64)
        return y, tuple(str(label) for label in range(k))
    y[known] = codes.reshape(-1)
    return y, tuple(names)


def _note_unused(method: Method, known: Constraints | None, y: ArrayLike | None) -> None:
    if known is None and y is None:
        out.print_note(
            "no constraints or labels are given (--constraints, --label-column): this is plain "
            "clustering"
        )
    if known is not None and known.n_relative and "triplets" not in method.takes:
        out.print_note(
            f"{method.short} does not use relative constraints; the report only tells which of "
            f"the {known.n_relative:,} hold"
        )
