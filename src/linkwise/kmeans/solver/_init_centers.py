"""Initial centers: from neighborhoods, contracted rows, k-means++, random rows or labeled rows.

Everything random is drawn from `RowStore.sample`: all rows, or a random sample of very many.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.metrics.pairwise import euclidean_distances
from threadpoolctl import ThreadpoolController

from linkwise._types import Floats, Ints, RandomState, is_sparse
from linkwise.constraints import adjacency
from linkwise.kmeans.rows._local_rows import LocalRows
from linkwise.kmeans.rows._protocols import RowStore, dense_blocks

from ._problem import Problem

_MEANS = 20_000_000  # most numbers in the means of components
_FEW = 100_000  # numbers in means up to which one thread is faster
_ROUGH = 30  # iterations of k-means on the means of neighborhoods
_SOME = 2000  # rows by which starts are compared


def from_neighborhoods(problem: Problem, rng: RandomState) -> Floats:
    """Centroids of must-link components that are large and far apart (Basu et al. 3.3.5).

    Weighted farthest-first: the largest component first, then always the one with the largest
    distance to the nearest chosen one, times the root of its size. Missing centers are drawn as in
    k-means++.
    """
    _, means = chosen_neighborhoods(problem)
    return fill_up(problem.rows, means, problem.k, rng)


def chosen_neighborhoods(problem: Problem) -> tuple[list[int], Floats]:
    """Components to start from, at most k, and their means: see `from_neighborhoods`."""
    closure = problem.closure
    sizes = closure.sizes
    large, means = neighborhoods(problem)
    if not len(large):
        return [], means
    graph = adjacency(closure.cannot_link, closure.n_components)
    chosen = [int(large[sizes[large].argmax()])]
    nearest = _squared(means, means[np.searchsorted(large, chosen[0])])
    apart = np.zeros(len(large))  # number of chosen components that each is cannot-linked to
    while len(chosen) < min(problem.k, len(large)):
        apart += graph[[chosen[-1]]].toarray()[0, large]
        # A component that is cannot-linked to all chosen ones counts double: it is another class.
        score = np.sqrt(nearest * sizes[large]) * (1 + apart / len(chosen))
        score[np.isin(large, chosen)] = -1.0
        chosen.append(int(large[score.argmax()]))
        nearest = np.minimum(nearest, _squared(means, means[np.searchsorted(large, chosen[-1])]))
    return chosen, means[np.searchsorted(large, chosen)]


def neighborhoods(problem: Problem, cells: int = _MEANS) -> tuple[Ints, Floats]:
    """Must-link components of at least two rows, and their means; only the largest, if many."""
    closure = problem.closure
    sizes = closure.sizes
    large = np.flatnonzero(sizes > 1)
    # Means of wide sparse rows are dense: limit the number of components.
    most = max(cells // problem.rows.d, 4 * problem.k)
    if len(large) > most:
        large = np.sort(large[np.argsort(-sizes[large], kind="stable")[:most]])
    if not len(large):
        return large, np.zeros((0, problem.rows.d))
    place = np.searchsorted(large, closure.component).clip(max=len(large) - 1)
    inside = large[place] == closure.component
    means, _ = component_means(problem.rows, closure.nodes[inside], place[inside])
    return large, means


def from_clustered_neighborhoods(problem: Problem, rng: RandomState) -> Floats | None:
    """Centers of k-means on the means of neighborhoods, weighted by size; None if fewer than k.

    The mean of must-linked rows averages out the variation of single rows, so that clusters of
    such means are closer to classes than clusters of rows. Each draw gives another start.
    """
    large, means = neighborhoods(problem, _MEANS // 10)
    if len(large) < problem.k or len(np.unique(means, axis=0)) < problem.k:
        return None
    return _rough_kmeans(means, problem.closure.sizes[large].astype(np.float64), problem.k, rng)


def from_contracted_rows(problem: Problem, rng: RandomState) -> Floats:
    """Centers of k-means on all rows, every must-link component contracted to its mean.

    Unlike `from_clustered_neighborhoods` it covers what no link speaks about.
    """
    large, means = neighborhoods(problem)
    closure = problem.closure
    inside = closure.nodes[np.isin(closure.component, large)]
    some = problem.rows.sample(problem.k, rng, inside)
    if some.is_sparse or some.n * some.d > _MEANS or len(large) + some.n < problem.k:
        return from_kmeans_plusplus(problem.rows, problem.k, rng)
    n_free = problem.rows.n - len(inside)
    weight = some.weight if some.weighted else np.ones(some.n)
    weight = np.concatenate([closure.sizes[large], weight * (n_free / max(some.n, 1))])
    points = np.concatenate([means, some.take(np.arange(some.n))])
    if len(np.unique(points[weight > 0], axis=0)) < problem.k:
        return from_kmeans_plusplus(problem.rows, problem.k, rng)
    return _rough_kmeans(points, weight, problem.k, rng)


def _rough_kmeans(points: Floats, weight: Floats, k: int, rng: RandomState) -> Floats:
    """Centers of a few iterations of scikit-learn's k-means."""
    found = KMeans(k, n_init=1, max_iter=_ROUGH, random_state=rng)
    # A second thread does not pay for few means, and waits long if its core is busy.
    with _thread_limits().limit(limits=1 if points.size < _FEW else None, user_api="openmp"):
        found.fit(points, sample_weight=weight)
    return np.asarray(found.cluster_centers_)


