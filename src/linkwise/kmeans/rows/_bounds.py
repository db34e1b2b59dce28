"""Hamerly's bounds on distances, which let passes skip rows whose center must stay the nearest."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike, NDArray

from linkwise.geometry import Geometry
from linkwise.kmeans._kernel_arguments import Drift, RowBounds

NO_DRIFT = Drift(1.0, 1.0, np.zeros(0), 0.0, 0.0, 0)  # of no bounds
_UP = 1 + 1e-6  # rounds a bound to the safe side: float32 is exact to 1e-7


def rounding_margin(n_features: int, dtype: DTypeLike) -> float:
    """Relative rounding error of a squared distance; that of a sum grows as the root of d."""
    return max(32.0, 2.0 * n_features**0.5) * float(np.finfo(dtype).eps)


class Bounds:
    """Per row, an upper bound on the distance to its center and a lower one to all others.

    They hold for one diagonal metric that all clusters share. When the metric changes from A to B,
    every distance changes by a factor between the roots of min(B / A) and max(B / A).
    """

    def __init__(self, n_rows: int, dtype: DTypeLike):
        self.upper = np.full(n_rows, np.inf, dtype=dtype)
        self.lower = np.zeros(n_rows, dtype=dtype)
        self._centers: NDArray | None = None
        self._metric: NDArray | None = None

    def loosen(self, geometry: Geometry) -> Drift:
        """How much centers and metric have changed since the last call."""
        centers, metric = geometry.centers, geometry.metrics[0]
        before = centers if self._centers is None else self._centers
        change = np.ones(1) if self._metric is None else metric / self._metric
        self._centers, self._metric = centers.copy(), metric.copy()
        moved = np.sqrt(((centers - before) ** 2 * metric).sum(axis=1)) * _UP
        second, which = np.argsort(moved)[-2:]
        return Drift(
            stretch=float(np.sqrt(change.max())) * _UP,
            shrink=float(np.sqrt(change.min())) / _UP,
            moved=moved.astype(self.upper.dtype),
            most=float(moved[which]),
            second=float(moved[second]),
            which=int(which),
        )

    def arguments(self, geometry: Geometry) -> RowBounds:
        """What `assign_dense` takes."""
        dtype, d = self.upper.dtype, geometry.centers.shape[1]
        own, centers = geometry.metrics[0].astype(dtype), geometry.centers.astype(dtype)
        margin = rounding_margin(d, dtype)
        return RowBounds(own, centers, margin, self.loosen(geometry), self.upper, self.lower)

    def forget(self, row: int) -> None:
        """Reset the bounds of a row that was moved to another cluster."""
        self.upper[row], self.lower[row] = np.inf, 0.0
