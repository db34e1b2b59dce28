"""Xing et al.'s metric: must-linked rows near each other while cannot-linked rows stay apart."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg, optimize

from linkwise._types import Floats, MatrixLike, SampleIds
from linkwise._validation import Knowable, check_choice, check_number

from ._linear_metric import LinearMetric


class XingMetric(LinearMetric):
    """Metric of Xing et al.: least distances of must-links for the distances of cannot-links.

    Minimizes over positive semidefinite matrices A the convex objective of [1]_

        g(A) = sum_must w d_A(x_i, x_j)^2 + prior tr(A C) - log sum_cannot w d_A(x_i, x_j),

    where d_A(x, z)^2 = (x - z)' A (x - z). C is twice the covariance of the data, the mean squared
    difference of two rows: with few must-links, directions in which they do not differ by chance
    would get infinite weight without it.

    Parameters
    ----------
    kind : {"diagonal", "full"}, default="diagonal"
        A weight per feature, or a whole matrix.
    prior : float, default=1.0
        Number of must-links between two average rows that are added; 0 is the published problem.
    max_iter : int, default=500
        Maximum number of iterations.
    tol : float, default=1e-6
        Stop when an iteration lowers the objective by less than this share of it.

    Attributes
    ----------
    components_ : ndarray of shape (n_features, n_features)
        The transformation, the symmetric root of the metric.
    metric_ : ndarray of shape (n_features, n_features)
        The metric A.
    mean_ : ndarray of shape (n_features,)
        Mean of the data, which is subtracted first.
    objective_ : float
        g(A).
    n_iter_ : int
        Number of iterations.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    ITML : The least change of a metric that fits the links.
    RCA : From must-links alone, in closed form.

    References
    ----------
    .. [1] E. P. Xing, A. Y. Ng, M. I. Jordan, S. Russell. Distance metric learning, with
       application to clustering with side-information. NIPS 2002: problems (3) to (8).

    Examples
    --------
    >>> import numpy as np
    >>> from linkwise import Constraints, XingMetric
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 50)
    >>> X = np.column_stack([y + rng.normal(0, 0.1, 100), rng.normal(0, 1, 100)])
    >>> known = Constraints.from_labels(y, 40, random_state=0)
    >>> A = XingMetric().fit(X, constraints=known).metric_
    >>> bool(A[0, 0] > 5 * A[1, 1])
    True
    """

    def __init__(
        self,
        kind: Literal["diagonal", "full"] = "diagonal",
        *,
        prior: float = 1.0,
        max_iter: int = 500,
        tol: float = 1e-6,
    ):
        self.kind = kind
        self.prior = prior
        self.max_iter = max_iter
        self.tol = tol

    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        *,
        constraints: Knowable = None,
        sample_ids: SampleIds = None,
    ) -> XingMetric:
        """Learn the metric from links.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data.
        y : array-like of shape (n_samples,), default=None
            Partial labels, -1 for unknown; they count as must-links and cannot-links.
        constraints : Constraints, DataFrame or path, default=None
            Must-links and cannot-links, with weights; other constraints are ignored.
        sample_ids : array-like of shape (n_samples,), default=None
            Id of each row.

        Returns
        -------
        self : object
            Fitted transformer.
        """
        check_choice("kind", self.kind, ("diagonal", "full"))
        check_number("prior", self.prior, Real, 0)
        check_number("max_iter", self.max_iter, Integral, 1)
        check_number("tol", self.tol, Real, 0)
        X, known = self._read(X, y, constraints, sample_ids)
        self.mean_ = X.mean(axis=0)
        apart = X[known.cannot_link[:, 0]] - X[known.cannot_link[:, 1]]
        weight = np.asarray(known.cannot_link_weight, dtype=np.float64)
        if not weight @ (apart**2).sum(axis=1) > 0:
            raise ValueError(
                "XingMetric needs cannot-links between rows that differ; RCA learns from "
                "must-links alone"
            )
        together = X[known.must_link[:, 0]] - X[known.must_link[:, 1]]
        scatter = (together.T * known.must_link_weight) @ together
        scatter += self.prior * 2 * np.cov(X.T, bias=True).reshape(scatter.shape)
        learn = _diagonal if self.kind == "diagonal" else _full
        metric, self.objective_, self.n_iter_ = learn(
            scatter, apart, weight, self.max_iter, self.tol
        )
        self._take_root(metric)
        return self


def _diagonal(
    scatter: Floats, apart: Floats, weight: Floats, max_iter: int, tol: float
) -> tuple[Floats, float, int]:
    """Minimize g over weights of features, by L-BFGS-B (the paper: Newton's method)."""
    squared = apart**2
    cost = np.diag(scatter).copy()
    # A feature in which no pair differs has no influence; a constant one gets weight zero.
    used = np.flatnonzero(cost > np.finfo(float).eps * cost.max())
    squared, cost = squared[:, used], cost[used]
    # In units in which each feature costs the same, one step length fits all.
    squared = squared / cost

    def value(a: Floats) -> tuple[float, Floats]:
        distance = np.sqrt(np.maximum(squared @ a, np.finfo(float).tiny))
        total = weight @ distance
        gradient = 1.0 - (weight / distance) @ squared / (2 * total)
        return float(a.sum() - np.log(total)), gradient

    start = np.full(len(used), 0.5 / len(used))
    found = optimize.minimize(
        value,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * len(used),
        options={"maxiter": max_iter, "ftol": tol},
    )
    metric = np.zeros(scatter.shape)
    metric[used, used] = found.x / cost
    return metric, float(found.fun), int(found.nit)


def _full(
    scatter: Floats, apart: Floats, weight: Floats, max_iter: int, tol: float
) -> tuple[Floats, float, int]:
    """Minimize g over all metrics A = L L', by L-BFGS over L (the paper: projected gradients).

    g is convex in A, so that with a square L no local minimum is above the least one.
    """
    values, vectors = linalg.eigh(scatter)
    used = values > len(values) * np.finfo(float).eps * values[-1]
    whiten = vectors[:, used] / np.sqrt(values[used])  # then the first term is the trace
    apart = apart @ whiten
    d = whiten.shape[1]

    def value(root: Floats) -> tuple[float, Floats]:
        L = root.reshape(d, d)
        mapped = apart @ L
        distance = np.sqrt(np.maximum(np.einsum("ij,ij->i", mapped, mapped), np.finfo(float).tiny))
        total = weight @ distance
        gradient = 2 * L - (apart.T * (weight / distance)) @ mapped / total
        return float((L**2).sum() - np.log(total)), gradient.ravel()

    found = optimize.minimize(
        value,
        (np.eye(d) / np.sqrt(2 * d)).ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_iter, "ftol": tol},
    )
    map_ = whiten @ found.x.reshape(d, d)
    return map_ @ map_.T, float(found.fun), int(found.nit)
