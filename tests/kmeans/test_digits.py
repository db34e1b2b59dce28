"""Digits that rounding would take: columns far from zero, heavy rows, metrics that collapse."""

from contextlib import nullcontext

import numpy as np
import pytest
from scipy import sparse

from linkwise import Constraints, HMRFKMeans, MPCKMeans, PCKMeans
from linkwise.geometry import Cosine, Mahalanobis
from linkwise.kmeans.rows._local_rows import LocalRows
from linkwise.kmeans.rows._offsets import far_means, moved


def mostly_zero(rng, n=60, d=8):
    """Few entries, but for two columns far from zero."""
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.2)
    X[:, 0] = 1e8 + rng.normal(size=n)
    X[:, 3] = 5e6 * (1 + 1e-5 * rng.normal(size=n))
    return X


def links(rng, n, number=30):
    pairs = np.unique(np.sort(rng.integers(0, n, (number, 2)), axis=1), axis=0)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    return Constraints(must_link=pairs[::2], cannot_link=pairs[1::2])


@pytest.mark.parametrize("seed", range(4))
def test_columns_far_from_zero_are_shifted_and_no_others(seed):
    X = mostly_zero(np.random.default_rng(seed), n=250)
    X[7, 0] = 0.0 if seed % 2 else X[7, 0]
    rows = sparse.csr_matrix(X)
    shift = far_means(rows)
    far = X.mean(axis=0) ** 2 > 100 * X.var(axis=0)
    assert (np.flatnonzero(shift) == np.flatnonzero(far)).all()
    np.testing.assert_allclose(moved(rows, shift).toarray(), X - shift, rtol=1e-15)
    assert moved(rows, shift).nnz <= rows.nnz + len(X) // 100 + 1


@pytest.mark.parametrize("model", [PCKMeans(3), MPCKMeans(3), MPCKMeans(3, per_cluster=True)])
def test_sparse_rows_far_from_zero_give_what_dense_ones_give(model):
    rng = np.random.default_rng(0)
    X = mostly_zero(rng)
    model.set_params(random_state=0, n_init=1)
    known, rows = links(rng, len(X)), sparse.csr_matrix(X)
    dense = model.fit(X, constraints=known)
    objective, labels, centers = dense.objective_, dense.labels_, dense.cluster_centers_
    found = model.fit(rows, constraints=known)
    assert found.objective_ == pytest.approx(objective, rel=1e-6)
    np.testing.assert_array_equal(found.labels_, labels)
    np.testing.assert_allclose(found.cluster_centers_, centers, rtol=1e-9, atol=1e-6)
    np.testing.assert_array_equal(found.predict(rows), found.predict(X))
    np.testing.assert_allclose(found.transform(rows), found.transform(X), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("spread", [0.0, 1e-12])
def test_constant_sparse_columns_do_not_cycle(own, spread):
    rng = np.random.default_rng(1)
    X = np.zeros((40, 6))
    X[:, :3] = 1e11
    X[:, 0] *= 1 + spread * rng.normal(size=40)
    model = MPCKMeans(3, per_cluster=own, random_state=0, n_init=1)
    with nullcontext() if spread else pytest.warns(UserWarning, match="distinct clusters"):
        model.fit(sparse.csr_matrix(X), constraints=links(rng, 40))
    path = np.asarray(model.objective_path_)
    assert model.n_iter_ < 50
    assert (np.diff(path) <= 1e-9 * np.abs(path).max()).all()


@pytest.mark.filterwarnings("ignore:.*did not converge")
@pytest.mark.parametrize("seed", [4, 8, 9])
@pytest.mark.parametrize("away", [0.0, 10.0, 100.0])
def test_heavy_float32_rows_do_not_raise_the_objective(seed, away):
    rng = np.random.default_rng(seed)
    n, d = 60 + 20 * (seed % 10), 3 + seed % 4
    group = rng.integers(0, 3, n)
    X = np.abs(rng.normal(size=(n, d)) + 3 * rng.normal(size=(3, d))[group]) + away
    model = HMRFKMeans(3, distortion="cosine", random_state=seed, n_init=1, max_iter=60)
    weight = 10 ** rng.uniform(-2, 6, n)
    model.fit(X.astype(np.float32), constraints=links(rng, n, n // 2), sample_weight=weight)
    path = np.asarray(model.objective_path_)
    assert (np.diff(path) <= 1e-10 * np.abs(path).max()).all()


def test_rows_of_one_direction_are_compared_in_float64():
    X = (np.random.default_rng(0).normal(size=(300, 4)) + 1000.0).astype(np.float32)
    model = PCKMeans(4, distortion="cosine", random_state=0, n_init=1).fit(X)
    rows = X / np.linalg.norm(X.astype(np.float64), axis=1, keepdims=True)
    costs = 1 - rows @ (model.cluster_centers_ / np.linalg.norm(model.cluster_centers_)).T
    geometry = Cosine(4, 4, float(rows.var(axis=0).mean()))
    assert geometry.is_narrow
    assert costs.max() < 1
    wide = np.random.default_rng(0).normal(size=(300, 4))
    assert not Cosine(4, 4, float((wide / np.linalg.norm(wide, axis=1)[:, None]).var())).is_narrow


def test_a_collapsed_metric_leaves_distances_their_digits():
    X = np.random.default_rng(0).normal(size=(50, 3))
    rows = LocalRows(X)
    geometry = Mahalanobis(2, rows.total(), 50.0, "diagonal")
    geometry.set_centers(rows.take(np.array([0, 1])))
    weights = np.full((1, 3), 1e-280)  # of which the log determinant is -1,934
    geometry.set_metrics(weights)
    away = rows.take(np.arange(50))[:, None] - geometry.centers
    wanted = (away**2 * weights[0]).sum(axis=2)
    found = rows.distances(np.arange(50), geometry)
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-292)
    assert geometry.shared_log_det == pytest.approx(3 * np.log(1e-280))


def test_scores_are_minus_the_objective_under_a_shared_metric():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3)) + 6 * rng.normal(size=(3, 3))[rng.integers(0, 3, 80)]
    model = MPCKMeans(3, random_state=0).fit(X)
    assert model.score(X) == pytest.approx(-model.objective_, rel=1e-6)
