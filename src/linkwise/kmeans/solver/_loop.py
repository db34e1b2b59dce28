"""The loop behind every k-means method.

`solve` alternates between assigning rows and updating centers and metrics. The geometry says what
a row costs in a cluster, the penalty what a violated link costs, and the assigner chooses the
clusters of constrained rows. No half step raises the objective.

Objectives and updates come from `Moments` (counts, sums and squares per cluster), which kernels
update as rows move, so that they need no pass over the data. For a metric that all clusters share,
the total scatter is constant and only the part of the centers changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from linkwise._types import Floats, Labels, RandomState
from linkwise.geometry import Geometry, Mahalanobis, Moments

from ._assigners import Assigner
from ._constrained_costs import ConstrainedCosts
from ._penalties import Penalty
from ._problem import Problem, RunState, Solution

ProgressCallback = Callable[[int, float], None]

_HALVINGS = 12  # of a step towards new metrics, before it is given up
_EPS = 1e-15
_EXACT = 1e-10  # largest rounding error of the link costs, as a share of the objective
_CALM = 0.05  # bounds save time once fewer than this share of the rows moves
_BOUNDED_WORK = 1_000_000  # rows x clusters x features from which on they save any


def solve(
    problem: Problem,
    geometry: Geometry,
    penalty: Penalty,
    assign: Assigner,
    centers: Floats,
    *,
    max_iter: int,
    tol: float,
    rng: RandomState,
    progress: ProgressCallback | None = None,
    save_state: Callable[[Callable[[], RunState]], None] | None = None,
    resume: RunState | None = None,
) -> Solution:
    """Cluster from given centers until nothing moves.

    Parameters
    ----------
    problem : Problem
    geometry : Geometry
        Changed in place.
    penalty : Penalty
    assign : Assigner
        For the constrained rows.
    centers : ndarray of shape (k, d)
        Initial centers, relative to `rows.shift`.
    max_iter : int
    tol : float
        Stop when the centers move less than this share of the mean variance (and the objective
        falls by less than this share).
    rng : RandomState
    progress : callable, default=None
        Called as ``progress(iteration, objective)``.
    save_state : callable, default=None
        Called after every iteration but the last with a function that returns the state.
    resume : dict, default=None
        Such a state to continue from; `centers` are ignored then.
    """
    problem.rows.scale(geometry)
    geometry.set_centers(centers)
    run = _Run(problem, geometry, penalty, assign)
    penalty.update_bound(geometry)
    # The variance of outliers says nothing about how far centers move.
    shift_tol = 0.0 if assign.trims else tol * geometry.mean_variance
    converged, moved = False, 1
    if resume is not None:
        run.restore(resume)
    iteration = done = len(run.path)
    for iteration in range(done + 1, max_iter + 1):
        moved = run.assign_rows(rng) + run.moved_at_end
        run.moved_at_end = 0
        moved += run.refill_empty_clusters()
        before = run.record()
        center_shift = run.move_centers()
        after = run.record()
        if geometry.learns:
            after = run.learn_metric(after)
        if not geometry.annealing_done:
            geometry.end_iteration()
            after = run.record()
        if penalty.learns:
            run.learn_penalty()
            after = run.record()
        run.path.append(after)
        if progress is not None:
            progress(iteration, after)
        settled = geometry.annealing_done and (
            not geometry.learns or before - after <= tol * max(abs(after), 1e-300)
        )
        if settled and (moved == 0 or center_shift <= shift_tol):
            if assign.is_exhaustive():
                converged = True
                break
            assign.force_exhaustive()
        if save_state is not None:
            save_state(run.state)
    if max_iter and (moved or geometry.learns):
        if converged:
            assign.force_exhaustive()
        # Labels that fit the final centers and metric.
        run.moved_at_end = run.assign_rows(rng, last=True)
    return run.solution(iteration, converged)


@dataclass
class _Run:
    """The state of one run."""

    problem: Problem
    geometry: Geometry
    penalty: Penalty
    assign: Assigner
    path: list[float] = field(default_factory=list)
    half_steps: list[float] = field(default_factory=list)
    moved_at_end: int = 0  # rows that moved after the last update of centers

    def __post_init__(self) -> None:
        rows, k = self.problem.rows, self.problem.k
        chosen = self.assign.rows
        self.assignments = rows.new_assignments(chosen)
        self.moments = Moments.zeros(k, rows.d, self.geometry.squares_shape)
        self._refills = 2 * k
        self._share = 1.0  # of the proposed step towards new metrics that is tried first
        # Bounds save most of the work once centers and metric change little.
        is_large = rows.n * k * rows.d >= _BOUNDED_WORK
        self._may_bound = self.geometry.bounded and not rows.is_sparse and k > 1 and is_large
        self._bounded = False
        self._assigned_by: RunState = {}  # state of the geometry at the last assignment
        self._refilled: dict[int, int] = {}  # rows moved one by one since then
        self.costs = ConstrainedCosts(rows, self.assign.rows, self.geometry)
        self._link_weight = 0.0  # sum of the costs of all links, violated or not
        self._link_total: float | None = None  # of violated links; None if out of date

    # ---------------------------------------------------------------- saving and resuming

    def state(self) -> RunState:
        """All that is needed to continue from here; see `_checkpoint`."""
        moved = np.array(list(self._refilled.items()), dtype=np.int64).reshape(-1, 2)
        return {
            "geometry": self.geometry.state(), "assigned_by": self._assigned_by,
            "refilled": moved, "chosen_labels": self.assignments.chosen_labels,
            "assign": self.assign.state(), "penalty": self.penalty.state(),
            "path": np.array(self.path), "half_steps": np.array(self.half_steps),
            "refills": self._refills, "share": self._share, "bounded": self._bounded,
            "moved_at_end": self.moved_at_end,
        }  # fmt: skip

    def restore(self, state: RunState) -> None:
        """Continue from a state: assign rows as they were, and recount the moments."""
        rows, unused = self.problem.rows, self.moments.like()
        self._assigned_by = state.get("assigned_by", {})
        if self._assigned_by:
            self.geometry.restore(self._assigned_by)
            rows.scale(self.geometry)
            self.assignments.assign(self.geometry, unused, self.assign.closed, False)
        for row, cluster in state["refilled"].tolist():
            self.assignments.move_one(row, cluster, unused)
            self._refilled[row] = cluster
        self.assignments.set_chosen(state["chosen_labels"], unused)
        self.geometry.restore(state["geometry"])
        rows.scale(self.geometry)
        self.moments = self.assignments.recount(self.moments)
        self._leave_out()
        self.assign.restore(state.get("assign", {}))
        self.penalty.restore(state.get("penalty", {}))
        self.path, self.half_steps = state["path"].tolist(), state["half_steps"].tolist()
        self._refills, self._share = state["refills"], state["share"]
        self._bounded, self._link_total = state["bounded"], None
        self.moved_at_end = state.get("moved_at_end", 0)

    # ---------------------------------------------------------------- rows into clusters

    def assign_rows(self, rng: RandomState, last: bool = False) -> int:
        """The E-step: free rows to their cheapest cluster, constrained ones by the assigner."""
        rows, chosen = self.problem.rows, self.assign.rows
        moved = 0
        if len(chosen) < rows.n:
            self._assigned_by, self._refilled = self.geometry.state(), {}
            moved = self.assignments.assign(
                self.geometry, self.moments, self.assign.closed, self._bounded, last
            )
            self._bounded = self._bounded or (self._may_bound and moved < _CALM * rows.n)
        if len(chosen):
            measure = self.penalty.measure(self.geometry) if self.assign.measures else None
            cost = self.penalty.costs(self.geometry) if measure is None else measure
            new, change = self.assign(self.costs, self.assignments.chosen_labels, cost, rng)
            moved += self.assignments.set_chosen(new, self.moments)
            self._links_changed(change)
            if moved:
                self._leave_out()
        return moved

    def _leave_out(self) -> None:
        """Leave outliers out of the total scatter that distortions are computed from."""
        if self.assign.trims and isinstance(self.geometry, Mahalanobis):
            inside = self.assignments.chosen_labels >= 0
            total = self.problem.rows.total_of(inside, self.geometry.total.ndim == 2)
            self.geometry.total = total

    def _links_changed(self, change: float | None) -> None:
        """Update the cost of violated links by a change, or mark it out of date if None."""
        if change == 0.0:
            return
        if self._link_total is None or change is None:
            self._link_total = None
        elif _EPS * self._link_weight > _EXACT * abs(self.geometry.distortion(self.moments)):
            self._link_total = None  # the rounding error of heavy links would be visible
        else:
            self._link_total += change

    def refill_empty_clusters(self) -> int:
        """Move the free rows farthest from their centers into empty clusters; returns how many."""
        closed, k, refills = self.assign.closed, self.problem.k, self._refills
        for c in np.flatnonzero(self.moments.counts <= 1e-12 * self.problem.rows.total_weight):
            if self._refills == 0 or (closed is not None and closed[c]):
                continue
            sizes = self.assignments.sizes(k)
            if sizes[c]:
                continue
            row, before, _ = self.assignments.farthest(self.geometry, sizes)
            if row < 0:
                continue
            self._refills -= 1
            if self.geometry.per_cluster:  # start from the metric the row had
                metrics = self.geometry.metrics.copy()
                metrics[c] = metrics[before]
                self.geometry.set_metrics(metrics)
                self._link_total = None
            self.assignments.move_one(row, int(c), self.moments)
            self._refilled[row] = int(c)
            self.geometry.set_center(int(c), self.problem.rows.take(np.array([row]))[0])
            self._centers_changed()
        return refills - self._refills

    # ---------------------------------------------------------------- centers and metric

    def move_centers(self) -> float:
        """The first half of the M-step: centers that minimize distortion and penalty.

        Returns the squared distance that they moved.
        """
        moments, penalty = self.moments, self.penalty
        if penalty.depends_on_centers:
            moments = penalty.adjust_moments(moments, self.geometry, self._own_labels())
        self._centers_changed()
        return self.geometry.move_centers(moments)

    def _centers_changed(self) -> None:
        if self.penalty.depends_on_centers:
            self._link_total = None

    def learn_metric(self, before: float) -> float:
        """The second half of the M-step: new metrics, then new farthest pairs.

        Takes the objective and returns the new one.
        Neither may raise the objective: the step towards the proposed metrics is halved until it
        does not (a gradient step may be too long, and a penalty floored at 0 has a kink), and new
        farthest pairs, which change the cost of cannot-links, are rejected if they do.
        """
        geometry, penalty = self.geometry, self.penalty
        old, after = geometry.metrics, before
        slope = geometry.scatter(self.moments, self.assignments)
        slope = slope + penalty.scatter_term(geometry, self._own_labels())
        new = geometry.proposal(slope, geometry.weights(self.moments))
        for halving in range(_HALVINGS + 1):
            share = self._share * 0.5**halving if halving < _HALVINGS else 0.0
            self._set_metrics(new if share == 1.0 else (1 - share) * old + share * new)
            after = self.objective()
            if share == 0.0 or after <= before:
                break
        # Start the next search at this step size, or a larger one if it was accepted at once.
        self._share = min(1.0, 1.25 * share) if halving == 0 else max(share, 0.5**_HALVINGS)
        if penalty.depends_on_metric:
            held, paid = penalty.state(), self._link_total
            if penalty.update_bound(geometry):
                self._link_total = None
                updated = self.objective()
                if updated > before:
                    penalty.restore(held)
                    self._link_total = paid
                else:
                    after = updated
        self.half_steps.append(after)
        return after

    def learn_penalty(self) -> None:
        """The last part of the M-step: the likeliest costs of links, given the labels."""
        self.penalty.learn(self._own_labels())
        self._link_total = None

    def _set_metrics(self, metrics: Floats) -> None:
        rows, geometry = self.problem.rows, self.geometry
        geometry.set_metrics(metrics)
        if geometry.scales_rows:
            rows.scale(geometry)
            self.moments = self.assignments.recount(self.moments)
        self._link_total = None

    # ---------------------------------------------------------------- objective

    def _own_labels(self) -> Labels:
        return self.assignments.labels_of(self.problem.links.rows)

    def link_costs(self) -> Floats:
        """Present cost of each link, then of each apart group: 0 unless it is violated."""
        links = self.problem.links
        each = np.zeros(len(links.ends))
        labels, groups = self._own_labels(), np.zeros(links.n_cliques)
        if len(each) and not self.penalty.is_zero:
            violated = links.violated_links(labels)
            each[violated] = self._paid(violated, labels)
        if len(groups) and not self.penalty.is_zero:
            groups = links.clique_costs(labels, self.problem.k)
        return np.concatenate([each, groups])

    def objective(self) -> float:
        """The present objective."""
        if self._link_total is None:
            self._link_total = self._violations()
        rest = self.geometry.distortion(self.moments) + self.geometry.regularizer()
        return rest + self._link_total + self.penalty.constant()

    def _violations(self) -> float:
        """Total cost of the violated links."""
        if self.penalty.is_zero:
            return 0.0
        links, labels = self.problem.links, self._own_labels()
        self._link_weight = self.penalty.total(self.geometry)
        groups = float(links.clique_costs(labels, self.problem.k).sum())
        return float(self._paid(links.violated_links(labels), labels).sum()) + groups

    def _paid(self, violated: NDArray, labels: Labels) -> Floats:
        """What violated links cost."""
        entries = self.penalty.costs_of(violated, self.geometry)
        return self.problem.links.paid(violated, labels, entries)

    def record(self) -> float:
        """Record the objective after a half step."""
        self.half_steps.append(self.objective())
        return self.half_steps[-1]

    def solution(self, n_iter: int, converged: bool) -> Solution:
        """The result; moments are recounted to remove the rounding errors of many moves."""
        rows = self.problem.rows
        state = self.state()
        self.moments = self.assignments.recount(self.moments)
        link_cost = self.link_costs()
        self._link_total = float(link_cost.sum())
        return Solution(
            state=state,
            assignments=self.assignments,
            centers=self.geometry.centers + rows.shift,
            geometry=self.geometry,
            objective=self.objective(),
            path=self.path,
            half_steps=self.half_steps,
            n_iter=n_iter,
            converged=converged,
            link_cost=link_cost,
            moments=self.moments,
        )
