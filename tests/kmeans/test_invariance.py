"""What must not matter does not: order, names, repetition; and no constraints means k-means."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris

from linkwise import ConstrainedKMeans, Constraints, MPCKMeans, PCKMeans, SeededKMeans
from linkwise.kmeans.solver import _assigners as _costs
from linkwise.kmeans.solver import _link_graph

from .cases import (
    EUCLIDEAN,
    LEARNING,
    METHODS,
    SOFT,
    blobs,
    same_partition,
    watched,
    weighted_links,
)


def renamed(known: Constraints, name) -> Constraints:
    must, cannot = weighted_links(known)
    return Constraints(
        must_link=[(name(i), name(j), w) for i, j, w in must],
        cannot_link=[(name(i), name(j), w) for i, j, w in cannot],
    )


def problem(seed: int = 0, n_links: int = 20) -> tuple:
    X, y = blobs(seed=seed)
    return X, y, Constraints.from_labels(y, n_links, random_state=seed)


# -------------------------------------------------------------------- order and names


@pytest.mark.parametrize("method", METHODS)
def test_row_order_does_not_matter(method):
    X, y, known = problem()
    order = np.random.default_rng(3).permutation(len(X))
    place = np.argsort(order)
    a = METHODS[method](n_clusters=3, random_state=0, n_init=5, tol=0).fit(X, constraints=known)
    b = METHODS[method](n_clusters=3, random_state=0, n_init=5, tol=0).fit(
        X[order], constraints=renamed(known, lambda i: int(place[i]))
    )
    assert same_partition(a.labels_[order], b.labels_)
    assert a.objective_ == pytest.approx(b.objective_, rel=1e-9)
    if method != "preidentified":
        assert same_partition(a.labels_, y)


@pytest.mark.parametrize("method", ["seeded", "constrained", "pck"])
@given(seed=st.integers(0, 10_000))
@settings(max_examples=15)
def test_row_order_does_not_matter_without_links_on_any_data(method, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 3))
    order = rng.permutation(40)
    y = np.full(40, -1)
    y[:9] = np.arange(9) % 3
    init = X[:3]
    seeds = None if method == "pck" else y
    moved = None if method == "pck" else y[order]
    a = METHODS[method](n_clusters=3, init=init, tol=0).fit(X, seeds)
    b = METHODS[method](n_clusters=3, init=init, tol=0).fit(X[order], moved)
    np.testing.assert_array_equal(a.labels_[order], b.labels_)
    np.testing.assert_allclose(a.cluster_centers_, b.cluster_centers_, rtol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_order_of_centers_does_not_matter(method):
    X, y, known = problem()
    init = np.array([X[y == c].mean(axis=0) for c in range(3)])
    if method in ("preidentified", "constrained"):
        known = None  # these bind groups to clusters by number
    fits = [
        METHODS[method](n_clusters=3, init=init[order], random_state=0).fit(X, constraints=known)
        for order in ([0, 1, 2], [2, 0, 1])
    ]
    assert same_partition(fits[0].labels_, fits[1].labels_)
    assert fits[0].objective_ == pytest.approx(fits[1].objective_, rel=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_order_and_repetition_of_constraints_do_not_matter(method):
    X, _, known = problem()
    must, cannot = weighted_links(known)
    again = Constraints(
        must_link=[*must[::-1], *[(j, i, w) for i, j, w in must], *must],
        cannot_link=[*cannot[::-1], *[(j, i, w) for i, j, w in cannot]],
    )
    a = METHODS[method](n_clusters=3, random_state=0).fit(X, constraints=known)
    b = METHODS[method](n_clusters=3, random_state=0).fit(X, constraints=again)
    assert same_partition(a.labels_, b.labels_)
    assert a.objective_ == pytest.approx(b.objective_, rel=1e-9)


@pytest.mark.parametrize(
    "names", [lambda i: f"row {i}", lambda i: 1000 - 3 * i, lambda i: (i, "x")]
)
@pytest.mark.parametrize("method", METHODS)
def test_ids_are_as_good_as_row_numbers(method, names):
    X, _, known = problem()
    a = METHODS[method](n_clusters=3, random_state=0).fit(X, constraints=known)
    ids = np.empty(len(X), dtype=object)
    ids[:] = [names(i) for i in range(len(X))]
    by_id = renamed(known, names)
    b = METHODS[method](n_clusters=3, random_state=0).fit(X, constraints=by_id, sample_ids=ids)
    np.testing.assert_array_equal(a.labels_, b.labels_)
    assert a.objective_ == b.objective_


def test_the_index_of_a_frame_gives_ids():
    pd = pytest.importorskip("pandas")
    X, _, known = problem()
    frame = pd.DataFrame(X, index=[f"r{i}" for i in range(len(X))], columns=list("abc"))
    a = PCKMeans(3, random_state=0).fit(X, constraints=known)
    b = PCKMeans(3, random_state=0).fit(frame, constraints=renamed(known, lambda i: f"r{i}"))
    np.testing.assert_array_equal(a.labels_, b.labels_)
    assert list(b.feature_names_in_) == list("abc")


@pytest.mark.parametrize("method", [*SOFT, "cop", "seeded", "constrained"])
def test_names_of_labels_do_not_matter(method):
    X, y = blobs()
    part = np.full(len(X), -1)
    part[:12] = y[:12]
    text = np.array([{0: "x", 1: "q", 2: "a", -1: None}[v] for v in part], dtype=object)
    swapped = np.where(part >= 0, (part + 1) % 3, -1)
    first = METHODS[method](n_clusters=3, random_state=0).fit(X, part)
    for other in (text, swapped, np.where(part >= 0, part, np.nan), list(part)):
        again = METHODS[method](n_clusters=3, random_state=0).fit(X, other)
        assert same_partition(first.labels_, again.labels_)


@pytest.mark.parametrize("method", METHODS)
def test_the_global_generator_is_left_alone(method):
    X, _, known = problem()
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    METHODS[method](n_clusters=3, random_state=0).fit(X, constraints=known)
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002


@pytest.mark.parametrize("method", METHODS)
def test_input_is_not_changed(method):
    X, _, known = problem()
    copy, weight = X.copy(), np.ones(len(X))
    METHODS[method](n_clusters=3, random_state=0).fit(X, constraints=known, sample_weight=weight)
    np.testing.assert_array_equal(X, copy)
    assert (weight == 1).all()


# -------------------------------------------------------------------- k-means


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize("offset", [0.0, 5.0])
@pytest.mark.parametrize("method", EUCLIDEAN)
def test_without_constraints_it_is_k_means(method, offset, make):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(200, 4)) + offset
        init = X[rng.choice(200, 5, replace=False)]
        theirs = KMeans(5, init=init, n_init=1, tol=0, max_iter=1000).fit(make(X))
        ours = EUCLIDEAN[method](n_clusters=5, init=init, tol=0, max_iter=1000).fit(make(X))
        assert ours.objective_ == pytest.approx(theirs.inertia_, rel=1e-6)
        np.testing.assert_array_equal(ours.labels_, theirs.labels_)
        np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, atol=1e-8)
        np.testing.assert_array_equal(ours.predict(make(X)), theirs.predict(make(X)))
        np.testing.assert_allclose(
            ours.transform(make(X)), theirs.transform(make(X)), rtol=1e-6, atol=1e-6
        )


@pytest.mark.parametrize("method", EUCLIDEAN)
def test_the_default_tolerance_stops_as_late_as_k_means(method):
    # A constant column must not make the tolerance coarser than scikit-learn's.
    rng = np.random.default_rng(0)
    X = np.column_stack([1e-3 * rng.normal(size=(500, 2)), np.ones(500)])
    theirs = KMeans(5, init=X[:5], n_init=1).fit(X)
    ours = EUCLIDEAN[method](n_clusters=5, init=X[:5]).fit(X)
    assert ours.objective_ <= theirs.inertia_ * 1.001


def test_k_means_plus_plus_far_from_the_origin():
    # Distances must be taken relative to the data, or the start is a random one out there.
    X, _ = blobs(n=200, d=2, k=8, apart=20.0)
    X = X.round(3)
    near = [PCKMeans(8, random_state=s, n_init=1).fit(X).objective_ for s in range(10)]
    far = [PCKMeans(8, random_state=s, n_init=1).fit(X + 2.0**27).objective_ for s in range(10)]
    np.testing.assert_allclose(near, far, rtol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_empty_constraints_are_none(method):
    X, _ = blobs()
    a = METHODS[method](n_clusters=3, random_state=0).fit(X)
    b = METHODS[method](n_clusters=3, random_state=0).fit(X, constraints=Constraints())
    c = METHODS[method](n_clusters=3, random_state=0).fit(X, np.full(len(X), -1))
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_array_equal(a.labels_, c.labels_)
    assert a.report_.constraints.n_constraints == 0


@pytest.mark.parametrize("seed", range(8))
def test_bounds_of_constrained_rows_change_nothing(seed, monkeypatch):
    monkeypatch.setattr(_costs, "_MANY_ROWS", 0)
    # Dense rows have bounds, sparse ones none; links are as heavy as distances here.
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(150, 3)), 2) + 1
    y = (X[:, 0] > 0.5).astype(int) + (X[:, 1] > 1)
    known = Constraints.from_labels(y, 40, random_state=seed)
    for method in ("pck", "mpck"):
        options = {"n_clusters": 3, "init": "neighborhoods", "random_state": 0}
        dense = METHODS[method](**options).fit(X, constraints=known)
        thin = METHODS[method](**options).fit(sparse.csr_matrix(X), constraints=known)
        np.testing.assert_array_equal(dense.labels_, thin.labels_)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("method", ["pck", "pck-distance", "mpck"])
def test_bounds_of_many_constrained_rows_change_nothing(method, dtype, monkeypatch):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, 6000)
    X = (rng.normal(size=(5, 4))[y] * 2 + rng.normal(size=(6000, 4))).astype(dtype)
    known = Constraints.from_labels(y, 4000, random_state=0)
    start = X[:5].astype(float)
    fits = []
    for many in (0, len(X) + 1):
        monkeypatch.setattr(_costs, "_MANY_ROWS", many)
        model = METHODS[method](n_clusters=5, init=start, n_init=1, random_state=0, tol=0)
        fits.append(model.fit(X, constraints=known))
    np.testing.assert_array_equal(fits[0].labels_, fits[1].labels_)
    assert fits[0].objective_ == pytest.approx(fits[1].objective_, rel=1e-10)
    assert fits[0].n_iter_ > 3


@pytest.mark.parametrize("clashing", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_links_that_weigh_alike_are_walked_to_the_same_end(seed, clashing, monkeypatch):
    X, _ = blobs(n=400, seed=seed, apart=4.0)
    pairs = np.random.default_rng(seed).integers(0, 400, (600, 2)).tolist()
    classes = np.arange(400) % 7 if not clashing else np.arange(400)
    known = Constraints(  # of classes that are not those of the data, or with contradictions
        must_link=[
            (i, j, 2.0) for i, j in pairs if i < j and (clashing or classes[i] == classes[j])
        ],
        cannot_link=[(i, j, 0.5) for i, j in pairs if i > j and classes[i] != classes[j]],
    )
    assert known.closure().consistent != clashing
    model = PCKMeans(3, random_state=seed, n_init=2)
    alike = model.fit(X, constraints=known).labels_
    monkeypatch.setattr(_link_graph, "_constant", lambda costs: False)
    np.testing.assert_array_equal(alike, model.fit(X, constraints=known).labels_)


# -------------------------------------------------------------------- runs


@pytest.mark.parametrize("method", METHODS)
def test_the_best_run_is_kept(method):
    X, y = load_iris(return_X_y=True)
    known = Constraints.from_labels(y, 20, random_state=0)
    model = METHODS[method](n_clusters=5, n_init=6, init="k-means++", random_state=0)
    spy = watched(model, X, constraints=known)
    assert len(spy.solutions) == 6
    least = min(found.objective for found in spy.solutions)
    # Of runs that end alike, up to rounding, the first is kept.
    best = next(f for f in spy.solutions if f.objective <= least + 1e-10 * abs(least))
    assert model.objective_ == best.objective
    np.testing.assert_array_equal(model.labels_, best.labels)
    assert model.n_iter_ == best.n_iter == len(model.objective_path_)


@pytest.mark.parametrize("method", METHODS)
def test_no_cluster_stays_empty_while_rows_are_free(method):
    X, _ = blobs(40)
    init = np.array([X[0], X[1], X[2], [1e3] * 3, [-1e3] * 3])
    model = METHODS[method](n_clusters=5, init=init, random_state=0).fit(X)
    assert (np.bincount(model.labels_, minlength=5) > 0).all()


def test_callable_init():
    X, y = blobs()
    start = np.array([X[y == c].mean(axis=0) for c in range(3)])
    a = PCKMeans(3, init=start).fit(X)
    b = PCKMeans(3, init=lambda X, k, random_state: start).fit(X)
    np.testing.assert_array_equal(a.labels_, b.labels_)


@pytest.mark.parametrize("method", LEARNING)
def test_scaling_features_does_not_matter_once_the_metric_is_learnt(method):
    # From the same partition: the closed form undoes any scaling of the features.
    X, y = blobs(90)
    init = np.array([X[y == c].mean(axis=0) for c in range(3)])
    factor = np.array([1.0, 100.0, 0.01])
    a = LEARNING[method](n_clusters=3, init=init, tol=0).fit(X)
    b = LEARNING[method](n_clusters=3, init=init * factor, tol=0).fit(X * factor)
    assert same_partition(a.labels_, y)
    assert same_partition(b.labels_, y)


def test_seeds_say_which_cluster_is_which():
    X, y = blobs()
    part = np.where(np.arange(len(X)) < 9, y, -1)
    for make in (SeededKMeans, ConstrainedKMeans):
        np.testing.assert_array_equal(make(3, random_state=0).fit(X, part).labels_, y)


@pytest.mark.parametrize("factor", [1e-3, 1e3])
def test_links_weigh_the_same_in_every_unit_of_the_data(factor):
    X, y = blobs(120)
    X = X + np.random.default_rng(0).normal(scale=8, size=X.shape)
    known = Constraints.from_labels(y, 60, random_state=0)
    near = PCKMeans(3, random_state=0).fit(X, constraints=known)
    far = PCKMeans(3, random_state=0).fit(factor * X, constraints=known)
    np.testing.assert_array_equal(near.labels_, far.labels_)
    assert far.objective_ == pytest.approx(factor**2 * near.objective_)
    # The published objective is there for whoever asks for it.
    unit = X.var(axis=0).sum()
    heavy = Constraints(
        must_link=[(int(i), int(j), unit) for i, j in known.must_link],
        cannot_link=[(int(i), int(j), unit) for i, j in known.cannot_link],
    )
    told = PCKMeans(3, penalty="weight", random_state=0).fit(X, constraints=heavy)
    np.testing.assert_array_equal(near.labels_, told.labels_)


def test_nothing_is_learnt_of_a_constant_feature():
    X, y = blobs(90)
    X = np.column_stack([X, np.full(90, 7.0)])
    known = Constraints.from_labels(y, 40, random_state=0)
    for metric in ("diagonal", "full"):
        model = MPCKMeans(3, metric=metric, random_state=0).fit(X, constraints=known)
        weights = model.metrics_ if metric == "diagonal" else np.diag(model.metrics_)
        assert weights[-1] == pytest.approx(1.0)


def test_indicators_of_one_category_share_a_weight_that_is_bounded():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    kind = np.where(rng.random(300) < 0.6, y, rng.integers(0, 4, 300))
    number = rng.normal(size=(3, 3))[y] * 3 + rng.normal(size=(300, 3))
    X = np.column_stack([number, np.eye(4)[kind], rng.integers(0, 2, 300)])
    known = Constraints.from_labels(y, 30, random_state=0)
    model = MPCKMeans(3, random_state=0)
    spy = watched(model, X, constraints=known)
    weights = model.metrics_
    np.testing.assert_allclose(weights[3:7], weights[3])
    assert weights[3] <= 4 / X[:, 3:7].var(axis=0).mean() + 1e-9
    assert weights[7] <= 4 / X[:, 7].var() + 1e-9
    for found in spy.solutions:
        path = np.array(found.half_steps)
        assert (np.diff(path) <= 1e-9 * np.abs(path[1:])).all()
