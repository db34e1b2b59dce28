"""Rows in the blocks of an engine (files, Dask workers), with the methods of `LocalRows`.

Passes over the data are tasks on the blocks, which return sums. Constrained rows are fetched once
and stay in local memory, so that assigners and penalties see no difference to local rows.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from copy import copy
from functools import reduce

import numpy as np
from scipy import sparse

from linkwise._types import Bools, Floats, Ints, Labels, Matrix, RandomState, is_sparse
from linkwise._validation import check_range
from linkwise.engines import Engine, Threads, split
from linkwise.geometry import Geometry, Moments

from . import _block_tasks as tasks
from ._block_tasks import BlockContext, BlockExtremes, BlockSums, ColumnStats, Fixed
from ._local_rows import (
    PAIRED_ROWS,
    LocalRows,
    check_total_weight,
    largest,
    sample_rows,
)
from ._protocols import cluster_sizes


class RemoteRows:
    """Rows in the blocks of an engine, with the methods of `LocalRows`.

    `validate` (`Geometry.validate_rows`) is applied to the rows of each block first.
    """

    def __init__(self, engine: Engine, validate: Callable[[Matrix], Matrix] | None = None):
        self.engine = engine if validate is None else engine.prepared(validate)
        self.n, self.d = int(engine.starts[-1]), engine.d
        self.dtype, self.is_sparse = engine.dtype, engine.is_sparse
        centered = validate is None
        found: ColumnStats = reduce(
            ColumnStats.merged, self.engine.run(tasks.column_stats, centered)
        )
        check_total_weight(found.weight)
        check_range(found.largest, self.dtype)
        self.total_weight, self.cells = found.weight, max(1, found.cells // max(self.n, 1))
        self.shift = np.zeros(self.d)
        self._mean: Floats | None = found.mean
        if centered and not self.is_sparse:
            # Kernels subtract the shift in the precision of the data: round it the same way here.
            self.shift = found.mean.astype(self.dtype).astype(np.float64)
        away = found.mean - self.shift
        self._totals = {False: found.squares + found.weight * away**2}
        self.threads = Threads(self.n, self.cells)  # for work on the local rows
        self._scaling: Geometry | None = None
        self._stats: list[object] | None = None
        self._outermost: Ints | None = None
        self._local_numbers: Ints = np.zeros(0, dtype=np.int64)  # ascending
        self._local: LocalRows | None = None

    # ---------------------------------------------------------------- local copies of rows

    def prefetch(self, rows: Ints) -> None:
        """Copy rows into local memory."""
        missing = np.setdiff1d(rows, self._local_numbers)
        if not len(missing) and self._local is not None:
            return
        X, weight = self._fetch(missing)
        if self._local is not None:
            X = _stacked([self._local._unscaled, X])
            weight = np.concatenate([self._local.weight, weight])
        numbers = np.concatenate([self._local_numbers, missing])
        order = np.argsort(numbers)
        self._local_numbers = numbers[order]
        self._local = LocalRows.in_coordinates(
            X[order], self.shift, weight[order] if len(weight) else weight
        )
        if self._scaling is not None:
            self._local.scale(self._scaling)

    def _fetch(self, rows: Ints) -> tuple[Matrix, Floats]:
        """Rows as their blocks have them, in ascending order of their numbers, and weights."""
        if not len(rows):
            empty = sparse.csr_matrix if self.is_sparse else np.empty
            return empty((0, self.d), dtype=self.dtype), np.zeros(0)
        which, inside, _ = split(self.engine.starts, rows)
        parts = self.engine.run(tasks.take_rows, per_block=inside, which=which)
        return _stacked([X for X, _ in parts]), np.concatenate([weight for _, weight in parts])

    def in_memory(self, rows: Ints) -> tuple[LocalRows, Ints]:
        """Local rows that contain the given ones, and their positions there."""
        numbers = np.asarray(rows)
        positions = np.searchsorted(self._local_numbers, numbers)
        known = np.append(self._local_numbers, -1)[positions] == numbers
        if self._local is None or not known.all():  # rare: constrained rows are prefetched
            self.prefetch(numbers)
            positions = np.searchsorted(self._local_numbers, numbers)
        assert self._local is not None
        return self._local, positions

    @property
    def X(self) -> _RowProxy:
        """Rows by their numbers, fetched on access."""
        return _RowProxy(self)

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return self.engine.has_weight

    def weight_of(self, rows: Ints) -> Floats:
        """Weights of some rows."""
        local, positions = self.in_memory(rows)
        return local.weight[positions] if local.weight.size else local.weight

    def take(self, rows: Ints) -> Floats:
        """Some rows, dense, relative to `shift`, in float64."""
        local, positions = self.in_memory(rows)
        return local.take(positions)

    def differences(self, pairs: Ints) -> Matrix:
        """Differences of pairs of rows; sparse if the rows are."""
        local, positions = self.in_memory(pairs)
        return local.differences(positions)

    def distances(self, rows: Ints, geometry: Geometry, out: Floats | None = None) -> Floats:
        """Costs of some rows in all clusters."""
        local, positions = self.in_memory(rows)
        return local.distances(positions, geometry, out)

    def move(self, rows: Ints, old: Labels, new: Labels, moments: Moments) -> None:
        """Move rows between clusters in the moments."""
        local, positions = self.in_memory(rows)
        local.move(positions, old, new, moments)

    def sample(self, k: int, rng: RandomState, without: Ints | None = None) -> LocalRows:
        """The rows that starts are drawn from; see `sample_rows`."""
        return self.subset(sample_rows(self.n, self.cells, k, rng, without))

    def subset(self, chosen: Ints) -> LocalRows:
        """Some rows, in ascending order, as local rows of their own."""
        X, weight = self._fetch(chosen)
        some = LocalRows.in_coordinates(X, self.shift, weight)
        if self._scaling is not None:
            some.scale(self._scaling)
        return some

    # ---------------------------------------------------------------- passes over the data

    def context(
        self, geometry: Geometry | None = None, moments: Moments | None = None,
        closed: Bools | None = None,
    ) -> BlockContext:  # fmt: skip
        """The shared input of a task.

        Geometries are copied: the loop changes its own while a context may be needed again.
        """
        zeros = None if moments is None else moments.like()
        scaling = copy(self._scaling)
        return BlockContext(self.shift, copy(geometry), zeros, closed, scaling)

    def total(self, full: bool = False) -> Floats:
        """Weighted sum of squares (or of products, if `full`) of all rows; computed once."""
        if full not in self._totals:
            per_block = [full] * (len(self.engine.starts) - 1)
            parts = self.engine.run(tasks.total, self.context(), per_block=per_block)
            self._totals[full] = np.sum(parts, axis=0)
        return self._totals[full]

    def total_of(self, inside: Bools, full: bool) -> Floats:
        """The same of some of all rows, which are copied to local memory."""
        local, _ = self.in_memory(np.arange(self.n))
        return local.total_of(inside, full)

    def uncentered_mean(self) -> Floats | None:
        """Mean of the rows; None if `shift` is the mean already."""
        return None if self.shift.any() else self._mean

    def scale(self, geometry: Geometry) -> None:
        """Have rows divided by their lengths under the metric, if the geometry scales rows."""
        if geometry.scales_rows:
            self._scaling = geometry
            if self._local is not None:
                self._local.scale(geometry)

    def collect_stats(self, geometry: Geometry) -> None:
        """Give a geometry its statistics of all rows."""
        if self._stats is None:
            self._stats = self.engine.run(tasks.geometry_stats, self.context(geometry))
        geometry.set_stats(self._stats)

    def outermost(self) -> Ints:
        """The rows among which the farthest pair is searched; see `LocalRows.outermost`."""
        if self._outermost is None:
            small = self.n <= PAIRED_ROWS
            self._outermost = np.arange(self.n) if small else self._find_outermost()
        return self._outermost

    def _find_outermost(self) -> Ints:
        starts = self.engine.starts
        scale = [np.maximum(self.total(), 1e-300)] * (len(starts) - 1)
        parts: list[BlockExtremes] = self.engine.run(
            tasks.extreme_rows, self.context(), per_block=scale
        )
        firsts = starts[:-1]
        rows = np.concatenate([p.longest + s for p, s in zip(parts, firsts, strict=True)])
        lengths = np.concatenate([p.lengths for p in parts])
        half = PAIRED_ROWS // 2
        if self.is_sparse:
            return np.sort(rows[largest(lengths, np.arange(len(rows)), PAIRED_ROWS)])
        outer = rows[largest(lengths, np.arange(len(rows)), half)]
        edge = np.array([p.edge + s for p, s in zip(parts, firsts, strict=True)])
        values = np.array([p.values for p in parts])
        best = np.stack([values[:, 0].argmin(axis=0), values[:, 1].argmax(axis=0)])
        side, feature = np.indices(best.shape)
        rows, first = np.unique(edge[best, side, feature], return_index=True)
        far = np.array([p.edge_lengths for p in parts])[best, side, feature].ravel()[first]
        return np.unique(np.concatenate([outer, rows[largest(far, np.arange(len(rows)), half)]]))

    def new_assignments(self, chosen: Ints) -> RemoteAssignments:
        """Assignments in which no row has a cluster yet."""
        return RemoteAssignments(self, chosen)

    def close(self) -> None:
        """Release threads and blocks."""
        if self._local is not None:
            self._local.close()
        self.threads.close()
        self.engine.close()


class _RowProxy:
    """Stands in for the matrix of all rows: fetches those that are indexed."""

    def __init__(self, rows: RemoteRows):
        self._rows, self.dtype, self.shape = rows, rows.dtype, (rows.n, rows.d)

    def __getitem__(self, rows: Ints) -> Matrix:
        local, positions = self._rows.in_memory(rows)
        return local.X[positions]


class RemoteAssignments:
    """The clusters of rows in blocks, with the methods of `LocalAssignments`.

    Kept here are the centers and metrics of the last assignment (`_context`), from which tasks
    compute labels, and what it gave: moments, sizes and a digest of the labels of each block.
    """

    def __init__(self, rows: RemoteRows, chosen: Ints):
        self.rows, self.chosen = rows, chosen
        self.chosen_labels: Labels = np.full(len(chosen), -1, dtype=np.int32)
        self._engine = rows.engine
        rows.prefetch(chosen)
        n_blocks = len(self._engine.starts) - 1
        which, inside, positions = split(self._engine.starts, chosen)
        self._positions = _per_block(which, positions, n_blocks)  # of a block's rows in `chosen`
        self._fixed = [Fixed(own, {}) for own in _per_block(which, inside, n_blocks)]
        self._context = rows.context()
        self._sums: list[BlockSums] | None = None
        self._sizes: Ints | None = None  # without chosen rows

    # ---------------------------------------------------------------- moving rows

    def assign(
        self, geometry: Geometry, moments: Moments, closed: Bools | None, bounded: bool,
        last: bool = False,
    ) -> int:  # fmt: skip
        """Assign all other rows to their cheapest cluster; returns how many blocks changed."""
        self._context = self.rows.context(geometry, moments, closed)
        # New objects: a Dask array of labels may hold the old ones.
        self._fixed = [Fixed(fixed.chosen, {}) for fixed in self._fixed]
        before = self._sums
        self._set_sums(self._engine.run(tasks.assign, self._context, self._fixed))
        moments.clear()
        moments.add(self._total(moments))
        if before is None:
            return len(self._fixed)
        pairs = zip(before, self._sums or [], strict=True)
        return sum(old.digest != new.digest for old, new in pairs)

    def _set_sums(self, sums: list[BlockSums]) -> None:
        self._sums, self._sizes = sums, np.sum([part.sizes for part in sums], axis=0)

    def set_chosen(self, new: Labels, moments: Moments) -> int:
        """Assign the chosen rows to given clusters; returns how many moved."""
        moved = np.flatnonzero(self.chosen_labels != new)
        self.rows.move(self.chosen[moved], self.chosen_labels[moved], new[moved], moments)
        self.chosen_labels = new.copy()
        return len(moved)

    def move_one(self, row: int, cluster: int, moments: Moments) -> None:
        """Move one row that is not chosen to a cluster."""
        one = np.array([row])
        old, new = self.labels_of(one), np.array([cluster], dtype=np.int32)
        self.rows.move(one, old, new, moments)
        (block,), ((place,),), _ = split(self._engine.starts, one)
        chosen, moved = self._fixed[block]
        self._fixed[block] = Fixed(chosen, {**moved, int(place): cluster})
        if self._sums is not None:
            now = self.rows.context(moments=moments)
            found = self._engine.run(
                tasks.recount, (self._context, now), [self._fixed[block]], [block]
            )
            self._set_sums([*self._sums[:block], *found, *self._sums[block + 1 :]])

    # ---------------------------------------------------------------- queries

    def labels(self) -> Labels:
        """Clusters of all rows: an array, or a Dask array."""
        per_block = [
            (fixed, self.chosen_labels[positions])
            for fixed, positions in zip(self._fixed, self._positions, strict=True)
        ]
        return self._engine.column(tasks.labels, self._context, per_block)

    def labels_of(self, rows: Ints) -> Labels:
        """Clusters of some rows."""
        if len(rows) == len(self.chosen) and (rows == self.chosen).all():
            return self.chosen_labels
        found = np.empty(len(rows), dtype=np.int32)
        which, inside, positions = split(self._engine.starts, rows)
        per_block = [(self._fixed[block], own) for block, own in zip(which, inside, strict=True)]
        parts = self._engine.run(tasks.labels_of, self._context, per_block, which)
        for position, part in zip(positions, parts, strict=True):
            found[position] = part
        chosen = dict(zip(self.chosen.tolist(), self.chosen_labels.tolist(), strict=True))
        return np.array(
            [chosen.get(row, label) for row, label in zip(rows.tolist(), found, strict=True)],
            dtype=np.int32,
        )

    def labels_for_report(self, rows: Ints) -> dict[Hashable, Hashable]:
        """Clusters of the constrained rows by row number."""
        return dict(zip(rows.tolist(), self.labels_of(rows).tolist(), strict=True))

    def sizes(self, k: int) -> Ints:
        """Number of rows per cluster."""
        free = np.zeros(k, dtype=np.int64) if self._sizes is None else self._sizes
        return free + cluster_sizes(self.chosen_labels, k)

    def farthest(self, geometry: Geometry, sizes: Ints) -> tuple[int, int, float]:
        """The row farthest from its center; see `LocalAssignments.farthest`."""
        contexts = (self._context, self.rows.context(geometry))
        parts = self._engine.run(tasks.farthest, contexts, [(own, sizes) for own in self._fixed])
        best, found = -1, (-1, -1, 0.0)
        for number, part in enumerate(parts):
            if part[0] >= 0 and part[2] > found[2]:
                best, found = number, part
        return (found[0] + int(self._engine.starts[best]) if best >= 0 else -1), *found[1:]

    def recount(self, moments: Moments) -> Moments:
        """The moments of the clustering, summed from scratch."""
        if self._sums is None or self._context.scaling is not None:  # rows may be rescaled
            contexts = (self._context, self.rows.context(moments=moments))
            self._set_sums(self._engine.run(tasks.recount, contexts, self._fixed))
        return self._total(moments)

    def _total(self, moments: Moments) -> Moments:
        """Moments of all rows: those of the blocks, and those of the chosen rows."""
        fresh = moments.like()
        for part in self._sums or []:
            fresh.add(part.moments)
        unassigned = np.full_like(self.chosen_labels, -1)
        self.rows.move(self.chosen, unassigned, self.chosen_labels, fresh)
        return fresh

    def similarity_squares(self, directions: Floats) -> Floats:
        """Per feature, the sum over rows of (x . direction of its cluster) times x squared."""
        contexts = (self._context, self.rows.context())
        per_block = [(fixed, directions) for fixed in self._fixed]
        total = np.sum(self._engine.run(tasks.similarity_squares, contexts, per_block), axis=0)
        if len(self.chosen):
            local, positions = self.rows.in_memory(self.chosen)
            weight = local.weight[positions] if local.weight.size else None
            some = LocalRows.in_coordinates(local.X[positions], self.rows.shift, weight)
            if local.by_cluster is not None:
                some.scale(local.by_cluster)
            total = total + some.similarity_squares(self.chosen_labels, directions)
        return total


def _stacked(parts: Sequence[Matrix]) -> Matrix:
    return sparse.vstack(parts).tocsr() if is_sparse(parts[0]) else np.concatenate(parts)


def _per_block(which: Sequence[int], parts: Sequence[Ints], n_blocks: int) -> list[Ints]:
    """One entry per block: the given parts, and empty arrays for the other blocks."""
    every = [np.zeros(0, dtype=np.int64)] * n_blocks
    for block, part in zip(which, parts, strict=True):
        every[block] = part
    return every
