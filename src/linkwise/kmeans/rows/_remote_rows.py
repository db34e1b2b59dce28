"""Rows in the blocks of an engine (files, Dask workers), behind `RowStore` and `Assignments`.

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
from linkwise.engines import Engine, States, Threads, split
from linkwise.geometry import Geometry, Moments

from . import _block_tasks as tasks
from ._block_tasks import BlockContext, BlockExtremes, ColumnStats
from ._local_rows import (
    OUTERMOST,
    LocalRows,
    check_total_weight,
    largest,
    sample_rows,
)
from ._protocols import cluster_sizes

_REBUILD_EVERY = 16  # iterations after which an engine with history gets states without one


class RemoteRows:
    """Rows in the blocks of an engine; implements `RowStore`.

    Parameters
    ----------
    engine : Engine
    validate : callable, default=None
        Applied to the rows of each block first (`Geometry.validate_rows`).
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
        X, weight = self._fetch(sample_rows(self.n, self.cells, k, rng, without))
        some = LocalRows.in_coordinates(X, self.shift, weight)
        if self._scaling is not None:
            some.scale(self._scaling)
        return some

    # ---------------------------------------------------------------- passes over the data

    def context(
        self, geometry: Geometry | None = None, moments: Moments | None = None,
        closed: Bools | None = None, bounded: bool = False,
    ) -> BlockContext:  # fmt: skip
        """The shared input of a task.

        Geometries are copied: the loop changes its own while a context may be needed again.
        """
        zeros = None if moments is None else moments.like()
        scaling = copy(self._scaling)
        return BlockContext(self.shift, copy(geometry), zeros, closed, bounded, scaling)

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
            small = self.n <= OUTERMOST
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
        half = OUTERMOST // 2
        if self.is_sparse:
            return np.sort(rows[largest(lengths, np.arange(len(rows)), OUTERMOST)])
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
    """The clusters of remote rows; implements `Assignments`."""

    def __init__(self, rows: RemoteRows, chosen: Ints):
        self.rows, self.chosen = rows, chosen
        self.chosen_labels: Labels = np.full(len(chosen), -1, dtype=np.int32)
        self._engine = rows.engine
        rows.prefetch(chosen)
        n_blocks = len(self._engine.starts) - 1
        which, inside, positions = split(self._engine.starts, chosen)
        self._inside = _per_block(which, inside, n_blocks)  # chosen rows in each block
        self._positions = _per_block(which, positions, n_blocks)  # their positions in `chosen`
        sizes = np.diff(self._engine.starts).tolist()
        self._states: States = self._engine.begin(
            tasks.empty_state, list(zip(sizes, self._inside, strict=True))
        )
        self._last_context: BlockContext | None = None  # of the last assignment
        self._moved_since: dict[int, int] = {}  # rows moved one by one since then
        self._age = 0  # assignments since states were rebuilt
        self._free_sizes: Ints | None = None  # cluster sizes without chosen rows
        self._free_moments: list[Moments] | None = None  # from an assignment from scratch

    # ---------------------------------------------------------------- moving rows

    def assign(
        self, geometry: Geometry, moments: Moments, closed: Bools | None, bounded: bool,
        last: bool = False,
    ) -> int:  # fmt: skip
        """Assign all other rows to their cheapest cluster; returns how many moved.

        The `last` assignment also recounts the moments in the same pass; its return value is
        not used.
        """
        context = self.rows.context(geometry, moments, closed, bounded and not last)
        self._age, self._free_sizes, self._free_moments = self._age + 1, None, None
        history = self._last_context is not None and self._engine.keeps_history
        parts: list[tuple[int, Moments]] = []
        if last:
            self._assign_from_scratch(context)
        elif history and self._age > _REBUILD_EVERY:
            parts = self._assign_with_rebuilt_state(context)
            moments.clear()
            self._add_chosen(moments)
        else:
            self._states, parts = self._engine.advance(tasks.assign, self._states, context)
        for _, part in parts:
            moments.add(part)
        self._last_context, self._moved_since = context, {}
        return sum(moved for moved, _ in parts)

    def _assign_from_scratch(self, context: BlockContext) -> None:
        self._states, parts = self._engine.advance(
            tasks.assign_from_scratch, None, context, per_block=self._inside
        )
        self._age, self._free_moments = 0, [sums for sums, _ in parts]
        self._free_sizes = np.sum([sizes for _, sizes in parts], axis=0)

    def _assign_with_rebuilt_state(self, context: BlockContext) -> list[tuple[int, Moments]]:
        moved: list[dict[int, int]] = [{} for _ in self._inside]
        for row, cluster in self._moved_since.items():
            block = int(np.searchsorted(self._engine.starts, row, side="right")) - 1
            moved[block][row - int(self._engine.starts[block])] = cluster
        self._states, parts = self._engine.advance(
            tasks.assign_with_rebuilt_state, None, (self._last_context, context),
            per_block=list(zip(self._inside, moved, strict=True)),
        )  # fmt: skip
        self._age = 0
        return parts

    def set_chosen(self, new: Labels, moments: Moments) -> int:
        """Assign the chosen rows to given clusters; returns how many moved."""
        moved = np.flatnonzero(self.chosen_labels != new)
        self.rows.move(self.chosen[moved], self.chosen_labels[moved], new[moved], moments)
        self.chosen_labels = new.copy()
        return len(moved)

    def move_one(self, row: int, cluster: int, moments: Moments) -> None:
        """Move one row that is not chosen to a cluster."""
        which, inside, _ = split(self._engine.starts, np.array([row]))
        context = self.rows.context(moments=moments)
        self._free_sizes = self._free_moments = None
        self._states, (part,) = self._engine.advance(
            tasks.move_one, self._states, context,
            per_block=[(int(inside[0][0]), cluster)], which=which,
        )  # fmt: skip
        moments.add(part)
        self._moved_since[row] = cluster

    # ---------------------------------------------------------------- queries

    def labels(self) -> Labels:
        """Clusters of all rows: an array, or a Dask array."""
        chosen = [
            (inside, self.chosen_labels[positions])
            for inside, positions in zip(self._inside, self._positions, strict=True)
        ]
        return self._engine.column(tasks.labels, self._states, chosen)

    def labels_of(self, rows: Ints) -> Labels:
        """Clusters of some rows."""
        if len(rows) == len(self.chosen) and (rows == self.chosen).all():
            return self.chosen_labels
        found = np.empty(len(rows), dtype=np.int32)
        which, inside, positions = split(self._engine.starts, rows)
        parts = self._engine.run(
            tasks.labels_of, states=self._states, per_block=inside, which=which, read=False
        )
        for position, part in zip(positions, parts, strict=True):
            found[position] = part
        order = np.argsort(self.chosen)
        at = np.searchsorted(self.chosen, rows, sorter=order).clip(max=max(len(order) - 1, 0))
        if len(order):
            is_chosen = self.chosen[order[at]] == rows
            found[is_chosen] = self.chosen_labels[order[at[is_chosen]]]
        return found

    def labels_for_report(self, rows: Ints) -> dict[Hashable, Hashable]:
        """Clusters of the constrained rows by row number."""
        return dict(zip(rows.tolist(), self.labels_of(rows).tolist(), strict=True))

    def sizes(self, k: int) -> Ints:
        """Number of rows per cluster."""
        if self._free_sizes is None:
            parts = self._engine.run(tasks.sizes, k, states=self._states, read=False)
            self._free_sizes = np.sum(parts, axis=0)
        return self._free_sizes + cluster_sizes(self.chosen_labels, k)

    def farthest(self, geometry: Geometry, sizes: Ints) -> tuple[int, int, float]:
        """The row farthest from its center; see `Assignments.farthest`."""
        parts = self._engine.run(
            tasks.farthest, self.rows.context(geometry), states=self._states,
            per_block=[sizes] * len(self._inside),
        )  # fmt: skip
        best, found = -1, (-1, -1, 0.0)
        for number, part in enumerate(parts):
            if part[0] >= 0 and part[2] > found[2]:
                best, found = number, part
        return (found[0] + int(self._engine.starts[best]) if best >= 0 else -1), *found[1:]

    def recount(self, moments: Moments) -> Moments:
        """The moments of the clustering, summed from scratch."""
        parts, self._free_moments = self._free_moments, None  # used once: rows may be rescaled
        if parts is None:
            found = self._engine.run(
                tasks.recount, self.rows.context(moments=moments), states=self._states
            )
            self._free_sizes = np.sum([sizes for _, sizes in found], axis=0)
            parts = [part for part, _ in found]
        fresh = moments.like()
        for part in parts:
            fresh.add(part)
        self._add_chosen(fresh)
        return fresh

    def _add_chosen(self, moments: Moments) -> None:
        self.rows.move(
            self.chosen, np.full_like(self.chosen_labels, -1), self.chosen_labels, moments
        )

    def similarity_squares(self, directions: Floats) -> Floats:
        """Per feature, the sum over rows of (x . direction of its cluster) times x squared."""
        parts = self._engine.run(
            tasks.similarity_squares, self.rows.context(), states=self._states,
            per_block=[directions] * len(self._inside),
        )  # fmt: skip
        total = np.sum(parts, axis=0)
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
