"""Squared Euclidean and Mahalanobis distances: given, or learned in closed form.

The cost of a row x in cluster c is

    (x - mu_c)' A (x - mu_c) - log det A

with A the identity, or a diagonal or full matrix, one for all clusters or one for each. Sums over
rows come from `Moments`, so that no pass over the data is needed for objectives and updates.

References
----------
.. [1] M. Bilenko, S. Basu, R. J. Mooney. Integrating constraints and metric learning in
   semi-supervised clustering. ICML 2004.
.. [2] E. Eaton. Clustering with propagated constraints. MSc thesis, UMBC 2005, equations
   (2.4)-(2.9).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from linkwise._types import Floats, Matrix, is_sparse

from ._geometry import Eta, Geometry, HasSimilaritySquares, Rayleigh, step_down
from ._moments import Moments

Metric = Literal["identity", "diagonal", "full"]
# Least variance of a category inside clusters, as a share of that in all the data: a category that
# every cluster keeps apart has none, and without a floor its weight would grow until the clusters
# copy it. Bounds the weight by 4; set by hand.
_CATEGORY_FLOOR = 0.25
_ROUNDING = 1e-12  # relative error of a difference of squares


def variances(total: Floats, total_weight: float, mean: Floats | None = None) -> Floats:
    """Variance of each feature, from sums of squares about the mean (or about zero)."""
    squares = (np.diag(total) if total.ndim == 2 else total) / max(total_weight, 1e-300)
    if mean is None:
        return np.maximum(squares, 0.0)
    # The difference for a constant feature is rounding error.
    return np.where(squares - mean**2 > _ROUNDING * squares, squares - mean**2, 0.0)


class Mahalanobis(Geometry):
    """Centers and metrics of a clustering, in coordinates relative to the mean of the data.

    Examples
    --------
    >>> import numpy as np
    >>> from linkwise.geometry import Mahalanobis
    >>> squares = np.array([10.0, 40.0])  # of ten rows, relative to their mean
    >>> geometry = Mahalanobis(2, squares, total_weight=10.0, metric="diagonal")
    >>> geometry.metrics.shape, geometry.per_cluster
    ((1, 2), False)
    """

    squared = True

    def __init__(
        self,
        n_clusters: int,
        total: Floats,
        total_weight: float,
        metric: Metric = "identity",
        per_cluster: bool = False,
        regularization: float = 1e-2,
        mean: Floats | None = None,
        prior: Rayleigh | None = None,
        eta: Eta = None,
        categories: Sequence[tuple[int, int]] = (),
    ):
        self.per_cluster = per_cluster
        self.n_groups = n_clusters if per_cluster else 1
        self.metric: Metric = metric
        self.total, self.total_weight = total, total_weight
        self.regularization = regularization
        variance = variances(total, total_weight, mean)
        d = len(variance)
        super().__init__(
            n_clusters, d, float(variance.mean()), learns=metric != "identity", prior=prior, eta=eta
        )
        # Nothing can be learned of a constant feature: its floor keeps its weight at 1.
        self.scale: Floats = np.where(variance > 0, variance, 1.0 / regularization)
        self._categories = tuple(categories)
        for start, stop in self._categories:
            group = slice(start, stop)
            floor = max(_CATEGORY_FLOOR / regularization, 1.0)
            self.scale[group] = floor * self.scale[group].mean()
        # Metrics as a diagonal (groups, d) or as matrices (groups, d, d).
        if metric == "full":
            self.metrics = np.broadcast_to(np.eye(d), (self.n_groups, d, d)).copy()

    @property
    def bounded(self) -> bool:  # type: ignore[override]
        """Whether all clusters share one diagonal metric (or the identity)."""
        return self.metrics.ndim == 2 and self.n_groups == 1

    @property
    def squares_shape(self) -> tuple[int, int, int]:  # type: ignore[override]
        """Second moments that blocks must keep for each cluster."""
        if not (self.learns and self.per_cluster):
            return (0, 0, 0)
        d = self.centers.shape[1]
        return (self.k, d if self.metric == "full" else 1, d)

    # ---------------------------------------------------------------- costs of rows

    def forms(self) -> tuple[Floats, Floats, Floats] | None:
        """Slope (d, k), curve (d, k) or (0, 0) and bias (k,) of the costs for the kernels.

        Terms that are equal for all clusters are left out. None for full metrics per cluster,
        whose costs have mixed terms.
        """
        mu = self.centers
        if self.metric == "full":
            if self.per_cluster:
                return None
            scaled = mu @ self.metrics[0]
        else:
            scaled = mu * self.metrics
        slope = -2.0 * scaled.T
        bias = (scaled * mu).sum(axis=1)
        if self.per_cluster and self.learns:
            return slope, self.metrics.T, bias - self.log_det
        return slope, np.zeros((0, 0)), bias

    def own(self) -> Floats:
        """The squared features, which costs in all clusters share under a shared metric."""
        return np.zeros(0) if self.per_cluster and self.learns else self.metrics[0]

    def factors(self) -> tuple[Floats, Floats, Floats]:
        """Costs under full metrics per cluster as squares: ``|F x - o|^2 + bias``.

        F'F = A (k, d, d), o = F mu (k, d), bias (k,).
        """
        try:
            lower = np.linalg.cholesky(self.metrics)
        except np.linalg.LinAlgError:  # positive definite only up to rounding
            values, vectors = np.linalg.eigh(self.metrics)
            lower = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
        factors: Floats = np.ascontiguousarray(lower.transpose(0, 2, 1), dtype=np.float64)
        offsets: Floats = np.einsum("kij,kj->ki", factors, self.centers)
        return factors, offsets, -self.log_det

    def distances(self, X: Floats) -> Floats:
        """Cost of every row of X (relative to the mean) in every cluster, (m, k)."""
        if self.metric == "full" and self.per_cluster:
            cost = np.empty((len(X), self.k))
            for c in range(self.k):
                away = X - self.centers[c]
                cost[:, c] = np.einsum("ij,ij->i", away @ self.metrics[c], away)
            return cost - self.log_det
        forms = self.forms()
        assert forms is not None
        slope, curve, bias = forms
        cost = X @ slope + bias
        if curve.size:
            return cost + (X * X) @ curve
        own = X @ self.metrics[0] if self.metric == "full" else X * self.metrics[0]
        return cost + (own * X).sum(axis=1)[:, None]

    def lengths(self, difference: Matrix) -> Floats:
        """Squared length of each difference under each metric, (m, groups)."""
        if is_sparse(difference):
            return np.asarray(difference.multiply(difference) @ self.metrics.T)
        if self.metric == "full":
            each = [np.einsum("ij,ij->i", difference @ A, difference) for A in self.metrics]
            return np.stack(each, axis=1)
        return (difference**2) @ self.metrics.T

    # ---------------------------------------------------------------- sums over rows

    def scatter(self, moments: Moments, assignments: HasSimilaritySquares | None = None) -> Floats:
        """Sum of (x - mu)(x - mu)' over the rows of each group: diagonals or matrices."""
        mu, counts, sums = self.centers, moments.counts, moments.sums
        if self.metric == "full" and self.per_cluster:
            cross = mu[:, :, None] * (0.5 * counts[:, None] * mu - sums)[:, None, :]
            return np.asarray(moments.squares + cross + cross.transpose(0, 2, 1))
        if self.metric == "full":
            cross = mu.T @ (0.5 * counts[:, None] * mu - sums)
            return np.asarray(self.total + cross + cross.T)[None]
        about = mu * (counts[:, None] * mu - 2 * sums)
        if self.per_cluster and self.learns:
            return moments.squares[:, 0] + about
        total = np.diag(self.total) if self.total.ndim == 2 else self.total
        return (total + about.sum(axis=0))[None]

    def distortion(self, moments: Moments) -> float:
        """Cost of all rows in their clusters."""
        spread = np.vdot(self.metrics, self.scatter(moments))
        return float(spread - np.vdot(self.weights(moments), self.log_det))

    # ---------------------------------------------------------------- updates

    def proposal(self, slope: Floats, weights: Floats) -> Floats:
        """Metrics that minimize tr(A S) - n log det A for given S: equation (2.7).

        Flooring S caps A; under that cap the result is still the exact minimizer, so the
        objective does not rise. A group without rows keeps its metric. With a prior or a gradient
        step, the objective of HMRF-KMeans is minimized instead.
        """
        metrics = self.metrics.copy()
        exact = not isinstance(self.eta, float)
        for g in np.flatnonzero(weights > 0):
            if exact and self.prior is None:
                metrics[g] = self._invert(slope[g] / weights[g])
            elif exact and self.prior is not None and metrics.ndim == 2:
                metrics[g] = self.prior.minimum(slope[g], weights[g])
            elif exact and self.prior is not None:
                # With the prior's slope held constant, the step to this minimum is still a descent.
                held = slope[g] + self.prior.slope(metrics[g : g + 1])[0]
                metrics[g] = self._invert(held / weights[g])
            else:
                metrics[g] = self._stepped(metrics[g], slope[g], weights[g])
        return metrics

    def _stepped(self, metric: Floats, slope: Floats, weight: float) -> Floats:
        """A gradient step (3.25) from one metric; matrices stay positive definite."""
        assert isinstance(self.eta, float)
        eta = self.eta
        slope = slope if self.prior is None else slope + self.prior.slope(metric[None])[0]
        if metric.ndim == 1:
            return step_down(metric, slope - weight / metric, eta)
        found = metric - eta * (slope - weight * np.linalg.inv(metric))
        values, vectors = np.linalg.eigh((found + found.T) / 2)
        least = np.linalg.eigvalsh(metric)[0] / 16
        return (vectors * np.maximum(values, least)) @ vectors.T

    def _invert(self, covariance: Floats) -> Floats:
        if covariance.ndim == 1:
            for start, stop in self._categories:  # one weight a minimizes a sum S - n log a
                group = slice(start, stop)
                covariance[group] = covariance[group].mean()
            return 1.0 / np.maximum(covariance, self.regularization * self.scale)
        root = np.sqrt(self.scale)
        values, vectors = np.linalg.eigh(covariance / np.outer(root, root))
        inverse = (vectors / np.maximum(values, self.regularization)) @ vectors.T
        return inverse / np.outer(root, root)

    def set_metrics(self, metrics: Floats) -> None:
        """Take over metrics."""
        self.metrics = metrics
        if metrics.ndim == 2:
            self.log_det = np.log(metrics).sum(axis=1)
        else:
            self.log_det = np.linalg.slogdet(metrics)[1]
