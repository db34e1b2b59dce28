"""The loss of BoostCluster over the constrained pairs, the best step to lower it, the projection.

Equation numbers are those of Liu, Jin & Jain (2007). K is known at the constrained pairs only, as
logarithms of p and q, so that no round overflows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse import coo_array, csr_array
from scipy.special import logsumexp

from linkwise._types import Bools, Floats, Ints, Matrix, is_sparse
from linkwise.constraints import Constraints, number_nodes

# (13) is infinite when a round violates no must-link or no cannot-link, which the paper leaves
# open. Ours: one round divides the loss of a satisfied pair by at most e^4, about 55.
MAX_ALPHA = 4.0


class _Side:
    """The links of one kind: must (sign -1) or cannot (sign +1).

    `log_pull` is log p (5) or log q (6) of each link. A kind of which there are no links counts
    as half satisfied in every round: its factor of the loss is then neutral in the choice of alpha,
    which becomes AdaBoost's, half the logarithm of satisfied over violated.
    """

    def __init__(self, ends: Ints, weight: Floats, sign: int):
        self.ends, self.sign = ends, sign
        self.log_pull = np.log(weight)
        self._log_factor = 0.0

    @property
    def log_total(self) -> float:
        """Logarithm of the sum over ordered pairs: each link counts at (i, j) and (j, i)."""
        if not len(self.ends):
            return self._log_factor
        return float(logsumexp(self.log_pull)) + float(np.log(2.0))

    @property
    def shares(self) -> Floats:
        """The part of each link in the sum."""
        if not len(self.ends):
            return np.zeros(0)
        return np.exp(self.log_pull - logsumexp(self.log_pull))

    def together(self, labels: Ints) -> Bools:
        """Which links have both ends in one cluster; rows labeled -1 are in none."""
        a, b = labels[self.ends[:, 0]], labels[self.ends[:, 1]]
        return (a == b) & (a >= 0)

    def split(self, labels: Ints) -> tuple[float, float]:
        """Shares of the links with ends apart and together: (A, B) or (C, D) of Theorem 1."""
        if not len(self.ends):
            return 0.5, 0.5
        shares, together = self.shares, self.together(labels)
        return float(shares[~together].sum()), float(shares[together].sum())

    def add(self, alpha: float, labels: Ints) -> None:
        """K + alpha Delta (3), for these links."""
        if len(self.ends):
            self.log_pull = self.log_pull + self.sign * alpha * self.together(labels)
        else:
            self._log_factor += float(np.log((1 + np.exp(self.sign * alpha)) / 2))


@dataclass(frozen=True)
class Step:
    """How far to go along a clustering, and what that does to the loss."""

    alpha: float  # (13), within its limits
    log_factor: float  # of the loss: log(1 - gamma) of Theorem 1 at the exact alpha
    must_violated: float  # A of Theorem 1, as a share
    cannot_violated: float  # D
    perfect: bool  # whether the clustering satisfies every link


class PairLoss:
    """Loss (2) over must-links and cannot-links, whose weights multiply p and q.

    `rows` are the constrained rows; labels below are those of these rows, in this order.
    """

    def __init__(self, known: Constraints):
        self.rows, (must, cannot) = number_nodes(
            known.must_link.astype(np.int64), known.cannot_link.astype(np.int64)
        )
        self.must = _Side(must, known.must_link_weight, -1)
        self.cannot = _Side(cannot, known.cannot_link_weight, +1)

    @property
    def log_loss(self) -> float:
        """Logarithm of (2)."""
        return self.must.log_total + self.cannot.log_total

    def tension(self) -> csr_array:
        """T of (8)-(10) over the constrained rows: symmetric, positive where pairs should join."""
        sides = (self.must, self.cannot)
        ends = np.concatenate([side.ends for side in sides])
        pull = np.concatenate([-side.sign * side.shares / 2 for side in sides])
        i, j = np.concatenate([ends, ends[:, ::-1]]).T
        m = len(self.rows)
        return coo_array((np.concatenate([pull, pull]), (i, j)), shape=(m, m)).tocsr()

    def best_step(self, labels: Ints) -> Step:
        """The alpha that minimizes (12), between 0 and the cap.

        One cluster of all rows, or none at all, violates every link of one kind and none of the
        other: alpha is 0.
        """
        A, B = self.must.split(labels)
        C, D = self.cannot.split(labels)
        perfect = self.must.together(labels).all() and not self.cannot.together(labels).any()
        alpha = 0.0
        if B * C > A * D * (1 + 1e-9):  # a repeated clustering gains no more than rounding
            with np.errstate(divide="ignore"):
                exact = 0.5 * (np.log(B) + np.log(C) - np.log(A) - np.log(D))
            if exact <= MAX_ALPHA:
                log_factor = np.log1p(-((np.sqrt(A * D) - np.sqrt(B * C)) ** 2))
                return Step(float(exact), float(log_factor), A, D, bool(perfect))
            alpha = MAX_ALPHA
        factor = (A + B * np.exp(-alpha)) * (C + D * np.exp(alpha))
        return Step(alpha, float(np.log(factor)), A, D, bool(perfect))

    def add(self, alpha: float, labels: Ints) -> None:
        """Take the step: K becomes K + alpha Delta (3)."""
        self.must.add(alpha, labels)
        self.cannot.add(alpha, labels)


# -------------------------------------------------------------------- projection


def centered_product(X: Matrix, mean: Floats, V: Floats) -> NDArray:
    """(X - mean) V in the precision of X, without a centered copy of X."""
    return np.asarray(X @ V.astype(X.dtype) - (mean @ V).astype(X.dtype))


class Directions:
    """Leading eigenvectors of X' T X (10), T being zero outside the m constrained rows.

    With fewer constrained rows than features, the m x m problem (17) is solved instead.
    """

    def __init__(self, X: Matrix, mean: Floats):
        X = X.astype(np.float64)
        self._X, self._mean = X, mean
        self.by_rows = X.shape[0] < X.shape[1]
        if self.by_rows:
            # With X X' = U L U', the rows are U L^1/2 in the orthonormal basis X' U L^-1/2: (17)
            # becomes symmetric, and repeated rows add no direction.
            values, U = linalg.eigh(self._gram())
            keep = values > 1e-12 * max(float(values[-1]), 1e-300)
            root = np.sqrt(values[keep])
            self._rows, self._basis = U[:, keep] * root, U[:, keep] / root
        else:
            self._rows = (X.toarray() if is_sparse(X) else X) - mean

    def _gram(self) -> Floats:
        """Inner products of the centered rows; sparse rows stay sparse."""
        X, mean = self._X, self._mean
        if not is_sparse(X):
            return np.asarray((X - mean) @ (X - mean).T)
        along = X @ mean
        return np.asarray((X @ X.T).toarray() - along[:, None] - along + mean @ mean)

    def top(self, T: csr_array, s: int) -> Floats:
        """P (11), of shape (d, at most s): orthogonal, as long as the roots of the eigenvalues.

        Only positive eigenvalues count: along the others, must-links are no shorter than
        cannot-links.
        """
        M = self._rows.T @ (T @ self._rows)
        r = len(M)
        values, vectors = linalg.eigh((M + M.T) / 2, subset_by_index=(max(0, r - s), r - 1))
        # Relative to the whole matrix: the top s values may all be rounding errors of a zero.
        keep = np.flatnonzero(values > 1e-10 * max(float(linalg.norm(M)), 1e-300))[::-1]
        vectors = vectors[:, keep] * np.sqrt(values[keep])
        if not self.by_rows:
            return np.asarray(vectors)
        C = self._basis @ vectors
        return np.asarray(self._X.T @ C - np.multiply.outer(self._mean, C.sum(axis=0)))
