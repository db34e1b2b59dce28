"""The lean learning curve: held-out rows, same draws for all methods, paired tests."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris

from linkwise import MPCKMeans
from linkwise.evaluation import LearningCurve, learning_curve
from linkwise.evaluation._learning_curve import holm

X, Y = load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def curve():
    methods = {"k-means": KMeans(3, n_init=1), "MPCK": MPCKMeans(3, n_init=1)}
    return learning_curve(methods, X, Y, [0, 50], n_repetitions=3, n_folds=3)


def test_shapes_and_gain(curve):
    assert curve.scores["ari"].shape == (2, 2, 3)
    assert curve.mean("ari")[1, 1] > curve.mean("ari")[0, 1]
    assert set(curve.frame.columns) >= {"method", "n_constraints", "repetition", "ari", "seconds"}
    assert "MPCK" in str(curve)


def test_draws_do_not_depend_on_the_other_numbers_or_jobs(curve):
    again = learning_curve(
        {"MPCK": MPCKMeans(3, n_init=1)}, X, Y, [50], n_repetitions=2, n_folds=3, n_jobs=2
    )
    assert np.allclose(again.scores["ari"][0, 0], curve.scores["ari"][1, 1, :2])


def test_p_values_are_scipys_corrected_by_holm():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(3, 2, 8))
    made = LearningCurve(("a", "b", "c"), (0, 10), {"ari": values})
    raw = np.array([stats.ttest_rel(values[i], values[0], axis=1).pvalue for i in (1, 2)])
    found = made.compare("a")
    assert np.allclose([found["b"], found["c"]], holm(raw))
    assert holm(np.array([0.01, 0.04, 0.03])).tolist() == pytest.approx([0.03, 0.06, 0.06])


def test_a_fit_that_fails_is_missing():
    with pytest.warns(UserWarning, match="failed"):
        curve = learning_curve({"too many": KMeans(200)}, X, Y, [0], n_repetitions=1, n_folds=2)
    assert np.isnan(curve.scores["ari"]).all()


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"kind": "pear"}, "kind='pear'"),
        ({"estimators": {}}, "expected a dict"),
        ({"n_folds": 1}, "n_folds"),
        ({"n_constraints": [-1]}, "n_constraints"),
    ],
)
def test_wrong_arguments(wrong, match):
    given = {"estimators": {"k-means": KMeans(3)}, "X": X, "y": Y, **wrong}
    with pytest.raises(ValueError, match=match):
        learning_curve(**given)
