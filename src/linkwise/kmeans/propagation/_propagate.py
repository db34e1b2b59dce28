"""Constraint propagation: given links become many nearby ones, weaker with the distance.

Entry point: `propagate`. A constraint between rows A and B is propagated to pairs of rows (i, j)
with i near A and j near B. The *remoteness* of a row from an end (minus the log of its Gaussian
factor, or the squared share of a distance) adds up over the two ends, and the threshold is a limit
on the sum. So a row takes part only if it is within the limit of one end by itself: rows near an
end are found once, sorted, and used for all its constraints (appendix B of the thesis).
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from numbers import Real
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import check_array, gen_batches
from sklearn.utils.extmath import row_norms

from linkwise._types import Floats, Ints, Matrix, MatrixLike, SampleIds, is_sparse
from linkwise._validation import Knowable, check_choice, check_number, read_knowledge
from linkwise.constraints import Constraints

Kernel = Literal["gaussian", "euclidean"]
Scale = Literal["thesis", "squared"]
Radius = Literal["mahalanobis", "euclidean"]
Neighborhoods = dict[int, tuple[NDArray[np.int32], Floats]]  # rows near a row, their remoteness

# Each pair takes about 100 bytes in the fit that follows, which lasts minutes with more of them.
MOST_PAIRS = 300_000


def propagate(
    constraints: Knowable,
    X: MatrixLike,
    labels: ArrayLike,
    metrics: ArrayLike | None = None,
    threshold: float = 0.5,
    reduced: bool = False,
    *,
    centers: ArrayLike | None = None,
    kernel: Kernel = "gaussian",
    scale: Scale = "squared",
    radius: Radius = "euclidean",
    sample_ids: SampleIds = None,
) -> Constraints:
    """Propagate must-links and cannot-links to nearby pairs of rows.

    This is the propagation of Eaton's thesis [1]_, (3.1) to (3.7). If more than 300,000 pairs are
    within reach, the heaviest are linked, with a warning.

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
        n_features) or (n_clusters, n_features, n_features). Where there are as many clusters as
        features, a symmetric positive definite array is one matrix for all. None: Euclidean.
    threshold : float, default=0.5
        The least weight, relative to that of its source, of a link that is inferred; above 0 and
        at most 1. At 1, only rows equal to those of a source take part.
    reduced : bool, default=False
        Whether only the heaviest link of each kind stays for a pair of rows (reduced
        propagation). Otherwise the weights of all of them, the source's own included, add up
        (full propagation).
    centers : array-like of shape (n_clusters, n_features), default=None
        Centers of the clusters; the means of their rows if not given.
    kernel : {"gaussian", "euclidean"}, default="gaussian"
        How weights decrease: by a Gaussian under the metrics (3.7), or linearly with the Euclidean
        distance, to 0 where the ball around the end of a source touches the rim of its cluster.
    scale : {"thesis", "squared"}, default="squared"
        The factor of a cluster's covariance: the ratio of its radius to three standard deviations
        (3.4) as it is printed, or the square of this ratio, as lengths need it. Gaussian only.
    radius : {"mahalanobis", "euclidean"}, default="euclidean"
        How far the outermost row of a cluster is from its center: under the metric, or in the
        units of the data. Gaussian only.
    sample_ids : array-like of shape (n_samples,), default=None
        Id of each row, if the constraints use ids.

    Returns
    -------
    propagated : Constraints
        By row number: the sources in their order, then the inferred links. `n_repeated` is the
        number of links that were merged with others. Relative constraints stay as they are.

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
    falloff = Falloff(threshold, kernel, scale, radius)
    falloff.check()
    given_X, X = X, check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C")
    known, _ = read_knowledge(constraints, X.shape[0], sample_ids, given_X)
    clusters = Clusters.read(X, labels, metrics, centers)
    return spread(known, clusters, falloff, reduced)


