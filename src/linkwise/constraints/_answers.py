"""Several answers to one pair, combined into one link.

Entry point: `combine_answers`.

References
----------
.. [1] A. P. Dawid, A. M. Skene. Maximum likelihood estimation of observer error-rates using the EM
   algorithm. Applied Statistics 28, 1979.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from ._confidence import SUREST, USUAL, confidence_weight, log_odds
from ._constraints import Constraints
from ._errors import ConstraintError

Floats = NDArray[np.float64]

_PRIOR = 10.0  # answers that an annotator's reliability is worth beforehand
_ROUNDS, _STILL = 200, 1e-6
_TIE = 1e-9


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
    items, item = _numbered([tuple(sorted(pair, key=repr)) for pair in pairs])
    people, person = _numbered(who)
    hits = _reliabilities(item, person, said, len(items), len(people))
    evidence = _log_ratios(hits, person, said)
    if confidence is not None:
        weight = confidence_weight(confidence) * log_odds(USUAL)
        evidence = np.where(said, weight, -weight)
    total = np.bincount(item, evidence, minlength=len(items)).astype(np.float64)
    known = _links(items, total)
    undecided = [items[place] for place in np.flatnonzero(np.abs(total) <= _TIE)]
    reliability = {name: (float(a), float(b)) for name, (a, b) in zip(people, hits, strict=True)}
    return CombinedAnswers(known, reliability, undecided)


def _numbered(names: Sequence[Any]) -> tuple[list[Any], NDArray[np.int64]]:
    """The different names in the order of their first appearance, and the number of each."""
    table: dict[Any, int] = {}
    numbers = [table.setdefault(name, len(table)) for name in names]
    return list(table), np.array(numbers, dtype=np.int64)


def _links(items: list[tuple[Hashable, Hashable]], total: Floats) -> Constraints:
    weight = np.minimum(np.abs(total), log_odds(SUREST)) / log_odds(USUAL)
    decided = np.abs(total) > _TIE
    must, cannot = (
        [(*items[place], float(weight[place])) for place in np.flatnonzero(chosen & decided)]
        for chosen in (total > 0, total < 0)
    )
    try:
        return Constraints(must_link=must, cannot_link=cannot)
    except ConstraintError as error:
        raise ConstraintError(f"answers: {error.problems[0]}", topic=error.topic) from None


def _reliabilities(
    item: NDArray[np.int64], person: NDArray[np.int64], said: NDArray[np.bool_], n: int, m: int
) -> Floats:
    """Probability of a right answer of each person, about pairs together and apart, (m, 2)."""
    hits = np.full((m, 2), USUAL)
    if len(item) == n:  # no pair has two answers: nothing to compare
        return hits
    share = 0.5
    for _ in range(_ROUNDS):
        odds = np.bincount(item, _log_ratios(hits, person, said), minlength=n) + np.log(
            share / (1 - share)
        )
        together = expit(odds)
        share = float((together.sum() + 1) / (n + 2))
        belief = np.stack([together[item], 1 - together[item]], axis=1)
        right = belief * np.stack([said, ~said], axis=1)
        seen, good = (
            np.stack([np.bincount(person, part[:, c], minlength=m) for c in (0, 1)], axis=1)
            for part in (belief, right)
        )
        new = (good + _PRIOR * USUAL) / (seen + _PRIOR)
        if np.abs(new - hits).max() < _STILL:
            return new
        hits = new
    return hits


def _log_ratios(hits: Floats, person: NDArray[np.int64], said: NDArray[np.bool_]) -> Floats:
    """Logarithm of how much likelier each answer is for rows together than for rows apart."""
    together, apart = hits[person].T
    yes, no = np.log(together / (1 - apart)), np.log((1 - together) / apart)
    return np.where(said, yes, no)
