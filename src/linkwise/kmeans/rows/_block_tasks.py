"""Tasks that an engine runs on one block of rows.

Each function has the signature of `linkwise.engines.Work` and does to a block what `LocalRows` and
`LocalAssignments` do to all rows. Only sums, and rows or labels that are asked for by number, are
sent back. Tasks are pure: a block's state is an input and an output and never changed in place, so
that Dask can run a lost task again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from linkwise._types import Bools, Floats, Ints, Labels, Matrix
from linkwise.engines import Block
from linkwise.geometry import Geometry, Moments

from ._bounds import Bounds
from ._local_rows import OUTERMOST, LocalAssignments, LocalRows, largest
from ._protocols import cluster_sizes


class BlockState(NamedTuple):
    """State of a block during a run: clusters (-1 for chosen rows), chosen rows, bounds."""

    labels: Labels
    chosen: Ints
    bounds: Bounds | None

    def __sizeof__(self) -> int:
        """Size in bytes, which Dask's scheduler reads."""
        bounds = 0 if self.bounds is None else 2 * self.bounds.upper.nbytes
        return 200 + self.labels.nbytes + self.chosen.nbytes + bounds


@dataclass(frozen=True)
class BlockContext:
    """Shared input of a task: the same for all blocks.

    Attributes
    ----------
    shift : ndarray of shape (d,)
        Subtracted from every row.
    current : Geometry, default=None
        Centers and metrics.
    zeros : Moments, default=None
        Empty moments of the right shapes.
    closed : ndarray of bool, default=None
        Clusters that accept no row.
    bounded : bool
        Whether to keep bounds.
    scaling : Geometry, default=None
        The geometry whose metric rows are scaled by, if they are scaled.
    """

    shift: Floats
    current: Geometry | None = None
    zeros: Moments | None = None
    closed: Bools | None = None
    bounded: bool = False
    scaling: Geometry | None = None

    @property
    def geometry(self) -> Geometry:
        """Centers and metrics of a context that has them."""
        assert self.current is not None
        return self.current

    def new_moments(self) -> Moments:
        """Empty moments."""
        assert self.zeros is not None
        return self.zeros.like()


@contextmanager
def _rows(block: Block, context: BlockContext) -> Iterator[LocalRows]:
    rows = LocalRows.in_coordinates(block.X, context.shift, block.weight, block.n_jobs)
    if context.scaling is not None:
        rows.scale(context.scaling)
    try:
        yield rows
    finally:
        rows.close()


# -------------------------------------------------------------------- before any run


class ColumnStats(NamedTuple):
    """Weight, column means, squares about them, largest value and stored values of a block."""

    weight: float
    mean: Floats
    squares: Floats
    largest: float
    cells: int

    def merged(self, other: ColumnStats) -> ColumnStats:
        """Statistics of two blocks together (Chan et al.): no large sums are subtracted."""
        weight = self.weight + other.weight
        share = other.weight / weight if weight > 0 else 0.5
        away = other.mean - self.mean
        return ColumnStats(
            weight,
            self.mean + share * away,
            self.squares + other.squares + away**2 * (self.weight * share),
            max(self.largest, other.largest),
            self.cells + other.cells,
        )


def column_stats(block: Block, state: None, centered: bool, per_block: None) -> ColumnStats:
    """Means and squares of the columns of a block."""
    if not block.X.shape[0]:  # an empty partition
        zeros = np.zeros(block.X.shape[1])
        return ColumnStats(0.0, zeros, zeros, 0.0, 0)
    rows = LocalRows(block.X, block.weight, centered=centered, n_jobs=block.n_jobs, is_block=True)
    uncentered = rows.uncentered_mean()
    mean = rows.shift if uncentered is None else uncentered
    squares = rows.total()
    if uncentered is not None:
        squares = np.maximum(squares - rows.total_weight * mean**2, 0.0)
    rows.close()
    return ColumnStats(rows.total_weight, mean, squares, rows.largest, rows.cells * rows.n)


def total(block: Block, state: None, context: BlockContext, full: bool) -> Floats:
    """Sum of squares (or products) of a block."""
    with _rows(block, context) as rows:
        return rows.total(full)


def geometry_stats(block: Block, state: None, context: BlockContext, per_block: None) -> object:
    """The statistics of a block that the geometry needs."""
    with _rows(block, context) as rows:
        return context.geometry.block_stats(rows.X, rows.weight)


def take_rows(block: Block, state: None, shared: None, rows: Ints) -> tuple[Matrix, Floats]:
    """Some rows of a block, unchanged, and their weights."""
    return block.X[rows], block.weight[rows] if block.weight.size else block.weight


class BlockExtremes(NamedTuple):
    """Candidates of a block for the outermost rows; row numbers are those in the block."""

    longest: Ints
    lengths: Floats
    edge: Ints  # (2, d): rows with the least and largest value of each feature
    values: Floats  # (2, d): these values
    edge_lengths: Floats  # (2, d)


