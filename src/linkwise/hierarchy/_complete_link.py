"""Constrained complete link: distances bent by must-links and cannot-links."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import linkage

from linkwise._types import Floats, Metric
from linkwise.constraints import Constraints

from ._base import BaseHierarchy
from ._cut import cut
from ._merge import check_memory, condensed


class ConstrainedCompleteLink(BaseHierarchy):
    """Complete-link clustering of distances that the constraints have changed.

    Must-linked rows are at distance 0, and every distance becomes that of the shortest path through
    must-linked rows, so that their neighbors come closer too. Cannot-linked rows are put farther
    apart than any others; complete link then spreads that to everything merged with them.

    Must-links are always satisfied; relative constraints are only reported on. Cannot-links are
    satisfied as long as `n_clusters` leaves the choice; else the closest clusters are merged, and
    the report tells which cannot-links are violated.

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

    See Also
    --------
    ReCon : A hierarchy that satisfies triplets, trees and pairs.

    Notes
    -----
    Memory: up to 8 n^2 bytes. Time: O(n^2 g) for g must-linked groups.

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

    def __init__(self, n_clusters: int | None = 2, *, metric: Metric = "euclidean"):
        self.n_clusters = n_clusters
        self.metric = metric

    def _build(self, X: Floats, known: Constraints) -> None:
        pairs = known._like(known._must, known._cannot)
        pairs.diagnose().raise_if_inconsistent()
        merges = np.zeros((0, 4))
        if X.shape[0] > 1:
            check_memory(X.shape[0], 8)
            distances = condensed(X, self.metric, "complete")
            merges = linkage(bend(distances, pairs), "complete")
        self.children_, self.distances_ = merges[:, :2].astype(np.int64), merges[:, 2]
        self._pairs = pairs

    def _cut(self, n_clusters: int | None) -> NDArray[np.int32]:
        pairs = self._pairs
        known = pairs if n_clusters is None else pairs._like(pairs._must)
        return cut(self.children_, known, None, n_clusters, 1)


def bend(distances: Floats, known: Constraints) -> Floats:
    """Distances under must-links and cannot-links, condensed; the array itself is changed.

    Must-linked rows have the same distances to all others, so that paths through one row of each
    group are all there are.
    """
    closure = known.closure()
    if not len(closure.nodes):
        return distances
    n = n_rows(distances)
    groups = [list(rows) for rows in closure.components if len(rows) > 1]
    if groups:
        _shorten(distances, n, groups)
    i, j = np.sort(known.cannot_link, axis=1).T
    at = n * i - i * (i + 1) // 2 + j - i - 1
    # Not all the same distance: where too few clusters are wanted, the closest violate their
    # cannot-link, whatever the order of the rows.
    distances[at] += distances.max() + 1.0
    return distances


def _shorten(distances: Floats, n: int, groups: list[list[int]]) -> None:
    """INOUT: the lengths of shortest paths that pass through must-linked groups only.

    Paths between groups come first (Floyd and Warshall), so that each pair of rows needs one group
    in between.
    """
    near = np.array([_distances_of(distances, n, rows) for rows in groups])
    for rows in groups:  # rows of a group are at one place
        near[:, rows] = near[:, rows].min(axis=1, keepdims=True)
    for through, rows in enumerate(groups):
        np.minimum(near, near[:, rows[:1]] + near[through], out=near)
    start = 0
    for i in range(n - 1):
        row = distances[start : start + n - 1 - i]
        np.minimum(row, (near[:, i, None] + near[:, i + 1 :]).min(axis=0), out=row)
        start += n - 1 - i


def _distances_of(distances: Floats, n: int, rows: list[int]) -> Floats:
    """Distance of every row to the nearest of some rows."""
    found = np.full(n, np.inf)
    others = np.arange(n)
    for i in rows:
        low, high = np.minimum(others, i), np.maximum(others, i)
        at = n * low - low * (low + 1) // 2 + high - low - 1
        at[i] = 0
        away = distances[at]
        away[i] = 0.0
        np.minimum(found, away, out=found)
    return found


def n_rows(distances: Floats) -> int:
    """The number of rows that n (n - 1) / 2 condensed distances are between."""
    return int(np.ceil(np.sqrt(2 * len(distances))))
