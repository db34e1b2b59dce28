"""HMRF-KMeans against its equations, written out slowly, and against finite differences."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from linkwise import Constraints, HMRFKMeans, MPCKMeans, PCKMeans
from linkwise.geometry import Bregman, Cosine, Divergence, Moments, Rayleigh
from linkwise.kmeans.rows._local_rows import LocalAssignments, LocalRows
from linkwise.kmeans.solver._penalties import PairPenalty
from linkwise.kmeans.solver._problem import Problem
from papers.datasets import load

from .cases import blobs, same_partition, taking_part, watched

DISTORTIONS = ["euclidean", "cosine", "divergence"]
ABLATIONS = {"C-D-R": {}, "C-D": {"prior": False}, "C": {"learn": False}}
KNOWN = Constraints(
    must_link=[(0, 3), (3, 6, 0.5), (1, 2, 2.0)], cannot_link=[(0, 1), (4, 5), (6, 10, 3.0)]
)


def counts(seed: int = 0, n: int = 30, d: int = 6) -> np.ndarray:
    """Rows of three kinds, like counts of words."""
    rng = np.random.default_rng(seed)
    rate = np.full((3, d), 0.5)
    rate[np.arange(3), np.arange(3)] = 6.0
    return rng.poisson(rate[np.arange(n) % 3]) + np.eye(d)[np.arange(n) % d] * 0.5


# -------------------------------------------------------------------- the equations, slowly


def slow_distance(distortion, x, mu, a):
    if distortion == "euclidean":
        return float((a * (x - mu) ** 2).sum())
    if distortion == "cosine":  # (3.17)
        return float(1 - (a * x * mu).sum() / np.sqrt((a * x * x).sum() * (a * mu * mu).sum()))
    parts = [
        a_m * ((u * np.log(u / v) if u > 0 else 0.0) - u + v)
        for u, v, a_m in zip(x, mu, a, strict=False)
    ]
    return float(sum(parts))  # (3.19)


def slow_phi(distortion, x, y, a):
    if distortion != "divergence":
        return slow_distance(distortion, x, y, a)
    mean = (x + y) / 2  # (3.20)
    return slow_distance("divergence", x, mean, a) + slow_distance("divergence", y, mean, a)


def slow_objective(distortion, X, labels, centers, a, known, bound, *, prior, smoothing=0.0):
    """(3.14) with every term, and what smoothing costs."""
    total = sum(
        slow_distance(distortion, x, centers[c], a) for x, c in zip(X, labels, strict=False)
    )
    if smoothing:
        uniform = np.full(X.shape[1], 1 / X.shape[1])
        total += smoothing * sum(slow_distance(distortion, uniform, centers[c], a) for c in labels)
    must, cannot = taking_part(known)
    for i, j, w in must:
        total += (labels[i] != labels[j]) * w * slow_phi(distortion, X[i], X[j], a)
    for i, j, w in cannot:
        phi = slow_phi(distortion, X[i], X[j], a)
        total += (labels[i] == labels[j]) * w * max(bound(a) - phi, 0.0)
    if prior:  # (3.10) with the exponent that (3.26) belongs to
        total -= np.log(a * np.exp(-(a**2) / 2)).sum()
    if distortion == "euclidean":
        total -= len(X) * np.log(a).sum()
    return total


def admitted(distortion, X):
    if distortion == "cosine":
        return X / np.linalg.norm(X, axis=1, keepdims=True)
    return X / X.sum(axis=1, keepdims=True) if distortion == "divergence" else X


def bound_of(distortion, penalty, X):
    if distortion == "euclidean":
        if penalty.pair is None:
            return lambda a: 0.0
        i, j = penalty.pair[0]
        return lambda a: slow_distance("euclidean", X[i], X[j], a)
    return (lambda a: 1.0) if distortion == "cosine" else (lambda a: 2 * np.log(2))


@pytest.mark.parametrize("ablation", ABLATIONS)
@pytest.mark.parametrize("distortion", DISTORTIONS)
def test_objective_has_every_term_of_3_14(distortion, ablation):
    X = counts()
    model = HMRFKMeans(3, distortion=distortion, random_state=0, max_iter=20, **ABLATIONS[ablation])
    spy = watched(model, X, constraints=KNOWN)
    smoothing = getattr(model._geometry_, "smoothing", 0.0)
    wanted = slow_objective(
        distortion, admitted(distortion, X), model.labels_, model.cluster_centers_,
        model.metrics_, KNOWN, bound_of(distortion, spy.best_penalty, X),
        prior=ablation == "C-D-R", smoothing=smoothing,
    )  # fmt: skip
    assert model.objective_ == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("distortion", DISTORTIONS)
def test_the_published_bound(distortion):
    X = counts()
    model = HMRFKMeans(
        3, distortion=distortion, bound="published", random_state=0, max_iter=20
    )  # fmt: skip
    watched(model, X, constraints=KNOWN)
    rows = admitted(distortion, X)
    _, cannot = taking_part(KNOWN)

    def bound(a):
        if distortion == "euclidean":
            return sum(slow_phi("euclidean", rows[i], rows[j], a) for i, j, _ in cannot)
        return 1.0 if distortion == "cosine" else a.sum()

    wanted = slow_objective(
        distortion, rows, model.labels_, model.cluster_centers_, model.metrics_, KNOWN, bound,
        prior=True, smoothing=getattr(model._geometry_, "smoothing", 0.0),
    )  # fmt: skip
    assert model.objective_ == pytest.approx(wanted, rel=1e-9)


# -------------------------------------------------------------------- gradients


def state(kind, seed, *, as_sparse=False, published=False):
    """LocalRows, a geometry with random weights and centers, labels and links."""
    rng = np.random.default_rng(seed)
    X = counts(seed)
    geometry = kind(3, X.shape[1], 1.0, learns=True)
    if kind is Divergence:
        geometry.smoothing = 0.3
    given = geometry.validate_rows(sparse.csr_matrix(X) if as_sparse else X)
    rows = LocalRows(given, centered=False)
    rows.collect_stats(geometry)
    geometry.set_centers(geometry.validate_rows(rng.random((3, X.shape[1])) + 0.1))
    labels = rng.integers(0, 3, len(X)).astype(np.int32)
    problem = Problem(rows, 3, KNOWN, max_entailed=100)
    penalty = PairPenalty(problem.links, rows, published=published)

    def objective(weights):
        geometry.set_metrics(weights[None])
        rows.scale(geometry)
        moments = rows.recount(labels, Moments.zeros(3, X.shape[1]))
        own = labels[problem.links.rows]
        cost = penalty.costs(geometry)[problem.links.violated(own), 0].sum()
        return geometry.distortion(moments) + cost, moments

    def slope(weights):
        _, moments = objective(weights)
        found = geometry.scatter(
            moments, LocalAssignments(rows, np.zeros(0, dtype=np.int64), labels)
        )
        return (found + penalty.scatter_term(geometry, labels[problem.links.rows]))[0]

    return objective, slope, rng.random(X.shape[1]) + 0.5


def finite_differences(function, at, step=1e-6):
    return np.array(
        [(function(at + e)[0] - function(at - e)[0]) / (2 * step) for e in step * np.eye(len(at))]
    )


@pytest.mark.parametrize("published", [False, True])
@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("kind", [Cosine, Divergence])
def test_gradient_by_finite_differences(kind, as_sparse, published):
    for seed in range(3):
        objective, slope, at = state(kind, seed, as_sparse=as_sparse, published=published)
        wanted = finite_differences(objective, at)
        np.testing.assert_allclose(slope(at), wanted, rtol=1e-5, atol=1e-5)


def test_slope_and_minimum_of_the_prior():
    prior = Rayleigh(1.5)
    a = np.array([[0.3, 1.0, 2.5]])
    step = 1e-6 * np.eye(3)
    differences = [(prior.cost(a + e) - prior.cost(a - e)) / 2e-6 for e in step]
    np.testing.assert_allclose(prior.slope(a)[0], differences, rtol=1e-6, atol=1e-6)
    linear = np.array([-3.0, 0.0, 7.0])
    for count in (0.0, 40.0):
        found = prior.minimum(linear, count)
        np.testing.assert_allclose(
            linear - count / found + prior.slope(found[None])[0], 0.0, atol=1e-9
        )


@pytest.mark.parametrize("prior", [True, False])
@pytest.mark.parametrize("metric", ["diagonal", "full"])
def test_euclidean_gradient_steps_go_down_to_the_closed_form(metric, prior):
    X, y = blobs()
    known = Constraints.from_labels(y, 15, random_state=0)
    options = {"metric": metric, "prior": prior, "max_iter": 500, "tol": 1e-9}
    options |= {"n_init": 1, "random_state": 0}
    step = HMRFKMeans(3, eta=1e-3, **options)
    watched(step, X, constraints=known)
    exact = HMRFKMeans(3, eta="exact", **options).fit(X, constraints=known)
    # The closed form is capped without prior; steps may go beyond the cap.
    assert step.objective_ <= exact.objective_ * (1 + 1e-3)
    assert (np.linalg.eigvalsh(step.metrics_) if metric == "full" else step.metrics_).min() > 0


# -------------------------------------------------------------------- whole runs


def assert_falls(spy):
    for found in spy.solutions:
        steps = np.array(found.half_steps)
        assert (np.diff(steps) <= 1e-9 * np.abs(steps[1:]) + 1e-12).all()


@pytest.mark.parametrize("ablation", ABLATIONS)
@pytest.mark.parametrize("distortion", DISTORTIONS)
@pytest.mark.parametrize("name", ["iris", "wine", "news_different_3"])
def test_the_objective_never_rises(name, distortion, ablation):
    bunch = load(name)
    known = Constraints.from_labels(bunch.target, 60, random_state=0)
    model = HMRFKMeans(
        3, distortion=distortion, random_state=0, n_init=1, max_iter=10, **ABLATIONS[ablation]
    )
    assert_falls(watched(model, bunch.data, constraints=known))


@pytest.mark.parametrize("distortion", DISTORTIONS)
@given(
    seed=st.integers(0, 1000),
    n_links=st.integers(0, 25),
    noise=st.sampled_from([0.0, 0.3]),
    eta=st.sampled_from([None, 0.01, 1.0, "exact"]),
)
@settings(max_examples=15)
def test_the_objective_never_rises_under_random_constraints(distortion, seed, n_links, noise, eta):
    X = counts(seed, n=20)
    known = Constraints.from_labels(np.arange(20) % 3, n_links, random_state=seed)
    known = known.flip(noise, random_state=seed)
    model = HMRFKMeans(4, distortion=distortion, eta=eta, random_state=seed, n_init=1, max_iter=30)
    assert_falls(watched(model, X, constraints=known))


def test_euclidean_without_learning_is_pck_means_with_distances():
    X, y = blobs()
    known = Constraints.from_labels(y, 30, random_state=1)
    ours = HMRFKMeans(3, learn=False, random_state=0).fit(X, constraints=known)
    pck = PCKMeans(3, penalty="distance", random_state=0).fit(X, constraints=known)
    np.testing.assert_array_equal(ours.labels_, pck.labels_)
    np.testing.assert_allclose(ours.objective_path_, pck.objective_path_, rtol=1e-12)


def test_euclidean_without_prior_is_mpck_means():
    X, y = blobs()
    known = Constraints.from_labels(y, 30, random_state=1)
    ours = HMRFKMeans(3, prior=False, random_state=0).fit(X, constraints=known)
    mpck = MPCKMeans(3, random_state=0).fit(X, constraints=known)
    np.testing.assert_allclose(ours.objective_path_, mpck.objective_path_, rtol=1e-9)


@pytest.mark.parametrize("distortion", DISTORTIONS)
def test_sparse_is_dense(distortion):
    X = counts(n=60)
    options = {"distortion": distortion, "random_state": 0, "n_init": 2, "max_iter": 30}
    dense, csr = HMRFKMeans(3, **options), HMRFKMeans(3, **options)
    watched(dense, X, constraints=KNOWN)
    watched(csr, sparse.csr_matrix(X), constraints=KNOWN)
    assert same_partition(dense.labels_, csr.labels_)
    assert dense.objective_ == pytest.approx(csr.objective_, rel=1e-6)
    np.testing.assert_allclose(dense.transform(X), csr.transform(sparse.csr_matrix(X)), rtol=1e-4)


@pytest.mark.parametrize("distortion", ["cosine", "divergence"])
def test_transform_gives_distances_to_the_centers(distortion):
    X = counts()
    model = HMRFKMeans(3, distortion=distortion, random_state=0)
    watched(model, X, constraints=KNOWN)
    rows = admitted(distortion, X)
    wanted = [
        [slow_distance(distortion, x, mu, model.metrics_) for mu in model.cluster_centers_]
        for x in rows
    ]
    found = model.transform(X)
    if distortion == "divergence":  # what smoothing adds is the same for all rows of a cluster
        found = found - (found - wanted).mean(axis=0)
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-9)
    assert model.predict(X).shape == (len(X),)


def test_lengths_of_rows_do_not_matter_to_cosine_nor_totals_to_divergence():
    X = counts()
    longer = X * np.linspace(1, 50, len(X))[:, None]
    for distortion in ("cosine", "divergence"):
        a, b = (HMRFKMeans(3, distortion=distortion, random_state=0) for _ in range(2))
        watched(a, X, constraints=KNOWN)
        watched(b, longer, constraints=KNOWN)
        assert same_partition(a.labels_, b.labels_)


def test_knowledge_helps_on_text():
    bunch = load("news_different_3")
    known = Constraints.from_labels(bunch.target, 200, random_state=0)
    for distortion in ("cosine", "divergence"):
        scores = []
        for constraints in (None, known):
            model = HMRFKMeans(3, distortion=distortion, random_state=0)
            spy = watched(model, bunch.data, constraints=constraints)
            together = spy.model.labels_[:, None] == spy.model.labels_
            scores.append((together == (bunch.target[:, None] == bunch.target)).mean())
        assert scores[1] > scores[0] + 0.05


# -------------------------------------------------------------------- other pieces, wrong input


class ItakuraSaito(Bregman):
    """A user's own divergence, for positive data."""

    def value(self, x):
        return -np.log(x)

    def derivative(self, x):
        return -1 / x


