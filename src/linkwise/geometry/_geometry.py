"""What the loop asks of a geometry: centers, the costs they give rows, and updates.

Costs are linear or quadratic in the row, so that one pair of kernels serves every geometry; sums
over rows come from `Moments`, so that objectives and updates need no pass over the data.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ._moments import Floats, Moments
from ._prior import Rayleigh, step_down

Eta = float | Literal["exact"] | None


class Geometry:
    """Base of the geometries: one diagonal metric (weights of the features) for all clusters.

    Parameters
    ----------
    n_clusters : int
    n_features : int
    mean_variance : float
        Mean variance of the features; centers that move by a small share of it have come to rest.
    learns : bool, default=False
        Whether the weights are learnt.
    prior : Rayleigh, default=None
    eta : float or "exact", default=None
        Step of the gradient, or the minimum in closed form where there is one. None is for the
        geometry to choose.

    Attributes
    ----------
    centers : ndarray of shape (k, d)
    metrics : ndarray of shape (groups, d) or (groups, d, d)
    log_det : ndarray of shape (groups,)
        What is taken off a row's cost under each metric.

    Examples
    --------
    Distortions are classes, given to a method by name or as such:

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
    bounded = False  # `distance_forms` are squared distances under one diagonal metric
    squared = False  # costs are squares of distances
    scales_rows = False  # rows are divided by lengths that change with the metric
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
    ):
        self.k, self.mean_variance = n_clusters, mean_variance
        self.learns, self.prior, self.eta = learns, prior, eta
        self.centers: Floats = np.zeros((n_clusters, n_features))
        self.metrics: Floats = np.ones((self.n_groups, n_features))
        self.log_det: Floats = np.zeros(self.n_groups)

    def group(self, clusters: NDArray) -> NDArray:
        """Which metric each cluster uses."""
        return clusters if self.per_cluster else np.zeros_like(clusters)

    # ---------------------------------------------------------------- rows

    def validate_rows(self, X: Any) -> Any:
        """Rows as this geometry takes them; refuses what is outside its domain."""
        return X

    def block_stats(self, X: Any, sample_weight: Floats) -> Any:
        """What must be known about admitted rows, told by some of them."""

    def set_stats(self, seen: list[Any]) -> None:
        """Learn what `block_stats` saw in all parts of the data; called once, before anything."""

    def scaled(self, X: Any, map_ranges: Any = None, out: Any = None) -> Any:
        """Admitted rows divided by their lengths under the metric, where `scales_rows`.

        `map_ranges(work)` calls ``work(start, stop)`` for ranges of rows, in threads if it can.
        `out` is an earlier result, whose memory may be used again.
        """
        return X

    def row_terms(self, X: Any) -> Floats | float:
        """What the costs of each row lack beside `forms` and `own`: the same in all clusters."""
        return 0.0

    # ---------------------------------------------------------------- costs

    def forms(self) -> tuple[Floats, Floats, Floats] | None:
        """Slope (d, k), curve (d, k) or (0, 0) and bias (k,) of the costs for the kernels."""
        raise NotImplementedError

    def distance_forms(self) -> tuple[Floats, Floats, Floats] | None:
        """`forms` in the scale of squared distances, in which the bounds of k-means hold."""
        return self.forms()

    def own(self) -> Floats:
        """Weights of the squares that a row's cost has in all clusters alike, (d,) or (0,)."""
        return np.zeros(0)

    def distortion(self, moments: Moments) -> float:
        """Cost of all rows in their clusters."""
        raise NotImplementedError

    def regularizer(self) -> float:
        """Minus the logarithm of the prior of the metric."""
        return 0.0 if self.prior is None else self.prior.cost(self.metrics)

    # ---------------------------------------------------------------- updates

    def place(self, centers: Floats) -> None:
        """Start from given centers."""
        self.centers = np.array(centers, dtype=np.float64)

    def place_one(self, cluster: int, row: Floats) -> None:
        """Put one center at a row."""
        centers = self.centers.copy()
        centers[cluster] = row
        self.centers = centers

    def move_centers(self, moments: Moments) -> float:
        """Put centers where their rows cost least; returns the squared way they went."""
        before = self.centers
        filled = moments.counts > 0
        means = before.copy()
        means[filled] = moments.sums[filled] / moments.counts[filled, None]
        self.place(means)
        return float(((self.centers - before) ** 2).sum())

    def scatter(self, moments: Moments, places: Any) -> Floats:
        """Derivative of the distortion by the metrics, centers and labels held."""
        raise NotImplementedError

    def weights(self, moments: Moments) -> Floats:
        """Weight of the rows of each group."""
        return moments.counts if self.per_cluster else np.array([moments.counts.sum()])

    def proposal(self, slope: Floats, weights: Floats) -> Floats:
        """Metrics that should cost less, given the derivative of rows and links."""
        raise NotImplementedError

    def _descended(self, slope: Floats, eta: float) -> Floats:
        """A gradient step; without a prior the weights keep their sum, which fixes their scale."""
        if self.prior is not None:
            return step_down(self.metrics, slope + self.prior.slope(self.metrics), eta)
        found = step_down(self.metrics, slope, eta)
        return found * (found.size / found.sum())

    def set_metrics(self, metrics: Floats) -> None:
        """Take over metrics."""
        self.metrics = metrics

    def state(self) -> dict[str, Any]:
        """What changes during a run."""
        return {"centers": self.centers, "metrics": self.metrics, "log_det": self.log_det}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from such a state."""
        for name, value in state.items():
            setattr(self, name, value)

    def end_iteration(self) -> None:
        """One iteration is over."""

    @property
    def annealing_done(self) -> bool:
        """Whether `cool` changes nothing any more."""
        return True

    # ---------------------------------------------------------------- links

    def bound(self) -> float | None:
        """The most that `pairs` can give, if it is known."""
        return None

    def published_bound(self) -> tuple[float, Floats]:
        """The bound of the publication, and its derivative by the weights of the features."""
        bound = self.bound()
        if bound is None:
            raise ValueError(f"{type(self).__name__} has no published bound; use bound='tight'")
        return bound, np.zeros(self.metrics.shape[1])

    def pairs(self, X: Any, i: NDArray, j: NDArray) -> Floats:
        """phi: how far apart rows i and j of X are."""
        raise NotImplementedError

    def pair_slopes(self, X: Any, i: NDArray, j: NDArray, weight: Floats) -> Floats:
        """Weighted sum of the derivatives of phi by the weights of the features, (d,)."""
        raise NotImplementedError
