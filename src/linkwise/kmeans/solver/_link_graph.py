"""Pairwise constraints as a graph on the rows they name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from linkwise import _core
from linkwise._types import Bools, Floats, Ints
from linkwise.constraints import Cliques, Constraints, number_nodes
from linkwise.engines import Threads
from linkwise.kmeans._kernel_arguments import CliqueLists, LinkCosts, LinkLists, Measure

_WORK = 8  # cost of one end of a link for `Threads`, in cells


@dataclass(frozen=True, eq=False)
class LinkGraph:
    """Pairwise constraints among the rows they touch.

    Attributes
    ----------
    rows : ndarray of shape (n_touched,)
        The constrained rows, V in the papers; ends below are positions in it.
    ends : ndarray of shape (n_links, 2)
        Must-links first, then cannot-links.
    is_must : ndarray of shape (n_links,)
    weight : ndarray of shape (n_links,)
    indptr, middle, neighbor : ndarrays of uint32
        For each constrained row, its neighbors (CSR), must-links first; cannot-links begin at
        `middle`.
    cliques : CliqueLists
        Apart groups, members as positions in `rows`.
    """

    rows: Ints
    ends: NDArray[np.int32]
    is_must: Bools
    weight: Floats
    indptr: NDArray[np.uint32]
    middle: NDArray[np.uint32]
    neighbor: NDArray[np.uint32]
    cliques: CliqueLists

    @classmethod
    def of(cls, known: Constraints) -> LinkGraph:
        """Build the graph of constraints given by row number."""
        both, is_must = _pairs(known)
        rows, (positions, members) = number_nodes(both, known._apart.members)
        ends = positions.astype(np.int32)
        weight = np.concatenate([known.must_link_weight, known.cannot_link_weight])
        indptr, neighbor, _ = neighbors(ends, len(rows))
        musts = np.bincount(ends[: known.n_must_link].ravel(), minlength=len(rows))
        middle = indptr[:-1] + musts.astype(np.uint32)
        cliques = _clique_lists(known._apart, members, len(rows))
        return cls(rows, ends, is_must, weight, indptr, middle, neighbor, cliques)

    def scaled(self, unit: float) -> LinkGraph:
        """The same graph with all weights multiplied by a number."""
        cliques = self.cliques._replace(weight=self.cliques.weight * unit)
        return replace(self, weight=self.weight * unit, cliques=cliques)

    @property
    def n_cliques(self) -> int:
        """Number of apart groups."""
        return len(self.cliques.weight)

    @property
    def lists_of_cliques(self) -> CliqueLists | None:
        """Apart groups as kernels take them, None if there are none."""
        return self.cliques if self.n_cliques else None

    def clique_counts(self, labels: NDArray, k: int) -> NDArray[np.int32]:
        """Members per cluster of each apart group, (n_cliques, k)."""
        counts = np.zeros((self.n_cliques, k), dtype=np.int32)
        if len(counts):
            _core.count_members(self.cliques, labels, counts)
        return counts

    def clique_costs(self, labels: NDArray, k: int) -> Floats:
        """Cost of each apart group: its weight per pair of members in one cluster."""
        if not self.n_cliques:
            return self.cliques.weight
        counts = self.clique_counts(labels, k).astype(np.int64)
        return self.cliques.weight * (counts * (counts - 1) // 2).sum(axis=1)

    @cached_property
    def n_must(self) -> int:
        """Number of must-links."""
        return int(np.count_nonzero(self.is_must))

    @cached_property
    def total_weight(self) -> float:
        """Weight of all links together."""
        return float(self.weight.sum())

    @cached_property
    def link(self) -> NDArray[np.uint32]:
        """Link of each entry of the lists; not needed if all links cost the same."""
        return neighbors(self.ends, len(self.rows), edges=True)[2]

    def positions(self, known: Constraints) -> Ints:
        """Positions of the pairwise constraints of `known` among the links of this graph."""
        return self.positions_of(*_pairs(known))

    def positions_of(self, pairs: Ints, is_must: Bools) -> Ints:
        """Positions of some of the links of this graph, given as pairs of rows."""
        span = int(self.rows.max(initial=0)) + 1
        key = _link_keys(self.rows[self.ends], self.is_must, span)
        order = np.argsort(key)
        return order[np.searchsorted(key, _link_keys(pairs, is_must, span), sorter=order)]

    def with_costs(self, cost: Floats) -> WeightedGraph:
        """The graph with the present costs of its links, (n_links, 1) or (n_links, k)."""
        one = cost.shape[1] == 1
        if one and _constant(cost[: self.n_must]) and _constant(cost[self.n_must :]):
            return self._with_equal_costs(cost)
        total, dearest = (np.empty(len(self.rows)) for _ in range(2))
        # A cost per entry of the lists, so that kernels read memory in order.
        signed = np.empty(len(self.link) if one else 0)
        what = (self.indptr, self.link, self.n_must, cost)

        def work(start: int, stop: int) -> None:
            _core.signed_costs(*what, start, stop, signed, total, dearest)

        with Threads(len(total), _WORK * len(self.link) // max(len(total), 1)) as threads:
            threads.map(work)
        forms = {"signed": signed} if one else {"each": LinkCosts(self.link, self.is_must, cost)}
        return self._with_cliques(WeightedGraph(self.lists, cost, total, dearest, **forms))

    def with_measure(self, measure: Measure) -> WeightedGraph:
        """The graph with costs that are computed when they are needed."""
        unknown = np.zeros(len(self.rows))
        measure.done[:] = False  # of this graph's own costs
        signed = np.empty(len(self.neighbor))
        return WeightedGraph(self.lists, None, unknown, unknown, signed=signed, measure=measure)

    @cached_property
    def lists(self) -> LinkLists:
        """The neighbors of each row, as kernels take them."""
        return LinkLists(self.indptr, self.middle, self.neighbor)

    @cached_property
    def entry_weight(self) -> Floats:
        """Weight of the link of each entry of the lists; one number if all weights are equal."""
        if _constant(self.weight):
            return self.weight[:1].copy()
        return self.weight[self.link]

    def _with_equal_costs(self, cost: Floats) -> WeightedGraph:
        """The graph if all must-links cost the same, and all cannot-links do."""
        together, apart = (
            float(part[0, 0]) if len(part) else 0.0 for part in np.split(cost, [self.n_must])
        )
        known = self._equal
        if known and known[0][:2] == (together, apart):  # of an earlier run
            return known[0][2]
        musts, cannots = self.middle - self.indptr[:-1], self.indptr[1:] - self.middle
        total = together * musts + apart * cannots
        dearest = np.maximum(together * (musts > 0), apart * (cannots > 0))
        flat = np.array([-together, apart])
        graph = self._with_cliques(WeightedGraph(self.lists, cost, total, dearest, flat=flat))
        known[:] = [(together, apart, graph)]
        return graph

    @cached_property
    def _equal(self) -> list[tuple[float, float, WeightedGraph]]:
        """The last equal costs of must-links and of cannot-links, and the graph with them."""
        return []

    def _with_cliques(self, graph: WeightedGraph) -> WeightedGraph:
        """The graph with what apart groups can cost each row, together and by one pair."""
        if not self.n_cliques:
            return graph
        indptr, group, starts, _, weight = self.cliques
        row = np.repeat(np.arange(len(self.rows)), np.diff(indptr))
        most = weight[group] * (np.diff(starts)[group] - 1)
        total = graph.total + np.bincount(row, most, minlength=len(self.rows))
        dearest = graph.dearest.copy()
        np.maximum.at(dearest, row, weight[group])
        return replace(graph, total=total, dearest=dearest)

    def violated(self, labels: NDArray) -> Bools:
        """Which links the labels of the constrained rows violate."""
        a, b = labels[self.ends[:, 0]], labels[self.ends[:, 1]]
        return ((a == b) != self.is_must) & ((a >= 0) | (b >= 0))  # -1: no cluster

    def violated_links(self, labels: NDArray) -> NDArray[np.uint32]:
        """Numbers of the links that the labels of the constrained rows violate.

        Found once for the same labels.
        """
        if not self._violated or not np.array_equal(self._violated[0][0], labels):
            self._violated[:] = [(labels.copy(), self._find_violated(labels))]
        return self._violated[0][1]

    def satisfied_rows(self, labels: NDArray) -> Bools:
        """Which of the constrained rows have no violated link and are in no apart group."""
        satisfied = np.ones(len(self.rows), dtype=bool)
        satisfied[self.ends[self.violated_links(labels)]] = False
        satisfied[self.cliques.members] = False
        return satisfied

    def costs_of(self, chosen: NDArray[np.uint32], graph: WeightedGraph) -> Floats:
        """Costs of some links if violated, (n_chosen, 1) or (n_chosen, k)."""
        measure = graph.measure
        if measure is None:
            assert graph.cost is not None
            return graph.cost[chosen]
        length = np.empty((len(chosen), 1))
        pairs = measure.at[self.ends[chosen]]
        _core.link_lengths(measure.X, pairs, measure.metric[None], 0, len(pairs), length)
        missing = np.maximum(measure.farthest - length, 0.0)
        cost = np.where(self.is_must[chosen][:, None], length, missing)
        return np.asarray(cost * self.weight[chosen][:, None])

    @cached_property
    def _violated(self) -> list[tuple[NDArray, NDArray[np.uint32]]]:
        """The last labels, and the links that they violate."""
        return []

    def _find_violated(self, labels: NDArray) -> NDArray[np.uint32]:
        out = np.empty(len(self.ends), dtype=np.uint32)
        what = (self.ends, self.is_must, labels)

        def work(start: int, stop: int) -> NDArray[np.uint32]:
            number = _core.list_violated(*what, start, stop, out)
            return out[start : start + number]

        with Threads(len(self.ends), _WORK) as threads:
            return np.concatenate(threads.map(work))

    def paid(self, violated: NDArray, labels: NDArray, cost: Floats) -> Floats:
        """Costs of violated links, given their entries (n_violated, 1) or (n_violated, k).

        It is the mean of the entries for the clusters of the two ends; for a cannot-link both ends
        are in one cluster, so this is the entry of that cluster.
        """
        if cost.shape[1] == 1:
            return cost[:, 0]
        a, b = labels[self.ends[violated]].T
        number = np.arange(len(violated))
        return np.asarray(0.5 * (cost[number, a] + cost[number, b]))

    def violation_cost(self, labels: NDArray, cost: Floats) -> float:
        """Total cost of the violated links, given the costs of all."""
        violated = self._find_violated(labels)
        return float(self.paid(violated, labels, cost[violated]).sum())


@dataclass(frozen=True, eq=False)
class WeightedGraph:
    """A link graph with the present costs of its links.

    Attributes
    ----------
    lists : LinkLists
    cost : ndarray of shape (n_links, 1) or (n_links, k)
        Cost of each link; None if costs are measured when they are needed.
    total, dearest : ndarray of shape (n_touched,)
        Per row, what all its links can cost together, and the most that one of them can; both
        are filled in later if costs are measured when they are needed.
    flat, signed, each :
        The costs as kernels take them, two of them None: see `LinkLists`.
    measure : Measure, default=None
        How to measure costs when they are needed.
    """

    lists: LinkLists
    cost: Floats | None
    total: Floats
    dearest: Floats
    flat: Floats | None = None
    signed: Floats | None = None
    each: LinkCosts | None = None
    measure: Measure | None = None

    @property
    def costs(self) -> tuple[LinkLists, Floats | None, Floats | None, LinkCosts | None]:
        """Lists and costs, as kernels take them."""
        return self.lists, self.flat, self.signed, self.each


def _clique_lists(groups: Cliques, members: Ints, n_rows: int) -> CliqueLists:
    """Groups of each row, and members of each group, for kernels."""
    order = np.argsort(members, kind="stable")
    indptr = np.zeros(n_rows + 1, dtype=np.int64)
    np.cumsum(np.bincount(members, minlength=n_rows), out=indptr[1:])
    starts = np.ascontiguousarray(groups.starts)
    return CliqueLists(indptr, groups.group[order], starts, members, groups.weight.copy())


def _constant(costs: Floats) -> bool:
    """Whether all costs are equal; comparing the ends first settles most cases."""
    return not len(costs) or (costs[0] == costs[-1] and costs.min() == costs.max())


def _pairs(known: Constraints) -> tuple[Ints, Bools]:
    """Must-links, then cannot-links, and which of them are must-links."""
    both = np.concatenate([known.must_link, known.cannot_link]).astype(np.int64, copy=False)
    is_must = np.zeros(len(both), dtype=bool)
    is_must[: known.n_must_link] = True
    return both, is_must


def _link_keys(pairs: Ints, is_must: Bools, span: int) -> Ints:
    """One number per link between rows below `span`, the same for both orders of its ends."""
    return (is_must * span + pairs.min(axis=1)) * span + pairs.max(axis=1)


def neighbors(
    ends: NDArray, n_vertices: int, edges: bool = False
) -> tuple[NDArray, NDArray, NDArray]:
    """Adjacency lists of an undirected graph: indptr, neighbors, and edges if asked for."""
    indptr = np.zeros(n_vertices + 1, dtype=np.uint32)
    neighbor = np.empty(2 * len(ends), dtype=np.uint32)
    edge = np.empty(len(neighbor) if edges else 0, dtype=np.uint32)
    _core.list_neighbors(ends, indptr, neighbor, edge)
    return indptr, neighbor, edge
