"""A diagonal metric out of comparisons: "a is closer to b than to c"."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_random_state
from sklearn.utils.random import sample_without_replacement
from sklearn.utils.validation import check_is_fitted

from linkwise._types import Floats, Ints, MatrixLike, RandomState, SampleIds, Seed
from linkwise._validation import (
    Knowable,
    check_number,
    check_scale,
    read_data,
    read_labels,
    read_named,
    read_new_rows,
)
from linkwise.constraints import Closure, Constraints


class ComparisonMetric(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Learn how much each feature counts from comparisons of distances.

    Weights w >= 0 minimize ``1/2 |w|^2 + C sum(xi)`` with one slack per comparison: "a is closer
    to b than to c" asks for ``w . [(a - c)^2 - (a - b)^2] >= 1 - xi``. A relative constraint ab|c
    is two of them, from a and from b. `transform` scales the features by sqrt(w), so that plain
    Euclidean methods (`ReCon`, k-means) work in the learned metric.

    Parameters
    ----------
    C : float, default=1.0
        Cost of a comparison that is not met, times its weight; above 0.
    max_comparisons : int, default=10_000
        Pairwise constraints become comparisons: i and j together and i and k apart is "i is
        closer to j than to k", for all that follows from them. A random sample is
        taken if there are more than this.
    tol : float, default=1e-6
        Stop when the duality gap is below this share of the objective.
    max_iter : int, default=200
        The most steps of the interior-point method.
    random_state : int, RandomState instance or None, default=None
        Seed of that sample.

    Attributes
    ----------
    weights_ : ndarray of shape (n_features,)
        Weight of each squared difference; all 1 if there is nothing to learn from.
    n_comparisons_ : int
        Number of comparisons.
    share_met_ : float
        Share of them that the metric meets (without a margin).
    met_ : Constraints
        Relative constraints of which the metric meets both comparisons. Of triplets of which some
        are wrong, most of the wrong ones are not among them (section 6 of [2]_).
    duality_gap_ : float
        How far the objective may be above the least possible.
    n_iter_ : int
        Steps taken.

    See Also
    --------
    ReCon : Satisfies triplets in a hierarchy.
    RCA : A metric from groups.
    ITML : A metric from pairs.

    Notes
    -----
    The penalty on w makes the metric depend on the units of the features: standardize them first
    unless they are alike. Solved exactly by a primal-dual interior-point method, O(m d^2) a step
    for m comparisons and d features.

    References
    ----------
    .. [1] M. Schultz, T. Joachims. Learning a distance metric from relative comparisons. NIPS
       2003; with A = I.
    .. [2] E. Y. Liu, Z. Zhang, W. Wang. Clustering with relative constraints. KDD 2011, section 5,
       where it is compared with.

    Examples
    --------
    >>> from linkwise import ComparisonMetric, Constraints
    >>> X = [[0.0, 0.0], [0.0, 5.0], [1.0, 0.0], [1.0, 5.0]]
    >>> known = Constraints(relative=[(0, 1, 2), (2, 3, 0)])  # the second feature is noise
    >>> ComparisonMetric(C=10.0).fit(X, constraints=known).weights_.round(3).tolist()
    [1.0, 0.0]
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        max_comparisons: int = 10_000,
        tol: float = 1e-6,
        max_iter: int = 200,
        random_state: Seed = None,
    ):
        self.C = C
        self.max_comparisons = max_comparisons
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        *,
        constraints: Knowable = None,
        sample_ids: SampleIds = None,
    ) -> ComparisonMetric:
        """Learn the weights of the features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data.
        y : array-like of shape (n_samples,), default=None
            Partial labels, -1 for unknown; taken as pairwise constraints.
        constraints : Constraints, DataFrame or path, default=None
            Relative constraints, must-links and cannot-links. By row number, or by id when
            `sample_ids` is given or X is a DataFrame with an index.
        sample_ids : array-like of shape (n_samples,), default=None
            Id of each row.

        Returns
        -------
        self : object
            Fitted transformer.
        """
        check_number("C", self.C, Real, 0)
        if self.C == 0:
            raise ValueError("C=0 must be above 0: with C=0 no comparison has any effect")
        check_number("max_comparisons", self.max_comparisons, Integral, 0)
        check_number("max_iter", self.max_iter, Integral, 1)
        check_number("tol", self.tol, Real, 0)
        given, X = X, read_data(self, X, accept_sparse=False)
        check_scale(X, dtype=np.float64)
        known, _, ids = read_named(constraints, X.shape[0], sample_ids, given)
        labels = read_labels(y, X.shape[0])
        if labels is not None and (labels >= 0).any():
            known = known + Constraints(labels=labels)
        rng = check_random_state(self.random_state)
        triples, weight = comparisons(known, self.max_comparisons, rng)
        gains = _gains(np.asarray(X, dtype=np.float64), triples)
        self.n_comparisons_ = len(triples)
        self._learn(gains, self.C * weight)
        met = gains @ self.weights_ > 0
        self.share_met_ = float(met.mean()) if len(gains) else 1.0
        n = known.n_relative  # two comparisons each, which come first
        both = known._relative.take(met[:n] & met[n : 2 * n])
        self.met_ = known._like(relative=both)._by_id(ids)
        return self

    def _learn(self, gains: Floats, cost: Floats) -> None:
        if not len(gains) or not cost.any():
            self.weights_, self.duality_gap_, self.n_iter_ = np.ones(gains.shape[1]), 0.0, 0
            return
        found = solve(gains, cost, self.tol, self.max_iter)
        self.weights_, self.duality_gap_, self.n_iter_ = found.weights, found.gap, found.n_iter
        if found.gap > self.tol * max(1e-300, abs(found.objective)):
            warnings.warn(
                f"ComparisonMetric did not converge in max_iter={self.max_iter} steps (duality "
                f"gap {found.gap:.2g}); raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=3,
            )
        if not self.weights_.any():
            warnings.warn(
                "ComparisonMetric: no feature meets the comparisons better than chance, so that "
                "all weights are 0; these features do not explain the comparisons",
                UserWarning,
                stacklevel=3,
            )

    def transform(self, X: MatrixLike) -> NDArray:
        """The features scaled by the square roots of their weights.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        X = read_new_rows(self, X, accept_sparse=False)
        return X * np.sqrt(self.weights_).astype(X.dtype)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


