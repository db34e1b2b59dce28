"""ConstrainedKernelKMeans against its objective, term by term, and all labelings of a few rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import make_circles
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline

from linkwise import ConstrainedKernelKMeans, Constraints
from linkwise.spectral import _kernel_kmeans
from linkwise.spectral._kernel_kmeans import _link_matrix
from linkwise.spectral._kernel_search import FeatureGram, Objective
from tests.kmeans.cases import blobs, same_partition, weighted_links
from tests.reference import kernel_objective, labelings
from tests.strategies import clusterings


def gram_of(X: np.ndarray, model: ConstrainedKernelKMeans) -> np.ndarray:
    if model.kernel == "linear":
        X = X - X.mean(axis=0)
        return X @ X.T
    return rbf_kernel(X, gamma=model.gamma_)


def scaled(known: Constraints, factor: float) -> list:
    return [[(i, j, w * factor) for i, j, w in links] for links in weighted_links(known)]


# -------------------------------------------------------------------- the objective


@settings(max_examples=60)
@given(
    clusterings(14),
    st.sampled_from(["linear", "rbf"]),
    st.booleans(),
    st.sampled_from(["auto", 9.0]),
)
def test_the_objective_is_that_of_the_paper(drawn, kernel, weighted, link_weight):
    X, k, known = drawn
    a = np.random.default_rng(0).uniform(0.5, 2.0, len(X)) if weighted else np.ones(len(X))
    model = ConstrainedKernelKMeans(
        k, kernel=kernel, link_weight=link_weight, n_init=2, random_state=0
    ).fit(X, constraints=known, sample_weight=a)
    wanted = kernel_objective(
        gram_of(X, model), model.labels_, a, *scaled(known, model.link_weight_)
    )
    scale = max(1.0, abs(wanted), model.link_weight_ * 1e3)
    assert model.objective_ == pytest.approx(wanted, abs=1e-8 * scale)
    assert (np.diff(model.objective_path_) <= 1e-9 * scale).all()
    assert model.objective_ == model.objective_path_[-1]
    assert set(np.unique(model.labels_)) == set(range(k))


@settings(max_examples=40)
@given(clusterings(10), st.integers(0, 1000))
def test_gains_are_what_single_moves_gain(drawn, seed):
    X, k, known = drawn
    rng = np.random.default_rng(seed)
    a = rng.uniform(0.5, 2.0, len(X))
    labels = rng.integers(0, k, len(X))
    objective = Objective(FeatureGram(X), _link_matrix(known, len(X), 0.7), a, k)
    gain, _ = objective.gains(objective.state(labels))
    links, inner = scaled(known, 0.7), (X - X.mean(axis=0)) @ (X - X.mean(axis=0)).T
    before = kernel_objective(inner, labels, a, *links)
    for i in range(len(X)):
        if k == 1 or (labels == labels[i]).sum() == 1:
            assert (gain[i] == -np.inf).all()
            continue
        for c in set(range(k)) - {labels[i]}:
            moved = labels.copy()
            moved[i] = c
            wanted = before - kernel_objective(inner, moved, a, *links)
            assert gain[i, c] == pytest.approx(wanted, abs=1e-7 * max(1, abs(before)))


def test_the_best_of_all_labelings_of_a_few_rows():
    reached = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(8, 2)), rng.integers(0, 2, 8)
        known = Constraints.from_labels(y, 8, random_state=seed)
        model = ConstrainedKernelKMeans(2, n_init=10, random_state=0).fit(X, constraints=known)
        S, links = gram_of(X, model), scaled(known, model.link_weight_)
        every = [x for x in labelings(8, 2) if len(set(x)) == 2]
        best = min(kernel_objective(S, x, np.ones(8), *links) for x in every)
        assert model.objective_ >= best - 1e-9
        reached += model.objective_ <= best + 1e-9
    assert reached >= 8


def test_filled_clusters_are_part_of_the_search():
    """Heavy must-links make empty clusters cheap: the result is still the end of its path."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n, k = int(rng.integers(4, 8)), int(rng.integers(2, 4))
        X = rng.integers(0, 3, (n, 1)).astype(float)
        pairs = [(i, j) for i in range(n) for j in range(i)]
        some = [pairs[p] for p in rng.permutation(len(pairs))[: int(rng.integers(3, len(pairs)))]]
        known = Constraints(some[2:], some[:2]) if seed % 2 else Constraints(some)
        kernel = ("linear", "rbf")[seed % 3 == 0]
        model = ConstrainedKernelKMeans(
            k, kernel=kernel, link_weight=5.0, n_init=1, random_state=seed
        )
        model.fit(X, constraints=known)
        S, links = gram_of(X, model), scaled(known, 5.0)
        assert set(model.labels_) == set(range(k))
        assert model.objective_ == model.objective_path_[-1] <= model.objective_path_[0]
        assert model.objective_ == pytest.approx(
            kernel_objective(S, model.labels_, np.ones(n), *links)
        )
        # No move of one row that leaves all clusters filled is better.
        for i in np.flatnonzero(np.bincount(model.labels_)[model.labels_] > 1):
            for c in range(k):
                moved = model.labels_.copy()
                moved[i] = c
                assert kernel_objective(S, moved, np.ones(n), *links) >= model.objective_ - 1e-7


