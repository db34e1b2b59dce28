"""Assignment by tiles: brute force, precision, row order, threads and bounds."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from linkwise import PCKMeans
from linkwise.engines import single_blas_thread
from linkwise.engines._threads import n_cores
from linkwise.geometry import Cosine, Mahalanobis, Moments
from linkwise.kmeans.rows._bounds import Bounds
from linkwise.kmeans.rows._local_rows import LocalRows

SHAPES = [(700, 3, 2), (1000, 40, 7), (600, 130, 33)]


def case(n, d, k, dtype, kind="identity", seed=0):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, d)) + 5.0).astype(dtype)
    rows = LocalRows(X)
    geometry = Mahalanobis(
        k, rows.total(), n, "identity" if kind == "identity" else "diagonal", kind == "own"
    )
    geometry.set_centers(rows.take(rng.choice(n, k, replace=False)))
    if kind != "identity":
        geometry.set_metrics(rng.uniform(0.5, 2.0, geometry.metrics.shape))
    return rows, geometry


def slow_costs(rows, geometry):
    X = rows.take(np.arange(rows.n))
    away = X[:, None] - geometry.centers
    return (away**2 * geometry.metrics).sum(axis=2) - geometry.offsets()


def assigned(rows, geometry, **how):
    labels, pinned = np.full(rows.n, -1, dtype=np.int32), np.zeros(rows.n, dtype=bool)
    moments = Moments.zeros(geometry.k, rows.d, geometry.squares_shape)
    rows.assign(geometry, labels, pinned, moments, **how)
    return labels, moments


@pytest.mark.parametrize("kind", ["identity", "shared", "own"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_rows_go_to_the_cheapest_cluster(shape, dtype, kind):
    rows, geometry = case(*shape, dtype, kind)
    wanted = slow_costs(rows, geometry)
    labels, moments = assigned(rows, geometry)
    found = wanted[np.arange(rows.n), labels]
    assert (found <= wanted.min(axis=1) + 1e-3 * (dtype == np.float32) + 1e-9).all()
    X = rows.take(np.arange(rows.n))
    sums = np.array([X[labels == c].sum(axis=0) for c in range(geometry.k)])
    assert np.allclose(moments.sums, sums, atol=1e-3 if dtype == np.float32 else 1e-9)
    costs = rows.distances(np.arange(rows.n), geometry)
    assert np.allclose(costs, wanted, rtol=1e-9, atol=1e-7)
    own = rows.own_costs(np.arange(rows.n), labels, geometry)
    assert np.allclose(own, found, rtol=1e-9, atol=1e-7)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_row_does_not_depend_on_the_rows_beside_it(dtype):
    rows, geometry = case(1000, 70, 9, dtype)
    labels, _ = assigned(rows, geometry)
    order = np.random.default_rng(1).permutation(rows.n)
    shuffled = LocalRows.in_coordinates(rows.X[order], rows.shift)
    assert (assigned(shuffled, geometry)[0] == labels[order]).all()
    costs = rows.distances(np.arange(rows.n), geometry)
    some = order[:37]
    assert (rows.distances(some, geometry) == costs[some]).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bounds_change_nothing(dtype):
    rows, geometry = case(3000, 6, 8, dtype)
    rng, bounds = np.random.default_rng(0), Bounds(rows.n, dtype)
    labels, pinned = np.full(rows.n, -1, dtype=np.int32), np.zeros(rows.n, dtype=bool)
    moments = Moments.zeros(geometry.k, rows.d)
    for _ in range(6):
        rows.assign(geometry, labels, pinned, moments, None, bounds)
        assert (labels == assigned(rows, geometry)[0]).all()
        geometry.set_centers(geometry.centers + rng.normal(0, 0.02, geometry.centers.shape))


def test_bounds_hold_for_directions():
    rng = np.random.default_rng(0)
    geometry = Cosine(4, 5, 1.0)
    rows = LocalRows(geometry.validate_rows(rng.normal(size=(2000, 5))), centered=False)
    geometry.set_centers(rng.normal(size=(4, 5)))
    labels, pinned = np.full(rows.n, -1, dtype=np.int32), np.zeros(rows.n, dtype=bool)
    moments, bounds = Moments.zeros(4, 5), Bounds(rows.n, np.float64)
    for _ in range(6):
        rows.assign(geometry, labels, pinned, moments, None, bounds)
        assert (labels == (rows.X @ geometry.centers.T).argmax(axis=1)).all()
        geometry.set_centers(geometry.centers + rng.normal(0, 0.02, geometry.centers.shape))


def test_full_metrics_per_cluster():
    rng = np.random.default_rng(0)
    rows = LocalRows(rng.normal(size=(600, 4)))
    geometry = Mahalanobis(3, rows.total(), 600, "full", per_cluster=True)
    geometry.set_centers(rng.normal(size=(3, 4)))
    roots = rng.normal(size=(3, 4, 4))
    geometry.set_metrics(roots @ roots.transpose(0, 2, 1) + np.eye(4))
    wanted = geometry.distances(rows.take(np.arange(600)))
    assert np.allclose(rows.distances(np.arange(600), geometry), wanted)
    assert (assigned(rows, geometry)[0] == wanted.argmin(axis=1)).all()


def test_predict_and_transform_agree_with_brute_force():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 5))
    model = PCKMeans(400, random_state=0, tol=0.5, init="random").fit(X)
    far = np.sqrt(((X[:, None] - model.cluster_centers_) ** 2).sum(axis=2))
    assert np.allclose(model.transform(X), far, atol=1e-6)
    assert (model.predict(X) == far.argmin(axis=1)).all()
    assert model.score(X) == pytest.approx(-(far.min(axis=1) ** 2).sum())


def blas_threads():
    return {found["num_threads"] for found in threadpool_info() if found["user_api"] == "blas"}


def test_the_limit_of_blas_threads_is_taken_off_by_the_last():
    before = blas_threads()
    first, second = single_blas_thread(), single_blas_thread()
    with first:
        with second:
            assert blas_threads() == {1}
        assert blas_threads() == {1}
    assert blas_threads() == before


def test_threads_obey_the_environment(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert n_cores() == 1
    monkeypatch.setenv("OMP_NUM_THREADS", "nonsense")
    assert n_cores() >= 1
    code = "from linkwise.engines._threads import n_cores; print(n_cores())"
    told = {**os.environ, "LOKY_MAX_CPU_COUNT": "1"}
    told.pop("OMP_NUM_THREADS")
    done = subprocess.run([sys.executable, "-c", code], env=told, capture_output=True, text=True)
    assert done.stdout.strip() == "1"
