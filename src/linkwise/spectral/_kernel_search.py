"""Weighted kernel k-means with links: inner products, objective, start and search.

With row weights a, inner products S and links W (plus for must-links, minus for cannot-links), the
search lowers

    J = sum_i a_i S_ii - sum_c (1 / s_c) sum_{i, j in c} (a_i a_j S_ij + W_ij),
    s_c = sum_{i in c} a_i,

the objective of Kulis et al.: weighted kernel k-means with the kernel S + A^-1 W A^-1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils import gen_batches

from linkwise._types import Bools, Floats, Ints, Matrix, RandomState, is_sparse
from linkwise.constraints import Closure

# The kernel matrix of more rows takes over 7 GB; SpectralLearning has the same limit.
MOST_ROWS = 30_000
# Relative to the first term of J: sums over thousands of rows are exact to about this.
_ROUNDING = 1e-12

Report = Callable[[int, float], None] | None


class FeatureGram:
    """Inner products of rows that are held themselves: the linear kernel."""

    def __init__(self, X: Matrix):
        # A common shift changes no distance and keeps digits; sparse rows would become dense.
        self.mean = None if is_sparse(X) else X.mean(axis=0, dtype=np.float64)
        phi = self.phi = self._centered(X)
        squares = phi.multiply(phi) if is_sparse(phi) else phi**2
        self.diagonal: Floats = np.asarray(squares.sum(axis=1), dtype=np.float64).ravel()

    def _centered(self, X: Matrix) -> Matrix:
        return X if self.mean is None else _dense(X) - self.mean

    def times(self, H: sparse.csr_array) -> Floats:
        """S H, for a sparse H of shape (n, k)."""
        return _dense(self.phi @ _dense((H.T @ self.phi).T))

    def column(self, row: int) -> Floats:
        """Inner products with one row."""
        return np.asarray(self.phi @ _dense(self.phi[[row]]).ravel(), dtype=np.float64)

    def to(self, X: Matrix, H: sparse.csr_array) -> Floats:
        """Inner products of new rows with those of the fit, times H."""
        return _dense(self._centered(X) @ _dense((H.T @ self.phi).T))


class KernelMatrix:
    """All inner products: the RBF kernel of rows, or a given matrix (`gamma` None)."""

    def __init__(self, X: Matrix, gamma: float | None):
        self.X, self.gamma = None if gamma is None else X, gamma
        self.S = _symmetric(X) if gamma is None else _dense(rbf_kernel(X, gamma=gamma))
        self.diagonal: Floats = np.diag(self.S).copy()

    def times(self, H: sparse.csr_array) -> Floats:
        """S H, for a sparse H of shape (n, k)."""
        return _dense((H.T @ self.S).T)

    def column(self, row: int) -> Floats:
        """Inner products with one row."""
        return self.S[row]

    def to(self, X: Matrix, H: sparse.csr_array) -> Floats:
        """Inner products of new rows with those of the fit, times H, a thousand rows at a time."""
        parts = [X[part] for part in gen_batches(X.shape[0], 1_000)]
        if self.gamma is not None:
            parts = [rbf_kernel(part, self.X, gamma=self.gamma) for part in parts]
        return np.vstack([_dense((H.T @ _dense(part).T).T) for part in parts])


Gram = FeatureGram | KernelMatrix


def _dense(values: Matrix) -> Floats:
    return np.asarray(values.toarray() if is_sparse(values) else values, dtype=np.float64)


def _symmetric(K: Matrix) -> Floats:
    """A given kernel matrix; raises unless it is symmetric up to rounding."""
    if K.shape[0] != K.shape[1]:
        raise ValueError(f'kernel="precomputed" needs a square matrix; X has shape {K.shape}')
    K = _dense(K)
    gap = float(abs(K - K.T).max()) if K.size else 0.0
    if gap > 1e-6 * max(float(abs(K).max(initial=0.0)), 1e-300):  # float32 products differ by 1e-7
        raise ValueError(
            f"a kernel must be symmetric; two opposite entries differ by {gap:.4g}: give "
            "(K + K.T) / 2"
        )
    return K


# -------------------------------------------------------------------- objective


@dataclass(frozen=True, eq=False)
class State:
    """A clustering and its sums."""

    labels: Ints
    mass: Floats  # (k,), s_c
    pull: Floats  # (n, k), sum over j in c of a_i a_j S_ij + W_ij
    within: Floats  # (k,), sum of `pull` over the rows of each cluster
    objective: float


@dataclass(frozen=True, eq=False)
class Objective:
    """J for given inner products, links (symmetric, zero diagonal) and row weights."""

    S: Gram
    W: sparse.csr_array
    a: Floats
    k: int

    @property
    def scale(self) -> float:
        """The first term of J, which no clustering changes."""
        return float(self.a @ self.S.diagonal)

    def one_hot(self, labels: Ints, values: Floats) -> sparse.csr_array:
        """Clusters as a sparse matrix of shape (n, k) that holds a value of each row."""
        n = len(labels)
        return sparse.csr_array((values, labels, np.arange(n + 1)), shape=(n, self.k))

    def state(self, labels: Ints) -> State:
        """A clustering with its sums, from scratch."""
        pull = self.a[:, None] * self.S.times(self.one_hot(labels, self.a))
        if self.W.nnz:
            pull += (self.W @ self.one_hot(labels, np.ones(len(labels)))).toarray()
        mass: Floats = np.bincount(labels, weights=self.a, minlength=self.k).astype(np.float64)
        own = pull[np.arange(len(labels)), labels]
        within: Floats = np.bincount(labels, weights=own, minlength=self.k).astype(np.float64)
        return State(labels, mass, pull, within, self.scale - float(_ratio(within, mass).sum()))

    def gains(self, now: State) -> tuple[Floats, Bools]:
        """By how much J falls when one row moves, shape (n, k), and which rows may not move.

        Rows without weight and rows alone in their cluster stay.
        """
        rows, a = np.arange(len(self.a)), self.a
        own = a**2 * self.S.diagonal
        mass, within = now.mass[now.labels], now.within[now.labels]
        left = mass - a
        stays = (left <= _ROUNDING * mass) | (a <= 0)
        without = (within - 2 * now.pull[rows, now.labels] + own) / np.where(stays, 1.0, left)
        lost = within / np.where(stays, 1.0, mass) - without
        mass_with = np.where(stays, 1.0, a)[:, None] + now.mass
        won = (now.within + 2 * now.pull + own[:, None]) / mass_with - _ratio(now.within, now.mass)
        won[rows, now.labels] = -np.inf
        return np.where(stays[:, None], -np.inf, won - lost[:, None]), stays


def _ratio(values: Floats, mass: Floats) -> Floats:
    """Values over masses; 0 for clusters without mass."""
    return np.divide(values, mass, out=np.zeros(values.shape), where=mass > 0)


# -------------------------------------------------------------------- start


def start(
    S: Gram, a: Floats, k: int, closure: Closure, rng: RandomState, *, from_components: bool
) -> Ints:
    """First labels: rows go to the nearest of k centers, those of a component together.

    The first centers are component means if asked for; all others are drawn as by k-means++.
    """
    members = _components(closure)
    distance = np.empty((len(a), 0))
    if from_components and members:
        distance = _component_distances(S, a, k, members)
    while distance.shape[1] < k:
        odds = a * distance.min(axis=1) if distance.shape[1] else a
        total = odds.sum()
        row = int(rng.choice(len(a), p=odds / total if total > 0 else None))
        new = S.diagonal + S.diagonal[row] - 2 * S.column(row)
        distance = np.column_stack([distance, np.maximum(new, 0.0)])
    labels = distance.argmin(axis=1)
    for rows in members:
        labels[rows] = (a[rows] @ distance[rows]).argmin()
    return labels.astype(np.int64)


def _components(closure: Closure) -> list[Ints]:
    """Rows of each component of two or more, the largest first."""
    order = closure.by_component
    pieces = np.split(closure.nodes[order], np.cumsum(closure.sizes)[:-1])
    return sorted((piece for piece in pieces if len(piece) > 1), key=len, reverse=True)


def _component_distances(S: Gram, a: Floats, k: int, members: list[Ints]) -> Floats:
    """Distances to at most k component means that are heavy and far from each other.

    Farthest-first by distance times the root of the weight, as in MPCK-Means.
    """
    members = members[:500]  # the largest: distances to all means are n x 500 numbers
    rows = np.concatenate(members)
    which = np.repeat(np.arange(len(members)), [len(group) for group in members])
    mass: Floats = np.bincount(which, weights=a[rows]).astype(np.float64)
    value = _ratio(a[rows], mass[which])
    H = sparse.csr_array((value, (rows, which)), shape=(len(a), len(members)))
    common = S.times(H)
    inner = H.T @ common
    own = np.diag(inner)
    between = np.sqrt(np.maximum(own[:, None] + own - 2 * inner, 0.0))
    weight = np.sqrt([a[group].sum() for group in members])
    chosen = [int(np.argmax(weight))]
    while len(chosen) < min(k, len(members)):
        far = between[:, chosen].min(axis=1) * weight
        far[chosen] = -1.0
        chosen.append(int(far.argmax()))
    return np.maximum(S.diagonal[:, None] - 2 * common[:, chosen] + own[chosen], 0.0)


# -------------------------------------------------------------------- search


@dataclass(frozen=True, eq=False)
class Found:
    """Where a search ended."""

    state: State
    n_iter: int
    converged: bool
    path: list[float]


def search(objective: Objective, labels: Ints, max_iter: int, tol: float, report: Report) -> Found:
    """Lower J from these labels until nothing more is gained; no cluster ends empty."""
    now = _filled(objective, objective.state(labels))
    path: list[float] = []
    rounding = _ROUNDING * max(abs(objective.scale), 1e-300)
    least = max(tol * abs(objective.scale), rounding)
    for iteration in range(1, max_iter + 1):
        then = _best_moves(objective, now, rounding)
        fall = now.objective - then.objective
        now = then
        path.append(now.objective)
        if report is not None:
            report(iteration, now.objective)
        if fall <= least:
            return Found(now, iteration, True, path)
    return Found(now, max_iter, False, path)


def _filled(objective: Objective, now: State) -> State:
    """Give each empty cluster the row whose move there raises J least (or lowers it most)."""
    for cluster in np.flatnonzero(now.mass <= 0):
        gain, stays = objective.gains(now)
        if stays.all():  # fewer rows with weight than clusters
            break
        labels = now.labels.copy()
        labels[gain[:, cluster].argmax()] = cluster
        now = objective.state(labels)
    return now


def _best_moves(objective: Objective, now: State, least: float) -> State:
    """The state after as many of the gaining moves as lower J together.

    All of them first, then the better half, and so on: single gains are exact, sums of them are
    not. Moves that together empty a cluster do not count as lower, because links can make it
    expensive to fill it again.
    """
    every, _ = objective.gains(now)
    target = every.argmax(axis=1)
    gain = every.max(axis=1)
    order = np.argsort(-gain, kind="stable")
    n_moves = int((gain > least).sum())
    while n_moves:
        moved = order[:n_moves]
        labels = now.labels.copy()
        labels[moved] = target[moved]
        then = objective.state(labels)
        if then.objective < now.objective and not ((then.mass <= 0) & (now.mass > 0)).any():
            return then
        n_moves //= 2
    return now
