"""Wrong constraints: how many there may be, which ones, and a clusterer that trusts them less.

Entry points: `NoiseEstimate.of`, from the answers about held-out links; `ReweightedClusterer`,
a candidate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state

from linkwise._adapters import fit, labels_of
from linkwise.constraints import Constraints

from ._search import Trial
from ._splits import ConstraintFold, Pairs, held_out

_LEAST_TRUST = 0.05  # weight that stays with a link that every clustering speaks against
_LEAST_SCORE = 0.7  # held-out score below which mistakes of the candidates hide wrong links
_CLEARLY = 0.05  # share that two standard errors must stay above
_REPEATS, _FOLDS = 3, 5


class Votes:
    """How often answers about held-out links agreed with the given ones."""

    def __init__(self, known: Constraints):
        self.right, self.asked = np.zeros((2, known.n_must_link + known.n_cannot_link))

    def add(self, exam: ConstraintFold, together: NDArray[np.bool_]) -> None:
        """Count the answers of one exam."""
        given = exam.place >= 0
        np.add.at(self.right, exam.place[given], (together == exam.must)[given])
        np.add.at(self.asked, exam.place[given], 1)

    def trust(self, unasked: float) -> NDArray[np.float64]:
        """Share of answers that agree with each given pair."""
        return np.where(self.asked > 0, self.right / np.maximum(self.asked, 1), unasked)


@dataclass(frozen=True, eq=False)
class NoiseEstimate:
    """What held-out answers say about the constraints themselves.

    Attributes
    ----------
    trust : ndarray of shape (n_pairs,)
        Share of the answers that agree with each given pair; NaN where nobody was asked.
    share : float
        Estimated share of wrong ones: among the pairs on which all answers are the same, those
        that are answered the other way; no more than `most_wrong`. The candidates' own mistakes are
        in it too, so it rather says too much. NaN if nobody was asked or the candidates are too
        weak to tell.
    error : float
        Its standard error.
    contradictory : bool
        Whether the constraints contradict each other, which proves that some are wrong.
    """

    trust: NDArray[np.float64]
    share: float
    error: float
    contradictory: bool

    @classmethod
    def of(
        cls, known: Constraints, exams: Sequence[ConstraintFold], trials: Sequence[Sequence[Trial]],
        score: float,
    ) -> NoiseEstimate:  # fmt: skip
        """NoiseEstimate out of the trials of some good candidates, whose best score is given."""
        votes = Votes(known)
        for own in trials:
            for exam, trial in zip(exams, own, strict=False):
                votes.add(exam, trial.together)
        trust = votes.trust(unasked=float("nan"))
        n, against = int(np.isin(trust, (0.0, 1.0)).sum()), int((trust == 0).sum())
        clash = not known.closure().consistent
        if not n or (score < _LEAST_SCORE and not clash):
            return cls(trust, float("nan"), float("nan"), clash)
        share = min(against / n, most_wrong(known))
        return cls(trust, share, float(np.sqrt(share * (1 - share) / n)), clash)

    @property
    def clear(self) -> bool:
        """Whether some constraints are clearly wrong."""
        return self.contradictory or bool(self.share - 2 * self.error > _CLEARLY)

    def suspects(self) -> NDArray[np.int64]:
        """Positions of the constraints that every answer speaks against; see `Constraints.at`."""
        return np.flatnonzero(self.trust == 0)


def most_wrong(known: Constraints) -> float:
    """The largest share of wrong constraints that is plausible (5 %), 1 if nothing can be told.

    A constraint that follows from others would contradict them if one of them were wrong. If n such
    constraints contradict nothing, more than a share of 3 / n are hardly wrong.
    """
    closure = known.closure()
    n_needed = int((closure.sizes - 1).sum()) + len(closure.cannot_link)
    n_confirmed = known.n_must_link + known.n_cannot_link - n_needed
    if not closure.consistent or n_confirmed <= 0:
        return 1.0
    return min(1.0, 3.0 / n_confirmed)


class ReweightedClusterer(ClusterMixin, BaseEstimator):
    """A clusterer told each link with the weight that clusterings without it lend it.

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

    def __init__(self, base: Any, random_state: Any = None):
        self.base = base
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, *, constraints: Any = None) -> ReweightedClusterer:
        """Cluster with doubts; `constraints` by row number, y is ignored."""
        known = Constraints() if constraints is None else constraints
        rng = check_random_state(self.random_state)
        self.trust_ = self._trust(X, known, rng)
        self.base_ = fit(self.base, X, reweighted(known, self.trust_), rng)
        self.labels_ = labels_of(self.base_, X)
        return self

    def _trust(self, X: Any, known: Constraints, rng: Any) -> NDArray[np.float64]:
        votes = Votes(known)
        for _ in range(_REPEATS):
            for exam in held_out(known, _FOLDS, rng) or ():
                a, b = labels_of(fit(self.base, X, exam.known, rng), X)[exam.pairs].T
                votes.add(exam, a == b)
        return votes.trust(unasked=1.0)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Clusters of new rows, as the base has it."""
        return np.asarray(self.base_.predict(X))


def reweighted(known: Constraints, trust: NDArray[np.float64]) -> Constraints:
    """The same pairs, their weights multiplied by the trust in them."""
    pairs = Pairs(known)
    weight = pairs.weight * np.maximum(trust, _LEAST_TRUST)
    n_must = known.n_must_link
    return known.followed_by(
        (pairs.ends[:n_must], weight[:n_must]), (pairs.ends[n_must:], weight[n_must:]),
        source="doubted",
    )  # fmt: skip
