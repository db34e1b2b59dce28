"""What constrained rows cost in all clusters, found when it is asked for."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linkwise.geometry import Geometry

from . import _kernels
from ._rows import Bounds, Ints, Rows

Floats = NDArray[np.float64]

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
        Its centres and metrics may change between calls.
    """

    def __init__(self, rows: Rows, chosen: Ints, geometry: Geometry):
        self._geometry, self._rows, self._chosen = geometry, rows, chosen
        self._weight = rows.weight[chosen] if rows.weight.size else rows.weight
        # Constrained rows lie side by side if that takes little memory.
        if 0 < _FEW * len(chosen) <= rows.n and not geometry.scales_rows:
            self._rows = Rows.in_coordinates(rows.X[chosen], rows.shift)
            self._chosen = np.arange(len(chosen))
        self._space: Floats = np.empty((0, geometry.k))
        self._all_at: tuple[Floats | None, Floats | None] = (None, None)
        may_bound = geometry.bounded and not rows.is_sparse and geometry.k > 1
        self._bounds = Bounds(len(chosen), np.float64) if may_bound else None
        self._known = np.full(len(chosen), -1, dtype=np.int32)  # labels the bounds are for

    def of_all_rows(self) -> Floats:
        """Costs of all rows, (m, k), good until the centres move."""
        if not self._has_all():
            self._find(np.arange(len(self._chosen)))
            self._all_at = self._now()
        return self._space

    def of_open_rows(self, labels: NDArray[np.int32], slack: Floats) -> tuple[Ints, Floats]:
        """Rows that might leave their clusters with the help of links, and their costs.

        Parameters
        ----------
        labels : ndarray of shape (m,)
        slack : ndarray of shape (m,)
            The most by which links can make the present cluster dearer than another.

        Returns
        -------
        open : ndarray of shape (m_open,)
        costs : ndarray of shape (m_open, k)
        """
        every = np.arange(len(self._chosen))
        if self._bounds is None:
            return every, self.of_all_rows()
        loosened = self._bounds.loosen(self._geometry)
        if self._has_all():
            return every, self._space
        geometry, bounds = self._geometry, self._bounds
        data = (self._rows.X, self._rows.shift, self._chosen, geometry.metrics[0], geometry.centers)
        known = (labels, self._known, bounds.upper, bounds.lower, *loosened, slack, self._weight)

        def work(start: int, stop: int) -> Ints:
            number = _kernels.open_rows(*data, _MARGIN, *known, start, stop, every)
            return every[start : start + number]

        found = np.concatenate(self._rows.threads.map(work, len(every)))
        return found, self._find(found)

    def keep(self, found: Ints, costs: Floats, labels: NDArray[np.int32]) -> None:
        """Remember what follows from the costs of some rows, given the labels they have now."""
        if self._bounds is None:
            return
        if self._weight.size:
            costs = costs / np.maximum(self._weight[found, None], 1e-300)
        geometry, log_det = self._geometry, float(self._geometry.log_det[0])
        beyond = 2 * float((geometry.centers**2 @ geometry.metrics[0]).max()) + abs(log_det)
        bounds = (self._known, self._bounds.upper, self._bounds.lower)
        what = (found, costs, log_det, beyond, _MARGIN, labels)
        self._rows.threads.map(
            lambda *ends: _kernels.keep_bounds(*what, *ends, *bounds), len(found)
        )

    def _now(self) -> tuple[Floats, Floats]:
        return self._geometry.centers, self._geometry.metrics

    def _has_all(self) -> bool:
        """Whether costs of all rows are at hand: moved centres are other arrays."""
        return all(a is b for a, b in zip(self._now(), self._all_at, strict=True))

    def _find(self, wanted: Ints) -> Floats:
        """Costs of some rows, where those found before were."""
        if not len(self._space):
            self._space = np.empty((len(self._chosen), self._geometry.k))
        self._all_at = (None, None)
        found = self._rows.distances(
            self._chosen[wanted], self._geometry, self._space[: len(wanted)]
        )
        if self._weight.size:
            found *= self._weight[wanted, None]
        return found