# -------------------------------------------------------------------- comparisons


def comparisons(known: Constraints, most: int, rng: RandomState) -> tuple[Ints, Floats]:
    """Rows (a, b, c), read "a is closer to b than to c", and their weights.

    Two out of every relative constraint, and up to `most` out of must- and cannot-links.
    """
    a, b, c = known.relative.T
    relative = np.concatenate([np.column_stack([a, b, c]), np.column_stack([b, a, c])])
    pairs = _from_pairs(known.closure(), most, rng)
    weight = np.concatenate([np.tile(known.relative_weight, 2), np.ones(len(pairs))])
    return np.concatenate([relative, pairs]), weight


def _from_pairs(closure: Closure, most: int, rng: RandomState) -> Ints:
    """Rows (i, j, k): i and j of one component, k of a component apart from it."""
    if not len(closure.cannot_link):
        return np.zeros((0, 3), dtype=np.int64)
    inside, outside = np.concatenate([closure.cannot_link, closure.cannot_link[:, ::-1]]).T
    size = closure.sizes
    ends = np.cumsum(size[inside] * (size[inside] - 1) * size[outside])
    total = int(ends[-1])
    rank = np.arange(total)
    if total > most:
        rank = sample_without_replacement(total, most, random_state=rng).astype(np.int64)
    pair = np.searchsorted(ends, rank, side="right")
    rank = rank - np.append(0, ends)[pair]
    rows = closure.nodes[closure.by_component]
    starts = np.cumsum(size) - size
    rank, k = np.divmod(rank, size[outside[pair]])
    i, j = np.divmod(rank, size[inside[pair]] - 1)
    j += j >= i
    first = starts[inside[pair]]
    return np.column_stack([rows[first + i], rows[first + j], rows[starts[outside[pair]] + k]])


def _gains(X: Floats, triples: Ints) -> Floats:
    """(a - c)^2 - (a - b)^2 of each comparison."""
    a, b, c = (X[column] for column in triples.T)
    return (a - c) ** 2 - (a - b) ** 2


# -------------------------------------------------------------------- the quadratic program


class Learnt(NamedTuple):
    """Weights, the objective there, how far it may be above the least, and steps taken."""

    weights: Floats
    objective: float
    gap: float
    n_iter: int


class _Point(NamedTuple):
    """A point of the interior: v, xi and the rest r = Z v + xi - 1, and a multiplier for each."""

    v: Floats
    xi: Floats
    r: Floats
    beta: Floats
    eta: Floats
    alpha: Floats


