"""How constrained rows get their clusters: pinned, by ICM, or under hard constraints.

An assigner handles some rows (`rows`); all others go to their nearest centre. It is called with
the distances of its rows to all clusters and their present labels (-1 at first), and returns new
labels that cost no more.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from linkwise.constraints import ConstraintError, adjacency

from . import _kernels
from ._exact import solve_exactly
from ._problem import Problem, neighbours
from ._rows import Ints

Floats = NDArray[np.float64]
Labels = NDArray[np.int32]

_MAX_SWEEPS = 100
_EPS = 1e-15
_RESTARTS = 20
_GROUP_PAUSE = 4  # calls between two looks at whole groups
_WIDE = 1e8  # beyond this ratio of weights, rounding would drown the light ones


class Assigner(Protocol):
    """What the loop asks of an assigner."""

    rows: Ints
    closed: NDArray[np.bool_] | None

    def __call__(self, distance: Floats, labels: Labels, cost: Floats, rng: Any) -> Labels:
        """New labels of `rows`."""
        ...

    def violations(self, labels: Labels, error: float) -> float | None:
        """What violated links cost under the labels it gave last, if it knows to that error."""
        ...

    def state(self) -> dict[str, Any]:
        """What it remembers from one call to the next."""
        ...

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from such a state."""
        ...


class Assigning:
    """Base of the assigners: all clusters are open, and nothing is known about costs."""

    closed: NDArray[np.bool_] | None = None

    def violations(self, labels: Labels, error: float) -> float | None:
        """Not known."""
        return None

    def state(self) -> dict[str, Any]:
        """Nothing is remembered."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Nothing is remembered."""


class Pinned(Assigning):
    """Rows with a known cluster stay there; `closed` clusters take no other row."""

    def __init__(self, rows: Ints, labels: NDArray, closed: NDArray[np.bool_] | None = None):
        self.rows, self._labels, self.closed = rows, labels.astype(np.int32), closed

    def __call__(self, distance: Floats, labels: Labels, cost: Floats, rng: Any) -> Labels:
        return self._labels


