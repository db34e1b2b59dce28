"""ITML against Algorithm 1 of Davis et al. written out, its optimum, and at its limits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from linkwise import ITML, Constraints, PCKMeans, _core
from linkwise.datasets import load


def data(seed: int = 0, n: int = 60, d: int = 3) -> tuple:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return rng.normal(size=(n, d)) + 2 * rng.normal(size=(3, d))[y], y


def algorithm_1(A, pairs, is_must, gamma, bounds, sweeps):
    """Step by step, with matrices; 3.4 as in the authors' code (and metric-learn)."""
    xi = [bounds[0] if must else bounds[1] for must in is_must]
    lam = [0.0] * len(pairs)
    for _ in range(sweeps):
        for c, (a, b) in enumerate(pairs):
            delta = 1 if is_must[c] else -1
            v = (a - b)[:, None]
            p = (v.T @ A @ v).item()
            alpha = min(lam[c], delta * gamma[c] / (gamma[c] + 1) * (1 / p - 1 / xi[c]))
            beta = delta * alpha / (1 - delta * alpha * p)
            xi[c] = gamma[c] * xi[c] / (gamma[c] + delta * alpha * xi[c])
            lam[c] = lam[c] - alpha
            A = A + beta * A @ v @ v.T @ A
    return A, np.array(xi), np.array(lam)


def test_a_sweep_is_the_algorithm():
    X, y = data()
    rng = np.random.default_rng(1)
    ends = rng.choice(60, size=(25, 2))
    ends = ends[ends[:, 0] != ends[:, 1]]
    is_must = y[ends[:, 0]] == y[ends[:, 1]]
    gamma = rng.uniform(0.1, 5, len(ends))
    wanted = algorithm_1(np.eye(3), list(X[ends]), is_must, gamma, (1.0, 9.0), 4)
    A, slack, dual = np.eye(3), np.where(is_must, 1.0, 9.0), np.zeros(len(ends))
    for _ in range(4):
        _core.itml_sweep(A, X[ends[:, 0]] - X[ends[:, 1]], is_must, gamma, slack, dual)
    for found, expected in zip((A, slack, dual), wanted, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def objective(A, V, is_must, gamma, bounds):
    """Problem (10), slacks put where they cost least: at the bound, or at the distance beyond."""
    sign, logdet = np.linalg.slogdet(A)
    if sign <= 0:
        return np.inf
    far = np.einsum("ij,jk,ik->i", V, A, V)
    xi0 = np.where(is_must, *bounds)
    ratio = np.where(is_must, np.maximum(far, xi0), np.minimum(far, xi0)) / xi0
    return np.trace(A) - logdet + (gamma * (ratio - np.log(ratio))).sum()


def test_it_finds_the_optimum():
    X, y = data(n=30, d=2)
    known = Constraints.from_labels(y, 12, random_state=0)
    known = known + Constraints(must_link=[(0, 3, 2.5)])
    model = ITML(0.7, tol=1e-10, max_iter=20_000, random_state=0).fit(X, constraints=known)
    ends = np.concatenate([known.must_link, known.cannot_link]).astype(int)
    is_must = np.arange(len(ends)) < known.n_must_link
    weight = np.concatenate([known.must_link_weight, known.cannot_link_weight])
    told = (X[ends[:, 0]] - X[ends[:, 1]], is_must, 0.7 * weight, model.bounds_)

    def of_root(root):
        L = np.array([[root[0], 0], [root[1], root[2]]])
        return objective(L @ L.T, *told)

    best = min(
        (optimize.minimize(of_root, start, method="Nelder-Mead", options={"maxiter": 4000})
         for start in ([1, 0, 1], [2, 0.5, 0.5])), key=lambda found: found.fun,
    )  # fmt: skip
    assert objective(model.metric_, *told) <= best.fun + 1e-4 * abs(best.fun)


def test_distances_are_those_of_the_metric():
    X, y = data()
    model = ITML(random_state=0).fit(X, constraints=Constraints.from_labels(y, 30, random_state=0))
    Z = model.transform(X)
    away = X[0] - X[1]
    np.testing.assert_allclose(((Z[0] - Z[1]) ** 2).sum(), away @ model.metric_ @ away)
    assert model.n_iter_ == len(model.changes_)
    assert model.changes_[-1] <= model.tol


def test_little_gamma_stays_at_euclidean_distance():
    X, y = data()
    known = Constraints.from_labels(y, 30, random_state=0)
    A = ITML(1e-9, random_state=0).fit(X, constraints=known).metric_
    np.testing.assert_allclose(A, np.eye(3), atol=1e-4)


def test_weights_are_what_links_count():
    X, y = data()
    known = Constraints.from_labels(y, 30, random_state=0)
    links = [(*pair, 0.01) for pair in known.must_link.tolist()]
    light = Constraints(must_link=links, cannot_link=known.cannot_link)
    none = Constraints(cannot_link=known.cannot_link)
    full, less, without = (
        ITML(random_state=0).fit(X, constraints=told).metric_ for told in (known, light, none)
    )
    assert np.abs(less - without).max() < 0.3 * np.abs(full - without).max()


def test_breast_cancer():
    cancer = load("wdbc")
    X = StandardScaler().fit_transform(cancer.data)
    known = Constraints.from_labels(cancer.target, 100, random_state=0)
    Z = ITML(random_state=0).fit_transform(X, constraints=known)
    labels = KMeans(2, n_init=5, random_state=0).fit_predict(Z)
    assert adjusted_rand_score(cancer.target, labels) > 0.7


def test_labels_and_pipelines():
    X, y = data()
    partial = np.where(np.arange(60) < 12, y, -1)
    a = ITML(random_state=0).fit(X, partial).metric_
    b = ITML(random_state=0).fit(X, constraints=Constraints(labels=partial)).metric_
    np.testing.assert_allclose(a, b)
    pipe = make_pipeline(ITML(random_state=0), PCKMeans(3, random_state=0))
    known = Constraints.from_labels(y, 30, random_state=0)
    pipe.fit(X, itml__constraints=known, pckmeans__constraints=known)
    assert pipe[-1].report_.satisfaction.share > 0.9


def test_coinciding_rows_change_nothing():
    X, y = data()
    X[1] = X[0]
    known = Constraints.from_labels(y, 30, random_state=0)
    more = known + Constraints(cannot_link=[(0, 1)])
    A, B = (ITML(random_state=0).fit(X, constraints=told).metric_ for told in (known, more))
    np.testing.assert_allclose(A, B, rtol=0.05)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gamma": 0}, "gamma=0 must be at least"),
        ({"max_iter": 0}, "max_iter=0 must be at least 1"),
    ],
)
def test_wrong_parameters(options, message):
    X, y = data()
    with pytest.raises(ValueError, match=message):
        ITML(**options).fit(X, y)


def test_wrong_input():
    with pytest.raises(ValueError, match="needs must-links or cannot-links"):
        ITML().fit(data()[0])
    with pytest.raises(ValueError, match="all rows of X are the same"):
        ITML().fit(np.ones((4, 2)), [0, 0, 1, 1])
    with pytest.warns(ConvergenceWarning, match="did not converge in max_iter=1 passes"):
        ITML(max_iter=1).fit(*data())


def test_all_rows_but_one_may_be_equal():
    X = np.zeros((5000, 2))
    X[17] = 1.0  # a sample of pairs hardly ever has this row
    known = Constraints(must_link=[(0, 1)], cannot_link=[(0, 17)])
    model = ITML(random_state=0).fit(X, constraints=known)
    assert model.bounds_ == (2.0, 2.0)
    assert np.isfinite(model.metric_).all()
