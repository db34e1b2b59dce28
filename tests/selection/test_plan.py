"""Numbers of clusters that are scouted."""

import numpy as np
import pytest

from linkwise.selection import _plan
from linkwise.selection._plan import Limits, _scouted, doubling


class Search:
    """Scores that rise up to k = 64, times a base rate that falls with every trial."""

    n_telling, out_of_time, cuts, X = 1000, False, None, np.zeros((4000, 2))

    def __init__(self):
        self.tried = []

    def explore(self, candidates, n_folds):
        self.tried += candidates

    def interim_score(self, k):
        return -abs(np.log2(k / 64)) / 10 + 3.0 / len(self.tried)


class NoTime(Search):
    """Nothing can be tried."""

    out_of_time = True

    def interim_score(self, k):
        return -np.inf


def scouted(work, guess, monkeypatch):
    monkeypatch.setattr(_plan, "_guess", lambda *_: guess)
    return _scouted(work, lambda kind, k: k, ["scout"], Limits(2, 2000))


def test_scores_of_earlier_trials_are_computed_again(monkeypatch):
    """Else those of the first trials, whose base rate was higher, would end the search."""
    work = Search()
    counts = scouted(work, None, monkeypatch)
    assert max(work.tried) >= 128
    assert counts[0] == 64


@pytest.mark.parametrize("guess", [5, 64, 70, 600])
def test_the_best_number_is_found_from_any_guess(guess, monkeypatch):
    work = Search()
    counts = scouted(work, guess, monkeypatch)
    assert work.tried[0] == guess
    assert 55 <= counts[0] <= 72


def test_without_time_the_guess_is_taken(monkeypatch):
    assert scouted(NoTime(), 77, monkeypatch)[0] == 77


@pytest.mark.parametrize(
    ("begin", "limits", "expected"),
    [
        (2, (2, 20), [2, 4, 8, 16, 20]),
        (12, (2, 30), [2, 3, 6, 12, 24, 30]),
        (30, (2, 30), [2, 3, 7, 15, 30]),
        (5, (5, 5), [5]),
    ],
)
def test_doubling(begin, limits, expected):
    assert doubling(begin, Limits(*limits)) == expected
