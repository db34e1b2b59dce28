"""Constraint propagation: a few given links become many nearby ones, weaker with the distance.

Entry point: `propagate`. A constraint between rows A and B is propagated to pairs of rows (i, j)
with i near A and j near B. The remoteness of a row from an end (minus the log of its Gaussian
factor, or the squared share of a distance) adds up over the two ends, and the threshold is a limit
on the sum. So a row takes part only if it is within the limit of one end by itself: rows near an
end are found in one pass, sorted and kept for its other constraints (appendix B of the thesis), and
pairing stops at the first pair that is too remote. Pairs are counted before they are written, so
that memory is the size of the result, or `max_propagated`.
"""

from __future__ import annotations

import math
import warnings
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import check_array, check_random_state

from linkwise._types import (
    Floats,
    Ints,
    Matrix,
    MatrixLike,
    RandomState,
    SampleIds,
    Seed,
    is_sparse,
)
from linkwise._validation import Knowable, check_choice, check_number, read_knowledge
from linkwise.constraints import Constraints

from . import _propagation_kernels as _kernels

Rows32 = NDArray[np.int32]  # row numbers
PairKernel = Callable[..., int]
Kernel = Literal["gaussian", "euclidean"]
Scale = Literal["thesis", "squared"]
Radius = Literal["mahalanobis", "euclidean"]

_KEPT_NEAR = 20_000_000  # most entries in the kept lists of rows near constrained ones


def propagate(
    constraints: Knowable,
    X: MatrixLike,
    labels: ArrayLike,
    metrics: ArrayLike | None = None,
    threshold: float = 0.5,
    reduce: bool = False,
    *,
    per_cluster: bool | None = None,
    centers: ArrayLike | None = None,
    kernel: Kernel = "gaussian",
    scale: Scale = "squared",
    radius: Radius = "euclidean",
    max_propagated: int = 10_000_000,
    sample_ids: SampleIds = None,
    random_state: Seed = None,
) -> Constraints:
    """Propagate must-links and cannot-links to nearby pairs of rows.

    This is the propagation of Eaton's thesis [1]_, (3.1) to (3.7).

    Parameters
    ----------
    constraints : Constraints, DataFrame or path
        The given constraints, the *sources*.
    X : array-like or CSR matrix of shape (n_samples, n_features)
        The data.
    labels : array-like of shape (n_samples,)
        Present cluster of each row, 0 to n_clusters - 1.
    metrics : array-like, default=None
        Metric of the clusters, as `MPCKMeans.metrics_` has it: a diagonal of shape (n_features,)
        or a matrix (n_features, n_features) for all, or one for each cluster, (n_clusters,
        n_features) or (n_clusters, n_features, n_features). None: Euclidean.
    threshold : float, default=0.5
        The least weight, relative to that of its source, of a link that is inferred; above 0 and
        at most 1. At 1, only rows equal to those of a source take part.
    reduce : bool, default=False
        Whether only the heaviest link of each kind stays for a pair of rows (reduced
        propagation). Otherwise the weights of all of them, the source's own included, add up
        (full propagation).
    per_cluster : bool, default=None
        Whether there is a metric for each cluster. None: seen from its shape; where there are as
        many clusters as features, a symmetric positive definite array is one matrix for all.
    centers : array-like of shape (n_clusters, n_features), default=None
        Centers of the clusters; the means of their rows if not given.
    kernel : {"gaussian", "euclidean"}, default="gaussian"
        How weights decrease: by a Gaussian under the metrics (3.7), or linearly with the Euclidean
        distance, to 0 where the ball around the end of a source touches the rim of its cluster.
    scale : {"thesis", "squared"}, default="squared"
        The factor of a cluster's covariance: the ratio of its radius to three standard deviations
        (3.4) as it is printed, or the square of this ratio, as lengths ask for. Gaussian only.
    radius : {"mahalanobis", "euclidean"}, default="euclidean"
        How far the outermost row of a cluster is from its center: under the metric, or in the
        units of the data. Gaussian only.
    max_propagated : int, default=10_000_000
        The most links to infer before equal ones are merged. If there are more, a random sample
        is taken, with a warning.
    sample_ids : array-like of shape (n_samples,), default=None
        Id of each row, if the constraints use ids.
    random_state : int, RandomState instance or None, default=None
        Seed of that sample.

    Returns
    -------
    propagated : Constraints
        By row number: the sources in their order, then the links inferred. `n_repeated` of it
        counts those that were merged with others. Relative constraints stay as they are.

    See Also
    --------
    GPKMeans : Clusters with propagated constraints.

    References
    ----------
    .. [1] E. Eaton. Clustering with propagated constraints. MSc thesis, UMBC 2005, equations
       (3.1)-(3.7), figure 3.2, appendix B.

    Examples
    --------
    >>> from linkwise import Constraints, propagate
    >>> X = [[0.0], [0.1], [0.9], [2.0], [9.0], [9.1]]
    >>> known = Constraints(must_link=[(1, 2)])
    >>> more = propagate(known, X, labels=[0, 0, 0, 0, 1, 1], threshold=0.5)
    >>> more.must_link.tolist()
    [[1, 2], [0, 2]]
    """
    check_threshold(threshold)
    check_choice("kernel", kernel, ("gaussian", "euclidean"))
    check_choice("scale", scale, ("thesis", "squared"))
    check_choice("radius", radius, ("mahalanobis", "euclidean"))
    check_number("max_propagated", max_propagated, Integral, 1)
    given_X, X = X, check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C")
    known, _ = read_knowledge(constraints, X.shape[0], sample_ids, given_X)
    own = None if kernel == "euclidean" else metrics
    clusters = _Clusters.read(X, labels, own, per_cluster, centers)
    field = _Field(clusters, threshold, kernel, scale, radius)
    pairs = _infer(field, known, max_propagated, check_random_state(random_state))
    return _merged(known, pairs, X.shape[0], reduce)


