"""Starts that far rows do not attract, and the number of outliers if it is to be found.

k-means++ prefers far rows, and a center on an outlier never lets it go: its cost there is 0. Starts
with outliers therefore are drawn without the rows that are almost alone around one of many
centers.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, TypeVar

import numpy as np

from linkwise._types import Floats, Ints, Labels, RandomState
from linkwise.constraints import Closure, Constraints
from linkwise.geometry import Mahalanobis
from linkwise.kmeans.rows._local_rows import LocalRows
from linkwise.kmeans.rows._protocols import RowStore

from ._assigners import ICM
from ._init_centers import from_kmeans_plusplus
from ._limited import Limited
from ._limits import Limits
from ._loop import solve
from ._penalties import NoPenalty
from ._problem import Problem

_Labels = TypeVar("_Labels", bound=Labels | Mapping[Hashable, Hashable])
_SEEDS = 40  # further centers, beside three per cluster, among which outliers show
_JUDGED = 5_000  # rows from which the number of outliers is estimated
_PILOTS = 4
_MOST_SHARE = 0.1  # of outliers that "auto" expects, at most half a cluster
_FENCE = 3.0  # interquartile ranges above the third quartile (Tukey's outer fence)


def centers_without(rows: RowStore, k: int, n_outliers: int, rng: RandomState) -> Floats:
    """k-means++ among rows that are not almost alone."""
    some = rows.sample(k, rng)
    most = int(n_outliers * some.n / rows.n)
    n_seeds = min(some.n, 3 * k + min(most, _SEEDS))
    seeds = from_kmeans_plusplus(some, n_seeds, rng)
    nearest = nearest_centers(some, seeds)
    sizes = np.bincount(nearest, minlength=n_seeds)
    order = np.argsort(sizes, kind="stable")
    dropped = order[(np.cumsum(sizes[order]) <= most) & (2 * n_seeds * sizes[order] <= some.n)]
    kept = np.flatnonzero(~np.isin(nearest, dropped))
    if len(kept) < k:
        return from_kmeans_plusplus(rows, k, rng)
    weight = some.weight[kept] if some.weight.size else None
    rest = LocalRows.in_coordinates(some.X[kept], some.shift, weight)
    try:
        return from_kmeans_plusplus(rest, k, rng)
    finally:
        rest.close()


def nearest_centers(rows: LocalRows, centers: Floats) -> Ints:
    """The nearest center of each row, by Euclidean distance."""
    geometry = Mahalanobis(len(centers), np.ones(rows.d), 1.0)
    geometry.set_centers(centers)
    return rows.distances(np.arange(rows.n), geometry).argmin(axis=1)


def judged_labels(labels: _Labels, closure: Closure, k: int) -> _Labels:
    """Labels by which constraints are judged: must-linked outliers are together, others alone.

    Parameters
    ----------
    labels : ndarray of shape (n,), or mapping from row to cluster
        -1 for outliers.
    closure : Closure
        Of the constraints, by row number.
    k : int
        Number of clusters; larger numbers stand for groups of outliers.
    """
    found: Any = dict(labels) if isinstance(labels, Mapping) else np.array(labels, dtype=np.int64)
    for row, group in zip(closure.nodes.tolist(), closure.component.tolist(), strict=True):
        if found[row] == -1:
            found[row] = k + group
    return found


def estimated_outliers(rows: RowStore, k: int) -> int:
    """The number of rows far outside of all clusters.

    Distances to the centers of k-means-- with a few per cent of outliers, relative to the median
    of their cluster; those above Tukey's outer fence are outliers. Normal rows are rarely: 1 in
    4,000 in one dimension, fewer in more.
    """
    some = rows.sample(k, np.random.RandomState(0))
    chosen = slice(None, None, max(1, some.n // _JUDGED))
    sample = LocalRows(some.X[chosen], None, centered=bool(some.shift.any()))
    try:
        if sample.n < 4 * k:
            return 0
        far = _relative_distances(sample, k)
    finally:
        sample.close()
    low, high = np.quantile(far, [0.25, 0.75])
    found = int((far > high + _FENCE * (high - low)).sum())
    # Beyond half a cluster they are more likely to be clusters of their own.
    most = max(1, int(sample.n * max(_MOST_SHARE, 0.5 / k)))
    return round(min(found, most) * rows.n / sample.n)


def _relative_distances(rows: LocalRows, k: int) -> Floats:
    """Distance of each row to its center in the best of some runs of k-means--."""
    n_out = max(1, int(rows.n * min(_MOST_SHARE, 0.5 / k)))
    limits = Limits(np.zeros(k), np.full(k, np.inf), n_outliers=n_out)
    rng, best, least = np.random.RandomState(0), None, np.inf
    problem = Problem(rows, k, Constraints())
    for _ in range(_PILOTS):
        geometry = Mahalanobis(k, rows.total(), rows.total_weight, mean=rows.uncentered_mean())
        found = solve(
            problem, geometry, NoPenalty(problem.links), Limited(ICM(problem), problem, limits),
            centers_without(rows, k, n_out, rng), max_iter=50, tol=1e-4, rng=rng,
        )  # fmt: skip
        if found.objective < least or best is None:
            best, least = found, found.objective
    assert best is not None
    costs = rows.distances(np.arange(rows.n), best.geometry)
    nearest, far = costs.argmin(axis=1), np.sqrt(np.maximum(costs.min(axis=1), 0.0))
    inside = best.labels >= 0
    for c in range(k):
        mine = nearest == c
        typical = np.median(far[mine & inside]) if (mine & inside).any() else 0.0
        far[mine] /= max(typical, 1e-12 * float(far.max(initial=1.0)), 1e-300)
    return far
