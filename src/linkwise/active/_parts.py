"""Parts of the data: an over-clustering, and a metric learnt from the clusters so far."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse.linalg import eigsh
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.neighbors import NearestNeighbors

from linkwise._types import Floats, Ints, Matrix, is_sparse

_FLAT = 4e9  # multiplications of one k-means step; two levels are quicker, but coarser
# Steps of k-means into very many parts; ten take twice the time for purer parts by .001 to .004
# (letter, pendigits, MNIST, blobs; magic04 the same).
_FEW_STEPS = 5
ALL_ROWS = 2_000  # up to so many rows, each is a part of its own
_MOST_FOR_WARD, _ONE_GROUP, _WARD_GROUP = 20_000, 5_000, 2_500  # rows
MOST_FEATURES = 100
_GRAPH_NEIGHBORS, _SCALE_NEIGHBOR, _STEPS = 20, 7, 8
_WALK_NEIGHBORS = 10
_SHRINKAGE = 4.0  # weight of the spherical prior, in rows per feature
_ANSWERED = 2.0  # rows that answers put together count so much more than assumed ones


def main_directions(X: Matrix, seed: int) -> Floats:
    """Rows with at most 100 features: more are reduced to their main directions.

    Distances in many features hardly differ.
    """
    if X.shape[1] <= MOST_FEATURES:
        return X.toarray() if is_sparse(X) else np.asarray(X, dtype=np.float64)
    if not is_sparse(X):
        X = X - X.mean(axis=0)
    n_components = max(min(MOST_FEATURES, X.shape[0] - 1), 1)
    return TruncatedSVD(n_components, random_state=seed).fit_transform(X)


def has_map(n_rows: int, n_features: int) -> bool:
    """Whether clusters are sought in a map of the graph of nearest neighbors.

    With many features and 2,001 to 20,000 rows it is better on texts and images (CLINC150, Ward's
    linkage at the true number of clusters: ARI .57 against .54, at twice the number .59 against
    .54), but not where features are few.
    """
    return n_features > MOST_FEATURES and ALL_ROWS < n_rows <= _MOST_FOR_WARD


def neighbor_walk(X: Floats, n_neighbors: int) -> tuple[sparse.csr_array, Floats]:
    """Normalized affinities D^-1/2 W D^-1/2 of rows and their nearest ones, and D^1/2.

    Affinities have a local scale (Zelnik-Manor and Perona 2004).
    """
    n = len(X)
    n_neighbors = min(n_neighbors, n - 1)
    distance, near = NearestNeighbors(n_neighbors=n_neighbors + 1).fit(X).kneighbors(X)
    distance, near = distance[:, 1:], near[:, 1:]
    scale = distance[:, min(_SCALE_NEIGHBOR, n_neighbors) - 1]
    scale = np.maximum(scale, 1e-9 * (distance.max() or 1.0))
    affinity = np.exp(-(distance**2) / (scale[:, None] * scale[near]))
    rows = np.repeat(np.arange(n), n_neighbors)
    graph = sparse.csr_array((affinity.ravel(), (rows, near.ravel())), shape=(n, n))
    graph = graph.maximum(graph.T)
    root = np.sqrt(np.maximum(np.asarray(graph.sum(axis=1)).ravel(), 1e-12))
    by_root = sparse.diags_array(1.0 / root)
    return (by_root @ graph @ by_root).tocsr(), root


def diffusion_map(X: Floats) -> Floats:
    """Rows where random walks on the graph of their neighbors go (Coifman and Lafon 2006).

    Leading eigenvectors of the walk count by their eigenvalue to the power of `_STEPS`; rows have
    length 1.
    """
    walk, root = neighbor_walk(X, _GRAPH_NEIGHBORS)
    values, vectors = eigsh(walk, MOST_FEATURES, which="LA", v0=np.ones(len(X)))
    where = vectors * np.maximum(values, 0.0) ** _STEPS / root[:, None]
    return where / np.maximum(np.linalg.norm(where, axis=1), 1e-12)[:, None]


@dataclass(frozen=True, eq=False)
class Parts:
    """An over-clustering.

    Attributes
    ----------
    of_row : ndarray of shape (n_rows,)
        The part of each row.
    row : ndarray of shape (n_parts,)
        The row that speaks for each part: one with answers, or the one nearest to the mean.
    center : ndarray of shape (n_parts, n_features)
    weight : ndarray of shape (n_parts,)
        Rows per part.
    """

    of_row: Ints
    row: Ints
    center: Floats
    weight: Floats

    @property
    def n_parts(self) -> int:
        """Number of parts."""
        return len(self.row)

    def rows_of(self, part: int) -> Ints:
        """Rows of a part, in ascending order."""
        order, start = self._sorted
        return order[start[part] : start[part + 1]]

    @cached_property
    def walk(self) -> sparse.csr_array:
        """Affinities of neighboring parts; see `neighbor_walk`."""
        return neighbor_walk(self.center, _WALK_NEIGHBORS)[0]

    @cached_property
    def _sorted(self) -> tuple[Ints, Ints]:
        order = np.argsort(self.of_row, kind="stable")
        return order, np.searchsorted(self.of_row[order], np.arange(self.n_parts + 1))


def make_parts(X: Floats, of_row: Ints) -> Parts:
    """Parts of an over-clustering."""
    m = int(of_row.max()) + 1
    if m == len(X):
        own = np.arange(m)
        return Parts(own, own, X, np.ones(m))
    weight = np.bincount(of_row, minlength=m).astype(np.float64)
    center = np.column_stack([np.bincount(of_row, x, minlength=m) for x in X.T]) / weight[:, None]
    distance = ((X - center[of_row]) ** 2).sum(axis=1)
    order = np.lexsort((distance, of_row))
    return Parts(of_row, order[np.searchsorted(of_row[order], np.arange(m))], center, weight)


def split_parts(X: Floats, parts: Parts, told: Sequence[Iterable[int]]) -> Parts:
    """Split parts, so that rows of different components in `told` never share one.

    Each row of such a part goes to the nearest of its rows in `told`. A part with rows in `told`
    has one of them speak for it. The other parts stay as they are: with many rows, making all of
    them anew after every few answers would take much longer.
    """
    component = {row: number for number, rows in enumerate(told) for row in rows}
    within: dict[int, list[int]] = {}
    for row in component:
        within.setdefault(int(parts.of_row[row]), []).append(row)
    of_row, row_of = parts.of_row.copy(), parts.row.copy()
    center, weight = parts.center.copy(), parts.weight.copy()
    new: list[tuple[int, Floats, float]] = []
    for part, known in within.items():
        rows = parts.rows_of(part)
        numbers = np.array([component[row] for row in known])
        owner = numbers[cdist(X[rows], X[known], "sqeuclidean").argmin(axis=1)]
        owner[np.searchsorted(rows, known)] = numbers  # also among repeated rows
        for piece, number in enumerate(np.unique(numbers).tolist()):
            mine = rows[owner == number]
            mean = X[mine].mean(axis=0)
            own = np.array([row for row in known if component[row] == number])
            first = int(own[((X[own] - mean) ** 2).sum(axis=1).argmin()])
            if piece == 0:
                row_of[part], center[part], weight[part] = first, mean, len(mine)
            else:
                of_row[mine] = len(row_of) + len(new)
                new.append((first, mean, float(len(mine))))
    if not new:
        return Parts(of_row, row_of, center, weight)
    first_rows, means, sizes = zip(*new, strict=True)
    return Parts(
        of_row,
        np.append(row_of, first_rows),
        np.vstack([center, np.array(means)]),
        np.append(weight, sizes),
    )


def over_cluster(X: Floats, n_parts: int, seed: int) -> Ints:
    """Part of each row.

    Ward's linkage, whose small clusters are purer than those of k-means (CLINC150 in 1,500 parts:
    94 % against 88 %); of more than 5,000 rows in groups of some 2,500, cut at one height (groups
    of 5,000 take three times as long and are purer by .006 at most: letter, pendigits, magic04,
    MNIST). Large data, whose parts have dozens of rows, are divided by k-means.
    """
    if n_parts >= len(X):
        return np.arange(len(X))
    if len(X) > _MOST_FOR_WARD:
        return _two_levels(X, n_parts, seed)
    n_groups = 1 if len(X) <= _ONE_GROUP else -(-len(X) // _WARD_GROUP)
    group = _kmeans(X, n_groups, seed) if n_groups > 1 else np.zeros(len(X), dtype=np.int64)
    rows = [np.flatnonzero(group == g) for g in range(int(group.max()) + 1)]
    trees = [linkage(X[mine], "ward") if len(mine) > 1 else np.zeros((0, 4)) for mine in rows]
    heights = np.sort(np.concatenate([tree[:, 2] for tree in trees]))
    cut = heights[max(0, len(X) - n_parts - 1)]
    of_row, start = np.empty(len(X), dtype=np.int64), 0
    for mine, tree in zip(rows, trees, strict=True):
        of_row[mine] = start + (fcluster(tree, cut, "distance") - 1 if len(tree) else 0)
        start = int(of_row[mine].max()) + 1
    return of_row


def _two_levels(X: Floats, n_parts: int, seed: int) -> Ints:
    """k-means; for very large data into sqrt(n_parts) clusters, then within each by its size."""
    if X.size * n_parts <= _FLAT:
        return _kmeans(X, n_parts, seed, max_iter=_FEW_STEPS)
    n_top = max(2, round(np.sqrt(n_parts)))
    top = _kmeans(X, n_top, seed)
    of_row = np.empty(len(X), dtype=np.int64)
    start = 0
    for c in range(int(top.max()) + 1):
        rows = np.flatnonzero(top == c)
        k = min(len(rows), max(1, round(n_parts * len(rows) / len(X))))
        inner = _kmeans(X[rows], k, seed) if k > 1 else np.zeros(len(rows), dtype=np.int64)
        of_row[rows] = start + inner
        start += int(inner.max()) + 1
    return of_row


def _kmeans(X: Floats, k: int, seed: int, max_iter: int = 10) -> Ints:
    """k-means from random rows; in float32, which takes half the time for the same purity."""
    rows = X - X.mean(axis=0)
    rows /= np.abs(rows).max() or 1.0  # in the range of float32
    model = KMeans(k, init="random", n_init=1, max_iter=max_iter, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # repeated rows make fewer clusters: that is fine here
        labels = model.fit_predict(rows.astype(np.float32))
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def learn_metric(parts: Parts, clusters: Ints, told: Sequence[Iterable[int]]) -> Floats:
    """Centers of the parts, whitened by the shrunk scatter within the clusters.

    The scatter of the clusters so far, of which rows that answers put together count more, is
    shrunk toward a sphere (an inverse-Wishart prior), and its inverse root applied, as in relevant
    component analysis.
    """
    X = parts.center
    d = X.shape[1]
    total = np.cov(X.T, bias=True, aweights=parts.weight).reshape(d, d)
    scatter, freedom = _scatter(X, clusters, parts.weight)
    known = [(int(parts.of_row[row]), c) for c, rows in enumerate(told) for row in rows]
    if known:
        index, component = np.array(known).T
        more, freedom_more = _scatter(X[index], component, np.ones(len(index)))
        scatter, freedom = scatter + _ANSWERED * more, freedom + _ANSWERED * freedom_more
    variance = np.trace(total) / d
    if freedom <= 0 or variance <= 0:
        return X
    within = scatter / freedom
    share = min(1.0, np.trace(within) / np.trace(total))
    prior = _SHRINKAGE * d
    shrunk = (freedom * within + prior * share * variance * np.eye(d)) / (freedom + prior)
    values, vectors = np.linalg.eigh(shrunk)
    values = np.maximum(values, 1e-6 * values.max()) if values.max() > 0 else np.ones(d)
    return X @ ((vectors * np.sqrt(share / values)) @ vectors.T)


def _scatter(X: Floats, labels: Ints, weight: Floats) -> tuple[Floats, float]:
    labels = np.unique(labels, return_inverse=True)[1]
    mass = np.bincount(labels, weight)
    mean = np.column_stack([np.bincount(labels, weight * x) for x in X.T]) / mass[:, None]
    rest = (X - mean[labels]) * np.sqrt(weight)[:, None]
    return rest.T @ rest, float(max(weight.sum() - len(mass), 0.0))
