"""Passes over rows against the same sums in NumPy; every instruction set, both precisions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from linkwise import _core

N, D, K = 230, 7, 5  # no multiple of a panel of rows or of a vector
NOTHING = np.zeros(0)
ENGINES = ("baseline", "avx2", "avx512")


@pytest.fixture(params=[np.float32, np.float64], ids=["float32", "float64"])
def rows(request):
    rng = np.random.default_rng(0)
    return rng.normal(size=(N, D)).astype(request.param) * (rng.random((N, D)) < 0.6)


@pytest.fixture(params=ENGINES)
def engine(request):
    before = _core.engine()
    try:
        _core.use_engine(request.param)
    except ValueError:
        pytest.skip(f"this machine has no {request.param}")
    yield request.param
    _core.use_engine(before)


def near(dtype):
    return {"rtol": 1e-4, "atol": 1e-4} if dtype == np.float32 else {"rtol": 1e-11, "atol": 1e-11}


def moments_of(Z, labels, weight, k, depth):
    kept = [np.flatnonzero(labels == c) for c in range(k)]
    counts = np.array([weight[c].sum() for c in kept])
    sums = np.array([weight[c] @ Z[c] for c in kept])
    if depth == 1:
        return counts, sums, np.array([weight[c] @ Z[c] ** 2 for c in kept])[:, None]
    return counts, sums, np.array([(Z[c] * weight[c, None]).T @ Z[c] for c in kept])


def empty_moments(k, d, depth):
    return np.zeros(k), np.zeros((k, d)), np.zeros((k, depth, d) if depth else (0, 0, 0))


def test_column_sums(rows):
    rng = np.random.default_rng(1)
    pilot, weight = rng.normal(size=D), rng.random(N)
    sums, squares, most = np.zeros((3, D))
    for start, stop in ((0, 100), (100, N)):
        _core.column_sums(rows, pilot, weight, start, stop, sums, squares, most)
    away = rows.astype(float) - pilot
    np.testing.assert_allclose(sums, weight @ away)
    np.testing.assert_allclose(squares, weight @ away**2)
    np.testing.assert_array_equal(most, np.abs(rows).max(axis=0))


def test_outermost(rows):
    rng = np.random.default_rng(1)
    shift, scale = rng.normal(size=D), rng.random(D) + 0.1
    norm, ends = np.zeros(N), np.zeros((2, D), np.int64)
    _core.outermost(rows, shift, scale, 3, N, norm, *ends)
    np.testing.assert_allclose(norm[3:], ((rows[3:] - shift) ** 2 / scale).sum(axis=1))
    np.testing.assert_array_equal(ends[0], 3 + rows[3:].argmin(axis=0))
    np.testing.assert_array_equal(ends[1], 3 + rows[3:].argmax(axis=0))


@pytest.mark.parametrize("depth", [0, 1, D])
def test_moves(rows, depth):
    rng = np.random.default_rng(1)
    shift, weight = rng.normal(size=D), rng.random(N)
    old, new = rng.integers(-1, K, (2, N)).astype(np.int32)
    moments = empty_moments(K, D, depth)
    _core.move_dense(rows, shift, np.arange(N), old, new, weight, moments)
    Z = rows - shift
    for found, after, before in zip(
        moments, moments_of(Z, new, weight, K, depth), moments_of(Z, old, weight, K, depth),
        strict=True,
    ):  # fmt: skip
        if found.size:
            np.testing.assert_allclose(found, after - before, atol=1e-12)


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_moves_and_similarities_of_sparse_rows(rows, index):
    rng = np.random.default_rng(1)
    X = sparse.csr_matrix(rows)
    given = X.data, X.indices.astype(index), X.indptr.astype(index)
    weight, directions = rng.random(N), rng.normal(size=(K, D))
    old, new = rng.integers(-1, K, (2, N)).astype(np.int32)
    dense, thin = empty_moments(K, D, 1), empty_moments(K, D, 1)
    _core.move_dense(rows, np.zeros(D), np.arange(N), old, new, weight, dense)
    _core.move_sparse(*given, np.arange(N), old, new, weight, thin)
    for a, b in zip(dense, thin, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)
    inside = new >= 0
    similarity = weight * (rows * directions[new]).sum(axis=1) * inside
    for kernel, data in (
        (_core.similarity_squares_sparse, given),
        (_core.similarity_squares_dense, (rows,)),
    ):
        out = np.zeros(D)
        kernel(*data, new, directions, weight, 0, N, out)
        np.testing.assert_allclose(out, similarity @ rows.astype(float) ** 2, **near(rows.dtype))


@pytest.mark.parametrize("curved", [False, True])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_sparse_rows_go_to_the_cheapest(rows, index, curved):
    rng = np.random.default_rng(2)
    X = sparse.csr_matrix(rows)
    given = X.data, X.indices.astype(index), X.indptr.astype(index)
    slope, bias, own = rng.normal(size=(D, K)), rng.normal(size=K), rng.random(D)
    curve = rng.random((D, K)) if curved else np.zeros((0, 0))
    costs = rows @ slope + bias + (rows.astype(float) ** 2 @ curve if curved else 0)
    out = np.empty((N, K))
    _core.costs_sparse(*given, np.arange(N), (slope, curve, bias, own), out)
    np.testing.assert_allclose(out, costs + (rows.astype(float) ** 2 @ own)[:, None])
    labels, pinned = rng.integers(-1, K, N).astype(np.int32), rng.random(N) < 0.2
    wanted = np.where(pinned, labels, costs.argmin(axis=1))
    moments, before = empty_moments(K, D, 1), labels.copy()
    form = tuple(part.astype(rows.dtype) for part in (slope, curve, bias, own))
    moved = _core.assign_sparse(*given, form, labels, pinned, NOTHING, 0, N, moments)
    np.testing.assert_array_equal(labels, wanted)
    assert moved == (before != wanted).sum()
    again = empty_moments(K, D, 1)
    _core.move_sparse(*given, np.arange(N), before, labels, NOTHING, again)
    np.testing.assert_allclose(moments[1], again[1], atol=1e-12)


def test_undecided_rows():
    rng = np.random.default_rng(0)
    cost, slack = rng.random((N, K)), 0.1 * rng.random(N)
    labels, known = rng.integers(0, K, N).astype(np.int32), np.full(N, -1, np.int32)
    upper, lower, undecided = np.zeros(N), np.zeros(N), np.zeros(N, bool)
    _core.undecided_rows(cost, slack, labels, 1.0, 1e-15, 0, N, known, upper, lower, undecided)
    own, others = cost[np.arange(N), labels], cost.copy()
    others[np.arange(N), labels] = np.inf
    np.testing.assert_array_equal(undecided, ~(own + slack < others.min(axis=1)))
    np.testing.assert_array_equal(known, labels)
    np.testing.assert_allclose(upper, np.sqrt(own), rtol=1e-7)
    np.testing.assert_allclose(lower, np.sqrt(others.min(axis=1)), rtol=1e-7)


# -------------------------------------------------------------------- dense rows


@pytest.mark.parametrize("shape", [(3, 2, 2), (97, 16, 10), (230, 33, 241), (120, 300, 17)])
@pytest.mark.parametrize("curved", [False, True])
@pytest.mark.parametrize("types", [("f4", "f4"), ("f4", "f8"), ("f8", "f8")], ids="-".join)
def test_dense_rows_go_to_the_cheapest(engine, shape, curved, types):
    n, d, k = shape
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)).astype(types[0])
    shift, bias = rng.normal(size=d).astype(types[1]), rng.normal(size=k).astype(types[1])
    form = rng.normal(size=(k, d + curved * d)).astype(types[1])
    Z = X.astype(float) - shift
    costs = (np.hstack([Z, Z**2]) if curved else Z) @ form.T.astype(float) + bias
    labels, pinned = rng.integers(-1, k, n).astype(np.int32), rng.random(n) < 0.2
    before, weight, moments = labels.copy(), rng.random(n), empty_moments(k, d, 1)
    moved = _core.assign_dense(X, shift, form, bias, labels, pinned, weight, None, 0, n, moments)
    np.testing.assert_array_equal(labels[pinned], before[pinned])
    found = costs[np.arange(n), labels]
    assert (found - costs.min(axis=1) <= near(np.dtype(types[1]))["atol"] * d)[~pinned].all()
    assert moved == (before != labels).sum()
    again = empty_moments(k, d, 1)
    double = X.astype(float), shift.astype(float)
    _core.move_dense(*double, np.arange(n), before, labels, weight, again)
    np.testing.assert_allclose(moments[1], again[1], **near(np.dtype(types[1])))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_costs_of_chosen_rows(engine, dtype):
    rng = np.random.default_rng(0)
    n, d, k = 211, 19, 6
    X, own = rng.normal(size=(n, d)).astype(dtype), rng.random(d)
    shift, form, bias = rng.normal(size=d), rng.normal(size=(k, 2 * d)), rng.normal(size=k)
    rows = rng.integers(0, n, 130)
    Z = X[rows] - shift
    wanted = np.hstack([Z, Z**2]) @ form.T + bias + (Z**2 @ own)[:, None]
    out = np.empty((len(rows), k))
    _core.costs_dense(X, shift, rows, form, bias, own, out)
    np.testing.assert_allclose(out, wanted, atol=1e-10)
    labels, own_cost = rng.integers(0, k, len(rows)).astype(np.int32), np.empty(len(rows))
    _core.own_costs_dense(X, shift, rows, labels, form, bias, own, own_cost)
    np.testing.assert_allclose(own_cost, wanted[np.arange(len(rows)), labels], atol=1e-10)
    points, far = rng.normal(size=(3, d)), np.zeros((3, n))
    _core.point_distances(X, shift, points, 0, n, far)
    np.testing.assert_allclose(far, (((X - shift)[None] - points[:, None]) ** 2).sum(axis=2))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_full_metrics_of_each_cluster(engine, dtype):
    rng = np.random.default_rng(0)
    n, d, k = 130, 9, 4
    X, shift = rng.normal(size=(n, d)).astype(dtype), rng.normal(size=d)
    factors, offsets, bias = rng.normal(size=(k, d, d)), rng.normal(size=(k, d)), rng.normal(size=k)
    image = np.einsum("cfg,ig->icf", factors, X - shift) - offsets
    wanted = (image**2).sum(axis=2) + bias
    out, labels = np.empty((n, k)), np.full(n, -1, np.int32)
    _core.costs_mixed(X, shift, np.arange(n), factors, offsets, bias, out)
    np.testing.assert_allclose(out, wanted)
    nobody, moments = np.zeros(n, bool), empty_moments(k, d, d)
    moved = _core.assign_mixed(
        X, shift, factors, offsets, bias, labels, nobody, NOTHING, 0, n, moments
    )
    assert moved == n
    np.testing.assert_array_equal(labels, wanted.argmin(axis=1))
    sums = moments_of(X - shift, labels, np.ones(n), k, d)
    np.testing.assert_allclose(moments[2], sums[2], atol=1e-10)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_rows_that_links_might_move(engine, dtype):
    rng = np.random.default_rng(0)
    n, d, k = 400, 5, 3
    X, centers = rng.normal(size=(n, d)).astype(dtype), rng.normal(size=(k, d)).astype(dtype)
    own, shift, slack = np.ones(d, dtype), np.zeros(d, dtype), 0.2 * rng.random(n)
    labels, known = rng.integers(0, k, n).astype(np.int32), np.full(n, -1, np.int32)
    upper, lower, undecided = np.zeros(n), np.full(n, np.inf), np.zeros(n, bool)
    drift = (1.0, 1.0, np.zeros(k), 0.0, 0.0, 0)
    form, bias = -2 * centers, (centers**2).sum(axis=1)
    margin = 64 * float(np.finfo(dtype).eps)
    _core.undecided_dense(
        X, shift, np.arange(n), form, bias, own, 1.0, margin, labels, slack, known, drift, upper,
        lower, 0, n, undecided,
    )  # fmt: skip
    far = ((X[:, None].astype(float) - centers) ** 2).sum(axis=2)
    mine, others = far[np.arange(n), labels], far.copy()
    others[np.arange(n), labels] = np.inf
    unsure = ~(mine + slack < others.min(axis=1))
    assert undecided[unsure].all()  # an error makes rows undecided, never decided
    assert (undecided & ~unsure).sum() <= 2
    assert (upper >= np.sqrt(mine) * (1 - 1e-12)).all()
    assert (lower <= np.sqrt(others.min(axis=1)) * (1 + 1e-12)).all()


# -------------------------------------------------------------------- what is refused


def dense_arguments(**changed):
    given = {
        "X": np.zeros((4, 2)), "shift": np.zeros(2), "form": np.zeros((3, 2)), "bias": np.zeros(3),
        "labels": np.zeros(4, np.int32), "pinned": np.zeros(4, bool), "weight": NOTHING,
        "bounds": None, "start": 0, "stop": 4, "moments": empty_moments(3, 2, 0),
    }  # fmt: skip
    return given | changed


@pytest.mark.parametrize(
    "changed",
    [
        {"shift": np.zeros(3)}, {"form": np.zeros((3, 3))}, {"form": np.zeros((0, 2))},
        {"bias": np.zeros(2)}, {"labels": np.zeros(3, np.int32)}, {"stop": 5}, {"start": -1},
        {"labels": np.full(4, 3, np.int32)}, {"labels": np.full(4, -2, np.int32)},
        {"pinned": np.zeros(3, bool)}, {"weight": np.zeros(3)},
        {"moments": empty_moments(2, 2, 0)}, {"moments": empty_moments(3, 3, 0)},
    ],
)  # fmt: skip
def test_wrong_shapes_and_labels_are_refused(changed):
    assert _core.assign_dense(**dense_arguments()) == 0
    with pytest.raises(ValueError, match=r"linkwise\._core"):
        _core.assign_dense(**dense_arguments(**changed))


@pytest.mark.parametrize(
    "changed",
    [
        {"labels": np.zeros(4, np.int64)}, {"X": np.zeros((2, 4)).T},
        {"X": np.zeros((4, 2), np.int64)}, {"labels": np.zeros(8, np.int32)[::2]},
    ],
)  # fmt: skip
def test_wrong_types_and_strides_are_refused(changed):
    with pytest.raises(TypeError):
        _core.assign_dense(**dense_arguments(**changed))


def test_wrong_indices_of_sparse_rows_are_refused():
    form = (np.zeros((2, 3)), np.zeros((0, 0)), np.zeros(3), NOTHING)
    out = np.zeros((1, 3))
    good = np.ones(1), np.array([1], np.int32), np.array([0, 1], np.int32)
    _core.costs_sparse(*good, np.array([0]), form, out)
    for data, indices, indptr, rows in (
        (good[0], np.array([2], np.int32), good[2], [0]),
        (good[0], np.array([-1], np.int32), good[2], [0]),
        (good[0], good[1], np.array([0, 2], np.int32), [0]),
        (good[0], good[1], np.array([1, 0], np.int32), [0]),
        (good[0], good[1], good[2], [1]),
    ):
        with pytest.raises(ValueError, match=r"linkwise\._core"):
            _core.costs_sparse(data, indices, indptr, np.array(rows), form, out)
