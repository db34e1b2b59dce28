"""Folds, constraints, scores and tests of the trials."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score

from linkwise import PCKMeans
from linkwise.datasets import load
from papers._trials import Gain, Scores, draws, folds, holm, measured, paired_p

X, y = load("iris", return_X_y=True)


def test_folds_share_out_the_rows_and_the_classes():
    found = folds(y, 5, trial=3)
    assert np.array_equal(np.sort(np.concatenate(found)), np.arange(150))
    assert all(np.bincount(y[fold]).tolist() == [10, 10, 10] for fold in found)
    assert not np.array_equal(found[0], folds(y, 5, trial=4)[0])


@pytest.mark.parametrize(("kind", "noise"), [("pairs", 0.0), ("pairs", 0.2), ("balanced", 0.0)])
def test_constraints_name_no_row_that_is_scored(kind, noise):
    for draw in draws(y, 30, 0, 5, kind, noise):
        known = draw.constraints
        ends = np.concatenate([known.must_link, known.cannot_link])
        assert len(ends) == 30
        assert not np.isin(ends, draw.test).any()
        right = (y[known.must_link[:, 0]] == y[known.must_link[:, 1]]).sum()
        right += (y[known.cannot_link[:, 0]] != y[known.cannot_link[:, 1]]).sum()
        assert right == 30 * (1 - noise)


def test_a_draw_depends_on_its_numbers_alone():
    one, again = (list(draws(y, 30, 2, 2)) for _ in range(2))
    assert [d.seed for d in one] == [d.seed for d in again]
    assert np.array_equal(one[1].constraints.must_link, again[1].constraints.must_link)
    (alone,) = draws(y, 30, 0, 1)
    assert len(alone.test) == 150


def test_scores_are_means_over_folds():
    trial = list(draws(y, 20, 0, 2))
    methods = {"k-means": KMeans(3, n_init=1), "PCK": PCKMeans(3)}
    rows = measured(methods, X, y, trial, ("nmi", "nmi_all"), {"rounds": lambda m: m.n_iter_})
    assert [row["score"] for row in rows] == ["nmi", "nmi_all", "rounds"]
    by_hand = [
        normalized_mutual_info_score(
            y[draw.test],
            PCKMeans(3, random_state=np.random.RandomState(draw.seed).randint(2**31 - 1))
            .fit(X, constraints=draw.constraints).labels_[draw.test],
        )
        for draw in trial
    ]  # fmt: skip
    assert rows[0]["PCK"] == pytest.approx(np.mean(by_hand), abs=0.05)
    assert rows[1]["k-means"] != rows[0]["k-means"]


def rows_of(values):
    return [
        {"data": "d", "constraints": n, "trial": t, "score": "nmi", "a": v, "b": 0.5}
        for (n, t), v in values.items()
    ]


def test_only_whole_trials_count():
    table = rows_of({(0, 0): 0.1, (9, 0): 0.2, (0, 1): 0.3, (9, 1): 0.6, (0, 2): 0.9})
    scores = Scores(table, "nmi", data="d")
    assert (scores.numbers, scores.n_trials) == ([0, 9], 2)
    assert scores.of("a").tolist() == [[0.1, 0.3], [0.2, 0.6]]
    assert scores.gain("a", "b", [9]).mean == pytest.approx(-0.1)
    assert Scores(table, "nmi", data="other").n_trials == 0


def test_gains_have_a_sign_and_a_p_value():
    away = np.array([0.1, 0.12, 0.11, np.nan])
    t = stats.ttest_1samp(away[:3], 0).pvalue
    assert Gain.of(away) == (pytest.approx(0.11), pytest.approx(t), 3)
    assert Gain.of(away).above
    assert Gain.of(-away).below
    assert not Gain(0.1, 0.5).above
    assert str(Gain(0.1, 0.0001)) == "+0.100 (p < .001)"


def test_tests_without_variance_or_pairs():
    assert np.isnan(paired_p(np.array([0.1])))
    assert paired_p(np.zeros(5)) == 1.0
    assert paired_p(np.full(5, 0.1)) == 2.0**-4  # as signs
    away = np.array([0.3, 0.1, 0.0, 0.2, 0.4, -0.05])
    assert paired_p(away, "wilcoxon") == stats.wilcoxon(away[away != 0]).pvalue


def test_holm_is_the_step_down_rule():
    rng = np.random.default_rng(0)
    for _ in range(20):
        p = rng.random(6) ** 2
        found = [gain.p for gain in holm({i: Gain(0.1, v) for i, v in enumerate(p)}).values()]
        for i, value in enumerate(p):  # the largest of all corrections up to its place
            smaller = [q for q in p if q <= value]
            slow = max(min(1, q * sum(r >= q for r in p)) for q in smaller)
            assert found[i] == pytest.approx(slow)