@dataclass(frozen=True)
class Falloff:
    """How the weight of a link decreases with the distance; parameters of `propagate`."""

    threshold: float
    kernel: Kernel
    scale: Scale
    radius: Radius

    def check(self) -> None:
        """Raise if a parameter is wrong."""
        check_number("threshold", self.threshold, Real, 0)
        if not 0 < self.threshold <= 1:
            raise ValueError(
                f"threshold={self.threshold} must be above 0 and at most 1: it is the least share "
                "of a source's weight that an inferred link may have"
            )
        check_choice("kernel", self.kernel, ("gaussian", "euclidean"))
        check_choice("scale", self.scale, ("thesis", "squared"))
        check_choice("radius", self.radius, ("mahalanobis", "euclidean"))

    @property
    def gaussian(self) -> bool:
        """Whether weights fall by the Gaussian of the thesis."""
        return self.kernel == "gaussian"

    @property
    def limit(self) -> float:
        """Largest remoteness of a pair that is linked."""
        return -math.log(self.threshold) if self.gaussian else (1 - self.threshold) ** 2

    def share(self, remote: Floats) -> Floats:
        """Remaining share of a source's weight: (3.1), or linear in the distance."""
        return np.exp(-remote) if self.gaussian else 1.0 - np.sqrt(remote)

    def remoteness(self, share: Floats) -> Floats:
        """The inverse of `share`; negative, so that nothing is within it, for shares above 1."""
        return -np.log(share) if self.gaussian else np.where(share > 1, -1.0, (1 - share) ** 2)


# -------------------------------------------------------------------- clusters and their metrics


@dataclass(frozen=True)
class Clusters:
    """Rows, their clusters, and a metric for each of these: diagonals (k, d) or (k, d, d)."""

    X: Matrix
    labels: Ints
    centers: Floats
    metrics: Floats

    @classmethod
    def read(
        cls, X: Matrix, given: ArrayLike, metrics: ArrayLike | None, centers: ArrayLike | None,
        per_cluster: bool | None = None,
    ) -> Clusters:  # fmt: skip
        """Validate shapes and values; `per_cluster` decides what a square array of metrics is."""
        n, d = X.shape
        labels = _read_labels(given, n)
        read = _read_metrics(metrics, d, int(labels.max()) + 1, per_cluster)
        k = max(int(labels.max()) + 1, len(read))
        centers = _means(X, labels, k) if centers is None else np.asarray(centers, np.float64)
        if centers.shape != (max(k, len(centers)), d):
            raise ValueError(
                f"centers has shape {centers.shape}; expected ({k}, {d}), a center for each cluster"
            )
        if is_sparse(X) and read.ndim == 3:
            raise ValueError("full metrics need dense data; give diagonals, or X as an array")
        return cls(X, labels, centers, np.broadcast_to(read, (len(centers), *read.shape[1:])))

    def transformed(self, X: Matrix, c: int, flat: bool = False) -> Matrix:
        """Rows whose Euclidean distances are those under the metric of a cluster."""
        if flat:
            return X
        if self.metrics.ndim == 3:
            return np.asarray(X @ np.linalg.cholesky(self.metrics[c]))
        root = np.sqrt(self.metrics[c])
        return sparse.csr_matrix(X.multiply(root)) if is_sparse(X) else X * root

    def squared_from_center(self, rows: Ints, c: int, flat: bool = False) -> Floats:
        """Squared distances of rows from the center of a cluster."""
        center = np.asarray(self.transformed(self.centers[[c]], c, flat))
        return _squared(self.transformed(self.X[rows], c, flat), center)[:, 0]


def _squared(A: Matrix, B: Matrix) -> Floats:
    """Squared distances of all rows, exactly 0 between equal ones."""
    if not is_sparse(A):
        return np.asarray(cdist(A, B, "sqeuclidean"))
    found = np.asarray(euclidean_distances(A, B, squared=True), dtype=np.float64)
    # Products of sparse rows leave rounding errors of this size where rows are equal.
    rounding = 8 * np.finfo(A.dtype).eps
    size = row_norms(A, squared=True)[:, None] + row_norms(B, squared=True)
    return np.where(found <= rounding * size, 0.0, found)


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
    """Mean row of each cluster; 0 for clusters without rows."""
    n = len(labels)
    share = 1.0 / np.bincount(labels, minlength=k)[labels]
    means = sparse.csr_array((share, (labels, np.arange(n))), shape=(k, n)) @ X
    return np.asarray(means.toarray() if is_sparse(means) else means, dtype=np.float64)


