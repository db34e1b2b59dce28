"""What is done where a block of rows lives: the work that engines carry there.

Each function has the signature of `linkwise.engines.Work` and does to a block what `Rows` and
`Assignments` do to all rows; only sums, and what is asked for row by row, comes back.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwise.engines import Block
from linkwise.geometry import Geometry, Moments

from ._assignments import Assignments, cluster_sizes
from ._local_rows import OUTERMOST, Bounds, Ints, Rows, largest

Labels = NDArray[np.int32]


class State(NamedTuple):
    """What a block keeps during a run: clusters (-1 for chosen rows), which are chosen, bounds."""

    labels: Labels
    chosen: Ints
    bounds: Bounds | None

    def __sizeof__(self) -> int:
        """Bytes, as schedulers want to know."""
        bounds = 0 if self.bounds is None else 2 * self.bounds.upper.nbytes
        return 200 + self.labels.nbytes + self.chosen.nbytes + bounds


@dataclass(frozen=True)
class BlockContext:
    """What all blocks are told before they work.

    Attributes
    ----------
    shift : ndarray of shape (d,)
        What rows are looked at relative to.
    geometry : Geometry
        Centers and metrics.
    empty : Moments
        Moments of the right shapes.
    closed : ndarray of bool, default=None
        Clusters that take no row.
    bounded : bool
        Whether bounds are kept.
    scaling : Geometry, default=None
        The geometry under which rows are scaled, where they are.
    """

    shift: NDArray
    geometry: Any = None
    empty: Any = None
    closed: NDArray[np.bool_] | None = None
    bounded: bool = False
    scaling: Geometry | None = None


@contextmanager
def _rows(block: Block, order: BlockContext) -> Iterator[Rows]:
    rows = Rows.in_coordinates(block.X, order.shift, block.weight, block.n_jobs)
    if order.scaling is not None:
        rows.scale(order.scaling)
    try:
        yield rows
    finally:
        rows.close()


# -------------------------------------------------------------------- before any run


class Columns(NamedTuple):
    """Sums of a block: weight, mean, squares about the mean, the largest value, numbers held."""

    weight: float
    mean: NDArray
    squares: NDArray
    largest: float
    cells: int

    def joined(self, other: Columns) -> Columns:
        """Sums of two blocks together, without loss of digits."""
        weight = self.weight + other.weight
        share = other.weight / weight if weight > 0 else 0.5
        away = other.mean - self.mean
        return Columns(
            weight,
            self.mean + share * away,
            self.squares + other.squares + away**2 * (self.weight * share),
            max(self.largest, other.largest),
            self.cells + other.cells,
        )


def look_at_columns(block: Block, state: None, centered: bool, own: None) -> Columns:
    """Means and squares of the columns of a block."""
    if not block.X.shape[0]:  # a partition from which all rows were taken out
        nothing = np.zeros(block.X.shape[1])
        return Columns(0.0, nothing, nothing, 0.0, 0)
    rows = Rows(block.X, block.weight, centered=centered, n_jobs=block.n_jobs, part=True)
    offset = rows.offset()
    mean = rows.shift if offset is None else offset
    total = rows.total()
    squares = total if offset is None else np.maximum(total - rows.total_weight * mean**2, 0.0)
    rows.close()
    return Columns(rows.total_weight, mean, squares, rows.largest, rows.cells * rows.n)


def total(block: Block, state: None, order: BlockContext, full: bool) -> NDArray:
    """Sum of squares (or products) of a block."""
    with _rows(block, order) as rows:
        return rows.total(full)


def seen(block: Block, state: None, order: BlockContext, own: None) -> Any:
    """What a geometry must know about a block."""
    with _rows(block, order) as rows:
        return order.geometry.block_stats(rows.X, rows.weight)


def taken(block: Block, state: None, common: None, rows: Ints) -> tuple[Any, NDArray]:
    """Some rows of a block, as they are, and their weights."""
    return block.X[rows], block.weight[rows] if block.weight.size else block.weight


class Ends(NamedTuple):
    """The outermost rows of a block: the longest, and the lowest and highest by feature."""

    longest: Ints
    lengths: NDArray
    edge: Ints  # (2, d)
    values: NDArray  # (2, d), of the feature
    edge_lengths: NDArray  # (2, d)


def ends(block: Block, state: None, order: BlockContext, scale: NDArray) -> Ends:
    """Candidates for the outermost rows of all; numbers are those inside the block."""
    with _rows(block, order) as rows:
        if rows.is_sparse:
            norm = rows.lengths()
            longest = largest(norm, np.arange(rows.n), OUTERMOST)
            nothing = np.zeros((2, 0))
            return Ends(longest, norm[longest], nothing.astype(np.int64), nothing, nothing)
        longest, edge, norm = rows.ends(scale)
        values = np.asarray(rows.X[edge, np.arange(rows.d)], dtype=np.float64)
        return Ends(longest, norm[longest], edge, values, norm[edge])


# -------------------------------------------------------------------- during a run


def begin(block: Any, state: None, common: None, own: tuple[int, Ints]) -> tuple[State, None]:
    """So many rows in no cluster, some of which will be placed by other means."""
    n_rows, chosen = own
    return State(np.full(n_rows, -1, dtype=np.int32), chosen, None), None


@contextmanager
def _places(
    block: Block, state: State, order: BlockContext, changed: bool = False
) -> Iterator[Assignments]:
    """Assignments; if they are to be changed, others than the state's: it may be needed again."""
    labels, bounds = state.labels, state.bounds
    if changed:
        labels, bounds = labels.copy(), None if bounds is None else bounds.copy()
    with _rows(block, order) as rows:
        yield Assignments(rows, state.chosen, labels, bounds)


