"""The rounds of BoostCluster, the final clustering of K, and prediction.

A clustering that comes a second time gains only rounding; three seeds are tried before a round
gives up. The final clustering sees max(s + 1, k) dimensions of K, each as long as the root of its
eigenvalue: in trials, fewer dimensions than clusters cost NMI on vowel, and unit vectors on
pendigits. No matrix is n x n.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwise._adapters import (
    LabelAdapter,
    cluster,
    kernel_parameter,
    n_clusters_of,
    seed_names,
    seeded,
)
from linkwise._types import RandomState
from linkwise._validation import mean_and_spread
from linkwise.constraints import Constraints

from ._loss import PairLoss, Step
from ._memberships import Memberships
from ._projection import Centered, Directions, Floats

OUT_OF_ROUNDS = "all rounds were run"
NOTHING_KNOWN = "there are no pairwise constraints"
NO_DIRECTION = "no direction brings must-links nearer than cannot-links"
FLAT = "the loss falls no more"
ALL_SATISFIED = "a round satisfied every constraint"
_TRIES = 3  # seeds of a base that gains nothing, before that is taken as final
_LARGEST = float(np.log(np.finfo(np.float64).max))
_BRIDGE = 1e-6  # of the largest affinity: joins parts of K, or solvers complain


def exp(logarithm: float) -> float:
    """The number of this logarithm, infinite if there is none."""
    return float(np.exp(logarithm)) if logarithm < _LARGEST else float("inf")


class BoostRound(NamedTuple):
    """Figures of one round; `pandas.DataFrame(model.history_)` makes a table of them.

    Attributes
    ----------
    alpha : float
        Weight of the round's clustering in K (13).
    loss : float
        Loss (1) after the round.
    bound : float
        Theorem 1's bound on it. Where alpha was cut off at `max_alpha`, the round's factor is that
        of (12) at the alpha used.
    must_violated, cannot_violated : float
        Share of the must-links and cannot-links that the round's clustering broke, each counting
        as much as it did in the loss (A and D of Theorem 1).
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
class _View:
    """How a round sees rows: (X - mean) P."""

    mean: Floats
    P: Floats
    answerer: LabelAdapter | None = None

    def of(self, X: Any) -> NDArray:
        return Centered(X, self.mean).times(self.P)


