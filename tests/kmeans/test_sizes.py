"""Limits on cluster sizes: against brute force, linear programs and each other."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from linkwise import (
    ConstraintError,
    Constraints,
    COPKMeans,
    PCKMeans,
    _core,
)
from linkwise.engines import open_blocks
from linkwise.kmeans.solver import _transport


def blobs(n=120, k=4, seed=0):
    rng = np.random.default_rng(seed)
    y = np.sort(rng.integers(0, k, n))
    return rng.normal(size=(k, 3))[y] * 3 + rng.normal(size=(n, 3)), y


def links(y, m=60, seed=0):
    pairs = np.random.default_rng(seed).integers(0, len(y), (m, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    return Constraints(must_link=pairs[same], cannot_link=pairs[~same])


def sizes(model):
    return np.bincount(model.labels_[model.labels_ >= 0], minlength=model.n_clusters)


def brute_force(cost, size, low, high, apart=()):
    best = np.inf
    for labels in product(range(cost.shape[1]), repeat=len(cost)):
        load = np.bincount(labels, size, minlength=cost.shape[1])
        if (load < low).any() or (load > high).any():
            continue
        if any(labels[a] == labels[b] for a, b in apart):
            continue
        best = min(best, cost[np.arange(len(cost)), labels].sum())
    return best


# -------------------------------------------------------------------- the step


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 7))
def test_shortest_paths_are_optimal(seed, k, n):
    rng = np.random.default_rng(seed)
    cost = rng.random((n, k)).round(1)
    low = rng.integers(0, n // k + 1, k).astype(float)
    high = np.maximum(low, rng.integers(0, n + 1, k)).astype(float)
    best = brute_force(cost, np.ones(n), low, high)
    for price in (None, rng.normal(size=k)):
        found = _transport.transport(cost, low, high, price)
        if np.isinf(best):
            assert found is None
            continue
        labels, _ = found
        load = np.bincount(labels, minlength=k)
        assert (load >= low).all()
        assert (load <= high).all()
        assert cost[np.arange(n), labels].sum() == pytest.approx(best)


def test_prices_prove_the_optimum():
    """Weak duality: no labels are cheaper than the cheapest clusters at any prices."""
    rng = np.random.default_rng(0)
    cost, k = rng.random((20_000, 6)) * [1, 2, 3, 1, 2, 3], 6
    low, high = np.full(k, 3000.0), np.full(k, 3600.0)
    labels, price = _transport.transport(cost, low, high)
    size, load = np.ones(len(cost)), np.empty(k)
    lowest = _core.priced_labels(cost, size, price, np.empty(len(cost), np.int32), load)
    bound = lowest - np.where(price > 0, price * high, price * low).sum()
    assert cost[np.arange(len(cost)), labels].sum() == pytest.approx(bound)


@pytest.mark.parametrize("seed", range(5))
def test_programs_find_the_optimum_with_cannot_links(seed):
    rng = np.random.default_rng(seed)
    cost, size = rng.random((7, 3)), rng.integers(1, 3, 7).astype(float)
    low, high = np.full(3, 2.0), np.full(3, 6.0)
    edges = np.array([[0, 1], [1, 2], [3, 4]])
    best = brute_force(cost, size, low, high, edges)
    labels, infeasible = _transport.by_program(cost, size, low, high, edges)
    assert infeasible == np.isinf(best)
    if not infeasible:
        assert cost[np.arange(7), labels].sum() == pytest.approx(best, rel=1e-3)


# -------------------------------------------------------------------- the estimators


@pytest.mark.parametrize("method", [COPKMeans, PCKMeans])
@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize(
    "limits", [{"min_size": 25, "max_size": 35}, {"max_size": 0.26}, {"min_size": [10, 20, 30, 40]}]
)
def test_sizes_are_kept_and_objectives_fall(method, linked, limits):
    X, y = blobs()
    known = links(y) if linked else None
    model = method(4, n_init=2, random_state=0, **limits).fit(X, constraints=known)
    low = np.broadcast_to(limits.get("min_size", 0), 4)
    high = (
        120 * limits["max_size"] if limits.get("max_size", 1) < 1 else limits.get("max_size", 120)
    )
    assert (sizes(model) >= low).all()
    assert (sizes(model) <= high).all()
    path = model.objective_path_
    assert (np.diff(path) <= 1e-9 * np.abs(path[:-1])).all()
    if method is COPKMeans and linked:
        assert model.report_.satisfaction.n_violated == 0


def test_without_effect_they_change_nothing():
    X, y = blobs()
    known = links(y)
    for method in (COPKMeans, PCKMeans):
        free = method(4, random_state=0, n_init=3).fit(X, constraints=known)
        wide = method(4, random_state=0, n_init=3, min_size=1).fit(X, constraints=known)
        assert wide.objective_ <= free.objective_ * (1 + 1e-6)


def test_apart_groups_and_sizes():
    rng = np.random.default_rng(0)
    photo = np.repeat(np.arange(30), 4)
    X = rng.normal(size=(120, 2))
    for method in (COPKMeans, PCKMeans):
        model = method(5, min_size=20, max_size=28, n_init=1, random_state=0)
        model.fit(X, constraints=Constraints(apart=photo, apart_weight=1e3))
        assert sizes(model).min() >= 20
        assert sizes(model).max() <= 28
        assert model.report_.satisfaction.n_violated == 0


def test_households_of_different_sizes():
    rng = np.random.default_rng(0)
    household = rng.integers(0, 40, 150)
    X = rng.normal(size=(150, 2))
    known = Constraints(
        together=household, cannot_link=[(0, 1)] if household[0] != household[1] else []
    )
    model = COPKMeans(5, min_size=26, max_size=34, n_init=2, random_state=0)
    model.fit(X, constraints=known)
    assert model.report_.satisfaction.n_violated == 0
    assert sizes(model).min() >= 26
    assert sizes(model).max() <= 34


def test_sparse_rows_and_blocks_give_the_same(tmp_path):
    X, y = blobs()
    known, limits = links(y), {"min_size": 28, "max_size": 32, "random_state": 0, "n_init": 2}
    start = X[[0, 40, 80, 119]]
    dense = PCKMeans(4, init=start, **limits).fit(X, constraints=known)
    csr = PCKMeans(4, init=start, **limits).fit(sparse.csr_matrix(X), constraints=known)
    np.testing.assert_array_equal(dense.labels_, csr.labels_)
    np.save(tmp_path / "X.npy", X)
    blocks = open_blocks(tmp_path / "X.npy", memory_limit="4GB")
    held = PCKMeans(4, init=start, **limits).fit(blocks, constraints=known)
    np.testing.assert_array_equal(dense.labels_, np.asarray(held.labels_))


def test_resuming_gives_the_same(tmp_path):
    X, y = blobs(400)
    known = links(y)
    make = lambda **more: PCKMeans(  # noqa: E731
        4, min_size=95, outliers=0.02, random_state=0, n_init=2, **more
    )
    whole = make().fit(X, constraints=known)
    path = tmp_path / "state"

    def stop(run, iteration, objective):
        if run == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make(checkpoint=path, callback=stop).fit(X, constraints=known)
    resumed = make(checkpoint=path).fit(X, constraints=known)
    np.testing.assert_array_equal(whole.labels_, resumed.labels_)


# -------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        ({"min_size": -1}, "min_size=-1 must be at least 0"),
        ({"max_size": float("nan")}, "max_size=nan must be at least 0"),
        ({"min_size": 30, "max_size": 20}, "is above max_size"),
        ({"min_size": [1, 2, 9, 1], "max_size": [5, 5, 5, 105]}, r"min_size\[2\]"),
        ({"min_size": 31}, r"4 x 31 = 124 rows at least, and there are 120"),
        ({"min_size": 0.3}, r"4 x 36 = 144 rows at least"),
        ({"max_size": 29}, r"4 x 29 = 116 rows at most, and there are 120"),
        ({"min_size": [1, 2]}, "min_size has 2 values; give one number, or one per cluster"),
    ],
)
def test_infeasible_limits_are_proved_in_words(limits, text):
    X, _ = blobs()
    with pytest.raises(ValueError, match=text):
        PCKMeans(4, **limits).fit(X)


@pytest.mark.parametrize("value", ["20", True, [1, "a", 2, 3]])
def test_sizes_are_numbers(value):
    X, _ = blobs()
    with pytest.raises(TypeError, match="min_size"):
        PCKMeans(4, min_size=value).fit(X)


def test_groups_that_are_too_large_are_named():
    X, _ = blobs()
    known = Constraints(together=[list(range(40))])
    with pytest.raises(ConstraintError, match="must-links put 40 rows .*0, 1, 2, 3, ..."):
        COPKMeans(4, max_size=35).fit(X, constraints=known)


def test_hard_constraints_without_a_way_are_refused_by_proof():
    X = np.arange(6.0)[:, None]
    known = Constraints(together=[[0, 1], [2, 3], [4, 5]])
    with pytest.raises(ConstraintError, match="there is no clustering of 6 rows into 2 clusters"):
        COPKMeans(2, min_size=3, max_size=3).fit(X, constraints=known)


def test_dask_gives_the_same():
    array = pytest.importorskip("dask.array")
    X, y = blobs()
    known, start = links(y), X[[0, 40, 80, 119]]
    make = PCKMeans(4, init=start, min_size=28, max_size=31, outliers=3, random_state=0)
    here = make.fit(X, constraints=known).labels_
    there = make.fit(array.from_array(X, chunks=(50, 3)), constraints=known).labels_
    np.testing.assert_array_equal(here, np.asarray(there))
