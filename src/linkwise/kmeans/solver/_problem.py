"""A clustering problem, checked: rows, what is known about them, and randomness."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwise.constraints import Closure, Constraints, number_nodes
from linkwise.engines import Threads
from linkwise.kmeans.kernels import _link_kernels
from linkwise.kmeans.rows._local_rows import Ints, Rows

_WORK = 8  # cells that an end of a link is worth to `Threads`


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
    """

    rows: Ints
    ends: NDArray[np.int32]
    is_must: NDArray[np.bool_]
    weight: NDArray[np.float64]
    indptr: NDArray[np.uint32]
    middle: NDArray[np.uint32]
    neighbor: NDArray[np.uint32]

    @classmethod
    def of(cls, known: Constraints) -> LinkGraph:
        """Build the graph of constraints that speak of row numbers."""
        both, is_must = _pairs(known)
        rows, (places,) = number_nodes(both)
        ends = places.astype(np.int32)
        weight = np.concatenate([known.must_link_weight, known.cannot_link_weight])
        indptr, neighbor, _ = neighbors(ends, len(rows))
        middle = indptr[:-1].copy()
        _link_kernels.count_ends(ends, 0, known.n_must_link, middle)
        return cls(rows, ends, is_must, weight, indptr, middle, neighbor)

    @cached_property
    def n_must(self) -> int:
        """Number of must-links."""
        return int(np.count_nonzero(self.is_must))

    @cached_property
    def link(self) -> NDArray[np.uint32]:
        """The links to the neighbors; links that weigh alike do without."""
        return neighbors(self.ends, len(self.rows), edges=True)[2]

    def positions(self, known: Constraints) -> Ints:
        """Where the pairwise constraints of `known` stand in this graph."""
        span = int(self.rows.max(initial=0)) + 1
        key = _link_keys(self.rows[self.ends], self.is_must, span)
        pairs, is_must = _pairs(known)
        order = np.argsort(key)
        return order[np.searchsorted(key, _link_keys(pairs, is_must, span), sorter=order)]

    def weighed(self, cost: NDArray[np.float64]) -> WeighedGraph:
        """The graph with what its links cost now, (n_links, 1) or (n_links, k)."""
        one = cost.shape[1] == 1
        if one and _alike(cost[: self.n_must]) and _alike(cost[self.n_must :]):
            return self._weighed_alike(cost)
        total, dearest = (np.empty(len(self.rows)) for _ in range(2))
        # A cost that is the same in all clusters stands at each entry, so that walks stay in order.
        signed = np.empty(len(self.link) if one else 0)
        what = (self.indptr, self.link, self.n_must, cost)

        def work(start: int, stop: int) -> None:
            _link_kernels.signed_costs(*what, start, stop, signed, total, dearest)

        with Threads(len(total), _WORK * len(self.link) // max(len(total), 1)) as threads:
            threads.map(work)
        return self._walk(np.zeros(0), signed, cost, total, dearest)

    def _weighed_alike(self, cost: NDArray[np.float64]) -> WeighedGraph:
        """The graph when all must-links cost the same, and all cannot-links."""
        together, apart = (
            float(part[0, 0]) if len(part) else 0.0 for part in np.split(cost, [self.n_must])
        )
        musts, cannots = self.middle - self.indptr[:-1], self.indptr[1:] - self.middle
        total = together * musts + apart * cannots
        dearest = np.maximum(together * (musts > 0), apart * (cannots > 0))
        return self._walk(np.array([-together, apart]), np.zeros(0), cost, total, dearest)

    def _walk(self, flat: Any, signed: Any, cost: Any, total: Any, dearest: Any) -> WeighedGraph:
        lists = (self.indptr, self.middle, self.neighbor)
        link = np.zeros(0, dtype=np.uint32) if flat.size else self.link
        walk = (*lists, flat, signed, link, self.is_must, cost)
        return WeighedGraph(walk, total, dearest)

    def violated(self, labels: NDArray) -> NDArray[np.bool_]:
        """Which links the labels of the constrained rows break."""
        together = labels[self.ends[:, 0]] == labels[self.ends[:, 1]]
        return together != self.is_must

    def violation_cost(
        self, labels: NDArray, cost: NDArray[np.float64], each: NDArray[np.float64] | None = None
    ) -> float:
        """What the violated links cost together, and, where there is room for it, each link.

        For a violated cannot-link both ends are in one cluster, so that the mean of its entries
        for the clusters of its ends is its entry for that one.
        """
        each = np.zeros(0) if each is None else each
        what = (self.ends, self.is_must, labels, cost, cost.shape[1] > 1)
        with Threads(len(self.ends), _WORK) as threads:
            parts = threads.map(lambda a, b: _link_kernels.violation_costs(*what, a, b, each))
        return float(sum(parts))


@dataclass(frozen=True, eq=False)
class WeighedGraph:
    """A graph of links, as kernels walk along it, and what they cost.

    Attributes
    ----------
    walk : tuple of ndarray
        Adjacency (indptr, middle, neighbor); what being together costs, less than nothing for
        must-links: `flat` (2,) if all must-links cost the same and all cannot-links, or else
        `signed` at each entry, or neither if that differs from cluster to cluster; link, is_must,
        and the cost of each link.
    total, dearest : ndarray of shape (n_touched,)
        What all links of a row can cost together, and the dearest one of them.
    """

    walk: tuple[NDArray, ...]
    total: NDArray[np.float64]
    dearest: NDArray[np.float64]

    @property
    def cost(self) -> NDArray[np.float64]:
        """What each link costs."""
        return self.walk[-1]


def _alike(costs: NDArray[np.float64]) -> bool:
    """Whether all are the same; mostly seen at a glance if they are not."""
    return not len(costs) or (costs[0] == costs[-1] and costs.min() == costs.max())


def _pairs(known: Constraints) -> tuple[Ints, NDArray[np.bool_]]:
    """Must-links, then cannot-links, and which of them are must-links."""
    both = np.concatenate([known.must_link, known.cannot_link]).astype(np.int64, copy=False)
    is_must = np.zeros(len(both), dtype=bool)
    is_must[: known.n_must_link] = True
    return both, is_must


def _link_keys(pairs: Ints, is_must: NDArray[np.bool_], span: int) -> Ints:
    """One number for each link between rows below `span`, whichever end comes first."""
    return (is_must * span + pairs.min(axis=1)) * span + pairs.max(axis=1)


def neighbors(
    ends: NDArray, n_vertices: int, edges: bool = False
) -> tuple[NDArray, NDArray, NDArray]:
    """Adjacency of an undirected graph: where lists start, neighbors, edges if asked."""
    # Unsigned: loops look at every signed index whether it is negative.
    indptr = np.empty(n_vertices + 1, dtype=np.uint32)
    neighbor = np.empty(2 * len(ends), dtype=np.uint32)
    edge = np.empty(len(neighbor) if edges else 0, dtype=np.uint32)
    with Threads(len(ends), _WORK) as threads:
        part = {start: number for number, (start, _) in enumerate(threads.ranges(len(ends)))}
        counts = np.zeros((len(part), n_vertices), dtype=np.int32)
        threads.map(lambda a, b: _link_kernels.count_ends(ends, a, b, counts[part[a]]))
        _link_kernels.place_lists(counts, indptr)
        out = (neighbor, edge)
        threads.map(lambda a, b: _link_kernels.fill_adjacency(ends, a, b, counts[part[a]], *out))
    return indptr, neighbor, edge


@dataclass(frozen=True, eq=False)
class Problem:
    """Everything a run needs to know about the data.

    Attributes
    ----------
    rows : Rows
    k : int
    known : Constraints
        Constraints by row number.
    seeds : ndarray of shape (n,), default=None
        Cluster of the rows whose label is known, -1 for the others.
    max_entailed : int, default=0
        Up to so many links, those that the given ones entail take part.
    enforced : Constraints, default=None
        The constraints that count, when not all of `known` can be kept.
    example : ndarray of shape (n_components,), default=None
        Clusters for the components that keep all cannot-links.
    ids : sequence of shape (n,), default=None
        What the rows are called when something is said about them.
    """

    rows: Rows
    k: int
    known: Constraints
    seeds: NDArray[np.int64] | None = None
    max_entailed: int = 0
    enforced: Constraints | None = None
    example: NDArray | None = None
    ids: Sequence[Hashable] | None = None

    @cached_property
    def links(self) -> LinkGraph:
        """The pairwise constraints as a graph, with what they entail if that is not too much."""
        if self.uses_entailed:
            return LinkGraph.of(self.closure.expand(self.max_entailed))
        return LinkGraph.of(self.known)

    @cached_property
    def uses_entailed(self) -> bool:
        """Whether entailed links take part."""
        return self.closure.n_pairs > 0 and self.closure.can_expand(self.max_entailed)

    @cached_property
    def closure(self) -> Closure:
        """What follows from the pairwise constraints that are enforced."""
        return (self.known if self.enforced is None else self.enforced).closure()

    @property
    def named_rows(self) -> Ints:
        """The rows that constraints speak of."""
        known = self.known
        ends = [part.ravel() for part in (known.must_link, known.cannot_link, known.relative)]
        return np.unique(np.concatenate(ends).astype(np.int64))

    @property
    def constrained(self) -> Ints:
        """The rows that must be at hand: those in pairs, and those with a label."""
        known = self.known
        ends = [known.must_link.ravel(), known.cannot_link.ravel()]
        if self.seeds is not None:
            ends.append(np.flatnonzero(self.seeds >= 0))
        return np.unique(np.concatenate(ends).astype(np.int64))


@dataclass
class Solution:
    """What a run found, and the state it ended in."""

    state: dict[str, Any]
    places: Any
    centers: NDArray[np.float64]
    geometry: Any
    objective: float
    path: list[float]
    half_steps: list[float]
    n_iter: int
    converged: bool
    link_cost: NDArray[np.float64]

    @property
    def labels(self) -> Any:
        """Cluster of each row."""
        return self.places.labels()
