"""The one loop behind every k-means method.

`solve` alternates between putting rows into clusters and updating centers and metrics. What a row
costs is the geometry's, what a violated link costs the penalty's, how constrained rows choose the
assigner's business. Each half step lowers the objective or leaves it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwise.geometry import Geometry, Moments

from ._assigners import Assigner
from ._checkpoint import State
from ._constrained_costs import Costs
from ._problem import Problem, Solution

Floats = NDArray[np.float64]
Progress = Callable[[int, float], None]

_HALVINGS = 12
_EPS = 1e-15
_EXACT = 1e-10  # share of the objective up to which rounding is allowed in the links' part
_CALM = 0.05  # once fewer rows than this share move, bounds pay


def solve(
    problem: Problem,
    geometry: Geometry,
    penalty: Any,
    assign: Assigner,
    centers: Floats,
    *,
    max_iter: int,
    tol: float,
    rng: Any,
    progress: Progress | None = None,
    note: Callable[[Callable[[], State]], None] | None = None,
    resume: State | None = None,
) -> Solution:
    """Cluster from given centers until nothing moves.

    Parameters
    ----------
    problem : Problem
    geometry : Geometry
        Fresh; it is moved and learnt here.
    penalty : WeightPenalty, DistancePenalty or PairPenalty
    assign : Assigner
        For the constrained rows.
    centers : ndarray of shape (k, d)
        Where to start, relative to the mean of the data.
    max_iter : int
    tol : float
        Stop when the centers move less than this share of the mean variance (and the objective
        falls by less than this share).
    rng : RandomState
    progress : callable, default=None
        Called as ``progress(iteration, objective)``.
    note : callable, default=None
        Called after an iteration that is not the last with what gives the state to go on from.
    resume : dict, default=None
        Such a state; centers are not looked at then.
    """
    problem.rows.scale(geometry)
    geometry.place(centers)
    run = _Run(problem, geometry, penalty, assign)
    penalty.refresh(geometry)
    still = tol * geometry.mean_variance
    converged, moved = False, 1
    if resume is not None:
        run.restore(resume)
    iteration = done = len(run.path)
    for iteration in range(done + 1, max_iter + 1):
        moved = run.assign_rows(rng)
        moved += run.refill_empty_clusters()
        before = run.note()
        way = geometry.move_centers(run.moments)
        after = run.note()
        if geometry.learns:
            run.learn_metric()
        if geometry.learns or not geometry.annealing_done:
            geometry.end_iteration()
            after = run.note()
        run.path.append(after)
        if progress is not None:
            progress(iteration, after)
        settled = geometry.annealing_done and (
            not geometry.learns or before - after <= tol * max(abs(after), 1e-300)
        )
        if settled and (moved == 0 or way <= still):
            if assign.is_exhaustive():
                converged = True
                break
            assign.force_exhaustive()
        if note is not None:
            note(run.state)
    if max_iter and (moved or geometry.learns):
        if converged:
            assign.force_exhaustive()
        run.assign_rows(rng, last=True)  # labels that fit the final centers and metric
    return run.solution(iteration, converged)


@dataclass
class _Run:
    """The state of one run."""

    problem: Problem
    geometry: Geometry
    penalty: Any
    assign: Assigner
    path: list[float] = field(default_factory=list)
    half_steps: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        rows, k = self.problem.rows, self.problem.k
        chosen = self.assign.rows
        self.places = rows.places(chosen)
        self.moments = Moments.zeros(k, rows.d, self.geometry.squares_shape)
        self._refills = 2 * k
        self._share = 1.0  # of a proposed step towards better metrics to try first
        # Bounds save most of the work once centers and metric change little.
        self._may_bound = self.geometry.bounded and not rows.is_sparse and k > 1
        self._bounded = False
        self._told: State = {}  # the state of the geometry that rows were assigned by
        self._refilled: dict[int, int] = {}  # rows moved since
        self.costs = Costs(rows, self.assign.rows, self.geometry)
        self._link_weight = 0.0  # of all links, violated or not
        self._link_total: float | None = None  # None when labels or metrics have changed

    # ---------------------------------------------------------------- stopping and going on

    def state(self) -> State:
        """All that is needed to go on from here; see `_checkpoint`."""
        moved = np.array(list(self._refilled.items()), dtype=np.int64).reshape(-1, 2)
        return {
            "geometry": self.geometry.state(), "told": self._told, "refilled": moved,
            "own": self.places.own, "assign": self.assign.state(), "penalty": self.penalty.state(),
            "path": np.array(self.path), "half_steps": np.array(self.half_steps),
            "refills": self._refills, "share": self._share, "bounded": self._bounded,
        }  # fmt: skip

    def restore(self, state: State) -> None:
        """Go on from a state: place rows as they were, and count them anew."""
        rows, nothing = self.problem.rows, self.moments.like()
        self._told = state.get("told", {})
        if self._told:
            self.geometry.restore(self._told)
            rows.scale(self.geometry)
            self.places.assign(self.geometry, nothing, self.assign.closed, False)
        for row, cluster in state["refilled"].tolist():
            self.places.move_one(row, cluster, nothing)
            self._refilled[row] = cluster
        self.places.put(state["own"], nothing)
        self.geometry.restore(state["geometry"])
        rows.scale(self.geometry)
        self.moments = self.places.recount(self.moments)
        self.assign.restore(state.get("assign", {}))
        self.penalty.restore(state.get("penalty", {}))
        self.path, self.half_steps = state["path"].tolist(), state["half_steps"].tolist()
        self._refills, self._share = state["refills"], state["share"]
        self._bounded, self._link_total = state["bounded"], None

    # ---------------------------------------------------------------- rows into clusters

    def assign_rows(self, rng: Any, last: bool = False) -> int:
        """The E-step: free rows to the nearest center, constrained ones by the assigner."""
        rows, chosen = self.problem.rows, self.assign.rows
        moved = 0
        if len(chosen) < rows.n:
            self._told, self._refilled = self.geometry.state(), {}
            moved = self.places.assign(
                self.geometry, self.moments, self.assign.closed, self._bounded, last
            )
            self._bounded = self._bounded or (self._may_bound and moved < _CALM * rows.n)
        if len(chosen):
            cost = self.penalty.costs(self.geometry)
            new, change = self.assign(self.costs, self.places.own, cost, rng)
            moved += self.places.put(new, self.moments)
            self._links_changed(change)
        return moved

    def _links_changed(self, change: float | None) -> None:
        """What violated links cost has changed by so much, or by an unknown amount."""
        if self._link_total is None or change is None:
            self._link_total = None
        elif _EPS * self._link_weight > _EXACT * abs(self.geometry.distortion(self.moments)):
            self._link_total = None  # rounding of heavy links would show
        else:
            self._link_total += change

    def refill_empty_clusters(self) -> int:
        """Give empty clusters the free rows that are farthest from their centers; how many."""
        closed, k, refills = self.assign.closed, self.problem.k, self._refills
        for c in np.flatnonzero(self.moments.counts <= 1e-12 * self.problem.rows.total_weight):
            if self._refills == 0 or (closed is not None and closed[c]):
                continue
            sizes = self.places.sizes(k)
            if sizes[c]:
                continue
            row, before, _ = self.places.farthest(self.geometry, sizes)
            if row < 0:
                continue
            self._refills -= 1
            if self.geometry.per_cluster:  # start from the metric the row had
                metrics = self.geometry.metrics.copy()
                metrics[c] = metrics[before]
                self.geometry.set_metrics(metrics)
                self._link_total = None
            self.places.move_one(row, int(c), self.moments)
            self._refilled[row] = int(c)
            self.geometry.place_one(int(c), self.problem.rows.take(np.array([row]))[0])
        return refills - self._refills

    # ---------------------------------------------------------------- metric

    def learn_metric(self) -> None:
        """The second half of the M-step: better metrics, then the farthest pairs anew.

        Both are taken only as far as they do not raise the objective: a gradient step may be too
        long, a penalty floored at zero bends the objective, and a new farthest pair changes what
        cannot-links cost.
        """
        geometry, penalty = self.geometry, self.penalty
        before, old = self.objective(), geometry.metrics
        slope = geometry.scatter(self.moments, self.places)
        slope = slope + penalty.spread(geometry, self._own_labels())
        new = geometry.proposal(slope, geometry.weights(self.moments))
        for halving in range(_HALVINGS + 1):
            share = self._share * 0.5**halving if halving < _HALVINGS else 0.0
            self._set_metrics(new if share == 1.0 else (1 - share) * old + share * new)
            if share == 0.0 or self.objective() <= before:
                break
        # Begin where this step ended, and a little bolder if it went through at once.
        self._share = min(1.0, 1.25 * share) if halving == 0 else max(share, 0.5**_HALVINGS)
        if penalty.changes:
            held = penalty.pair
            penalty.refresh(geometry)
            self._link_total = None
            if self.objective() > before:
                penalty.hold(held)
                self._link_total = None

    def _set_metrics(self, metrics: Floats) -> None:
        rows, geometry = self.problem.rows, self.geometry
        geometry.set_metrics(metrics)
        if geometry.scales_rows:
            rows.scale(geometry)
            self.moments = self.places.recount(self.moments)
        self._link_total = None

    # ---------------------------------------------------------------- objective

    def _own_labels(self) -> NDArray[np.int32]:
        return self.places.labels_of(self.problem.links.rows)

    def link_costs(self) -> Floats:
        """What each link costs now: nothing unless it is violated."""
        links = self.problem.links
        each = np.zeros(len(links.ends))
        if len(each) and not self.penalty.costless:
            links.violation_cost(self._own_labels(), self.penalty.costs(self.geometry), each)
        return each

    def objective(self) -> float:
        """The objective as it stands."""
        if self._link_total is None:
            self._link_total = self._violations()
        rest = self.geometry.distortion(self.moments) + self.geometry.regularizer()
        return rest + self._link_total

    def _violations(self) -> float:
        """What all violated links cost."""
        if self.penalty.costless:
            return 0.0
        links, cost = self.problem.links, self.penalty.costs(self.geometry)
        self._link_weight = float(cost.sum())
        return links.violation_cost(self._own_labels(), cost)

    def note(self) -> float:
        """Write the objective down after a half step."""
        self.half_steps.append(self.objective())
        return self.half_steps[-1]

    def solution(self, n_iter: int, converged: bool) -> Solution:
        """The result, with sums taken afresh so that no rounding of many moves stays in."""
        rows = self.problem.rows
        state = self.state()
        self.moments = self.places.recount(self.moments)
        link_cost = self.link_costs()
        self._link_total = float(link_cost.sum())
        return Solution(
            state=state,
            places=self.places,
            centers=self.geometry.centers + rows.shift,
            geometry=self.geometry,
            objective=self.objective(),
            path=self.path,
            half_steps=self.half_steps,
            n_iter=n_iter,
            converged=converged,
            link_cost=link_cost,
        )
