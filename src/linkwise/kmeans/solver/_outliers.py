"""Runs with limits on sizes and outliers: their starts, and the number of outliers if unknown.

k-means++ prefers far rows, and a center on an outlier never lets it go: its cost there is 0. Starts
with outliers therefore are drawn without the rows that are almost alone around one of many
centers.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Literal, TypeVar

import numpy as np

from linkwise._types import Floats, Init, Ints, Labels, RandomState
from linkwise.constraints import Closure, Constraints
from linkwise.geometry import Mahalanobis
from linkwise.kmeans.rows._local_rows import LocalRows
from linkwise.kmeans.rows._protocols import JUDGED_ROWS, RowStore

from ._assigners import ICM
from ._limited import Limited
from ._limits import Limits, Outliers, Size, count_outliers, sizes_of
from ._loop import Run, Solution
from ._penalties import NoPenalty
from ._problem import Problem
from ._runs import Preset
from ._starts import SOFT_RUNS, Start, from_kmeans_plusplus

_Labels = TypeVar("_Labels", bound=Labels | Mapping[Hashable, Hashable])
# The outliers of benchmarks/RESULTS.md ("Outliers") were found with these; few of them matter much.
_SEEDS = 40  # further centers, beside three per cluster, among which outliers show
_MOST_SHARE = 0.1  # of outliers that "auto" expects, at most half a cluster
_FENCE = 3.0  # interquartile ranges above the third quartile (Tukey's outer fence)


def read_limits(
    min_size: Size, max_size: Size, outliers: Outliers, rows: RowStore, k: int
) -> Limits | None:
    """Limits in numbers of rows; None if there are none."""
    if min_size is None and max_size is None and outliers is None:
        return None
    if isinstance(outliers, str):
        outliers = estimated_outliers(rows, k)
    return sizes_of(min_size, max_size, count_outliers(outliers, rows.n, k), k, rows.n)


def limited(
    preset: Preset, limits: Limits | None, init: Init, n_init: int | Literal["auto"]
) -> Preset:
    """A preset with limits: an assigner around its assigner, and starts that fit them."""
    if limits is None:
        return preset
    problem, start, n_runs = preset.problem, preset.start, preset.n_runs
    problem.rows.prefetch(np.arange(problem.rows.n))
    # Clusters have no names if neither labels nor given centers number them.
    nameless = isinstance(init, str) and not problem.has_seeds
    if limits.n_outliers and nameless and init == "auto":
        start = partial(_without_far_rows, start, problem, limits)
    if limits.differ and nameless:
        start = partial(_in_order_of_limits, start, problem, limits)
    if n_init == "auto" and isinstance(init, str):
        # Swaps look at the costs of rows alone, not at limits.
        n_runs = max(n_runs, SOFT_RUNS)
    return replace(
        preset, start=start, n_runs=n_runs, n_replaced=0,
        assigner=lambda: Limited(preset.assigner(), problem, limits),
    )  # fmt: skip


def _without_far_rows(
    start: Start, problem: Problem, limits: Limits, rng: RandomState, run: int
) -> Floats:
    """Every other run starts without far rows; the others as the method does, in turn."""
    if run % 2:
        return start(rng, run // 2)
    return centers_without(problem.rows, problem.k, limits.n_outliers, rng)


def _in_order_of_limits(
    start: Start, problem: Problem, limits: Limits, rng: RandomState, run: int
) -> Floats:
    """Centers in an order in which those of many rows have the higher limits."""
    centers = start(rng, run)
    some = problem.rows.sample(problem.k, np.random.RandomState(0))
    sizes = np.bincount(nearest_centers(some, centers), minlength=problem.k)
    wanted = limits.low + np.minimum(limits.high, problem.rows.n)
    ordered = np.empty_like(centers)
    ordered[np.argsort(wanted, kind="stable")] = centers[np.argsort(sizes, kind="stable")]
    return ordered


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
        Number of clusters; components of outliers get larger numbers.
    """
    found: Any = dict(labels) if isinstance(labels, Mapping) else np.array(labels, dtype=np.int64)
    every: Any = list(found.values()) if isinstance(labels, Mapping) else found
    if np.min(every, initial=0) >= 0:
        return labels
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
    chosen = slice(None, None, max(1, some.n // JUDGED_ROWS))
    sample = LocalRows(some.X[chosen], None, centered=bool(some.shift.any()))
    try:
        if sample.n < 4 * k:
            return 0
        far = _relative_distances(sample, k)
    finally:
        sample.close()
    low, high = np.quantile(far, [0.25, 0.75])
    found = int((far > high + _FENCE * (high - low)).sum())
    # More than half a cluster of rows is more likely a cluster.
    most = max(1, int(sample.n * max(_MOST_SHARE, 0.5 / k)))
    return round(min(found, most) * rows.n / sample.n)


def _relative_distances(rows: LocalRows, k: int) -> Floats:
    """Distance of each row to its center in the best of some runs of k-means--."""
    n_out = max(1, int(rows.n * min(_MOST_SHARE, 0.5 / k)))
    limits = Limits(np.zeros(k), np.full(k, np.inf), n_outliers=n_out)
    rng = np.random.RandomState(0)
    best: Solution | None = None
    problem = Problem(rows, k, Constraints())
    for _ in range(SOFT_RUNS):
        geometry = Mahalanobis(k, rows.total(), rows.total_weight, mean=rows.uncentered_mean())
        run = Run(
            problem, geometry, NoPenalty(problem.links), Limited(ICM(problem), problem, limits),
            centers_without(rows, k, n_out, rng), tol=1e-4, rng=rng,
        )  # fmt: skip
        found = run.advance(50)
        if best is None or found.objective < best.objective:
            best = found
    assert best is not None
    costs = rows.distances(np.arange(rows.n), best.geometry)
    nearest, far = costs.argmin(axis=1), np.sqrt(np.maximum(costs.min(axis=1), 0.0))
    inside = best.labels >= 0
    for c in range(k):
        mine = nearest == c
        typical = np.median(far[mine & inside]) if (mine & inside).any() else 0.0
        far[mine] /= max(typical, 1e-12 * float(far.max(initial=1.0)), 1e-300)
    return far
