"""Mixtures with links: as scikit-learn's without, likelihoods that never fall, links kept."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from linkwise import ConstrainedMixture, ConstraintError, Constraints
from linkwise.mixture import _field

from .reference import posterior

KINDS = ("full", "tied", "diag", "spherical")
iris = load_iris()


# -------------------------------------------------------------------- as scikit-learn's


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_equals_scikit_learn_without_links(kind, load):
    X = load().data
    options = {"covariance_type": kind, "random_state": 0}
    theirs, ours = GaussianMixture(3, **options).fit(X), ConstrainedMixture(3, **options).fit(X)
    assert ours.n_iter_ == theirs.n_iter_
    assert ours.lower_bound_ == pytest.approx(theirs.lower_bound_)
    np.testing.assert_allclose(ours.weights_, theirs.weights_, rtol=1e-7)
    np.testing.assert_allclose(ours.means_, theirs.means_, rtol=1e-7)
    np.testing.assert_allclose(ours.covariances_, theirs.covariances_, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)
    np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X), rtol=1e-6)
    np.testing.assert_array_equal(ours.labels_, theirs.predict(X))
    assert ours.bic(X) == pytest.approx(theirs.bic(X))
    assert ours.aic(X) == pytest.approx(theirs.aic(X))
    assert ours.score(X) == pytest.approx(theirs.score(X))


# -------------------------------------------------------------------- likelihoods


@pytest.mark.parametrize("sampling", ["chunklets", "points"])
@pytest.mark.parametrize("strength", [np.inf, 0.8])
def test_posterior_by_enumeration(sampling, strength):
    """Likelihood and memberships of 25 small problems each, summed over all labelings."""
    for seed in range(25):
        rng = np.random.default_rng(seed)
        X = np.vstack([rng.normal(c, 1.5, (4, 2)) for c in (0.0, 3.0)])
        truth = rng.permutation(np.repeat([0, 1], 4))
        pairs = rng.permutation([(i, j) for i in range(8) for j in range(i)])[:8]
        same = truth[pairs[:, 0]] == truth[pairs[:, 1]]
        cannot = [(i, j, w) for (i, j), w in zip(pairs[~same].tolist(), rng.uniform(0.5, 2, 8),
                                                 strict=False)]  # fmt: skip
        known = Constraints(must_link=pairs[same][:2], cannot_link=cannot)
        seen: list[float] = []
        model = ConstrainedMixture(
            2, sampling=sampling, strength=strength, max_iter=500, tol=1e-9, reg_covar=0.1,
            random_state=0, callback=lambda run, iteration, value, seen=seen: seen.append(value),
        ).fit(X, constraints=known)  # fmt: skip
        total, share = posterior(
            X, known, model.weights_, model.means_, model.covariances_,
            sampling == "points", strength,
        )  # fmt: skip
        assert -model.objective_ == pytest.approx(total, abs=1e-6)
        assert seen == model.objective_path_.tolist()
        np.testing.assert_allclose(model.probabilities_, share, atol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sampling", ["chunklets", "points"])
def test_the_likelihood_never_falls(kind, sampling):
    for seed in range(4):
        known = Constraints.from_labels(iris.target, 60, random_state=seed)
        model = ConstrainedMixture(
            3, covariance_type=kind, sampling=sampling, tol=0, max_iter=40, reg_covar=0,
            random_state=seed,
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(iris.data, constraints=known)
        path = model.objective_path_
        assert len(path) > 5
        assert np.diff(path).max() <= 1e-8 * abs(path[-1])


def test_the_bound_never_falls_in_large_components(monkeypatch):
    monkeypatch.setattr(_field, "MAX_TERMS", 0)
    known = Constraints.from_labels(iris.target, 120, random_state=0)
    model = ConstrainedMixture(3, tol=1e-6, reg_covar=0, max_iter=200, random_state=0)
    model.fit(iris.data, constraints=known)
    assert model.n_approximate_ > 0
    assert np.diff(model.objective_path_).max() <= 1e-6 * abs(model.objective_)
    assert adjusted_rand_score(iris.target, model.labels_) > 0.85
    assert model.report_.satisfaction.share > 0.95


# -------------------------------------------------------------------- links


def test_labels_keep_all_links():
    for seed in range(5):
        known = Constraints.from_labels(iris.target, 40, random_state=seed)
        model = ConstrainedMixture(3, random_state=seed).fit(iris.data, constraints=known)
        assert model.n_approximate_ == 0
        assert model.report_.satisfaction.n_violated == 0
        np.testing.assert_allclose(model.probabilities_.sum(axis=1), 1.0)
        i, j = known.must_link.T
        np.testing.assert_array_equal(model.probabilities_[i], model.probabilities_[j])


def test_identical_rows_that_must_be_apart_are():
    X = np.repeat([[0.0, 0.0], [1.0, 3.0]], 6, axis=0) + np.arange(12)[:, None] // 2 * 0.01
    X[1] = X[0]
    model = ConstrainedMixture(2, covariance_type="diag", random_state=0)
    labels = model.fit_predict(X, constraints=Constraints(cannot_link=[(0, 1)]))
    assert labels[0] != labels[1]


def test_links_help():
    X, y = make_blobs(300, 2, centers=[(0, 0), (2.5, 0)], cluster_std=[(1.0, 4.0)] * 2,
                      random_state=0)  # fmt: skip
    X = X @ np.array([[1.0, 0.0], [0.0, 2.0]])
    plain = np.mean(
        [adjusted_rand_score(y, ConstrainedMixture(2, random_state=s).fit_predict(X))
         for s in range(3)]
    )  # fmt: skip
    found = []
    for seed in range(3):
        known = Constraints.from_labels(y, 60, random_state=seed)
        model = ConstrainedMixture(2, random_state=seed).fit(X, constraints=known)
        found.append(adjusted_rand_score(y, model.labels_))
    assert np.mean(found) > plain + 0.1


def test_both_samplings_weigh_chunklets_differently():
    """One chunklet holds half of the rows: as one draw, or as many."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(0, 1, (60, 2)), rng.normal(20, 1, (60, 2))])
    known = Constraints(together=[range(60)])
    once = ConstrainedMixture(2, random_state=0).fit(X, constraints=known)
    often = ConstrainedMixture(2, sampling="points", random_state=0).fit(X, constraints=known)
    label = once.labels_[0]
    assert once.weights_[label] == pytest.approx(1 / 61, rel=1e-3)
    assert often.weights_[often.labels_[0]] > 0.4