# -------------------------------------------------------------------- from sources to links


def spread(known: Constraints, clusters: Clusters, falloff: Falloff, reduced: bool) -> Constraints:
    """The sources and the links inferred from them, each pair of rows once for each kind."""
    if not falloff.gaussian:
        clusters = Clusters(
            clusters.X, clusters.labels, clusters.centers, np.ones_like(clusters.centers)
        )
    ends = np.concatenate([known.must_link, known.cannot_link]).astype(np.int64).tolist()
    weight = np.concatenate([known.must_link_weight, known.cannot_link_weight])
    near = _neighborhoods(clusters, np.unique(np.array(ends, dtype=np.int64)), falloff)
    limits = _limits(ends, weight, near, falloff)
    n, parts, n_merged = clusters.X.shape[0], [], 0
    for given, some in (
        (known.must_link, slice(0, known.n_must_link)),
        (known.cannot_link, slice(known.n_must_link, None)),
    ):
        keys, shares = [np.zeros(0, np.int64)], [np.zeros(0)]
        for (a, b), limit, w in zip(ends[some], limits[some], weight[some], strict=True):
            key, remote = _pairs(a, b, n, near, limit)
            keys.append(key)
            shares.append(w * falloff.share(remote))
        new = np.concatenate(keys)
        links = _merged(given, weight[some], new, np.concatenate(shares), n, reduced)
        n_merged += len(given) + len(new) - len(links[0])
        parts.append(links)
    return known.followed_by(*parts, source="propagated", n_repeated=n_merged)


def _limits(
    ends: list[list[int]], weight: Floats, near: Neighborhoods, falloff: Falloff
) -> Floats:  # fmt: skip
    """Largest remoteness of the pairs of each source: the limit, or less if pairs are too many.

    A pair at remoteness r weighs w share(r). Bisection on the logarithm of the least weight keeps
    the heaviest pairs of all sources together.
    """

    def count(limits: Floats) -> int:
        return sum(
            int(_within(near[a][1], near[b][1], limit).sum())
            for (a, b), limit in zip(ends, limits, strict=True)
        )

    limits: Floats = np.full(len(ends), falloff.limit)
    number = count(limits)
    if number <= MOST_PAIRS:
        return limits
    lightest = math.log(falloff.threshold * max(weight[weight > 0].min(), 1e-300))
    heaviest = math.log(weight.max())
    for _ in range(30):  # the weights differ by less than 1e-9 of their range then
        middle = (lightest + heaviest) / 2
        tried = np.minimum(
            falloff.remoteness(math.exp(middle) / np.maximum(weight, 1e-300)), limits
        )
        lightest, heaviest = (middle, heaviest) if count(tried) > MOST_PAIRS else (lightest, middle)
    limits = np.minimum(falloff.remoteness(math.exp(heaviest) / np.maximum(weight, 1e-300)), limits)
    warnings.warn(
        f"{number:,} pairs of rows are within reach of {len(ends):,} constraints at "
        f"threshold={falloff.threshold:g}; the {MOST_PAIRS:,} heaviest are linked: raise the "
        "threshold",
        UserWarning,
        stacklevel=3,
    )
    return limits