def check_threshold(threshold: float) -> None:
    """Raise unless the threshold is above 0 and at most 1."""
    check_number("threshold", threshold, Real, 0)
    if not 0 < threshold <= 1:
        raise ValueError(
            f"threshold={threshold} must be above 0 and at most 1: it is the least share of a "
            "source's weight that an inferred link may have"
        )


# -------------------------------------------------------------------- clusters and their metrics


@dataclass(frozen=True)
class _Clusters:
    """Rows, their clusters, and a metric for each of these."""

    X: Matrix
    labels: Ints
    centers: Floats
    metrics: Floats  # (k, d) or (k, d, d)

    @classmethod
    def read(
        cls, X: Matrix, given: ArrayLike, metrics: ArrayLike | None, per_cluster: bool | None,
        centers: ArrayLike | None,
    ) -> _Clusters:  # fmt: skip
        """Validate shapes and values."""
        n, d = X.shape
        labels = _read_labels(given, n)
        read = _read_metrics(metrics, d, int(labels.max()) + 1, per_cluster)
        k = max(int(labels.max()) + 1, len(read))
        if centers is None:
            centers = _means(X, labels, k)
        centers = np.asarray(centers, dtype=np.float64)
        if centers.shape != (max(k, len(centers)), d):
            raise ValueError(
                f"centers has shape {centers.shape}; expected ({k}, {d}), a center for each cluster"
            )
        if is_sparse(X) and read.ndim == 3:
            raise ValueError("full metrics need dense data; give diagonals, or X as an array")
        return cls(X, labels, centers, np.broadcast_to(read, (len(centers), *read.shape[1:])))

    def roots(self) -> Floats:
        """Diagonals as they are, matrices A as L with A = L L'."""
        if self.metrics.ndim == 2:
            return self.metrics
        return np.asarray(np.linalg.cholesky(self.metrics), dtype=np.float64)

    def squared_radii(self, metrics: Floats) -> Floats:
        """Squared distance of the farthest row of each cluster from its center."""
        radii = np.zeros(len(self.centers))
        for c in np.unique(self.labels):
            own = self.X[self.labels == c]
            _, away = near(own, self.centers[c], metrics[c], 1.0, math.inf)
            radii[c] = away.max()
        return radii


