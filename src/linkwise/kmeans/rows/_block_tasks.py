"""Tasks that an engine runs on one block of rows.

Each function has the signature of `linkwise.engines.Work` and does to a block what `LocalRows` and
`LocalAssignments` do to all rows. Only sums, and rows or labels that are asked for by number, are
sent back. No labels are kept between tasks: the clusters of free rows follow from the centers and
metrics of the last assignment, so a task that needs them computes them again. This costs a pass
and saves all state, so that Dask can run a lost task again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple
from zlib import crc32

import numpy as np

from linkwise._types import Bools, Floats, Ints, Labels, Matrix
from linkwise.engines import Block
from linkwise.geometry import Geometry, Moments

from ._local_rows import PAIRED_ROWS, LocalAssignments, LocalRows, largest
from ._protocols import cluster_sizes


@dataclass(frozen=True)
class BlockContext:
    """Input of a task that is the same for all blocks."""

    shift: Floats  # subtracted from every row
    geometry: Geometry | None = None  # centers and metrics; None before the first assignment
    zeros: Moments | None = None  # empty moments of the right shapes
    closed: Bools | None = None  # clusters that accept no row
    scaling: Geometry | None = None  # the geometry whose metric rows are scaled by, if any


class Fixed(NamedTuple):
    """Rows of a block that are not assigned to their cheapest cluster."""

    chosen: Ints  # assigned by the caller; -1 in the labels of the block
    moved: dict[int, int]  # clusters of rows that were moved after the assignment


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


def column_stats(block: Block, centered: bool, per_block: None) -> ColumnStats:
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


def total(block: Block, context: BlockContext, full: bool) -> Floats:
    """Sum of squares (or products) of a block."""
    with _rows(block, context) as rows:
        return rows.total(full)


def geometry_stats(block: Block, context: BlockContext, per_block: None) -> object:
    """The statistics of a block that the geometry needs."""
    with _rows(block, context) as rows:
        assert context.geometry is not None
        return context.geometry.block_stats(rows.X, rows.weight)


def take_rows(block: Block, shared: None, rows: Ints) -> tuple[Matrix, Floats]:
    """Some rows of a block, unchanged, and their weights."""
    return block.X[rows], block.weight[rows] if block.weight.size else block.weight


class BlockExtremes(NamedTuple):
    """Candidates of a block for the outermost rows; row numbers are those in the block."""

    longest: Ints
    lengths: Floats
    edge: Ints  # (2, d): rows with the least and largest value of each feature
    values: Floats  # (2, d): these values
    edge_lengths: Floats  # (2, d)


def extreme_rows(block: Block, context: BlockContext, scale: Floats) -> BlockExtremes:
    """Candidates for the outermost rows of all blocks."""
    with _rows(block, context) as rows:
        if rows.is_sparse:
            norm = rows.lengths()
            longest = largest(norm, np.arange(rows.n), PAIRED_ROWS)
            none = np.zeros((2, 0))
            return BlockExtremes(longest, norm[longest], none.astype(np.int64), none, none)
        longest, edge, norm = rows.extremes(scale)
        values = np.asarray(rows.X[edge, np.arange(rows.d)], dtype=np.float64)
        return BlockExtremes(longest, norm[longest], edge, values, norm[edge])


# -------------------------------------------------------------------- during a run


@contextmanager
def _assigned(
    block: Block, of: BlockContext, now: BlockContext, fixed: Fixed
) -> Iterator[LocalAssignments]:
    """Rows as they are scaled `now`, with the clusters of the assignment by `of`."""
    with _rows(block, of) as rows:
        free = LocalAssignments(rows, fixed.chosen)
        if of.geometry is not None:
            free.assign(of.geometry, Moments.zeros(0, 0), of.closed, False)
        labels = free.labels()
    for row, cluster in fixed.moved.items():
        labels[row] = cluster
    with _rows(block, now) as rows:
        yield LocalAssignments(rows, fixed.chosen, labels)


class BlockSums(NamedTuple):
    """Moments and sizes of the clusters in a block without chosen rows, and a digest of labels."""

    moments: Moments
    sizes: Ints
    digest: int


def assign(block: Block, context: BlockContext, fixed: Fixed) -> BlockSums:
    """Assign free rows to their cheapest clusters."""
    return recount(block, (context, context), fixed)


def recount(block: Block, contexts: tuple[BlockContext, BlockContext], fixed: Fixed) -> BlockSums:
    """Sums of the clusters of an assignment, over rows as they are scaled now."""
    of, now = contexts
    assert now.zeros is not None
    with _assigned(block, of, now, fixed) as rows:
        labels = rows.labels()
        sizes = cluster_sizes(labels, len(now.zeros.counts))
        return BlockSums(rows.recount(now.zeros), sizes, crc32(labels.tobytes()))


def labels(
    block: Block, context: BlockContext, per_block: tuple[Fixed, Labels]
) -> Labels:  # fmt: skip
    """Clusters of all rows of a block; `per_block` has those of the chosen rows."""
    fixed, chosen_labels = per_block
    with _assigned(block, context, context, fixed) as rows:
        found = rows.labels()
    found[fixed.chosen] = chosen_labels
    return found


def labels_of(block: Block, context: BlockContext, per_block: tuple[Fixed, Ints]) -> Labels:
    """Clusters of some rows; -1 for chosen ones."""
    fixed, wanted = per_block
    with _assigned(block, context, context, fixed) as rows:
        return rows.labels()[wanted]


def similarity_squares(
    block: Block, contexts: tuple[BlockContext, BlockContext], per_block: tuple[Fixed, Floats]
) -> Floats:
    """See `LocalRows.similarity_squares`."""
    fixed, directions = per_block
    with _assigned(block, *contexts, fixed) as rows:
        return rows.similarity_squares(directions)


def farthest(
    block: Block, contexts: tuple[BlockContext, BlockContext], per_block: tuple[Fixed, Ints]
) -> tuple[int, int, float]:
    """See `LocalAssignments.farthest`; the row number is that in the block."""
    fixed, sizes = per_block
    now = contexts[1].geometry
    assert now is not None
    with _assigned(block, *contexts, fixed) as rows:
        return rows.farthest(now, sizes)
