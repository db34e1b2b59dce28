"""Which cluster each row is in, kept where the rows are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwise.geometry import Geometry, Moments

from ._local_rows import Bounds, Ints, Rows

Labels = NDArray[np.int32]
_AT_ONCE = 65_536  # rows whose costs in all clusters are at hand


class Assignments:
    """The clusters of rows in memory, of which `chosen` ones are placed by other means.

    Parameters
    ----------
    rows : Rows
    chosen : ndarray of row numbers
        Rows that `assign` leaves alone.
    labels : ndarray of shape (n,), default=None
        Where the rows are; nowhere (-1) if not given.
    bounds : Bounds, default=None
        What is known about distances from an earlier call.
    """

    def __init__(
        self, rows: Rows, chosen: Ints, labels: Labels | None = None, bounds: Bounds | None = None
    ):
        self.rows, self.chosen, self.bounds = rows, chosen, bounds
        self._labels = np.full(rows.n, -1, dtype=np.int32) if labels is None else labels
        self._pinned = np.zeros(rows.n, dtype=bool)
        self._pinned[chosen] = True
        self.own: Labels = self._labels[chosen]  # once more, side by side

    # ---------------------------------------------------------------- moving rows

    def assign(
        self, geometry: Geometry, moments: Moments, closed: NDArray[np.bool_] | None, bounded: bool,
        last: bool = False,
    ) -> int:  # fmt: skip
        """All rows but the chosen to their cheapest cluster; returns how many moved.

        That it is the `last` time saves a way to rows that live elsewhere, nothing here.
        """
        if bounded and self.bounds is None:
            self.bounds = Bounds(self.rows.n, self.rows.dtype)
        return self.rows.assign(
            geometry, self._labels, self._pinned, moments, closed, self.bounds if bounded else None
        )

    def put(self, new: Labels, moments: Moments) -> int:
        """The chosen rows into given clusters; returns how many moved."""
        moved = np.flatnonzero(self.own != new)
        rows = self.chosen[moved]
        self.rows.move(rows, self.own[moved], new[moved], moments)
        self._labels[rows] = new[moved]
        self.own = new.copy()
        return len(moved)

    def move_one(self, row: int, cluster: int, moments: Moments) -> None:
        """One row that was not chosen into a cluster."""
        one, new = np.array([row]), np.array([cluster], dtype=np.int32)
        self.rows.move(one, self._labels[one], new, moments)
        self._labels[row] = cluster
        if self.bounds is not None:
            self.bounds.forget(row)

    # ---------------------------------------------------------------- asking

    def labels(self) -> Labels:
        """Clusters of all rows."""
        return self._labels

    def labels_of(self, rows: Ints) -> Labels:
        """Clusters of some rows."""
        return self.own if rows is self.chosen else self._labels[rows]

    def judged(self, problem: Any) -> Any:
        """Clusters in a form that the constraints of a problem can be judged by."""
        return self._labels

    def sizes(self, k: int) -> NDArray[np.int64]:
        """Number of rows in each cluster."""
        return cluster_sizes(self._labels, k)

    def farthest(self, geometry: Geometry, sizes: NDArray) -> tuple[int, int, float]:
        """The row farthest from its center, its cluster and its cost; -1 if there is none.

        Chosen rows and rows that are alone in their cluster do not count.
        """
        best, reach = -1, 0.0
        free = np.flatnonzero(~self._pinned)
        free = free[sizes[self._labels[free]] > 1]
        for start in range(0, len(free), _AT_ONCE):
            part = free[start : start + _AT_ONCE]
            clusters = self._labels[part]
            own = self.rows.own_costs(part, clusters, geometry)
            own += geometry.log_det[geometry.group(clusters)]
            own += geometry.row_terms(self.rows.X[part])
            if len(own) and own.max() > reach:
                best, reach = int(part[own.argmax()]), float(own.max())
        return best, int(self._labels[best]) if best >= 0 else -1, reach

    def recount(self, moments: Moments) -> Moments:
        """The moments of the clustering, taken afresh."""
        return self.rows.recount(self._labels, moments)

    def similarity_squares(self, directions: NDArray) -> NDArray:
        """Sum over the rows of (x . direction of its cluster) times squares of x, by feature."""
        return self.rows.similarity_squares(self._labels, directions)


def cluster_sizes(labels: Labels, k: int) -> NDArray[np.int64]:
    """Number of rows in each cluster; those in none (-1) do not count."""
    return np.bincount(labels + 1, minlength=k + 1)[1:]