def _read_labels(given: ArrayLike, n: int) -> Ints:
    labels = np.asarray(given)
    if labels.shape != (n,):
        raise ValueError(f"labels has shape {labels.shape}; expected one cluster per row, ({n},)")
    if labels.dtype.kind not in "iu" or labels.min() < 0:
        raise ValueError("labels must be clusters 0, 1, 2, ... as integers; every row needs one")
    return labels.astype(np.int64)


def _read_metrics(
    metrics: ArrayLike | None, d: int, n_clusters: int, per_cluster: bool | None
) -> Floats:
    """Metrics as diagonals (m, d) or matrices (m, d, d), m being 1 or the number of clusters."""
    A = np.ones(d) if metrics is None else np.asarray(metrics, dtype=np.float64)
    given = A.shape
    if not np.isfinite(A).all():
        raise ValueError("metrics has NaN or infinite values; a metric is finite and positive")
    if A.ndim == 1 or (A.shape == (d, d) and _is_one_matrix(A, n_clusters, per_cluster)):
        A = A[None]
    fits = A.shape[1:] in ((d,), (d, d)) and (len(A) == 1 or len(A) >= n_clusters)
    if not fits:
        raise ValueError(
            f"metrics has shape {given}; expected ({d},), ({d}, {d}), "
            f"({n_clusters}, {d}) or ({n_clusters}, {d}, {d})"
        )
    least = A.min() if A.ndim == 2 else np.linalg.eigvalsh(A).min()
    if not least > 0:
        raise ValueError(f"a metric must be positive (definite); its least value is {least:.3g}")
    return A


def _is_one_matrix(A: Floats, n_clusters: int, per_cluster: bool | None) -> bool:
    """Whether a square array is a matrix for all clusters rather than a diagonal for each."""
    if per_cluster is not None:
        return not per_cluster
    return len(A) < n_clusters or (np.allclose(A, A.T) and np.linalg.eigvalsh(A).min() > 0)


def _means(X: Matrix, labels: Ints, k: int) -> Floats:
    counts = np.bincount(labels, minlength=k)
    one_hot = sparse.csr_array((np.ones(len(labels)), (labels, np.arange(len(labels)))))
    sums = np.zeros((k, X.shape[1]))
    found = one_hot @ X
    sums[: one_hot.shape[0]] = found.toarray() if is_sparse(found) else found
    return sums / np.maximum(counts, 1)[:, None]


def near(
    X: Matrix, point: Floats, root: Floats, rate: float, limit: float
) -> tuple[Rows32, Floats]:
    """Rows whose squared distance from a point, times the rate, is within the limit; and that.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
    point : ndarray of shape (d,)
    root : ndarray of shape (d,) or (d, d)
        Diagonal of the metric, or L where the metric is L L'.
    rate, limit : float
    """
    rows, found = np.empty(X.shape[0], dtype=np.int32), np.empty(X.shape[0])
    end = (np.asarray(point, dtype=np.float64), root, rate, limit, rows, found)
    if is_sparse(X):
        number = _kernels.near_sparse(X.data, X.indices, X.indptr, *end)
    elif root.ndim == 2:
        number = _kernels.near_full(X, *end)
    else:
        number = _kernels.near_diagonal(X, *end)
    return rows[:number], found[:number]


# -------------------------------------------------------------------- how far a source reaches


