"""Rows that live elsewhere, behind the calls of `Rows` and `Assignments`.

Passes over the data go to the blocks and come back as sums. The rows that constraints speak of are
gathered once and stay here; so are those few that are asked for one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from linkwise.engines import Engine, Threads, split
from linkwise.geometry import Geometry, Moments
from linkwise.kmeans.solver._problem import Problem

from . import _block_tasks as at_blocks
from ._assignments import cluster_sizes
from ._block_tasks import BlockContext, Columns, Labels
from ._local_rows import (
    OUTERMOST,
    Ints,
    Rows,
    check_range,
    check_total_weight,
    largest,
    sample_rows,
)

_FRESH = 16  # calls after which states are made anew where they remember how they came about


class RemoteRows:
    """Rows in the blocks of an engine; see `Rows`, whose calls these are.

    Parameters
    ----------
    engine : Engine
    admit : callable, default=None
        What makes rows of a block fit for the geometry.
    """

    def __init__(self, engine: Engine, admit: Callable[[Any], Any] | None = None):
        self.engine = engine if admit is None else engine.prepared(admit)
        self.n, self.d = int(engine.starts[-1]), engine.d
        self.dtype, self.is_sparse = engine.dtype, engine.is_sparse
        centered = admit is None
        found = reduce(Columns.joined, self.engine.run(at_blocks.look_at_columns, centered))
        check_total_weight(found.weight)
        check_range(found.largest, self.dtype)
        self.total_weight, self.cells = found.weight, max(1, found.cells // max(self.n, 1))
        self.shift = np.zeros(self.d)
        self._mean: NDArray | None = found.mean
        if centered and not self.is_sparse:
            # Kernels work in the precision of the data: they must take off the very same number.
            self.shift = found.mean.astype(self.dtype).astype(np.float64)
        away = found.mean - self.shift
        self._totals = {False: found.squares + found.weight * away**2}
        self.threads = Threads(self.n, self.cells)  # for work on the rows at hand
        self._scaling: Geometry | None = None
        self._seen: list[Any] | None = None
        self._outermost: Ints | None = None
        self._numbers: Ints = np.zeros(0, dtype=np.int64)  # of the rows at hand
        self._near: Rows | None = None

    # ---------------------------------------------------------------- rows at hand

    def gather(self, rows: Ints) -> None:
        """Have these rows at hand."""
        missing = np.setdiff1d(rows, self._numbers)
        if not len(missing) and self._near is not None:
            return
        X, weight = self._fetch(missing)
        if self._near is not None:
            both = [self._near._given, X]
            X = sparse.vstack(both).tocsr() if self.is_sparse else np.concatenate(both)
            weight = np.concatenate([self._near.weight, weight])
        numbers = np.concatenate([self._numbers, missing])
        order = np.argsort(numbers)
        self._numbers = numbers[order]
        self._near = Rows.in_coordinates(
            X[order], self.shift, weight[order] if len(weight) else weight
        )
        if self._scaling is not None:
            self._near.scale(self._scaling)

    def _fetch(self, rows: Ints) -> tuple[Any, NDArray[np.float64]]:
        """Rows as they are in their blocks, in the order of their numbers, and their weights."""
        if not len(rows):
            empty = sparse.csr_matrix if self.is_sparse else np.empty
            return empty((0, self.d), dtype=self.dtype), np.zeros(0)
        which, inside, _ = split(self.engine.starts, rows)
        parts = self.engine.run(at_blocks.taken, own=inside, which=which)
        X = [part for part, _ in parts]
        weight = np.concatenate([weight for _, weight in parts])
        return sparse.vstack(X).tocsr() if self.is_sparse else np.concatenate(X), weight

    def at_hand(self, rows: Any) -> tuple[Rows, Ints]:
        """Rows in memory that hold the given ones, and where."""
        numbers = np.asarray(rows)
        places = np.searchsorted(self._numbers, numbers)
        known = np.append(self._numbers, -1)[places] == numbers
        if self._near is None or not known.all():  # seldom: constrained rows are gathered once
            self.gather(numbers)
            places = np.searchsorted(self._numbers, numbers)
        assert self._near is not None
        return self._near, places

    @property
    def X(self) -> _Gathered:
        """Rows by their numbers, gathered when they are asked for."""
        return _Gathered(self)

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return self.engine.has_weight

    def weight_of(self, rows: Any) -> NDArray[np.float64]:
        """Weights of some rows."""
        near, places = self.at_hand(rows)
        return near.weight[places] if near.weight.size else near.weight

    def take(self, rows: Any) -> NDArray[np.float64]:
        """Chosen rows, dense, relative to the mean, in float64."""
        near, places = self.at_hand(rows)
        return near.take(places)

    def differences(self, pairs: Ints) -> Any:
        """Differences of pairs of rows; sparse if the rows are."""
        near, places = self.at_hand(pairs)
        return near.differences(places)

    def blocks(self, rows: Ints) -> list[Ints]:
        """Row numbers in pieces small enough to make dense."""
        return Rows.blocks(self, rows)  # type: ignore[arg-type]

    def distances(self, rows: Ints, geometry: Geometry, out: Any = None) -> NDArray[np.float64]:
        """Costs of chosen rows in all clusters."""
        near, places = self.at_hand(rows)
        return near.distances(places, geometry, out)

    def move(self, rows: Ints, old: Labels, new: Labels, moments: Moments) -> None:
        """Move rows between clusters in the moments."""
        near, places = self.at_hand(rows)
        near.move(places, old, new, moments)

    def sample(self, k: int, rng: Any, without: Ints | None = None) -> Rows:
        """Some rows to draw starts from; see `Rows.sample`."""
        X, weight = self._fetch(sample_rows(self.n, self.cells, k, rng, without))
        some = Rows.in_coordinates(X, self.shift, weight)
        if self._scaling is not None:
            some.scale(self._scaling)
        return some

    # ---------------------------------------------------------------- passes over the data

    def order(self, **facts: Any) -> BlockContext:
        """What all blocks are told."""
        # Copies: the loop goes on with its geometry while an order may be needed again.
        geometry = copy(facts.pop("geometry", None))
        return BlockContext(self.shift, geometry, scaling=copy(self._scaling), **facts)

    def total(self, full: bool = False) -> NDArray:
        """Weighted sum of squares (or of products, if `full`) of all rows; taken once."""
        if full not in self._totals:
            own = [full] * (len(self.engine.starts) - 1)
            parts = self.engine.run(at_blocks.total, self.order(), own=own)
            self._totals[full] = np.sum(parts, axis=0)
        return self._totals[full]

    def offset(self) -> NDArray | None:
        """Mean of the rows where they are not looked at relative to it, else None."""
        return None if self.shift.any() else self._mean

    def scale(self, geometry: Geometry) -> None:
        """Have rows divided by their lengths under the geometry's metric, where it asks for it."""
        if geometry.scales_rows:
            self._scaling = geometry
            if self._near is not None:
                self._near.scale(geometry)

    def show(self, geometry: Geometry) -> None:
        """Let a geometry take in what it must know about all rows."""
        if self._seen is None:
            self._seen = self.engine.run(at_blocks.seen, self.order(geometry=geometry))
        geometry.set_stats(self._seen)

    def outermost(self) -> Ints:
        """Rows among which the farthest pair is looked for; see `Rows.outermost`."""
        if self._outermost is None:
            every = np.arange(self.n) if self.n <= OUTERMOST else self._find_outermost()
            self._outermost = every
        return self._outermost

    def _find_outermost(self) -> Ints:
        starts = self.engine.starts
        scale = [np.maximum(self.total(), 1e-300)] * (len(starts) - 1)
        parts = self.engine.run(at_blocks.ends, self.order(), own=scale)
        firsts = starts[:-1]
        rows = np.concatenate([p.longest + s for p, s in zip(parts, firsts, strict=True)])
        lengths = np.concatenate([p.lengths for p in parts])
        half = OUTERMOST // 2
        if self.is_sparse:
            return np.sort(rows[largest(lengths, np.arange(len(rows)), OUTERMOST)])
        outer = rows[largest(lengths, np.arange(len(rows)), half)]
        edge = np.array([p.edge + s for p, s in zip(parts, firsts, strict=True)])
        values, far = (np.array([getattr(p, a) for p in parts]) for a in ("values", "edge_lengths"))
        best = np.stack([values[:, 0].argmin(axis=0), values[:, 1].argmax(axis=0)])
        side, feature = np.indices(best.shape)
        rows, first = np.unique(edge[best, side, feature], return_index=True)
        far = far[best, side, feature].ravel()[first]
        return np.unique(np.concatenate([outer, rows[largest(far, np.arange(len(rows)), half)]]))

    def places(self, chosen: Ints) -> RemoteAssignments:
        """Nowhere yet; `chosen` rows will be placed by other means."""
        return RemoteAssignments(self, chosen)

    def close(self) -> None:
        """Let go of what only the fit needed."""
        if self._near is not None:
            self._near.close()
        self.threads.close()
        self.engine.close()


