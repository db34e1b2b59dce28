"""Gaussian components: densities of rows, and estimates from weighted moments.

Covariances are full, tied (one for all components), diagonal or spherical. The E- and M-step share
one pass over blocks of rows, in threads: moments are taken about the centers that the densities
were computed with, and blocks are summed in order, however many threads there are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from linkwise.engines import Threads

from . import _gaussian_kernels

Floats = NDArray[np.float64]

_LEAST_ROWS, _MOST_BLOCKS = 2048, 64  # of the blocks that are summed one after another
_TINY = 10 * np.finfo(np.float64).eps  # as in scikit-learn, keeps empty components apart from 0


class SingularError(ValueError):
    """A covariance that is not positive definite."""


@dataclass(frozen=True)
class Prior:
    """What components are drawn to, and what all rows have in common.

    Attributes
    ----------
    strength : float
        So many rows with covariance `scale` count in each component.
    scale : ndarray of shape (n_features, n_features)
    floor : float
        Added to the diagonal of covariances.
    scatter : ndarray of shape (n_features, n_features)
        Of all rows about 0, for tied covariances.
    """

    strength: float
    scale: Floats
    floor: float
    scatter: Floats


@dataclass(frozen=True)
class Moments:
    """Weighted sums over rows, about one center per component.

    Attributes
    ----------
    center : ndarray of shape (k, n_features)
    weight : ndarray of shape (k,)
    first : ndarray of shape (k, n_features)
    second : ndarray of shape (k, n_features, n_features) or (k, 1, n_features)
        The latter for diagonal and spherical covariances. Empty for tied ones: responsibilities
        of a row sum to 1, so that the scatter of all rows is all it takes.
    """

    center: Floats
    weight: Floats
    first: Floats
    second: Floats

    def __add__(self, other: Moments) -> Moments:
        """Sums over the rows of both; centers must be the same."""
        return Moments(
            self.center,
            self.weight + other.weight,
            self.first + other.first,
            self.second + other.second,
        )


@dataclass(frozen=True)
class Gaussians:
    """k Gaussian densities.

    Attributes
    ----------
    kind : {"full", "tied", "diag", "spherical"}
    means : ndarray of shape (k, n_features)
    covariances : ndarray
        Shaped as in scikit-learn's GaussianMixture.
    factors : ndarray
        Cholesky factors of the precisions, shaped alike.
    """

    kind: str
    means: Floats
    covariances: Floats
    factors: Floats

    @classmethod
    def of(cls, kind: str, means: Floats, covariances: Floats) -> Gaussians:
        """From means and covariances."""
        return cls(kind, means, covariances, _precision_factors(kind, covariances))

    @property
    def log_det(self) -> Floats:
        """Half the log determinant of each precision, shape (k,)."""
        d, factors = self.means.shape[1], self.factors
        if self.kind == "full":
            return np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(axis=1)
        if self.kind == "tied":
            return np.full(len(self.means), np.log(np.diagonal(factors)).sum())
        return np.log(factors).sum(axis=1) if self.kind == "diag" else d * np.log(factors)

    @property
    def _offset(self) -> Floats:
        """Log density of each component at its mean."""
        return self.log_det - 0.5 * self.means.shape[1] * np.log(2 * np.pi)

    @property
    def _stack(self) -> Floats:
        """The factors as the kernel takes them."""
        if self.kind == "full":
            return self.factors
        if self.kind == "tied":
            return self.factors[None]
        factors = self.factors if self.kind == "diag" else self.factors[:, None]
        return np.ascontiguousarray(np.broadcast_to(factors, self.means.shape))[:, None]

    def log_density(self, X: Floats) -> Floats:
        """Log density of each row under each component, shape (n_rows, k)."""
        out = np.empty((len(X), len(self.means)))
        stack, offset = self._stack, self._offset

        def work(start: int, stop: int) -> None:
            _gaussian_kernels.log_densities(
                X[start:stop], self.means, stack, offset, out[start:stop]
            )

        with Threads(len(X), out.shape[1] * stack.shape[1] * stack.shape[2]) as threads:
            threads.map(work)
        return out

    def sweep(self, X: Floats, log_weights: Floats) -> tuple[float, Moments]:
        """Log likelihood of free rows, and moments under their responsibilities, in one pass.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
        log_weights : ndarray of shape (k,)
        """
        stack, offset = self._stack, self._offset + log_weights

        def responsibilities(start: int, stop: int) -> tuple[float, Floats]:
            joint = np.empty((stop - start, len(self.means)))
            _gaussian_kernels.log_densities(X[start:stop], self.means, stack, offset, joint)
            return _gaussian_kernels.normalize(joint), joint

        return _gather(self.kind, X, self.means, responsibilities)


def gather_moments(kind: str, X: Floats, share: Floats, center: Floats) -> Moments:
    """Moments of rows.

    Parameters
    ----------
    kind : {"full", "tied", "diag", "spherical"}
    X : ndarray of shape (n_rows, n_features)
    share : ndarray of shape (n_rows, k)
        Responsibilities.
    center : ndarray of shape (k, n_features)
    """
    return _gather(kind, X, center, lambda start, stop: (0.0, share[start:stop]))[1]


def _gather(
    kind: str, X: Floats, center: Floats, share: Callable[[int, int], tuple[float, Floats]]
) -> tuple[float, Moments]:
    """Sum blocks of rows; `share` gives the value and the responsibilities of a block."""
    (n, d), k = X.shape, len(center)
    shape = {"full": (k, d, d), "tied": (0, 0, 0)}.get(kind, (k, 1, d))
    step = max(_LEAST_ROWS, -(-n // _MOST_BLOCKS))
    ends = [*range(0, n, step), n]

    def work(first: int, last: int) -> list[tuple[float, Floats, Floats, Floats]]:
        found = []
        for start, stop in pairwise(ends[first : last + 1]):
            value, part = share(start, stop)
            sums = np.zeros(k), np.zeros((k, d)), np.zeros(shape)
            _gaussian_kernels.add_moments(X[start:stop], part, center, *sums)
            found.append((value, *sums))
        return found

    value, sums = 0.0, (np.zeros(k), np.zeros((k, d)), np.zeros(shape))
    with Threads(len(ends) - 1, step * k * (shape[1] + 1) * d) as threads:
        for part in threads.map(work):
            for own, *block in part:
                value += own
                for total, added in zip(sums, block, strict=True):
                    total += added
    weight, first, second = sums
    if kind == "full":
        second += np.triu(second, 1).transpose(0, 2, 1)
    return value, Moments(center, weight, first, second)


def estimate(kind: str, moments: Moments, prior: Prior) -> Gaussians:
    """Components of the greatest (penalized) likelihood for given moments.

    Parameters
    ----------
    kind : {"full", "tied", "diag", "spherical"}
    moments : Moments
    prior : Prior
    """
    weight = moments.weight + _TINY
    shift = moments.first / weight[:, None]
    means = moments.center + shift
    strength, scale = prior.strength, prior.scale
    if kind == "tied":
        within = prior.scatter - (weight[:, None] * means).T @ means
        covariance = (within + strength * scale) / (weight.sum() + strength)
        covariance[np.diag_indices_from(covariance)] += prior.floor
        return Gaussians.of(kind, means, covariance)
    mass = weight + strength
    if kind == "full":
        spread = moments.second - weight[:, None, None] * shift[:, :, None] * shift[:, None, :]
        covariances = (spread + strength * scale) / mass[:, None, None]
        covariances += prior.floor * np.eye(len(scale))
        return Gaussians.of(kind, means, covariances)
    spread = np.maximum(moments.second[:, 0] - weight[:, None] * shift**2, 0.0)
    variances = (spread + strength * np.diag(scale)) / mass[:, None] + prior.floor
    return Gaussians.of(kind, means, variances if kind == "diag" else variances.mean(axis=1))


def log_prior(gaussians: Gaussians, prior: Prior) -> float:
    """What the prior on covariances adds to the log likelihood."""
    if not prior.strength:
        return 0.0
    kind, factors, scale = gaussians.kind, gaussians.factors, prior.scale
    if kind in ("full", "tied"):
        stack = factors if kind == "full" else factors[None]
        trace = np.einsum("kij,il,klj->k", stack, scale, stack)
    else:
        weight = factors**2 if kind == "diag" else factors[:, None] ** 2
        trace = (weight * np.diag(scale)).sum(axis=1)
    log_det = gaussians.log_det[: len(trace)]
    return float(prior.strength * (log_det - 0.5 * trace).sum())


def _precision_factors(kind: str, covariances: Floats) -> Floats:
    if kind in ("diag", "spherical"):
        if not (covariances > 0).all():
            raise SingularError("a component has no spread in some direction")
        return 1.0 / np.sqrt(covariances)
    stack = covariances if kind == "full" else covariances[None]
    factors = np.empty_like(stack)
    for c, covariance in enumerate(stack):
        try:
            lower = linalg.cholesky(covariance, lower=True)
        except (linalg.LinAlgError, ValueError) as error:
            raise SingularError("a component has no spread in some direction") from error
        eye = np.eye(len(covariance))
        factors[c] = linalg.solve_triangular(lower, eye, lower=True).T
    return factors if kind == "full" else factors[0]
