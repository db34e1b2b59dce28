"""A first guess of the number of clusters, from the data alone."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import silhouette_score

from linkwise._types import Matrix

_MOST_ROWS = 800
_MOST_CLUSTERS = 12


def guess_n_clusters(X: Matrix, seed: int = 0) -> int:
    """The number of clusters with the largest silhouette of k-means on a sample.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_rows, n_features)
    seed : int, default=0

    References
    ----------
    Rousseeuw (1987). Silhouettes: a graphical aid to the interpretation and validation of cluster
    analysis.
    """
    n_rows = X.shape[0]
    rows = np.arange(n_rows)
    if n_rows > _MOST_ROWS:
        rows = np.sort(np.random.default_rng(seed).choice(n_rows, _MOST_ROWS, replace=False))
    some = X[rows]
    best, score = min(2, n_rows), -np.inf
    for k in range(2, min(_MOST_CLUSTERS, len(rows) - 1) + 1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # equal rows: seen below
            labels = KMeans(k, n_init=2, random_state=seed).fit(some).labels_
        if len(np.unique(labels)) < k:  # fewer different rows than clusters
            break
        found = silhouette_score(some, labels)
        if found > score + 1e-9:
            best, score = k, found
    return best
