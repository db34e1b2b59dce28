"""The rounds of BoostCluster, the final clustering of K, and prediction.

K = Z Z': the sparse Z has a column for every cluster of every round, the root of alpha in the rows
of that cluster, so that K_ij adds up the alphas of the rounds which put i and j together. The final
clustering sees max(s + 1, k) dimensions of K, each as long as the root of its eigenvalue: in
trials, fewer dimensions than clusters cost NMI on vowel, and unit vectors on pendigits.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.linalg import eigsh
from scipy.special import softmax
from sklearn.base import BaseEstimator

from linkwise._adapters import LabelAdapter, cluster, kernel_parameter, n_clusters_of, seeded
from linkwise._types import Floats, Ints, Matrix, RandomState
from linkwise._validation import mean_and_spread
from linkwise.constraints import Constraints

from ._loss import Directions, PairLoss, Step, centered_product

OUT_OF_ROUNDS = "all rounds were run"
NOTHING_KNOWN = "there are no pairwise constraints"
NO_DIRECTION = "no direction brings must-links nearer than cannot-links"
FLAT = "the loss falls no more"
ALL_SATISFIED = "a round satisfied every constraint"

# Rows up to which a base that takes a kernel or distances gets K itself: 200 MB.
MOST_KERNEL_ROWS = 5_000


def exp(logarithm: float) -> float:
    """The number of this logarithm, infinite if it is too large."""
    with np.errstate(over="ignore"):
        return float(np.exp(logarithm))


class BoostRound(NamedTuple):
    """Figures of one round; `pandas.DataFrame(model.history_)` makes a table of them.

    Attributes
    ----------
    alpha : float
        Weight of the round's clustering in K (13).
    loss : float
        Loss (1) after the round.
    bound : float
        Theorem 1's bound on it. Where alpha was capped, the round's factor is that of (12) at the
        alpha used.
    must_violated, cannot_violated : float
        Share of the must-links and cannot-links that the round's clustering violated, each
        counting as much as it did in the loss (A and D of Theorem 1).
    n_components : int
        Directions with positive eigenvalues that the round used.
    n_clusters : int
        Clusters that the base found.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from linkwise import BoostCluster, Constraints
    >>> X = [[0.0, 0.0], [0.0, 9.0], [1.0, 0.0], [1.0, 9.0]]
    >>> known = Constraints(must_link=[(0, 1)], cannot_link=[(0, 2)])
    >>> model = BoostCluster(KMeans(2, n_init=3), random_state=0).fit(X, constraints=known)
    >>> model.history_[0].must_violated, model.history_[0].n_clusters
    (0.0, 2)
    """

    alpha: float
    loss: float
    bound: float
    must_violated: float
    cannot_violated: float
    n_components: int
    n_clusters: int


@dataclass(frozen=True, eq=False)
class _Round:
    """A round's projection (X - mean) P, its clustering and the weight of it."""

    mean: Floats
    P: Floats
    alpha: float
    labels: Ints
    adapter: LabelAdapter

    def project(self, X: Matrix) -> NDArray:
        return centered_product(X, self.mean, self.P)

    def columns(self, labels: Ints) -> sparse.csr_array:
        """The round's columns of Z for rows with these labels; a row labeled -1 is empty."""
        inside = np.flatnonzero(labels >= 0)
        shape = (len(labels), len(self.adapter.names))
        value = np.full(len(inside), np.sqrt(self.alpha))
        return sparse.csr_array((value, (inside, labels[inside])), shape=shape)


