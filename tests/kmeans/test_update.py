"""New rows for a fitted model: earlier rows stay, constraints hold, clusters open on evidence."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from linkwise import Constraints, HMRFKMeans, MPCKMeans, PCKMeans


def rows(n=300, k=4, d=5, seed=0):
    return make_blobs(n, d, centers=k, random_state=seed)


def test_centers_are_means_of_old_and_new_rows():
    X, _ = rows()
    model = PCKMeans(4, random_state=0, tol=0).fit(X[:200])
    before = model.labels_.copy()
    model.update(X[200:])
    assert model.labels_[:200].tolist() == before.tolist()
    means = [X[model.labels_ == c].mean(axis=0) for c in range(4)]
    assert np.allclose(model.cluster_centers_, means)
    assert model.changes_.opened == {}
    assert sum(model.changes_.joined.values()) == 100
    assert model.report_.n_rows == 300
    assert model.predict(X).shape == (300,)


@pytest.mark.parametrize("metric", ["diagonal", "full"])
@pytest.mark.parametrize("per_cluster", [False, True])
def test_metrics_move_to_those_of_all_rows(metric, per_cluster):
    X, _ = rows(600)
    given = {"metric": metric, "per_cluster": per_cluster, "random_state": 0}
    model = MPCKMeans(4, **given).fit(X[:400]).update(X[400:])
    whole = MPCKMeans(4, **given, init=model.cluster_centers_).fit(X)
    assert np.allclose(model.metrics_, whole.metrics_, rtol=0.05, atol=0.02)


def test_constraints_hold_and_open_clusters():
    X, _ = rows(100, 2, seed=3)
    first = Constraints(must_link=[(0, 1)], cannot_link=[(0, 2)])
    model = PCKMeans(2, random_state=0).fit(X[:90], constraints=first)
    kept = model.report_.satisfaction.n_kept
    one, two = (int(np.flatnonzero(model.labels_ == c)[0]) for c in (0, 1))
    new = Constraints(must_link=[(90, one), (91, 92)], cannot_link=[(93, one), (93, two)])
    model.update(X[90:], constraints=new)
    assert model.labels_[90] == model.labels_[one]
    assert model.labels_[91] == model.labels_[92]
    assert model.labels_[93] == 2
    assert model.changes_.opened == {2: "cannot-links leave no other place"}
    assert model.report_.satisfaction.n_kept == kept + 4
    assert model.transform(X).shape == (100, 3)


def test_far_rows_open_one_cluster_and_a_single_one_none():
    X, _ = rows(200, 3)
    model = PCKMeans(3, random_state=0).fit(X)
    model.update(np.full((1, 5), 100.0))
    assert model.changes_.opened == {}
    strange = 200.0 + np.random.default_rng(0).normal(size=(8, 5))
    model.update(strange)
    assert list(model.changes_.opened) == [3]
    assert (model.labels_[-8:] == 3).all()
    assert model.predict(strange).tolist() == [3] * 8


def test_ids_go_on():
    known = Constraints(must_link=[("a", "b")])
    model = PCKMeans(2, random_state=0).fit(
        [[0.0], [1.0], [9.0]], constraints=known, sample_ids=["a", "b", "c"]
    )
    more = Constraints(must_link=[("d", "c")])
    model.update([[0.5]], constraints=more, sample_ids=["d"])
    assert model.labels_[3] == model.labels_[2]
    assert "d" in model.report_.ids
    with pytest.raises(ValueError, match="the fit had no ids"):
        PCKMeans(2, random_state=0).fit([[0.0], [1.0]]).update([[2.0]], sample_ids=["x"])
    with pytest.raises(ValueError, match="not Cosine"):
        HMRFKMeans(2, distortion="cosine", random_state=0).fit(
            [[1.0, 0.2], [0.1, 1.0], [2.0, 1.0]]
        ).update([[1.0, 1.0]])


@pytest.mark.parametrize("seed", range(3))
def test_twenty_batches_end_near_one_fit(seed):
    X, _ = make_blobs(2100, 6, centers=6, cluster_std=3.0, random_state=seed)
    known = Constraints()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PCKMeans(6, n_init=3, random_state=0).fit(X[:1100], constraints=known)
        for start in range(1100, 2100, 50):
            model.update(X[start : start + 50])
        whole = PCKMeans(6, n_init=3, random_state=0).fit(X)
    assert not model.changes_.opened
    cost = ((X - model.cluster_centers_[model.labels_]) ** 2).sum()
    assert cost <= 1.02 * whole.objective_
