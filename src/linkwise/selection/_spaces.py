"""Spaces that rows are clustered in: as given, scaled, learned from links, linked spectral."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackNoConvergence, eigsh
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted, validate_data

from linkwise._types import Floats, is_sparse
from linkwise.constraints import Constraints
from linkwise.geometry import ITML, RCA, one_hot_groups

_MAIN = 100  # directions: Ward and neighbors cost as much per dimension
_LEARNED = 30  # directions of ITML: a full metric of d columns has d (d + 1) / 2 numbers
_SWEEPS = 30  # of ITML: the clusters hardly change afterwards
_NEIGHBORS, _SCALE = 10, 7  # of each row in the graph; the neighbor that its scale is taken from
_LEAST_SCALE = 0.3  # of the median scale: duplicates have the scale 0
MOST_SPECTRAL = 150  # eigenvectors: their cost rises with the square of their number
_DENSE = 400  # rows below which all eigenvectors by LAPACK are faster than some by ARPACK


class MainDirections(TransformerMixin, BaseEstimator):
    """Rows as coordinates: columns scaled or not, at most 100 directions of largest variance.

    The indicators of one category (neighboring columns of two values, of which each row has one)
    are scaled by one factor, to a variance of one in total: otherwise a category would count as
    often as it has values, and rare values most. Sparse rows (words) are reduced by latent semantic
    analysis and compared by their directions.
    """

    def __init__(self, scale: bool = True, random_state: int = 0):
        self.scale = scale
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object = None) -> MainDirections:
        """Find means, scales and directions; y is ignored."""
        rows = validate_data(self, X, accept_sparse="csr", dtype=(np.float64, np.float32))
        n_most = min(_MAIN, min(rows.shape) - 1)
        if is_sparse(rows):
            n_most = max(1, n_most)
            self.directions_: Any = TruncatedSVD(n_most, random_state=self.random_state).fit(rows)
            return self
        self.mean_ = rows.mean(axis=0, dtype=np.float64)
        self.scale_ = _scales(rows) if self.scale else np.ones(rows.shape[1])
        self.directions_ = None
        if rows.shape[1] > _MAIN and n_most:
            centered = (rows - self.mean_) / self.scale_
            self.directions_ = PCA(n_most, random_state=self.random_state).fit(centered)
        return self

    def transform(self, X: ArrayLike) -> Floats:
        """Coordinates of rows."""
        check_is_fitted(self)
        rows = validate_data(
            self, X, accept_sparse="csr", dtype=(np.float64, np.float32), reset=False
        )
        if not hasattr(self, "mean_"):
            return np.asarray(normalize(self.directions_.transform(rows)), dtype=np.float64)
        rows = (rows - self.mean_) / self.scale_
        return rows if self.directions_ is None else np.asarray(self.directions_.transform(rows))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _scales(rows: NDArray) -> Floats:
    variance = rows.var(axis=0, dtype=np.float64)
    variance[np.ptp(rows, axis=0) == 0] = 0.0  # else rounding error
    for start, stop in one_hot_groups(rows):
        variance[start:stop] = variance[start:stop].sum()
    return np.sqrt(np.where(variance > 0, variance, 1.0))


def learned_metric(name: str, Z: Floats, known: Constraints, seed: int) -> Any:
    """A transformer of coordinates fitted to links; None if there are too few of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if name == "RCA":
            return RCA().fit(Z, constraints=known) if known.n_must_link > 1 else None
        if not (known.n_must_link and known.n_cannot_link):
            return None
        metric = ITML(max_iter=_SWEEPS, random_state=seed)
        if Z.shape[1] <= _LEARNED:
            return metric.fit(Z, constraints=known)
        directions = PCA(_LEARNED, random_state=seed).fit(Z)
        metric.fit(directions.transform(Z), constraints=known)
        return _Chained(directions, metric)


class _Chained(TransformerMixin, BaseEstimator):
    """Two fitted transformers, one after the other."""

    def __init__(self, first: Any, second: Any):
        self.first = first
        self.second = second

    def fit(self, X: ArrayLike, y: object = None) -> _Chained:
        """Do nothing: both are fitted."""
        return self

    def transform(self, X: ArrayLike) -> Floats:
        """Transform by both."""
        return np.asarray(self.second.transform(self.first.transform(X)))

    def __sklearn_is_fitted__(self) -> bool:
        return True


def neighbor_graph(Z: Floats) -> sparse.csr_matrix:
    """Symmetric graph of nearest neighbors; weights with local scales (Zelnik-Manor 2004)."""
    n_rows = len(Z)
    n_near = min(_NEIGHBORS, n_rows - 1)
    distance, near = NearestNeighbors(n_neighbors=n_near + 1).fit(Z).kneighbors(Z)
    distance, near = distance[:, 1:], near[:, 1:]
    scale = distance[:, min(_SCALE, n_near) - 1]
    scale = np.maximum(scale, _LEAST_SCALE * np.median(scale) + 1e-12)
    weight = np.exp(-(distance**2) / (scale[:, None] * scale[near]))
    starts = np.arange(0, n_rows * n_near + 1, n_near)
    graph = sparse.csr_matrix((weight.ravel(), near.ravel(), starts), shape=(n_rows, n_rows))
    return graph.maximum(graph.T)


def spectral_embedding(
    graph: sparse.csr_matrix, known: Constraints | None, n_vectors: int
) -> Floats:
    """First eigenvectors of the normalized graph with links written in (Kamvar et al. 2003)."""
    n_rows = graph.shape[0]
    if known is not None and known.n_must_link + known.n_cannot_link:
        ends = np.concatenate([known.must_link, known.cannot_link]).astype(np.int64)
        value = np.repeat([1.0, 0.0], [known.n_must_link, known.n_cannot_link])
        edges = graph.tolil()
        edges[ends[:, 0], ends[:, 1]] = value
        edges[ends[:, 1], ends[:, 0]] = value
        graph = edges.tocsr()
        graph.eliminate_zeros()
    root = 1 / np.sqrt(np.maximum(np.asarray(graph.sum(axis=1)).ravel(), 1e-9))
    laplacian = sparse.diags(root) @ graph @ sparse.diags(root)
    if n_rows <= _DENSE:
        found = eigh(laplacian.toarray(), subset_by_index=(n_rows - n_vectors, n_rows - 1))[1]
        return np.asarray(found[:, ::-1])
    try:
        found = eigsh(laplacian, n_vectors, which="LA", v0=np.ones(n_rows), tol=1e-3)[1]
    except ArpackNoConvergence as error:  # the converged eigenvectors
        found = error.eigenvectors
    return np.asarray(found[:, ::-1])


def spectral_rows(vectors: Floats, k: int) -> Floats:
    """First k eigenvectors, rows scaled to length 1 (Ng, Jordan and Weiss 2001)."""
    return np.asarray(normalize(vectors[:, :k]))
