"""Rows in no cluster: k-means-- against brute force, groups, and what shows them."""

from itertools import combinations, product

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from linkwise import Constraints, COPKMeans, PCKMeans


def with_far_rows(seed=0):
    """Three clusters of about 100 rows, and five rows far away from all of them."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2, -1], [100, 100, 95, 5])
    means = np.array([[0, 0], [6, 0], [3, 5], [60, 60]])
    X = means[y] + rng.normal(size=(300, 2)) * np.where(y < 0, 3, 1)[:, None]
    pairs = rng.integers(0, 295, (100, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    return X, y, Constraints(must_link=pairs[same], cannot_link=pairs[~same])


@pytest.mark.parametrize("method", [PCKMeans, COPKMeans])
@pytest.mark.parametrize("outliers", [5 / 300, 5, "auto"])
def test_five_far_rows_do_not_take_a_cluster(method, outliers):
    X, y, known = with_far_rows()
    model = method(3, outliers=outliers, random_state=0, n_init=4).fit(X, constraints=known)
    np.testing.assert_array_equal(np.flatnonzero(model.labels_ < 0), np.arange(295, 300))
    assert adjusted_rand_score(y, model.labels_) > 0.95
    path = model.objective_path_
    assert (np.diff(path) <= 1e-9 * np.abs(path[:-1])).all()


def test_auto_finds_none_where_there_are_none():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3, 2))[rng.integers(0, 3, 500)] * 8 + rng.normal(size=(500, 2))
    assert (PCKMeans(3, outliers="auto", random_state=0).fit(X).labels_ < 0).sum() <= 1


def test_against_brute_force():
    X = np.array([0.0, 0.3, 0.5, 4.0, 4.4, 4.5, 9.0])[:, None]
    best = np.inf
    for out in combinations(range(7), 1):
        rest = np.setdiff1d(np.arange(7), out)
        for labels in product(range(2), repeat=6):
            parts = [X[rest[np.array(labels) == c]] for c in range(2)]
            best = min(best, sum(((p - p.mean(0)) ** 2).sum() for p in parts if len(p)))
    model = PCKMeans(2, outliers=1, n_init=10, random_state=0).fit(X)
    assert model.objective_ == pytest.approx(best)
    assert model.labels_[6] == -1


def test_the_objective_is_that_of_the_rows_in_clusters():
    X, _, known = with_far_rows()
    X = X + 1e4  # outliers must not take the digits
    model = COPKMeans(3, outliers=0.05, random_state=0, n_init=2).fit(X, constraints=known)
    inside = model.labels_ >= 0
    away = X[inside] - model.cluster_centers_[model.labels_[inside]]
    assert model.objective_ == pytest.approx((away**2).sum(), rel=1e-6)


@pytest.mark.parametrize("method", [PCKMeans, COPKMeans])
def test_must_linked_rows_leave_together(method):
    X, _, _ = with_far_rows()
    known = Constraints(must_link=[(0, 299), (296, 297)], cannot_link=[(298, 295)])
    model = method(3, outliers=6, random_state=0, n_init=2).fit(X, constraints=known)
    labels = model.labels_
    assert (labels[0] < 0) == (labels[299] < 0)
    assert (labels[296] < 0) == (labels[297] < 0)
    assert (labels[[295, 296, 297, 298]] == -1).all()
    kept = model.report_.satisfaction
    assert kept.must_link[1]
    assert kept.cannot_link[0]
    assert model.report_.n_noise == (labels < 0).sum() <= 6
    model.update(X[:3])
    assert model.report_.satisfaction.must_link[1]
    assert model.report_.satisfaction.cannot_link[0]


def test_given_kinds_of_start_are_used_with_outliers():
    X, _, _ = with_far_rows()
    first = PCKMeans(3, outliers=5, init="random", n_init=1, random_state=0, max_iter=1)
    with pytest.warns(ConvergenceWarning):
        first.fit(X)
    centers = X[np.random.RandomState(0).choice(300, size=3, replace=False)]
    second = PCKMeans(3, outliers=5, init=centers, random_state=0, max_iter=1)
    with pytest.warns(ConvergenceWarning):
        second.fit(X)
    np.testing.assert_allclose(first.cluster_centers_, second.cluster_centers_)


def test_a_group_that_is_too_large_stays():
    X, _, _ = with_far_rows()
    known = Constraints(together=[list(range(295, 300))])
    model = PCKMeans(3, outliers=4, random_state=0).fit(X, constraints=known)
    assert (model.labels_[295:] >= 0).all()


def test_report_profiles_and_scores_take_outliers():
    X, _, known = with_far_rows()
    model = PCKMeans(3, outliers="auto", random_state=0).fit(X, constraints=known)
    report = model.report_.describe(X, model.labels_)
    assert "5 rows in no cluster" in str(report)
    assert report.to_dict()["noise"] == 5
    assert len(report.profiles) == 3
    assert sum(report.cluster_sizes) == 295
    assert "no cluster" in report.to_html()
    assert model.predict(X).min() >= 0
    assert model.update(X[:3]).labels_.shape == (303,)


def test_sizes_and_outliers_together():
    X, _, known = with_far_rows()
    for method in (PCKMeans, COPKMeans):
        model = method(3, outliers=10, min_size=96, max_size=99, random_state=0, n_init=2)
        labels = model.fit(X, constraints=known).labels_
        found = np.bincount(labels[labels >= 0])
        assert found.min() >= 96
        assert found.max() <= 99
        assert (labels < 0).sum() <= 10
        assert (labels[295:] == -1).all()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "outliers=1.0 must be at least 0 and below 1"),
        (-0.1, "outliers=-0.1 must be at least 0"),
        ("many", "outliers='many': expected None, a share"),
        (True, "outliers=True"),
        (298, "298 of 300 rows leave 2 for n_clusters=3"),
        (0.999, "of 300 rows leave 1"),
    ],
)
def test_bad_numbers_of_outliers(value, text):
    X, _, _ = with_far_rows()
    with pytest.raises(ValueError, match=text):
        PCKMeans(3, outliers=value).fit(X)


def test_divergences_have_no_outliers():
    with pytest.raises(ValueError, match="use distortion="):
        PCKMeans(2, distortion="divergence", outliers=0.1).fit(np.ones((20, 3)))
    rng = np.random.default_rng(0)
    model = PCKMeans(2, distortion="cosine", outliers=3, random_state=0)
    assert (model.fit(rng.random((40, 3))).labels_ < 0).sum() == 3