class Boosting:
    """One run of the algorithm (Figure 2 of the paper)."""

    def __init__(self, X: Matrix, base: BaseEstimator, n_components: int, rng: RandomState):
        self.X: Matrix | None = X
        self.n, self.base, self.n_components, self.rng = X.shape[0], base, n_components, rng
        self.mean, self.spread = mean_and_spread(X)
        self.rounds: list[_Round] = []
        self.history: list[BoostRound] = []

    # ---------------------------------------------------------------- rounds

    def run(
        self, loss: PairLoss, n_rounds: int, tol: float, report: Callable[[int, float], None]
    ) -> str:
        """Boost until a reason to stop, which is returned."""
        if not len(loss.rows):
            return NOTHING_KNOWN
        X = self.X
        assert X is not None
        directions = Directions(X[loss.rows], self.mean)
        log_bound = loss.log_loss
        for number in range(1, n_rounds + 1):
            P = directions.top(loss.tension(), self.n_components)
            if not P.shape[1]:
                return NO_DIRECTION
            shown = centered_product(X, self.mean, P)
            factor = _stretch(shown, self.spread)
            try:
                labels, adapter = cluster(seeded(self.base, self.rng), shown * factor)
            except Exception as error:
                return _failed(error, number, shown.shape)
            step = loss.best_step(labels[loss.rows])
            if step.alpha <= 0 or -step.log_factor < tol:
                return FLAT
            loss.add(step.alpha, labels[loss.rows])
            log_bound += step.log_factor
            self.rounds.append(_Round(self.mean, P * factor, step.alpha, labels, adapter))
            self.history.append(_figures(step, loss.log_loss, log_bound, P.shape[1], adapter))
            report(number, self.history[-1].loss)
            if step.perfect:
                return ALL_SATISFIED
        return OUT_OF_ROUNDS

    # ---------------------------------------------------------------- the last clustering

    def finish(self) -> Ints:
        """Let the base cluster K (X itself if there were no rounds), and return the labels."""
        base = seeded(self.base, self.rng)
        self.V: Floats | None = None
        name = kernel_parameter(base) if self.n <= MOST_KERNEL_ROWS else None
        if not self.rounds:
            shown = self.X
        elif name is not None:
            base.set_params(**{name: "precomputed"})
            shown = self._distances() if name == "metric" else self._affinity()
        else:
            # The paper's s + 1, but k clusters need k dimensions of K to lie apart in.
            self.V = self.leading(max(self.n_components + 1, n_clusters_of(base) or 0))
            shown = self.Z() @ self.V
            factor = _stretch(shown, self.spread)
            shown, self.V = shown * factor, self.V * factor
        try:
            labels, adapter = cluster(base, shown)
        except Exception as error:
            error.add_note("raised by the base on the kernel K of BoostCluster")
            raise
        reads_rows = self.V is not None or not self.rounds
        self.last, self.adapter = base, adapter if reads_rows else None
        return labels

    def Z(self, labels: list[Ints] | None = None) -> sparse.csr_array:
        """Z of the rows of the fit, or of rows with these labels in the rounds."""
        labels = [each.labels for each in self.rounds] if labels is None else labels
        return sparse.csr_array(
            sparse.hstack([r.columns(own) for r, own in zip(self.rounds, labels, strict=True)])
        )

    def leading(self, n_components: int) -> Floats:
        """Right singular vectors V of Z for its largest singular values.

        Z V are the leading eigenvectors of K, each as long as the root of its eigenvalue: the
        best representation of K in that many dimensions.
        """
        Z = self.Z()
        gram, size = Z.T @ Z, Z.shape[1]
        if size > 2_000 and n_components < size:  # beyond, a dense solver takes over a second
            start = np.random.RandomState(0).uniform(0, 1, size)
            values, vectors = eigsh(gram, k=n_components, which="LA", v0=start)
        else:
            lowest = max(0, size - n_components)
            values, vectors = linalg.eigh(gram.toarray(), subset_by_index=(lowest, size - 1))
        keep = values > 1e-10 * max(float(values[-1]), 1e-300)
        return np.asarray(vectors[:, keep][:, ::-1])

    def _kernel(self) -> Floats:
        Z = self.Z()
        return np.asarray((Z @ Z.T).toarray())

    def _affinity(self) -> Floats:
        K = self._kernel()
        K += 1e-6 * K.max(initial=0.0)  # spectral solvers warn of graphs that are not connected
        return K

    def _distances(self) -> Floats:
        """Distances of the rows of Z, on the scale of distances between rows of X."""
        K = self._kernel()
        own = np.diag(K)
        D = np.maximum(own[:, None] + own - 2.0 * K, 0.0)
        mean = float(D.mean())
        return np.asarray(np.sqrt(D * (2 * self.spread / mean if mean > 0 < self.spread else 1.0)))

    def shares(self, known: Constraints) -> Floats:
        """What is left in the loss of each link: its share among those of its kind."""
        Z = self.Z() if self.rounds else sparse.csr_array((self.n, 0))
        parts = []
        for pairs, weight, sign in (
            (known.must_link, known.must_link_weight, -1.0),
            (known.cannot_link, known.cannot_link_weight, 1.0),
        ):
            K = np.asarray((Z[pairs[:, 0]].multiply(Z[pairs[:, 1]])).sum(axis=1)).ravel()
            pull = np.log(weight) + sign * K
            parts.append(softmax(pull) if len(pull) else pull)
        return np.concatenate(parts)

    # ---------------------------------------------------------------- new rows

    def forget_rows(self) -> Boosting:
        """Drop the rows, unless `predict` needs them."""
        first = self.rounds[0].adapter if self.rounds else self.adapter
        if first is not None and first.base is not None:
            self.X = None
        return self

    def predict(self, X: Matrix, labels: NDArray) -> Ints:
        """Clusters of new rows; `labels` are those of the rows of the fit."""
        if not self.rounds:
            assert self.adapter is not None
            return self.adapter.predict(X, labels, lambda: self.X)
        found = [
            r.adapter.predict(r.project(X), r.labels, partial(r.project, self.X))
            for r in self.rounds
        ]
        Z = self.Z(found)
        if self.adapter is not None and self.adapter.base is not None and self.V is not None:
            return self.adapter.predict(Z @ self.V, labels, lambda: None)
        size = int(labels.max(initial=-1)) + 1
        if not size:
            return np.full(len(found[0]), -1, dtype=np.int64)
        # The cluster whose mean row of Z is nearest: the rule of kernel k-means.
        inside = np.flatnonzero(labels >= 0)
        counts = np.bincount(labels[inside])
        one_hot = sparse.csr_array(
            (1.0 / counts[labels[inside]], (labels[inside], inside)), shape=(size, len(labels))
        )
        means = (one_hot @ self.Z()).toarray()
        return np.argmax(2 * (Z @ means.T) - (means**2).sum(axis=1), axis=1)


def _figures(
    step: Step, log_loss: float, log_bound: float, n_components: int, adapter: LabelAdapter
) -> BoostRound:
    return BoostRound(
        step.alpha, exp(log_loss), exp(log_bound), step.must_violated, step.cannot_violated,
        n_components, len(adapter.names),
    )  # fmt: skip


def _failed(error: Exception, number: int, shape: tuple[int, ...]) -> str:
    """In the first round the base's error is the user's; later, the rounds before it count."""
    where = f"round {number} of BoostCluster, on the data projected to shape {shape}"
    if number == 1:
        error.add_note(f"raised by the base in {where}")
        raise error
    reason = f"the base raised {type(error).__name__} in {where}: {error}"
    warnings.warn(f"{reason}. The rounds before it count.", UserWarning, stacklevel=4)
    return reason


def _stretch(shown: NDArray, spread: float) -> float:
    """The factor that gives rows a total variance of `spread`."""
    own = float(shown.var(axis=0, dtype=np.float64).sum())
    return float(np.sqrt(spread / own)) if own > 0 and spread > 0 else 1.0
