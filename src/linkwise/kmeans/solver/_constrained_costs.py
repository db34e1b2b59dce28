"""Costs of constrained rows in all clusters, computed when an assigner asks for them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwise._types import Bools, Floats, Ints, Labels
from linkwise.geometry import Geometry
from linkwise.kmeans.kernels import _row_kernels as _kernels
from linkwise.kmeans.kernels._row_kernels import Drift
from linkwise.kmeans.rows._bounds import Bounds
from linkwise.kmeans.rows._local_rows import LocalRows, cost_form
from linkwise.kmeans.rows._protocols import RowStore

_BOUNDED_ROWS = 1_000  # constrained rows from which on bounds save time
_COPY_SHARE = 4  # copy constrained rows contiguously if at most 1 in 4 is constrained
_MARGIN = 64 * float(np.finfo(np.float64).eps)  # relative rounding error of a squared distance


class Undecided(NamedTuple):
    """Rows that links could move, and where their costs are; valid until the next call."""

    mask: Bools  # (m,)
    place: Ints  # (m,): position of each undecided row in `costs`
    costs: Floats  # (m_found, k)


class ConstrainedCosts:
    """Costs of the constrained rows; with bounds, only of those that might change their cluster.

    Parameters
    ----------
    rows : RowStore
    chosen : ndarray of shape (m,)
        Row numbers; below, rows are positions among these.
    geometry : Geometry
        Its centers and metrics may change between calls.
    """

    def __init__(self, rows: RowStore, chosen: Ints, geometry: Geometry):
        self._geometry, self._chosen = geometry, chosen
        self._weight = rows.weight_of(chosen) if rows.weighted else np.zeros(0)
        self._rows: RowStore = rows
        self._local: LocalRows | None = None
        if not geometry.scales_rows:  # rows that are scaled in every iteration cannot be copied
            local, self._chosen = rows.in_memory(chosen)
            if 0 < _COPY_SHARE * len(chosen) <= local.n:
                local = LocalRows.in_coordinates(local.X[self._chosen], rows.shift)
                self._chosen = np.arange(len(chosen))
            self._rows = self._local = local
        self._threads = self._rows.threads
        self._space: Floats = np.empty((0, geometry.k))
        self._undecided = np.zeros(len(chosen), dtype=bool)
        self._place = np.zeros(len(chosen), dtype=np.int64)
        self._all_at: tuple[Floats | None, Floats | None] = (None, None)
        # Bounds are on distances: they do not hold for costs times sample weights.
        plain = geometry.bounded and not rows.is_sparse and not rows.weighted
        may_bound = plain and geometry.k > 1 and len(chosen) >= _BOUNDED_ROWS
        self._bounds = Bounds(len(chosen), np.float64) if may_bound else None
        # Labels that the bounds are for; -2 is no label.
        self._known = np.full(len(chosen) if may_bound else 0, -2, dtype=np.int32)

    def of_all_rows(self) -> Floats:
        """Costs of all rows, (m, k), valid until the centers move."""
        if not self._has_all():
            found = self._rows.distances(self._chosen, self._geometry, self._new_space())
            if self._weight.size:
                found *= self._weight[:, None]
            self._all_at = self._now()
        return self._space

    def of_undecided_rows(self, labels: Labels, slack: Floats) -> Undecided:
        """Rows that links could move to another cluster.

        Parameters
        ----------
        labels : ndarray of shape (m,)
            None of them -1.
        slack : ndarray of shape (m,)
            The most by which links can raise the present cluster's cost above another's.
        """
        bounds = self._bounds
        if bounds is None:
            return self._from_all(labels, slack, np.zeros(0), np.zeros(0))
        drift = bounds.loosen(self._geometry)
        if self._has_all():
            return self._from_all(labels, slack, bounds.upper, bounds.lower)
        return self._from_bounds(labels, slack, bounds, drift)

    def _from_all(self, labels: Labels, slack: Floats, upper: Floats, lower: Floats) -> Undecided:
        """Undecided rows, found from the costs of all rows."""
        costs, place = self.of_all_rows(), np.arange(len(labels))
        what = (costs, slack, labels, float(self._geometry.log_det[0]), self._beyond(), _MARGIN)

        def work(start: int, stop: int) -> None:
            _kernels.undecided_rows(*what, start, stop, self._known, upper, lower, self._undecided)

        self._threads.map(work, len(labels))
        return Undecided(self._undecided, place, costs)

    def _from_bounds(
        self, labels: Labels, slack: Floats, bounds: Bounds, drift: Drift
    ) -> Undecided:
        """Undecided rows among those whose bounds cross."""
        local = self._local
        assert local is not None  # geometries that scale rows have no bounds
        undecided, place, space = self._undecided, self._place, self._new_space()
        undecided[:] = False
        what = (
            *local.arrays(), self._chosen, cost_form(self._geometry), labels, slack, self._known,
            bounds.upper, bounds.lower, drift, self._beyond(), _MARGIN,
        )  # fmt: skip

        def work(start: int, stop: int) -> None:
            _kernels.undecided_from_bounds(*what, start, stop, undecided, place, space)

        self._threads.map(work, len(labels))
        return Undecided(undecided, place, space)

    def _beyond(self) -> float:
        """Size of the terms that cancel in a squared distance; scales its rounding error."""
        geometry = self._geometry
        if self._bounds is None:
            return 0.0
        longest = float((geometry.centers**2 @ geometry.metrics[0]).max())
        return 2 * longest + abs(float(geometry.log_det[0]))

    def _now(self) -> tuple[Floats, Floats]:
        return self._geometry.centers, self._geometry.metrics

    def _has_all(self) -> bool:
        """Whether the costs of all rows are up to date: every update makes new arrays."""
        return all(a is b for a, b in zip(self._now(), self._all_at, strict=True))

    def _new_space(self) -> Floats:
        """The array that costs are written to; earlier costs are lost."""
        if not len(self._space):
            self._space = np.empty((len(self._chosen), self._geometry.k))
        self._all_at = (None, None)
        return self._space
