"""Bregman divergences that are sums over features, with weights of the features.

    d(x, mu) = sum_m a_m [f(x_m) - f(mu_m) - f'(mu_m) (x_m - mu_m)]

for a convex f. Up to a term that depends on x alone they are linear in x, so that the kernels for
linear costs apply, and the mean of the rows is the best center for every f. With weights per
cluster that term differs from cluster to cluster, so that sums of f(x) are kept per cluster. Then
the weights of all clusters have the same sum: otherwise the cluster with the least weights would
be the nearest one of every row.

`Divergence` (f = x log x - x) is the I-divergence of Basu et al.
2006, (3.19); a user's own divergence needs `value` and `derivative`.

References
----------
.. [1] A. Banerjee, S. Merugu, I. S. Dhillon, J. Ghosh. Clustering with Bregman divergences.
   JMLR 6, 2005.
.. [2] S. Basu, M. Bilenko, A. Banerjee, R. J. Mooney. Probabilistic semi-supervised clustering
   with constraints. In Semi-Supervised Learning, MIT Press 2006.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from linkwise._types import Floats, Ints, Labels, Matrix, is_sparse

from ._geometry import (
    Geometry,
    GeometryState,
    HasSimilaritySquares,
    RowSlices,
    divided,
    refuse_zeros,
    step_down,
)
from ._moments import Moments, sums_by_cluster

_ETA = 0.08  # the step of the published experiments
_TINY = 1e-300
_BLOCK = 8192
_DECAY, _LEAST_SMOOTHING = 0.5, 1e-3  # smoothing is halved per iteration, down to this share


class Bregman(Geometry):
    """Base of the separable Bregman divergences; see `Geometry` for the parameters.

    A subclass supplies `value` and `derivative` of the convex function (elementwise), may check
    its domain in `validate_rows`, and may return an upper bound of `pairs` in `bound` (otherwise
    it is estimated from sampled pairs). ``value(0)`` must be 0 for sparse rows.

    Parameters
    ----------
    smoothing : float, default=0.0
        Initial weight of a uniform row that is mixed into every center (3.23). Its cost is part
        of the distortion, so that the objective still never rises. It is halved after every
        iteration.

    Examples
    --------
    The Itakura-Saito divergence, for positive data such as spectra:

    >>> import numpy as np
    >>> from linkwise import HMRFKMeans
    >>> from linkwise.geometry import Bregman
    >>> class ItakuraSaito(Bregman):
    ...     def value(self, x):
    ...         return -np.log(x)
    ...     def derivative(self, x):
    ...         return -1 / x
    >>> X = np.array([[1.0, 9.0], [1.2, 8.0], [9.0, 1.0], [8.0, 1.1]])
    >>> HMRFKMeans(2, distortion=ItakuraSaito, random_state=0).fit_predict(X).tolist()
    [1, 1, 0, 0]
    """

    def __init__(self, *args: Any, smoothing: float = 0.0, **options: Any):
        super().__init__(*args, **options)
        self.smoothing, self._least_smoothing = smoothing, _LEAST_SMOOTHING * smoothing
        self._known: tuple[Floats, Floats, Floats] | None = None  # centers, and tangents there
        self._values: Floats | None = None  # weighted sum of f(x) over the rows, by feature

    def value(self, x: Floats) -> Floats:
        """The convex function, elementwise.

        Parameters
        ----------
        x : ndarray
            Entries of rows.
        """
        raise NotImplementedError

    def derivative(self, x: Floats) -> Floats:
        """Its derivative, elementwise.

        Parameters
        ----------
        x : ndarray
            Entries of rows.
        """
        raise NotImplementedError

    # ---------------------------------------------------------------- costs

    def row_terms(self, X: Matrix) -> Floats:
        """f(x) of each row, weighted."""
        if self.per_cluster:
            return np.zeros(1)  # part of the costs
        return np.asarray(self._each(X) @ self.metrics[0]).ravel()

    def _each(self, X: Matrix) -> Matrix:
        """The convex function of every entry."""
        if not is_sparse(X):
            return self.value(np.asarray(X, dtype=np.float64))
        data = self.value(X.data.astype(np.float64))
        return sparse.csr_matrix((data, X.indices, X.indptr), shape=X.shape)

    def _tangents(self) -> tuple[Floats, Floats]:
        """Slope of f at the centers, and the value of the tangents at 0: (k, d) each."""
        if self._known is None or self._known[0] is not self.centers:
            slope = self.derivative(self.centers)
            self._known = self.centers, slope, self.value(self.centers) - slope * self.centers
        return self._known[1:]

    def _smoothing_costs(self) -> Floats:
        """Divergence of the uniform row from each center, by feature, times its weight: (k, d)."""
        if not self.smoothing:
            return np.zeros_like(self.centers)
        slope, at_zero = self._tangents()
        uniform = np.full(self.centers.shape[1], 1.0 / self.centers.shape[1])
        return self.smoothing * (self.value(uniform) - at_zero - slope * uniform)

    def _linear(self) -> tuple[Floats, Floats]:
        """Costs up to f(x): factor of each entry (d, k), and constant (k,)."""
        slope, at_zero = self._tangents()
        bias = ((self._smoothing_costs() - at_zero) * self.metrics).sum(axis=1)
        return -(slope * self.metrics).T, bias

    def forms(self) -> tuple[Floats, Floats, Floats] | None:
        """Costs up to f(x); None with weights per cluster."""
        if self.per_cluster:
            return None
        slope, bias = self._linear()
        return slope, np.zeros((0, 0)), bias

    # ---------------------------------------------------------------- rows by cluster

    @property
    def squares_shape(self) -> tuple[int, int, int]:  # type: ignore[override]
        """With weights per cluster, sums of f(x) take the place of sums of squares."""
        return (self.k, 1, self.centers.shape[1]) if self.per_cluster else (0, 0, 0)

    def costs(self, X: Matrix) -> Floats:
        """Divergence from each center under its weights, and what smoothing costs, (m, k)."""
        slope, bias = self._linear()
        return np.asarray(self._each(X) @ self.metrics.T) + np.asarray(X @ slope) + bias

    def add_rows(self, X: Matrix, labels: Labels, weight: Floats, moments: Moments) -> None:
        """Add rows and their f(x) to the moments of their clusters."""
        moments.counts[:] += np.bincount(labels, weight, minlength=self.k)
        moments.sums[:] += sums_by_cluster(X, labels, weight, self.k)
        moments.squares[:, 0] += sums_by_cluster(self._each(X), labels, weight, self.k)

    # ---------------------------------------------------------------- sums over rows

    def block_stats(self, X: Matrix, sample_weight: Floats) -> Floats:
        """Weighted sum of f(x) per feature."""
        weight = sample_weight if sample_weight.size else np.ones(X.shape[0])
        total = np.zeros(X.shape[1])
        for start in range(0, X.shape[0], _BLOCK):
            part = slice(start, start + _BLOCK)
            total += np.asarray(self._each(X[part]).T @ weight[part]).ravel()
        return total

    def set_stats(self, stats: Sequence[Floats]) -> None:
        """Add up f(x) of all rows."""
        self._values = np.sum(stats, axis=0)

    def _by_feature(self, moments: Moments) -> Floats:
        """The distortion by metric and feature if all weights are one, (groups, d)."""
        slope, at_zero = self._tangents()
        rest = moments.counts[:, None] * (self._smoothing_costs() - at_zero) - slope * moments.sums
        if self.per_cluster:
            return moments.squares[:, 0] + rest
        assert self._values is not None
        return (self._values + rest.sum(axis=0))[None]

    def distortion(self, moments: Moments) -> float:
        """Sum of the divergences of all rows, and what smoothing costs."""
        return float((self._by_feature(moments) * self.metrics).sum())

    # ---------------------------------------------------------------- updates

    def set_centers(self, centers: Floats) -> None:
        """Mix the uniform row into the centers: equation (3.23) over the features."""
        self.centers = self._mixed(centers)

    def set_center(self, cluster: int, row: Floats) -> None:
        """Put one center at a row, mixed like the others."""
        super().set_center(cluster, self._mixed(row))

    def _mixed(self, centers: Floats) -> Floats:
        centers = np.asarray(centers, dtype=np.float64)
        return (centers + self.smoothing / centers.shape[-1]) / (1 + self.smoothing)

    def move_centers(self, moments: Moments) -> float:
        """Means of the rows; a cluster without any keeps its center."""
        before, empty = self.centers, moments.counts <= 0
        shift = super().move_centers(moments)
        if not empty.any():
            return shift
        centers = self.centers.copy()
        centers[empty] = before[empty]
        self.centers = centers
        return float(((self.centers - before) ** 2).sum())

    def scatter(self, moments: Moments, assignments: HasSimilaritySquares) -> Floats:
        """The distortion by feature: costs are linear in the weights."""
        return self._by_feature(moments)

    def proposal(self, slope: Floats, weights: Floats) -> Floats:
        """A gradient step, or the minimum under the prior.

        Without a prior the objective is linear in the weights, and its minimum would be at 0.
        """
        eta = self.eta if isinstance(self.eta, float) else _ETA
        if self.per_cluster and self.prior is not None:
            return self._level(slope + self.prior.slope(self.metrics), eta)
        if self.prior is not None and self.eta == "exact":
            return self.prior.minimum(slope, 0.0)
        return self._descended(slope, eta)

    def _level(self, slope: Floats, eta: float) -> Floats:
        """A gradient step after which the weights of all clusters have the same sum."""
        # Along this slope the sums change by the same amount: still a descent among such weights.
        slope = slope - slope.mean(axis=1, keepdims=True) + slope.mean()
        found = step_down(self.metrics, slope, eta)
        sums = found.sum(axis=1, keepdims=True)
        return found * (sums.mean() / sums)

    def state(self) -> GeometryState:
        """What changes during a run."""
        return {**super().state(), "smoothing": self.smoothing}

    def end_iteration(self) -> None:
        """Halve the smoothing."""
        self.smoothing = max(_DECAY * self.smoothing, self._least_smoothing)

    @property
    def annealing_done(self) -> bool:
        """Whether smoothing has reached its minimum."""
        return self.smoothing <= self._least_smoothing

    # ---------------------------------------------------------------- links

    def _pair_terms(self, X: RowSlices, i: Ints, j: Ints) -> Matrix:
        """Divergence of two rows from their mean, by feature: (m, d)."""
        a, b = X[i], X[j]
        return self._each(a) + self._each(b) - 2 * self._each((a + b) / 2)

    def pairs(self, X: RowSlices, i: Ints, j: Ints) -> Floats:
        """Divergence of two rows from their mean, equation (3.20)."""
        phi = np.asarray(self._pair_terms(X, i, j) @ self.metrics.T)
        return phi if self.per_cluster else phi.ravel()

    def pair_slopes(self, X: RowSlices, i: Ints, j: Ints, weight: Floats, group: int = 0) -> Floats:
        """Weighted sum of the divergences by feature."""
        return np.asarray(self._pair_terms(X, i, j).T @ weight).ravel()


class Divergence(Bregman):
    """I-divergence between distributions: rows are made to sum to one (Basu et al., 3.19).

    Examples
    --------
    >>> from linkwise import HMRFKMeans
    >>> counts = [[8.0, 1.0, 1.0], [80.0, 9.0, 11.0], [1.0, 1.0, 9.0], [2.0, 1.0, 17.0]]
    >>> HMRFKMeans(2, distortion="divergence", random_state=0).fit_predict(counts).tolist()
    [1, 1, 0, 0]
    """

    def validate_rows(self, X: Matrix) -> Matrix:
        """Rows that sum to one; negative entries and rows of zeros are refused."""
        values = X.data if is_sparse(X) else X
        if values.min(initial=0) < 0:
            raise ValueError(
                "Negative values in data: the I-divergence compares distributions such as counts "
                'of words; use distortion="cosine" or "euclidean", or give counts'
            )
        total = np.asarray(X.sum(axis=1), dtype=np.float64).ravel()
        refuse_zeros(total, "they are not distributions; leave them out")
        return divided(X, total)

    def value(self, x: Floats) -> Floats:
        """The function x log x - x."""
        return x * np.log(np.maximum(x, _TINY)) - x

    def derivative(self, x: Floats) -> Floats:
        """Its derivative, log x."""
        return np.log(np.maximum(x, _TINY))

    def bound(self) -> float:
        """The largest divergence of two distributions from their mean if all weights are one."""
        return 2 * float(np.log(2.0))

    def published_bound(self) -> tuple[Floats, Floats]:
        """Sum of the weights, as printed with (3.21)."""
        return self.metrics.sum(axis=1), np.ones(self.metrics.shape[1])
