"""How constrained rows get their clusters: pinned, by ICM, or under hard constraints.

An assigner handles some rows (`rows`); all others go to their nearest center. It is called with
the costs of its rows, which it may ask for, and their present labels (-1 at first), and returns
new labels that cost no more, and by how much that changed what violated links cost if it knows.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from linkwise.constraints import ConstraintError, adjacency
from linkwise.kmeans.kernels import _link_kernels
from linkwise.kmeans.rows._local_rows import Ints

from ._constrained_costs import Costs
from ._exact_assignment import solve_exactly
from ._problem import Problem, WeighedGraph, neighbors

Floats = NDArray[np.float64]
Labels = NDArray[np.int32]

_MAX_SWEEPS = 100
_RUN = 64  # rows side by side that stay so when many are shuffled
_RESTARTS = 20
_GROUP_PAUSE = 4  # calls between two looks at whole groups
_AT_ONCE = -1  # no pause, and no waiting for rows to come to rest


class Assigner(Protocol):
    """What the loop asks of an assigner."""

    rows: Ints
    closed: NDArray[np.bool_] | None

    def __call__(
        self, costs: Costs, labels: Labels, link_cost: Floats, rng: Any
    ) -> tuple[Labels, float | None]:
        """New labels of `rows`, and by how much the cost of violated links changed (or None)."""
        ...

    def is_exhaustive(self) -> bool:
        """Whether the last call put off no kind of move."""
        ...

    def force_exhaustive(self) -> None:
        """Have the next call put off none."""
        ...

    def state(self) -> dict[str, Any]:
        """What it remembers from one call to the next."""
        ...

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from such a state."""
        ...


class StatelessAssigner:
    """Base of the assigners that remember nothing; all clusters are open."""

    closed: NDArray[np.bool_] | None = None

    def is_exhaustive(self) -> bool:
        """Nothing is put off."""
        return True

    def force_exhaustive(self) -> None:
        """Nothing is put off."""

    def state(self) -> dict[str, Any]:
        """Nothing is remembered."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Nothing is remembered."""


class Pinned(StatelessAssigner):
    """Rows with a known cluster stay there; `closed` clusters take no other row."""

    def __init__(self, rows: Ints, labels: NDArray, closed: NDArray[np.bool_] | None = None):
        self.rows, self._labels, self.closed = rows, labels.astype(np.int32), closed

    def __call__(
        self, costs: Costs, labels: Labels, link_cost: Floats, rng: Any
    ) -> tuple[Labels, float | None]:
        return self._labels, None