class _Field:
    """Which rows are near a constrained row, and how remote each of them is.

    The remoteness is minus the logarithm of the Gaussian factor of (3.7), or the square of the
    share of the distance at which nothing is left. Those of the two ends of a pair add up.
    """

    def __init__(
        self, clusters: _Clusters, threshold: float, kernel: Kernel, scale: Scale, radius: Radius
    ):
        self.clusters, self.gaussian = clusters, kernel == "gaussian"
        self.limit = -math.log(threshold) if self.gaussian else (1 - threshold) ** 2
        self._roots = np.ascontiguousarray(clusters.roots())
        self._own = np.full((2, clusters.X.shape[0]), np.inf)
        self._kept: OrderedDict[int, tuple[Rows32, Floats]] = OrderedDict()
        self._n_kept = 0
        flat = np.ones_like(clusters.centers)
        own = radius == "mahalanobis" and self.gaussian
        self._reach = np.sqrt(clusters.squared_radii(self._roots if own else flat))
        if self.gaussian:  # (3.4): from here on, what the covariance is multiplied by
            self._reach /= 3 * _first_deviation(clusters.metrics)
            self._reach **= 2 if scale == "squared" else 1

    def _rate(self, row: int) -> float:
        """Factor of squared distances from a row."""
        c = int(self.clusters.labels[row])
        reach = float(self._reach[c])
        squared = float(self._squared_from_center(row, c))
        if self.gaussian:  # (3.6), and the factors of (3.7)
            width = 2 * reach * math.exp(-squared / (2 * reach)) if reach > 0 else 0.0
        else:
            width = max(reach - math.sqrt(squared), 0.0) ** 2
        return 1 / width if width > 1e-300 else math.inf

    def _squared_from_center(self, row: int, c: int) -> float:
        one = self.clusters.X[[row]]
        return float(near(one, self.clusters.centers[c], self._roots[c], 1.0, math.inf)[1][0])

    def near(self, row: int) -> tuple[Rows32, Floats]:
        """Rows within the limit of a row, the nearest first; kept for the next time."""
        if row in self._kept:
            self._kept.move_to_end(row)
            return self._kept[row]
        X, c = self.clusters.X, int(self.clusters.labels[row])
        point = X[[row]].toarray()[0] if is_sparse(X) else X[row]
        rows, remote = near(X, point, self._roots[c], self._rate(row), self.limit)
        order = np.argsort(remote, kind="stable")
        found = self._kept[row] = rows[order], remote[order]
        self._n_kept += len(order)
        while self._n_kept > _KEPT_NEAR and len(self._kept) > 1:
            self._n_kept -= len(self._kept.popitem(last=False)[1][0])
        return found

    def count_ordered(self, a: int, b: int) -> tuple[int, int]:
        """Pairs in both orientations, and how many of them may be a row with itself."""
        (rows_a, near_a), (rows_b, near_b) = self.near(a), self.near(b)
        return _kernels.count_ordered(near_a, near_b, self.limit), min(len(rows_a), len(rows_b))

    def call(self, kernel: PairKernel, a: int, b: int, *rest: Any) -> int:
        """Call a kernel that visits the pairs of a source."""
        (rows_a, near_a), (rows_b, near_b) = self.near(a), self.near(b)
        self._own[0, rows_a], self._own[1, rows_b] = near_a, near_b
        number = kernel(rows_a, near_a, rows_b, near_b, *self._own, a, b, self.limit, *rest)
        self._own[0, rows_a] = self._own[1, rows_b] = np.inf
        return int(number)


def _first_deviation(metrics: Floats) -> Floats:
    """Standard deviation of the first principal component of each metric's Gaussian."""
    least = metrics.min(axis=1) if metrics.ndim == 2 else np.linalg.eigvalsh(metrics)[:, 0]
    return 1 / np.sqrt(least)


# -------------------------------------------------------------------- from sources to links


@dataclass(frozen=True)
class _Pairs:
    """Inferred links, those of must-links first; one pair may stand in it many times."""

    low: Rows32
    high: Rows32
    weight: Floats
    n_must: int


