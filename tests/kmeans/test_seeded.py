"""SeededKMeans, ConstrainedKMeans and PreIdentifiedKMeans do what their docstrings say."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris

from linkwise import ConstrainedKMeans, Constraints, PreIdentifiedKMeans, SeededKMeans
from tests.reference import sum_of_squares

from .cases import blobs, same_partition

IRIS, SPECIES = load_iris(return_X_y=True)


def partial(y: np.ndarray, share: float, seed: int = 0) -> np.ndarray:
    known = np.random.default_rng(seed).random(len(y)) < share
    return np.where(known, y, -1)


# -------------------------------------------------------------------- seeded


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_seeded_is_k_means_from_the_means_of_labeled_rows(make):
    seeds = partial(SPECIES, 0.1)
    means = np.array([IRIS[seeds == c].mean(axis=0) for c in range(3)])
    theirs = KMeans(3, init=means, n_init=1, tol=0).fit(IRIS)
    ours = SeededKMeans(3, tol=0).fit(make(IRIS), seeds)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    assert ours.objective_ == pytest.approx(theirs.inertia_, rel=1e-6)


def test_seeds_do_not_bind():
    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    assert SeededKMeans(2).fit_predict(X, [0, 1, 1, -1]).tolist() == [0, 0, 1, 1]


def test_clusters_without_seeds_start_far_away():
    X, y = blobs(90, apart=40.0)
    seeds = np.where((y == 1) & (np.arange(90) < 20), 1, -1)
    for seed in range(5):
        labels = SeededKMeans(3, random_state=seed).fit_predict(X, seeds)
        assert same_partition(labels, y)
        assert (labels[y == 1] == 1).all()


@pytest.mark.parametrize("make", [SeededKMeans, ConstrainedKMeans])
def test_without_labels_groups_of_must_linked_rows_are_the_seeds(make):
    X, y = blobs()
    groups = [np.flatnonzero(y == c)[:4].tolist() for c in range(3)]
    model = make(3, random_state=0, tol=0).fit(X, constraints=Constraints(together=groups))
    assert same_partition(model.labels_, y)


@pytest.mark.parametrize("make", [SeededKMeans, ConstrainedKMeans])
def test_more_labels_than_clusters_are_refused(make):
    with pytest.raises(ValueError, match=r"y has 3 labels, more than n_clusters=2"):
        make(2).fit(IRIS, partial(SPECIES, 0.2))


# -------------------------------------------------------------------- constrained


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_labeled_rows_never_leave(make):
    rng = np.random.default_rng(0)
    wrong = partial(rng.integers(0, 3, 150), 0.3)
    model = ConstrainedKMeans(3, tol=0).fit(make(IRIS), wrong)
    known = wrong >= 0
    np.testing.assert_array_equal(model.labels_[known], wrong[known])
    distance = ((IRIS[:, None] - model.cluster_centers_) ** 2).sum(axis=2)
    np.testing.assert_array_equal(model.labels_[~known], distance[~known].argmin(axis=1))
    assert model.objective_ == pytest.approx(sum_of_squares(IRIS, model.labels_), rel=1e-9)


def test_groups_are_bound_to_clusters_of_their_own():
    X = np.random.default_rng(0).normal(size=(30, 2))
    groups = [[0, 1, 2], [3, 4], [5, 6, 7]]
    labels = ConstrainedKMeans(3, random_state=0).fit_predict(
        X, constraints=Constraints(together=groups)
    )
    assert [len(set(labels[group].tolist())) for group in groups] == [1, 1, 1]
    assert len({labels[group[0]] for group in groups}) == 3


def test_everything_labeled():
    model = ConstrainedKMeans(3).fit(IRIS, SPECIES)
    np.testing.assert_array_equal(model.labels_, SPECIES)
    for c in range(3):
        np.testing.assert_allclose(model.cluster_centers_[c], IRIS[c == SPECIES].mean(axis=0))


# -------------------------------------------------------------------- pre-identified


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_no_other_row_joins_the_known_cluster(k, make):
    # The known rows are spread over all the data: many others are nearest to their center.
    rng = np.random.default_rng(0)
    tagged = rng.random(150) < 0.2
    y = np.where(tagged, 7, -1)
    model = PreIdentifiedKMeans(k, random_state=0, tol=0).fit(make(IRIS), y)
    np.testing.assert_array_equal(model.labels_ == 0, tagged)
    np.testing.assert_allclose(model.cluster_centers_[0], IRIS[tagged].mean(axis=0))
    others = KMeans(k - 1, n_init=10, random_state=0, tol=0).fit(IRIS[~tagged])
    known = sum_of_squares(IRIS[tagged], np.zeros(tagged.sum()))
    assert model.objective_ == pytest.approx(known + others.inertia_, rel=1e-2)
    assert set(model.labels_.tolist()) == set(range(k))


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_the_known_cluster_is_closed_for_new_rows_too(make):
    y = np.where(np.random.default_rng(0).random(150) < 0.2, "mine", "-1").astype(object)
    y[y == "-1"] = -1
    model = PreIdentifiedKMeans(3, random_state=0).fit(make(IRIS), y)
    assert model.tag_ == "mine"
    nearest = 1 + ((IRIS[:, None] - model.cluster_centers_[1:]) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(model.predict(make(IRIS)), nearest)
    labeled = model.predict(make(IRIS), y)
    np.testing.assert_array_equal(labeled, np.where(y == "mine", 0, nearest))
    np.testing.assert_array_equal(labeled, model.labels_)
    assert model.score(make(IRIS), y) == pytest.approx(-model.objective_)
    assert np.isfinite(model.transform(make(IRIS))).all()
    with pytest.raises(ValueError, match="one label per row"):
        model.predict(make(IRIS), y[:5])


def test_nothing_is_closed_if_nothing_was_known():
    model = PreIdentifiedKMeans(3, random_state=0).fit(IRIS)
    np.testing.assert_array_equal(model.predict(IRIS), model.labels_)
    assert model.tag_ is None


def test_the_tag_names_the_cluster():
    words = np.array(["setosa", "versicolor", "virginica"])[SPECIES]
    model = PreIdentifiedKMeans(3, tag="virginica", random_state=0).fit(IRIS, words)
    np.testing.assert_array_equal(model.labels_ == 0, SPECIES == 2)
    model = PreIdentifiedKMeans(3, tag=1, random_state=0).fit(IRIS, SPECIES)
    np.testing.assert_array_equal(model.labels_ == 0, SPECIES == 1)


def test_several_labels_need_a_tag():
    with pytest.raises(ValueError, match="tag"):
        PreIdentifiedKMeans(3).fit(IRIS, SPECIES)
    with pytest.raises(ValueError, match="no row of y has this label"):
        PreIdentifiedKMeans(3, tag="nobody").fit(IRIS, SPECIES)


def test_without_labels_the_largest_group_is_the_known_cluster():
    known = Constraints(together=[[0, 50, 100, 149], [1, 51]])
    labels = PreIdentifiedKMeans(4, random_state=0).fit_predict(IRIS, constraints=known)
    assert np.flatnonzero(labels == 0).tolist() == [0, 50, 100, 149]


def test_too_few_other_rows():
    with pytest.raises(ValueError, match="outside the known cluster"):
        PreIdentifiedKMeans(3).fit([[0.0], [1.0], [2.0]], [1, 1, -1])


def test_row_weights_move_the_known_center():
    X = np.array([[0.0], [1.0], [20.0], [21.0]])
    model = PreIdentifiedKMeans(2, random_state=0)
    model.fit(X, [5, 5, -1, -1], sample_weight=[3.0, 1.0, 1.0, 1.0])
    assert model.cluster_centers_[0, 0] == pytest.approx(0.25)
