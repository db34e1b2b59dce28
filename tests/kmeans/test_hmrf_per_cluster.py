"""Weights per cluster for HMRF-KMeans under cosine, Pearson's correlation and the divergence."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from linkwise import Constraints, HMRFKMeans
from linkwise.geometry import Cosine, Divergence, Moments, Pearson
from linkwise.kmeans.rows._local_rows import LocalAssignments, LocalRows
from linkwise.kmeans.solver._penalties import PairPenalty
from linkwise.kmeans.solver._problem import Problem

from .cases import taking_part, watched
from .test_hmrf import (
    KNOWN,
    admitted,
    assert_falls,
    counts,
    finite_differences,
    slow_distance,
    slow_phi,
)

DISTORTIONS = ["cosine", "pearson", "divergence"]
CASES = [(Cosine, False), (Cosine, True), (Pearson, False), (Divergence, False), (Divergence, True)]


def fitted(X, distortion, known=KNOWN, k=3, **options):
    given = {"random_state": 0, "n_init": 2, "per_cluster": True} | options
    return HMRFKMeans(k, distortion=distortion, **given).fit(X, constraints=known)


@pytest.mark.parametrize("published", [False, True])
@pytest.mark.parametrize(("kind", "as_sparse"), CASES)
def test_gradient_by_finite_differences(kind, as_sparse, published):
    rng = np.random.default_rng(0)
    X = counts()
    d = X.shape[1]
    geometry = kind(3, d, 1.0, learns=True, per_cluster=True)
    if kind is Divergence:
        geometry.smoothing = 0.3
    rows = LocalRows(
        geometry.validate_rows(sparse.csr_matrix(X) if as_sparse else X),
        rng.random(len(X)), centered=False,
    )  # fmt: skip
    rows.collect_stats(geometry)
    geometry.set_centers(geometry.validate_rows(rng.random((3, d)) + 0.1))
    labels = rng.integers(0, 3, len(X)).astype(np.int32)
    problem = Problem(rows, 3, KNOWN, max_entailed=100)
    penalty = PairPenalty(problem.links, rows, published=published)
    own = labels[problem.links.rows]

    def objective(weights):
        geometry.set_metrics(weights.reshape(3, d))
        rows.scale(geometry)
        moments = rows.recount(labels, Moments.zeros(3, d, geometry.squares_shape))
        cost = problem.links.violation_cost(own, penalty.costs(geometry))
        return geometry.distortion(moments) + cost, moments

    at = rng.random(3 * d) + 0.5
    wanted = finite_differences(objective, at)
    _, moments = objective(at)
    assignments = LocalAssignments(rows, np.zeros(0, dtype=np.int64), labels)
    found = geometry.scatter(moments, assignments) + penalty.scatter_term(geometry, own)
    np.testing.assert_allclose(found.ravel(), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("distortion", ["cosine", "divergence"])
def test_objective_has_every_term(distortion):
    model = fitted(counts(), distortion)
    rows, labels, A = admitted(distortion, counts()), model.labels_, model.metrics_
    uniform, smoothing = np.full(6, 1 / 6), getattr(model._geometry_, "smoothing", 0.0)
    total = -np.log(A * np.exp(-(A**2) / 2)).sum()
    for x, c in zip(rows, labels, strict=True):
        total += slow_distance(distortion, x, model.cluster_centers_[c], A[c])
        if smoothing:
            far = slow_distance(distortion, uniform, model.cluster_centers_[c], A[c])
            total += smoothing * far
    must, cannot = taking_part(KNOWN)
    for i, j, w in must:
        phi = [slow_phi(distortion, rows[i], rows[j], A[labels[end]]) for end in (i, j)]
        total += w * np.mean(phi) * (labels[i] != labels[j])
    bound = 1.0 if distortion == "cosine" else 2 * np.log(2)
    for i, j, w in cannot:
        phi = slow_phi(distortion, rows[i], rows[j], A[labels[i]])
        total += w * max(bound - phi, 0.0) * (labels[i] == labels[j])
    assert model.objective_ == pytest.approx(total, rel=1e-9)


@pytest.mark.filterwarnings("ignore:.*did not converge")
@pytest.mark.parametrize("prior", [True, False])
@pytest.mark.parametrize("distortion", DISTORTIONS)
def test_the_objective_never_rises(distortion, prior):
    for seed in range(3):
        known = Constraints.from_labels(np.arange(40) % 3, 20, random_state=seed)
        known = known.flip(0.2, random_state=seed)
        model = HMRFKMeans(
            4, distortion=distortion, per_cluster=True, prior=prior, random_state=seed, n_init=2,
            max_iter=20,
        )  # fmt: skip
        assert_falls(watched(model, counts(seed, n=40), constraints=known))


@pytest.mark.parametrize("prior", [True, False])
@pytest.mark.parametrize("distortion", DISTORTIONS)
def test_one_cluster_is_the_shared_metric(distortion, prior):
    own = fitted(counts(), distortion, k=1, prior=prior)
    shared = fitted(counts(), distortion, k=1, prior=prior, per_cluster=False)
    assert own.objective_ == pytest.approx(shared.objective_, rel=1e-9)
    np.testing.assert_allclose(own.metrics_[0], shared.metrics_, rtol=1e-8)


@pytest.mark.parametrize("distortion", ["cosine", "divergence"])
def test_sparse_is_dense(distortion):
    X = counts(n=60)
    dense, csr = fitted(X, distortion), fitted(sparse.csr_matrix(X), distortion)
    np.testing.assert_array_equal(dense.labels_, csr.labels_)
    np.testing.assert_allclose(dense.metrics_, csr.metrics_, rtol=1e-6)
    np.testing.assert_allclose(dense.transform(X), csr.transform(sparse.csr_matrix(X)), rtol=1e-6)


@pytest.mark.parametrize("distortion", DISTORTIONS)
def test_labels_fit_the_final_geometry(distortion):
    X = counts(n=90)
    model = fitted(X, distortion, known=None)
    np.testing.assert_array_equal(model.labels_, model.predict(X))
    assert model.metrics_.shape == (3, 6)
    if distortion == "divergence":
        np.testing.assert_allclose(model.metrics_.sum(axis=1), model.metrics_[0].sum())


def test_a_feature_counts_where_it_tells_a_cluster():
    """The first two features vary within one cluster each, and only there."""
    rng = np.random.default_rng(0)
    X = np.full((90, 4), 1.0) + 0.05 * rng.random((90, 4))
    y = np.repeat([0, 1], 45)
    X[:45, 0] += 2 * rng.random(45)
    X[45:, 1] += 2 * rng.random(45)
    X[:45, 2] += 3
    X[45:, 3] += 3
    known = Constraints.from_labels(y, 20, random_state=0)
    model = fitted(X, "cosine", known, k=2)
    first, second = model.labels_[0], model.labels_[-1]
    assert model.metrics_[first, 0] < model.metrics_[second, 0]
    assert model.metrics_[second, 1] < model.metrics_[first, 1]