class Boosting:
    """One run of the algorithm (Figure 2 of the paper).

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
    base : clusterer
    n_components : int
        s of the paper.
    rng : RandomState
        Seeds the bases.
    passed : Constraints or None
        Constraints for the base itself.
    """

    def __init__(
        self,
        X: Any,
        base: Any,
        n_components: int,
        rng: RandomState,
        passed: Constraints | None = None,
    ):
        self.X, self.base, self.n_components = X, base, n_components
        self.rng, self.passed = rng, passed
        self.members = Memberships(X.shape[0])
        self.views: list[_View] = []
        self.history: list[BoostRound] = []
        self.last: Any = None

    # ---------------------------------------------------------------- rounds

    def run(
        self,
        loss: PairLoss,
        n_rounds: int,
        *,
        max_alpha: float,
        tol: float,
        tell: Callable[[int, float], None],
    ) -> str:
        """Boost until a reason to stop, which is returned."""
        self.mean, self.spread = mean_and_spread(self.X)
        if not len(loss.rows):
            return NOTHING_KNOWN
        directions = Directions(Centered(self.X, self.mean).take(loss.rows))
        log_bound = loss.log_loss
        for number in range(1, n_rounds + 1):
            P = directions.top(loss.tension(), self.n_components)
            if not P.shape[1]:
                return NO_DIRECTION
            view, shown = self._scaled(P)
            try:
                labels, answerer, step = self._attempt(shown, loss, max_alpha, tol)
            except Exception as error:
                return self._failed(error, number, shown.shape)
            if step.alpha <= 0 or -step.log_factor < tol:
                return FLAT
            loss.add(step.alpha, labels[loss.rows])
            log_bound += step.log_factor
            self._keep(view, answerer, labels, step, loss.log_loss, log_bound)
            tell(number, self.history[-1].loss)
            if step.perfect:
                return ALL_SATISFIED
        return OUT_OF_ROUNDS

    def _attempt(
        self, shown: NDArray, loss: PairLoss, max_alpha: float, tol: float
    ) -> tuple[NDArray[np.int64], LabelAdapter, Step]:
        """A clustering of the projected rows; if it gains nothing, one from another seed."""
        for _ in range(_TRIES if seed_names(self.base) else 1):
            labels, answerer = cluster(seeded(self.base, self.rng), shown, self.passed)
            step = loss.best_step(labels[loss.rows], max_alpha)
            if step.alpha > 0 and -step.log_factor >= tol:
                break
        return labels, answerer, step

    def _scaled(self, P: Floats) -> tuple[_View, NDArray]:
        """The view along P, stretched to the total variance of X, and the rows in it."""
        shown = Centered(self.X, self.mean).times(P)
        factor = _stretch(shown, self.spread)
        shown *= factor
        return _View(self.mean, P * factor), shown

    def _keep(
        self, view: _View, answerer: LabelAdapter, labels: NDArray, step: Step, log_loss: float,
        log_bound: float,
    ) -> None:  # fmt: skip
        self.members.add(labels, step.alpha)
        self.views.append(_View(view.mean, view.P, answerer))
        self.history.append(
            BoostRound(
                step.alpha, exp(log_loss), exp(log_bound), step.must_violated, step.cannot_violated,
                view.P.shape[1], len(answerer.names),
            )
        )  # fmt: skip

    def _failed(self, error: Exception, number: int, shape: tuple[int, ...]) -> str:
        """In the first round the base's error is the user's; later, what was learnt is kept."""
        where = f"round {number} of BoostCluster, on the data projected to shape {shape}"
        if number == 1:
            error.add_note(f"raised by the base in {where}")
            raise error
        reason = f"the base raised {type(error).__name__} in {where}: {error}"
        warnings.warn(f"{reason}. The rounds before it count.", UserWarning, stacklevel=4)
        return reason

    # ---------------------------------------------------------------- the last clustering

    def finish(self, max_kernel_rows: int) -> NDArray[np.int64]:
        """Let the base cluster K (X itself if there were no rounds), and return the labels."""
        base = seeded(self.base, self.rng)
        self.V: Floats | None = None
        name = kernel_parameter(base) if self.X.shape[0] <= max_kernel_rows else None
        shown = self.X
        if len(self.members) and name is not None:
            base.set_params(**{name: "precomputed"})
            shown = self._distances() if name == "metric" else self._affinity()
        elif len(self.members):
            # The paper's s + 1, but k clusters need k dimensions of K to lie apart in.
            self.V = self.members.leading(max(self.n_components + 1, n_clusters_of(base) or 0))
            shown = self.members.times(self.V)
            factor = _stretch(shown, self.spread)
            shown *= factor
            self.V *= factor
        try:
            labels, answerer = cluster(base, shown, self.passed)
        except Exception as error:
            error.add_note("raised by the base on what BoostCluster learnt (the kernel K)")
            raise
        uses_rows = self.V is not None or not len(self.members)
        self.last, self.answerer = base, answerer if uses_rows else None
        return labels

    def _affinity(self) -> Floats:
        K = self.members.kernel()
        K += _BRIDGE * K.max(initial=0.0)
        return K

    def _distances(self) -> Floats:
        """Distances of the rows of Z, on the scale of distances between rows of X."""
        D = self.members.kernel()
        own = np.diag(D).copy()
        D *= -2.0
        D += own[:, None]
        D += own
        mean = float(D.mean())
        D *= 2 * self.spread / mean if mean > 0 and self.spread > 0 else 1.0
        return np.sqrt(np.maximum(D, 0.0, out=D), out=D)

    def shares(self, known: Constraints) -> Floats:
        """What is left in the loss of each pair: its share among those of its kind."""
        loss = PairLoss(known)
        for alpha, codes in zip(self.members.alphas, self.members.codes, strict=True):
            loss.add(alpha, codes[loss.rows].astype(np.int64))
        return np.concatenate([loss.must.shares, loss.cannot.shares])

    # ---------------------------------------------------------------- new rows

    def forget(self) -> Boosting:
        """Drop the rows, unless `predict` needs them."""
        first = self.views[0].answerer if self.views else self.answerer
        if first is not None and first.base is not None:
            self.X = None
        return self

    def predict(self, X: Any, labels: NDArray) -> NDArray[np.int64]:
        """Clusters of new rows; `labels` are those of the rows of the fit."""
        if not len(self.members):
            assert self.answerer is not None
            return self.answerer.predict(X, labels, lambda: self.X)
        codes = [
            view.answerer.predict(view.of(X), own, partial(view.of, self.X))
            for view, own in zip(self.views, self.members.codes, strict=True)
            if view.answerer is not None
        ]
        if self.answerer is not None and self.answerer.base is not None and self.V is not None:
            return self.answerer.predict(self.members.times(self.V, codes), labels, lambda: None)
        return self._nearest_mean(codes, labels)

    def _nearest_mean(self, codes: list[NDArray], labels: NDArray) -> NDArray[np.int64]:
        """The cluster whose mean row of Z is nearest: kernel k-means' rule, from counts alone."""
        size = int(labels.max(initial=-1)) + 1
        if not size:
            return np.full(len(codes[0]), -1, dtype=np.int64)
        means = self.members.cross(labels, size) / np.bincount(labels[labels >= 0])[:, None]
        along = self.members.times(means.T, codes)
        return np.argmax(2 * along - (means**2).sum(axis=1), axis=1)


def _stretch(shown: NDArray, spread: float) -> float:
    """The factor that gives rows a total variance of `spread`."""
    own = float(shown.var(axis=0, dtype=np.float64).sum())
    return float(np.sqrt(spread / own)) if own > 0 and spread > 0 else 1.0
