"""Three eigenproblems, one answer."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from linkwise import Constraints
from linkwise.ensemble._loss import PairLoss
from linkwise.ensemble._projection import Centered, Directions


def problem(m: int, d: int, seed: int, *, repeated: bool = False) -> tuple:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, d))
    if repeated:
        X[: m // 2] = X[m // 2 : 2 * (m // 2)]
    mean = rng.normal(size=d)
    y = rng.integers(0, 3, m)
    known = Constraints.from_labels(y, 2 * m, "balanced", random_state=seed)
    loss = PairLoss(known)
    return Centered(X[loss.rows], mean), loss.tension()


@pytest.mark.parametrize("repeated", [False, True])
@pytest.mark.parametrize(("m", "d"), [(12, 40), (40, 12), (25, 25)])
@pytest.mark.parametrize("how", ["rows", "lanczos"])
def test_every_way_gives_the_same_directions(m, d, how, repeated):
    for seed in range(3):
        rows, T = problem(m, d, seed, repeated=repeated)
        wanted = Directions(rows, "direct").top(T, 3)
        found = Directions(rows, how).top(T, 3)
        np.testing.assert_allclose(found @ found.T, wanted @ wanted.T, atol=1e-8)
        M = rows.dense().T @ T.toarray() @ rows.dense()
        np.testing.assert_allclose(M @ found, found * (found**2).sum(axis=0), atol=1e-7)


def test_only_positive_eigenvalues_enter():
    rows, T = problem(20, 6, 0)
    P = Directions(rows).top(T, 6)
    values = np.linalg.eigvalsh(rows.dense().T @ T.toarray() @ rows.dense())
    assert P.shape[1] == (values > 0).sum() < 6
    np.testing.assert_allclose((P**2).sum(axis=0), values[::-1][: P.shape[1]])


@pytest.mark.parametrize("how", ["direct", "rows", "lanczos"])
@pytest.mark.parametrize("s", [1, 2])
def test_rounding_noise_is_no_direction(how, s):
    # Cannot-links between equal rows: X' T X = -sum x x' has no positive eigenvalue, and its
    # largest ones are zero up to rounding.
    T = PairLoss(Constraints(cannot_link=[(0, 1), (2, 3), (4, 5), (6, 7)])).tension()
    for seed in range(10):
        X = np.random.default_rng(seed).normal(size=(4, 12)).repeat(2, axis=0)
        assert Directions(Centered(X, np.zeros(12)), how).top(T, s).shape == (12, 0)


def test_the_small_problem_is_chosen():
    assert Directions(problem(10, 30, 0)[0]).how == "rows"
    assert Directions(problem(40, 10, 0)[0]).how == "direct"


def test_sparse_rows_relative_to_a_mean():
    rng = np.random.default_rng(0)
    X = sparse.random(8, 30, 0.3, format="csr", random_state=0)
    mean, V, C = rng.normal(size=30), rng.normal(size=(30, 2)), rng.normal(size=(8, 2))
    thin, full = Centered(X, mean), Centered(X.toarray(), mean)
    np.testing.assert_allclose(thin.times(V), full.times(V))
    np.testing.assert_allclose(thin.back(C), full.dense().T @ C)
    np.testing.assert_allclose(thin.gram(), full.gram(), atol=1e-12)
    np.testing.assert_allclose(thin.dense(), full.dense())
