"""Inner products of rows in a kernel's space, without an n x n matrix where that can be.

Entry point: `make`. `FeatureGram` holds the rows of that space themselves (linear kernels,
Nystroem's approximation), `KernelMatrix` all inner products.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils import gen_batches

from linkwise._types import RandomState

Floats = NDArray[np.float64]

MOST_EXACT = 5_000  # rows; beyond, an RBF kernel is approximated
_LANDMARKS = 500
_BATCH = 1_000


class Gram(Protocol):
    """Inner products S of n rows."""

    diagonal: Floats

    def times(self, H: Any) -> Floats:
        """S H, for a sparse H of shape (n, k)."""

    def column(self, row: int) -> Floats:
        """Inner products with one row."""

    def to(self, X: Any, H: Any) -> Floats:
        """Inner products of new rows with those of the fit, times H."""


class FeatureGram:
    """Rows of the kernel's space itself.

    Parameters
    ----------
    phi : ndarray or CSR matrix of shape (n, r)
    transform : callable
        Makes such rows out of new data.
    """

    def __init__(self, phi: Any, transform: Any):
        self.phi, self.transform = phi, transform
        squares = phi.multiply(phi).sum(axis=1) if sparse.issparse(phi) else (phi**2).sum(axis=1)
        self.diagonal = np.asarray(squares, dtype=np.float64).ravel()

    def times(self, H: Any) -> Floats:
        """S H."""
        return _dense(self.phi @ self._sums(H))

    def column(self, row: int) -> Floats:
        """Inner products with one row."""
        one = _dense(self.phi[[row]]).ravel()
        return np.asarray(self.phi @ one, dtype=np.float64)

    def to(self, X: Any, H: Any) -> Floats:
        """Inner products of new rows with those of the fit, times H."""
        return _dense(self.transform(X) @ self._sums(H))

    def _sums(self, H: Any) -> Floats:
        return _dense((H.T @ self.phi).T)


class KernelMatrix:
    """All inner products.

    Parameters
    ----------
    S : ndarray of shape (n, n)
    between : callable
        Makes inner products of new data with the rows of the fit.
    """

    def __init__(self, S: Floats, between: Any):
        self.S, self.between = S, between
        self.diagonal = np.diag(S).copy()

    def times(self, H: Any) -> Floats:
        """S H."""
        return _dense((H.T @ self.S).T)

    def column(self, row: int) -> Floats:
        """Inner products with one row."""
        return self.S[row]

    def to(self, X: Any, H: Any) -> Floats:
        """Inner products of new rows with those of the fit, times H."""
        parts = [_dense((H.T @ self.between(X[part]).T).T) for part in _batches(X)]
        return np.vstack(parts)


def _batches(X: Any) -> Any:
    return gen_batches(X.shape[0], _BATCH)


def _dense(values: Any) -> Floats:
    return np.asarray(values.toarray() if sparse.issparse(values) else values, dtype=np.float64)


def make(X: Any, kernel: str, gamma: float, n_landmarks: int | None, rng: RandomState) -> Gram:
    """The inner products of X under a kernel.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
    kernel : {"linear", "rbf", "precomputed"}
    gamma : float
        Of the RBF kernel.
    n_landmarks : int or None
        Rows that Nystroem's approximation of an RBF kernel goes by; None is all up to 5,000 rows,
        else 500.
    rng : RandomState
        Draws the landmarks.
    """
    if kernel == "precomputed":
        return KernelMatrix(_symmetric(X), _dense)
    if kernel == "linear":
        # Centring changes no distance, but spares digits; sparse rows stay where they are.
        shift = _Shift(None if sparse.issparse(X) else X.mean(axis=0, dtype=np.float64))
        return FeatureGram(shift(X), shift)
    if n_landmarks is None and X.shape[0] > MOST_EXACT:
        n_landmarks = _LANDMARKS
    if n_landmarks is None:
        return KernelMatrix(_dense(rbf_kernel(X, gamma=gamma)), _Between(X, gamma))
    n_landmarks = min(n_landmarks, X.shape[0])
    map_ = Nystroem(kernel="rbf", gamma=gamma, n_components=n_landmarks, random_state=rng).fit(X)
    return FeatureGram(map_.transform(X), map_.transform)


class _Shift:
    """Takes a mean off (a class, so that it can be pickled)."""

    def __init__(self, mean: Any):
        self.mean = mean

    def __call__(self, X: Any) -> Any:
        return X if self.mean is None else _dense(X) - self.mean


class _Between:
    """RBF kernel of new rows with those of the fit."""

    def __init__(self, X: Any, gamma: float):
        self.X, self.gamma = X, gamma

    def __call__(self, X: Any) -> Any:
        return rbf_kernel(X, self.X, gamma=self.gamma)


def _symmetric(K: Any) -> Floats:
    """A given kernel matrix, checked."""
    if K.shape[0] != K.shape[1]:
        raise ValueError(f'kernel="precomputed" needs a square matrix; X has shape {K.shape}')
    K = _dense(K)
    gap = float(abs(K - K.T).max()) if K.size else 0.0
    if gap > 1e-6 * max(float(abs(K).max(initial=0.0)), 1e-300):
        raise ValueError(
            f"a kernel must be symmetric; two opposite entries differ by {gap:.4g}: give "
            "(K + K.T) / 2"
        )
    return K
