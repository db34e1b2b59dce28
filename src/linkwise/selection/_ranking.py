"""From trials to a choice: scores, ties, and the simplest among equals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkwise._types import JsonDict

from . import _scores
from ._candidates import Candidate
from ._scores import Figures
from ._search import CandidateSearch, Trial

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Ranking:
    """All candidates, those that count first, by score.

    Attributes
    ----------
    order : list of Candidate
        Finalists by score, best first; those that failed are not in it.
    scores, errors : ndarrays of shape (len(order),)
        Scores, and their standard errors.
    tied : ndarray of shape (len(order),)
        Whether each is as good as the best for all that can be told.
    figures : mapping from Candidate to Figures
        Of all that did not fail, also of those that left the race.
    work : CandidateSearch
        Where all this comes from.
    """

    order: list[Candidate]
    scores: Floats
    errors: Floats
    tied: NDArray[np.bool_]
    figures: Mapping[Candidate, Figures]
    work: CandidateSearch

    @classmethod
    def of(cls, work: CandidateSearch, tolerance: float) -> Ranking:
        """Rank; raise a ValueError with the reasons if all candidates failed.

        Parameters
        ----------
        work : CandidateSearch
            After it has run.
        tolerance : float
            Standard errors within which candidates are tied.
        """
        sound = [candidate for candidate in work.trials if work.is_sound(candidate)]
        figures = {c: work.figures(c, work.n_complete) for c in sound}
        fit = [candidate for candidate in work.finalists if candidate in figures]
        if not fit:
            raise ValueError(_all_failed(work.trials))
        order = sorted(fit, key=lambda c: (-figures[c].score, c.rank, c.n_clusters or 0))
        scores = np.array([figures[candidate].score for candidate in order])
        left_out = np.array([figures[candidate].left_out for candidate in order])
        errors = np.array([_scores.standard_error(own) for own in left_out])
        return cls(order, scores, errors, _scores.tied(scores, left_out, tolerance), figures, work)

    @property
    def best_score(self) -> float:
        """The highest score."""
        return float(self.scores[0])

    @property
    def kmeans_score(self) -> float:
        """The highest score of plain k-means; NaN if it failed."""
        own = [s for c, s in zip(self.order, self.scores, strict=True) if c.is_kmeans]
        return float(max(own, default=np.nan))

    def score_of(self, candidate: Candidate) -> float:
        """The score of a finalist."""
        return float(self.scores[self.order.index(candidate)])

    def best_of_each_kind(self, good: float | None = None) -> list[Candidate]:
        """The best k of each algorithm and preprocessing, best first.

        If a share `good` of the best score is given, only those that have it, and the best.
        """
        first: dict[str, Candidate] = {}
        for place, candidate in enumerate(self.order):
            if not place or good is None or self.scores[place] >= good * self.best_score:
                first.setdefault(candidate.kind, candidate)
        return list(first.values())

    def choices(self) -> Iterator[Candidate]:
        """What to take, and what if that cannot be fitted with everything.

        First those tied with the best, the simplest first and each with its best k; but none that
        scores below k-means. Then all others by score.
        """
        floor = -np.inf if np.isnan(self.kmeans_score) else self.kmeans_score
        good = [i for i in np.flatnonzero(self.tied) if self.scores[i] >= floor]
        equals = sorted(good, key=lambda i: (self.order[i].rank, i))  # i: by score, then k
        yield from (self.order[i] for i in equals)
        yield from (self.order[i] for i in range(len(self.order)) if i not in good)

    def counts_of(self, chosen: Candidate) -> Floats:
        """Answers about held-out links to judge a choice by, as in `link_counts`.

        The choice was made by these links, and looks better on them than it is. If the links of
        each fold are asked of the finalist that the other folds like best, no link has a say in
        who is asked about it; but that choice knows fewer links, and looks worse than it is. The
        mean of both is used.
        """
        own = self.figures[chosen].counts
        left_out = np.array([self.figures[candidate].left_out for candidate in self.order])
        judges = [self.order[best] for best in np.nan_to_num(left_out, nan=-np.inf).argmax(axis=0)]
        by_others = [self.figures[judge].counts[fold] for fold, judge in enumerate(judges)]
        return np.asarray((own.sum(axis=0) + np.sum(by_others, axis=0)) / 2)

    def table(self, chosen: Candidate) -> list[JsonDict]:
        """One row for each candidate, as plain values; those that left the race come last."""
        finalists = set(self.order)
        others = [candidate for candidate in self.work.trials if candidate not in finalists]
        others.sort(key=lambda c: -self.figures[c].score if c in self.figures else np.inf)
        rows = [self._row(candidate, chosen) for candidate in [*self.order, *others]]
        for row, error, tied in zip(rows, self.errors, self.tied, strict=False):
            row.update(standard_error=float(error), tied=bool(tied))
        return rows

    def _row(self, candidate: Candidate, chosen: Candidate) -> JsonDict:
        trials, own = self.work.trials[candidate], self.figures.get(candidate)
        failed = next((trial.error for trial in trials if trial.error), "")
        nan = float("nan")
        return {
            "algorithm": candidate.algorithm,
            "preprocessing": candidate.preprocessing,
            "n_clusters": candidate.n_clusters,
            "score": own.score if own else nan,
            "standard_error": nan,
            "tied": False,
            "chosen": candidate is chosen,
            "held_out": own.held_out if own else nan,
            "stability": float(own.steady.mean()) if own else nan,
            "silhouette": float(own.index.mean()) if own else nan,
            "satisfied": float(own.kept.mean()) if own else nan,
            "plausible": own.plausible if own else nan,
            "seconds": float(np.mean([trial.seconds for trial in trials])) if trials else nan,
            "n_used": len(trials),
            "note": failed or self.work.out.get(candidate, ""),
        }


def _all_failed(trials: Mapping[Candidate, Sequence[Trial]]) -> str:
    reasons: dict[str, str] = {}
    for candidate, own in trials.items():
        error = next((trial.error for trial in own if trial.error), None)
        if error is not None:
            reasons.setdefault(error, str(candidate))
    listed = "".join(f"\n  {who}: {why}" for why, who in list(reasons.items())[:10])
    return f"none of the {len(trials):,} candidates could be fitted:{listed}"
