"""How constrained rows get their clusters: pinned, by ICM, or under hard constraints.

An assigner chooses the clusters of its `rows`; all others go to their nearest center. It is called
with the costs of its rows and their present labels (-1 at first). It returns labels that do not
cost more and, if it knows it, the change in the cost of violated links.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy.sparse.csgraph import connected_components

from linkwise import _core
from linkwise._types import Bools, Floats, Ints, Labels, RandomState
from linkwise.constraints import Closure, ConstraintError, adjacency, clique_pairs
from linkwise.engines import Threads
from linkwise.kmeans._kernel_arguments import Measure

from ._constrained_costs import ConstrainedCosts, Undecided
from ._exact_assignment import solve_exactly
from ._link_graph import WeightedGraph, neighbors
from ._problem import Problem, RunState

_MAX_SWEEPS = 100
_RUN = 64  # consecutive rows that stay together when many are shuffled
_RESTARTS = 20
_MANY_ROWS = 1_000  # constrained rows from which on leaving some out saves time
_MOST_EDGES = 20_000_000  # pairs of apart groups that are written out
_GROUP_PAUSE = 4  # calls between two attempts to move whole groups
_AT_ONCE = -1  # in the next call, whether or not single rows still move


LinkCost = Floats | Measure


class Assigner(Protocol):
    """What the loop asks of an assigner; `closed` clusters accept no free row.

    If it `trims`, all rows are its rows, and it may leave some without a cluster (-1). If it
    `measures`, it takes a `Measure` of links as well as their costs.
    """

    rows: Ints
    closed: Bools | None
    trims: bool
    measures: bool

    def __call__(
        self, costs: ConstrainedCosts, labels: Labels, link_cost: LinkCost, rng: RandomState
    ) -> tuple[Labels, float | None]:
        """New labels of `rows`, and the change in the cost of violated links (or None)."""
        ...

    def is_exhaustive(self) -> bool:
        """Whether the last call tried every kind of move."""
        ...

    def force_exhaustive(self) -> None:
        """Make the next call try every kind of move."""
        ...

    def state(self) -> RunState:
        """What it keeps from one call to the next."""
        ...

    def restore(self, state: RunState) -> None:
        """Continue from such a state."""
        ...


class StatelessAssigner:
    """Base of the assigners without state; all clusters accept rows."""

    closed: Bools | None = None
    trims = measures = False

    def is_exhaustive(self) -> bool:
        """Every call tries everything."""
        return True

    def force_exhaustive(self) -> None:
        """Every call tries everything."""

    def state(self) -> RunState:
        """There is no state."""
        return {}

    def restore(self, state: RunState) -> None:
        """There is no state."""


class Pinned(StatelessAssigner):
    """Rows with a known cluster stay there; `closed` clusters accept no other row."""

    def __init__(self, rows: Ints, labels: Ints | Labels, closed: Bools | None = None):
        self.rows, self._labels, self.closed = rows, labels.astype(np.int32), closed

    def __call__(
        self, costs: ConstrainedCosts, labels: Labels, link_cost: LinkCost, rng: RandomState
    ) -> tuple[Labels, float | None]:
        return self._labels, None


class ICM:
    """ICM: each constrained row in random order takes its cheapest cluster, links included.

    Repeated until nothing moves. A must-link component takes its first cluster as a whole and may
    move as a whole later; row by row it could not without violating links on the way. That is
    tried from time to time when single rows no longer move, and always before a run counts as
    converged (`is_exhaustive`).
    """

    closed: Bools | None = None
    trims = False
    measures = True

    def __init__(self, problem: Problem):
        self.rows, self._links = problem.links.rows, problem.links
        self._n_calls = self._next_groups = 0
        self._groups_pending = False  # whether the last call did not try to move groups
        self._graph: WeightedGraph | None = None
        self._cost: LinkCost | None = None  # that the graph is for
        self._edge, self._moves = np.zeros(0), np.zeros(0, dtype=np.uint16)
        self._satisfied: Bools | None = None  # rows without a violated link; None if not known
        self._left: Labels | None = None  # labels of the last call
        closure = problem.closure
        self._clashing = not closure.consistent
        self._groups, self._sizes, self._large = problem.groups, closure.sizes, problem.movable
        self._k = problem.k
        self._counts = np.zeros((0, problem.k), dtype=np.int32)  # of apart groups

    def __call__(
        self, costs: ConstrainedCosts, labels: Labels, link_cost: LinkCost, rng: RandomState
    ) -> tuple[Labels, float | None]:
        if not len(labels):
            return labels, 0.0
        graph = self._with_costs(link_cost, labels)
        before, labels = labels, labels.copy()
        self._counts = self._links.clique_counts(labels, self._k)
        change: float | None = 0.0
        self._n_calls += 1
        at_once = self._next_groups == _AT_ONCE
        if labels[0] < 0:
            order = _in_random_order(np.ones(len(self._sizes), dtype=bool), rng)
            order = order[np.argsort(-self._sizes[order], kind="stable")]
            self._satisfied = np.zeros(len(labels), dtype=bool)
            self._move_groups(graph, order, costs, labels, np.zeros(len(self._sizes)))
            self._satisfied = change = None
        for _ in range(_MAX_SWEEPS):
            more = self._move_rows(graph, costs, labels, rng)
            change = None if change is None else change + more
            # Groups rarely move: try them again when single rows have stopped moving.
            is_due = self._n_calls >= self._next_groups and (labels == before).all()
            self._groups_pending = len(self._large) > 0 and not (at_once or is_due)
            if self._groups_pending or not len(self._large):
                break
            self._next_groups = self._n_calls + _GROUP_PAUSE
            paid = self._paid_by_groups(graph, labels)
            if not self._move_groups(graph, rng.permutation(self._large), costs, labels, paid):
                break
            change = None
        self._left = labels.copy()
        return labels, change

    def _with_costs(self, link_cost: LinkCost, labels: Labels) -> WeightedGraph:
        """The graph with the present costs of links.

        New costs, or labels that are not those of the last call, reset what rows know of links.
        """
        is_new = self._graph is None or self._cost is not link_cost
        if is_new or self._left is None or not np.array_equal(labels, self._left):
            self._edge = np.full(len(self.rows), np.inf)  # unknown
            self._moves = np.zeros(len(self.rows), dtype=np.uint16)
            self._satisfied = None
        if is_new and isinstance(link_cost, Measure):
            self._graph = self._links.with_measure(link_cost)
        elif is_new:
            assert not isinstance(link_cost, Measure)
            self._graph = self._links.with_costs(link_cost)
        self._cost = link_cost
        assert self._graph is not None
        return self._graph

    def is_exhaustive(self) -> bool:
        """Whether the last call tried to move groups, until none moved."""
        return not self._groups_pending

    def force_exhaustive(self) -> None:
        """Make the next call try to move groups, whether or not single rows still move."""
        self._next_groups = _AT_ONCE

    def state(self) -> RunState:
        """When groups are due."""
        return {"n_calls": self._n_calls, "next_groups": self._next_groups}

    def restore(self, state: RunState) -> None:
        """Continue from such a state."""
        self._n_calls, self._next_groups = state["n_calls"], state["next_groups"]

    def _move_rows(
        self, graph: WeightedGraph, costs: ConstrainedCosts, labels: Labels, rng: RandomState
    ) -> float:
        """Let undecided rows take their cheapest cluster, in random order, until none moves."""
        if graph.measure is not None:  # what links can cost is not known
            every = np.ones(len(labels), dtype=bool)
            found = Undecided(every, np.arange(len(labels)), costs.of_all_rows())
        else:
            found = costs.of_undecided_rows(labels, self._slack(graph, labels))
        order, change = _in_random_order(found.mask, rng), 0.0
        if self._satisfied is None:
            self._satisfied = self._links.satisfied_rows(labels)
        what = (*graph.costs, graph.measure, self._links.lists_of_cliques, self._counts)
        state = (*what, graph.dearest, labels, self._edge, self._moves, self._satisfied)
        now = order
        for _ in range(_MAX_SWEEPS):
            moved, more = _core.icm(now, found.place, found.costs, *state)
            change += more
            if not moved:
                break
            now = order[self._moves[order] > 0]
        return change

    def _slack(self, graph: WeightedGraph, labels: Labels) -> Floats:
        """The most by which links can make the present cluster of each row dearer than another.

        Apart groups alone cost 0 elsewhere at the least, so that only rows that meet another one
        of their group can gain. A row that is met during the sweep has its turn in the next
        call; a call that moves nothing has looked at all of them.
        """
        if len(self._links.ends) or len(labels) < _MANY_ROWS:
            return graph.total
        slack = np.empty(len(labels))
        _core.own_clique_costs(self._links.cliques, self._counts, labels, slack)
        return slack

    def _move_groups(
        self, graph: WeightedGraph, order: Ints, costs: ConstrainedCosts, labels: Labels,
        paid: Floats,
    ) -> int:  # fmt: skip
        assert self._satisfied is not None
        return _core.icm_groups(
            order, self._groups, costs.of_all_rows(), *graph.costs, graph.measure,
            self._links.lists_of_cliques, self._counts, graph.total, paid, self._clashing, labels,
            self._edge, self._satisfied,
        )  # fmt: skip

    def _paid_by_groups(self, graph: WeightedGraph, labels: Labels) -> Floats:
        """At least what the violated links of each must-link component cost."""
        links, number = self._links, len(self._sizes)
        if links.n_cliques:
            return np.full(number, np.inf)
        violated = links.violated_links(labels)
        paid = links.paid(violated, labels, links.costs_of(violated, graph))
        ends = self._groups.group[links.ends[violated]].T.ravel()
        return np.bincount(ends, np.tile(paid, 2), minlength=number).astype(np.float64)


def _in_random_order(wanted: Bools, rng: RandomState) -> Ints:
    """The wanted rows in random order; many are shuffled in runs, which memory reads faster.

    The order is drawn for all rows, so that bounds, which change the wanted rows, do not change
    the result.
    """
    number = len(wanted)
    if number <= _RUN * _RUN:
        order = rng.permutation(number)
        return order[wanted[order]]
    out, runs = np.empty(number, dtype=np.int64), rng.permutation(-(-number // _RUN))
    return out[: _core.rows_of_runs(runs, _RUN, wanted, out)]


def _disjoint_cliques(closure: Closure) -> tuple[Ints, Ints, Ints]:
    """Apart groups that touch no other and no cannot-link; all other groups as edges.

    Returns the starts and components of the former, and the edges with the cannot-links.
    """
    starts, members = closure.apart_starts, closure.apart
    sizes = np.diff(starts)
    group = np.repeat(np.arange(len(sizes)), sizes)
    times = np.bincount(members, minlength=closure.n_components)
    times += np.bincount(closure.cannot_link.ravel(), minlength=closure.n_components)
    tangled = np.zeros(len(sizes), dtype=bool)
    tangled[group[times[members] > 1]] = True
    alone = ~tangled[group]
    edges = closure.cannot_link
    if tangled.any():
        n_pairs = int((sizes[tangled] * (sizes[tangled] - 1) // 2).sum())
        if n_pairs > _MOST_EDGES:
            raise ConstraintError(
                f"apart groups that share rows or have cannot-links besides have {n_pairs:,} "
                f"pairs, more than {_MOST_EDGES:,}; PCKMeans takes them without writing them out",
                topic="groups",
            )
        cut = np.concatenate([[0], np.cumsum(sizes[tangled])])
        places, _ = clique_pairs(cut)
        written = np.sort(members[~alone][places], axis=1)
        edges = np.unique(np.concatenate([edges, written]), axis=0)
    return np.concatenate([[0], np.cumsum(sizes[~tangled])]), members[alone], edges


class Hard(StatelessAssigner):
    """Hard constraints: must-link components move as one, cannot-linked ones never meet.

    Parameters
    ----------
    problem : Problem
        With consistent constraints.
    mode : {"auto", "greedy", "exact"}
        "greedy": most constrained first, improved by moves and exchanges. "exact": as greedy, and
        when that no longer improves, HiGHS searches for the optimum. "auto": greedy, with HiGHS
        only if greedy finds no assignment.
    example : ndarray of shape (n_components,)
        An assignment that satisfies all cannot-links (a coloring): a feasible problem never ends
        without a solution.
    """

    def __init__(self, problem: Problem, mode: str, example: Ints | Labels):
        closure = problem.closure
        self.rows, self.mode, self._k = closure.nodes, mode, problem.k
        self._component, self._example = closure.component, example.astype(np.int32)
        self._order = closure.by_component
        number = np.arange(closure.n_components)
        self._alone = len(number) == len(self.rows) and bool((closure.component == number).all())
        self._starts = np.cumsum(closure.sizes) - closure.sizes
        alone = _disjoint_cliques(closure)
        self._clique_starts, self._cliques, self._edges = alone
        self._indptr, self._neighbor, _ = neighbors(self._edges, closure.n_components)
        self._degree = np.diff(self._indptr)
        self._linked = np.flatnonzero(self._degree)
        self._in_clique = np.zeros(closure.n_components, dtype=bool)
        self._in_clique[self._cliques] = True
        graph = adjacency(self._edges, closure.n_components)
        self._part = connected_components(graph, directed=False)[1]

    def __call__(
        self, costs: ConstrainedCosts, labels: Labels, link_cost: LinkCost, rng: RandomState
    ) -> tuple[Labels, float | None]:
        if not len(self.rows):
            return labels, 0.0
        if self._alone:  # every component is a row
            cost = costs.of_all_rows()
            nearest = cost.argmin(axis=1).astype(np.int32)
        else:
            cost = np.empty((len(self._starts), self._k))
            nearest = np.empty(len(cost), dtype=np.int32)
            _core.group_costs(costs.of_all_rows(), self._component, cost, nearest)
        found = nearest
        if len(self._linked):
            found = self._assign_linked(cost, labels[self._order[self._starts]], nearest, rng)
        if len(self._cliques):
            found = found.copy()
            self._assign_cliques(cost, nearest, found)
        return found[self._component], None

    def _assign_cliques(self, cost: Floats, nearest: Labels, found: Labels) -> None:
        """Apart groups that touch no other: each is an assignment problem of its own."""
        starts, members = self._clique_starts, self._cliques
        n_cliques = len(starts) - 1

        def work(first: int, last: int) -> None:
            part = starts[first : last + 1]
            _core.assign_cliques(part, members, cost, nearest, found)

        with Threads(n_cliques, self._k * len(members) // n_cliques) as threads:
            threads.map(work)

    def _assign_linked(
        self, cost: Floats, before: Labels, nearest: Labels, rng: RandomState
    ) -> Labels:
        """The better of the labels before and greedy ones, improved; "exact" improves both."""
        assigned = before[0] >= 0
        before = np.where(self._in_clique, nearest, before)  # these are assigned exactly below
        fresh = self._greedy(cost, rng)
        tries = [] if fresh is None else [fresh]
        if assigned:
            tries.append(np.where(self._degree > 0, before, nearest))
        if not tries:
            if self.mode == "greedy":
                raise ConstraintError(
                    f"greedy assignment found no cluster for some rows in {_RESTARTS} tries, "
                    'though there is a way; use {assign_auto} or "exact"'
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
        return float(cost[np.arange(len(cost)), labels].sum())

    def _greedy(self, cost: Floats, rng: RandomState) -> Labels | None:
        """Most constrained first; a component without a free cluster goes first in the next try."""
        labels = np.empty(len(cost), dtype=np.int32)
        urgency = self._degree + rng.random_sample(len(cost))
        for _ in range(_RESTARTS):
            order = np.argsort(-urgency)
            stuck = _core.greedy_hard(order, cost, labels, self._indptr, self._neighbor)
            if stuck < 0:
                return labels
            urgency[stuck] = urgency.max() + 1
        return None

    def _improved(self, cost: Floats, nearest: Labels, labels: Labels, rng: RandomState) -> Labels:
        labels = labels.astype(np.int32).copy()
        order = rng.permutation(self._linked)
        _core.improve_hard(order, cost, nearest, labels, self._indptr, self._neighbor, _MAX_SWEEPS)
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
