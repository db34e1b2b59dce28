"""How reliable annotators are, and what their answers say together.

Entry point: `evidence`.

References
----------
.. [1] A. P. Dawid, A. M. Skene. Maximum likelihood estimation of observer error-rates using the EM
   algorithm. Applied Statistics 28, 1979.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from ._confidence import SUREST, USUAL, log_odds

Floats = NDArray[np.float64]

_PRIOR = 10.0  # answers that an annotator's reliability is worth beforehand
_ROUNDS, _STILL = 200, 1e-6
_TIE = 1e-9


def evidence(
    item: NDArray[np.int64],
    person: NDArray[np.int64],
    said: NDArray[np.bool_],
    weight: Floats | None = None,
) -> tuple[Floats, Floats]:
    """What all answers to each pair say together, and how reliable each person is.

    Parameters
    ----------
    item, person : ndarrays of shape (n_answers,)
        Numbers of the pair and of who answered.
    said : ndarray of shape (n_answers,)
        Whether the rows belong together, as answered.
    weight : ndarray of shape (n_answers,), default=None
        How much each answer counts, which takes the place of what is estimated.

    Returns
    -------
    total : ndarray of shape (n_items,)
        The weight of a link, negative for a cannot-link; 0 if the answers cancel out.
    hits : ndarray of shape (n_people, 2)
        Probability of a right answer about rows that belong together, and about others.
    """
    n = int(item.max(initial=-1)) + 1
    hits = _hits(item, person, said, n, int(person.max(initial=-1)) + 1)
    each = _log_ratios(hits, person, said)
    if weight is not None:
        each = np.where(said, weight, -weight) * log_odds(USUAL)
    total = np.bincount(item, each, minlength=n).astype(np.float64)
    total[np.abs(total) <= _TIE] = 0.0
    most = log_odds(SUREST)
    return np.clip(total, -most, most) / log_odds(USUAL), hits


def numbered(names: Sequence[Any]) -> tuple[list[Any], NDArray[np.int64]]:
    """The different names in the order of their first appearance, and the number of each."""
    table: dict[Any, int] = {}
    numbers = [table.setdefault(name, len(table)) for name in names]
    return list(table), np.array(numbers, dtype=np.int64)


def _hits(
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
