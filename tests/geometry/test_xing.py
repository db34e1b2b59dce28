"""Xing et al.'s metric against its objective written out and a generic optimizer."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

from linkwise import Constraints, XingMetric


def data(seed=0, n=60, d=3):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = rng.normal(size=(n, d)) + 2 * rng.normal(size=(3, d))[y]
    return X, y, Constraints.from_labels(y, 40, random_state=seed)


def objective(A, X, known, prior):
    """The formula of the docstring, pair by pair."""
    centered = X - X.mean(axis=0)
    value = prior * 2 * np.trace(A @ centered.T @ centered) / len(X)
    for (i, j), w in zip(known.must_link, known.must_link_weight, strict=True):
        value += w * (X[i] - X[j]) @ A @ (X[i] - X[j])
    distance = 0.0
    for (i, j), w in zip(known.cannot_link, known.cannot_link_weight, strict=True):
        distance += w * np.sqrt(max((X[i] - X[j]) @ A @ (X[i] - X[j]), 1e-300))
    return value - np.log(distance)


@pytest.mark.parametrize("prior", [0.0, 1.0])
def test_full_metric_has_the_least_objective(prior):
    X, _, known = data()
    model = XingMetric("full", prior=prior, tol=1e-10).fit(X, constraints=known)
    assert objective(model.metric_, X, known, prior) == pytest.approx(model.objective_)

    def of_root(root):
        L = root.reshape(3, 3)
        return objective(L @ L.T, X, known, prior)

    best = min(
        optimize.minimize(of_root, np.random.default_rng(s).normal(size=9)).fun for s in range(3)
    )
    assert model.objective_ <= best + 1e-5
    np.testing.assert_allclose(model.components_ @ model.components_, model.metric_, atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_diagonal_metric_has_the_least_objective(seed):
    X, _, known = data(seed)
    model = XingMetric(tol=1e-12).fit(X, constraints=known)
    assert objective(model.metric_, X, known, 1.0) == pytest.approx(model.objective_)
    best = optimize.minimize(
        lambda a: objective(np.diag(a**2), X, known, 1.0), np.ones(3), method="Nelder-Mead",
        options={"xatol": 1e-8, "fatol": 1e-10, "maxiter": 5000},
    ).fun  # fmt: skip
    assert model.objective_ <= best + 1e-6
    full = XingMetric("full").fit(X, constraints=known)
    assert full.objective_ <= model.objective_ + 1e-5


@pytest.mark.parametrize("kind", ["diagonal", "full"])
def test_units_of_features_do_not_matter(kind):
    X, _, known = data()
    X = np.column_stack([X, np.full(len(X), 7.0)])  # and a constant column has no influence
    a = XingMetric(kind, tol=1e-10).fit(X, constraints=known)
    b = XingMetric(kind, tol=1e-10).fit(X * [1, 1000, 0.01, 3], constraints=known)
    assert a.objective_ == pytest.approx(b.objective_, abs=1e-6)
    np.testing.assert_allclose(a.metric_[3], 0, atol=1e-12)


def test_must_links_alone_are_refused():
    X, _, _ = data()
    with pytest.raises(ValueError, match="RCA learns from must-links alone"):
        XingMetric().fit(X, constraints=Constraints(must_link=[(0, 3)]))