class IteratedModes(Assigning):
    """ICM: each constrained row in random order takes the cluster that costs least, links included.

    Repeated until nothing moves. Must-link components take their first cluster as a whole, and
    may move as a whole later: row by row they could not without breaking links on the way.
    """

    def __init__(self, problem: Problem, *, costs_change: bool):
        self.rows, self._links = problem.links.rows, problem.links
        self._penalty = np.zeros((len(self.rows), problem.k))
        weight = self._links.weight
        wide = len(weight) and weight.max() > _WIDE * weight.min()
        self._refill = costs_change or wide
        self._must_weight = float(weight[self._links.is_must].sum())
        self._all_weight = float(weight.sum())
        self._n_calls = self._next_groups = 0
        self._is_new = False  # whether labels came from elsewhere
        self._graph: tuple[NDArray, ...] = ()
        closure = problem.closure
        place = np.searchsorted(self.rows, closure.nodes)
        self._group = np.empty(len(self.rows), dtype=np.int32)
        self._group[place] = closure.component
        self._members = place[np.argsort(closure.component, kind="stable")]
        self._starts = np.concatenate([[0], np.cumsum(closure.sizes)])

    def __call__(self, distance: Floats, labels: Labels, cost: Floats, rng: Any) -> Labels:
        labels = labels.copy()
        if not len(labels):
            return labels
        if not self._graph or self._graph[-1] is not cost:
            self._graph = self._links.weighed(cost)
        state = (*self._graph, labels, self._penalty)
        if self._refill or self._is_new:
            _kernels.fill_penalties(*state)
        self._is_new = False
        before = labels.copy()
        self._n_calls += 1
        sizes = np.diff(self._starts)
        if labels[0] < 0:
            order = rng.permutation(len(sizes))
            self._move_groups(order[np.argsort(-sizes[order], kind="stable")], distance, state)
        for _ in range(_MAX_SWEEPS):
            self._move_rows(distance, state, rng)
            # Groups rarely move: look at them again when single rows have come to rest.
            if (labels != before).any() or self._n_calls < self._next_groups:
                break
            self._next_groups = self._n_calls + _GROUP_PAUSE
            if not self._move_groups(rng.permutation(np.flatnonzero(sizes > 1)), distance, state):
                break
        return labels

    def violations(self, labels: Labels, error: float) -> float | None:
        """From the penalties at hand, while they are those of constant costs and not too heavy.

        Each kept must-link is a reward at both of its ends, and so is each broken cannot-link a
        penalty.
        """
        if self._refill or self._is_new or not len(labels) or not _EPS * self._all_weight <= error:
            return None
        return self._must_weight + 0.5 * float(_kernels.penalties_paid(self._penalty, labels))

    def state(self) -> dict[str, Any]:
        """When groups were looked at."""
        return {"n_calls": self._n_calls, "next_groups": self._next_groups}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from such a state; penalties are filled in at the next call."""
        self._n_calls, self._next_groups = state["n_calls"], state["next_groups"]
        self._is_new = True

    def _move_rows(self, distance: Floats, state: tuple[NDArray, ...], rng: Any) -> None:
        """Let rows move that want to, in random order, until none does."""
        *_, labels, penalty = state
        doubtful, restless = np.ones(len(labels), dtype=bool), np.empty(len(labels), dtype=np.int64)
        for _ in range(_MAX_SWEEPS):
            found = _kernels.wants_to_move(distance, penalty, labels, doubtful, restless)
            if not found:
                break
            _kernels.icm(rng.permutation(restless[:found]), distance, *state, doubtful)

    def _move_groups(self, order: Ints, distance: Floats, state: tuple[NDArray, ...]) -> int:
        groups = (self._starts, self._members, self._group)
        moved = int(_kernels.icm_groups(order, *groups, distance, *state[:-1]))
        if moved:
            _kernels.fill_penalties(*state)
        return moved


class Hard(Assigning):
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
        self._order = np.argsort(closure.component, kind="stable")
        self._starts = np.cumsum(closure.sizes) - closure.sizes
        self._edges = closure.cannot_link
        self._indptr, self._neighbour, _ = neighbours(self._edges, closure.n_components)
        self._degree = np.diff(self._indptr)
        self._linked = np.flatnonzero(self._degree)
        graph = adjacency(self._edges, closure.n_components)
        self._part = connected_components(graph, directed=False)[1]

    def __call__(self, distance: Floats, labels: Labels, cost: Floats, rng: Any) -> Labels:
        if not len(self.rows):
            return labels
        group_cost = np.add.reduceat(distance[self._order], self._starts, axis=0)
        before = labels[self._order[self._starts]]
        found = group_cost.argmin(axis=1).astype(np.int32)
        if len(self._linked):
            found = self._assign_linked(group_cost, before, found, rng)
        return found[self._component]

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
        tries.sort(key=lambda labels: self._total(cost, labels))
        tries = [
            self._improved(cost, one, rng) for one in tries[: 2 if self.mode == "exact" else 1]
        ]
        best = min(tries, key=lambda labels: self._total(cost, labels))
        settled = assigned and self._total(cost, best) >= self._total(cost, before) - 1e-12
        return self._exactly(cost, best) if settled and self.mode == "exact" else best

    def _total(self, cost: Floats, labels: Labels) -> float:
        return float(cost[np.arange(len(labels)), labels].sum())

    def _greedy(self, cost: Floats, rng: Any) -> Labels | None:
        """Most constrained first; a component that finds no cluster left goes first next time."""
        labels = np.empty(len(cost), dtype=np.int32)
        urgency = self._degree + rng.random_sample(len(cost))
        for _ in range(_RESTARTS):
            order = np.argsort(-urgency)
            stuck = _kernels.greedy_hard(
                order, cost, labels, self._indptr, self._neighbour, np.empty(self._k, np.bool_)
            )
            if stuck < 0:
                return labels
            urgency[stuck] = urgency.max() + 1
        return None

    def _improved(self, cost: Floats, labels: Labels, rng: Any) -> Labels:
        labels = labels.astype(np.int32).copy()
        order = rng.permutation(self._linked)
        graph = (self._indptr, self._neighbour)
        _kernels.improve_hard(order, cost, labels, *graph, np.empty(self._k, np.int64), _MAX_SWEEPS)
        return labels

    def _exactly(self, cost: Floats, labels: Labels) -> Labels:
        """Solve those connected parts whose components are not all at their nearest centre."""
        labels = labels.copy()
        away = labels != cost.argmin(axis=1)
        for part in np.unique(self._part[away & (self._degree > 0)]):
            members = np.flatnonzero(self._part == part)
            inside = self._edges[self._part[self._edges[:, 0]] == part]
            ends = np.searchsorted(members, inside)
            labels[members] = solve_exactly(cost[members], ends, labels[members])
        return labels