def assign(
    block: Block, state: State, order: BlockContext, own: None
) -> tuple[State, tuple[int, Moments]]:
    """Free rows to their cheapest cluster; how many moved, and what that changes in the sums."""
    with _places(block, state, order, changed=True) as places:
        part = order.empty.like()
        moved = places.assign(order.geometry, part, order.closed, order.bounded)
        return State(places.labels(), state.chosen, places.bounds), (moved, part)


def assign_anew(
    block: Block, state: None, order: BlockContext, chosen: Ints
) -> tuple[State, tuple[Moments, NDArray]]:
    """`assign` whatever was before: all sums instead of changes, and the sizes of clusters."""
    start, _ = begin(None, None, None, (block.X.shape[0], chosen))
    after, (_, sums) = assign(block, start, order, None)
    if block.X.dtype == np.float32:  # rows were moved in the precision that they are looked at in
        return after, recount(block, after, order, None)
    return after, (sums, cluster_sizes(after.labels, len(sums.counts)))


def assign_afresh(
    block: Block,
    state: None,
    orders: tuple[BlockContext, BlockContext],
    own: tuple[Ints, dict[int, int]],
) -> tuple[State, tuple[int, Moments]]:
    """`assign_anew`, with the labels before made again from the order that led to them.

    The result depends on no earlier state, so that what is lost later takes little to make again.
    """
    before, order = orders
    chosen, refilled = own
    start, _ = begin(None, None, None, (block.X.shape[0], chosen))
    start, _ = assign(block, start, replace(before, bounded=False), None)
    for row, cluster in refilled.items():
        start.labels[row] = cluster
    after, (sums, _) = assign_anew(block, None, order, chosen)
    return after, (int((after.labels != start.labels).sum()), sums)


def move_one(
    block: Block, state: State, order: BlockContext, own: tuple[int, int]
) -> tuple[State, Moments]:
    """One row into another cluster."""
    with _places(block, state, order, changed=True) as places:
        part = order.empty.like()
        places.move_one(*own, part)
        return State(places.labels(), state.chosen, places.bounds), part


def recount(block: Block, state: State, order: BlockContext, own: None) -> tuple[Moments, NDArray]:
    """Sums of the free rows of each cluster, taken afresh, and how many there are."""
    with _places(block, state, order) as places:
        k = len(order.empty.counts)
        return places.recount(order.empty), cluster_sizes(state.labels, k)


def similarity_squares(
    block: Block, state: State, order: BlockContext, directions: NDArray
) -> NDArray:
    """See `Rows.similarity_squares`."""
    with _places(block, state, order) as places:
        return places.similarity_squares(directions)


def farthest(
    block: Block, state: State, order: BlockContext, sizes: NDArray
) -> tuple[int, int, float]:
    """See `Assignments.farthest`; the row's number is that inside the block."""
    with _places(block, state, order) as places:
        return places.farthest(order.geometry, sizes)


def sizes(block: None, state: State, k: int, own: None) -> NDArray[np.int64]:
    """Number of free rows in each cluster."""
    return cluster_sizes(state.labels, k)


def labels(block: None, state: State, common: None, own: tuple[Ints, Labels]) -> Labels:
    """Clusters of all rows of a block, those that were placed by other means included."""
    found = state.labels.copy()
    found[own[0]] = own[1]
    return found


def labels_of(block: None, state: State, common: None, rows: Ints) -> Labels:
    """Clusters of some rows."""
    return state.labels[rows]