@cache
def _thread_limits() -> ThreadpoolController:
    """Limits scikit-learn's threads; creating it takes some milliseconds."""
    return ThreadpoolController()


def uncovered(rows: RowStore, centers: Floats, others: Floats) -> bool:
    """Whether rows are farther from `centers` than from `others`, judged by a sample."""
    sample = rows.sample(len(centers), np.random.RandomState(0))
    size = max(min(_SOME, _MEANS // 10 // rows.d), len(centers))
    some = sample.take(np.arange(0, sample.n, max(1, sample.n // size)))
    far, near = (euclidean_distances(some, c, squared=True).min(axis=1) for c in (centers, others))
    return bool(far.sum() > near.sum())


def component_means(rows: RowStore, nodes: Ints, component: Ints) -> tuple[Floats, Ints]:
    """Mean of the rows of each component (relative to `rows.shift`), and its size."""
    sizes = np.bincount(component)
    means = np.zeros((len(sizes), rows.d))
    for part in dense_blocks(np.arange(len(nodes)), rows.d):
        np.add.at(means, component[part], rows.take(nodes[part]))
    return means / np.maximum(sizes, 1)[:, None], sizes


def _squared(points: Floats, point: Floats) -> Floats:
    return ((points - point) ** 2).sum(axis=1)


def fill_up(rows: RowStore, centers: Floats, k: int, rng: RandomState) -> Floats:
    """Add centers until there are k: rows drawn by their squared distance to the nearest one."""
    if not len(centers):
        return from_kmeans_plusplus(rows, k, rng)
    if len(centers) == k:
        return centers
    sample = rows.sample(k, rng)
    nearest = np.full(sample.n, np.inf)
    for center in centers:
        nearest = np.minimum(nearest, distances_to(sample, center))
    found = list(centers)
    while len(found) < k:
        row = _draw(nearest, sample, rng)
        found.append(sample.take(np.array([row]))[0])
        nearest = np.minimum(nearest, distances_to(sample, found[-1]))
    return np.array(found)


def _draw(nearest: Floats, rows: LocalRows, rng: RandomState) -> int:
    """The best of four rows drawn by squared distance, as in greedy k-means++."""
    chance = nearest * rows.weight if rows.weight.size else nearest
    total = chance.sum()
    if not total > 0:
        return int(rng.randint(rows.n))  # all rows equal a center
    ticks = np.cumsum(chance)
    tries = np.searchsorted(ticks, rng.random_sample(4) * ticks[-1]).clip(max=rows.n - 1)
    left = [np.minimum(nearest, distances_to(rows, point)).sum() for point in rows.take(tries)]
    return int(tries[int(np.argmin(left))])


def distances_to(rows: LocalRows, point: Floats) -> Floats:
    """Squared Euclidean distance of every row to a point (relative to `rows.shift`)."""
    if is_sparse(rows.X):
        found = rows.lengths() - 2 * np.asarray(rows.X @ point).ravel() + point @ point
        return np.maximum(found, 0.0)
    blocks = dense_blocks(np.arange(rows.n), rows.d)
    return np.concatenate([((rows.take(part) - point) ** 2).sum(axis=1) for part in blocks])


def from_kmeans_plusplus(
    rows: RowStore, k: int, rng: RandomState, without: Ints | None = None
) -> Floats:
    """scikit-learn's greedy k-means++, among rows that are not left out.

    Dense rows are shifted to the mean first: |x|^2 - 2 x.y + |y|^2 loses all digits of a distance
    that is small beside |x|, as it is far from the origin.
    """
    some = rows.sample(k, rng, without)
    weight = some.weight if some.weight.any() else None
    X = some.X if is_sparse(some.X) or not some.shift.any() else _shifted(some)
    centers, _ = kmeans_plusplus(X, k, sample_weight=weight, random_state=rng)
    return np.asarray(centers.toarray() if is_sparse(centers) else centers, dtype=np.float64)


def from_random_rows(rows: RowStore, k: int, rng: RandomState) -> Floats:
    """Distinct rows drawn at random, by their weights: scikit-learn's ``init="random"``."""
    some = rows.sample(k, rng)
    chance = some.weight / some.weight.sum() if some.weight.any() else None
    return some.take(rng.choice(some.n, size=k, replace=False, p=chance))


def _shifted(rows: LocalRows) -> Floats:
    return (rows.X - rows.shift.astype(rows.dtype)).astype(rows.dtype)


def from_seeds(problem: Problem, rng: RandomState) -> Floats:
    """Means of the labeled rows of each cluster; clusters without any are filled up."""
    seeds = problem.seeds
    assert seeds is not None
    nodes = np.flatnonzero(seeds >= 0)
    present = np.unique(seeds[nodes])
    place = np.searchsorted(present, seeds[nodes])
    means, _ = component_means(problem.rows, nodes, place)
    drawn = fill_up(problem.rows, means, problem.k, rng)
    centers = np.empty((problem.k, problem.rows.d))
    absent = np.setdiff1d(np.arange(problem.k), present)
    centers[present] = means
    centers[absent] = drawn[len(present) :]
    return centers
