"""Weights of rows: repetition, nothing, scale; the same for every method and way to a result."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from linkwise import (
    ConstrainedKMeans,
    Constraints,
    COPKMeans,
    HMRFKMeans,
    MPCKMeans,
    PCKMeans,
    PreIdentifiedKMeans,
    SeededKMeans,
)
from linkwise.engines import _source, open_blocks

from .cases import METHODS, blobs, same_partition, weighted_links

# Clusters overlap, and links violate the nearest clusters: labels depend on what links weigh.
X, Y = make_blobs(150, 4, centers=3, cluster_std=4.0, random_state=0)
X = X - X.min()  # I-divergence needs rows that are not negative
KNOWN = Constraints.from_labels(Y[:100], 50, random_state=0)
EVERY = {
    "pck": PCKMeans(3),
    "pck-weight": PCKMeans(3, penalty="weight"),
    "pck-distance": PCKMeans(3, penalty="distance"),
    "pck-cosine": PCKMeans(3, distortion="cosine"),
    "pck-noise": PCKMeans(3, noise=0.1),
    "pck-noise-auto": PCKMeans(3, noise="auto"),
    "pck-sizes": PCKMeans(3, min_size=20, max_size=70),
    "pck-outliers": PCKMeans(3, outliers=0.05),
    "cop": COPKMeans(3),
    "mpck": MPCKMeans(3),
    "mpck-full": MPCKMeans(3, metric="full"),
    "mpck-per-cluster": MPCKMeans(3, per_cluster=True),
    "mpck-full-per-cluster": MPCKMeans(3, metric="full", per_cluster=True),
    "hmrf": HMRFKMeans(3),
    "hmrf-eta": HMRFKMeans(3, eta=1e-4),
    "hmrf-per-cluster": HMRFKMeans(3, per_cluster=True),
    "hmrf-cosine": HMRFKMeans(3, distortion="cosine"),
    "hmrf-divergence": HMRFKMeans(3, distortion="divergence"),
    "hmrf-mean-field": HMRFKMeans(3, inference="mean_field"),
    "seeded": SeededKMeans(3),
    "constrained": ConstrainedKMeans(3),
    "preidentified": PreIdentifiedKMeans(3),
}


def fitted(model, weight, way, folder):
    """The model after one way to a result."""
    model = clone(model).set_params(random_state=0, n_init=2)
    if way == "fit":
        return model.fit(X, constraints=KNOWN, sample_weight=weight)
    if way in ("update", "refit"):
        model.fit(X[:110], constraints=KNOWN, sample_weight=weight[:110])
        if way == "update":
            return model.update(X[110:], sample_weight=weight[110:])
        return model.refit(X, constraints=KNOWN, sample_weight=weight)
    np.save(folder / "rows.npy", X)
    return model.fit(open_blocks(folder / "rows.npy"), constraints=KNOWN, sample_weight=weight)


@pytest.mark.parametrize("way", ["fit", "update", "refit", "blocks"])
@pytest.mark.parametrize("method", EVERY)
def test_scaling_all_weights_changes_nothing(method, way, tmp_path, monkeypatch):
    monkeypatch.setattr(_source, "_LARGEST_BLOCK", 40 * X.shape[1] * 8)
    monkeypatch.setattr(_source, "_LEAST_BLOCK", 1)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    results = [fitted(EVERY[method], scale * weight, way, tmp_path) for scale in (1.0, 0.01, 1e3)]
    one = results[0]
    for scale, other in zip((0.01, 1e3), results[1:], strict=True):
        np.testing.assert_array_equal(np.asarray(one.labels_), np.asarray(other.labels_))
        np.testing.assert_allclose(one.cluster_centers_, other.cluster_centers_, rtol=1e-6)
        np.testing.assert_allclose(one.metrics_, other.metrics_, rtol=1e-6, atol=1e-9)
        assert other.objective_ == pytest.approx(scale * one.objective_, rel=1e-6)
        np.testing.assert_allclose(
            other.objective_path_, scale * one.objective_path_, rtol=1e-6, atol=1e-9
        )
        if one.within_variance_ is not None:
            assert other.within_variance_ == pytest.approx(one.within_variance_, rel=1e-6)
        np.testing.assert_allclose(other.report_.costs, scale * one.report_.costs, rtol=1e-6)


def test_scaling_weights_changes_nothing_with_an_empty_cluster_on_the_way():
    rows, _ = blobs(30)
    init = np.array([rows[0], rows[1], [1e3, 1e3, 1e3]])
    for make in METHODS.values():
        options = {"n_clusters": 3, "init": init, "tol": 0, "random_state": 0}
        one = make(**options).fit(rows)
        other = make(**options).fit(rows, sample_weight=np.full(30, 1e-6))
        assert same_partition(one.labels_, other.labels_)
        assert other.objective_ == pytest.approx(1e-6 * one.objective_, rel=1e-8)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("method", METHODS)
def test_row_weights_equal_repeated_rows(method, make):
    if "full" in method and make is not np.asarray:
        pytest.skip("full metrics are for dense data")
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 3)) + 1.0
    weight = np.r_[np.ones(20), rng.integers(1, 4, 20)].astype(float)
    repeated = np.concatenate([rows, np.repeat(rows, weight.astype(int) - 1, axis=0)])
    known = Constraints(must_link=[(0, 1), (1, 2), (3, 4)], cannot_link=[(0, 5), (6, 7), (8, 9)])
    must, cannot = weighted_links(known)  # a link counts as much as a row of mean weight
    heavier = Constraints(
        must_link=[(i, j, w * weight.mean()) for i, j, w in must],
        cannot_link=[(i, j, w * weight.mean()) for i, j, w in cannot],
    )
    options = {"n_clusters": 3, "init": rows[:3], "tol": 0, "random_state": 0}
    a = METHODS[method](**options).fit(make(rows), constraints=known, sample_weight=weight)
    b = METHODS[method](**options).fit(make(repeated), constraints=heavier)
    assert a.objective_ == pytest.approx(b.objective_, rel=1e-8)
    np.testing.assert_array_equal(a.labels_, b.labels_[:40])
    np.testing.assert_allclose(a.cluster_centers_, b.cluster_centers_, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(a.metrics_, b.metrics_, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("method", METHODS)
def test_rows_of_no_weight_equal_no_rows(method):
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(40, 3))
    weight = np.r_[np.full(30, 2.0), np.zeros(10)]
    known = Constraints(must_link=[(0, 1), (3, 4)], cannot_link=[(0, 5), (6, 7), (8, 9)])
    options = {"n_clusters": 3, "init": rows[:3], "tol": 0, "random_state": 0}
    a = METHODS[method](**options).fit(rows, constraints=known, sample_weight=weight)
    b = METHODS[method](**options).fit(rows[:30], constraints=known)
    assert a.objective_ == pytest.approx(2 * b.objective_, rel=1e-8)
    np.testing.assert_array_equal(a.labels_[:30], b.labels_)


def test_the_objective_is_the_inertia_of_k_means_in_the_unit_of_the_weights():
    weight, values = np.random.default_rng(0).uniform(1, 9, len(X)), []
    theirs = KMeans(3, init=X[:3], n_init=1, tol=0).fit(X, sample_weight=weight)
    model = PCKMeans(3, init=X[:3], tol=0, callback=lambda run, step, value: values.append(value))
    model.fit(X, sample_weight=weight)
    assert model.objective_ == pytest.approx(theirs.inertia_, rel=1e-9)
    np.testing.assert_allclose(values, model.objective_path_, rtol=1e-9)


@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("method", ["pck", "pck-cosine", "cop", "seeded", "mpck", "mpck-full"])
def test_an_update_of_a_weighted_fit_is_the_fit_of_all_rows(method, scale):
    rows, y = blobs(200, apart=7.0)
    rows, weight = rows - rows.min() + 1, scale * np.random.default_rng(1).uniform(0.2, 5.0, 200)
    init = np.array([rows[y == c].mean(axis=0) for c in range(3)])
    model, whole = (clone(EVERY[method]).set_params(init=init, tol=0) for _ in "ab")
    model.fit(rows[:120], sample_weight=weight[:120])
    model.update(rows[120:], sample_weight=weight[120:])
    whole.fit(rows, sample_weight=weight)
    np.testing.assert_array_equal(model.labels_, whole.labels_)
    np.testing.assert_allclose(model._moments_.counts, whole._moments_.counts)
    np.testing.assert_allclose(model._moments_.counts, np.bincount(model.labels_, weight))
    if method.startswith("pck-cosine"):
        model.cluster_centers_, whole.cluster_centers_ = (  # only directions count
            part / np.linalg.norm(part, axis=1)[:, None]
            for part in (model.cluster_centers_, whole.cluster_centers_)
        )
    np.testing.assert_allclose(model.cluster_centers_, whole.cluster_centers_)
    # Metrics and cosines of earlier rows are not known exactly.
    exact = method in ("pck", "cop", "seeded")
    variance = pytest.approx(whole.within_variance_, rel=1e-9 if exact else 0.05)
    assert model.within_variance_ == variance
    np.testing.assert_allclose(model.metrics_, whole.metrics_, rtol=0.1, atol=0.05)