def solve(gains: Floats, cost: Floats, tol: float = 1e-6, max_iter: int = 200) -> Learnt:
    """Minimize 1/2 |w|^2 + cost . xi with gains w >= 1 - xi, xi >= 0, w >= 0.

    In units in which every column of the gains has a largest entry of 1, which spares the steps
    the features' own units. The dual, sum(alpha) - 1/2 |max(0, gains' alpha)|^2 with 0 <= alpha
    <= cost, proves how good the result is.
    """
    scale = np.abs(gains).max(axis=0)
    scale[scale == 0] = 1.0
    Z, Q = gains / scale, 1 / scale**2
    m, d = Z.shape
    half = cost / 2
    point = _Point(np.full(d, 0.1), np.ones(m), np.ones(m), np.full(d, 0.1), half, half.copy())
    best = _judge(gains, cost, np.zeros(d), np.zeros(m), 0)
    for step in range(1, max_iter + 1):
        try:
            point = _step(Z, Q, cost, point)
        except LinAlgError:  # as near as floating point comes
            break
        found = _judge(gains, cost, point.v / scale, point.alpha, step)
        if found.gap < best.gap:
            best = found
        if best.gap <= tol * abs(best.objective) or not np.isfinite(found.gap):
            break
    if cost.sum() <= best.objective * (1 + tol):  # no weights are as good as these
        return best._replace(weights=np.zeros(d))
    return best


def _judge(gains: Floats, cost: Floats, w: Floats, alpha: Floats, step: int) -> Learnt:
    """The objective at w, and the gap to the dual at alpha brought into its bounds."""
    w = np.where(w > 1e-9 * w.max(initial=0.0), w, 0.0)
    primal = w @ w / 2 + cost @ np.maximum(0.0, 1 - gains @ w)
    alpha = np.clip(alpha, 0.0, cost)
    dual = alpha.sum() - (np.maximum(0.0, gains.T @ alpha) ** 2).sum() / 2
    return Learnt(w, float(primal), float(primal - dual), step)


def _step(Z: Floats, Q: Floats, cost: Floats, p: _Point) -> _Point:
    """One step of Mehrotra's predictor and corrector.

    The predictor aims at products of 0. The products that remain after its step set the centering;
    the corrector adds the second-order terms that the predictor neglects.
    """
    D = p.xi / p.eta + p.r / p.alpha
    system = cho_factor((Z.T / D) @ Z + np.diag(Q + p.beta / p.v))
    aim = _direction(Z, Q, cost, p, D, system, (0.0, 0.0, 0.0))
    n_products = len(Q) + 2 * len(cost)
    mu = _products(p).sum() / n_products
    ahead = _products(_moved(p, aim)).sum() / n_products
    center = mu * (ahead / mu) ** 3
    goals = tuple(center - x * y for x, y in zip(aim[:3], aim[3:], strict=True))
    return _moved(p, _direction(Z, Q, cost, p, D, system, goals))


def _products(p: _Point) -> Floats:
    return np.concatenate([p.v * p.beta, p.xi * p.eta, p.r * p.alpha])


def _direction(
    Z: Floats,
    Q: Floats,
    cost: Floats,
    p: _Point,
    D: Floats,
    system: tuple[Floats, bool],
    goals: tuple[Floats | float, ...],
) -> _Point:
    """Newton's direction towards products v beta, xi eta, r alpha of `goals`.

    All unknowns but v are eliminated, which leaves a system of n_features equations.
    """
    of_v, of_xi, of_r = goals
    r_dual = Q * p.v - Z.T @ p.alpha - p.beta
    r_slack = cost - p.alpha - p.eta
    r_primal = Z @ p.v + p.xi - p.r - 1
    h = -r_primal - ((of_xi - p.xi * r_slack) / p.eta - p.xi) + (of_r / p.alpha - p.r)
    dv = cho_solve(system, -r_dual + of_v / p.v - p.beta + Z.T @ (h / D))
    d_alpha = (h - Z @ dv) / D
    d_eta = r_slack - d_alpha
    d_xi = (of_xi - p.xi * d_eta) / p.eta - p.xi
    d_r = (of_r - p.r * d_alpha) / p.alpha - p.r
    d_beta = (of_v - p.beta * dv) / p.v - p.beta
    return _Point(dv, d_xi, d_r, d_beta, d_eta, d_alpha)


def _moved(p: _Point, move: _Point) -> _Point:
    """As far along as everything stays positive; one length for all, as Q couples both sides."""
    length = _longest(p, move)
    return _Point(*(x + length * dx for x, dx in zip(p, move, strict=True)))


def _longest(values: tuple[Floats, ...], moves: tuple[Floats, ...]) -> float:
    """The longest step that keeps everything positive."""
    shares = [
        float((-x[dx < 0] / dx[dx < 0]).min(initial=np.inf))
        for x, dx in zip(values, moves, strict=True)
    ]
    return min(1.0, 0.995 * min(shares))