class ICM:
    """ICM: each constrained row in random order takes the cluster that costs least, links included.

    Repeated until nothing moves. Must-link components take their first cluster as a whole, and
    may move as a whole later: row by row they could not without breaking links on the way.
    """

    closed: NDArray[np.bool_] | None = None

    def __init__(self, problem: Problem):
        self.rows, self._links = problem.links.rows, problem.links
        self._n_calls = self._next_groups = 0
        self._put_off = False  # whether the last call did not look at groups
        self._graph: WeighedGraph | None = None
        self._edge, self._moves = np.zeros(0), np.zeros(0, dtype=np.uint16)
        closure = problem.closure
        self._clashing = not closure.consistent
        same = len(self.rows) == len(closure.nodes)  # the latter are among the former
        place = np.arange(len(self.rows)) if same else np.searchsorted(self.rows, closure.nodes)
        self._group = np.empty(len(self.rows), dtype=np.int32)
        self._group[place] = closure.component
        self._members = place[closure.by_component]
        self._starts = np.concatenate([[0], np.cumsum(closure.sizes)])
        self._sizes, self._large = closure.sizes, np.flatnonzero(closure.sizes > 1)

    def __call__(
        self, costs: Costs, labels: Labels, link_cost: Floats, rng: Any
    ) -> tuple[Labels, float | None]:
        if not len(labels):
            return labels, 0.0
        graph = self._weigh(link_cost)
        before, labels = labels, labels.copy()
        change: float | None = 0.0
        self._n_calls += 1
        at_once = self._next_groups == _AT_ONCE
        if labels[0] < 0:
            order = rng.permutation(len(self._sizes))
            order = order[np.argsort(-self._sizes[order], kind="stable")]
            groups = (order, self._starts, self._members)
            _link_kernels.place_groups(*groups, costs.of_all_rows(), *graph.walk, labels)
            change = None
        for _ in range(_MAX_SWEEPS):
            paid = self._move_rows(graph, costs, labels, rng)
            change = None if change is None else change + paid
            # Groups rarely move: look at them again when single rows have come to rest.
            look = at_once or (self._n_calls >= self._next_groups and (labels == before).all())
            self._put_off = len(self._large) > 0 and not look
            if self._put_off or not len(self._large):
                break
            self._next_groups = self._n_calls + _GROUP_PAUSE
            if not self._move_groups(graph, rng.permutation(self._large), costs, labels):
                break
            change = None
        return labels, change

    def _weigh(self, link_cost: Floats) -> WeighedGraph:
        """The graph with what links cost now; what was known of other costs is forgotten."""
        if self._graph is None or self._graph.cost is not link_cost:
            self._graph = self._links.weighed(link_cost)
            self._edge = np.full(len(self.rows), np.inf)  # nothing is known yet
            self._moves = np.zeros(len(self.rows), dtype=np.uint16)
        return self._graph

    def is_exhaustive(self) -> bool:
        """Whether the last call looked at groups, until none moved."""
        return not self._put_off

    def force_exhaustive(self) -> None:
        """Have the next call look at groups, whether or not single rows come to rest."""
        self._next_groups = _AT_ONCE

    def state(self) -> dict[str, Any]:
        """When groups were looked at."""
        return {"n_calls": self._n_calls, "next_groups": self._next_groups}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from such a state."""
        self._n_calls, self._next_groups = state["n_calls"], state["next_groups"]

    def _move_rows(self, graph: WeighedGraph, costs: Costs, labels: Labels, rng: Any) -> float:
        """Let rows move that want to, in random order, until none does."""
        wavers, *found = costs.of_wavering_rows(labels, graph.total)
        order, change = _in_random_order(wavers, rng), 0.0
        state = (graph.dearest, labels, self._edge, self._moves)
        now = order
        for _ in range(_MAX_SWEEPS):
            moved, more = _link_kernels.icm(now, *found, *graph.walk, *state)
            change += more
            if not moved:
                break
            now = order[self._moves[order] > 0]
        return change

    def _move_groups(self, graph: WeighedGraph, order: Ints, costs: Costs, labels: Labels) -> int:
        groups = (self._starts, self._members, self._group)
        self._edge[:] = np.inf
        moved = _link_kernels.icm_groups(
            order, *groups, costs.of_all_rows(), *graph.walk, graph.total, self._clashing, labels
        )
        return int(moved)


def _in_random_order(wanted: NDArray[np.bool_], rng: Any) -> Ints:
    """The wanted rows; many stay in runs: what lies side by side is read faster.

    The order is drawn for all rows, so that bounds do not change the result.
    """
    number = len(wanted)
    width = 1 if number <= _RUN * _RUN else _RUN
    out = np.empty(number, dtype=np.int64)
    runs = rng.permutation(-(-number // width))
    return out[: _link_kernels.rows_of_runs(runs, width, wanted, out)]


class Hard(StatelessAssigner):
    """Hard constraints: must-link components move as one, cannot-linked ones never meet.

    Parameters
    ----------
    problem : Problem
        With consistent constraints.
    mode : {"auto", "greedy", "exact"}
        "greedy": most constrained first, improved by moves and exchanges. "exact": as greedy, and
        when that comes to rest, HiGHS looks for anything better. "auto": greedy, with HiGHS only
        where greedy finds no way.
    example : ndarray of shape (n_components,)
        Some assignment that keeps all cannot-links.
    """

    def __init__(self, problem: Problem, mode: str, example: NDArray):
        closure = problem.closure
        self.rows, self.mode, self._k = closure.nodes, mode, problem.k
        self._component, self._example = closure.component, example.astype(np.int32)
        self._order = closure.by_component
        self._starts = np.cumsum(closure.sizes) - closure.sizes
        self._edges = closure.cannot_link
        self._indptr, self._neighbor, _ = neighbors(self._edges, closure.n_components)
        self._degree = np.diff(self._indptr)
        self._linked = np.flatnonzero(self._degree)
        graph = adjacency(self._edges, closure.n_components)
        self._part = connected_components(graph, directed=False)[1]

    def __call__(
        self, costs: Costs, labels: Labels, link_cost: Floats, rng: Any
    ) -> tuple[Labels, float | None]:
        if not len(self.rows):
            return labels, 0.0
        cost = np.empty((len(self._starts), self._k))
        nearest = np.empty(len(cost), dtype=np.int32)
        _link_kernels.group_costs(costs.of_all_rows(), self._component, cost, nearest)
        found = nearest
        if len(self._linked):
            found = self._assign_linked(cost, labels[self._order[self._starts]], nearest, rng)
        return found[self._component], None

    def _assign_linked(self, cost: Floats, before: Labels, nearest: Labels, rng: Any) -> Labels:
        """The better of the labels before and greedy ones, improved; "exact" improves both."""
        assigned = before[0] >= 0
        fresh = self._greedy(cost, rng)
        tries = [] if fresh is None else [fresh]
        if assigned:
            tries.append(np.where(self._degree > 0, before, nearest))
        if not tries:
            if self.mode == "greedy":
                raise ConstraintError(
                    f"greedy assignment found no cluster for some rows in {_RESTARTS} tries, "
                    'though there is a way; use assignment="auto" or "exact"'
                )
            return self._exactly(cost, np.where(self._degree > 0, self._example, nearest))
        if self.mode != "exact":
            return self._improved(cost, nearest, self._cheapest(cost, tries), rng)
        best = self._cheapest(cost, [self._improved(cost, nearest, one, rng) for one in tries])
        settled = assigned and self._total(cost, best) >= self._total(cost, before) - 1e-12
        return self._exactly(cost, best) if settled else best

    def _cheapest(self, cost: Floats, tries: list[Labels]) -> Labels:
        if len(tries) == 1:
            return tries[0]
        return min(tries, key=lambda labels: self._total(cost, labels))

    def _total(self, cost: Floats, labels: Labels) -> float:
        return float(_link_kernels.total_cost(cost, labels))

    def _greedy(self, cost: Floats, rng: Any) -> Labels | None:
        """Most constrained first; a component that finds no cluster left goes first next time."""
        labels = np.empty(len(cost), dtype=np.int32)
        urgency = self._degree + rng.random_sample(len(cost))
        for _ in range(_RESTARTS):
            order = np.argsort(-urgency)
            stuck = _link_kernels.greedy_hard(
                order, cost, labels, self._indptr, self._neighbor, np.empty(self._k, np.bool_)
            )
            if stuck < 0:
                return labels
            urgency[stuck] = urgency.max() + 1
        return None

    def _improved(self, cost: Floats, nearest: Labels, labels: Labels, rng: Any) -> Labels:
        labels = labels.astype(np.int32).copy()
        order = rng.permutation(self._linked)
        graph = (self._indptr, self._neighbor)
        _link_kernels.improve_hard(
            order, cost, nearest, labels, *graph, np.empty(self._k, np.int64), _MAX_SWEEPS
        )
        return labels

    def _exactly(self, cost: Floats, labels: Labels) -> Labels:
        """Solve those connected parts whose components are not all at their nearest center."""
        labels = labels.copy()
        away = labels != cost.argmin(axis=1)
        for part in np.unique(self._part[away & (self._degree > 0)]):
            members = np.flatnonzero(self._part == part)
            inside = self._edges[self._part[self._edges[:, 0]] == part]
            ends = np.searchsorted(members, inside)
            labels[members] = solve_exactly(cost[members], ends, labels[members])
        return labels
