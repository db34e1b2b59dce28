"""`predict_proba` of the k-means methods is Bayes' rule for the model that its docstring states."""

import numpy as np
import pytest
from scipy import linalg, sparse

from linkwise import (
    Constraints,
    COPKMeans,
    HMRFKMeans,
    MPCKMeans,
    PCKMeans,
    PreIdentifiedKMeans,
)
from linkwise.datasets import make_blobs


@pytest.fixture(scope="module")
def data():
    X, y = make_blobs(90, 3, 4, random_state=0)[:2]
    return X, y, Constraints.from_labels(y, 30, random_state=0)


@pytest.mark.parametrize("model", [PCKMeans(3, random_state=0), COPKMeans(3, random_state=0)])
def test_equals_gaussians_of_one_variance(data, model):
    from scipy.stats import multivariate_normal

    X, _, known = data
    model.fit(X, constraints=known)
    centers, labels = model.cluster_centers_, model.labels_
    variance = ((X - centers[labels]) ** 2).mean()
    assert model.within_variance_ == pytest.approx(variance)
    density = [multivariate_normal(c, variance * np.eye(X.shape[1])).pdf(X) for c in centers]
    expected = np.transpose(density) ** (model.effective_features_ / X.shape[1])
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-8)


@pytest.mark.parametrize("metric", ["diagonal", "full"])
@pytest.mark.parametrize("per_cluster", [False, True])
def test_equals_gaussians_of_learnt_metrics(data, metric, per_cluster):
    X, _, known = data
    model = MPCKMeans(3, metric=metric, per_cluster=per_cluster, random_state=0)
    model.fit(X, constraints=known)
    metrics = model.metrics_ if per_cluster else [model.metrics_] * 3
    full = [np.diag(A) if np.ndim(A) == 1 else A for A in metrics]
    away = [X - center for center in model.cluster_centers_]
    far = np.transpose([np.einsum("ij,jk,ik->i", d, A, d) for d, A in zip(away, full, strict=True)])
    variance = far[np.arange(len(X)), model.labels_].mean() / X.shape[1]
    log_odds = -0.5 * (far / variance - [np.linalg.slogdet(A)[1] for A in full])
    log_odds *= model.effective_features_ / X.shape[1]
    expected = np.exp(log_odds - log_odds.max(axis=1, keepdims=True))
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-6)


@pytest.mark.parametrize(
    "model",
    [
        HMRFKMeans(3, distortion="cosine", random_state=0),
        HMRFKMeans(3, distortion="divergence", random_state=0),
        PCKMeans(3, distortion="cosine", random_state=0),
    ],
)
def test_other_distortions_follow_their_distances(data, model):
    X, _, known = data
    X = np.abs(X) + 0.1
    model.fit(X, constraints=known)
    found = model.predict_proba(X)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    dense = model.predict_proba(sparse.csr_matrix(X))
    np.testing.assert_allclose(dense, found, atol=1e-6)
    assert model.within_variance_ > 0


def test_the_most_probable_cluster_is_the_predicted_one(data):
    X, _, known = data
    model = PCKMeans(3, random_state=0).fit(X, constraints=known)
    assert (model.predict_proba(X).argmax(axis=1) == model.predict(X)).all()


def test_closed_clusters_have_no_new_rows(data):
    X, y, _ = data
    known = np.where(y == 0, 0, -1)
    model = PreIdentifiedKMeans(3, random_state=0).fit(X, known)
    found = model.predict_proba(X)
    assert np.isfinite(found).all()


def test_rows_on_their_centers():
    X = np.repeat([[0.0], [10.0]], 5, axis=0)
    model = PCKMeans(2, random_state=0).fit(X)
    assert model.within_variance_ == 0
    found = model.predict_proba([[0.0], [10.0], [5.0]])
    assert set(found[:2].ravel()) == {0.0, 1.0}
    assert found[2].tolist() == [0.5, 0.5]


def test_saved_models_keep_it(data, tmp_path):
    from linkwise import load_model, save_model

    X, _, known = data
    model = MPCKMeans(3, random_state=0).fit(X, constraints=known)
    save_model(model, tmp_path / "a.linkwise")
    again = load_model(tmp_path / "a.linkwise").model
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("copies", [1, 5])
def test_a_feature_that_is_there_five_times_tells_no_more(copies):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    X = rng.normal(size=(2000, 3)) + 2.0 * y[:, None]
    model = PCKMeans(2, random_state=0).fit(np.tile(X, copies))
    assert model.effective_features_ == pytest.approx(3, rel=0.15)
    surest = model.predict_proba(np.tile(X, copies)).max(axis=1).mean()
    right = (model.labels_ == y).mean()
    assert surest == pytest.approx(max(right, 1 - right), abs=0.03)


@pytest.mark.parametrize("per_cluster", [False, True])
def test_a_full_metric_has_one_root_per_cluster(data, per_cluster, monkeypatch):
    X, _, known = data
    roots = []
    real = np.linalg.eigh
    monkeypatch.setattr(np.linalg, "eigh", lambda A: roots.append(A.shape) or real(A))
    model = MPCKMeans(3, metric="full", per_cluster=per_cluster, random_state=0)
    model.fit(X, constraints=known)
    assert max(len(shape) for shape in roots) == 2  # never one matrix per row
    away = X - model.cluster_centers_[model.labels_]
    metrics = np.broadcast_to(model.metrics_, (3, X.shape[1], X.shape[1]))
    root = [linalg.sqrtm(A).real for A in metrics]
    z = np.array([row @ root[c] for row, c in zip(away, model.labels_, strict=True)])
    products = (z @ z.T) ** 2
    n = len(z)
    crossed = (products.sum() - np.trace(products)) / (n * (n - 1))
    expected = np.mean((z**2).sum(axis=1)) ** 2 / crossed
    assert model.effective_features_ == pytest.approx(np.clip(expected, 1, X.shape[1]))
