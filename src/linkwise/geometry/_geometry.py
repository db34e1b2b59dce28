"""What the loop asks of a geometry: costs of rows, updates of centers and metrics.

Costs are linear or quadratic in the row, so that one pair of kernels serves every geometry; sums
over rows come from `Moments`, so that objectives and updates need no pass over the data. Weights
per cluster break this for all but squared distances: such a geometry says `rows_by_cluster` and
computes costs and sums itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol

import numpy as np
from scipy import sparse

from linkwise._types import Floats, Ints, Labels, Matrix, is_sparse

from ._moments import Moments

Eta = float | Literal["exact"] | None
GeometryState = dict[str, Any]  # arrays and numbers by name
MapRanges = Callable[[Callable[[int, int], None]], object]  # calls work(start, stop) for ranges

_LEAST = 1 / 16  # a step divides a weight by at most 16
_MOST = 4.0  # and multiplies it by at most 4: the step is halved for all if one overshoots


class RowSlices(Protocol):
    """A matrix of which some rows can be taken by their numbers, wherever it is stored."""

    def __getitem__(self, rows: Ints, /) -> Matrix: ...


class HasSimilaritySquares(Protocol):
    """Assigned rows whose similarities to their centers' directions can be summed."""

    def similarity_squares(self, directions: Floats) -> Floats:
        """Per feature, the sum over rows of (x . direction of its cluster) times x squared.

        If the geometry has `rows_by_cluster`: one sum per cluster, (k, d).
        """
        ...


