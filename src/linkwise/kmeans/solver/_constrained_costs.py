"""Costs of constrained rows in all clusters, computed when an assigner asks for them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwise import _core
from linkwise._types import Bools, Floats, Ints, Labels
from linkwise.geometry import Cosine, Geometry
from linkwise.kmeans._kernel_arguments import Drift
from linkwise.kmeans.rows._bounds import NO_DRIFT, Bounds, rounding_margin
from linkwise.kmeans.rows._local_rows import LocalRows, dense_form
from linkwise.kmeans.rows._protocols import RowStore

_BOUNDED_ROWS = 1_000  # constrained rows from which on to leave some out saves time
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
        self._place, self._every = np.arange(len(chosen)), np.ones(len(chosen), dtype=bool)
        self._all_at: tuple[Floats | None, Floats | None] = (None, None)
        # Bounds are on distances: they do not hold for costs times sample weights.
        plain = geometry.metrics.ndim == 2 and not geometry.rows_by_cluster
        plain = plain and not rows.is_sparse and not rows.weighted
        # Costs in the precision of the data show most rows that stay; only the others need more.
        self._may_sift = plain and geometry.k > 1 and len(chosen) >= _BOUNDED_ROWS
        self._mostly = False  # whether most rows were undecided in the last call
        may_bound = self._may_sift and geometry.bounded and geometry.squared
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

    def row_constant(self) -> float:
        """What the costs of every row leave out, if it is one number."""
        if isinstance(self._geometry, Cosine):
            return float(self._geometry.row_terms(self._rows.X[self._chosen[:1]]))
        return -self._geometry.shared_log_det

    def of_undecided_rows(self, labels: Labels, slack: Floats) -> Undecided:
        """Rows that links could move to another cluster.

        Parameters
        ----------
        labels : ndarray of shape (m,)
            None of them -1.
        slack : ndarray of shape (m,)
            The most by which links can raise the present cluster's cost above another's.
        """
        if len(labels) < _BOUNDED_ROWS:  # to leave some out takes longer than to look at all
            return Undecided(self._every, self._place, self.of_all_rows())
        bounds, nothing = self._bounds, np.zeros(0)
        drift, upper, lower = NO_DRIFT, nothing, nothing
        if bounds is not None:
            drift, upper, lower = bounds.loosen(self._geometry), bounds.upper, bounds.lower
        if self._mostly or not self._may_sift or self._has_all():
            return self._from_all(labels, slack, upper, lower)
        return self._sifted(labels, slack, drift, upper, lower)

    def _from_all(self, labels: Labels, slack: Floats, upper: Floats, lower: Floats) -> Undecided:
        """Undecided rows, found from the costs of all rows."""
        costs, place = self.of_all_rows(), np.arange(len(labels))
        self._mark(costs, labels, slack, (self._known, upper, lower), self._undecided)
        self._mostly = 2 * int(np.count_nonzero(self._undecided)) > len(labels)
        return Undecided(self._undecided, place, costs)

    def _sifted(
        self, labels: Labels, slack: Floats, drift: Drift, upper: Floats, lower: Floats
    ) -> Undecided:
        """Undecided rows among those that bounds and costs in the data's precision leave over."""
        local, chosen = (
            (self._local, self._chosen) if self._local else self._rows.in_memory(self._chosen)
        )
        assert local is not None
        undecided, place = self._undecided, self._place
        X, shift = local.arrays()
        form, bias, own = dense_form(self._geometry, X.dtype)
        own = own if own.size else np.ones(local.d, X.dtype)
        what = (
            X, shift.astype(X.dtype), chosen, form, bias, own, self._beyond(),
            rounding_margin(local.d, X.dtype), labels, slack, self._known, drift, upper, lower,
        )  # fmt: skip
        self._threads.map(lambda a, b: _core.undecided_dense(*what, a, b, undecided), len(labels))
        found = np.flatnonzero(undecided)
        self._mostly = 2 * len(found) > len(labels)
        costs = self._new_space()[: len(found)]
        self._rows.distances(self._chosen[found], self._geometry, costs)
        place[found] = np.arange(len(found))
        sure, nothing = np.zeros(len(found), dtype=bool), np.zeros(0)
        no_bounds = (np.zeros(0, dtype=np.int32), nothing, nothing)
        self._mark(costs, labels[found], slack[found], no_bounds, sure)
        undecided[found] = sure
        return Undecided(undecided, place, costs)

    def _mark(
        self, costs: Floats, labels: Labels, slack: Floats, bounds: tuple[Labels, Floats, Floats],
        undecided: Bools,
    ) -> None:  # fmt: skip
        """Mark undecided rows, given their costs; `bounds` are updated unless empty."""
        beyond = self._beyond() if self._bounds is not None else 0.0
        what = (costs, slack, labels, beyond, _MARGIN)

        def work(start: int, stop: int) -> None:
            _core.undecided_rows(*what, start, stop, *bounds, undecided)

        self._threads.map(work, len(labels))

    def _beyond(self) -> float:
        """Size of the terms that cancel in a squared distance; scales its rounding error."""
        geometry = self._geometry
        if self._bounds is None:  # |x'a| is at most the mean of their squares
            form, bias, *_ = dense_form(geometry)
            return float((form**2).sum(axis=1).max() + np.abs(bias).max())
        return 2 * float((geometry.centers**2 @ geometry.metrics[0]).max())

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
