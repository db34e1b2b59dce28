"""COP-KMeans: hard constraints without dead ends."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from linkwise._types import FitCallback, Init, PathLike, Seed
from linkwise._validation import check_choice
from linkwise.constraints import Constraints, color_closure
from linkwise.kmeans.solver._hard import Hard, fewest_violations
from linkwise.kmeans.solver._limits import Outliers, Size, check_limits
from linkwise.kmeans.solver._outliers import limited, read_limits
from linkwise.kmeans.solver._penalties import NoPenalty
from linkwise.kmeans.solver._problem import Problem
from linkwise.kmeans.solver._runs import Preset
from linkwise.kmeans.solver._starts import SOFT_RUNS, chosen_start, hard_start

from ._base import BaseKMeans
from ._parts import N_STARTS, count_runs, euclidean

# Runs whose iterations the starts and swaps may take (benchmarks/RESULTS.md, "Default starts"), and
# where the optimum of every assignment is asked for (papers/beyond/README.md).
_REPLACED, _EXACT_REPLACED = 6, 40


class COPKMeans(BaseKMeans):
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
        File in which centers and metric are saved after every iteration. An interrupted fit
        continues from there when it is started again with the same data and parameters; the file
        is removed when the fit is complete.
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
        check_limits(self.min_size, self.max_size, self.outliers, self.n_clusters)
        check_choice("assignment", self.assignment, ("auto", "greedy", "exact"))
        check_choice("on_infeasible", self.on_infeasible, ("raise", "relax"))

    def _preset(self, problem: Problem) -> Preset:
        problem = self._feasible(problem)
        example = problem.example
        assert example is not None
        limits = read_limits(self.min_size, self.max_size, self.outliers, problem.rows, problem.k)
        n_runs, n_replaced = self._effort(problem)
        preset = Preset(
            problem,
            geometry=lambda: euclidean(problem),
            penalty=lambda: NoPenalty(problem.links),
            assigner=lambda: Hard(problem, self.assignment, example),
            start=chosen_start(self.init, problem, hard_start(problem)),
            n_runs=n_runs,
            n_replaced=n_replaced,
        )
        return limited(preset, limits, self.init, self.n_init)

    def _effort(self, problem: Problem) -> tuple[int, int]:
        """How many runs there are, and how many runs swaps replace."""
        if not isinstance(self.init, str):
            return count_runs(self.n_init, 1), 0
        if self.init != "auto":
            return count_runs(self.n_init, 2 * SOFT_RUNS), 0
        n_runs, exact = count_runs(self.n_init, N_STARTS), self.assignment == "exact"
        return n_runs, max(_EXACT_REPLACED if exact and problem.known else _REPLACED, n_runs)

    def _feasible(self, problem: Problem) -> Problem:
        """The problem with a labeling that satisfies all constraints that are enforced."""
        known, ids = problem.known, problem.ids
        if problem.has_seeds:
            assert problem.seeds is not None
            known = known + Constraints(labels=problem.seeds)
        problem = Problem(problem.rows, problem.k, known, ids=ids)
        found = color_closure(problem.closure, problem.k)
        if problem.closure.consistent and found.colors is not None:
            return replace(problem, example=found.colors)
        if self.on_infeasible == "raise":
            known._by_id(ids).diagnose(problem.k, n_rows=problem.rows.n).raise_if_inconsistent()
        kept, labels = fewest_violations(known, problem.k)
        relaxed = replace(problem, enforced=kept)
        first = np.unique(relaxed.closure.component, return_index=True)[1]
        return replace(relaxed, example=labels[relaxed.closure.nodes[first]])