def _infer(field: _Field, known: Constraints, most: int, rng: RandomState) -> _Pairs:
    ends = np.concatenate([known.must_link, known.cannot_link]).astype(np.int64).tolist()
    weight = np.concatenate([known.must_link_weight, known.cannot_link_weight]).tolist()
    size, draws = _plan(field, ends, most, rng)
    low, high, out = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size)
    number = n_must = 0
    for c, ((a, b), w) in enumerate(zip(ends, weight, strict=True)):
        room = (low[number:], high[number:], out[number:])
        if draws is None:
            number += field.call(_kernels.spread_pairs, a, b, w, field.gaussian, *room)
        else:
            chosen = _draw(*draws[c], rng)
            number += field.call(_kernels.spread_sample, a, b, w, field.gaussian, chosen, *room)
        if c < known.n_must_link:
            n_must = number
    if draws is not None:
        total = sum(ordered for ordered, _ in draws)
        warnings.warn(
            f"more than max_propagated={most:,} links could be inferred ({total:,} ordered pairs "
            f"are within reach); a random sample of {number:,} is used: raise the threshold, or "
            "max_propagated if memory allows",
            UserWarning,
            stacklevel=3,
        )
    return _Pairs(low[:number], high[:number], out[:number], n_must)


def _plan(
    field: _Field, ends: list[list[int]], most: int, rng: RandomState
) -> tuple[int, list[tuple[int, int]] | None]:
    """Number of pairs to make room for; and, if that is not enough for all, what to draw.

    That is, per source, the number of its ordered pairs and how many of them to draw.
    """
    counted = [field.count_ordered(a, b) for a, b in ends]
    ordered = np.array([number for number, _ in counted], dtype=np.int64)
    total = int(ordered.sum())
    if total <= most:
        return total, None
    # A pair is counted in both orders at most, and a row with itself is not a pair.
    if (total - sum(same for _, same in counted)) // 2 - len(ends) <= most:
        exact = sum(field.call(_kernels.count_pairs, a, b) for a, b in ends)
        if exact <= most:
            return exact, None
    shares = np.minimum(rng.multinomial(most, ordered / total), ordered)
    return most, list(zip(ordered.tolist(), shares.tolist(), strict=True))


def _draw(total: int, number: int, rng: RandomState) -> Ints:
    """`number` distinct numbers below `total`, ascending."""
    few = min(number, total - number)  # draw the numbers to take, or those to leave out
    found = np.zeros(0, dtype=np.int64)
    while len(found) < few:
        # The number of draws that give `few` distinct numbers on average, and 5% more.
        more = int(-1.05 * total * math.log1p(-few / total)) + 16
        found = np.concatenate([found, rng.randint(0, total, more, dtype=np.int64)])
        found.sort()  # np.unique would hash, which takes far longer
        found = found[np.append(True, found[1:] != found[:-1])]
    found = np.delete(found, rng.permutation(len(found))[few:])
    return found if few == number else np.delete(np.arange(total), found)


def _merged(known: Constraints, pairs: _Pairs, n_rows: int, reduce: bool) -> Constraints:
    """The sources and the inferred links, each pair of rows once for each kind."""
    parts = []
    for given, own, part in (
        (known.must_link, known.must_link_weight, slice(0, pairs.n_must)),
        (known.cannot_link, known.cannot_link_weight, slice(pairs.n_must, None)),
    ):
        new = pairs.weight[part]
        ends = np.empty((len(given) + len(new), 2), dtype=np.int64)
        weight = np.empty(len(ends))
        ends[: len(given)], weight[: len(given)] = given, own
        number = _kernels.merge_pairs(
            pairs.low[part], pairs.high[part], new, n_rows, reduce, ends, weight, len(given)
        )
        parts.append((ends[:number], weight[:number]))
    left = sum(len(weight) for _, weight in parts) - known.n_must_link - known.n_cannot_link
    merged = len(pairs.weight) - left
    return known.followed_by(*parts, source="propagated", n_repeated=merged)
