"""How constrained rows get their clusters: pinned or by ICM; under hard constraints see `_hard`.

An assigner chooses the clusters of its `rows`; all others go to their nearest center. It is called
with the costs of its rows and their present labels (-1 at first). It returns labels that do not
cost more and, if it knows it, the change in the cost of violated links.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from linkwise import _core
from linkwise._types import Bools, Floats, Ints, Labels, RandomState
from linkwise.geometry import Cosine, Geometry
from linkwise.kmeans._kernel_arguments import Drift, Measure
from linkwise.kmeans.rows._bounds import NO_DRIFT, Bounds, rounding_margin
from linkwise.kmeans.rows._local_rows import LocalRows, dense_form
from linkwise.kmeans.rows._protocols import RowStore

from ._link_graph import WeightedGraph
from ._problem import Problem

# No step raises the objective, so that sweeps end by themselves; rounding could make them circle,
# and messages along loops of links need not settle.
MAX_SWEEPS = 100
_RUN = 64  # consecutive rows that stay together when many are shuffled: about one cache page
# Below 1,000 constrained rows, to find out which of them can move takes longer than to try all.
_MANY_ROWS = 1_000
_GROUP_PAUSE = 4  # calls between two attempts to move whole components, which rarely succeed


LinkCost = Floats | Measure


class Assigner(Protocol):
    """What the loop asks of an assigner; `closed` clusters accept no free row.

    If it `trims`, all rows are its rows, and it may leave some without a cluster (-1). If it
    `measures`, it takes a `Measure` of links as well as their costs.
    """

    rows: Ints
    closed: Bools | None = None
    trims: bool = False
    measures: bool = False

    def __call__(
        self, costs: ConstrainedCosts, labels: Labels, link_cost: LinkCost, rng: RandomState
    ) -> tuple[Labels, float | None]:
        """New labels of `rows`, and the change in the cost of violated links (or None)."""
        ...

    def is_exhaustive(self) -> bool:
        """Whether the last call tried every kind of move."""
        return True

    def force_exhaustive(self) -> None:
        """Make the next call try every kind of move."""
        return
        return


class Pinned(Assigner):
    """Rows with a known cluster stay there; `closed` clusters accept no other row."""

    def __init__(self, rows: Ints, labels: Ints | Labels, closed: Bools | None = None):
        self.rows, self._labels, self.closed = rows, labels.astype(np.int32), closed

    def __call__(
        self, costs: ConstrainedCosts, labels: Labels, link_cost: LinkCost, rng: RandomState
    ) -> tuple[Labels, float | None]:
        return self._labels, None


class ICM(Assigner):
    """ICM: each constrained row in random order takes its cheapest cluster, links included.

    Repeated until nothing moves. A must-link component takes its first cluster as a whole and may
    move as a whole later; row by row it could not without violating links on the way. That is
    tried from time to time when single rows no longer move, and always before a run counts as
    converged (`is_exhaustive`).
    """

    measures = True

    def __init__(self, problem: Problem):
        self.rows, self._links = problem.links.rows, problem.links
        self._n_calls = self._next_groups = 0
        self._at_once = False  # try groups in the next call, whether or not single rows still move
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
        at_once, self._at_once = self._at_once, False
        if labels[0] < 0:
            order = _in_random_order(np.ones(len(self._sizes), dtype=bool), rng)
            order = order[np.argsort(-self._sizes[order], kind="stable")]
            self._satisfied = np.zeros(len(labels), dtype=bool)
            self._move_groups(graph, order, costs, labels, np.zeros(len(self._sizes)))
            self._satisfied = change = None
        for _ in range(MAX_SWEEPS):
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
        self._at_once = True

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
        for _ in range(MAX_SWEEPS):
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


class Undecided(NamedTuple):
    """Rows that links could move, and where their costs are; valid until the next call."""

    mask: Bools  # (m,)
    place: Ints  # (m,): position of each undecided row in `costs`
    costs: Floats  # (m_found, k)


class ConstrainedCosts:
    """Costs of the constrained rows; with bounds, only of rows that might change their cluster.

    Parameters
    ----------
    rows : RowStore
    chosen : ndarray of shape (m,)
        Row numbers; below, rows are positions among these.
    geometry : Geometry
        Its centers and metrics may change between calls.
    """

    def __init__(self, rows: RowStore, chosen: Ints, geometry: Geometry):
        self._geometry, self._chosen = geometry, chosen
        self._weight = rows.weight_of(chosen) if rows.weighted else np.zeros(0)
        self._rows: RowStore = rows
        self._local: LocalRows | None = None
        if not geometry.scales_rows:  # rows that are scaled in every iteration cannot be copied
            local, self._chosen = rows.in_memory(chosen)
            self._rows = self._local = local
        self._threads = self._rows.threads
        self._space: Floats = np.empty((0, geometry.k))
        self._undecided = np.zeros(len(chosen), dtype=bool)
        self._place, self._every = np.arange(len(chosen)), np.ones(len(chosen), dtype=bool)
        self._all_at: tuple[Floats | None, Floats | None] = (None, None)
        # Bounds are on distances: they do not hold for costs times sample weights.
        plain = geometry.metrics.ndim == 2 and not geometry.rows_by_cluster
        plain = plain and not rows.is_sparse and not rows.weighted
        # Costs in the precision of the data show most rows that stay; only the others need more.
        self._may_sift = plain and geometry.k > 1 and len(chosen) >= _MANY_ROWS
        self._mostly = False  # whether most rows were undecided in the last call
        may_bound = self._may_sift and geometry.bounded and geometry.squared
        self._bounds = Bounds(len(chosen), np.float64) if may_bound else None
        # Labels that the bounds are for; -2 is no label.
        self._known = np.full(len(chosen) if may_bound else 0, -2, dtype=np.int32)

    def of_all_rows(self) -> Floats:
        """Costs of all rows, (m, k), valid until the centers move."""
        if not self._has_all():
            found = self._rows.distances(self._chosen, self._geometry, self._new_space())
            if self._weight.size:
                found *= self._weight[:, None]
            self._all_at = self._now()
        return self._space

    def row_constant(self) -> float:
        """The term that the costs of all rows lack, if it is one number."""
        if isinstance(self._geometry, Cosine):
            return float(self._geometry.row_terms(self._rows.X[self._chosen[:1]]))
        return -self._geometry.shared_log_det

    def of_undecided_rows(self, labels: Labels, slack: Floats) -> Undecided:
        """Rows that links could move to another cluster.

        Parameters
        ----------
        labels : ndarray of shape (m,)
            None of them -1.
        slack : ndarray of shape (m,)
            The most by which links can raise the present cluster's cost above another's.
        """
        if len(labels) < _MANY_ROWS:  # to leave some out takes longer than to look at all
            return Undecided(self._every, self._place, self.of_all_rows())
        bounds, nothing = self._bounds, np.zeros(0)
        drift, upper, lower = NO_DRIFT, nothing, nothing
        if bounds is not None:
            drift, upper, lower = bounds.loosen(self._geometry), bounds.upper, bounds.lower
        if self._mostly or not self._may_sift or self._has_all():
            return self._from_all(labels, slack, upper, lower)
        return self._sifted(labels, slack, drift, upper, lower)

    def _from_all(self, labels: Labels, slack: Floats, upper: Floats, lower: Floats) -> Undecided:
        """Undecided rows, found from the costs of all rows."""
        costs, place = self.of_all_rows(), np.arange(len(labels))
        self._mark(costs, labels, slack, (self._known, upper, lower), self._undecided)
        self._mostly = 2 * int(np.count_nonzero(self._undecided)) > len(labels)
        return Undecided(self._undecided, place, costs)

    def _sifted(
        self, labels: Labels, slack: Floats, drift: Drift, upper: Floats, lower: Floats
    ) -> Undecided:
        """Undecided rows, found by bounds and costs in the data's precision, then exactly."""
        local, chosen = (
            (self._local, self._chosen) if self._local else self._rows.in_memory(self._chosen)
        )
        assert local is not None
        undecided, place = self._undecided, self._place
        X, shift = local.arrays()
        form, bias, own = dense_form(self._geometry, X.dtype)
        own = own if own.size else np.ones(local.d, X.dtype)
        what = (
            X, shift.astype(X.dtype), chosen, form, bias, own, self._beyond(),
            rounding_margin(local.d, X.dtype), labels, slack, self._known, drift, upper, lower,
        )  # fmt: skip
        self._threads.map(lambda a, b: _core.undecided_dense(*what, a, b, undecided), len(labels))
        found = np.flatnonzero(undecided)
        self._mostly = 2 * len(found) > len(labels)
        costs = self._new_space()[: len(found)]
        self._rows.distances(self._chosen[found], self._geometry, costs)
        place[found] = np.arange(len(found))
        sure, nothing = np.zeros(len(found), dtype=bool), np.zeros(0)
        no_bounds = (np.zeros(0, dtype=np.int32), nothing, nothing)
        self._mark(costs, labels[found], slack[found], no_bounds, sure)
        undecided[found] = sure
        return Undecided(undecided, place, costs)

    def _mark(
        self, costs: Floats, labels: Labels, slack: Floats, bounds: tuple[Labels, Floats, Floats],
        undecided: Bools,
    ) -> None:  # fmt: skip
        """Mark undecided rows, given their costs; `bounds` are updated unless empty."""
        beyond = self._beyond() if self._bounds is not None else 0.0
        what = (costs, slack, labels, beyond, rounding_margin(self._rows.d, np.float64))

        def work(start: int, stop: int) -> None:
            _core.undecided_rows(*what, start, stop, *bounds, undecided)

        self._threads.map(work, len(labels))

    def _beyond(self) -> float:
        """Size of the terms that cancel in a squared distance; scales its rounding error."""
        geometry = self._geometry
        if self._bounds is None:  # |x'a| is at most the mean of their squares
            form, bias, *_ = dense_form(geometry)
            return float((form**2).sum(axis=1).max() + np.abs(bias).max())
        return 2 * float((geometry.centers**2 @ geometry.metrics[0]).max())

    def _now(self) -> tuple[Floats, Floats]:
        return self._geometry.centers, self._geometry.metrics

    def _has_all(self) -> bool:
        """Whether the costs of all rows are up to date: every update makes new arrays."""
        return all(a is b for a, b in zip(self._now(), self._all_at, strict=True))

    def _new_space(self) -> Floats:
        """The array that costs are written to; earlier costs are lost."""
        if not len(self._space):
            self._space = np.empty((len(self._chosen), self._geometry.k))
        self._all_at = (None, None)
        return self._space
