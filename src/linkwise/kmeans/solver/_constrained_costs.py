"""What constrained rows cost in all clusters, found when it is asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwise.engines import single_blas_thread
from linkwise.geometry import Geometry
from linkwise.kmeans.kernels import _dense_kernels
from linkwise.kmeans.kernels import _row_kernels as _kernels
from linkwise.kmeans.rows._local_rows import (
    NO_CHANGE,
    Bounds,
    Ints,
    Rows,
    dense_form,
    rounding_margin,
)

Floats = NDArray[np.float64]

_MANY = 1_000  # rows for which bounds pay
_FEW = 4  # at most every so manieth row is copied to lie beside the others
_MARGIN = 64 * float(np.finfo(np.float64).eps)  # relative rounding error of a squared distance


class Costs:
    """Costs of chosen rows; with bounds, of those only that might be cheaper elsewhere.

    Parameters
    ----------
    rows : Rows
    chosen : ndarray of shape (m,)
        Row numbers; below, rows are positions among these.
    geometry : Geometry
        Its centers and metrics may change between calls.
    """

    def __init__(self, rows: Rows, chosen: Ints, geometry: Geometry):
        self._geometry, self._rows, self._chosen = geometry, rows, chosen
        self._weight = rows.weight_of(chosen) if rows.weighted else np.zeros(0)
        if not geometry.scales_rows:  # rows that are scaled anew stay with those who do that
            self._rows, self._chosen = rows.at_hand(chosen)
            # Constrained rows lie side by side if that takes little memory.
            if 0 < _FEW * len(chosen) <= self._rows.n:
                self._rows = Rows.in_coordinates(self._rows.X[self._chosen], rows.shift)
                self._chosen = np.arange(len(chosen))
        self._space: Floats = np.empty((0, geometry.k))
        self._wavers = np.zeros(len(chosen), dtype=bool)
        self._place = np.zeros(len(chosen), dtype=np.int64)
        self._all_at: tuple[Floats | None, Floats | None] = (None, None)
        # Costs that are exact only to the data's precision tell most rows that stay; not so for
        # mixed terms, nor for costs times the weights of rows.
        plain = geometry.metrics.ndim == 2 and not rows.is_sparse and not rows.weighted
        self._may_sift = plain and geometry.k > 1 and len(chosen) >= _MANY
        may_bound = self._may_sift and geometry.bounded and geometry.squared
        self._bounds = Bounds(len(chosen), np.float64) if may_bound else None
        self._mostly = False  # whether most rows were undecided the last time
        # Labels the bounds are for.
        self._known = np.full(len(chosen) if may_bound else 0, -2, dtype=np.int32)

    def of_all_rows(self) -> Floats:
        """Costs of all rows, (m, k), good until the centers move."""
        if not self._has_all():
            found = self._rows.distances(self._chosen, self._geometry, self._make_space())
            if self._weight.size:
                found *= self._weight[:, None]
            self._all_at = self._now()
        return self._space

    def of_wavering_rows(
        self, labels: NDArray[np.int32], slack: Floats
    ) -> tuple[NDArray[np.bool_], Ints, Floats]:
        """Rows that links could make leave their clusters; good until the next call.

        Parameters
        ----------
        labels : ndarray of shape (m,)
            None of them missing.
        slack : ndarray of shape (m,)
            The most by which links can make the present cluster dearer than another.

        Returns
        -------
        wavers : ndarray of bool, shape (m,)
        place : ndarray of shape (m,)
            Where their costs are.
        costs : ndarray of shape (m_found, k)
        """
        bounds, nothing = self._bounds, np.zeros(0)
        if bounds is None:
            change, ends = NO_CHANGE, (nothing, nothing)
        else:
            change, ends = bounds.loosen(self._geometry), (bounds.upper, bounds.lower)
        if self._mostly or not self._may_sift or self._has_all():
            return self._among_all(labels, slack, ends)
        return self._among_undecided(labels, slack, change, ends)

    def _among_all(self, labels: NDArray[np.int32], slack: Floats, ends: tuple[Floats, ...]) -> Any:
        """Wavering rows, found from the costs of all rows."""
        costs, place = self.of_all_rows(), np.arange(len(labels))
        self._find(costs, labels, slack, (self._known, *ends), self._wavers)
        self._mostly = 2 * int(np.count_nonzero(self._wavers)) > len(labels)
        return self._wavers, place, costs

    def _among_undecided(
        self, labels: NDArray[np.int32], slack: Floats, change: Any, ends: tuple[Floats, ...]
    ) -> Any:
        """Wavering rows, looked for only where costs in the data's precision leave a doubt."""
        wavers, place = self._wavers, self._place
        X, shift = self._rows.arrays()
        form, bias, own, _ = dense_form(self._geometry, X.dtype)
        if not own.size:
            own = np.ones(self._rows.d, X.dtype)
        margin = rounding_margin(self._rows.d, X.dtype)
        rows = (X, shift.astype(X.dtype), self._chosen, form, bias, own, self._beyond(), margin)
        what = (*rows, labels, slack, self._known, change, *ends)
        with single_blas_thread():
            self._rows.threads.map(
                lambda a, b: _dense_kernels.undecided_dense(*what, a, b, wavers), len(labels)
            )
        found = np.flatnonzero(wavers)
        self._mostly = 2 * len(found) > len(labels)
        costs = self._make_space()[: len(found)]
        self._rows.distances(self._chosen[found], self._geometry, costs)
        place[found] = np.arange(len(found))
        sure, nothing = np.zeros(len(found), dtype=bool), np.zeros(0)
        nobody = np.zeros(0, dtype=np.int32)
        self._find(costs, labels[found], slack[found], (nobody, nothing, nothing), sure)
        wavers[found] = sure
        return wavers, place, costs

    def _find(
        self, costs: Floats, labels: NDArray[np.int32], slack: Floats, ends: Any,
        wavers: NDArray[np.bool_],
    ) -> None:  # fmt: skip
        """Mark undecided rows, given their costs; `ends` take what becomes known as bounds."""
        beyond = self._beyond() if self._bounds is not None else 0.0
        what = (costs, slack, labels, float(self._geometry.log_det[0]), beyond, _MARGIN)

        def work(start: int, stop: int) -> None:
            _kernels.wavering_rows(*what, start, stop, *ends, wavers)

        self._rows.threads.map(work, len(labels))

    def _beyond(self) -> float:
        """What rounding errors of squared distances may be in proportion to."""
        geometry = self._geometry
        if self._bounds is None:  # |x'a| is at most the mean of their squares
            form, bias, *_ = dense_form(geometry, np.float64)
            return float((form**2).sum(axis=1).max() + np.abs(bias).max())
        longest = float((geometry.centers**2 @ geometry.metrics[0]).max())
        return 2 * longest + abs(float(geometry.log_det[0]))

    def _now(self) -> tuple[Floats, Floats]:
        return self._geometry.centers, self._geometry.metrics

    def _has_all(self) -> bool:
        """Whether costs of all rows are at hand: moved centers are other arrays."""
        return all(a is b for a, b in zip(self._now(), self._all_at, strict=True))

    def _make_space(self) -> Floats:
        """Where costs are kept; those that were there are given up."""
        if not len(self._space):
            self._space = np.empty((len(self._chosen), self._geometry.k))
        self._all_at = (None, None)
        return self._space
