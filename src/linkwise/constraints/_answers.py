"""Several answers to one pair, combined into one link.

Entry point: `combine_answers`; `_reliability` has the model.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._confidence import confidence_weight
from ._constraints import Constraints
from ._errors import ConstraintError
from ._reliability import evidence, numbered

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CombinedAnswers:
    """One link per pair, out of all answers to it.

    Attributes
    ----------
    constraints : Constraints
        Weighted by the log odds of the answers together; see `confidence_weight`.
    reliability : dict
        For each annotator the probabilities of a right answer about rows that belong together,
        and about rows that do not.
    undecided : list of pairs
        Pairs whose answers cancel out; they are no links.

    Examples
    --------
    >>> from linkwise.constraints import combine_answers
    >>> found = combine_answers([(0, 1), (0, 1)], [True, True], ["ana", "bo"])
    >>> found.constraints, found.undecided
    (Constraints(must_link=1), [])
    """

    constraints: Constraints
    reliability: dict[Hashable, tuple[float, float]]
    undecided: list[tuple[Hashable, Hashable]]


def combine_answers(
    pairs: Sequence[tuple[Hashable, Hashable]],
    same: ArrayLike,
    annotators: Sequence[Hashable] | None = None,
    *,
    confidence: ArrayLike | None = None,
) -> CombinedAnswers:
    """Combine several answers to the same pairs into one link each (Dawid and Skene).

    How reliable an annotator is, is estimated from agreement with the others (EM). Each starts as
    if ten answers had been seen, 85 % of them right, so that annotators of few answers count
    alike. The evidence of a pair is the sum of the log odds of its answers.

    Parameters
    ----------
    pairs : sequence of (i, j) of length n_answers
        Row numbers or ids.
    same : array-like of bool, shape (n_answers,)
        Whether the rows belong together, as answered.
    annotators : sequence of length n_answers, default=None
        Who answered; None for one and the same.
    confidence : array-like of shape (n_answers,), default=None
        How sure they were, above 0.5 and at most 1, which takes the place of what is estimated.

    Returns
    -------
    combined : CombinedAnswers

    Examples
    --------
    >>> from linkwise.constraints import combine_answers
    >>> pairs = [("a", "b"), ("b", "a"), ("a", "b"), ("a", "c")]
    >>> found = combine_answers(pairs, [True, True, False, False], ["ana", "bo", "cy", "ana"])
    >>> found.constraints
    Constraints(must_link=1, cannot_link=1)
    """
    said = np.asarray(same, dtype=bool)
    who = ["everyone"] * len(pairs) if annotators is None else list(annotators)
    if not len(pairs) == len(said) == len(who):
        raise ValueError(
            f"{len(pairs)} pairs, {len(said)} answers and {len(who)} annotators; give one of each "
            "per answer"
        )
    if not len(pairs):
        return CombinedAnswers(Constraints(), {}, [])
    items, item = numbered([tuple(sorted(pair, key=repr)) for pair in pairs])
    people, person = numbered(who)
    weight = None if confidence is None else confidence_weight(confidence)
    total, hits = evidence(item, person, said, weight)
    known = _links(items, total)
    undecided = [items[place] for place in np.flatnonzero(total == 0)]
    reliability = {name: (float(a), float(b)) for name, (a, b) in zip(people, hits, strict=True)}
    return CombinedAnswers(known, reliability, undecided)


def _links(items: list[tuple[Hashable, Hashable]], total: Floats) -> Constraints:
    must, cannot = (
        [(*items[place], abs(float(total[place]))) for place in np.flatnonzero(chosen)]
        for chosen in (total > 0, total < 0)
    )
    try:
        return Constraints(must_link=must, cannot_link=cannot)
    except ConstraintError as error:
        raise ConstraintError(f"answers: {error.problems[0]}", topic=error.topic) from None