def test_labels_as_knowledge():
    y = np.full(150, -1)
    y[::10] = iris.target[::10]
    model = ConstrainedMixture(3, random_state=0).fit(iris.data, y)
    assert adjusted_rand_score(iris.target[::10], model.labels_[::10]) == 1.0
    assert adjusted_rand_score(iris.target, model.labels_) > 0.85


def test_impossible_links():
    known = Constraints(cannot_link=[(0, 1), (1, 2), (0, 2)])
    with pytest.raises(ConstraintError, match="n_clusters=2 is too small"):
        ConstrainedMixture(2).fit(iris.data, constraints=known)
    known += Constraints(must_link=[(0, 1), (3, 140, 0.5)])  # contradicts a cannot-link
    soft = ConstrainedMixture(2, strength=50.0, random_state=0).fit(iris.data, constraints=known)
    assert soft.report_.satisfaction.n_violated == 1
    assert soft.report_.costs.sum() == pytest.approx(50.0)


# -------------------------------------------------------------------- runs, samples, parameters


@pytest.mark.parametrize("kind", KINDS)
def test_samples_come_from_the_mixture(kind):
    model = ConstrainedMixture(3, covariance_type=kind, random_state=0).fit(iris.data)
    X, labels = model.sample(20_000)
    assert X.shape == (20_000, 4)
    for c in range(3):
        part = X[labels == c]
        np.testing.assert_allclose(part.mean(axis=0), model.means_[c], atol=0.06)
        assert len(part) / 20_000 == pytest.approx(model.weights_[c], abs=0.02)
    again = ConstrainedMixture(3, covariance_type=kind, init=model.means_).fit(X)
    assert again.lower_bound_ == pytest.approx(model.score(X), abs=0.02)


def test_rows_far_from_zero_lose_no_digits():
    near = ConstrainedMixture(3, random_state=0).fit(iris.data)
    far = ConstrainedMixture(3, random_state=0).fit(iris.data + 1e6)
    assert near.lower_bound_ == pytest.approx(far.lower_bound_, rel=1e-6)


def test_the_best_of_several_runs_is_kept():
    known = Constraints.from_labels(iris.target, 30, random_state=0)
    ends = {}
    model = ConstrainedMixture(
        3, n_init=4, init="k-means", random_state=0,
        callback=lambda run, iteration, value: ends.update({run: value}),
    ).fit(iris.data, constraints=known)  # fmt: skip
    assert len(ends) == 4
    assert model.objective_ == min(ends.values())
    assert model.objective_path_[-1] == model.objective_


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"covariance_type": "round"}, "expected one of 'full'"),
        ({"sampling": "pairs"}, "expected one of 'chunklets', 'points'"),
        ({"init": "best"}, "expected one of 'auto', 'k-means'"),
        ({"init": np.zeros((2, 2))}, r"init has shape \(2, 2\)"),
        ({"n_clusters": 200}, "n_samples=150 should be >= n_clusters=200"),
    ],
)
def test_wrong_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        ConstrainedMixture(**{"n_clusters": 3, **options}).fit(iris.data)
