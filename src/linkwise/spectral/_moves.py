"""Weighted kernel k-means with links: its objective, exact gains of moves, and the two searches.

With weights a, inner products S and links W (plus for must, minus for cannot), clusters are to make

    J = sum_i a_i S_ii - sum_c (1 / s_c) sum_{i, j in c} (a_i a_j S_ij + W_ij)

with s_c = sum_{i in c} a_i

small: Kulis et al.'s objective, weighted kernel k-means with the kernel S + A^-1 W A^-1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import eigsh

from ._gram import Gram

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

_LEAST_GAIN = 1e-12  # of the objective's scale: smaller ones are rounding


@dataclass(frozen=True, eq=False)
class MoveState:
    """A clustering and its sums.

    Attributes
    ----------
    labels : ndarray of shape (n,)
    mass : ndarray of shape (k,)
        s_c.
    pull : ndarray of shape (n, k)
        What each row has in common with each cluster: sum over j in c of a_i a_j S_ij + W_ij.
    within : ndarray of shape (k,)
        Sum of `pull` over the rows of each cluster.
    objective : float
    """

    labels: Labels
    mass: Floats
    pull: Floats
    within: Floats
    objective: float


@dataclass(frozen=True, eq=False)
class Objective:
    """J for given inner products, links and weights.

    Attributes
    ----------
    S : Gram
    W : CSR matrix of shape (n, n)
        Symmetric, zero diagonal.
    a : ndarray of shape (n,)
        Weights of the rows.
    k : int
    """

    S: Gram
    W: Any
    a: Floats
    k: int

    def one_hot(self, labels: Labels, values: Floats | None = None) -> Any:
        """Clusters as a sparse matrix of shape (n, k), holding the weights or other values."""
        n = len(labels)
        data = self.a if values is None else values
        return sparse.csr_array((data, labels, np.arange(n + 1)), shape=(n, self.k))

    def state(self, labels: Labels) -> MoveState:
        """A clustering with its sums, from scratch."""
        H = self.one_hot(labels)
        pull = self.a[:, None] * self.S.times(H)
        if self.W.nnz:
            pull += (self.W @ self.one_hot(labels, np.ones(len(labels)))).toarray()
        mass: Floats = np.bincount(labels, weights=self.a, minlength=self.k).astype(np.float64)
        own = pull[np.arange(len(labels)), labels]
        within: Floats = np.bincount(labels, weights=own, minlength=self.k).astype(np.float64)
        common = np.divide(within, mass, out=np.zeros(self.k), where=mass > 0)
        return MoveState(labels, mass, pull, within, self.scale - float(common.sum()))

    @property
    def scale(self) -> float:
        """The first term of J, which no clustering changes."""
        return float(self.a @ self.S.diagonal)

    def gains(self, now: MoveState) -> tuple[Floats, Labels]:
        """By how much J falls at best when one row alone moves, and where to.

        Rows without weight and rows alone in their cluster stay.
        """
        rows, a = np.arange(len(self.a)), self.a
        own = a**2 * self.S.diagonal
        mass, within = now.mass[now.labels], now.within[now.labels]
        left = mass - a
        stays = (left <= 1e-12 * mass) | (a <= 0)
        without = (within - 2 * now.pull[rows, now.labels] + own) / np.where(stays, 1.0, left)
        lost = within / np.where(stays, 1.0, mass) - without
        before = np.divide(now.within, now.mass, out=np.zeros(self.k), where=now.mass > 0)
        mass_with = np.where(stays, 1.0, a)[:, None] + now.mass
        won = (now.within + 2 * now.pull + own[:, None]) / mass_with - before
        won[rows, now.labels] = -np.inf
        target = won.argmax(axis=1)
        return np.where(stays, -np.inf, won[rows, target] - lost), target

    def distances(self, now: MoveState, shift: float = 0.0) -> Floats:
        """Squared distance of each row to each center, up to what is the same for all centers.

        In the kernel S + A^-1 W A^-1 + shift A^-1; rows without weight see no links.
        """
        mass = np.where(now.mass > 0, now.mass, 1.0)
        light = self.a <= 0
        common = now.pull / np.where(light, 1.0, self.a)[:, None]
        if light.any():
            common[light] = self.S.times(self.one_hot(now.labels))[light]
        common[np.arange(len(self.a)), now.labels] += shift
        cost = (now.within + shift * now.mass) / mass**2 - 2 * common / mass
        cost[:, now.mass <= 0] = np.inf
        return cost

    def shift(self) -> float:
        """The least diagonal shift that makes up for the links, so that batch steps lower J."""
        if not self.W.nnz:
            return 0.0
        root = np.sqrt(np.where(self.a > 0, self.a, 1.0))
        scaled = sparse.csr_array(self.W / root[:, None] / root)
        touched = np.flatnonzero(np.diff(scaled.indptr))
        part = scaled[touched][:, touched]
        if len(touched) <= 500:
            lowest = float(np.linalg.eigvalsh(part.toarray())[0])
        else:
            start = np.random.RandomState(0).uniform(-1, 1, len(touched))
            lowest = float(eigsh(part, k=1, which="SA", v0=start, return_eigenvectors=False)[0])
        return max(0.0, -lowest)


@dataclass(frozen=True, eq=False)
class Found:
    """Where a search ended."""

    state: MoveState
    n_iter: int
    converged: bool
    path: list[float]


Tell = Callable[[int, float], None] | None


def search(
    objective: Objective, labels: Labels, max_iter: int, tol: float, shift: float | None, tell: Tell
) -> Found:
    """Lower J from these labels until nothing more is won.

    Without a shift, rows move by the exact gain of their own move: all that gain, or, should their
    moves together not lower J, the half that gains the most, and so on down to one. With a shift,
    all rows go to their nearest center in the shifted kernel, as in the paper.
    """
    now = objective.state(labels)
    path: list[float] = []
    least = max(tol, _LEAST_GAIN) * max(abs(objective.scale), 1e-300)
    for iteration in range(1, max_iter + 1):
        if shift is None:
            then = _best_moves(objective, now, _LEAST_GAIN * max(abs(objective.scale), 1e-300))
        else:
            then = objective.state(objective.distances(now, shift).argmin(axis=1))
        fall = now.objective - then.objective
        now = then if fall > 0 else now
        path.append(now.objective)
        if tell is not None:
            tell(iteration, now.objective)
        if fall <= least:
            return Found(now, iteration, True, path)
    return Found(now, max_iter, False, path)


def _best_moves(objective: Objective, now: MoveState, least: float) -> MoveState:
    """The state after as many single moves at once as lower J together."""
    gain, target = objective.gains(now)
    order = np.argsort(-gain, kind="stable")
    n_moves = int((gain > least).sum())
    while n_moves:
        moved = order[:n_moves]
        labels = now.labels.copy()
        labels[moved] = target[moved]
        then = objective.state(labels)
        if then.objective < now.objective:
            return then
        n_moves //= 2
    return now


def without_empty(objective: Objective, now: MoveState) -> MoveState:
    """Every empty cluster gets the row that leaves its own with the least harm."""
    for cluster in np.flatnonzero(np.bincount(now.labels, minlength=objective.k) == 0):
        far = (
            objective.S.diagonal + objective.distances(now)[np.arange(len(now.labels)), now.labels]
        )
        alone = np.bincount(now.labels, minlength=objective.k)[now.labels] < 2
        labels = now.labels.copy()
        labels[np.where(alone, -np.inf, far).argmax()] = cluster
        now = objective.state(labels)
    return now
