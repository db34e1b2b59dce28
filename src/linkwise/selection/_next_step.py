"""What to do next, in one sentence: more links, other features, a review, or nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linkwise._validation import Knowledge

from ._candidates import Candidate
from ._expected import Expected
from ._noise import NoiseEstimate
from ._ranking import Ranking
from ._sample import Sample
from ._splits import FEW_LINKS, LEAST_UNITS

_WIDE, _WANTED = 0.15, 0.1  # length of an interval that more links should shorten, and to what
_GOOD, _POOR = 0.9, 0.4  # adjusted Rand index
_JUDGES = 5
_MANY = 5  # times as many links are too much to ask for


def next_step(
    chosen: Candidate, ranking: Ranking, expected: Expected, noise: NoiseEstimate | None,
    given: Knowledge, sample: Sample,
) -> str:  # fmt: skip
    """The one thing that is likely to help most."""
    n_links = given.known.n_must_link + given.known.n_cannot_link
    if not expected.is_known:
        return (
            f"Next: give links, at least {LEAST_UNITS} of each kind and better {FEW_LINKS} or more "
            f"in all; {_question(ranking, given, sample) or 'linkwise label asks for useful ones'}."
        )
    if noise is not None and noise.clear:
        n_wrong = len(noise.suspects())
        return (
            f"Next: review the {n_wrong:,} constraints that every good candidate speaks against; "
            "a wrong one costs more than a new one brings."
        )
    if expected.width > _WIDE:
        more = max(FEW_LINKS, round(n_links * ((expected.width / _WANTED) ** 2 - 1) / 10) * 10)
        first = _question(ranking, given, sample)
        if more > _MANY * n_links:
            return "Next: more links would still help" + (f"; {first}." if first else ".")
        return (
            f"Next: about {more:,} more links would say how good this is to within "
            f"{_WANTED / 2:.2f}" + (f"; {first}." if first else ".")
        )
    if expected.ari < _POOR and ranking.score_of(chosen) - ranking.kmeans_score < 0.1:
        return (
            "Next: try other features; no method finds what the links tell in these, and more "
            "links would change little."
        )
    if expected.ari >= _GOOD:
        return "Next: use it; more links would change little."
    first = _question(ranking, given, sample)
    return "Next: more links would still help" + (f"; {first}." if first else ".")


def _question(ranking: Ranking, given: Knowledge, sample: Sample) -> str:
    """The pair of rows that good candidates disagree about most."""
    work = ranking.work
    judges = ranking.best_of_each_kind()[:_JUDGES]
    votes = np.mean([work.trials[judge][0].probed for judge in judges], axis=0)
    if not len(votes) or not 0 < votes.mean() < 1:
        return ""
    place = int(np.abs(votes - 0.5).argmin())
    if votes[place] in (0.0, 1.0):
        return ""
    rows = work.probes.rows[work.probes.pairs[place]]
    rows = rows if sample.rows is None else sample.rows[rows]
    i, j = _names(rows, given.ids)
    return f"ask first whether {i} and {j} belong together: the best candidates disagree"


def _names(rows: Sequence[int], ids: Sequence[object] | None) -> list[str]:
    return [f"row {row}" if ids is None else str(ids[int(row)]) for row in rows]
