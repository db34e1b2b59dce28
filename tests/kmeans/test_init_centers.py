"""Where centers begin: neighborhoods far from each other, clusters of them, or drawn rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from linkwise import Constraints, MPCKMeans, PCKMeans
from linkwise.kmeans.rows._local_rows import LocalRows
from linkwise.kmeans.solver import _starts as _start
from linkwise.kmeans.solver._problem import Problem


def blobs(seed=0):
    """Three well separated blobs of forty rows."""
    y = np.repeat([0, 1, 2], 40)
    X = np.array([[0.0, 0.0], [9.0, 0.0], [4.5, 8.0]])[y]
    return X + np.random.default_rng(seed).normal(size=X.shape), y


def pairs(rows):
    """Rows two by two."""
    return [(int(a), int(b)) for a, b in np.reshape(rows, (-1, 2))]


def problem_of(X, known, k=3):
    return Problem(LocalRows(X), k, known)


def test_neighborhoods_are_the_means_of_must_linked_rows():
    X, _ = blobs()
    problem = problem_of(X, Constraints(must_link=[(0, 1), (1, 2), (40, 41)], cannot_link=[(5, 6)]))
    large, means = _start.neighborhoods(problem)
    assert problem.closure.sizes[large].tolist() == [3, 2]
    wanted = [X[:3].mean(axis=0), X[40:42].mean(axis=0)]
    np.testing.assert_allclose(means + problem.rows.shift, wanted)


def test_farthest_first_takes_one_neighborhood_of_each_blob():
    X, y = blobs()
    known = Constraints(must_link=pairs(np.r_[0:10, 40:50, 80:90]))
    centers = _start.from_neighborhoods(problem_of(X, known), np.random.RandomState(0))
    nearest = ((X[:, None] - X.mean(axis=0) - centers) ** 2).sum(axis=2).argmin(axis=1)
    assert adjusted_rand_score(y, nearest) == 1


def test_clusters_of_neighborhoods_need_k_of_them():
    X, _ = blobs()
    few = problem_of(X, Constraints(must_link=[(0, 1), (40, 41)]))
    assert _start.from_clustered_neighborhoods(few, np.random.RandomState(0)) is None
    many = problem_of(X, Constraints(must_link=pairs(np.r_[0:10, 40:50, 80:90])))
    found = _start.from_clustered_neighborhoods(many, np.random.RandomState(0))
    assert found is not None
    assert found.shape == (3, 2)
    same = problem_of(np.zeros((120, 2)), many.known)
    assert _start.from_clustered_neighborhoods(same, np.random.RandomState(0)) is None


@pytest.mark.parametrize("method", [PCKMeans, MPCKMeans])
def test_a_part_of_the_data_that_nothing_is_known_about_is_found_all_the_same(method):
    for seed in range(5):
        X, y = blobs(seed)
        known = Constraints(must_link=pairs(np.r_[0:20, 40:60]))  # nothing about the third blob
        model = method(3, random_state=seed).fit(X, constraints=known)
        assert adjusted_rand_score(y, model.labels_) > 0.95
