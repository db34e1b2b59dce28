"""Single link over groups, in place of CLUTO's "partitional SingleLink".

Plain single link chains nearly all rows into one cluster. CLUTO's method first divides the rows
into about sqrt(n) parts and merges with these in mind; its details are not published. Here k-means
makes the parts, and single link merges their means.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import AgglomerativeClustering, KMeans


class GroupedSingleLink(ClusterMixin, BaseEstimator):
    """k-means into sqrt(n) groups, then single link between their means."""

    def __init__(self, n_clusters: int = 8, random_state: Any = None):
        self.n_clusters = n_clusters
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> GroupedSingleLink:
        """Cluster the rows."""
        n_groups = max(self.n_clusters, round(len(X) ** 0.5))
        n_groups = min(n_groups, len(np.unique(X, axis=0)))
        groups = KMeans(n_groups, n_init=1, random_state=self.random_state).fit(X)
        if n_groups <= self.n_clusters:
            self.labels_ = groups.labels_
            return self
        merged = AgglomerativeClustering(self.n_clusters, linkage="single")
        self.labels_ = merged.fit_predict(groups.cluster_centers_)[groups.labels_]
        return self