class _Gathered:
    """What stands for the matrix of all rows: asked for some, it gathers them."""

    def __init__(self, rows: RemoteRows):
        self._rows, self.dtype, self.shape = rows, rows.dtype, (rows.n, rows.d)

    def __getitem__(self, rows: Any) -> Any:
        near, places = self._rows.at_hand(rows)
        return near.X[places]


class RemoteAssignments:
    """The clusters of rows that live elsewhere; see `Assignments`, whose calls these are."""

    def __init__(self, rows: RemoteRows, chosen: Ints):
        self.rows, self.chosen = rows, chosen
        self.own: Labels = np.full(len(chosen), -1, dtype=np.int32)
        self._engine = rows.engine
        rows.gather(chosen)
        n_blocks = len(self._engine.starts) - 1
        which, inside, mine = split(self._engine.starts, chosen)
        self._inside = _spread(which, inside, n_blocks)  # chosen rows of each block
        self._mine = _spread(which, mine, n_blocks)  # and their places in `chosen`
        sizes = np.diff(self._engine.starts).tolist()
        self._states = self._engine.begin(
            at_blocks.begin, list(zip(sizes, self._inside, strict=True))
        )
        self._order: BlockContext | None = None  # the last that rows were assigned by
        self._refilled: dict[int, int] = {}  # rows moved since, one by one
        self._age = 0  # calls since states were made anew
        self._free_sizes: NDArray[np.int64] | None = None  # of clusters, without chosen rows
        self._counted: list[Moments] | None = None  # sums of free rows that were just taken

    # ---------------------------------------------------------------- moving rows

    def assign(
        self, geometry: Geometry, moments: Moments, closed: NDArray[np.bool_] | None, bounded: bool,
        last: bool = False,
    ) -> int:  # fmt: skip
        """All rows but the chosen to their cheapest cluster; returns how many moved.

        The `last` time, sums are taken anew in the same pass, for `recount`; nobody asks then how
        many moved.
        """
        order = self._told(geometry, moments, closed=closed, bounded=bounded and not last)
        self._age, self._free_sizes, self._counted = self._age + 1, None, None
        grown_old = self._order is not None and self._engine.remembers and self._age > _FRESH
        if last:
            self._assign_anew(order)
            parts = []
        elif grown_old:
            parts = self._assign_afresh(order)
            moments.clear()
            self._count_own(moments)
        else:
            self._states, parts = self._engine.advance(at_blocks.assign, self._states, order)
        for _, part in parts:
            moments.add(part)
        self._order, self._refilled = order, {}
        return sum(moved for moved, _ in parts)

    def _assign_anew(self, order: BlockContext) -> None:
        self._states, parts = self._engine.advance(
            at_blocks.assign_anew, None, order, own=self._inside
        )
        self._age, self._counted = 0, [sums for sums, _ in parts]
        self._free_sizes = np.sum([sizes for _, sizes in parts], axis=0)

    def _assign_afresh(self, order: BlockContext) -> list[tuple[int, Moments]]:
        refilled: list[dict[int, int]] = [{} for _ in self._inside]
        for row, cluster in self._refilled.items():
            block = int(np.searchsorted(self._engine.starts, row, side="right")) - 1
            refilled[block][row - int(self._engine.starts[block])] = cluster
        own = list(zip(self._inside, refilled, strict=True))
        common = (self._order, order)
        self._states, parts = self._engine.advance(at_blocks.assign_afresh, None, common, own=own)
        self._age = 0
        return parts

    def _told(self, geometry: Any, moments: Any, **facts: Any) -> BlockContext:
        return self.rows.order(
            geometry=geometry, empty=None if moments is None else moments.like(), **facts
        )

    def put(self, new: Labels, moments: Moments) -> int:
        """The chosen rows into given clusters; returns how many moved."""
        moved = np.flatnonzero(self.own != new)
        self.rows.move(self.chosen[moved], self.own[moved], new[moved], moments)
        self.own = new.copy()
        return len(moved)

    def move_one(self, row: int, cluster: int, moments: Moments) -> None:
        """One row that was not chosen into a cluster."""
        which, inside, _ = split(self._engine.starts, np.array([row]))
        own = [(int(inside[0][0]), cluster)]
        order, self._free_sizes, self._counted = self._told(None, moments), None, None
        self._states, (part,) = self._engine.advance(
            at_blocks.move_one, self._states, order, own=own, which=which
        )
        moments.add(part)
        self._refilled[row] = cluster

    # ---------------------------------------------------------------- asking

    def labels(self) -> Any:
        """Clusters of all rows, as the engine hands them out."""
        own = [(p, self.own[m]) for p, m in zip(self._inside, self._mine, strict=True)]
        return self._engine.column(at_blocks.labels, self._states, own)

    def labels_of(self, rows: Ints) -> Labels:
        """Clusters of some rows."""
        if len(rows) == len(self.chosen) and (rows == self.chosen).all():
            return self.own
        found = np.empty(len(rows), dtype=np.int32)
        which, inside, mine = split(self._engine.starts, rows)
        parts = self._engine.run(
            at_blocks.labels_of, states=self._states, own=inside, which=which, read=False
        )
        for place, part in zip(mine, parts, strict=True):
            found[place] = part
        order = np.argsort(self.chosen)
        at = np.searchsorted(self.chosen, rows, sorter=order).clip(max=max(len(order) - 1, 0))
        if len(order):
            ours = self.chosen[order[at]] == rows
            found[ours] = self.own[order[at[ours]]]
        return found

    def judged(self, problem: Problem) -> Any:
        """Clusters in a form that the constraints can be judged by."""
        rows = problem.named_rows
        return dict(zip(rows.tolist(), self.labels_of(rows).tolist(), strict=True))

    def sizes(self, k: int) -> NDArray[np.int64]:
        """Number of rows in each cluster."""
        if self._free_sizes is None:
            parts = self._engine.run(at_blocks.sizes, k, states=self._states, read=False)
            self._free_sizes = np.sum(parts, axis=0)
        return self._free_sizes + cluster_sizes(self.own, k)

    def farthest(self, geometry: Geometry, sizes: NDArray) -> tuple[int, int, float]:
        """The row farthest from its center; see `Assignments.farthest`."""
        own = [sizes] * len(self._inside)
        parts = self._engine.run(
            at_blocks.farthest, self._told(geometry, None), states=self._states, own=own
        )
        best, found = -1, (-1, -1, 0.0)
        for number, part in enumerate(parts):
            if part[0] >= 0 and part[2] > found[2]:
                best, found = number, part
        return (found[0] + int(self._engine.starts[best]) if best >= 0 else -1), *found[1:]

    def recount(self, moments: Moments) -> Moments:
        """The moments of the clustering, taken afresh."""
        parts, self._counted = self._counted, None  # good once: rows may be scaled anew
        if parts is None:
            order = self._told(None, moments)
            found = self._engine.run(at_blocks.recount, order, states=self._states)
            self._free_sizes = np.sum([sizes for _, sizes in found], axis=0)
            parts = [part for part, _ in found]
        fresh = moments.like()
        for part in parts:
            fresh.add(part)
        self._count_own(fresh)
        return fresh

    def _count_own(self, moments: Moments) -> None:
        self.rows.move(self.chosen, np.full_like(self.own, -1), self.own, moments)

    def similarity_squares(self, directions: NDArray) -> NDArray:
        """Sum over the rows of (x . direction of its cluster) times squares of x, by feature."""
        own = [directions] * len(self._inside)
        parts = self._engine.run(
            at_blocks.similarity_squares, self._told(None, None), states=self._states, own=own
        )
        total = np.sum(parts, axis=0)
        if len(self.chosen):
            near, places = self.rows.at_hand(self.chosen)
            some = Rows.in_coordinates(
                near.X[places], self.rows.shift, near.weight[places] if near.weight.size else None
            )
            total = total + some.similarity_squares(self.own, directions)
        return total


def _spread(which: list[int], parts: list[Ints], n_blocks: int) -> list[Ints]:
    """Parts of some blocks, with nothing for the others."""
    every = [np.zeros(0, dtype=np.int64)] * n_blocks
    for block, part in zip(which, parts, strict=True):
        every[block] = part
    return every
