"""The loop behind every k-means method.

`Run.advance` alternates between assigning rows and updating centers and metrics. The geometry gives
the cost of a row in a cluster, the penalty the cost of a violated link; the assigner chooses the
clusters of constrained rows. No half step raises the objective.

Objectives and updates come from `Moments` (counts, sums and squares per cluster), which kernels
update as rows move, so that they need no pass over the data. For a metric that all clusters share,
the total scatter is constant and only the part of the centers changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from linkwise._types import Floats, Labels, RandomState
from linkwise.geometry import Geometry, Mahalanobis, Moments
from linkwise.kmeans.rows._protocols import Assignments

from ._assigners import Assigner, ConstrainedCosts
from ._penalties import Penalty
from ._problem import Problem, RunState

Progress = Callable[[int, float], None]  # called with the iteration and the objective

# A step that is still too long after 12 halvings (1 / 4096) is given up: the metric stays.
_HALVINGS = 12
# Links this many times as heavy as all rows cost: 1e-15 of them, the rounding error of their sum,
# would be more than `ROUNDING` of the rows.
_HEAVY = 1e5
# Hamerly's bounds cost a pass over the rows: they save time once few rows move.
_CALM = 0.05  # share of rows that move


@dataclass
class Solution:
    """The result of a run."""

    assignments: Assignments
    centers: Floats
    geometry: Geometry
    objective: float
    path: list[float]
    half_steps: list[float]
    n_iter: int
    converged: bool
    link_cost: Floats
    moments: Moments
    state: RunState  # to start from again

    @property
    def labels(self) -> Labels:
        """Cluster of each row."""
        return self.assignments.labels()

    def times(self, unit: float) -> Solution:
        """The same solution of rows whose weights are this many times as large, links likewise."""
        if unit == 1.0:
            return self
        return replace(
            self,
            objective=unit * self.objective,
            path=[unit * value for value in self.path],
            half_steps=[unit * value for value in self.half_steps],
            link_cost=unit * self.link_cost,
            moments=Moments(*(unit * part for part in self.moments)),
        )


class Run:
    """One run of the loop, from initial centers or from the state of another run.

    Parameters
    ----------
    problem : Problem
    geometry : Geometry
        Changed in place.
    penalty : Penalty
    assign : Assigner
        For the constrained rows.
    start : ndarray of shape (k, d), or RunState
        Initial centers, relative to `rows.shift`; or a state, as in `Solution.state`.
    tol : float
        Stop when the centers move less than this share of the mean variance (and the objective
        falls by less than this share).
    rng : RandomState
    """

    def __init__(
        self, problem: Problem, geometry: Geometry, penalty: Penalty, assign: Assigner,
        start: Floats | RunState, *, tol: float, rng: RandomState,
    ):  # fmt: skip
        rows, k = problem.rows, problem.k
        self.problem, self.geometry, self.penalty, self.assign = problem, geometry, penalty, assign
        self.tol, self.rng = tol, rng
        self.path: list[float] = []
        self.half_steps: list[float] = []
        state: RunState = {}
        if isinstance(start, dict):
            state = start
            geometry.restore(state["geometry"])
        rows.scale(geometry)
        geometry.set_centers(geometry.centers if isinstance(start, dict) else start)
        # The mean variance includes outliers, which may be far beyond all moves of centers.
        self._shift_tol = 0.0 if assign.trims else tol * geometry.mean_variance
        self.assignments = rows.new_assignments(assign.rows)
        self.moments = Moments.zeros(k, rows.d, geometry.squares_shape)
        self._moved_at_end = 0  # rows that moved after the last update of centers
        self._refills = 2 * k
        self._share = 1.0  # of the proposed step towards new metrics that is tried first
        self._may_bound = geometry.bounded and not rows.is_sparse and k > 1
        self._bounded = False
        self._costs = ConstrainedCosts(rows, assign.rows, geometry)
        self._link_weight = 0.0  # sum of the costs of all links, violated or not
        self._link_total: float | None = None  # of violated links; None if out of date
        penalty.update_bound(geometry)
        if "chosen" in state:
            self.assignments.set_chosen(state["chosen"], self.moments)
            self.path = [float(objective) for objective in state["path"]]
            self._share = float(state["share"])
            self._leave_out()
            if penalty.learns:
                self._learn_penalty()

    @property
    def state(self) -> RunState:
        """From this a run continues: the clusters of free rows follow from the geometry."""
        return {
            "geometry": self.geometry.state(),
            "chosen": self.assignments.chosen_labels.copy(),
            "path": np.array(self.path),
            "share": self._share,
        }

    def advance(
        self, max_iter: int, progress: Progress | None = None,
        save: Callable[[], None] | None = None,
    ) -> Solution:  # fmt: skip
        """Iterate until nothing moves, up to `max_iter` iterations since the start.

        `save` is called after every iteration but the last.
        """
        converged, moved, n_iter = False, 1, len(self.path)
        for n_iter in range(len(self.path) + 1, max_iter + 1):
            moved, settled = self._iterate()
            if progress is not None:
                progress(n_iter, self.path[-1])
            if settled:
                if self.assign.is_exhaustive():
                    converged = True
                    break
                self.assign.force_exhaustive()
            if save is not None:
                save()
        if moved or self.geometry.learns:
            if converged:
                self.assign.force_exhaustive()
            # Labels that fit the final centers and metric.
            self._moved_at_end = self._assign_rows(last=True)
        return self._solution(n_iter, converged)

    def _iterate(self) -> tuple[int, bool]:
        """One iteration; returns how many rows moved, and whether the run has settled."""
        geometry = self.geometry
        moved = self._assign_rows() + self._moved_at_end
        self._moved_at_end = 0
        moved += self._refill_empty_clusters()
        before = self._record()
        shift = self._move_centers()
        after = self._record()
        if geometry.learns:
            after = self._learn_metric(after)
        if not geometry.annealing_done:
            geometry.end_iteration()
            after = self._record()
        if self.penalty.learns:
            self._learn_penalty()
            after = self._record()
        self.path.append(after)
        falls = geometry.learns and before - after > self.tol * max(abs(after), 1e-300)
        calm = moved == 0 or shift <= self._shift_tol
        return moved, calm and geometry.annealing_done and not falls

    # ---------------------------------------------------------------- rows into clusters

    def _assign_rows(self, last: bool = False) -> int:
        """The E-step: free rows to their cheapest cluster, constrained ones by the assigner."""
        rows, chosen = self.problem.rows, self.assign.rows
        moved = 0
        if len(chosen) < rows.n:
            moved = self.assignments.assign(
                self.geometry, self.moments, self.assign.closed, self._bounded, last
            )
            self._bounded = self._bounded or (self._may_bound and moved < _CALM * rows.n)
        if len(chosen):
            measure = self.penalty.measure(self.geometry) if self.assign.measures else None
            cost = self.penalty.costs(self.geometry) if measure is None else measure
            new, change = self.assign(self._costs, self.assignments.chosen_labels, cost, self.rng)
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
        elif self._link_weight > _HEAVY * abs(self.geometry.distortion(self.moments)):
            self._link_total = None  # the rounding error of heavy links would be visible
        else:
            self._link_total += change

    def _refill_empty_clusters(self) -> int:
        """Move the free rows farthest from their centers into empty clusters; returns how many."""
        closed, refills = self.assign.closed, self._refills
        for c in np.flatnonzero(self.moments.counts <= 1e-12 * self.problem.rows.total_weight):
            # Clusters that only have rows of weight 0 are not empty.
            sizes = self.assignments.sizes(self.problem.k)
            if sizes[c] or self._refills == 0 or (closed is not None and closed[c]):
                continue
            row, before, _ = self.assignments.farthest(self.geometry, sizes)
            if row >= 0:
                self._refills -= 1
                self._refill(int(c), row, before)
        return refills - self._refills

    def _refill(self, c: int, row: int, before: int) -> None:
        """Move a row to an empty cluster, which starts with the metric that the row had."""
        if self.geometry.per_cluster:
            metrics = self.geometry.metrics.copy()
            metrics[c] = metrics[before]
            self._set_metrics(metrics, rescale=False)
        self.assignments.move_one(row, c, self.moments)
        self.geometry.set_center(c, self.problem.rows.take(np.array([row]))[0])

    # ---------------------------------------------------------------- centers and metric

    def _move_centers(self) -> float:
        """The first half of the M-step: centers to the minimum; the squared distance they moved."""
        return self.geometry.move_centers(self.moments)

    def _learn_metric(self, before: float) -> float:
        """The second half of the M-step: new metrics; takes the objective, returns the new one.

        The step towards the proposed metrics is halved until it does not raise the objective: a
        gradient step may be too long, and a penalty floored at 0 has a kink.
        """
        geometry = self.geometry
        old, after = geometry.metrics, before
        slope = geometry.scatter(self.moments, self.assignments)
        slope = slope + self.penalty.scatter_term(geometry, self._own_labels())
        new = geometry.proposal(slope, geometry.weights(self.moments))
        for halving in range(_HALVINGS + 1):
            share = self._share * 0.5**halving if halving < _HALVINGS else 0.0
            self._set_metrics(new if share == 1.0 else (1 - share) * old + share * new)
            after = self._objective()
            if share == 0.0 or after <= before:
                break
        # Start the next search at this step size, or a larger one if it was accepted at once.
        self._share = min(1.0, 1.25 * share) if halving == 0 else max(share, 0.5**_HALVINGS)
        if self.penalty.depends_on_metric:
            after = self._update_bound(before, after)
        self.half_steps.append(after)
        return after

    def _update_bound(self, before: float, after: float) -> float:
        """New farthest pairs change the cost of cannot-links: rejected if the objective rises."""
        paid = self._link_total
        undo = self.penalty.update_bound(self.geometry)
        if undo is None:
            return after
        self._link_total = None
        updated = self._objective()
        if updated <= before:
            return updated
        undo()
        self._link_total = paid
        return after

    def _learn_penalty(self) -> None:
        """The last part of the M-step: the likeliest costs of links, given the labels."""
        self.penalty.learn(self._own_labels())
        self._link_total = None

    def _set_metrics(self, metrics: Floats, rescale: bool = True) -> None:
        rows, geometry = self.problem.rows, self.geometry
        geometry.set_metrics(metrics)
        if geometry.scales_rows and rescale:
            rows.scale(geometry)
            self.moments = self.assignments.recount(self.moments)
        self._link_total = None

    # ---------------------------------------------------------------- objective

    def _own_labels(self) -> Labels:
        return self.assignments.labels_of(self.problem.links.rows)

    def _link_costs(self) -> Floats:
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

    def _objective(self) -> float:
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
        """Costs of violated links."""
        entries = self.penalty.costs_of(violated, self.geometry)
        return self.problem.links.paid(violated, labels, entries)

    def _record(self) -> float:
        """Record the objective after a half step."""
        self.half_steps.append(self._objective())
        return self.half_steps[-1]

    def _solution(self, n_iter: int, converged: bool) -> Solution:
        """The result; moments are recounted to remove the rounding errors of many moves."""
        self.moments = self.assignments.recount(self.moments)
        link_cost = self._link_costs()
        self._link_total = float(link_cost.sum())
        return Solution(
            assignments=self.assignments,
            centers=self.geometry.centers + self.problem.rows.shift,
            geometry=self.geometry,
            objective=self._objective(),
            path=self.path.copy(),
            half_steps=self.half_steps.copy(),
            n_iter=n_iter,
            converged=converged,
            link_cost=link_cost,
            moments=self.moments,
            state=self.state,
        )
