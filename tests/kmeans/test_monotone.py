"""The objective never rises: neither at a half step nor from one iteration to the next."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from linkwise import Constraints
from tests.strategies import clusterings

from .cases import METHODS, watched


def rises(spy, X) -> float:
    """The largest rise at any half step of any run, in terms of the size of the problem."""
    total = float(((X - X.mean(axis=0)) ** 2).sum())
    worst = 0.0
    for found in spy.solutions:
        steps = np.array([*found.half_steps, found.objective])
        assert np.isfinite(steps).all()
        if len(steps) > 1:
            size = total + np.abs(steps).max()
            worst = max(worst, float(np.diff(steps).max() / max(size, 1e-300)))
    return worst


def made(method: str, k: int, **options):
    if method.startswith("cop"):
        options["on_infeasible"] = "relax"
    return METHODS[method](n_clusters=k, **options)


def noisy(y: np.ndarray, seed: int) -> Constraints:
    """Drawn from labels, weighted, and a fifth of them wrong."""
    rng = np.random.default_rng(seed)
    known = Constraints.from_labels(y, 60, random_state=seed).flip(0.2, random_state=seed)
    heavy = rng.choice([0.1, 1.0, 10.0], size=60)
    must = np.column_stack([known.must_link, heavy[: known.n_must_link]])
    cannot = np.column_stack([known.cannot_link, heavy[: known.n_cannot_link]])
    return Constraints(
        must_link=[(int(i), int(j), w) for i, j, w in must],
        cannot_link=[(int(i), int(j), w) for i, j, w in cannot],
    )


@pytest.mark.parametrize("standardized", [False, True], ids=["raw", "standardized"])
@pytest.mark.parametrize("load", [load_iris, load_wine])
@pytest.mark.parametrize("method", METHODS)
def test_on_real_data(method, load, standardized):
    X, y = load(return_X_y=True)
    if standardized:
        X = StandardScaler().fit_transform(X)
    for seed in range(2):
        model = made(method, 3, random_state=seed, n_init=3)
        spy = watched(model, X, constraints=noisy(y, seed))
        assert rises(spy, X) <= 1e-9
        assert np.diff(model.objective_path_).max(initial=0) <= 1e-9 * abs(model.objective_path_[0])


@pytest.mark.parametrize("method", METHODS)
@given(problem=clusterings())
@settings(max_examples=25)
def test_on_any_problem(method, problem):
    X, k, known = problem
    if method == "preidentified":
        assume(len(X) - known.closure().sizes.max(initial=0) >= k - 1)
    spy = watched(made(method, k, random_state=0, n_init=2), X, constraints=known)
    assert rises(spy, X) <= 1e-9


@pytest.mark.parametrize("method", ["pck", "pck-distance", "mpck", "mpck-full-per-cluster"])
@given(problem=clusterings())
@settings(max_examples=15)
def test_with_row_weights(method, problem):
    X, k, known = problem
    weight = np.random.default_rng(0).choice([0.0, 0.3, 1.0, 5.0], size=len(X))
    weight[:k] = 1.0
    model = made(method, k, random_state=0)
    spy = watched(model, X, constraints=known, sample_weight=weight)
    assert rises(spy, X) <= 1e-9


@pytest.mark.parametrize("method", ["pck", "pck-distance", "mpck", "mpck-per-cluster", "mpck-full"])
def test_contradictory_components(method):
    # Must-links hold 0-1-2-3 together, cannot-links inside pull them apart.
    X = np.random.default_rng(0).normal(size=(20, 2))
    known = Constraints(
        must_link=[(0, 1, 0.5), (1, 2, 0.5), (2, 3, 0.5)],
        cannot_link=[(0, 3, 2.0), (1, 3, 2.0), (0, 2, 1.0)],
    )
    for seed in range(5):
        # Swaps of centers, which only init="auto" has, end before they converge.
        model = made(method, 3, init="k-means++", n_init=3, random_state=seed)
        spy = watched(model, X, constraints=known)
        assert rises(spy, X) <= 1e-9
        assert all(found.converged for found in spy.solutions)


@pytest.mark.parametrize("method", METHODS)
def test_callback_sees_the_path(method):
    X, _ = load_iris(return_X_y=True)
    seen = []
    model = METHODS[method](
        n_clusters=3,
        init="k-means++",
        n_init=1,
        random_state=0,
        callback=lambda *step: seen.append(step),
    ).fit(X)
    assert [step[:2] for step in seen] == [(0, i + 1) for i in range(model.n_iter_)]
    assert [step[2] for step in seen] == model.objective_path_.tolist()
    assert model.objective_ <= model.objective_path_[-1] + 1e-9 * abs(model.objective_)