class Geometry:
    """Base of the geometries with diagonal metrics (weights of the features).

    Parameters
    ----------
    n_clusters : int
    n_features : int
    mean_variance : float
        Mean variance of the features; a run stops if centers move by a small share of it.
    learns : bool, default=False
        Whether the weights are learned.
    prior : Rayleigh, default=None
    eta : float or "exact", default=None
        Step of the gradient, or "exact" for the minimum in closed form if there is one. None: the
        geometry's default.
    per_cluster : bool, default=False
        Whether each cluster has separate weights.

    Attributes
    ----------
    centers : ndarray of shape (k, d)
    metrics : ndarray of shape (groups, d) or (groups, d, d)
    log_det : ndarray of shape (groups,)
        Logarithms of the determinants of the metrics; see `offsets`.

    Notes
    -----
    Arguments mean the same in all methods: X are validated rows (an array or a CSR matrix), labels
    and weight their clusters and weights, i and j row numbers of pairs, moments the `Moments` of
    the clusters, slope a derivative by the metrics, in their shape.

    Examples
    --------
    Distortions are classes, passed to a method by name or as the class:

    >>> from linkwise import HMRFKMeans
    >>> from linkwise.geometry import Cosine, Geometry
    >>> issubclass(Cosine, Geometry)
    True
    >>> X = [[1.0, 0.0], [9.0, 1.0], [0.0, 1.0], [1.0, 8.0]]
    >>> HMRFKMeans(2, distortion=Cosine, random_state=0).fit_predict(X).tolist()
    [1, 1, 0, 0]
    """

    per_cluster = False
    n_groups = 1
    bounded = False  # costs are squared distances under one diagonal metric, so that bounds hold
    squared = False  # costs are squares of distances
    scales_rows = False  # rows are divided by lengths that change with the metric
    is_narrow = False  # costs differ by so little that float32 has no digits for it
    rows_by_cluster = False  # what a row adds to sums depends on its cluster; see `add_rows`
    squares_shape = (0, 0, 0)  # second moments that blocks must keep for each cluster

    def __init__(
        self,
        n_clusters: int,
        n_features: int,
        mean_variance: float,
        *,
        learns: bool = False,
        prior: Rayleigh | None = None,
        eta: Eta = None,
        per_cluster: bool = False,
    ):
        if per_cluster:
            self.per_cluster = self.rows_by_cluster = self.scales_rows = True
            self.n_groups = n_clusters
        self.k, self.mean_variance = n_clusters, mean_variance
        self.learns, self.prior, self.eta = learns, prior, eta
        self.centers: Floats = np.zeros((n_clusters, n_features))
        self.metrics: Floats = np.ones((self.n_groups, n_features))
        self.log_det: Floats = np.zeros(self.n_groups)

    def group(self, clusters: Ints | Labels) -> Ints | Labels:
        """Which metric each cluster uses."""
        return clusters if self.per_cluster else np.zeros_like(clusters)

    # ---------------------------------------------------------------- rows

    def validate_rows(self, X: Matrix) -> Matrix:
        """Rows as this geometry needs them; raises if they are outside its domain."""
        return X

    def block_stats(self, X: Matrix, sample_weight: Floats) -> object:
        """Statistics of a block of validated rows that the geometry needs."""

    def set_stats(self, stats: Sequence[Any]) -> None:
        """Combine the `block_stats` of all blocks; called once, before anything else."""

    def scaled(
        self, X: Matrix, map_ranges: MapRanges | None = None, out: Matrix | None = None
    ) -> Matrix:
        """Validated rows divided by their lengths under the metric, if `scales_rows`.

        `map_ranges(work)` calls ``work(start, stop)`` for ranges of rows, possibly in threads.
        `out` is an earlier result, whose memory may be used again.
        """
        return X

    def row_terms(self, X: Matrix) -> Floats | float:
        """Per-row constant, equal for all clusters, that `forms` and `own` leave out."""
        return 0.0

    # ---------------------------------------------------------------- rows by cluster

    def costs(self, X: Matrix) -> Floats:
        """Costs of rows in all clusters, (m, k), without `row_terms`; if `rows_by_cluster`."""
        raise NotImplementedError

    def add_rows(self, X: Matrix, labels: Labels, weight: Floats, moments: Moments) -> None:
        """Add rows in their clusters to the moments, in place; if `rows_by_cluster`."""
        raise NotImplementedError

    def similarity_squares(
        self, X: Matrix, labels: Labels, directions: Floats, weight: Floats
    ) -> Floats:
        """Part of `scatter` that needs the rows, (k, d); if `rows_by_cluster`."""
        raise NotImplementedError

    # ---------------------------------------------------------------- costs

    def forms(self) -> tuple[Floats, Floats, Floats] | None:
        """Slope (d, k), curve (d, k) or (0, 0) and bias (k,) of the costs; see `CostForm`."""
        raise NotImplementedError

    @property
    def shared_log_det(self) -> float:
        """What costs of rows leave out, the log determinant of a metric that all clusters share.

        It may be far larger than distances and would take their digits.
        """
        return 0.0 if self.per_cluster else float(self.log_det[0])

    def offsets(self) -> Floats:
        """Log determinants that are subtracted from the distances to each cluster, (k,)."""
        return self.log_det[self.group(np.arange(self.k))] - self.shared_log_det

    def distance_forms(self) -> tuple[Floats, Floats, Floats] | None:
        """`forms` in the scale of squared distances, in which Hamerly's bounds hold."""
        return self.forms()

    def own(self) -> Floats:
        """Weights of the squared features that costs in all clusters share, (d,) or (0,)."""
        return np.zeros(0)

    def distortion(self, moments: Moments) -> float:
        """Cost of all rows in their clusters."""
        raise NotImplementedError

    def regularizer(self) -> float:
        """Minus the logarithm of the prior of the metric."""
        return 0.0 if self.prior is None else self.prior.cost(self.metrics)

    # ---------------------------------------------------------------- updates

    def set_centers(self, centers: Floats) -> None:
        """Set all centers."""
        self.centers = np.array(centers, dtype=np.float64)

    def set_center(self, cluster: int, row: Floats) -> None:
        """Set one center to a row."""
        centers = self.centers.copy()
        centers[cluster] = row
        self.centers = centers

    def move_centers(self, moments: Moments) -> float:
        """Set centers to the means of their rows; returns the squared distance moved."""
        before = self.centers
        filled = moments.counts > 0
        means = before.copy()
        means[filled] = moments.sums[filled] / moments.counts[filled, None]
        self.set_centers(means)
        return float(((self.centers - before) ** 2).sum())

    def scatter(self, moments: Moments, assignments: HasSimilaritySquares) -> Floats:
        """Derivative of the distortion by the metrics, with centers and labels held."""
        raise NotImplementedError

    def weights(self, moments: Moments) -> Floats:
        """Weight of the rows under each metric."""
        return moments.counts if self.per_cluster else np.array([moments.counts.sum()])

    def proposal(self, slope: Floats, weights: Floats) -> Floats:
        """Metrics that should lower the objective, given its derivative (rows and links)."""
        raise NotImplementedError

    def _descended(self, slope: Floats, eta: float) -> Floats:
        """A gradient step; without a prior the weights keep their sum, as their scale is free."""
        if self.prior is not None:
            return step_down(self.metrics, slope + self.prior.slope(self.metrics), eta)
        found = step_down(self.metrics, slope, eta)
        return found * (found.shape[1] / found.sum(axis=1, keepdims=True))

    def set_metrics(self, metrics: Floats) -> None:
        """Set the metrics."""
        self.metrics = metrics

    def state(self) -> GeometryState:
        """What changes during a run."""
        return {"centers": self.centers, "metrics": self.metrics, "log_det": self.log_det}

    def restore(self, state: GeometryState) -> None:
        """Continue from such a state."""
        for name, value in state.items():
            setattr(self, name, value)

    def end_iteration(self) -> None:
        """Called after every iteration; a geometry may anneal."""

    @property
    def annealing_done(self) -> bool:
        """Whether `end_iteration` changes nothing any more."""
        return True

    # ---------------------------------------------------------------- links

    def bound(self) -> float | None:
        """Upper bound of `pairs`, if there is one."""
        return None

    def published_bound(self) -> tuple[Floats | float, Floats]:
        """The bound of the publication (per metric), and its derivative by the feature weights."""
        bound = self.bound()
        if bound is None:
            raise ValueError(f"{type(self).__name__} has no published bound; use bound='tight'")
        return bound, np.zeros(self.metrics.shape[1])

    def pairs(self, X: RowSlices, i: Ints, j: Ints) -> Floats:
        """phi: distances between rows i and j of X, (m,); with metrics per cluster (m, k)."""
        raise NotImplementedError

    def pair_slopes(self, X: RowSlices, i: Ints, j: Ints, weight: Floats, group: int = 0) -> Floats:
        """Weighted sum of the derivatives of phi by the feature weights of a group, (d,)."""
        raise NotImplementedError