def _neighborhoods(clusters: Clusters, ends: Ints, falloff: Falloff) -> Neighborhoods:
    """Rows within the limit of each end, the nearest first, and their remoteness."""
    near: Neighborhoods = {}
    labels = clusters.labels[ends]
    for c in np.unique(labels).tolist():
        inside = ends[labels == c]
        rate = _rates(clusters, inside, c, falloff)
        X = clusters.transformed(clusters.X, c)
        at_once = max(1, 4_000_000 // X.shape[0])  # 32 MB of distances
        for part in gen_batches(len(inside), at_once):
            squared = _squared(X, X[inside[part]])
            # At the row itself even an infinite rate gives nothing.
            remote = np.multiply(squared, rate[part], out=squared, where=squared > 0)
            for row, own in zip(inside[part].tolist(), remote.T, strict=True):
                rows = np.flatnonzero(own <= falloff.limit)
                order = np.argsort(own[rows], kind="stable")
                near[row] = rows[order].astype(np.int32), own[rows[order]]
    return near


def _rates(clusters: Clusters, ends: Ints, c: int, falloff: Falloff) -> Floats:
    """Factor of squared distances from each of some rows of a cluster that gives remoteness."""
    flat = not falloff.gaussian or falloff.radius == "euclidean"
    members = np.flatnonzero(clusters.labels == c)
    radius = math.sqrt(clusters.squared_from_center(members, c, flat).max())
    squared = clusters.squared_from_center(ends, c)
    if falloff.gaussian:
        A = clusters.metrics[c]
        least = A.min() if A.ndim == 1 else np.linalg.eigvalsh(A)[0]
        # (3.4): three standard deviations of the first principal component reach to the rim.
        factor = radius / (3 / math.sqrt(least))
        factor = factor**2 if falloff.scale == "squared" else factor
        # (3.6), and the factors of (3.7)
        width = 2 * factor * np.exp(-squared / (2 * factor)) if factor > 0 else 0 * squared
    else:
        width = np.maximum(radius - np.sqrt(squared), 0.0) ** 2
    rate: Floats = np.full(len(ends), np.inf)
    np.divide(1.0, width, out=rate, where=width > 1e-300)
    return rate


def _within(near_a: Floats, near_b: Floats, limit: float) -> Ints:
    """For each row near a, how many of the rows near b make a pair within the limit."""
    return np.searchsorted(near_b, limit - near_a, side="right")


def _pairs(a: int, b: int, n: int, near: Neighborhoods, limit: float) -> tuple[Ints, Floats]:
    """Pairs that the source (a, b) spreads to, as keys n i + j with i < j, and their remoteness.

    Of the two orientations of a pair, i near a and j near b or the reverse, the nearer counts.
    """
    (rows_a, near_a), (rows_b, near_b) = near[a], near[b]
    counts = _within(near_a, near_b, limit)
    x = np.repeat(np.arange(len(rows_a)), counts)
    y = np.arange(len(x)) - np.repeat(np.cumsum(counts) - counts, counts)
    i, j, remote = rows_a[x].astype(np.int64), rows_b[y].astype(np.int64), near_a[x] + near_b[y]
    low, high = np.minimum(i, j), np.maximum(i, j)
    wanted = (i != j) & ~((low == min(a, b)) & (high == max(a, b)))
    key, remote = (n * low + high)[wanted], remote[wanted]
    order = np.lexsort((remote, key))
    key, remote = key[order], remote[order]
    first = np.ones(len(key), dtype=bool)
    first[1:] = key[1:] != key[:-1]
    return key[first], remote[first]


def _merged(
    given: Ints, own: Floats, keys: Ints, weight: Floats, n: int, reduced: bool
) -> tuple[Ints, Floats]:
    """Given links in their order, then the new pairs; weights of equal ones merged."""
    ends = np.sort(given.astype(np.int64), axis=1)
    own_keys = n * ends[:, 0] + ends[:, 1]
    every, place = np.unique(np.concatenate([own_keys, keys]), return_inverse=True)
    total = np.zeros(len(every))
    (np.maximum if reduced else np.add).at(total, place, np.concatenate([own, weight]))
    new = np.ones(len(every), dtype=bool)
    new[place[: len(given)]] = False
    pairs = np.stack([every[new] // n, every[new] % n], axis=1)
    return (
        np.concatenate([given.astype(np.int64), pairs]),
        np.concatenate([total[place[: len(given)]], total[new]]),
    )
