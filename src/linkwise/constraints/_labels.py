"""Partial labels: reading them, and the constraints that they imply."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from linkwise._types import LabelsLike

from ._builder import (
    Builder,
    Kind,
    is_missing,
)
from ._errors import ConstraintError
from ._links import Rows

_MAX_CLASSES = 10_000  # every two classes get a cannot-link: 50 million links


def add_labels(builder: Builder, labels: LabelsLike, ids: Sequence[Hashable] | None = None) -> None:
    """Add partial labels: must-links from the first row of each class to the others.

    One cannot-link between the first rows of every two classes is enough: the closure implies the
    rest, and proofs stay short.
    """
    source = builder.source("labels")
    names, codes = known_labels(labels, ids)
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    hub = np.repeat(order[starts], np.diff(starts, append=len(order)))
    inside = order != hub
    add = _adder(builder, names, source)
    add("must", hub[inside], order[inside])
    if len(starts) > _MAX_CLASSES:
        raise ConstraintError(
            f"labels with {len(starts):,} classes would need a cannot-link for every two of them; "
            f"the limit is {_MAX_CLASSES:,} classes: give groups (or must-links) instead"
        )
    first, second = np.triu_indices(len(starts), 1)
    add("cannot", order[starts][first], order[starts][second])


def _adder(builder: Builder, names: Rows | list[Hashable], source: int) -> Callable[..., None]:
    def add(kind: Kind, i: Rows, j: Rows) -> None:
        if isinstance(names, np.ndarray):
            builder.add(kind, [names[i], names[j]], None, source, names[j])
        elif len(i):
            columns = [[names[k] for k in i.tolist()], [names[k] for k in j.tolist()]]
            builder.add(kind, columns, None, source, np.asarray(j, dtype=np.int64))

    return add


def known_labels(
    labels: LabelsLike, ids: Sequence[Hashable] | None = None
) -> tuple[Rows | list[Hashable], Rows]:
    """The labeled rows and their classes as codes 0..k-1."""
    ids, codes = label_codes(labels, ids)
    rows = np.flatnonzero(codes >= 0)
    names: Rows | list[Hashable] = rows if ids is None else [ids[row] for row in rows.tolist()]
    return names, codes[rows]


def label_codes(
    labels: LabelsLike, ids: Sequence[Hashable] | None = None
) -> tuple[Sequence[Hashable] | None, Rows]:
    """Ids of the rows, if they have any, and their labels as codes 0..k-1; unknown is -1."""
    if isinstance(labels, dict):
        ids, labels = list(labels), list(labels.values())
    elif ids is None:
        ids = row_names(labels)
    values = np.asarray(labels)
    if values.ndim != 1:
        raise ValueError(f"labels must be one-dimensional, not of shape {values.shape}")
    if values.dtype.kind in "US" and not isinstance(labels, np.ndarray):
        # NumPy made text of -1, None and NaN.
        values = np.array(list(labels), dtype=object)  # type: ignore[arg-type]
    if ids is not None and len(ids) != len(values):
        raise ValueError(f"{len(values)} labels but {len(ids)} ids; there must be one id per row")
    known = _is_known(values)
    codes = np.full(len(values), -1, dtype=np.int64)
    codes[known] = _number(values[known])
    return ids, codes


def _number(values: NDArray) -> Rows:
    """Number values by sorted order; objects that cannot be sorted by first appearance."""
    if values.dtype.kind == "O":
        table: dict[Hashable, int] = {}
        return np.array([table.setdefault(v, len(table)) for v in values.tolist()], np.int64)
    if values.dtype.kind in "iu" and len(values):
        low, high = int(values.min()), int(values.max())
        if high - low <= len(values):  # a table is far faster than sorting
            place = (values - values.dtype.type(low)).astype(np.int64)
            seen = np.zeros(high - low + 1, dtype=bool)
            seen[place] = True
            return (np.cumsum(seen) - 1)[place]
    return np.unique(values, return_inverse=True)[1].reshape(-1)


def _is_known(values: NDArray) -> NDArray[np.bool_]:
    if values.dtype.kind in "iuf":
        return (values != -1) & (values == values)  # NaN differs from itself
    if values.dtype.kind == "O":
        return np.array([not is_missing(v) and v not in (-1, "-1", "") for v in values], dtype=bool)
    if values.dtype.kind == "U":
        return (values != "-1") & (values != "")  # an empty cell of a file
    return np.ones(len(values), dtype=bool)


def row_names(X: object) -> list[Hashable] | None:
    """The index of a frame or series as ids; None for arrays and for a plain 0, 1, 2, ... index."""
    index = getattr(X, "index", None)
    if index is None or not hasattr(X, "iloc"):
        return None
    names = index.tolist()
    return None if names == list(range(len(names))) else names
