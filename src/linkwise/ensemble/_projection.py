"""Directions in which violated must-links are short and violated cannot-links are long.

They are the leading eigenvectors of X' T X (10), where T is not zero between constrained rows only.
Three ways to the same result: the d x d matrix, the m x m problem (17) when there are fewer
constrained rows than features, and Lanczos' method when both are many. X is never copied: its mean
is taken off afterwards, so that sparse rows stay sparse.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator, eigsh

Floats = NDArray[np.float64]

MOST_DENSE = 1_000  # features; beyond, the d x d matrix is not written out
MOST_ROWS = 3_000  # constrained rows; beyond, neither is the m x m one
_POSITIVE = 1e-10  # eigenvalues below this share of the norm of the matrix count as zero
_POWER_STEPS = 10


class Centered:
    """Rows relative to a mean, without a copy of them.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
    mean : ndarray of shape (d,)
    """

    def __init__(self, X: Any, mean: Floats):
        self.X, self.mean, self.shape = X, mean, X.shape

    def times(self, V: Floats) -> NDArray:
        """(X - mean) V, in the precision of X."""
        V = np.asarray(V)
        return self.X @ V.astype(self.X.dtype) - (self.mean @ V).astype(self.X.dtype)

    def back(self, C: Floats) -> Floats:
        """(X - mean)' C."""
        product = np.asarray(self.X.T @ C, dtype=np.float64)
        return product - np.multiply.outer(self.mean, C.sum(axis=0))

    def take(self, rows: NDArray) -> Centered:
        """Some of the rows, in double precision."""
        return Centered(self.X[rows].astype(np.float64), self.mean)

    def dense(self) -> Floats:
        """The rows written out."""
        X = self.X.toarray() if sparse.issparse(self.X) else self.X
        return X - self.mean

    def gram(self) -> Floats:
        """Inner products of the rows."""
        if not sparse.issparse(self.X):
            rows = self.dense()
            return rows @ rows.T
        product, along = (self.X @ self.X.T).toarray(), self.X @ self.mean
        return product - along[:, None] - along + self.mean @ self.mean


class Directions:
    """Solves for the projection P (11), round after round with another T.

    Parameters
    ----------
    touched : Centered
        The m constrained rows.
    how : {"auto", "direct", "rows", "lanczos"}, default="auto"
        Which eigenproblem: X' T X itself, (17), or X' T X by its products with vectors.
    """

    def __init__(self, touched: Centered, how: str = "auto"):
        self.touched = touched
        m, d = touched.shape
        if how == "auto":
            few_rows = m < d and m <= MOST_ROWS
            how = "rows" if few_rows else "direct" if d <= MOST_DENSE else "lanczos"
        self.how = how
        if how == "direct":
            self._rows = touched.dense()
        elif how == "rows":
            self._rows, self._basis = _span(touched.gram())

    def top(self, T: sparse.csr_array, s: int) -> Floats:
        """P (11): at most s orthogonal directions, each as long as the root of its eigenvalue.

        Only positive eigenvalues count: along the others, must-links are no shorter than
        cannot-links.

        Parameters
        ----------
        T : sparse matrix of shape (m, m)
        s : int

        Returns
        -------
        P : ndarray of shape (d, at most s)
        """
        if self.how == "lanczos":
            values, vectors, size = self._lanczos(T, s)
        else:
            M = self._rows.T @ (T @ self._rows)
            r = len(M)
            values, vectors = linalg.eigh((M + M.T) / 2, subset_by_index=(max(0, r - s), r - 1))
            size = float(linalg.norm(M))
        # Relative to the whole matrix: the top s values may all be rounding noise of a zero.
        keep = np.flatnonzero(values > _POSITIVE * max(size, 1e-300))
        keep = keep[np.argsort(-values[keep], kind="stable")]
        vectors = vectors[:, keep] * np.sqrt(values[keep])
        return self.touched.back(self._basis @ vectors) if self.how == "rows" else vectors

    def _lanczos(self, T: sparse.csr_array, s: int) -> tuple[Floats, Floats, float]:
        """Leading eigenvalues and eigenvectors, and about the size of the largest of all."""
        d = self.touched.shape[1]

        def product(v: Floats) -> Floats:
            return self.touched.back(T @ self.touched.times(v.reshape(-1)))

        operator = LinearOperator((d, d), dtype=np.float64, matvec=product)
        # A fixed start keeps results the same from run to run.
        start = np.random.RandomState(0).uniform(-1, 1, d)
        values, vectors = eigsh(operator, k=min(s, d - 1), which="LA", v0=start)
        # After k power steps the estimate is too small by at most about d^(1/2k): a factor of 2.
        size, v = 0.0, start
        for _ in range(_POWER_STEPS):
            v = product(v / linalg.norm(v))
            size = float(linalg.norm(v))
            if size == 0.0:
                break
        return values, vectors, max(size, float(abs(values).max()))


def _span(gram: Floats) -> tuple[Floats, Floats]:
    """Rows in an orthonormal basis of their span, and what makes that basis out of the rows.

    With X~ X~' = U L U', the basis is X~' U L^-1/2 and the rows in it are U L^1/2; (17) becomes an
    ordinary symmetric problem, and directions without any row in them (repeated rows) fall away.
    """
    values, U = linalg.eigh(gram)
    keep = values > 1e-12 * max(float(values[-1]), 1e-300)
    root = np.sqrt(values[keep])
    return U[:, keep] * root, U[:, keep] / root
