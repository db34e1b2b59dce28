"""Partitional single link: a base for boosting in which single link does not chain."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.utils import Tags
from sklearn.utils.validation import validate_data

from linkwise._types import MatrixLike, Seed


class PartitionalSingleLink(ClusterMixin, BaseEstimator):
    """Single link between the means of sqrt(n) groups, which k-means makes.

    Plain single link chains nearly all rows into one cluster. Liu et al. [1]_ boost the
    "partitional" variant of CLUTO, whose details are not published; this is the simplest one.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    random_state : int, RandomState instance or None, default=None
        Seed of k-means.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row.
    n_features_in_ : int
        Number of features.

    References
    ----------
    .. [1] Y. Liu, R. Jin, A. K. Jain. BoostCluster: boosting clustering by pairwise constraints.
       KDD 2007, section 4.1.

    Examples
    --------
    >>> from linkwise import BoostCluster, Constraints
    >>> from linkwise.ensemble import PartitionalSingleLink
    >>> X = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0], [20.0], [21.0], [22.0]]
    >>> PartitionalSingleLink(3, random_state=0).fit_predict(X).tolist() in (
    ...     [0, 0, 0, 1, 1, 1, 2, 2, 2], [0, 0, 0, 2, 2, 2, 1, 1, 1], [1, 1, 1, 0, 0, 0, 2, 2, 2],
    ...     [1, 1, 1, 2, 2, 2, 0, 0, 0], [2, 2, 2, 0, 0, 0, 1, 1, 1], [2, 2, 2, 1, 1, 1, 0, 0, 0])
    True
    """

    def __init__(self, n_clusters: int = 8, *, random_state: Seed = None):
        self.n_clusters = n_clusters
        self.random_state = random_state

    def fit(self, X: MatrixLike, y: ArrayLike | None = None) -> Self:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data.
        y : Ignored

        Returns
        -------
        self : object
            Fitted estimator.
        """
        X = validate_data(self, X, dtype=[np.float64, np.float32])
        n_groups = max(self.n_clusters, round(len(X) ** 0.5))
        n_groups = min(n_groups, len(np.unique(X, axis=0)))
        groups = KMeans(n_groups, n_init=1, random_state=self.random_state).fit(X)
        labels: NDArray[np.int64] = groups.labels_.astype(np.int64)
        if n_groups > self.n_clusters:
            merged = AgglomerativeClustering(self.n_clusters, linkage="single")
            labels = merged.fit_predict(groups.cluster_centers_)[labels]
        self.labels_ = labels
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags
