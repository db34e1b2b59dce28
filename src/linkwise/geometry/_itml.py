"""ITML: the metric nearest to a given one that brings linked rows together, or apart."""

from __future__ import annotations

import warnings
from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from linkwise import _core
from linkwise._types import Floats, MatrixLike, RandomState, SampleIds, Seed
from linkwise._validation import Knowable, check_number
from linkwise.constraints import Constraints

from ._linear_metric import LinearMetric

_PAIRS = 10_000  # a sample in which the 5 % quantile rests on 500 pairs
_QUANTILES = (0.05, 0.95)  # of the distances: u and l of section 5 of Davis et al.


class ITML(LinearMetric):
    """Information-theoretic metric learning: the least change of a metric that fits the links.

    Finds the Mahalanobis metric A that has the least LogDet divergence from Euclidean distance
    (standardize first), and under which must-linked rows are at most u apart (squared),
    cannot-linked rows at least l:

        min  D(A, I) + sum_c gamma_c D(xi_c, xi0_c)
        s.t. d_A(x_i, x_j) <= xi_ij for must-links, >= xi_ij for cannot-links,

    with D(A, B) = tr(A B^-1) - log det(A B^-1) - d and slacks xi that start at u and l, the
    quantiles .05 and .95 of the squared distances of rows (equation (10) of [1]_). Each constraint
    in turn is met exactly by a correction of rank one (Bregman's method), until none changes
    anything.

    Parameters
    ----------
    gamma : float, default=1.0
        How much links count against Euclidean distance; times the weight of each link. Small
        values stay near it.
    max_iter : int, default=1000
        The most passes over the links.
    tol : float, default=1e-3
        Stop when a pass changes the multipliers of the constraints by less than this share.
    random_state : int, RandomState instance or None, default=None
        Draws the pairs of rows whose distances have the quantiles, if there are more than 10,000,
        and the order of the links.

    Attributes
    ----------
    components_ : ndarray of shape (n_features, n_features)
        The transformation, the symmetric root of the metric.
    metric_ : ndarray of shape (n_features, n_features)
        The metric A.
    mean_ : ndarray of shape (n_features,)
        Mean of the data, which is subtracted first.
    bounds_ : tuple of two floats
        u and l.
    changes_ : ndarray of shape (n_iter,)
        Share by which each pass changed the multipliers; falls below `tol` on convergence.
    n_iter_ : int
        Passes over the links.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    RCA : From must-links alone, in closed form.

    Notes
    -----
    Step 3.4 of Algorithm 1 as printed projects onto a constraint for gamma = 1 only; the step
    here, (1 / p - 1 / xi) gamma / (gamma + 1), does so for any gamma, as the authors' code has it.
    One pass takes n_links x d^2 operations. No metric separates
    cannot-linked rows that are equal; such links are ignored.

    References
    ----------
    .. [1] J. V. Davis, B. Kulis, P. Jain, S. Sra, I. S. Dhillon. Information-theoretic metric
       learning. ICML 2007: problem (10), Algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from linkwise import ITML, Constraints
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 50)
    >>> X = np.column_stack([y + rng.normal(0, 0.1, 100), rng.normal(0, 1, 100)])
    >>> known = Constraints.from_labels(y, 40, random_state=0)
    >>> A = ITML(random_state=0).fit(X, constraints=known).metric_
    >>> bool(A[0, 0] > 5 * A[1, 1])
    True
    """

    def __init__(
        self,
        gamma: float = 1.0,
        *,
        max_iter: int = 1000,
        tol: float = 1e-3,
        random_state: Seed = None,
    ):
        self.gamma = gamma
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        *,
        constraints: Knowable = None,
        sample_ids: SampleIds = None,
    ) -> ITML:
        """Learn the metric from links.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data.
        y : array-like of shape (n_samples,), default=None
            Partial labels, -1 for unknown; they count as must-links and cannot-links.
        constraints : Constraints, DataFrame or path, default=None
            Must-links and cannot-links, with weights; others are not looked at.
        sample_ids : array-like of shape (n_samples,), default=None
            Id of each row.

        Returns
        -------
        self : object
            Fitted transformer.
        """
        check_number("gamma", self.gamma, Real, 1e-12)
        check_number("max_iter", self.max_iter, Integral, 1)
        check_number("tol", self.tol, Real, 0)
        X, known = self._read(X, y, constraints, sample_ids)
        if not known.n_must_link + known.n_cannot_link:
            raise ValueError("ITML needs must-links or cannot-links; give constraints or labels")
        rng = check_random_state(self.random_state)
        self.mean_ = X.mean(axis=0)
        self.bounds_ = _bounds(X, rng)
        self._take_root(self._project(X - self.mean_, known, rng))
        return self

    def _project(self, X: Floats, known: Constraints, rng: RandomState) -> Floats:
        """Algorithm 1: pass over the links until none changes anything."""
        ends = np.concatenate([known.must_link, known.cannot_link]).astype(np.int64)
        weight = np.concatenate([known.must_link_weight, known.cannot_link_weight])
        order = rng.permutation(np.flatnonzero(weight > 0))
        is_must = order < known.n_must_link
        V = X[ends[order, 0]] - X[ends[order, 1]]
        gamma = self.gamma * weight[order].astype(np.float64)
        slack = np.where(is_must, *self.bounds_)
        A, dual, changes = np.eye(X.shape[1]), np.zeros(len(order)), []
        for _ in range(self.max_iter):
            before = dual.copy()
            _core.itml_sweep(A, V, is_must, gamma, slack, dual)
            A = (A + A.T) / 2  # rounding of many steps must not add up
            size = np.linalg.norm(dual) + np.linalg.norm(before)
            changes.append(float(np.abs(dual - before).sum() / size) if size else 0.0)
            if changes[-1] <= self.tol:
                break
        else:
            warnings.warn(
                f"ITML did not converge in max_iter={self.max_iter} passes (the last changed the "
                f"multipliers by {changes[-1]:.2g}); raise max_iter or tol, or lower gamma",
                ConvergenceWarning,
                stacklevel=3,
            )
        self.changes_, self.n_iter_ = np.array(changes), len(changes)
        return A


def _bounds(X: Floats, rng: RandomState) -> tuple[float, float]:
    """Quantiles (u, l) of the squared distances of pairs of rows that differ."""
    squared = _squared_distances(X, rng)
    if not squared.any():
        # Nearly all rows are equal: pairs of distinct rows have the distances to be compared.
        squared = _squared_distances(np.unique(X, axis=0), rng)
    squared = squared[squared > 0]
    if not len(squared):
        raise ValueError("all rows of X are the same, so that no metric can separate them")
    low, high = np.quantile(squared, _QUANTILES)
    return float(low), float(high)


def _squared_distances(X: Floats, rng: RandomState) -> Floats:
    """Squared distances of all pairs of rows, or of a sample of pairs."""
    n = len(X)
    if n * (n - 1) // 2 <= _PAIRS:
        i, j = np.triu_indices(n, 1)
    else:
        i, j = rng.randint(n, size=(2, _PAIRS))
    return ((X[i] - X[j]) ** 2).sum(axis=1)
