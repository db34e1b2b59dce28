"""The meter: guesses before they were told, with an interval."""

from __future__ import annotations

import pytest

from linkwise.active import LabelOracle, Session
from linkwise.active._progress import Round, measure, wilson

from .cases import blobs


def test_nothing_asked_says_nothing():
    meter = measure([], 0, 0)
    assert (meter.n_asked, meter.low, meter.high) == (0, 0.0, 1.0)
    assert not meter.stop
    assert not meter.is_blind
    assert str(meter) == "too early to tell when to stop"


def test_the_interval_is_wilson_s():
    """By hand: the ends solve (p - x)^2 = z^2 x (1 - x) / n."""
    for hits, n in ((0, 10), (7, 10), (45, 50), (50, 50)):
        for end in wilson(hits, n):
            left, right = (hits / n - end) ** 2, 1.645**2 * end * (1 - end) / n
            assert left == pytest.approx(right, abs=1e-12)


def test_good_guesses_and_stable_labels_suggest_to_stop():
    assert measure([Round(10, 10, 0.001)] * 5, 1000, 900).stop
    assert not measure([Round(10, 10, 0.02)] * 5, 1000, 900).stop  # labels still move
    assert not measure([Round(10, 6, 0.001)] * 5, 1000, 900).stop  # stable, but wrong
    assert not measure([Round(10, 10, 0.001)] * 2, 1000, 900).stop  # too few
    late = measure([Round(10, 10, 0.001)] * 30, 1000, 900)  # each round little, as many again 3 %
    assert late.doubled == pytest.approx(0.03)
    assert not late.stop
    sure = [Round(10, 10, 0.0)] * 20
    assert measure(sure, 1000, 800).stop
    few = measure(sure, 100, 80)  # 1 of 102 of the next 80 would be .8 % of a hundred rows
    assert few.misplaced == pytest.approx(80 / 102 / 100)
    assert few.stop
    assert not measure([*sure[1:], Round(10, 9, 0.0)], 100, 80).stop


def test_guesses_like_chance_are_told():
    meter = measure([Round(10, 5, 0.0)] * 5, 1000, 900)
    assert meter.is_blind
    assert not meter.stop


def test_only_the_last_answers_count():
    meter = measure([Round(10, 0, 0.5)] * 9 + [Round(10, 10, 0.0)] * 5, 1000, 900)
    assert (meter.n_guessed, meter.n_asked) == (50, 50)
    assert meter.expected_change == 0.0


def test_a_session_measures_guesses_with_labels_of_the_refit_before(tmp_path):
    X, y = blobs(60)
    path = tmp_path / "s.db"
    with Session(X, path=path, background=False) as work:
        work.run(LabelOracle(y), 10)
        before = work.fit_.labels.copy()
        work.run(LabelOracle(y), 10)
        new = work.snapshot().answers[10:20]
        meter = work.snapshot().progress.meter
        last = work.snapshot().rounds[-1]
        assert last.n_asked == 10
        assert last.n_guessed == sum(answer.is_kept(before) for answer in new)
    with Session.open(path, X, background=False) as again:
        assert again.snapshot().progress.meter == meter
