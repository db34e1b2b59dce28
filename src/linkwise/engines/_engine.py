"""The protocol of engines: rows in blocks, and tasks that run where the blocks are.

A task is a module-level function, so that it can be pickled: ``work(block, state, shared,
per_block)``. `block` has the rows, `state` what is kept about them between two calls, `shared` the
input that is the same for all blocks and `per_block` that of this one. It must not change its
arguments: if a block is lost, the task is run again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from linkwise._types import Floats, Ints, Labels, Matrix, is_sparse

Work = Callable[..., Any]  # (block, state, shared, per_block) -> result, or (state, result)
PerBlock = Sequence[object] | None  # one entry per block that is worked on
Prepare = Callable[[Matrix], Matrix]


class States(Protocol):
    """State per block, or per bundle of blocks; only the engine that made it reads it."""

    def __getitem__(self, number: int, /) -> Any: ...

    def __setitem__(self, number: int, state: Any, /) -> None: ...


class Block(NamedTuple):
    """A block of rows: dense in C order or CSR, weights (or an empty array), number of threads."""

    X: Matrix
    weight: Floats
    n_jobs: int | None


class Engine(Protocol):
    """Runs tasks on blocks of rows.

    Attributes
    ----------
    starts : ndarray of shape (n_blocks + 1,)
        First row of each block, and the number of rows.
    d : int
        Number of features.
    dtype : dtype
        float32 or float64.
    is_sparse, has_weight : bool
    keeps_history : bool
        Whether a state holds the tasks that led to it, which grow with every `advance`.
    """

    starts: Ints
    d: int
    dtype: np.dtype
    is_sparse: bool
    has_weight: bool
    keeps_history: bool

    def weighted(self, weight: ArrayLike) -> Engine:
        """Another engine on the same rows with weights; this one does not change."""
        ...

    def prepared(self, prepare: Prepare) -> Engine:
        """Another engine on the same rows, each block replaced by `prepare(rows)`."""
        ...

    def run(
        self, work: Work, shared: object = None, *, states: States | None = None,
        per_block: PerBlock = None, which: Sequence[int] | None = None, read: bool = True,
    ) -> list[Any]:  # fmt: skip
        """Results of `work` on every block (or those in `which`), in order.

        `per_block` has one entry per block that is worked on. Without `read`, `block` is None.
        """
        ...

    def begin(self, work: Work, per_block: Sequence[object]) -> States:
        """First states, from work that returns (state, None) and does not read its block."""
        ...

    def advance(
        self, work: Work, states: States | None, shared: object = None, *,
        per_block: PerBlock = None, which: Sequence[int] | None = None,
    ) -> tuple[States, list[Any]]:  # fmt: skip
        """New states and results, from work that returns both; `states` may be None at first."""
        ...

    def column(self, work: Work, states: States, per_block: Sequence[object]) -> Labels:
        """One int32 per row, from the states: an array, or a Dask array."""
        ...

    def locate(self, names: Sequence[Hashable]) -> dict[Hashable, int] | None:
        """Row numbers of these ids; None if rows have no ids."""
        ...

    def close(self) -> None:
        """Release what only the fit needed."""
        ...


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
