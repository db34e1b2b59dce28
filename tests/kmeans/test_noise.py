"""Links that may be wrong: objective, estimate, probability of each link, against slow versions."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from linkwise import Constraints, PCKMeans
from linkwise.datasets import load
from linkwise.kmeans.estimators._parts import euclidean
from linkwise.kmeans.rows._local_rows import LocalRows
from linkwise.kmeans.solver import _noise
from linkwise.kmeans.solver._link_graph import LinkGraph
from linkwise.kmeans.solver._problem import Problem

from .cases import blobs, watched

METHODS = {
    kind: PCKMeans(3, noise="auto", distortion=kind, n_init=3, random_state=0)
    for kind in ("euclidean", "cosine", "divergence")
}


def noisy(n: int = 90, m: int = 120, share: float = 0.2, apart: float = 6.0, seed: int = 0):
    """Rows with positive entries, true labels, links of which some are wrong, and which."""
    X, y = blobs(n, 4, apart=apart, seed=seed)
    known = Constraints.from_labels(y, m, random_state=seed).flip(share, random_state=seed)
    kept = known.satisfied(y)
    return X - X.min() + 0.1, y, known, ~np.concatenate([kept.must_link, kept.cannot_link])


@pytest.mark.parametrize("name", METHODS)
def test_no_half_step_raises_the_objective(name):
    X, _, known, _ = noisy()
    spy = watched(clone(METHODS[name]), X, constraints=known)
    for found in spy.solutions:
        steps = np.array(found.half_steps)
        assert (np.diff(steps) <= 1e-9 * np.abs(steps[:-1]) + 1e-9).all()


@pytest.mark.parametrize("noise", ["auto", 0.25])
def test_the_objective_is_minus_the_log_posterior(noise):
    """Row by row, link by link, in units of the rows' cost."""
    X, _, known, _ = noisy()
    model = PCKMeans(3, noise=noise, n_init=1, random_state=0).fit(X, constraints=known)
    rows = ((X - model.cluster_centers_[model.labels_]) ** 2).sum()
    a, b = np.concatenate([known.must_link, known.cannot_link]).astype(int).T
    together = model.labels_[a] == model.labels_[b]
    violated = together != (np.arange(len(a)) < known.n_must_link)
    p = model.noise_ if noise == "auto" else noise
    links = violated.sum() * np.log((1 - p) / p)
    if noise == "auto":
        links -= len(a) * np.log(1 - p) + 1 * np.log(p) + 9 * np.log(1 - p)
    unit = (model.objective_ - rows) / links
    assert unit == pytest.approx(_noise.estimated_unit(Problem(LocalRows(X), 3, known), euclidean))
    np.testing.assert_allclose(
        model.report_.costs, violated * unit * np.log((1 - p) / p), rtol=1e-9
    )


