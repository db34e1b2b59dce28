"""Expectation-maximization for mixtures with linked rows.

Each iteration sums over the labels of free rows (row by row) and of chunklets (`Field`), and then
takes the best components and weights. The penalized log likelihood, or its bound where components
of the field are too large, never falls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ._field import Field
from ._gaussians import Gaussians, Moments, Prior, estimate, gather_moments, log_prior
from ._weights import Normalizer, best_weights

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_LEAST = 1e-300


@dataclass(frozen=True)
class Model:
    """Parameters of a mixture."""

    weights: Floats
    gaussians: Gaussians

    @property
    def log_weights(self) -> Floats:
        """Logarithms of the weights, finite."""
        return np.log(np.maximum(self.weights, _LEAST))


class Data:
    """Rows, free or in chunklets.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    field : Field
    """

    def __init__(self, X: Floats, field: Field):
        is_free = np.ones(len(X), dtype=bool)
        is_free[field.rows] = False
        self.X, self.field = X, field
        self.free_rows = np.flatnonzero(is_free)
        self.free = X if is_free.all() else X[is_free]
        self.linked = X[field.rows]
        self.normalizer = Normalizer(field)


@dataclass(frozen=True)
class Fitted:
    """The result of a run.

    Attributes
    ----------
    model : Model
    path : list of float
        Penalized log likelihood after every E-step.
    converged : bool
    loose : ndarray of shape (n_loose, k)
        Probabilities in components that are too large for exact sums.
    """

    model: Model
    path: list[float]
    converged: bool
    loose: Floats


@dataclass(frozen=True)
class Options:
    """What a run is told: see `ConstrainedMixture`."""

    kind: str
    prior: Prior
    concentration: float
    max_iter: int
    tol: float


def responsibilities(model: Model, X: Floats) -> tuple[Floats, Floats]:
    """Memberships and log likelihoods of rows that nothing is known about."""
    joint = model.gaussians.log_density(X) + model.log_weights
    top = joint.max(axis=1, keepdims=True)
    share = np.exp(joint - top)
    norm = share.sum(axis=1, keepdims=True)
    return share / norm, (top + np.log(norm)).ravel()


def start_from(data: Data, labels: Ints, k: int, options: Options) -> tuple[Model, Floats]:
    """A mixture of given clusters, and memberships for large components of the field."""
    hot = np.zeros((len(labels), k))
    hot[np.arange(len(labels)), labels] = 1.0
    center = np.zeros((k, data.X.shape[1]))
    moments = gather_moments(options.kind, data.X, hot, center)
    weights = (moments.weight + _LEAST) / moments.weight.sum()
    return Model(weights, estimate(options.kind, moments, options.prior)), _soften(data, hot)


def _soften(data: Data, hot: Floats) -> Floats:
    """Memberships of chunklets in large components, none of them 0."""
    field, k = data.field, hot.shape[1]
    if not len(field.loose):
        return np.zeros((0, k))
    sums = np.add.reduceat(hot[field.rows], field.first, axis=0)[field.loose]
    return 0.9 * sums / sums.sum(axis=1, keepdims=True) + 0.1 / k


def run(
    data: Data,
    model: Model,
    loose: Floats,
    options: Options,
    progress: Callable[[int, float], None] | None = None,
) -> Fitted:
    """Repeat E- and M-steps until the mean log likelihood rises by less than `tol`."""
    path: list[float] = []
    n, converged = len(data.X), False
    for iteration in range(1, options.max_iter + 1):
        value, moments, counts = _expect(data, model, loose, options)
        path.append(value)
        if progress is not None:
            progress(iteration, -value)
        weights = best_weights(counts, model.weights, data.normalizer)
        model = Model(weights, estimate(options.kind, moments, options.prior))
        if len(path) > 1 and abs(path[-1] - path[-2]) < options.tol * n:
            converged = True
            break
    return Fitted(model, path, converged, loose)


def _expect(
    data: Data, model: Model, loose: Floats, options: Options
) -> tuple[float, Moments, Floats]:
    """Penalized log likelihood, moments, and counts for the weights."""
    value, moments = model.gaussians.sweep(data.free, model.log_weights)
    extra = options.concentration - 1.0
    value += log_prior(model.gaussians, options.prior)
    value += extra * float(model.log_weights.sum())
    counts = moments.weight + extra
    field = data.field
    if field.n_chunklets:
        density = field.gather(model.gaussians.log_density(data.linked))
        summed = field.sum_labels(density, model.log_weights, loose)
        value += summed.log_sum - data.normalizer.at(model.weights)[0]
        counts = counts + field.exponent @ summed.marginal
        shares = summed.marginal[field.chunklet]
        moments = moments + gather_moments(options.kind, data.linked, shares, model.gaussians.means)
    return value, moments, counts


def memberships(data: Data, fitted: Fitted) -> tuple[Floats, Ints]:
    """Memberships of the rows of the fit, and their likeliest labels, given the links."""
    model, field = fitted.model, data.field
    share = np.empty((len(data.X), len(model.weights)))
    share[data.free_rows] = responsibilities(model, data.free)[0]
    labels = np.empty(len(data.X), dtype=np.int64)
    labels[data.free_rows] = share[data.free_rows].argmax(axis=1)
    if field.n_chunklets:
        density = field.gather(model.gaussians.log_density(data.linked))
        summed = field.sum_labels(density, model.log_weights, fitted.loose)
        share[field.rows] = summed.marginal[field.chunklet]
        best = field.best_labels(density, model.log_weights, fitted.loose)
        labels[field.rows] = best[field.chunklet]
    return share, labels
