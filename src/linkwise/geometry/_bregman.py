"""Bregman divergences that are sums over features, with weights of the features.

    d(x, mu) = sum_m a_m [f(x_m) - f(mu_m) - f'(mu_m) (x_m - mu_m)]

for a convex f. They are linear in x beside a term of the row alone, and the mean of the rows is
the best center whatever f is. `Divergence` (f = x log x - x) is the I-divergence of Basu et al.
2006, (3.19); a user's own divergence needs `value` and `derivative`.

References
----------
.. [1] A. Banerjee, S. Merugu, I. S. Dhillon, J. Ghosh. Clustering with Bregman divergences.
   JMLR 6, 2005.
.. [2] S. Basu, M. Bilenko, A. Banerjee, R. J. Mooney. Probabilistic semi-supervised clustering
   with constraints. In Semi-Supervised Learning, MIT Press 2006.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ._divide import divided, refuse_zeros
from ._geometry import Geometry
from ._moments import Floats, Moments

_ETA = 0.08  # the step of the published experiments
_TINY = 1e-300
_BLOCK = 8192
_COOLING, _COLDEST = 0.5, 1e-3  # smoothing is halved after every iteration, down to this share


class Bregman(Geometry):
    """Base of the separable Bregman divergences; see `Geometry` for the parameters.

    A subclass supplies `value` and `derivative` of the convex function (elementwise), may check
    its domain in `admit`, and may say with `bound` how far apart two rows can be (else the
    farthest pair among some is taken). ``value(0)`` must be 0 for sparse rows.

    Parameters
    ----------
    smoothing : float, default=0.0
        Weight of a uniform row that is mixed into every center (3.23), at first. What it costs is
        part of the distortion. It is halved after every iteration.

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
        self.smoothing, self._coldest = smoothing, _COLDEST * smoothing
        self._known: tuple[Floats, Floats, Floats] | None = None  # tangents at which centers
        self._values: Floats | None = None  # weighted sum of f(x) over the rows, by feature

    def value(self, x: Floats) -> Floats:
        """The convex function, elementwise."""
        raise NotImplementedError

    def derivative(self, x: Floats) -> Floats:
        """Its derivative, elementwise."""
        raise NotImplementedError

    # ---------------------------------------------------------------- costs

    def row_terms(self, X: Any) -> Floats:
        """The rows' own terms."""
        return np.asarray(self._each(X) @ self.metrics[0]).ravel()

    def _each(self, X: Any) -> Any:
        """The convex function of every entry."""
        if not sparse.issparse(X):
            return self.value(np.asarray(X, dtype=np.float64))
        data = self.value(X.data.astype(np.float64))
        return sparse.csr_matrix((data, X.indices, X.indptr), shape=X.shape)

    def _tangents(self) -> tuple[Floats, Floats]:
        """Slope of f at the centers, and what the tangents there are at zero: (k, d) each."""
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

    def forms(self) -> tuple[Floats, Floats, Floats]:
        """Costs up to the rows' own terms."""
        weights = self.metrics[0]
        slope, at_zero = self._tangents()
        bias = (self._smoothing_costs() - at_zero) @ weights
        return -(slope * weights).T, np.zeros((0, 0)), bias

    def block_stats(self, X: Any, sample_weight: Floats) -> Floats:
        """What the rows' own terms add up to."""
        weight = sample_weight if sample_weight.size else np.ones(X.shape[0])
        total = np.zeros(X.shape[1])
        for start in range(0, X.shape[0], _BLOCK):
            part = slice(start, start + _BLOCK)
            total += np.asarray(self._each(X[part]).T @ weight[part]).ravel()
        return total

    def set_stats(self, seen: list[Floats]) -> None:
        """Add up the rows' own terms."""
        self._values = np.sum(seen, axis=0)

    def _by_feature(self, moments: Moments) -> Floats:
        assert self._values is not None
        slope, at_zero = self._tangents()
        rest = moments.counts @ (self._smoothing_costs() - at_zero)
        return self._values + rest - (slope * moments.sums).sum(axis=0)

    def distortion(self, moments: Moments) -> float:
        """Sum of the divergences of all rows, and what smoothing costs."""
        return float(self._by_feature(moments) @ self.metrics[0])

    # ---------------------------------------------------------------- updates

    def place(self, centers: Floats) -> None:
        """Mix the uniform row into the centers: equation (3.23) over the features."""
        self.centers = self._mixed(centers)

    def place_one(self, cluster: int, row: Floats) -> None:
        """Put one center at a row, mixed like the others."""
        super().place_one(cluster, self._mixed(row))

    def _mixed(self, centers: Floats) -> Floats:
        centers = np.asarray(centers, dtype=np.float64)
        return (centers + self.smoothing / centers.shape[-1]) / (1 + self.smoothing)

    def move_centers(self, moments: Moments) -> float:
        """Means of the rows; a cluster without any keeps its center."""
        before, empty = self.centers, moments.counts <= 0
        way = super().move_centers(moments)
        if not empty.any():
            return way
        centers = self.centers.copy()
        centers[empty] = before[empty]
        self.centers = centers
        return float(((self.centers - before) ** 2).sum())

    def scatter(self, moments: Moments, places: Any) -> Floats:
        """The distortion by feature: costs are linear in the weights."""
        return self._by_feature(moments)[None]

    def proposal(self, slope: Floats, weights: Floats) -> Floats:
        """A gradient step, or the minimum under the prior.

        Without prior the objective is linear in the weights and would have them vanish.
        """
        if self.prior is not None and self.eta == "exact":
            return self.prior.minimum(slope, 0.0)
        return self._descended(slope, self.eta if isinstance(self.eta, float) else _ETA)

    def state(self) -> dict[str, Any]:
        """What changes during a run."""
        return {**super().state(), "smoothing": self.smoothing}

    def end_iteration(self) -> None:
        """Smooth less."""
        self.smoothing = max(_COOLING * self.smoothing, self._coldest)

    @property
    def annealing_done(self) -> bool:
        """Whether smoothing has come down to its least."""
        return self.smoothing <= self._coldest

    # ---------------------------------------------------------------- links

    def _pair_terms(self, X: Any, i: NDArray, j: NDArray) -> Any:
        """Divergence of two rows from their mean, by feature: (m, d)."""
        a, b = X[i], X[j]
        return self._each(a) + self._each(b) - 2 * self._each((a + b) / 2)

    def pairs(self, X: Any, i: NDArray, j: NDArray) -> Floats:
        """Divergence of two rows from their mean, equation (3.20)."""
        return np.asarray(self._pair_terms(X, i, j) @ self.metrics[0]).ravel()

    def pair_slopes(self, X: Any, i: NDArray, j: NDArray, weight: Floats) -> Floats:
        """Weighted sum of the divergences by feature."""
        return np.asarray(self._pair_terms(X, i, j).T @ weight).ravel()


