"""RCA: a metric out of groups of rows that belong together, as a transformer."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from sklearn.utils.validation import _check_sample_weight

from linkwise._types import Floats, MatrixLike, SampleIds
from linkwise._validation import Knowable, check_choice, check_number
from linkwise.constraints import Constraints

from ._linear_metric import LinearMetric

_LEAST = 1e-10  # share of a feature's variance that may be rounding error
_TIE = 1e-6  # share of a unit variance that decides between equal criteria, far above rounding
# Least variance inside chunklets, as a share of that of the data. New rows may vary where no
# chunklet does: no direction counts more than 1 / sqrt(0.001), about 32 times, as much as another.
_FLOOR = 1e-3


class RCA(LinearMetric):
    """Relevant component analysis: scale down directions that vary inside known groups.

    Rows that must be together form *chunklets*. The covariance C of the rows about the means of
    their chunklets is irrelevant variation; the data is transformed by C^(-1/2), so that chunklets
    have unit variance in all directions. Euclidean distance of the result is the Mahalanobis
    distance with the metric C^(-1). With fewer components than features, those directions are kept
    in which the data varies most compared with its chunklets (Fisher's criterion).

    Parameters
    ----------
    n_components : int, default=None
        Number of dimensions of the result; all if None.
    shrinkage : "auto" or float, default="auto"
        Share s of a simpler covariance in the one that is used, (1 - s) C + s T: T is diagonal,
        the variances of the features in all the data times the mean share of them that C has.
        "auto" is that of an inverse-Wishart prior worth d + 1 rows, s = (d + 1) / (nu + d + 1)
        with nu the (weight of the) rows in chunklets less the number of chunklets. 0 is RCA as
        published, which needs chunklets that vary in all directions; otherwise no direction has
        less than a thousandth of its variance in all the data.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The transformation; rows of data are multiplied by its transpose.
    metric_ : ndarray of shape (n_features, n_features)
        The Mahalanobis metric: Euclidean distance of the result.
    mean_ : ndarray of shape (n_features,)
        Mean of the data, which is subtracted first.
    covariance_ : ndarray of shape (n_features, n_features)
        Covariance inside chunklets, before shrinkage.
    shrinkage_ : float
        The share s that was used.
    n_chunklets_ : int
        Number of chunklets of two rows or more.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    GPKMeans : Takes ``space=RCA(...)`` to spread constraints in.

    Notes
    -----
    Equation (2.10) of [2]_ calls the covariance itself the metric; it is its inverse. Only the
    rows in chunklets count there. If the chunklets have fewer rows than there are features, they do
    not vary in some directions, which the criterion above then prefers: reduce the dimensions with
    PCA first, as [1]_ advises. The inverse of a covariance of few rows is far too large along
    directions that the rows happen to leave out, which `shrinkage` mends.

    References
    ----------
    .. [1] A. Bar-Hillel, T. Hertz, N. Shental, D. Weinshall. Learning a Mahalanobis metric from
       equivalence constraints. JMLR 6, 2005.
    .. [2] E. Eaton. Clustering with propagated constraints. MSc thesis, UMBC 2005, (2.10).

    Examples
    --------
    >>> import numpy as np
    >>> from linkwise import RCA, Constraints
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 50)
    >>> X = np.column_stack([y + rng.normal(0, 0.1, 100), rng.normal(0, 3, 100)])
    >>> known = Constraints.from_labels(y, 40, random_state=0)
    >>> Z = RCA(n_components=1).fit_transform(X, constraints=known)
    >>> Z.shape
    (100, 1)
    >>> bool(abs(Z[y == 0].mean() - Z[y == 1].mean()) > 5 * Z[y == 0].std())
    True
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        shrinkage: float | Literal["auto"] = "auto",
    ):
        self.n_components = n_components
        self.shrinkage = shrinkage

    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        *,
        constraints: Knowable = None,
        sample_ids: SampleIds = None,
        sample_weight: ArrayLike | None = None,
    ) -> RCA:
        """Learn the transformation from rows that belong together.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data.
        y : array-like of shape (n_samples,), default=None
            Partial labels, -1 for unknown: rows of one label belong together.
        constraints : Constraints, DataFrame or path, default=None
            Must-links, and what follows from them, give the chunklets; others are ignored.
        sample_ids : array-like of shape (n_samples,), default=None
            Id of each row.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row in means and covariances.

        Returns
        -------
        self : object
            Fitted transformer.
        """
        X, known = self._read(X, y, constraints, sample_ids)
        n_samples, d = X.shape
        self._check_parameters(d)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        rows, chunklet = _chunklets(known)
        total = _covariance(X, np.zeros(n_samples, dtype=np.int64), weight)
        inner = _covariance(X[rows], chunklet, weight[rows])
        self.mean_ = np.average(X, axis=0, weights=weight)
        self.covariance_, self.n_chunklets_ = inner, int(chunklet.max()) + 1
        self.shrinkage_ = self._share(float(weight[rows].sum()) - self.n_chunklets_, d)
        self.components_ = self._solve(_shrunk(inner, total, self.shrinkage_), total)
        self._n_features_out = len(self.components_)
        return self

    def _check_parameters(self, n_features: int) -> None:
        if isinstance(self.shrinkage, str):
            check_choice("shrinkage", self.shrinkage, ("auto",))
        else:
            check_number("shrinkage", self.shrinkage, Real, 0)
            if self.shrinkage > 1:
                raise ValueError(f"shrinkage={self.shrinkage} must be at most 1")
        if self.n_components is None:
            return
        check_number("n_components", self.n_components, Integral, 1)
        if self.n_components > n_features:
            raise ValueError(
                f"n_components={self.n_components} should be <= n_features={n_features}"
            )

    def _share(self, n_free: float, d: int) -> float:
        """Weight of the simpler covariance, given the degrees of freedom."""
        if self.shrinkage == "auto":
            return (d + 1) / (max(n_free, 0.0) + d + 1)
        return float(self.shrinkage)

    def _solve(self, inner: Floats, total: Floats) -> Floats:
        """C^(-1/2); or, with fewer dimensions, the directions that stand out, whitened."""
        # In units in which every feature varies by one: what follows depends on no other units.
        unit = np.sqrt(np.where(np.diag(total) > 0, np.diag(total), 1.0))
        inner, total = inner / np.outer(unit, unit), total / np.outer(unit, unit)
        inner, is_floored = self._floored(inner, total)
        d = len(unit)
        if self.n_components in (None, d):
            return _inverse_root(inner * np.outer(unit, unit))
        # Directions in which the chunklets do not vary have equal criteria: prefer the widest of
        # them.
        compared = inner + _TIE * np.eye(d) if is_floored else inner
        vectors = linalg.eigh(total, compared)[1].T[::-1][: self.n_components]
        largest = np.take_along_axis(vectors, np.abs(vectors).argmax(axis=1)[:, None], axis=1)
        vectors = vectors * np.sign(largest)  # the same signs on every machine
        return _inverse_root(vectors @ inner @ vectors.T) @ vectors / unit

    def _floored(self, inner: Floats, total: Floats) -> tuple[Floats, bool]:
        """The covariance with no direction below its share of the total; whether any was."""
        values, vectors = linalg.eigh(total)
        # Where the data does not vary at all, as much as a feature does.
        total = (vectors * np.where(values > _LEAST, values, 1.0)) @ vectors.T
        shares, vectors = linalg.eigh(inner, total)  # v' total v = 1
        if self.shrinkage_ == 0:
            low = shares < len(shares) * _LEAST
            if low.any():
                raise ValueError(
                    f"the chunklets do not vary in {int(low.sum())} of {len(low)} directions, so "
                    "that their covariance has no inverse; give more of them, reduce the "
                    "dimensions first (PCA), or use shrinkage above 0"
                )
            return inner, False
        if shares[0] >= _FLOOR:
            return inner, False
        back = total @ vectors
        return (back * np.maximum(shares, _FLOOR)) @ back.T, True


