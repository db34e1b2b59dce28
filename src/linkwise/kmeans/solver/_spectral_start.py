"""A start from nearest neighbors and links, which may be wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.preprocessing import normalize

from linkwise._types import Floats, Labels, RandomState
from linkwise.geometry import Mahalanobis
from linkwise.geometry._affinity import linked_graph
from linkwise.geometry._eigen import embedded
from linkwise.kmeans.rows._local_rows import LocalRows

from ._assigners import ICM
from ._init_centers import from_kmeans_plusplus, from_seeds
from ._loop import solve
from ._noise import LogOddsPenalty, NoiseModel, rough_unit
from ._problem import Problem, Solution

_STARTS, _ITERATIONS = 8, 100


def from_linked_neighbors(problem: Problem, most: float, rng: RandomState) -> Floats:
    """Centers of clusters that fit both the links and the neighbors of rows.

    Rows are nodes of a graph: neighbors are near, must-linked rows too, cannot-linked ones are not.
    Its leading eigenvectors smooth over single links, so that a wrong one moves the two rows that
    it names and not much else. There log odds find clusters; the result is their centers.

    Parameters
    ----------
    problem : Problem
        With rows in memory.
    most : float
        The largest share of wrong links.
    rng : RandomState
    """
    rows, k = problem.rows, problem.k
    assert isinstance(rows, LocalRows)
    vectors = embedded(linked_graph(rows.X, problem.known, k)[0], k, rng)[1]
    weight = rows.weight if rows.weighted else None
    space = LocalRows(np.ascontiguousarray(normalize(vectors)), weight)
    try:
        labels = _clusters(Problem(space, k, problem.known), most, rng)
    finally:
        space.close()
    return from_seeds(replace(problem, seeds=labels.astype(np.int64)), rng)


def _clusters(problem: Problem, most: float, rng: RandomState) -> Labels:
    """The likeliest of some clusterings, if links are wrong with a probability that is learnt."""
    rows, k = problem.rows, problem.k

    def geometry() -> Mahalanobis:
        return Mahalanobis(k, rows.total(), rows.total_weight)

    model = NoiseModel(most, True, rough_unit(rows, k, geometry()))
    best: Solution | None = None
    for _ in range(_STARTS):
        found = solve(
            problem, geometry(), LogOddsPenalty(problem.links, model), ICM(problem),
            from_kmeans_plusplus(rows, k, rng), max_iter=_ITERATIONS, tol=1e-4, rng=rng,
        )  # fmt: skip
        best = found if best is None or found.objective < best.objective else best
    assert best is not None
    return best.labels
