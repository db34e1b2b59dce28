"""Initial centers: from neighborhoods, contracted rows, k-means++, random rows or labeled rows.

A `Start` gives the centers of each run; `chosen_start` makes one from the parameter `init`.
Everything random is drawn from `RowStore.sample`: all rows, or a random sample of very many.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from linkwise import _core
from linkwise._types import Floats, Init, Ints, RandomState, is_sparse
from linkwise.constraints import adjacency
from linkwise.geometry import Mahalanobis, Moments
from linkwise.kmeans.rows._local_rows import LocalRows
from linkwise.kmeans.rows._protocols import DENSE_CELLS, JUDGED_ROWS, RowStore, dense_blocks

from ._problem import Problem

Start = Callable[[RandomState, int], Floats]  # centers of a run, by its number

_MEANS = 20_000_000  # numbers in the means of components: 160 MB
ROUGH = 30  # iterations of a clustering that is only a start or a sample; most end before
SOFT_RUNS = 5  # half of scikit-learn's former n_init: starts from components vary less


def chosen_start(init: Init, problem: Problem, auto: Start) -> Start:
    """The start of the parameter `init`; `auto` if it is "auto"."""
    if isinstance(init, str):
        return auto if init == "auto" else named_start(init, problem)
    return partial(_from_given, init, problem)


def named_start(name: str, problem: Problem) -> Start:
    """A start by its name; labeled rows replace neighborhoods."""
    rows, k = problem.rows, problem.k
    if name == "k-means++":
        return lambda rng, run: from_kmeans_plusplus(rows, k, rng)
    if name == "random":
        return lambda rng, run: from_random_rows(rows, k, rng)
    if problem.has_seeds:
        return lambda rng, run: from_seeds(problem, rng)
    return lambda rng, run: from_neighborhoods(problem, rng)


def _from_given(init: Init, problem: Problem, rng: RandomState, run: int) -> Floats:
    """Centers as a user gives them, as an array or by a function."""
    rows = problem.rows
    if callable(init):
        # Remote rows cannot be passed on: the callable gets a sample of them.
        X = rows.X if isinstance(rows, LocalRows) else rows.sample(problem.k, rng).X
        init = init(X, problem.k, rng)
    centers = np.asarray(init, dtype=float)
    # scikit-learn's messages.
    shape = f"The shape of the initial centers {centers.shape} does not match the number of"
    if centers.ndim != 2 or len(centers) != problem.k:
        raise ValueError(f"{shape} clusters {problem.k}.")
    if centers.shape[1] != rows.d:
        raise ValueError(f"{shape} features of the data {rows.d}.")
    if not np.isfinite(centers).all():
        raise ValueError("init has NaN or infinite values; centers must be finite numbers")
    return centers - rows.shift


def soft_start(problem: Problem) -> Start:
    """init="auto" of soft methods: clusters of neighborhoods and of contracted rows in turn."""
    if problem.has_seeds:
        return named_start("neighborhoods", problem)

    def start(rng: RandomState, run: int) -> Floats:
        if run % 2:
            return from_contracted_rows(problem, rng)
        found = from_clustered_neighborhoods(problem, rng)
        if found is None and run == 0:
            return from_neighborhoods(problem, rng)
        drawn = from_kmeans_plusplus(problem.rows, problem.k, rng)
        # Drawn centers are rows, about twice as far (squared) from other rows as means are: if
        # even they are nearer, the neighborhoods do not cover the data.
        return drawn if found is None or uncovered(problem.rows, found, drawn) else found

    return start


def hard_start(problem: Problem) -> Start:
    """init="auto" of COP-KMeans: contracted rows, clusters of neighborhoods, k-means++ in turn."""

    def start(rng: RandomState, run: int) -> Floats:
        if run % 3 == 2:
            return from_kmeans_plusplus(problem.rows, problem.k, rng)
        found = from_clustered_neighborhoods(problem, rng) if run % 3 else None
        return from_contracted_rows(problem, rng) if found is None else found

    return start


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
    return _rough_centers(means, problem.closure.sizes[large].astype(np.float64), problem.k, rng)


def from_contracted_rows(problem: Problem, rng: RandomState) -> Floats:
    """Centers of k-means on all rows, every must-link component contracted to its mean.

    Unlike `from_clustered_neighborhoods` it covers rows far from all links.
    """
    large, means = neighborhoods(problem)
    closure = problem.closure
    inside = closure.nodes[np.isin(closure.component, large)]
    some = problem.rows.sample(problem.k, rng, inside)
    # Words are compared by angles: Euclidean k-means on them is no good start.
    if some.is_sparse or some.n * some.d > _MEANS or len(large) + some.n < problem.k:
        return from_kmeans_plusplus(problem.rows, problem.k, rng)
    n_free = problem.rows.n - len(inside)
    weight = some.weight if some.weighted else np.ones(some.n)
    weight = np.concatenate([closure.sizes[large], weight * (n_free / max(some.n, 1))])
    points = np.concatenate([means, some.take(np.arange(some.n))])
    if len(np.unique(points[weight > 0], axis=0)) < problem.k:
        return from_kmeans_plusplus(problem.rows, problem.k, rng)
    return _rough_centers(points, weight, problem.k, rng)


def _rough_centers(points: Floats, weight: Floats, k: int, rng: RandomState) -> Floats:
    """Centers of `_rough_kmeans` in the coordinates of the points."""
    rows = LocalRows(np.ascontiguousarray(points), weight)
    try:
        return _rough_kmeans(rows, k, rng) + rows.shift
    finally:
        rows.close()


def _rough_kmeans(rows: LocalRows, k: int, rng: RandomState) -> Floats:
    """Centers of plain k-means after a few iterations, relative to the mean of the rows."""
    geometry = Mahalanobis(k, rows.total(), rows.total_weight)
    geometry.set_centers(from_kmeans_plusplus(rows, k, rng))
    found, moments = rows.new_assignments(np.zeros(0, dtype=np.int64)), Moments.zeros(k, rows.d)
    for _ in range(ROUGH):
        moved = found.assign(geometry, moments, None, False)
        for c in np.flatnonzero(moments.counts <= 0):
            row, *_ = found.farthest(geometry, found.sizes(k))
            if row >= 0:
                found.move_one(row, int(c), moments)
        geometry.move_centers(moments)
        if not moved:
            break
    return geometry.centers


def uncovered(rows: RowStore, centers: Floats, others: Floats) -> bool:
    """Whether rows are farther from `centers` than from `others`, judged by a sample."""
    sample = rows.sample(len(centers), np.random.RandomState(0))
    size = max(min(JUDGED_ROWS, DENSE_CELLS // rows.d), len(centers))
    some = sample.take(np.arange(0, sample.n, max(1, sample.n // size)))
    own = (some**2).sum(axis=1)
    far, near = ((own + _least(some, points)).clip(min=0).sum() for points in (centers, others))
    return bool(far > near)


def _least(some: Floats, points: Floats) -> Floats:
    """Squared distance of each row to the nearest point, minus the row's own square."""
    return ((points**2).sum(axis=1) - 2 * some @ points.T).min(axis=1)


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
    far, weight = _distances_to(sample), _weights(sample)
    nearest = np.full(sample.n, np.inf)
    n_tries = _number_of_tries(k)
    for start in range(0, len(centers), n_tries):
        np.minimum(nearest, far(centers[start : start + n_tries]).min(axis=0), out=nearest)
    found = list(centers)
    while len(found) < k:
        chance = nearest * weight
        if not chance.sum() > 0:  # all rows equal a center
            found.append(sample.take(np.array([rng.randint(sample.n)]))[0])
            continue
        ticks = np.cumsum(chance)
        tries = np.searchsorted(ticks, rng.random_sample(n_tries) * ticks[-1]).clip(
            max=sample.n - 1
        )
        points = sample.take(tries)
        left = np.minimum(nearest, far(points))
        best = int(left.sum(axis=1).argmin())
        found.append(points[best])
        nearest = left[best]
    return np.array(found)


