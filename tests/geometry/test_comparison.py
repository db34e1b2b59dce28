"""The metric from comparisons: against a general solver, and its duality gap."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, minimize
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline

from linkwise import ComparisonMetric, Constraints, ReCon
from linkwise.geometry._comparison import comparisons, solve


def objective(w: np.ndarray, gains: np.ndarray, cost: np.ndarray) -> float:
    return float(w @ w / 2 + cost @ np.maximum(0, 1 - gains @ w))


@pytest.mark.parametrize("seed", range(6))
def test_the_least_objective_is_found(seed):
    rng = np.random.default_rng(seed)
    gains = rng.normal(0.3, 1, size=(25, 4))
    cost = rng.uniform(0.1, 2, 25)
    found = solve(gains, cost, tol=1e-9)
    assert found.gap <= 1e-9 * found.objective
    m, d = gains.shape
    reference = minimize(
        lambda z: z[:d] @ z[:d] / 2 + cost @ z[d:],
        np.append(np.ones(d), np.ones(m)),
        jac=lambda z: np.append(z[:d], cost),
        method="trust-constr",
        bounds=Bounds(0, np.inf),
        constraints=LinearConstraint(np.hstack([gains, np.eye(m)]), 1, np.inf),
        options={"gtol": 1e-9, "xtol": 1e-12, "maxiter": 3000},
    )
    assert found.objective <= objective(np.maximum(reference.x[:d], 0), gains, cost) + 1e-6
    np.testing.assert_allclose(found.weights, reference.x[:d], atol=1e-3)


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_raw_units_are_no_trouble(load):
    # Wine's features differ by three orders of magnitude: a quasi-Newton solver fails here.
    X, y = load(return_X_y=True)
    known = Constraints.from_labels(y, 300, "triplets", random_state=0)
    model = ComparisonMetric().fit(X, constraints=known)
    assert model.n_comparisons_ == 600
    assert model.duality_gap_ <= 1e-4
    assert (model.weights_ >= 0).all()
    assert model.share_met_ > 0.8


def test_weights_of_constraints_count():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    heavy = Constraints(relative=[(0, 1, 2, 10.0), (0, 2, 1, 0.1)])
    weights = ComparisonMetric().fit(X, constraints=heavy).weights_
    assert weights[0] > weights[1]


def test_pairs_become_comparisons():
    known = Constraints(must_link=[(0, 1), (1, 2)], cannot_link=[(2, 5)], relative=[(7, 8, 9)])
    triples, weight = comparisons(known, 1000, np.random.RandomState(0))
    assert weight.tolist() == [1.0] * 8
    assert triples[:2].tolist() == [[7, 8, 9], [8, 7, 9]]
    assert sorted(map(tuple, triples[2:].tolist())) == [
        (i, j, 5) for i in range(3) for j in range(3) if i != j
    ]
    y = np.arange(60) % 3
    few = comparisons(Constraints(labels=y), 50, np.random.RandomState(0))[0]
    assert len(np.unique(few, axis=0)) == 50
    assert (y[few[:, 0]] == y[few[:, 1]]).all()
    assert (y[few[:, 0]] != y[few[:, 2]]).all()


def test_the_useful_feature_is_found_and_methods_work_on_top():
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = np.column_stack([3.0 * y + rng.normal(0, 0.3, 90), rng.normal(0, 10, (90, 3))])
    known = Constraints.from_labels(y, 200, "triplets", random_state=0)
    metric = ComparisonMetric().fit(X, constraints=known)
    assert metric.weights_[0] > 20 * metric.weights_[1:].max()
    Z = metric.transform(X)
    np.testing.assert_allclose(Z, X * np.sqrt(metric.weights_))
    for clusterer in (KMeans(3, n_init=5, random_state=0), ReCon(3, min_branch=0.2)):
        labels = clusterer.fit_predict(Z)
        assert len(set(zip(labels, y, strict=True))) == 3
    pipe = make_pipeline(ComparisonMetric(), KMeans(3, n_init=2, random_state=0))
    pipe.fit(X, comparisonmetric__constraints=known)
    by_label = ComparisonMetric(random_state=0).fit(X, y)
    assert by_label.weights_.argmax() == 0


def test_nothing_to_learn_from_and_nothing_learnt():
    X = np.random.default_rng(0).normal(size=(10, 2))
    assert ComparisonMetric().fit(X).weights_.tolist() == [1.0, 1.0]
    hopeless = Constraints(relative=[(0, 1, 2)])
    far = np.array([[0.0], [9.0], [1.0]])
    with pytest.warns(UserWarning, match="all weights are 0"):
        ComparisonMetric().fit(far, constraints=hopeless)
    known = Constraints.from_labels(np.arange(10) % 2, 10, "triplets", random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_iter=1 steps"):
        ComparisonMetric(max_iter=1).fit(X, constraints=known)
    with pytest.raises(ValueError, match="C=-1 must be at least 0"):
        ComparisonMetric(C=-1).fit(X)


def test_the_metric_filters_wrong_triplets():
    X, y = load_iris(return_X_y=True)
    known = Constraints.from_labels(y, 200, "triplets", random_state=0)
    noisy = known.flip(0.2, random_state=0)
    met = ComparisonMetric().fit(X, constraints=noisy).met_
    assert (met - known).n_constraints < 0.05 * met.n_constraints
    assert (met - (noisy - known)).n_constraints > 0.8 * 160
    named = Constraints(relative=[("a", "b", "c")])
    found = ComparisonMetric().fit([[0.0], [1.0], [5.0]], constraints=named, sample_ids=list("abc"))
    assert found.met_ == named
