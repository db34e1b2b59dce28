"""The loss of BoostCluster over the constrained pairs, and the best step to lower it.

Equation numbers are those of Liu, Jin & Jain (2007). K is known at the constrained pairs only, as
logarithms of p and q, so that no round overflows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.special import logsumexp

from linkwise.constraints import Constraints, number_nodes

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

_ROUNDING = 1e-9  # a clustering that comes a second time gains nothing but this


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

    def together(self, labels: Ints) -> Mask:
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
    """How far to go along a clustering, and what that does to the loss.

    Attributes
    ----------
    alpha : float
        (13), within its limits.
    log_factor : float
        Logarithm of what the loss is multiplied by: 1 - gamma of Theorem 1 at the exact alpha.
    must_violated, cannot_violated : float
        A and D of Theorem 1, as shares.
    perfect : bool
        Whether the clustering satisfies every link.
    """

    alpha: float
    log_factor: float
    must_violated: float
    cannot_violated: float
    perfect: bool


class PairLoss:
    """Loss (2) over pairwise constraints.

    Parameters
    ----------
    known : Constraints
        Must-links and cannot-links by row number; their weights multiply p and q.

    Attributes
    ----------
    rows : ndarray of shape (n_touched,)
        The constrained rows. Labels below are those of these rows, in this order.
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

    def best_step(self, labels: Ints, max_alpha: float) -> Step:
        """The alpha that minimizes (12), between 0 and max_alpha.

        (13) divides by zero when no must-link or no cannot-link is violated: alpha is then
        max_alpha. One cluster of all rows, or none at all, breaks every link of one kind and none
        of the other, and earns 0.
        """
        A, B = self.must.split(labels)
        C, D = self.cannot.split(labels)
        perfect = self.must.together(labels).all() and not self.cannot.together(labels).any()
        alpha = 0.0
        if B * C > A * D * (1 + _ROUNDING):
            with np.errstate(divide="ignore"):
                exact = 0.5 * (np.log(B) + np.log(C) - np.log(A) - np.log(D))
            if exact <= max_alpha:
                log_factor = np.log1p(-((np.sqrt(A * D) - np.sqrt(B * C)) ** 2))
                return Step(float(exact), float(log_factor), A, D, bool(perfect))
            alpha = max_alpha
        factor = (A + B * np.exp(-alpha)) * (C + D * np.exp(alpha))
        return Step(alpha, float(np.log(factor)), A, D, bool(perfect))

    def add(self, alpha: float, labels: Ints) -> None:
        """Take the step: K becomes K + alpha Delta (3)."""
        self.must.add(alpha, labels)
        self.cannot.add(alpha, labels)
