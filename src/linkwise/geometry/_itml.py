"""ITML: the metric nearest to a given one that brings linked rows together, or apart."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from linkwise import _core
from linkwise._types import Floats, MatrixLike, RandomState, SampleIds, Seed
from linkwise._validation import (
    Knowable,
    check_choice,
    check_number,
    check_scale,
    read_data,
    read_knowledge,
    read_labels,
)
from linkwise.constraints import Constraints

from ._linear_metric import LinearMetric

_PAIRS = 10_000  # a sample in which the 5 % quantile rests on 500 pairs
_LEAST = 1e-10  # share of the largest eigenvalue of a covariance below which it is rounding


class ITML(LinearMetric):
    """Information-theoretic metric learning: the least change of a metric that fits the links.

    Finds the Mahalanobis metric A that has the least LogDet divergence from a prior metric A0, and
    under which must-linked rows are at most u apart (squared), cannot-linked rows at least l:

        min  D(A, A0) + sum_c gamma_c D(xi_c, xi0_c)
        s.t. d_A(x_i, x_j) <= xi_ij for must-links, >= xi_ij for cannot-links,

    with D(A, B) = tr(A B^-1) - log det(A B^-1) - d and slacks xi that start at u and l (equation
    (10) of [1]_). Each constraint in turn is met exactly by a correction of rank one (Bregman's
    method), until none changes anything.

    Parameters
    ----------
    gamma : float, default=1.0
        How much links count against the prior; times the weight of each link. Small values stay
        near the prior.
    prior : {"identity", "covariance"}, default="identity"
        The metric that is changed as little as possible: Euclidean distance (standardize first),
        or the inverse covariance of the data.
    quantiles : tuple of two floats, default=(0.05, 0.95)
        u and l: these quantiles of the squared distances between rows under the prior.
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

    _needs = "all rows (or a sample with the linked ones in it) in memory"

    def __init__(
        self,
        gamma: float = 1.0,
        *,
        prior: Literal["identity", "covariance"] = "identity",
        quantiles: tuple[float, float] = (0.05, 0.95),
        max_iter: int = 1000,
        tol: float = 1e-3,
        random_state: Seed = None,
    ):
        self.gamma = gamma
        self.prior = prior
        self.quantiles = quantiles
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
        self._check_parameters()
        given_X, X = X, read_data(self, X, accept_sparse=False)
        check_scale(X, dtype=np.float64)
        if X.shape[0] < 2:
            raise ValueError("n_samples=1: ITML needs at least two rows that are linked")
        known, _ = read_knowledge(constraints, X.shape[0], sample_ids, given_X)
        if (labels := read_labels(y, X.shape[0])) is not None:
            known = known + Constraints(labels=labels)
        if not known.n_must_link + known.n_cannot_link:
            raise ValueError("ITML needs must-links or cannot-links; give constraints or labels")
        rng = check_random_state(self.random_state)
        self.mean_ = X.mean(axis=0, dtype=np.float64)
        X = X.astype(np.float64) - self.mean_
        A = _prior(X, self.prior)
        self.bounds_ = _bounds(X, A, self.quantiles, rng)
        self.metric_ = self._project(A, X, known, rng)
        values, vectors = linalg.eigh(self.metric_)
        self.components_ = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        self._n_features_out = len(A)
        return self

    def _check_parameters(self) -> None:
        check_number("gamma", self.gamma, Real, 1e-12)
        check_choice("prior", self.prior, ("identity", "covariance"))
        check_number("max_iter", self.max_iter, Integral, 1)
        check_number("tol", self.tol, Real, 0)
        low, high = self.quantiles
        if not 0 <= low < high <= 1:
            raise ValueError(f"quantiles={self.quantiles} should be 0 <= low < high <= 1")

    def _project(self, A: Floats, X: Floats, known: Constraints, rng: RandomState) -> Floats:
        """Algorithm 1: pass over the links until none changes anything."""
        ends = np.concatenate([known.must_link, known.cannot_link]).astype(np.int64)
        weight = np.concatenate([known.must_link_weight, known.cannot_link_weight])
        order = rng.permutation(np.flatnonzero(weight > 0))
        is_must = order < known.n_must_link
        V = X[ends[order, 0]] - X[ends[order, 1]]
        gamma = self.gamma * weight[order].astype(np.float64)
        slack = np.where(is_must, *self.bounds_)
        dual, changes = np.zeros(len(order)), []
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


def _prior(X: Floats, kind: str) -> Floats:
    """A0: the identity, or the inverse of the covariance where the data varies at all."""
    d = X.shape[1]
    if kind == "identity":
        return np.eye(d)
    values, vectors = linalg.eigh(X.T @ X / len(X))
    floor = max(_LEAST * float(values[-1]), 1e-300)
    return np.asarray((vectors / np.maximum(values, floor)) @ vectors.T)


def _bounds(
    X: Floats, A: Floats, quantiles: tuple[float, float], rng: RandomState
) -> tuple[float, float]:
    """Quantiles (u, l) of the squared distances of pairs of rows that differ."""
    squared = _squared_distances(X, A, rng)
    if not squared.any():
        # Nearly all rows are equal: pairs of distinct rows have the distances to be compared.
        squared = _squared_distances(np.unique(X, axis=0), A, rng)
    squared = squared[squared > 0]
    if not len(squared):
        raise ValueError("all rows of X are the same, so that no metric can separate them")
    low, high = np.quantile(squared, quantiles)
    return float(low), float(high)


def _squared_distances(X: Floats, A: Floats, rng: RandomState) -> Floats:
    """Squared distances of all pairs of rows, or of a sample of pairs."""
    n = len(X)
    if n * (n - 1) // 2 <= _PAIRS:
        i, j = np.triu_indices(n, 1)
    else:
        i, j = rng.randint(n, size=(2, _PAIRS))
    away = X[i] - X[j]
    return np.einsum("ij,ij->i", away @ A, away)
