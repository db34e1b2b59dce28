"""What constrained rows cost in all clusters, found when it is asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwise.geometry import Geometry
from linkwise.kmeans.kernels import _row_kernels as _kernels
from linkwise.kmeans.rows._local_rows import Bounds, Ints, Rows, form_of_costs

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
        # Bounds are for plain distances: not for costs times the weights of rows.
        plain = geometry.bounded and not rows.is_sparse and not rows.weighted
        may_bound = plain and geometry.k > 1 and len(chosen) >= _MANY
        self._bounds = Bounds(len(chosen), np.float64) if may_bound else None
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
        bounds = self._bounds
        if bounds is None:
            return self._among_all(labels, slack, (np.zeros(0), np.zeros(0)))
        loosened, ends = bounds.loosen(self._geometry), (bounds.upper, bounds.lower)
        if self._has_all():
            return self._among_all(labels, slack, ends)
        return self._among_crossed(labels, slack, (*ends, *loosened))

    def _among_all(self, labels: NDArray[np.int32], slack: Floats, ends: tuple[Floats, ...]) -> Any:
        """Wavering rows, found from the costs of all rows."""
        costs, place = self.of_all_rows(), np.arange(len(labels))
        what = (costs, slack, labels, float(self._geometry.log_det[0]), self._beyond(), _MARGIN)

        def work(start: int, stop: int) -> None:
            _kernels.wavering_rows(*what, start, stop, self._known, *ends, self._wavers)

        self._rows.threads.map(work, len(labels))
        return self._wavers, place, costs

    def _among_crossed(
        self, labels: NDArray[np.int32], slack: Floats, bounds: tuple[Any, ...]
    ) -> Any:
        """Wavering rows, looked for only where bounds do not rule them out."""
        wavers, place, space = self._wavers, self._place, self._make_space()
        wavers[:] = False
        rows = (*self._rows.arrays(), self._chosen, *form_of_costs(self._geometry), labels, slack)
        what = (*rows, self._known, *bounds, self._beyond(), _MARGIN)

        def work(start: int, stop: int) -> None:
            _kernels.sift_dense(*what, start, stop, wavers, place, space)

        self._rows.threads.map(work, len(labels))
        return wavers, place, space

    def _beyond(self) -> float:
        """What rounding errors of squared distances may be in proportion to."""
        geometry = self._geometry
        if self._bounds is None:
            return 0.0
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
