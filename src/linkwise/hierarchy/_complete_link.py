"""Constrained complete link: distances bent by must-links and cannot-links."""

from __future__ import annotations

import time
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform
from sklearn.utils.validation import check_is_fitted

from linkwise._estimator import check_number
from linkwise.constraints import Constraints

from ._base import BaseHierarchy, Floats
from ._cut import cut
from ._kernels import shorten
from ._merge import check_memory, condensed


class ConstrainedCompleteLink(BaseHierarchy):
    """Complete-link clustering of distances that the constraints have changed [1]_.

    Must-linked rows are at distance 0, and every distance becomes that of the shortest path through
    must-linked rows, so that their neighbours come closer too. Cannot-linked rows are put farther
    apart than any others; complete link then spreads that to everything merged with them.

    Must-links are always kept. Cannot-links are kept as long as `n_clusters` leaves the choice;
    the report tells which are not.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters. None: as few as keep the cannot-links apart.
    metric : str or callable, default="euclidean"
        A metric of `scipy.spatial.distance.pdist`, or "precomputed": X is a square matrix of
        distances.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row.
    children_ : ndarray of shape (n_samples - 1, 2)
        The two nodes of each merge; nodes below n_samples are rows, merge t makes node
        n_samples + t.
    distances_ : ndarray of shape (n_samples - 1,)
        Changed distance of the two clusters of each merge; larger than all others where
        cannot-linked clusters are merged.
    linkage_matrix_ : ndarray of shape (n_samples - 1, 4)
        The same for `scipy.cluster.hierarchy`.
    report_ : Report
        What became of the constraints.

    Notes
    -----
    Memory: up to 12 n^2 bytes. Time: O(n^2 g) for g must-linked groups.

    References
    ----------
    .. [1] D. Klein, S. D. Kamvar, C. D. Manning. From instance-level constraints to space-level
       constraints: making the most of prior knowledge in data clustering. ICML 2002.

    Examples
    --------
    >>> from linkwise import ConstrainedCompleteLink, Constraints
    >>> X = [[0.0], [1.0], [4.0], [5.0], [9.0]]
    >>> known = Constraints(must_link=[(0, 3)], cannot_link=[(3, 4)])
    >>> ConstrainedCompleteLink(2).fit_predict(X, constraints=known).tolist()
    [0, 0, 0, 0, 1]
    """

    def __init__(self, n_clusters: int | None = 2, *, metric: Any = "euclidean"):
        self.n_clusters = n_clusters
        self.metric = metric

    def fit(self, X: Any, y: Any = None, *, constraints: Any = None, sample_ids: Any = None) -> Any:
        """Cluster the rows of X with what is known about them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples, n_samples) if precomputed
            The data, or distances.
        y : array-like of shape (n_samples,), default=None
            Partial labels, -1 for unknown; rows of one class must be together, rows of two apart.
        constraints : Constraints, DataFrame or path, default=None
            Must-links and cannot-links. By row number, or by id when `sample_ids` is given or X
            is a DataFrame with an index. Relative constraints are only reported on.
        sample_ids : array-like of shape (n_samples,), default=None
            Id of each row. Constraints on ids that no row has are left out.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        started = time.perf_counter()
        if self.n_clusters is not None:
            check_number("n_clusters", self.n_clusters, Integral, 1)
        X, known = self._read(X, y, constraints, sample_ids)
        pairs = known._like(known._must, known._cannot)
        pairs.diagnose().raise_if_inconsistent()
        merges = np.zeros((0, 4))
        if X.shape[0] > 1:
            check_memory(X.shape[0], 12)
            distances = condensed(X, self.metric, "complete")
            merges = linkage(bend(distances, pairs, X.shape[0]), "complete")
        self.children_, self.distances_ = merges[:, :2].astype(np.int64), merges[:, 2]
        self._must = known._like(known._must)
        self._store(known, self._cut(self.n_clusters, pairs), started)
        return self

    def cut(self, n_clusters: int) -> NDArray[np.int32]:
        """Cut the hierarchy into clusters, undoing the last merges.

        Parameters
        ----------
        n_clusters : int

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Clusters are numbered by their first row.
        """
        check_is_fitted(self)
        check_number("n_clusters", n_clusters, Integral, 1)
        return self._cut(n_clusters, self._must)

    def _cut(self, n_clusters: int | None, pairs: Constraints) -> NDArray[np.int32]:
        known = pairs if n_clusters is None else pairs._like(pairs._must)
        return cut(self.children_, known, None, n_clusters, 1)


def bend(distances: Floats, known: Constraints, n_rows: int) -> Floats:
    """Distances under must-links and cannot-links, condensed.

    Must-linked rows have the same distances to all others, so that paths through one row of each
    group are all there are.
    """
    closure = known.closure()
    if not len(closure.nodes):
        return distances
    square = squareform(distances)
    groups = [np.array(rows) for rows in closure.components if len(rows) > 1]
    for rows in groups:
        nearest = square[rows].min(axis=0)
        square[rows], square[:, rows] = nearest, nearest[:, None]
        square[np.ix_(rows, rows)] = 0.0
    shorten(square, np.array([rows[0] for rows in groups], dtype=np.int64))
    i, j = known.cannot_link.T
    square[i, j] = square[j, i] = square.max() + 1.0
    return squareform(square, checks=False)
