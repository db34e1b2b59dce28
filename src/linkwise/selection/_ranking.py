"""From trials to a choice: scores, ties, and the simplest among equals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _scores
from ._candidates import Candidate
from ._exams import Exam
from ._trials import Trial

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
        Whether each is within one standard error of the best.
    left_out : ndarray of shape (len(order), n_exams)
        Scores with one exam left out at a time.
    trials : mapping from Candidate to list of Trial
        Of all candidates, also of those that failed or were dropped.
    n_exams : int
        Exams that all finalists have sat.
    out : mapping from Candidate to str
        Why the others have not.
    partial : mapping from Candidate to float
        Their scores in the exams that they have sat.
    """

    order: list[Candidate]
    scores: Floats
    errors: Floats
    tied: NDArray[np.bool_]
    left_out: Floats
    trials: Mapping[Candidate, Sequence[Trial]]
    n_exams: int
    out: Mapping[Candidate, str]
    partial: Mapping[Candidate, float]

    @classmethod
    def of(
        cls, exams: Sequence[Exam], trials: Mapping[Candidate, Sequence[Trial]],
        finalists: Sequence[Candidate], n_exams: int, out: Mapping[Candidate, str],
    ) -> Ranking:  # fmt: skip
        """Rank; raise a ValueError with the reasons if all candidates failed."""
        fit = [c for c in finalists if not any(trial.error for trial in trials[c][:n_exams])]
        if not fit:
            raise ValueError(_all_failed(trials))
        left_out = np.array([_left_out(exams, trials[c][:n_exams])[1] for c in fit])
        scores = np.array([_left_out(exams, trials[c][:n_exams])[0] for c in fit])
        order = sorted(
            range(len(fit)), key=lambda i: (-scores[i], fit[i].rank, fit[i].n_clusters or 0)
        )
        errors = np.array([_scores.standard_error(own) for own in left_out])
        tied = _scores.tied(scores[order], left_out[order])
        ranked = [fit[i] for i in order]
        sat = {c: own for c, own in trials.items() if own and not any(t.error for t in own)}
        partial = {c: _left_out(exams, sat[c])[0] for c in out if c in sat}
        return cls(
            ranked, scores[order], errors[order], tied, left_out[order], trials, n_exams,
            out, partial,
        )  # fmt: skip

    @staticmethod
    def of_one(exams: Sequence[Exam], trials: Sequence[Trial]) -> float:
        """The score of one candidate so far."""
        return _left_out(exams, trials)[0]

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

    def best_of_each_kind(self) -> list[Candidate]:
        """The best k of each algorithm and preprocessing, best first."""
        first: dict[str, Candidate] = {}
        for candidate in self.order:
            first.setdefault(candidate.kind, candidate)
        return list(first.values())

    def plain_will_do(self) -> Candidate | None:
        """The best k-means, unless the best candidate is better by two standard errors."""
        place = next((i for i, c in enumerate(self.order) if c.is_kmeans), None)
        if place is None:
            return None
        error = _scores.standard_error(self.left_out[0] - self.left_out[place])
        clearly = self.scores[0] - self.scores[place] > 2 * (0.0 if np.isnan(error) else error)
        return None if clearly else self.order[place]

    def choices(self, doubtful: bool) -> Iterator[Candidate]:
        """What to take, and what if that cannot be fitted with everything.

        First those tied with the best, the simplest first and each with its best k; but none that
        scores below k-means. Then all others by score. If the constraints are doubtful, k-means
        goes before them all where it will do: who listens to wrong constraints gets worse, which
        constraints held back do not show fully, since some of them are wrong as well.
        """
        plain = self.plain_will_do() if doubtful else None
        if plain is not None:
            yield plain
        floor = -np.inf if np.isnan(self.kmeans_score) else self.kmeans_score
        good = [i for i in np.flatnonzero(self.tied) if self.scores[i] >= floor]
        equals = sorted(good, key=lambda i: (self.order[i].rank, i))  # i: by score, then k
        yield from (self.order[i] for i in equals)
        yield from (self.order[i] for i in range(len(self.order)) if i not in good)

    def table(self, chosen: Candidate) -> list[dict[str, Any]]:
        """One row for each candidate, as plain values."""
        rows = [self._row(c, place, chosen) for place, c in enumerate(self.order)]
        others = [candidate for candidate in self.trials if candidate not in set(self.order)]
        others.sort(key=lambda candidate: -self.partial.get(candidate, -np.inf))
        return rows + [self._row(candidate, None, chosen) for candidate in others]

    def _row(self, candidate: Candidate, place: int | None, chosen: Candidate) -> dict[str, Any]:
        trials = self.trials[candidate]
        failed = next((trial.error for trial in trials if trial.error), "")
        state = failed or ("" if place is not None else self.out.get(candidate, ""))
        nan = float("nan")
        return {
            "algorithm": candidate.algorithm,
            "preprocessing": candidate.preprocessing,
            "n_clusters": candidate.n_clusters,
            "score": self.partial.get(candidate, nan)
            if place is None
            else self.scores[place].item(),
            "standard_error": nan if place is None else float(self.errors[place]),
            "tied": place is not None and bool(self.tied[place]),
            "chosen": candidate is chosen,
            "kept": float(np.mean([t.kept for t in trials])) if trials and not failed else nan,
            "seconds": float(np.mean([trial.seconds for trial in trials])) if trials else nan,
            "n_exams": len(trials),
            "note": state,
        }


def _left_out(exams: Sequence[Exam], trials: Sequence[Trial]) -> tuple[float, Floats]:
    """The score of a candidate, and its scores with one exam left out at a time."""
    if exams[0].must is not None:
        pairs = zip(exams, trials, strict=False)
        counts = np.array([_scores.link_counts(exam, trial.together) for exam, trial in pairs])
        return float(_scores.mean_f(counts.sum(axis=0))), _scores.without_each(counts)
    steady = _scores.stability([trial.together for trial in trials])
    index = np.array([max(trial.index, 0.0) for trial in trials])
    values = (steady + index + np.array([trial.kept for trial in trials])) / 3
    return float(values.mean()), _scores.leave_one_out_means(values)


def _all_failed(trials: Mapping[Candidate, Sequence[Trial]]) -> str:
    reasons: dict[str, str] = {}
    for candidate, own in trials.items():
        error = next((trial.error for trial in own if trial.error), None)
        if error is not None:
            reasons.setdefault(error, str(candidate))
    listed = "".join(f"\n  {who}: {why}" for why, who in list(reasons.items())[:10])
    return f"none of the {len(trials):,} candidates could be fitted:{listed}"
