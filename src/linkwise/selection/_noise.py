"""Wrong constraints: their estimated share, the suspects, and a clusterer that reweights them.

Entry points: `NoiseEstimate.of`, from the answers about held-out links; `ReweightedClusterer`,
a candidate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state

from linkwise._adapters import fit, labels_of
from linkwise._types import Matrix, Seed
from linkwise._validation import Knowable
from linkwise.constraints import Constraints, as_constraints, most_wrong

from ._search import Trial
from ._splits import ConstraintFold, Pairs, held_out

_LEAST_TRUST = 0.05  # weight that stays with a link that every clustering speaks against
_LEAST_SCORE = 0.7  # held-out score below which mistakes of the candidates hide wrong links
_CLEARLY = 0.05  # share that two standard errors must stay above
_REPEATS, _FOLDS = 2, 5


class Votes:
    """How often answers about held-out links agreed with the given ones."""

    def __init__(self, known: Constraints):
        self.right, self.asked = np.zeros((2, known.n_must_link + known.n_cannot_link))

    def add(self, fold: ConstraintFold, together: NDArray[np.bool_]) -> None:
        """Count the answers of one fold."""
        given = fold.place >= 0
        np.add.at(self.right, fold.place[given], (together == fold.must)[given])
        np.add.at(self.asked, fold.place[given], 1)

    def trust(self, unasked: float) -> NDArray[np.float64]:
        """Share of answers that agree with each given pair."""
        return np.where(self.asked > 0, self.right / np.maximum(self.asked, 1), unasked)


@dataclass(frozen=True, eq=False)
class NoiseEstimate:
    """Evidence on wrong constraints from clusterings that did not see them.

    Attributes
    ----------
    trust : ndarray of shape (n_pairs,)
        Share of the answers that agree with each given pair; NaN where none was asked.
    share : float
        Estimated share of wrong ones: among the pairs on which all answers are the same, those
        that are answered the other way; no more than `most_wrong`. The candidates' own mistakes are
        in it too, so it rather says too much. NaN if nobody was asked or the candidates are too
        weak to tell.
    error : float
        Its standard error.
    unsure : float
        Share of the pairs on which answers differ: how often candidates are wrong by themselves.
    contradictory : bool
        Whether the constraints contradict each other, which proves that some are wrong.
    """

    trust: NDArray[np.float64]
    share: float
    error: float
    unsure: float
    contradictory: bool

    @classmethod
    def of(
        cls, known: Constraints, folds: Sequence[ConstraintFold], trials: Sequence[Sequence[Trial]],
        score: float,
    ) -> NoiseEstimate:  # fmt: skip
        """Estimate from the trials of some good candidates, whose best score is given."""
        votes = Votes(known)
        for own in trials:
            for fold, trial in zip(folds, own, strict=False):
                votes.add(fold, trial.together)
        trust = votes.trust(unasked=float("nan"))
        n, against = int(np.isin(trust, (0.0, 1.0)).sum()), int((trust == 0).sum())
        clash = not known.closure().consistent
        if not n or (score < _LEAST_SCORE and not clash):
            return cls(trust, float("nan"), float("nan"), 1.0, clash)
        share = min(against / n, most_wrong(known))
        unsure = 1 - n / int(np.isfinite(trust).sum())
        return cls(trust, share, float(np.sqrt(share * (1 - share) / n)), unsure, clash)

    @property
    def clear(self) -> bool:
        """Whether some constraints are clearly wrong.

        Candidates that often differ also err together: a quarter of that is not held against
        links.
        """
        own_mistakes = 2 * self.error + self.unsure / 4
        return self.contradictory or bool(self.share - own_mistakes > _CLEARLY)

    def limits(self, errors: float) -> tuple[float, float]:
        """Limits of the share of wrong constraints, all values between them as likely.

        Unless some are clearly wrong, there may be none, which is as likely as all other values
        together (values below 0 stand for it): what is answered the other way may also be mistakes
        of the candidates. Where these are too weak to tell, all their errors may be wrong links.

        Parameters
        ----------
        errors : float
            Share of the links held back that the choice gets wrong.
        """
        if np.isnan(self.share):
            return -errors, errors
        if self.clear:
            return self.share - 2 * self.error, self.share + 2 * self.error
        return -self.share, self.share

    def suspects(self) -> NDArray[np.int64]:
        """Positions of the constraints that no clustering agrees with; see `Constraints.at`."""
        return np.flatnonzero(self.trust == 0)


class ReweightedClusterer(ClusterMixin, BaseEstimator):
    """A clusterer that weights each link by its agreement with clusterings made without it.

    Folds over the constraints are clustered without the links held back; the weight of a link is
    multiplied by the share of these clusterings that agree with it. All of that happens with the
    constraints of the fit alone, so that it can be examined like any other candidate.

    Parameters
    ----------
    base : clusterer or Pipeline
        One in which weights of constraints count.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds and of the base.
    """

    def __init__(self, base: BaseEstimator, random_state: Seed = None):
        self.base = base
        self.random_state = random_state

    def fit(
        self, X: Matrix, y: ArrayLike | None = None, *, constraints: Knowable = None
    ) -> ReweightedClusterer:
        """Cluster with reweighted constraints; `constraints` by row number, y is ignored."""
        known = as_constraints(constraints).as_pairs()
        rng = check_random_state(self.random_state)
        self.trust_ = self._trust(X, known, rng)
        self.base_ = fit(self.base, X, reweighted(known, self.trust_), rng)
        self.labels_ = labels_of(self.base_, X)
        return self

    def _trust(
        self, X: Matrix, known: Constraints, rng: np.random.RandomState
    ) -> NDArray[np.float64]:
        votes = Votes(known)
        for _ in range(_REPEATS):
            for fold in held_out(known, _FOLDS, rng) or ():
                a, b = labels_of(fit(self.base, X, fold.known, rng), X)[fold.pairs].T
                votes.add(fold, a == b)
        return votes.trust(unasked=1.0)

    def predict(self, X: Matrix) -> NDArray[np.int64]:
        """Clusters of new rows, as the base has it."""
        return np.asarray(self.base_.predict(X))


def reweighted(known: Constraints, trust: NDArray[np.float64]) -> Constraints:
    """The same pairs, their weights multiplied by the trust in them."""
    pairs = Pairs(known)
    weight = pairs.weight * np.maximum(trust, _LEAST_TRUST)
    n_must = known.n_must_link
    return known.followed_by(
        (pairs.ends[:n_must], weight[:n_must]), (pairs.ends[n_must:], weight[n_must:]),
        source="reweighted",
    )  # fmt: skip