def extreme_rows(block: Block, state: None, context: BlockContext, scale: Floats) -> BlockExtremes:
    """Candidates for the outermost rows of all blocks."""
    with _rows(block, context) as rows:
        if rows.is_sparse:
            norm = rows.lengths()
            longest = largest(norm, np.arange(rows.n), OUTERMOST)
            none = np.zeros((2, 0))
            return BlockExtremes(longest, norm[longest], none.astype(np.int64), none, none)
        longest, edge, norm = rows.extremes(scale)
        values = np.asarray(rows.X[edge, np.arange(rows.d)], dtype=np.float64)
        return BlockExtremes(longest, norm[longest], edge, values, norm[edge])


# -------------------------------------------------------------------- during a run


def empty_state(
    block: Block | None, state: None, shared: None, per_block: tuple[int, Ints]
) -> tuple[BlockState, None]:
    """State of a block whose rows have no cluster yet; `per_block` has size and chosen rows."""
    n_rows, chosen = per_block
    return BlockState(np.full(n_rows, -1, dtype=np.int32), chosen, None), None


@contextmanager
def _assignments(
    block: Block, state: BlockState, context: BlockContext, copy: bool = False
) -> Iterator[LocalAssignments]:
    """Assignments on the state's arrays, or on copies of them that may be changed."""
    labels, bounds = state.labels, state.bounds
    if copy:
        labels, bounds = labels.copy(), None if bounds is None else bounds.copy()
    with _rows(block, context) as rows:
        yield LocalAssignments(rows, state.chosen, labels, bounds)


def assign(
    block: Block, state: BlockState, context: BlockContext, per_block: None
) -> tuple[BlockState, tuple[int, Moments]]:
    """Assign free rows to their cheapest cluster; returns how many moved and the change in sums."""
    with _assignments(block, state, context, copy=True) as rows:
        part = context.new_moments()
        moved = rows.assign(context.geometry, part, context.closed, context.bounded)
        return BlockState(rows.labels(), state.chosen, rows.bounds), (moved, part)


def assign_from_scratch(
    block: Block, state: None, context: BlockContext, chosen: Ints
) -> tuple[BlockState, tuple[Moments, Ints]]:
    """`assign` without a state: returns all sums instead of changes, and cluster sizes."""
    start, _ = empty_state(None, None, None, (block.X.shape[0], chosen))
    after, (_, sums) = assign(block, start, context, None)
    if block.X.dtype == np.float32:  # `assign` adds up float32 rows; `recount` float64 ones
        return after, recount(block, after, context, None)
    return after, (sums, cluster_sizes(after.labels, len(sums.counts)))


def assign_with_rebuilt_state(
    block: Block, state: None, contexts: tuple[BlockContext, BlockContext],
    per_block: tuple[Ints, dict[int, int]],
) -> tuple[BlockState, tuple[int, Moments]]:  # fmt: skip
    """`assign_from_scratch`, with the previous labels rebuilt from the previous context.

    The result depends on no earlier state. This cuts the chain of tasks that Dask would have to
    repeat if a worker were lost.
    """
    before, context = contexts
    chosen, refilled = per_block
    start, _ = empty_state(None, None, None, (block.X.shape[0], chosen))
    start, _ = assign(block, start, replace(before, bounded=False), None)
    for row, cluster in refilled.items():
        start.labels[row] = cluster
    after, (sums, _) = assign_from_scratch(block, None, context, chosen)
    return after, (int((after.labels != start.labels).sum()), sums)


def move_one(
    block: Block, state: BlockState, context: BlockContext, per_block: tuple[int, int]
) -> tuple[BlockState, Moments]:
    """Move one row to another cluster."""
    with _assignments(block, state, context, copy=True) as rows:
        part = context.new_moments()
        rows.move_one(*per_block, part)
        return BlockState(rows.labels(), state.chosen, rows.bounds), part


def recount(
    block: Block, state: BlockState, context: BlockContext, per_block: None
) -> tuple[Moments, Ints]:
    """Sums of the free rows per cluster, from scratch, and their number."""
    with _assignments(block, state, context) as rows:
        zeros = context.new_moments()
        return rows.recount(zeros), cluster_sizes(state.labels, len(zeros.counts))


def similarity_squares(
    block: Block, state: BlockState, context: BlockContext, directions: Floats
) -> Floats:
    """See `LocalRows.similarity_squares`."""
    with _assignments(block, state, context) as rows:
        return rows.similarity_squares(directions)


def farthest(
    block: Block, state: BlockState, context: BlockContext, sizes: Ints
) -> tuple[int, int, float]:
    """See `Assignments.farthest`; the row number is that in the block."""
    with _assignments(block, state, context) as rows:
        return rows.farthest(context.geometry, sizes)


def sizes(block: None, state: BlockState, k: int, per_block: None) -> Ints:
    """Number of free rows per cluster."""
    return cluster_sizes(state.labels, k)


def labels(block: None, state: BlockState, shared: None, per_block: tuple[Ints, Labels]) -> Labels:
    """Clusters of all rows of a block; `per_block` has the chosen rows and their clusters."""
    found = state.labels.copy()
    found[per_block[0]] = per_block[1]
    return found


def labels_of(block: None, state: BlockState, shared: None, rows: Ints) -> Labels:
    """Clusters of some rows."""
    return state.labels[rows]
