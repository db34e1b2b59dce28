"""How alike rows are: Gaussian affinities, dense or among nearest neighbors, and links in them.

Entry points: `Affinity.of` for the rows of a fit, `Affinity.to` for new rows, `with_links`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import NearestNeighbors

from linkwise.constraints import Constraints

MOST_RBF = 30_000  # rows; beyond, n x n numbers do not fit


@dataclass(frozen=True, eq=False)
class Affinity:
    """An affinity with its parameters settled.

    Attributes
    ----------
    kind : {"rbf", "nearest_neighbors", "precomputed"}
    gamma : float
        Affinities are ``exp(-gamma * squared distance)``.
    n_neighbors : int
    index : NearestNeighbors or None
        Finds neighbors among the rows of the fit.
    X : array or None
        The rows of the fit, where new rows are compared with all of them.
    """

    kind: str
    gamma: float
    n_neighbors: int
    index: Any = None
    X: Any = None

    @classmethod
    def of(cls, X: Any, kind: str, gamma: float | None, n_neighbors: int) -> tuple[Any, Affinity]:
        """The affinities of the rows among each other (dense or CSR), and how they were made."""
        n = X.shape[0]
        if kind == "precomputed":
            return _checked(X), cls(kind, 1.0, 0)
        n_neighbors = max(1, min(n_neighbors, n - 1))
        if kind == "rbf":
            if n > MOST_RBF:
                raise ValueError(
                    f'affinity="rbf" needs n x n = {n:,} x {n:,} numbers; the limit is '
                    f'{MOST_RBF:,} rows: use affinity="nearest_neighbors"'
                )
            A = euclidean_distances(X, squared=True).astype(np.float64, copy=False)
            gamma = _gamma(A) if gamma is None else gamma
            A *= -gamma
            np.exp(A, out=A)
            np.fill_diagonal(A, 0.0)
            return A, cls(kind, gamma, n_neighbors, X=X)
        index = NearestNeighbors(n_neighbors=n_neighbors).fit(X)
        graph = index.kneighbors_graph(mode="distance").astype(np.float64)
        graph.data **= 2
        gamma = _gamma(graph.data) if gamma is None else gamma
        graph.data = np.exp(-gamma * graph.data)
        # Of two rows it is enough that one is near the other.
        return graph.maximum(graph.T).tocsr(), cls(kind, gamma, n_neighbors, index)

    def to(self, X: Any) -> tuple[Any, NDArray[np.int64] | None]:
        """Affinities of new rows to those of the fit, and which of those is the nearest."""
        if self.kind == "precomputed":
            return X, None
        if self.kind == "rbf":
            squared = euclidean_distances(X, self.X, squared=True).astype(np.float64, copy=False)
            return np.exp(-self.gamma * squared), squared.argmin(axis=1)
        distance, near = self.index.kneighbors(X)
        n, width = near.shape
        values = np.exp(-self.gamma * distance.astype(np.float64) ** 2).ravel()
        starts = np.arange(0, n * width + 1, width)
        shape = (n, self.index.n_samples_fit_)
        return sparse.csr_array((values, near.ravel(), starts), shape=shape), near[:, 0]


def _gamma(squared: NDArray) -> float:
    """1 / (2 sigma^2), sigma^2 the median of the squared distances that are not zero."""
    values = squared.ravel()
    if len(values) > 1_000_000:  # the median of a sample will do
        values = values[:: len(values) // 1_000_000]
    values = values[values > 0]
    return 1.0 / (2.0 * float(np.median(values))) if len(values) else 1.0


def _checked(A: Any) -> Any:
    """A given affinity matrix: square, symmetric, without negative entries."""
    n, columns = A.shape
    if n != columns:
        raise ValueError(f'affinity="precomputed" needs a square matrix; X has shape {A.shape}')
    values = A.data if sparse.issparse(A) else A
    if values.min(initial=0.0) < 0:
        raise ValueError(f"affinities must not be negative; the least is {values.min():.4g}")
    gap = abs(A - A.T).max() if n else 0.0
    if gap > 1e-6 * max(float(values.max(initial=0.0)), 1e-300):
        raise ValueError(
            f"affinities must be symmetric; two opposite entries differ by {gap:.4g}: give "
            "(A + A.T) / 2"
        )
    A = A.astype(np.float64, copy=True)
    if sparse.issparse(A):
        A = sparse.csr_array(A - sparse.diags(A.diagonal()))
        A.eliminate_zeros()
    else:
        np.fill_diagonal(A, 0.0)
    return A


def with_links(A: Any, known: Constraints) -> Any:
    """Affinity 1 (or the largest, if more) between must-linked rows, 0 between cannot-linked.

    A pair that is both is cannot-linked: the paper sets zeros last. Dense matrices are changed in
    place.
    """
    values = A.data if sparse.issparse(A) else A
    top = max(1.0, float(values.max(initial=0.0)))
    must = known.must_link.astype(np.int64)
    cannot = known.cannot_link.astype(np.int64)
    if not len(must) + len(cannot):
        return A
    i, j = np.concatenate([must, must[:, ::-1], cannot, cannot[:, ::-1]]).T
    value = np.repeat([top, 0.0], [2 * len(must), 2 * len(cannot)])
    if not sparse.issparse(A):
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
