"""COP-KMeans: hard constraints without dead ends."""

from __future__ import annotations

from typing import Literal

import numpy as np

from linkwise._types import FitCallback, Floats, Init, PathLike, RandomState, Seed
from linkwise._validation import check_choice
from linkwise.constraints import Constraints, color_closure
from linkwise.kmeans.solver._assigners import Assigner, Hard
from linkwise.kmeans.solver._init_centers import (
    from_clustered_neighborhoods,
    from_contracted_rows,
)
from linkwise.kmeans.solver._limits import Outliers, Size
from linkwise.kmeans.solver._penalties import NoPenalty, Penalty
from linkwise.kmeans.solver._problem import Problem
from linkwise.kmeans.solver._relaxation import fewest_violations

from ._base import N_STARTS, BaseKMeans
from ._sizes import LimitsMixin

_AUTO_RUNS = 10  # of one start each
_REPLACED = 6  # runs whose iterations the starts and swaps may take: at most twice the time of ten
_EXACT_REPLACED = 40  # the same, where the optimum is asked for


class COPKMeans(LimitsMixin, BaseKMeans):
    """k-means that satisfies every must-link and cannot-link.

    Must-linked rows move as one weighted point. Cannot-linked groups are assigned greedily, the
    most constrained first, or exactly by integer programming [2]_, so that a feasible problem
    always ends with a solution; an infeasible one is refused with the proof.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    assignment : {"auto", "greedy", "exact"}, default="auto"
        How cannot-linked groups are assigned. "greedy": most constrained first, improved by moves
        and swaps. "exact": the same and, when that no longer improves, the optimum by HiGHS.
        "auto": greedy, with HiGHS only if greedy finds no assignment.
    on_infeasible : {"raise", "relax"}, default="raise"
        What to do if not all constraints can be satisfied: raise a `ConstraintError` with the
        proof, or drop those of the least total weight (listed in `report_`).
    min_size, max_size : int, float or array-like of shape (n_clusters,), default=None
        Limits on the size of clusters: a number of rows, a share of the rows (a fraction up to
        1), or one of these per cluster. Limits and constraints are all kept.
    outliers : int, float, "auto" or None, default=None
        Rows that stay without a cluster (label -1): their number, their share (below 1), or
        "auto" for those far outside of all clusters. They are chosen together with the centers;
        must-linked rows leave only together.
    init : {"auto", "neighborhoods", "k-means++", "random"}, callable or array of shape \
            (n_clusters, n_features), default="auto"
        Initial centers: means of groups of must-linked rows that are far apart (missing centers
        are drawn as in k-means++), k-means++, random rows, or the given centers. "auto" uses, in
        turn, k-means on all rows with each group contracted to its mean, k-means on the means of
        the groups, and k-means++.
    n_init : "auto" or int, default="auto"
        Number of runs; the best is kept and, with init="auto", improved by swaps of centers.
        "auto" is 3 for init="auto" (5 with limits, which exclude swaps), 1 from given centers,
        otherwise 10.
    max_iter : int, default=300
        The most iterations of a run.
    tol : float, default=1e-4
        Stop when the centers move by less than this share of the features' mean variance.
    callback : callable, default=None
        Called as ``callback(run, iteration, objective)`` after every iteration.
    checkpoint : path, default=None
        File in which the state is saved every few iterations. An interrupted fit continues from
        there when it is started again with the same data and parameters, with the same result;
        the file is removed when the fit is complete.
    random_state : int, RandomState instance or None, default=None
        Seed for centers and the order in which constrained rows choose.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row; -1 for outliers.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Centers.
    objective_ : float
        Sum of squared distances to the centers.
    objective_path_ : ndarray of shape (n_iterations,)
        The objective after every iteration; it never rises.
    n_iter_ : int
        Iterations of the best run.
    metrics_ : ndarray of shape (n_features,)
        All ones: distances are Euclidean.
    report_ : Report
        Which constraints are satisfied and violated.

    See Also
    --------
    PCKMeans : May violate a constraint at a cost.
    ConstrainedKMeans : The same for labels.

    References
    ----------
    .. [1] K. Wagstaff, C. Cardie, S. Rogers, S. Schroedl. Constrained k-means clustering with
       background knowledge. ICML 2001.
    .. [2] P. Baumann, D. S. Hochbaum. An algorithm for clustering with confidence-based must-link
       and cannot-link constraints. INFORMS Journal on Computing, 2024.

    Examples
    --------
    >>> from linkwise import Constraints, COPKMeans
    >>> X = [[0.0], [1.0], [2.0], [10.0]]
    >>> known = Constraints(cannot_link=[(0, 1)], must_link=[(2, 3)])
    >>> labels = COPKMeans(n_clusters=2, random_state=0).fit_predict(X, constraints=known)
    >>> bool(labels[0] != labels[1] and labels[2] == labels[3])
    True
    """

    _default_init = "k-means++"
    _takes_groups = True

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        assignment: Literal["auto", "greedy", "exact"] = "auto",
        on_infeasible: Literal["raise", "relax"] = "raise",
        min_size: Size = None,
        max_size: Size = None,
        outliers: Outliers = None,
        init: Init = "auto",
        n_init: int | Literal["auto"] = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        callback: FitCallback | None = None,
        checkpoint: PathLike | None = None,
        random_state: Seed = None,
    ):
        super().__init__(
            n_clusters,
            init=init,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            callback=callback,
            checkpoint=checkpoint,
            random_state=random_state,
        )
        self.min_size = min_size
        self.max_size = max_size
        self.outliers = outliers
        self.assignment = assignment
        self.on_infeasible = on_infeasible

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_limits()
        check_choice("assignment", self.assignment, ("auto", "greedy", "exact"))
        check_choice("on_infeasible", self.on_infeasible, ("raise", "relax"))

    def _prepare(self, problem: Problem) -> Problem:
        known, ids = problem.known, problem.ids
        if problem.seeds is not None and (problem.seeds >= 0).any():
            known = known + Constraints(labels=problem.seeds)
        problem = Problem(problem.rows, problem.k, known, ids=ids)
        closure = problem.closure
        found = color_closure(closure, problem.k)
        if closure.consistent and found.colors is not None:
            return Problem(problem.rows, problem.k, known, example=found.colors, ids=ids)
        if self.on_infeasible == "raise":
            known._by_id(ids).diagnose(problem.k, n_rows=problem.rows.n).raise_if_inconsistent()
        kept, labels = fewest_violations(known, problem.k)
        relaxed = Problem(problem.rows, problem.k, known, enforced=kept)
        first = np.unique(relaxed.closure.component, return_index=True)[1]
        return Problem(
            problem.rows,
            problem.k,
            known,
            enforced=kept,
            example=labels[relaxed.closure.nodes[first]],
            ids=ids,
        )

    def _penalty(self, problem: Problem) -> Penalty:
        return NoPenalty(problem.links)

    def _n_runs(self, problem: Problem) -> int:
        if self.n_init != "auto":
            return int(self.n_init)
        return N_STARTS if self._init_is_auto else _AUTO_RUNS if isinstance(self.init, str) else 1

    def _n_replaced(self, problem: Problem) -> int:
        if not self._init_is_auto:
            return 0
        usual = _EXACT_REPLACED if self.assignment == "exact" and problem.known else _REPLACED
        return max(usual, self._n_runs(problem))

    def _centers(self, problem: Problem, rng: RandomState, run: int) -> Floats:
        """With init="auto": contracted rows, clusters of neighborhoods, and k-means++ in turn."""
        if not self._init_is_auto or run % 3 == 2:
            return super()._centers(problem, rng, run)
        found = from_clustered_neighborhoods(problem, rng) if run % 3 else None
        return from_contracted_rows(problem, rng) if found is None else found

    def _assigner(self, problem: Problem, penalty: Penalty) -> Assigner:
        assert problem.example is not None
        return Hard(problem, self.assignment, problem.example)
