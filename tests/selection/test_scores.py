"""Scores against scikit-learn's, standard errors against plain formulas, ties by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, cohen_kappa_score, f1_score

from linkwise import Constraints
from linkwise.selection import Expected, _scores
from linkwise.selection._candidates import Candidate
from linkwise.selection._noise import NoiseEstimate
from linkwise.selection._ranking import Ranking
from linkwise.selection._splits import ConstraintFold


def exam_of(must, weight=None) -> ConstraintFold:
    n = len(must)
    weight = np.ones(n) if weight is None else weight
    return ConstraintFold(
        Constraints(), np.zeros((n, 2), dtype=np.int64), must, weight, np.arange(n)
    )


@pytest.mark.parametrize("seed", range(5))
def test_mean_f_is_the_macro_f_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    must, together = rng.random((2, 30)) < 0.5
    weight = rng.random(30)
    found = _scores.mean_f(_scores.link_counts(exam_of(must, weight), together))
    wanted = f1_score(must, together, average="macro", sample_weight=weight)
    assert found == pytest.approx(wanted)


def test_standard_error_of_a_mean_is_the_usual_one():
    values = np.random.default_rng(0).random(7)
    left_out = _scores.leave_one_out_means(values)
    assert _scores.standard_error(left_out) == pytest.approx(values.std(ddof=1) / np.sqrt(7))


def test_ties_are_judged_fold_by_fold():
    base = np.array([0.5, 0.9, 0.5, 0.9])  # folds differ a lot, candidates do not
    values = np.array([base, base - 0.01, base - [0.0, 0.1, 0.0, 0.0], base - np.nan])
    scores = values.mean(axis=1)
    left_out = np.array([_scores.leave_one_out_means(own) for own in values])
    assert _scores.tied(scores, left_out, 1.0).tolist() == [True, False, True, False]
    assert _scores.tied(scores, left_out, 0.0).tolist() == [True, False, False, False]


def test_a_choice_is_not_judged_by_the_links_that_made_it_alone():
    """Two that are lucky in one fold each: without it, the other folds choose the other one."""
    lucky, unlucky = [10.0, 0, 0, 10.0], [4.0, 6.0, 6.0, 4.0]
    counts = {"a": [lucky, unlucky], "b": [unlucky, lucky]}
    ones = np.ones(2)
    order = [Candidate(name, "", 2, KMeans(2), 0) for name in counts]
    figures = {
        c: _scores.Figures(np.array(counts[c.algorithm]), ones, ones, ones, n_links=40)
        for c in order
    }
    ranking = Ranking(order, ones, ones, ones > 0, figures, work=None)
    own, by_others = np.add(lucky, unlucky), 2 * np.array(unlucky)
    assert ranking.counts_of(order[0]).tolist() == ((own + by_others) / 2).tolist()


@pytest.mark.parametrize(("must", "cannot", "wanted"), [(5, 5, 10), (3, 997, 12), (0, 9, 9)])
def test_links_of_one_kind_alone_say_little(must, cannot, wanted):
    assert (must + cannot) * _scores.balance(must, cannot) == pytest.approx(wanted, rel=0.01)


def test_clearly_worse_is_a_paired_test_with_kinds_of_equal_weight():
    must = np.arange(40) < 10
    few_wrong = must.copy()
    few_wrong[:2] = False
    answers = [[must], [few_wrong], [np.ones(40, bool)]]
    right, weight = _scores.right_answers([exam_of(must)], answers, (0.5, 0.5))
    assert weight[must].sum() == pytest.approx(0.5)
    assert weight[~must].sum() == pytest.approx(0.5)
    scores = right @ weight
    assert scores.tolist() == pytest.approx([1.0, 0.9, 0.5])
    assert _scores.clearly_worse(scores, right, weight, 1.0).tolist() == [False, False, True]
    assert not _scores.clearly_worse(scores - [0, 0, -0.5], right, weight, 1.0).any()


def test_the_more_links_are_held_back_the_more_they_count():
    counts = np.array([[1.0, 1.0, 1.0, 1.0]] * 2)  # half right
    by_itself = np.array([0.9, 0.9])
    found = [_scores.Figures(counts, by_itself, by_itself, by_itself, n) for n in (0, 50, 950)]
    assert [figures.score for figures in found] == pytest.approx([0.9, 0.7, 0.52])
    assert np.isnan(found[0].held_out)
    assert found[1].held_out == pytest.approx(0.5)
    np.testing.assert_allclose(found[1].left_out, 0.7)


def test_decided_pairs_count_by_what_is_kept():
    counts = np.array([[1.0, 1.0, 1.0, 1.0]] * 2)
    ones, halves = np.ones(2), np.full(2, 0.5)
    found = _scores.Figures(counts, ones, ones, halves, 0, decided=0.5)
    assert found.score == pytest.approx(0.5 * (2.5 / 3) + 0.5 * 0.5)


def test_stability_is_kappa():
    answers = np.random.default_rng(0).random((3, 50)) < 0.4
    pairs = [[cohen_kappa_score(a, b) for b in answers] for a in answers]
    wanted = (np.sum(pairs, axis=1) - 1) / 2
    np.testing.assert_allclose(_scores.stability(list(answers)), wanted)
    same = [np.array([True, False, True, False])] * 3
    assert _scores.stability(same).tolist() == [1, 1, 1]
    assert _scores.stability([np.ones(4, bool)] * 2).tolist() == [1, 1]
    opposite = [same[0], ~same[0]]
    assert _scores.stability(opposite).tolist() == [-1, -1]


def test_expected_ari_is_the_adjusted_rand_index_of_all_pairs():
    rng = np.random.default_rng(0)
    y, labels = rng.integers(0, 4, 60), rng.integers(0, 5, 60)
    labels[:40] = y[:40]
    i, j = np.triu_indices(60, 1)
    must, together = y[i] == y[j], labels[i] == labels[j]
    counts = _scores.link_counts(exam_of(must), together)
    found = _scores.expected_ari(counts, must.mean())
    assert found == pytest.approx(adjusted_rand_score(y, labels))
    # All pairs are known: every candidate gives the share of equal pairs exactly.
    rate, error = _scores.base_rate(counts[None], np.array([together.mean()]), (~must).sum())
    assert rate == pytest.approx(must.mean(), abs=0.01)
    assert error < 0.05
    # One link says nothing: the guess is the share of the candidate itself.
    rate, error = _scores.base_rate(counts[None], np.array([together.mean()]), 1.0)
    assert error > 0.1


def test_slopes_are_derivatives_of_the_expected_ari():
    counts = np.array([[40.0, 10.0, 5.0, 45.0]])
    own = _scores.Figures(counts, *np.ones((3, 1)), n_links=100, base_rate=0.1)
    by_must, by_cannot = own.slopes
    less_must, more_joined = counts - [[1, -1, 0, 0]], counts + [[0, 0, 1, -1]]
    drop = own.held_out - _scores.expected_ari(less_must.sum(axis=0), 0.1)
    assert by_must * 0.02 == pytest.approx(drop)
    drop = own.held_out - _scores.expected_ari(more_joined.sum(axis=0), 0.1)
    assert by_cannot * 0.02 == pytest.approx(drop)
    assert by_cannot > by_must  # most pairs belong apart


def test_interval_reaches_one_if_no_held_out_link_is_wrong():
    for n in (5, 50, 500):
        found = Expected.of(np.array([n, 0.0, 0.0, 3 * n]), 4 * n, 0.25, 0.02, 0.0, 1.0)
        assert found.ari_interval[1] == 1.0
        assert found.pairs_right_interval[1] == 1.0


def test_interval_covers_the_rates_that_links_were_drawn_from():
    rng = np.random.default_rng(0)
    truth, n_inside = float(_scores.rand_index(*map(np.asarray, (0.8, 0.1, 0.2)))), 0
    for _ in range(100):
        must, joined = rng.binomial(50, 0.8), rng.binomial(50, 0.1)
        counts = np.array([must, 50 - must, joined, 50 - joined], float)
        low, high = Expected.of(counts, 100, 0.2, 0.0, 0.0, 1.0).ari_interval
        n_inside += low <= truth <= high
    assert n_inside >= 82


@pytest.mark.parametrize("must_share", [0.1, 0.5])
@pytest.mark.parametrize("wrong", [0.05, 0.2, 0.3])
def test_wrong_links_are_corrected_for(must_share, wrong):
    """Counts as they are expected if a share of the links is turned around."""
    true, false, pi = 0.8, 0.05, 0.1
    right = np.array([must_share * true, must_share * (1 - true)])
    right = np.append(right, (1 - must_share) * np.array([false, 1 - false]))
    seen = (1 - wrong) * right + wrong * np.roll(right, 2)  # what is said the other way around
    t, f = seen[0] / seen[:2].sum(), seen[2] / seen[2:].sum()
    looks = (pi * true + (1 - pi) * false - f) / (t - f)  # the base rate that such links show
    counts = 1e6 * seen
    found = Expected.of(counts, 10**6, looks, 0.0, 0.0, 1.0, wrong=(wrong, wrong))
    assert found.ari == pytest.approx(
        float(_scores.rand_index(*map(np.asarray, (true, false, pi))))
    )
    assert found.base_rate == pytest.approx(pi)
    assert Expected.of(counts, 10**6, looks, 0.0, 0.0, 1.0).ari < found.ari - 0.03
    limits = wrong - 0.05, wrong + 0.05
    low, high = Expected.of(counts, 10**6, looks, 0.0, 0.0, 1.0, wrong=limits).ari_interval
    assert low < found.ari < high


def test_limits_of_the_share_of_wrong_links():
    votes = np.array([0.0] * 20 + [1.0] * 80)
    assert NoiseEstimate(votes, 0.2, 0.04, 0.0, False).limits(0.3) == pytest.approx((0.12, 0.28))
    assert NoiseEstimate(votes, 0.05, 0.04, 0.0, False).limits(0.3) == (-0.05, 0.05)
    assert NoiseEstimate(votes, float("nan"), float("nan"), 1.0, False).limits(0.3) == (-0.3, 0.3)


def test_links_that_hardly_break_a_kind_are_hardly_wrong():
    """Balanced links of many clusters: the broken must-links are the clustering's fault."""
    counts = np.array([600.0, 400, 2, 998])
    plain = Expected.of(counts, 2000, 0.007, 0.001, 0.0, 1.0)
    found = Expected.of(counts, 2000, 0.007, 0.001, 0.0, 1.0, wrong=(0.15, 0.25))
    assert found.ari == pytest.approx(plain.ari, abs=0.15)
    assert found.base_rate < 0.02