def _number_of_tries(k: int) -> int:
    """Rows drawn per center, of which the best is kept: scikit-learn's number."""
    return 2 + int(np.log(k))


def _weights(rows: LocalRows) -> Floats:
    return rows.weight if rows.weight.any() else np.ones(rows.n)


def _distances_to(rows: LocalRows) -> Callable[[Floats], Floats]:
    """A function that gives squared distances of all rows to points, (m, n).

    Points are relative to `rows.shift`. Differences are squared one by one, as |x|^2 - 2 x.y +
    |y|^2 loses the digits of small distances.
    """
    X = rows.X
    own = rows.lengths() if is_sparse(X) else np.zeros(0)

    def to_sparse(points: Floats) -> Floats:
        theirs = (points**2).sum(axis=1)[:, None]
        return np.maximum(own - 2 * np.asarray(X @ points.T).T + theirs, 0.0)

    def to_dense(points: Floats) -> Floats:
        out = np.empty((len(points), rows.n))
        rows.threads.map(lambda a, b: _core.point_distances(X, rows.shift, points, a, b, out))
        return out

    return to_sparse if is_sparse(X) else to_dense


def from_kmeans_plusplus(
    rows: RowStore, k: int, rng: RandomState, without: Ints | None = None
) -> Floats:
    """Greedy k-means++ among rows that are not left out, with the draws of scikit-learn's."""
    some = rows.sample(k, rng, without)
    far, weight = _distances_to(some), _weights(some)
    n_tries = _number_of_tries(k)
    chosen = [int(rng.choice(some.n, p=weight / weight.sum()))]
    nearest = far(some.take(np.array(chosen)))[0]
    total = nearest @ weight
    while len(chosen) < k:
        ticks = np.cumsum(weight * nearest)
        tries = np.searchsorted(ticks, rng.uniform(size=n_tries) * total).clip(max=some.n - 1)
        left = np.minimum(nearest, far(some.take(tries)))
        totals = left @ weight
        best = int(totals.argmin())
        nearest, total = left[best], totals[best]
        chosen.append(int(tries[best]))
    return some.take(np.array(chosen))


def from_random_rows(rows: RowStore, k: int, rng: RandomState) -> Floats:
    """Distinct rows drawn at random, by their weights: scikit-learn's ``init="random"``."""
    some = rows.sample(k, rng)
    chance = some.weight / some.weight.sum() if some.weight.any() else None
    return some.take(rng.choice(some.n, size=k, replace=False, p=chance))


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