class Divergence(Bregman):
    """I-divergence between distributions: rows are made to sum to one (Basu et al., 3.19).

    Parameters
    ----------
    smoothing
        As in `Bregman`.

    Examples
    --------
    >>> from linkwise import HMRFKMeans
    >>> counts = [[8.0, 1.0, 1.0], [80.0, 9.0, 11.0], [1.0, 1.0, 9.0], [2.0, 1.0, 17.0]]
    >>> HMRFKMeans(2, distortion="divergence", random_state=0).fit_predict(counts).tolist()
    [1, 1, 0, 0]
    """

    def validate_rows(self, X: Any) -> Any:
        """Rows that sum to one; negative entries and rows of zeros are refused."""
        values = X.data if sparse.issparse(X) else X
        if values.min(initial=0) < 0:
            raise ValueError(
                "Negative values in data: the I-divergence compares distributions such as counts "
                'of words; use distortion="cosine" or "euclidean", or give counts'
            )
        total = np.asarray(X.sum(axis=1), dtype=np.float64).ravel()
        refuse_zeros(total, "they are no distributions; leave them out")
        return divided(X, total)

    def value(self, x: Floats) -> Floats:
        """The function x log x - x."""
        return x * np.log(np.maximum(x, _TINY)) - x

    def derivative(self, x: Floats) -> Floats:
        """Its derivative, log x."""
        return np.log(np.maximum(x, _TINY))

    def bound(self) -> float:
        """Two distributions are at most so far from their mean, while weights are one."""
        return 2 * float(np.log(2.0))

    def published_bound(self) -> tuple[float, Floats]:
        """Sum of the weights, as printed with (3.21)."""
        return float(self.metrics.sum()), np.ones(self.metrics.shape[1])