def test_a_divergence_of_ones_own():
    rng = np.random.default_rng(0)
    X = np.exp(rng.normal(np.repeat([[0, 2], [2, 0]], 20, axis=0), 0.2))
    known = Constraints(must_link=[(0, 1)], cannot_link=[(0, 30), (1, 31)])
    model = HMRFKMeans(2, distortion=ItakuraSaito, random_state=0)
    assert_falls(watched(model, X, constraints=known))
    assert same_partition(model.labels_, np.repeat([0, 1], 20))
    x, mu, a = X[3], model.cluster_centers_[0], model.metrics_
    wanted = (a * (x / mu - np.log(x / mu) - 1)).sum()
    assert model.transform(X)[3, 0] == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("penalty", ["weight", "distance"])
@pytest.mark.parametrize("distortion", ["cosine", "divergence"])
def test_pck_means_takes_other_distortions(distortion, penalty):
    model = PCKMeans(3, distortion=distortion, penalty=penalty, random_state=0)
    assert_falls(watched(model, counts(), constraints=KNOWN))
    assert model.report_.satisfaction.n_satisfied > 0


def test_negative_values_and_rows_of_zeros_are_refused():
    X = counts()
    with pytest.raises(ValueError, match=r"Negative values.*cosine"):
        HMRFKMeans(3, distortion="divergence").fit(X - 1)
    X[4] = 0
    for distortion in ("cosine", "divergence"):
        for make in (np.asarray, sparse.csr_matrix):
            with pytest.raises(ValueError, match="row 4"):
                HMRFKMeans(3, distortion=distortion).fit(make(X))


