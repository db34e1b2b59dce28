"""Why a candidate was chosen, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from linkwise.constraints import Constraints

from . import _description
from ._candidates import Candidate
from ._hierarchy import Cuts
from ._noise import NoiseEstimate
from ._plan import Limits
from ._ranking import Ranking
from ._sample import Sample
from ._search import CLEARLY_WORSE, OUT_OF_TIME, WORSE, Trial
from ._splits import LEAST_UNITS

_ROUNDING = 1e-9
_LEAST_CLUSTERS = 2
_NEAR = 0.12  # of the most clusters


def reasons(
    chosen: Candidate,
    ranking: Ranking,
    criterion: str,
    known: Constraints,
    noise: NoiseEstimate | None,
    limits: Limits | None,
    sample: Sample,
) -> tuple[str, ...]:
    """Sentences on the choice, the scores, what it was compared with, and wrong constraints."""
    return (
        f"Chosen: {chosen}.",
        _how(criterion, known, ranking),
        *_against(chosen, ranking),
        *_wrong(noise),
        *_left_over(ranking),
        *_sampled(sample),
        *_weak(chosen, ranking),
        *_on_edge(chosen, ranking, limits),
    )


def _how(criterion: str, known: Constraints, ranking: Ranking) -> str:
    work = ranking.work
    many = _counted(len(work.trials), "candidate")
    if criterion == _description.NAME:
        return (
            f"Scored {many} by the nats per row that their clusters save when standardized rows "
            "and constraints are described."
        )
    if criterion != "stability":
        share = ranking.figures[ranking.order[0]].share
        return (
            f"Scored {many} by {_counted(work.n_complete, 'fold')} of constraints held back "
            f"({share:.0%} of the score: expected adjusted Rand index) and by stability, "
            f"silhouette and constraints satisfied ({1 - share:.0%})."
        )
    given = f"{known.n_must_link:,} must-links and {known.n_cannot_link:,} cannot-links"
    return (
        f"Too few independent constraints to hold some back ({given}; those that share rows count "
        f"once, and at least {LEAST_UNITS} of each are needed): scored {many} by stability under "
        f"resampling, silhouette, and constraints satisfied{_plausible(work.cuts)}."
    )


def _plausible(cuts: Cuts | None) -> str:
    """Which numbers of clusters links speak for."""
    if cuts is None:
        return ""
    worth = cuts.worth_trying
    span = f"{worth[0]} to {worth[-1]}" if len(worth) > 1 else f"{worth[0]}"
    return f"; links make {span} clusters plausible"


def _against(chosen: Candidate, ranking: Ranking) -> Iterator[str]:
    own, best = ranking.score_of(chosen), ranking.order[0]
    error = ranking.errors[ranking.order.index(chosen)]
    bar = "" if np.isnan(error) else f" (standard error {error:.3f})"
    if chosen is best:
        yield f"It has the best score, {own:.3f}{bar}."
    elif ranking.tied[ranking.order.index(chosen)]:
        yield (
            f"Its score is {own:.3f}{bar}; the best, {best}, has {ranking.best_score:.3f}, too "
            "little more to tell, and this one is simpler."
        )
    else:
        why = "could not be fitted with all constraints"
        if ranking.work.deadline is not None:
            why = f"would have taken too long, or {why}"
        yield f"Its score is {own:.3f}; better ones {why}."
    if ranking.scores[0] <= 0:
        described = ranking.work.description is not None
        yield (
            "No candidate describes the rows in fewer words than one cluster does."
            if described
            else "No candidate does better than chance on the constraints held back."
        )
    if not chosen.is_kmeans and not np.isnan(ranking.kmeans_score):
        yield f"Plain k-means, with the best k and preprocessing, has {ranking.kmeans_score:.3f}."


def _wrong(noise: NoiseEstimate | None) -> Iterator[str]:
    if noise is None:
        return
    if noise.contradictory:
        yield "The constraints contradict each other, so that some must be wrong."
    if np.isnan(noise.share):
        yield "The candidates are too weak to tell wrong constraints from their own mistakes."
    elif noise.clear:
        yield (
            f"About {noise.share:.0%} of the constraints look wrong (standard error "
            f"{noise.error:.0%}; mistakes of the candidates are in it)."
        )


def _left_over(ranking: Ranking) -> Iterator[str]:
    every = ranking.work.trials.items()
    failed = {c for c, own in every if any(trial.error for trial in own)}
    if failed:
        yield f"{_counted(len(failed), 'candidate')} failed; results_ says why."
    reasons = [why for candidate, why in ranking.work.out.items() if candidate not in failed]
    if worse := reasons.count(CLEARLY_WORSE):
        yield f"{_counted(worse, 'candidate')} left the race early, clearly worse than the best."
    if out := reasons.count(WORSE):
        yield f"{_counted(out, 'candidate')} left the race early, worse than many others."
    if ranking.work.n_complete < (n_used := len(ranking.work.folds)):
        yield f"The time was enough for {ranking.work.n_complete} of {n_used} rounds."
    if late := reasons.count(OUT_OF_TIME):
        yield f"{_counted(late, 'candidate')} dropped to keep to the time."


def _weak(chosen: Candidate, ranking: Ranking) -> Iterator[str]:
    """What makes the choice less certain than a score looks."""
    work = ranking.work
    alike = [
        candidate
        for candidate, score in zip(ranking.order, ranking.scores, strict=True)
        if abs(score - ranking.best_score) <= _ROUNDING and _differ(work.trials, candidate, chosen)
    ]
    if work.n_complete == 1 < len(work.folds):
        yield "Low confidence: only one fold finished; raise the time budget."
    elif alike:
        yield (
            f"The choice is weak: {_counted(len(alike), 'candidate')} with other clusters "
            f"{'has' if len(alike) == 1 else 'have'} the same score, and more constraints would "
            "tell them apart."
        )


def _on_edge(chosen: Candidate, ranking: Ranking, limits: Limits | None) -> Iterator[str]:
    """A number of clusters at the end of what was tried, and what to type."""
    numbers = {c.n_clusters for c in ranking.work.trials if c.n_clusters}
    k = chosen.n_clusters
    if k is None or len(numbers) < 2:
        return
    most = max(numbers) if limits is None else limits.most
    if k == most or (limits is not None and k >= (1 - _NEAR) * most):
        where = "the largest that was tried" if k == most else f"near the largest allowed, {most}"
        more = f"n_clusters=({k}, {4 * k}), or -k {k}-{4 * k}"
        yield f"k = {k} is {where}; there may be more clusters: try {more}."
    elif limits is not None and k == limits.least > _LEAST_CLUSTERS:
        fewer = f"n_clusters=({_LEAST_CLUSTERS}, {k}), or -k {_LEAST_CLUSTERS}-{k}"
        yield f"k = {k} is the smallest that was tried; if fewer are possible, try {fewer}."


def _sampled(sample: Sample) -> Iterator[str]:
    if sample.rows is not None:
        yield f"Candidates were tried on a sample of {len(sample.rows):,} rows."


def _differ(trials: Mapping[Candidate, Sequence[Trial]], one: Candidate, two: Candidate) -> bool:
    """Whether two candidates put rows together differently in the first fold."""
    return not np.array_equal(trials[one][0].probed, trials[two][0].probed)


def _counted(n: int, word: str) -> str:
    return f"{n:,} {word}{'s' * (n != 1)}"