def _shrunk(inner: Floats, total: Floats, share: float) -> Floats:
    """The covariance inside chunklets, shrunk towards the variances of all the data."""
    variance = np.diag(total)
    varies = variance > 0
    inside = float((np.diag(inner)[varies] / variance[varies]).mean()) if varies.any() else 1.0
    return (1 - share) * inner + share * inside * np.diag(variance)


def _inverse_root(covariance: Floats) -> Floats:
    values, vectors = linalg.eigh(covariance)
    return np.asarray((vectors / np.sqrt(values)) @ vectors.T)


def _chunklets(known: Constraints) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows in groups of two or more that must be together, and the group of each."""
    closure = known.closure()
    large = closure.sizes > 1
    if not large.any():
        raise ValueError(
            "RCA needs a group of at least two rows that must be together; give must-links, or "
            "labels of which one stands twice"
        )
    number = np.cumsum(large) - 1
    inside = large[closure.component]
    return closure.nodes[inside], number[closure.component[inside]]


def _covariance(X: NDArray, group: NDArray[np.int64], weight: Floats) -> Floats:
    """Weighted covariance of rows about the means of their groups."""
    totals = np.bincount(group, weight)
    sums = np.zeros((len(totals), X.shape[1]))
    np.add.at(sums, group, X * weight[:, None])
    away = X - (sums / np.maximum(totals, 1e-300)[:, None])[group]
    return (away * weight[:, None]).T @ away / max(float(weight.sum()), 1e-300)