def test_obtuse_angles_have_a_wider_bound():
    X, _ = blobs()
    X = X - X.mean(axis=0)
    model = HMRFKMeans(3, distortion="cosine", random_state=0)
    assert_falls(watched(model, X, constraints=Constraints(cannot_link=[(0, 1), (2, 5)])))
    assert model._geometry_.bound() == 2.0


@pytest.mark.parametrize(
    "wrong",
    [
        {"distortion": "manhattan"},
        {"metric": "full", "distortion": "cosine"},
        {"metric": "banded"},
        {"bound": "loose"},
        {"eta": -0.1},
    ],
)
def test_wrong_parameters(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        HMRFKMeans(3, **wrong).fit(counts())


def test_it_converges_quietly_by_default():
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        for distortion in DISTORTIONS:
            HMRFKMeans(3, distortion=distortion, random_state=0).fit(counts(), constraints=KNOWN)


# -------------------------------------------------------------------- what a review found


def test_runs_are_compared_when_smoothing_has_cooled():
    X = counts(n=60)
    for seed in range(3):
        model = HMRFKMeans(3, distortion="divergence", learn=False, random_state=seed)
        watched(model, X)
        assert model._geometry_.annealing_done


def test_an_empty_cluster_is_refilled_under_cosine():
    rng = np.random.default_rng(0)
    X = np.repeat([[9.0, 1, 1], [1, 9, 1], [1, 1, 9]], 50, axis=0) + rng.random((150, 3))
    start = np.array([[5, 0.3, 0.3], [2, 5, 5], [-1, -1, -1]])
    model = HMRFKMeans(3, distortion="cosine", learn=False, init=start).fit(X)
    assert sorted(np.bincount(model.labels_).tolist()) == [50, 50, 50]


@pytest.mark.parametrize("distortion", DISTORTIONS)
def test_labels_fit_the_final_geometry(distortion):
    for seed in range(6):
        X = counts(seed, n=90)
        model = HMRFKMeans(4, distortion=distortion, random_state=seed, max_iter=60)
        watched(model, X)
        np.testing.assert_array_equal(model.labels_, model.predict(X))


def test_centers_given_for_the_divergence_must_be_counts():
    with pytest.raises(ValueError, match="Negative values"):
        HMRFKMeans(2, distortion="divergence", init=-np.ones((2, 6))).fit(counts())


# -------------------------------------------------------------------- Pearson's correlation


def test_pearson_is_one_minus_the_correlation():
    X = counts(n=12)
    model = HMRFKMeans(3, distortion="pearson", learn=False, random_state=0).fit(X)
    found = model.transform(X)
    for i, x in enumerate(X):
        for c, center in enumerate(model.cluster_centers_):
            assert found[i, c] == pytest.approx(1 - np.corrcoef(x, center)[0, 1], abs=1e-9)


def test_pearson_is_the_cosine_of_rows_without_their_mean():
    X = counts()
    centered = X - X.mean(axis=1, keepdims=True)
    ours = HMRFKMeans(3, distortion="pearson", random_state=0)
    theirs = HMRFKMeans(3, distortion="cosine", random_state=0)
    assert_falls(watched(ours, X, constraints=KNOWN))
    theirs.fit(centered, constraints=KNOWN)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    np.testing.assert_allclose(ours.metrics_, theirs.metrics_)
    again = HMRFKMeans(3, distortion="pearson", random_state=0).fit(5 * X + 2, constraints=KNOWN)
    np.testing.assert_array_equal(ours.labels_, again.labels_)


def test_pearson_refuses_what_has_no_correlation():
    X = counts()
    with pytest.raises(ValueError, match='needs dense data.*distortion="cosine"'):
        HMRFKMeans(3, distortion="pearson").fit(sparse.csr_matrix(X))
    X[4] = 0.1
    with pytest.raises(ValueError, match="1 rows have the same value in all features .* row 4"):
        HMRFKMeans(3, distortion="pearson").fit(X)
