"""Tests and ranks against SciPy, hand calculation and published tables."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest
from scipy import stats

from papers.experiment import Comparison, LearningCurve, Ranking, adjusted, paired_p, rank_methods
from papers.experiment._experiment import Key, Point

matplotlib.use("Agg")
rng = np.random.default_rng(0)


def curve_of(values, numbers=(0, 10)):
    """A curve with these scores, shape (n_methods, n_numbers, n_trials, n_folds)."""
    methods = tuple("abcdef"[: len(values)])
    points = {
        Key(methods[i], numbers[j], t, f): Point({"ari": float(value)}, 0.1)
        for (i, j, t, f), value in np.ndenumerate(values)
    }
    return LearningCurve(points, methods, tuple(numbers), *values.shape[2:], ("ari",))


def test_paired_t_and_wilcoxon_are_scipys():
    away = rng.normal(0.3, 1, 12)
    assert paired_p(away) == pytest.approx(stats.ttest_1samp(away, 0).pvalue)
    assert paired_p(away, "wilcoxon") == pytest.approx(stats.wilcoxon(away).pvalue)
    assert paired_p(np.append(away, np.nan)) == pytest.approx(paired_p(away))


def test_the_corrected_t_by_hand():
    away = np.array([0.1, 0.2, 0.0, 0.3, 0.1, 0.2])
    t = away.mean() / np.sqrt((1 / 6 + 0.25) * away.var(ddof=1))
    assert paired_p(away, "corrected_t", 0.25) == pytest.approx(2 * stats.t.sf(t, 5))
    assert paired_p(away, "corrected_t", 0.25) > paired_p(away)


def test_differences_without_variance():
    assert paired_p(np.zeros(5)) == 1
    assert paired_p(np.full(5, 0.1)) == 2 * 0.5**5  # the sign test
    assert np.isnan(paired_p(np.array([0.1])))


def test_holm_by_hand():
    p = np.array([[0.01, 0.04], [0.03, np.nan]])
    assert adjusted(p)[~np.isnan(p)].tolist() == pytest.approx([0.03, 0.06, 0.06])
    assert np.isnan(adjusted(p)[1, 1])
    assert adjusted(p, None)[0].tolist() == [0.01, 0.04]
    assert adjusted(np.array([0.6, 0.7])).tolist() == [1.0, 1.0]


def test_fdr_is_scipys():
    p = np.array([0.01, 0.04, 0.03, 0.8])
    assert np.allclose(adjusted(p, "fdr"), stats.false_discovery_control(p))


def test_levels_have_a_sign():
    p = np.array([[0.2, 0.1, 0.05, 0.02, 0.001]])
    away = np.array([[1.0, 1.0, -1.0, 1.0, -1.0]])
    found = Comparison("ari", "a", ("b",), (1, 2, 3, 4, 5), away, p, p, "t", None).level()
    assert found.tolist() == [[0, 0.9, -0.95, 0.975, -0.99]]


def test_a_curve_is_compared_over_the_means_of_its_trials():
    values = rng.normal(size=(3, 2, 8, 5))
    curve = curve_of(values)
    found = curve.compare("b", correction=None)
    assert found.methods == ("a", "c")
    for i, method in enumerate((0, 2)):
        for j in range(2):
            a, b = values[method, j].mean(axis=1), values[1, j].mean(axis=1)
            assert found.p[i, j] == pytest.approx(stats.ttest_rel(a, b).pvalue)
            assert found.difference[i, j] == pytest.approx((a - b).mean())
    holm = curve.compare("b")
    assert np.allclose(holm.p, adjusted(found.p))
    assert np.allclose(holm.raw_p, found.p)
    assert len(holm.rows()) == 4
    pooled = curve.compare("b", pooled=True)
    a, b = values[0].mean(axis=(0, 2)), values[1].mean(axis=(0, 2))
    assert pooled.raw_p[0, 0] == pytest.approx(stats.ttest_rel(a, b).pvalue)
    corrected = curve.compare("b", test="corrected_t", correction=None)
    away = (values[0, 0] - values[1, 0]).ravel()
    assert corrected.p[0, 0] == pytest.approx(paired_p(away, "corrected_t", 1 / 4))


def test_best_methods_and_ties():
    values = np.full((3, 2, 6, 1), 0.5) + rng.normal(0, 0.01, (3, 2, 6, 1))
    values[0, 1] += 0.3
    found = curve_of(values).best()
    assert found[1]["method"] == "a"
    assert found[1]["not_worse"] == []
    assert found[0]["not_worse"]


def test_a_summary_tells_from_where_on_it_is_worth_it():
    values = np.full((2, 3, 6, 1), 0.5) + rng.normal(0, 0.005, (2, 3, 6, 1))
    values[1, 1:] += 0.2
    said = curve_of(values, (0, 10, 50)).summary(baseline="a")
    assert "b is worth it from 10 constraints on: +0.20" in said
    assert "10 constraints already do for b what 50 do" in said
    values[1, 2] += 0.1
    assert "b still gains at 50 constraints" in curve_of(values, (0, 10, 50)).summary()
    values[1] -= 0.6
    said = curve_of(values, (0, 10, 50)).summary()
    assert "b is not reliably better than a" in said
    assert "worse with 0, 10, 50" in said


# -------------------------------------------------------------------- ranks


@pytest.mark.parametrize(("k", "q"), [(3, 2.343), (4, 2.569), (5, 2.728), (10, 3.164)])
def test_critical_differences_are_those_of_the_published_table(k, q):
    """Demšar (2006), table 5(a), for 95 %."""
    scores = rng.normal(size=(14, k))
    found = Ranking.of(scores, [str(i) for i in range(k)]).critical_difference
    assert found == pytest.approx(q * np.sqrt(k * (k + 1) / (6 * 14)), abs=2e-3)


def test_ranks_of_a_curve_and_of_many():
    values = rng.normal(size=(4, 2, 6, 3)) + np.arange(4)[:, None, None, None]
    curve = curve_of(values)
    own = curve.rank()
    assert own.methods == ("d", "c", "b", "a")
    table = values.mean(axis=(1, 3)).T
    assert own.p == pytest.approx(stats.friedmanchisquare(*table.T).pvalue)
    many = rank_methods({"one": curve, "two": curve, "three": curve}, n_constraints=10)
    assert many.n_blocks == 3
    assert "critical difference" in str(many)
    assert many.plot().figure
    matplotlib.pyplot.close("all")


def test_ties_share_a_rank_and_alike_is_alike():
    found = Ranking.of([[0.5, 0.5, 0.1], [0.5, 0.5, 0.1]], ["a", "b", "c"])
    assert found.ranks.tolist() == [1.5, 1.5, 3]
    assert Ranking.of(np.ones((4, 3)), ["a", "b", "c"]).p == 1
    assert Ranking.of(np.ones((4, 3)), ["a", "b", "c"]).groups() == [("a", "b", "c")]


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (np.ones((4, 2)), "a column for"),
        (np.ones((1, 3)), "at least 2 data sets"),
        (np.full((3, 3), np.nan), "missing"),
    ],
)
def test_wrong_ranks(scores, message):
    with pytest.raises(ValueError, match=message):
        Ranking.of(scores, ["a", "b", "c"])


def test_curves_with_other_methods_are_not_ranked():
    one, two = curve_of(rng.normal(size=(3, 2, 2, 2))), curve_of(rng.normal(size=(4, 2, 2, 2)))
    with pytest.raises(ValueError, match="two has the methods"):
        rank_methods({"one": one, "two": two})
    with pytest.raises(ValueError, match="no curves"):
        rank_methods({})