# -------------------------------------------------------------------- special cases


def test_linear_without_links_is_k_means():
    X, _ = blobs(90)
    model = ConstrainedKernelKMeans(3, kernel="linear", random_state=0).fit(X)
    plain = KMeans(3, n_init=5, random_state=0).fit(X)
    assert same_partition(model.labels_, plain.labels_)
    assert model.objective_ == pytest.approx(plain.inertia_)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_weights_are_repetitions():
    X, _ = blobs(30, apart=3.0)
    times = np.random.default_rng(0).integers(1, 4, 30)
    weighted = ConstrainedKernelKMeans(3, kernel="linear", n_init=10, random_state=0)
    weighted.fit(X, sample_weight=times)
    repeated = ConstrainedKernelKMeans(3, kernel="linear", n_init=10, random_state=0)
    repeated.fit(np.repeat(X, times, axis=0))
    assert weighted.objective_ == pytest.approx(repeated.objective_)


def test_rows_without_weight_follow():
    X, y = blobs(60)
    weight = (np.arange(60) < 40).astype(float)
    model = ConstrainedKernelKMeans(3, random_state=0).fit(X, sample_weight=weight)
    assert same_partition(model.labels_, y)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_an_rbf_kernel_and_a_few_links_find_rings():
    X, y = make_circles(200, factor=0.3, noise=0.05, random_state=0)
    known = Constraints.from_labels(y, 60, "balanced", random_state=0)
    told = ConstrainedKernelKMeans(2, gamma=3.0, random_state=0).fit(X, constraints=known)
    plain = KMeans(2, n_init=5, random_state=0).fit(X)
    assert adjusted_rand_score(y, plain.labels_) < 0.1
    assert adjusted_rand_score(y, told.labels_) > 0.8


def test_links_are_kept_at_their_price():
    X, y = blobs(60, apart=2.0)
    known = Constraints.from_labels(y, 60, "balanced", random_state=0)
    shares = [
        ConstrainedKernelKMeans(3, link_weight=factor, random_state=0)
        .fit(X, constraints=known)
        .report_.satisfaction.share
        for factor in (0.0, 0.1, 100.0)
    ]
    assert shares[0] < shares[-1]
    assert shares[-1] > 0.9


def test_what_violations_cost():
    X = np.array([[0.0], [0.1], [9.0], [9.1]])
    known = Constraints(must_link=[(0, 2, 2.0)], cannot_link=[(2, 3, 3.0)])
    model = ConstrainedKernelKMeans(2, kernel="linear", link_weight=0.01, random_state=0)
    report = model.fit(X, constraints=known).report_
    np.testing.assert_allclose(report.costs, [2 * 0.01 * 2 / 2, 2 * 0.01 * 3 / 2])


