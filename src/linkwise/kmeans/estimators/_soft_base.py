"""Base of the methods in which violated constraints have a cost."""

from __future__ import annotations

import warnings
from dataclasses import replace

from linkwise._help import see
from linkwise._types import Floats, RandomState
from linkwise._validation import MAX_ENTAILED
from linkwise.constraints import Constraints
from linkwise.kmeans.solver._init_centers import (
    from_clustered_neighborhoods,
    from_contracted_rows,
    from_kmeans_plusplus,
    uncovered,
)
from linkwise.kmeans.solver._problem import Problem

from ._base import BaseKMeans, too_many_labels

FULL_NEEDS_DENSE = (
    'metric="full" needs dense data: a full matrix over sparse features would not fit; use '
    'metric="diagonal", or reduce the dimensions first (TruncatedSVD)'
) + see("methods")
AUTO_RUNS = 5  # half of what scikit-learn ran: starts from components vary less than random ones


class SoftKMeans(BaseKMeans):
    """Base of the methods in which violated constraints have a cost."""

    _max_entailed = MAX_ENTAILED  # entailed links take part up to this number

    def _n_runs(self, problem: Problem) -> int:
        if self.n_init != "auto":
            return int(self.n_init)
        return AUTO_RUNS if isinstance(self._init(), str) and problem.known else 1

    def _is_mixed(self, problem: Problem) -> bool:
        """Whether runs start in different ways: init="auto", and no labels to start from."""
        return self._init_is_auto and (problem.seeds is None or not (problem.seeds >= 0).any())

    def _centers(self, problem: Problem, rng: RandomState, run: int) -> Floats:
        """With init="auto": clusters of neighborhoods and of contracted rows in turn."""
        if not self._is_mixed(problem):
            return super()._centers(problem, rng, run)
        if run % 2:
            return from_contracted_rows(problem, rng)
        found = from_clustered_neighborhoods(problem, rng)
        if found is None and run == 0:
            return super()._centers(problem, rng, run)
        drawn = from_kmeans_plusplus(problem.rows, problem.k, rng)
        # Drawn centers are rows, about twice as far (squared) from other rows as means are: if
        # even they are nearer, the neighborhoods do not cover the data.
        return drawn if found is None or uncovered(problem.rows, found, drawn) else found

    def _prepare(self, problem: Problem) -> Problem:
        """Partial labels become constraints like the others, and entailed links take part."""
        known, seeds = problem.known, problem.seeds
        if seeds is not None and (seeds >= 0).any():
            known = known + Constraints(labels=seeds)
            if (excess := too_many_labels(seeds, problem.k)) is not None:
                warnings.warn(
                    f"{excess}: not all of them can be kept apart, so some cannot-links will be "
                    "violated; raise n_clusters, or merge classes",
                    UserWarning,
                    stacklevel=3,
                )
                seeds = None  # no start from their means
        return replace(problem, known=known, seeds=seeds, max_entailed=self._max_entailed)