def test_the_estimate_lowers_the_objective_most():
    _, y, known, _ = noisy()
    links = LinkGraph.of(known)
    labels = np.random.default_rng(0).integers(3, size=len(links.rows)).astype(np.int32)
    labels[: len(labels) // 2] = y[links.rows[: len(labels) // 2]]
    penalty = _noise.LogOddsPenalty(links, 2.0)

    def objective(p: float) -> float:
        penalty._set(p)
        cost = penalty.costs(None)[:, 0]
        return float(cost[links.violated(labels)].sum() + penalty.constant())

    tried = {p: objective(p) for p in np.linspace(_noise.LEAST, _noise.MOST, 400)}
    penalty.learn(labels)
    assert objective(penalty.p) <= min(tried.values()) + 1e-9
    assert _noise.LEAST <= penalty.p <= _noise.MOST


def test_none_is_the_published_objective():
    X, _, known, _ = noisy()
    a = PCKMeans(3, n_init=2, random_state=0).fit(X, constraints=known)
    b = PCKMeans(3, noise="auto", n_init=2, random_state=0).fit(X, constraints=known)
    b.set_params(noise=None).fit(X, constraints=known)
    assert a.objective_ == b.objective_
    assert not hasattr(b, "noise_")
    assert b.report_.wrong is None
    assert b.report_.likely_wrong() == []


def test_the_unit_is_that_of_gaussian_costs():
    """Costs that are c times a log likelihood have a unit of c; twice that for nearest rows."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 1, (4000, 3)), rng.normal([6, 0, 0], 1, (4000, 3))])
    centers = np.array([[0.0, 0, 0], [6, 0, 0]])
    costs = ((X[:, None] - centers) ** 2).sum(axis=2)  # minus twice a log likelihood
    np.testing.assert_allclose(_noise.likelihood_unit(costs), 2 * 2, rtol=0.1)
    np.testing.assert_allclose(_noise.likelihood_unit(10 * costs), 2 * 20, rtol=0.1)
    # Each feature given twice: costs say twice as much as they should.
    np.testing.assert_allclose(_noise.likelihood_unit(2 * costs), 2 * 4, rtol=0.1)


def test_units_of_the_data_do_not_matter():
    X, _, known, _ = noisy()
    model = PCKMeans(3, noise="auto", n_init=3, random_state=0)
    a = clone(model).fit(X, constraints=known)
    b = clone(model).fit(1000 * X, constraints=known)
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_allclose(a.noise_, b.noise_)
    np.testing.assert_allclose(a.report_.wrong, b.report_.wrong, atol=1e-6)


@pytest.mark.parametrize("costs", [np.zeros((5, 2)), np.ones((1, 1)), np.zeros((0, 3))])
def test_a_unit_there_is_always(costs):
    assert _noise.likelihood_unit(costs) > 0


def test_the_probability_of_each_link_by_trying_all_places():
    """Both rows of a link in all clusters, all others held: the best way together, and apart."""
    rng = np.random.default_rng(1)
    known = Constraints(
        must_link=[(0, 1), (1, 2, 0.5), (3, 4), (0, 5)], cannot_link=[(0, 2), (2, 5), (1, 4, 2.0)]
    )
    links = LinkGraph.of(known)
    k, p, unit = 3, 0.2, 1.7
    labels = rng.integers(k, size=len(links.rows)).astype(np.int32)
    costs = rng.uniform(0, 6, (len(links.rows), k))
    price = unit * links.weight * np.log((1 - p) / p)

    def total(places, without):
        found = costs[np.arange(len(places)), places].sum()
        for link, (i, j) in enumerate(links.ends):
            if link != without and (places[i] == places[j]) != links.is_must[link]:
                found += price[link]
        return found

    wanted = []
    for link, (i, j) in enumerate(links.ends):
        best = {True: np.inf, False: np.inf}
        for a, b in product(range(k), repeat=2):
            places = labels.copy()
            places[i], places[j] = a, b
            best[a == b] = min(best[a == b], total(places, link))
        must = bool(links.is_must[link])
        odds = links.weight[link] * np.log((1 - p) / p) + (best[not must] - best[must]) / unit
        wanted.append(expit(-odds))
    found = _noise.probability_wrong(links, labels, costs, p, unit)
    np.testing.assert_allclose(found, wanted, rtol=1e-9)


@pytest.mark.parametrize("name", METHODS)
def test_suspects_are_the_wrong_links(name):
    X, _, known, bad = noisy(apart=8.0)
    model = clone(METHODS[name]).fit(X, constraints=known)
    listed = model.report_.wrong > 0.5
    assert (listed & bad).sum() / bad.sum() > 0.8
    assert (listed & bad).sum() / listed.sum() > 0.8
    assert abs(model.noise_ - bad.mean()) < 0.08
    assert [p for _, p in model.report_.likely_wrong()] == sorted(
        model.report_.wrong[listed].tolist(), reverse=True
    )


def test_wine_with_one_link_in_five_wrong():
    wine = load("wine")
    X = StandardScaler().fit_transform(wine.data)
    known = Constraints.from_labels(wine.target, 400, random_state=0).flip(0.2, random_state=0)
    kept = known.satisfied(wine.target)
    bad = ~np.concatenate([kept.must_link, kept.cannot_link])
    trusting = PCKMeans(3, random_state=0).fit(X, constraints=known)
    model = PCKMeans(3, noise="auto", random_state=0).fit(X, constraints=known)
    listed = model.report_.wrong > 0.5
    assert (listed & bad).sum() / bad.sum() > 0.9
    assert (listed & bad).sum() / listed.sum() > 0.9
    assert 0.15 < model.noise_ < 0.25
    assert adjusted_rand_score(wine.target, trusting.labels_) < 0.8
    assert adjusted_rand_score(wine.target, model.labels_) > 0.9
    assert "% of the links look wrong" in str(model.report_)
    assert "wrong" in model.report_.to_frame()


@pytest.mark.parametrize("share", [0.0, 0.2, 0.4])
def test_the_estimate_is_near_the_share_of_wrong_links(share):
    X, y, known, bad = noisy(150, 400, share)
    model = PCKMeans(3, noise="auto", random_state=0).fit(X, constraints=known)
    assert abs(model.noise_ - bad.mean()) < 0.05
    assert adjusted_rand_score(y, model.labels_) > 0.9


def test_contradictions_are_no_special_case():
    X, y, known, _ = noisy(apart=8.0)
    known = known + Constraints(must_link=[(0, 3)], cannot_link=[(0, 3)])
    assert not known.closure().consistent
    model = PCKMeans(3, noise="auto", n_init=5, random_state=0).fit(X, constraints=known)
    assert adjusted_rand_score(y, model.labels_) > 0.9


def test_without_links_it_is_the_method_without():
    X, _, _, _ = noisy()
    a = PCKMeans(3, noise="auto", random_state=0).fit(X)
    b = PCKMeans(3, random_state=0).fit(X)
    np.testing.assert_array_equal(a.labels_, b.labels_)
    assert len(a.report_.wrong) == 0


def test_sparse_rows_are_the_same_rows():
    X, _, known, _ = noisy()
    X *= np.quantile(X, 0.3) <= X
    a = PCKMeans(3, noise="auto", n_init=2, random_state=0).fit(X, constraints=known)
    b = clone(a).fit(sparse.csr_matrix(X), constraints=known)
    np.testing.assert_allclose(a.objective_, b.objective_, rtol=1e-6)
    np.testing.assert_allclose(a.report_.wrong, b.report_.wrong, atol=1e-4)


def test_weights_are_evidence():
    """A link of hardly any weight does not count."""
    X = np.array([[0.0], [0.1], [0.2], [0.3], [9.0], [9.1], [9.2], [9.3]])
    light = Constraints(must_link=[(0, 1), (2, 3), (4, 5), (6, 7), (0, 4, 0.01)])
    model = PCKMeans(2, noise=0.1, random_state=0).fit(X, constraints=light)
    assert model.labels_[0] != model.labels_[4]


@pytest.mark.parametrize("noise", [0.5, 0.7, -0.1, "much", True])
def test_wrong_parameters(noise):
    X, _, known, _ = noisy()
    with pytest.raises((ValueError, TypeError), match="noise="):
        PCKMeans(3, noise=noise).fit(X, constraints=known)


def test_links_to_outliers_say_nothing_about_other_links():
    costs = np.random.default_rng(0).random((4, 3))
    costs[1, 2] = -4.0  # the last cluster, number -1 of an array, decides
    labels = np.array([0, 0, 1, -1], dtype=np.int32)
    some = LinkGraph.of(Constraints(must_link=[(0, 1)], cannot_link=[(1, 2)]))
    more = LinkGraph.of(Constraints(must_link=[(0, 1)], cannot_link=[(1, 2), (1, 3)]))
    expected = _noise.probability_wrong(some, labels[:3], costs[:3], 0.1, 1.0)
    found = _noise.probability_wrong(more, labels, costs, 0.1, 1.0)
    np.testing.assert_allclose(found[:2], expected)
