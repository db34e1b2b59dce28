"""Engines run tasks where blocks of rows are: `Serial` here, `Workers` on a Dask cluster.

A task is a module-level function, so that it can be pickled: ``work(block, shared, per_block)``.
`block` has the rows, `shared` the input that is the same for all blocks and `per_block` that of
this one. Nothing is kept between tasks: a lost one is run again with the same result. An engine
has these calls:

run(work, shared, per_block, which)
    Results for every block, or those in `which`, in order; `per_block` has one entry for each.
column(work, shared, per_block)
    One int32 per row: an array, or a Dask array.
locate(names)
    Row numbers of these ids; None if rows have no ids.
weighted(weight), prepared(function)
    Another engine on the same rows, with weights, or with each block replaced by function(rows).
close()
    Release what only the fit needed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwise._types import Floats, Ints, Labels, Matrix, is_sparse

from ._source import Blocks, drop_pages, new_array

Work = Callable[..., Any]
PerBlock = Sequence[object] | None
Prepare = Callable[[Matrix], Matrix]


class Block(NamedTuple):
    """A block of rows: dense in C order or CSR, weights (or an empty array), number of threads."""

    X: Matrix
    weight: Floats
    n_jobs: int | None


class Serial:
    """Runs tasks on the blocks of a source one after another; memory holds one at a time."""

    def __init__(self, source: Blocks):
        self.source, self.starts, self.is_sparse = source, source.starts, source.is_sparse
        self.d, self.dtype = source.shape[1], source.dtype
        self._weight: Floats | None = None
        self._prepare: Prepare | None = None
        self._checked = False

    @property
    def has_weight(self) -> bool:
        """Whether rows have weights."""
        return self._weight is not None

    def weighted(self, weight: ArrayLike) -> Serial:
        """Another engine on the same rows with weights."""
        twin = copy(self)
        twin._weight = check_weight(weight, int(self.starts[-1]))
        return twin

    def prepared(self, prepare: Prepare) -> Serial:
        """Another engine on the same rows, each block replaced by `prepare(rows)`."""
        twin = copy(self)
        twin._prepare = prepare
        return twin

    def run(
        self, work: Work, shared: object = None, per_block: PerBlock = None,
        which: Sequence[int] | None = None,
    ) -> list[Any]:  # fmt: skip
        """Results of `work` on the blocks."""
        return list(self._results(work, shared, per_block, which))

    def _results(
        self, work: Work, shared: object, per_block: PerBlock, which: Sequence[int] | None
    ) -> Iterator[Any]:
        numbers = list(range(len(self.starts) - 1)) if which is None else list(which)
        extras = [None] * len(numbers) if per_block is None else per_block
        for (number, X), extra in zip(self.source.parts(numbers), extras, strict=True):
            yield work(self._block(number, X), shared, extra)
        self._checked = self._checked or which is None

    def _block(self, number: int, X: Matrix) -> Block:
        first, last = self.starts[number : number + 2]
        weight = np.zeros(0) if self._weight is None else np.asarray(self._weight[first:last])
        if not self._checked:
            check_block(X, weight, int(first))
        if self._prepare is not None:
            X = self._prepare(X)
        return Block(X, np.asarray(weight, dtype=np.float64), None)

    def column(self, work: Work, shared: object, per_block: Sequence[object]) -> Labels:
        """One int32 per row: an array, mapped to a file if it takes over 1/4 of the memory."""
        found = new_array((int(self.starts[-1]),), np.int32, self.source.spare / 4)
        for number, part in enumerate(self._results(work, shared, per_block, None)):
            found[self.starts[number] : self.starts[number + 1]] = part
            drop_pages(found)
        return found

    def locate(self, names: Sequence[Hashable]) -> dict[Hashable, int] | None:
        """Row numbers of these ids; None if rows have no ids."""
        return self.source.locate(names)

    def close(self) -> None:
        """Nothing to release."""


def split(starts: Ints, rows: Ints) -> tuple[list[int], list[Ints], list[Ints]]:
    """Blocks that contain the rows, row numbers in each block, and positions in `rows`."""
    block = np.searchsorted(starts, rows, side="right") - 1
    order = np.argsort(block, kind="stable")
    which, first = np.unique(block[order], return_index=True)
    chosen = np.split(order, first[1:]) if len(which) else []
    inside = [rows[part] - starts[b] for b, part in zip(which, chosen, strict=True)]
    return which.tolist(), inside, chosen


def check_weight(weight: ArrayLike, n_rows: int) -> Floats:
    """Weights, one per row; `check_block` checks the values."""
    weight = np.asanyarray(weight)
    if weight.shape != (n_rows,):
        raise ValueError(f"sample_weight has shape {weight.shape}; expected ({n_rows},)")
    return weight


def check_block(X: Matrix, weight: ArrayLike | None, first: int) -> Block:
    """A block whose rows and weights are finite numbers; raises otherwise."""
    values = X.data if is_sparse(X) else X
    with np.errstate(all="ignore"):  # a sum of large values may overflow: then check each
        total = values.sum(dtype=np.float64)
    if not np.isfinite(total) and not np.isfinite(values).all():
        bad = np.flatnonzero(~np.isfinite(X).all(axis=1)) if values is X else [0]
        raise ValueError(
            f"Input X contains NaN or infinity, first in row {first + int(bad[0]):,}; fill the "
            "gaps or leave these rows out"
        )
    values = np.zeros(0) if weight is None else np.asarray(weight, dtype=np.float64)
    if values.size and not (np.isfinite(values).all() and (values >= 0).all()):
        raise ValueError("Negative or missing values in sample_weight; weights are 0 or more")
    return Block(X, values, None)