# -------------------------------------------------------------------- kernels


def test_precomputed_is_the_same_kernel():
    X, y = blobs(60, apart=4.0)
    known = Constraints.from_labels(y, 20, random_state=0)
    wanted = ConstrainedKernelKMeans(3, gamma=0.05, random_state=0).fit(X, constraints=known)
    K = rbf_kernel(X, gamma=0.05)
    for matrix in (K, sparse.csr_matrix(K)):
        model = ConstrainedKernelKMeans(3, kernel="precomputed", random_state=0)
        model.fit(matrix, constraints=known)
        assert model.objective_ == pytest.approx(wanted.objective_)
        np.testing.assert_array_equal(model.labels_, wanted.labels_)
    np.testing.assert_allclose(model.transform(K[:5]), wanted.transform(X[:5]), atol=1e-9)


def test_many_rows_need_an_approximation(monkeypatch):
    X, y = blobs(300, apart=6.0)
    known = Constraints.from_labels(y, 50, random_state=0)
    exact = ConstrainedKernelKMeans(3, gamma=0.02, random_state=0).fit(X, constraints=known)
    monkeypatch.setattr(_kernel_kmeans, "MOST_ROWS", 200)
    with pytest.raises(ValueError, match="the limit is 200: use make_pipeline.Nystroem"):
        ConstrainedKernelKMeans(3).fit(X)
    model = make_pipeline(
        Nystroem(gamma=0.02, n_components=80, random_state=0),
        ConstrainedKernelKMeans(3, kernel="linear", random_state=0),
    ).fit(X, constrainedkernelkmeans__constraints=known)
    assert adjusted_rand_score(model.predict(X), exact.predict(X)) > 0.95


def test_sparse_data_is_the_same_data():
    X, _ = blobs(60, 8)
    X[np.abs(X) < 1] = 0.0
    for kernel in ("linear", "rbf"):
        a = ConstrainedKernelKMeans(3, kernel=kernel, random_state=0).fit(X)
        b = ConstrainedKernelKMeans(3, kernel=kernel, random_state=0).fit(sparse.csr_matrix(X))
        assert a.objective_ == pytest.approx(b.objective_)
        np.testing.assert_array_equal(a.predict(sparse.csr_matrix(X)), a.predict(X))
        assert same_partition(b.predict(X), a.predict(X))


# -------------------------------------------------------------------- wrong input


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_clusters": 0}, ValueError, "n_clusters=0 must be at least 1"),
        ({"n_clusters": 31}, ValueError, "n_samples=30 should be >= n_clusters=31"),
        ({"kernel": "poly"}, ValueError, "kernel='poly': expected one of"),
        ({"gamma": -1.0}, ValueError, "gamma=-1.0 must be at least 0"),
        ({"link_weight": "much"}, TypeError, "link_weight='much' must be a number"),
        ({"link_weight": -1}, ValueError, "link_weight=-1 must be at least 0"),
        ({"n_init": 0}, ValueError, "n_init=0"),
        ({"kernel": "precomputed"}, ValueError, "square matrix; X has shape"),
    ],
)
def test_wrong_parameters(options, error, message):
    X, _ = blobs(30)
    with pytest.raises(error, match=message):
        ConstrainedKernelKMeans(**{"n_clusters": 3, **options}).fit(X)


def test_a_kernel_must_be_symmetric():
    K = np.eye(6)
    K[0, 1] = 1.0
    with pytest.raises(ValueError, match="symmetric; two opposite entries differ by 1"):
        ConstrainedKernelKMeans(2, kernel="precomputed").fit(K)


def test_too_few_iterations(capsys):
    X, y = blobs(200, apart=1.0)
    known = Constraints.from_labels(y, 100, random_state=0)
    with pytest.warns(ConvergenceWarning, match="did not converge in max_iter=1"):
        ConstrainedKernelKMeans(3, max_iter=1, verbose=1, random_state=0).fit(X, constraints=known)
    assert "run 5, iteration 1: objective" in capsys.readouterr().out
