"""What an engine is: rows in blocks that live somewhere, and work that goes to them.

Work is a function of a module, so that it can travel: ``work(block, state, common, own)``. `block`
holds the rows where they are, `state` what the same place keeps about them between two calls,
`common` what all blocks are told and `own` what only this one is. It must not change what it is
given: a block that is lost is worked on again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Work = Callable[[Any, Any, Any, Any], Any]
Indices = NDArray[np.int64]


class Block(NamedTuple):
    """Some of the rows: dense in C order or CSR, their weights (or none), and threads to use."""

    X: Any
    weight: NDArray[np.float64]
    n_jobs: int | None


class Engine(Protocol):
    """Where blocks of rows are worked on.

    Attributes
    ----------
    starts : ndarray of shape (n_blocks + 1,)
        Number of the first row of each block, and of all rows.
    d : int
        Number of features.
    dtype : dtype
        float32 or float64.
    is_sparse, has_weight : bool
    remembers : bool
        Whether states are kept by the way they came about, which grows with every `advance`.
    """

    starts: Indices
    d: int
    dtype: Any
    is_sparse: bool
    has_weight: bool
    remembers: bool

    def weighted(self, weight: Any) -> Engine:
        """The same rows with a weight each; refuses weights that are none."""
        ...

    def prepared(self, prepare: Callable[[Any], Any]) -> Engine:
        """The same rows, each block as `prepare` returns it."""
        ...

    def run(
        self, work: Work, common: Any = None, *, states: Any = None,
        own: Sequence[Any] | None = None, which: Sequence[int] | None = None, read: bool = True,
    ) -> list[Any]:  # fmt: skip
        """What `work` says about every block (or those in `which`), in their order.

        `own` has an entry for each block that is worked on. Without `read`, work gets no rows.
        """
        ...

    def begin(self, work: Work, own: Sequence[Any]) -> Any:
        """First states, of work that returns them beside nothing; it may not look at its block."""
        ...

    def advance(
        self, work: Work, states: Any, common: Any = None, *,
        own: Sequence[Any] | None = None, which: Sequence[int] | None = None,
    ) -> tuple[Any, list[Any]]:  # fmt: skip
        """New states, and the results, of work that returns both; `states` may be None at first."""
        ...

    def column(self, work: Work, states: Any, own: Sequence[Any]) -> Any:
        """One int32 for each row, as work tells from the states, in the form users get."""
        ...

    def locate(self, names: Sequence[Hashable]) -> dict[Hashable, int] | None:
        """Numbers of the rows that have these ids; None if rows have no ids."""
        ...

    def close(self) -> None:
        """Let go of what only the fit needed."""
        ...


def split(
    starts: Indices, rows: NDArray[np.int64]
) -> tuple[list[int], list[Indices], list[Indices]]:
    """Which blocks hold given rows, where in each of them, and which of the given they are."""
    block = np.searchsorted(starts, rows, side="right") - 1
    order = np.argsort(block, kind="stable")
    which, first = np.unique(block[order], return_index=True)
    chosen = np.split(order, first[1:]) if len(which) else []
    inside = [rows[part] - starts[b] for b, part in zip(which, chosen, strict=True)]
    return which.tolist(), inside, chosen


def check_weight(weight: Any, n_rows: int) -> Any:
    """Weights of rows, one a row; the values are checked where they are read."""
    if getattr(weight, "shape", None) != (n_rows,):
        weight = np.asarray(weight, dtype=np.float64)
    if weight.shape != (n_rows,):
        raise ValueError(f"sample_weight has shape {weight.shape}; expected ({n_rows},)")
    return weight


def check_block(X: Any, weight: Any, first: int) -> Block:
    """A block with the values of rows and weights checked; refuses NaN and infinity."""
    values = getattr(X, "data", X) if hasattr(X, "indptr") else X
    with np.errstate(all="ignore"):  # large values may add up to infinity: then each is looked at
        total = values.sum(dtype=np.float64)
    if not np.isfinite(total) and not np.isfinite(values).all():
        bad = np.flatnonzero(~np.isfinite(X).all(axis=1)) if values is X else [0]
        raise ValueError(
            f"Input X contains NaN or infinity, first in row {first + int(bad[0]):,}; fill the "
            "gaps or leave these rows out"
        )
    weight = np.zeros(0) if weight is None else np.asarray(weight, dtype=np.float64)
    if weight.size and not (np.isfinite(weight).all() and (weight >= 0).all()):
        raise ValueError("Negative or missing values in sample_weight; weights are 0 or more")
    return Block(X, weight, None)
