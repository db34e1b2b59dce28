"""Scores against scikit-learn's, standard errors against plain formulas, ties by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import f1_score

from linkwise import Constraints
from linkwise.selection import _scores
from linkwise.selection._exams import Exam


@pytest.mark.parametrize("seed", range(5))
def test_mean_f_is_the_macro_f_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    must, together = rng.random((2, 30)) < 0.5
    weight = rng.random(30)
    exam = Exam(Constraints(), np.zeros((30, 2), dtype=np.int64), must, weight)
    found = _scores.mean_f(_scores.link_counts(exam, together))
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
    assert _scores.tied(scores, left_out).tolist() == [True, False, True, False]


def test_clearly_worse_is_a_paired_test_with_kinds_of_equal_weight():
    must = np.arange(40) < 10
    exam = Exam(Constraints(), np.zeros((40, 2), dtype=np.int64), must, np.ones(40))
    all_right, few_wrong, all_together = must, must.copy(), np.ones(40, bool)
    few_wrong[:2] = False
    right, weight = _scores.right_answers(
        [exam], [[own] for own in (all_right, few_wrong, all_together)]
    )
    assert weight[must].sum() == pytest.approx(weight[~must].sum())
    assert _scores.clearly_worse(right, weight).tolist() == [False, False, True]


def test_stability():
    same = [np.array([True, False, True, False])] * 3
    assert _scores.stability(same).tolist() == [1, 1, 1]
    assert _scores.stability([np.ones(4, bool)] * 2).tolist() == [1, 1]
    opposite = [same[0], ~same[0]]
    assert _scores.stability(opposite).tolist() == [-1, -1]
