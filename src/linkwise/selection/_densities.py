"""Density clusters without noise, as a candidate."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.neighbors import NearestNeighbors

from linkwise._types import Matrix
from linkwise._validation import Knowable
from linkwise.density import ConstrainedHDBSCAN


class Densities(ClusterMixin, BaseEstimator):
    """`ConstrainedHDBSCAN` whose noise joins the cluster of the nearest row that has one.

    Other candidates give every row a cluster; so that scores compare, this does too.

    Parameters
    ----------
    min_cluster_size : int, default=10
        As in `ConstrainedHDBSCAN`.
    """

    def __init__(self, min_cluster_size: int = 10):
        self.min_cluster_size = min_cluster_size

    def fit(
        self, X: Matrix, y: ArrayLike | None = None, *, constraints: Knowable = None
    ) -> Densities:
        """Cluster; `constraints` by row number, y is ignored."""
        size = min(self.min_cluster_size, max(2, X.shape[0] // 2))
        self.model_ = ConstrainedHDBSCAN(size).fit(X, constraints=constraints)
        found = np.asarray(self.model_.labels_).astype(np.int64)
        inside = found >= 0
        if not inside.any():
            raise ValueError("no dense clusters found: all rows are noise")
        self._X, self._labels = X[inside], found[inside]
        self.labels_ = found
        if not inside.all():
            self.labels_[~inside] = self._nearest(X[~inside])
        return self

    def predict(self, X: Matrix) -> NDArray[np.int64]:
        """Cluster of the nearest row of the fit."""
        return self._nearest(X)

    def _nearest(self, X: Matrix) -> NDArray[np.int64]:
        place = NearestNeighbors(n_neighbors=1).fit(self._X).kneighbors(X, return_distance=False)
        return self._labels[place.ravel()]