# -------------------------------------------------------------------- prior and steps


class Rayleigh:
    """Rayleigh distribution of each weight: a / s^2 exp(-a^2 / 2 s^2) (Basu et al., 3.10, 3.26).

    The width s is the mode, the most likely weight. `weight` is that of minus the log density in
    the objective.

    Examples
    --------
    >>> import numpy as np
    >>> from linkwise.geometry import Rayleigh
    >>> prior = Rayleigh(width=2.0)
    >>> prior.slope(np.array([[1.0, 2.0, 4.0]])).tolist()
    [[-0.75, 0.0, 0.75]]
    """

    def __init__(self, width: float, weight: float = 1.0):
        self.width, self.weight = width, weight

    def cost(self, metrics: Floats) -> float:
        """Minus the log density, weighted; of matrices, only the diagonal has a prior."""
        a = _diagonals(metrics)
        s = self.width
        return self.weight * float((a**2 / (2 * s**2) - np.log(a) + 2 * np.log(s)).sum())

    def slope(self, metrics: Floats) -> Floats:
        """Derivative of `cost`, in the shape of the metrics."""
        a = _diagonals(metrics)
        slope = self.weight * (a / self.width**2 - 1 / a)
        return slope if metrics.ndim == 2 else slope[:, :, None] * np.eye(a.shape[1])

    def minimum(self, linear: Floats, count: Floats | float) -> Floats:
        """The weights at which linear a - count log a + cost(a) is least."""
        scale = self.width**2 / self.weight
        half = 0.5 * scale * linear
        product = scale * (np.asarray(count) + self.weight)
        root = np.sqrt(half**2 + product)
        # Two forms of one root of the quadratic: each is free of cancellation for its sign.
        return np.where(half > 0, product / (root + np.abs(half)), root - half)


def _diagonals(metrics: Floats) -> Floats:
    return metrics if metrics.ndim == 2 else np.diagonal(metrics, axis1=1, axis2=2)


def step_down(weights: Floats, slope: Floats, eta: float) -> Floats:
    """A gradient step that keeps weights positive and of the same order."""
    return np.clip(weights - eta * slope, _LEAST * weights, _MOST * weights)


# -------------------------------------------------------------------- rows


def refuse_zeros(size: Floats, why: str, what: str = "are zero in all features") -> None:
    """Raise if rows have length or sum 0, with the reason."""
    empty = np.flatnonzero(size == 0)
    if len(empty):
        raise ValueError(f"{len(empty)} rows {what} (the first is row {empty[0]}): {why}")


def divided(X: Matrix, by: Floats) -> Matrix:
    """Each row divided by its number, dense or CSR."""
    if not is_sparse(X):
        return (X / by[:, None]).astype(X.dtype)
    data = (X.data / np.repeat(by, np.diff(X.indptr))).astype(X.dtype)
    return sparse.csr_matrix((data, X.indices, X.indptr), shape=X.shape)
