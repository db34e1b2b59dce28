"""Affinities of rows: Gaussian, dense or among nearest neighbors, and links in them.

Entry points: `linked_graph` for the rows of a fit, `Affinity.to` for new rows.

References
----------
.. [1] L. Zelnik-Manor, P. Perona. Self-tuning spectral clustering. NIPS 2004.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.metrics import pairwise_distances_argmin_min
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import NearestNeighbors

from linkwise._adapters import as_fitted
from linkwise._types import Floats, Matrix, is_sparse
from linkwise.constraints import Constraints

from ._eigen import without_rounding

Gamma = float | Literal["local", "median"]

MOST_RBF = 30_000  # rows; beyond, n x n numbers do not fit
_SCALED_BY = 7  # the neighbor whose distance is a row's bandwidth (Zelnik-Manor and Perona)
# Least bandwidth as a share of the median one, so that repeated rows keep affinities to others. Set
# by hand, not measured on sets that did not choose it.
_FLOOR = 0.3
_TRIED, _TIES = 50, 10  # rows of a part that are compared; ties, as many as neighbors by default


@dataclass(frozen=True, eq=False)
class Affinity:
    """An affinity with its parameters settled."""

    kind: str
    gamma: float  # affinities are ``exp(-gamma * squared distance)``; NaN with local bandwidths
    n_neighbors: int
    index: NearestNeighbors | None = None  # finds neighbors among the rows of the fit
    X: Matrix | None = None  # the rows of the fit, where new rows are compared with all of them
    bandwidth: Floats | None = None

    @classmethod
    def of(cls, X: Matrix, kind: str, gamma: Gamma, n_neighbors: int) -> tuple[Matrix, Affinity]:
        """The affinities of the rows among each other (dense or CSR), and how they were made."""
        n = X.shape[0]
        if kind == "precomputed":
            return _checked(X), cls(kind, 1.0, 0)
        n_neighbors = max(1, min(n_neighbors, n - 1))
        if kind == "rbf":
            _refuse_many(n)
            squared = euclidean_distances(X, squared=True).astype(np.float64, copy=False)
            made = cls._settled(kind, squared, gamma, n_neighbors, X=X)
            columns = None if made.bandwidth is None else made.bandwidth[None]
            A = made._values(squared, made.bandwidth, columns)
            np.fill_diagonal(A, 0.0)
            return A, made
        index = NearestNeighbors(n_neighbors=n_neighbors).fit(X)
        graph = index.kneighbors_graph(mode="distance").astype(np.float64)
        squared = graph.data.reshape(n, -1) ** 2
        made = cls._settled(kind, squared, gamma, n_neighbors, index=index)
        columns = None if made.bandwidth is None else made.bandwidth[graph.indices.reshape(n, -1)]
        graph.data = made._values(squared, made.bandwidth, columns).ravel()
        # Of two rows it is enough that one is near the other.
        return graph.maximum(graph.T).tocsr(), made

    @classmethod
    def _settled(
        cls, kind: str, squared: Floats, gamma: Gamma, n: int, **where: Matrix | NearestNeighbors
    ) -> Affinity:
        """The affinity for given squared distances of rows to others."""
        if gamma != "local":
            width = _gamma(squared) if gamma == "median" else float(gamma)
            return cls(kind, width, n, **where)
        bandwidth = np.sqrt(_nearest(squared, kind == "rbf"))
        # Duplicates have no neighbors at a distance: the floor keeps their affinities to the rest.
        floor = _FLOOR * float(np.median(bandwidth)) or float(bandwidth.max(initial=0.0)) or 1.0
        return cls(kind, float("nan"), n, **where, bandwidth=np.maximum(bandwidth, floor))

    def _values(self, squared: Floats, rows: Floats | None, columns: Floats | None) -> Floats:
        """Affinities at given squared distances, and bandwidths of both sides if they are local."""
        if rows is None or columns is None:
            return np.exp(-self.gamma * squared)
        # The larger bandwidth, not the product of both as in [1]: if the neighbors of an outlier
        # are close together, the product makes its affinities vanish, and it becomes a cluster.
        return np.exp(-squared / np.maximum(rows[:, None], columns) ** 2)

    def to(self, X: Matrix) -> tuple[Matrix, NDArray[np.int64] | None]:
        """Affinities of new rows to those of the fit, and which of those is the nearest."""
        if self.kind == "precomputed":
            return X, None
        if self.kind == "rbf":
            squared = euclidean_distances(X, self.X, squared=True).astype(np.float64, copy=False)
            rows, columns = self._bandwidths(squared, None)
            return self._values(squared, rows, columns), squared.argmin(axis=1)
        assert self.index is not None
        distance, near = self.index.kneighbors(as_fitted(self.index, X))
        squared = distance.astype(np.float64) ** 2
        values = self._values(squared, *self._bandwidths(squared, near)).ravel()
        n, width = near.shape
        starts = np.arange(0, n * width + 1, width)
        shape = (n, self.index.n_samples_fit_)
        return sparse.csr_array((values, near.ravel(), starts), shape=shape), near[:, 0]

    def _bandwidths(
        self, squared: Floats, near: NDArray[np.int64] | None
    ) -> tuple[Floats | None, Floats | None]:
        """Bandwidths of new rows, by the distances to those of the fit, and of the latter."""
        if self.bandwidth is None:
            return None, None
        own = np.sqrt(_nearest(squared, near is None, itself=False))
        floor = float(self.bandwidth.min())
        return np.maximum(own, floor), self.bandwidth[None] if near is None else self.bandwidth[
            near
        ]


def linked_graph(
    X: Matrix, links: Constraints, k: int, kind: str = "nearest_neighbors", gamma: Gamma = "local",
    n_neighbors: int = 10,
) -> tuple[Matrix, Affinity]:  # fmt: skip
    """Affinities of rows that obey links, in at most k connected parts unless they are given."""
    A, made = Affinity.of(X, kind, gamma, n_neighbors)
    A = without_rounding(with_links(A, links))
    # The only eigenvector for k = 1 is constant, whether the graph is connected or not.
    if kind != "precomputed" and k > 1 and connected_components(A)[0] > k:
        A = joined(sparse.csr_array(A), X)
    return A, made


def _refuse_many(n: int) -> None:
    if n > MOST_RBF:
        raise ValueError(
            f'affinity="rbf" needs n x n = {n:,} x {n:,} numbers; the limit is '
            f'{MOST_RBF:,} rows: use affinity="nearest_neighbors"'
        )


def _nearest(squared: Floats, every: bool, itself: bool = True) -> Floats:
    """Squared distance of each row to its seventh neighbor, or to the last it has."""
    place = _SCALED_BY - 1
    if not every:
        return squared[:, min(place, squared.shape[1] - 1)]
    place = min(place + itself, squared.shape[1] - 1)
    return np.partition(squared, place, axis=1)[:, place]


def joined(A: sparse.csr_array, X: Matrix) -> sparse.csr_array:
    """A neighbor graph in one part: rows of each part are tied to the nearest rows outside.

    If a graph has more parts than clusters, the leading eigenvectors are indicators of parts and
    do not show which parts belong together. The ties have the affinity of a row at the bandwidth,
    exp(-1).
    """
    n = A.shape[0]
    while True:
        n_parts, part = connected_components(A, directed=False)
        if n_parts == 1:
            return A
        largest = np.bincount(part).argmax()
        ties = [_ties(X, part == p) for p in range(n_parts) if p != largest]
        i, j = np.concatenate(ties).T
        new = sparse.csr_array((np.full(len(i), np.exp(-1.0)), (i, j)), shape=(n, n))
        A = sparse.csr_array(A.maximum(new).maximum(new.T))


def _ties(X: Matrix, inside: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The closest pairs between some rows of a part and the rows outside, (at most 10, 2)."""
    own, others = np.flatnonzero(inside), np.flatnonzero(~inside)
    own = own[:: max(1, len(own) // _TRIED)]
    near, distance = pairwise_distances_argmin_min(X[own], X[others])
    closest = np.argsort(distance, kind="stable")[:_TIES]
    return np.column_stack([own[closest], others[near[closest]]]).astype(np.int64)


def _gamma(squared: NDArray) -> float:
    """1 / (2 sigma^2), sigma^2 the median of the squared distances that are not zero."""
    values = squared.ravel()
    if len(values) > 1_000_000:  # the median of a sample will do
        values = values[:: len(values) // 1_000_000]
    values = values[values > 0]
    return 1.0 / (2.0 * float(np.median(values))) if len(values) else 1.0


def _checked(A: Matrix) -> Matrix:
    """A given affinity matrix: square, symmetric, without negative entries."""
    n, columns = A.shape
    if n != columns:
        raise ValueError(f'affinity="precomputed" needs a square matrix; X has shape {A.shape}')
    values = A.data if is_sparse(A) else A
    if values.min(initial=0.0) < 0:
        raise ValueError(f"affinities must not be negative; the least is {values.min():.4g}")
    gap = abs(A - A.T).max() if n else 0.0
    if gap > 1e-6 * max(float(values.max(initial=0.0)), 1e-300):
        raise ValueError(
            f"affinities must be symmetric; two opposite entries differ by {gap:.4g}: give "
            "(A + A.T) / 2"
        )
    A = A.astype(np.float64, copy=True)
    if is_sparse(A):
        A = sparse.csr_array(A - sparse.diags(A.diagonal()))
        A.eliminate_zeros()
    else:
        np.fill_diagonal(A, 0.0)
    return A


def with_links(A: Matrix, known: Constraints) -> Matrix:
    """Affinity 1 (or the largest, if more) between must-linked rows, 0 between cannot-linked.

    A pair that is both is cannot-linked: the paper sets zeros last. Dense matrices are changed in
    place.
    """
    values = A.data if is_sparse(A) else A
    top = max(1.0, float(values.max(initial=0.0)))
    must = known.must_link.astype(np.int64)
    cannot = known.cannot_link.astype(np.int64)
    if not len(must) + len(cannot):
        return A
    i, j = np.concatenate([must, must[:, ::-1], cannot, cannot[:, ::-1]]).T
    value = np.repeat([top, 0.0], [2 * len(must), 2 * len(cannot)])
    if isinstance(A, np.ndarray):
        A[i, j] = value
        return A
    n = A.shape[0]
    # Entry by entry assignment into CSR is slow: rub the linked entries out, then add them.
    touched = sparse.csr_array((np.ones(len(i)), (i, j)), shape=(n, n))
    touched.data[:] = 1.0
    added = np.arange(len(i)) < 2 * len(must)
    key = i * n + j
    added &= ~np.isin(key, key[2 * len(must) :])
    links = sparse.csr_array((value[added], (i[added], j[added])), shape=(n, n))
    return (A - A.multiply(touched) + links).tocsr()
