"""What the methods share that may break constraints at a cost."""

from __future__ import annotations

from typing import Any

from linkwise._estimator import MAX_ENTAILED
from linkwise._help import see
from linkwise.constraints import Constraints

from ._base import BaseKMeans
from ._problem import Problem
from ._start import from_clustered_neighbourhoods, from_kmeans_plusplus

FULL_NEEDS_DENSE = (
    'metric="full" needs dense data: a full matrix over sparse features would not fit; use '
    'metric="diagonal", or reduce the dimensions first (TruncatedSVD)'
) + see("methods")
_AUTO_RUNS = 5


class SoftKMeans(BaseKMeans):
    """Base of the methods that may break constraints at a cost."""

    def _n_runs(self, problem: Problem) -> int:
        if self.n_init != "auto":
            return int(self.n_init)
        return _AUTO_RUNS if isinstance(self._init(), str) and problem.known else 1

    def _centers(self, problem: Problem, rng: Any, run: int) -> Any:
        """With init="auto", from clusters of neighbourhoods, or from several kinds of starts."""
        if isinstance(self.init, str) and self.init == "auto":
            has_seeds = problem.seeds is not None and (problem.seeds >= 0).any()
            found = None if has_seeds else from_clustered_neighbourhoods(problem, rng)
            if found is not None:
                return found
            if run > 0:  # too few neighbourhoods may mislead
                return from_kmeans_plusplus(problem.rows, problem.k, rng)
        return super()._centers(problem, rng, run)

    def _prepare(self, problem: Problem) -> Problem:
        """Partial labels become constraints like the others, and entailed links take part."""
        known, seeds = problem.known, problem.seeds
        if seeds is not None and (seeds >= 0).any():
            known = known + Constraints(labels=seeds)
            seeds = seeds if seeds.max() < problem.k else None
        return Problem(problem.rows, problem.k, known, seeds, MAX_ENTAILED)
