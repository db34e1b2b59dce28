"""A penalty that takes part in the center update, as CVQE's or a size limit's would."""

import numpy as np
import pytest

from linkwise import Constraints
from linkwise.geometry import Mahalanobis, Moments
from linkwise.kmeans.rows._local_rows import LocalRows
from linkwise.kmeans.solver._assigners import ICM
from linkwise.kmeans.solver._loop import solve
from linkwise.kmeans.solver._penalties import Penalty, WeightPenalty
from linkwise.kmeans.solver._problem import Problem


class CenterPenalty(Penalty):
    """A violated link costs its weight times the distances of its ends to the centers involved.

    The cost of a must-link between clusters a and b is the mean over a and b of
    w (|x_i - mu_c|^2 + |x_j - mu_c|^2); a cannot-link inside c costs a constant.
    """

    depends_on_centers = True

    def __init__(self, problem):
        self.links, self.rows, self.n_calls = problem.links, problem.rows, 0

    def costs(self, geometry):
        links = self.links
        ends = self.rows.take(links.rows)[links.ends]  # (m, 2, d)
        away = ((ends[:, :, None] - geometry.centers) ** 2).sum(axis=(1, 3))  # (m, k)
        return links.weight[:, None] * np.where(links.is_must[:, None], away, 1.0)

    def adjust_moments(self, moments, geometry, labels):
        self.n_calls += 1
        links = self.links
        found = Moments(*(part.copy() for part in moments))
        X = self.rows.take(links.rows)
        for e in np.flatnonzero(links.violated(labels) & links.is_must):
            i, j = links.ends[e]
            for c in (labels[i], labels[j]):
                found.counts[c] += links.weight[e]
                found.sums[c] += 0.5 * links.weight[e] * (X[i] + X[j])
        return found


def fit(penalty, X, known, k, seed):
    problem = Problem(LocalRows(X), k, known)
    made = penalty(problem)
    rng = np.random.RandomState(seed)
    centers = X[rng.choice(len(X), k, replace=False)] - problem.rows.shift
    geometry = Mahalanobis(k, problem.rows.total(), float(len(X)))
    options = {"max_iter": 50, "tol": 0.0, "rng": rng}
    return solve(problem, geometry, made, ICM(problem), centers, **options), made


@pytest.mark.parametrize("seed", range(8))
def test_the_penalty_moves_centers_and_the_objective_never_rises(seed):
    rng = np.random.RandomState(seed)
    X = rng.randn(80, 3)
    known = Constraints(
        must_link=[(*rng.choice(80, 2, replace=False), rng.rand()) for _ in range(30)],
        cannot_link=[(*rng.choice(80, 2, replace=False), rng.rand()) for _ in range(10)],
    )
    found, penalty = fit(CenterPenalty, X, known, 4, seed)
    assert penalty.n_calls == found.n_iter
    steps = np.array(found.half_steps)
    assert (np.diff(steps) <= 1e-9 * np.abs(steps[:-1])).all()
    labels = found.labels
    plain = np.array([X[labels == c].mean(axis=0) for c in range(4) if (labels == c).any()])
    if known.satisfied(labels).n_violated:
        assert len(plain) < 4 or not np.allclose(plain, found.centers)


def test_other_penalties_leave_the_means_alone():
    X = np.random.RandomState(0).randn(50, 2)
    known = Constraints(cannot_link=[(0, 1)])
    found, _ = fit(lambda problem: WeightPenalty(problem.links), X, known, 3, 0)
    means = [X[found.labels == c].mean(axis=0) for c in range(3)]
    np.testing.assert_allclose(found.centers, means)
