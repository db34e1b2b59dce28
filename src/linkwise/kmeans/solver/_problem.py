"""A validated clustering problem."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwise._types import Floats, Ints
from linkwise.constraints import Closure, Constraints, number_nodes
from linkwise.kmeans._kernel_arguments import Groups
from linkwise.kmeans.rows._local_rows import sample_rows
from linkwise.kmeans.rows._protocols import RowStore

from ._link_graph import LinkGraph

ROUNDING = 1e-10  # a smaller share of an objective may be rounding error: sums of 10^6 rows

RunState = dict[str, Any]  # arrays, numbers and nested states, as a checkpoint stores them


@dataclass(frozen=True, eq=False)
class Problem:
    """Everything a run needs to know about the data.

    Attributes
    ----------
    rows : RowStore
        `LocalRows` or `RemoteRows`.
    k : int
    known : Constraints
        Constraints by row number.
    seeds : ndarray of shape (n,), default=None
        Cluster of the rows whose label is known, -1 for the others.
    max_entailed : int, default=0
        Links entailed by the given ones take part if there are at most this many in all.
    enforced : Constraints, default=None
        The constraints to satisfy, if not all of `known` can be.
    example : ndarray of shape (n_components,), default=None
        A cluster per component that satisfies all cannot-links.
    ids : sequence of shape (n,), default=None
        Ids of the rows, for messages.
    link_unit : float, default=1.0
        What the weights of links are multiplied by.
    """

    rows: RowStore
    k: int
    known: Constraints
    seeds: Ints | None = None
    max_entailed: int = 0
    enforced: Constraints | None = None
    example: NDArray | None = None
    ids: Sequence[Hashable] | None = None
    link_unit: float = 1.0

    @property
    def has_seeds(self) -> bool:
        """Whether any row has a label."""
        return self.seeds is not None and bool((self.seeds >= 0).any())

    @cached_property
    def links(self) -> LinkGraph:
        """The pairwise constraints as a graph, entailed links included if `uses_entailed`."""
        graph = self._unscaled_links
        return graph if self.link_unit == 1.0 else graph.scaled(self.link_unit)

    @property
    def _unscaled_links(self) -> LinkGraph:
        if not self.uses_entailed:
            return LinkGraph.of(self.known)
        if self._groups_stand_alone:
            pairs = self._pairs_only.closure().expand(self.max_entailed)
            return LinkGraph.of(pairs + self.known._like(apart=self.known._apart))
        return LinkGraph.of(self.closure.expand(self.max_entailed))

    @cached_property
    def _groups_stand_alone(self) -> bool:
        """Whether there are apart groups, and none of their rows has a must-link."""
        closure = self.closure
        return self.known.n_apart > 0 and not (closure.sizes[closure.apart] > 1).any()

    @cached_property
    def _pairs_only(self) -> Constraints:
        known = self.known
        return known._like(known._must, known._cannot, known._relative)

    @cached_property
    def uses_entailed(self) -> bool:
        """Whether entailed links take part."""
        closure = self._pairs_only.closure() if self._groups_stand_alone else self.closure
        return closure.consistent and 0 < closure.n_pairs <= self.max_entailed

    @cached_property
    def closure(self) -> Closure:
        """Closure of the pairwise constraints that are enforced."""
        return (self.known if self.enforced is None else self.enforced).closure()

    @cached_property
    def groups(self) -> Groups:
        """Must-link components of the rows of `links`, for kernels."""
        closure, rows = self.closure, self.links.rows
        same = len(rows) == len(closure.nodes)  # nodes are a subset of the rows
        place = np.arange(len(rows)) if same else np.searchsorted(rows, closure.nodes)
        group = np.empty(len(rows), dtype=np.int32)
        group[place] = closure.component
        starts = np.concatenate([[0], np.cumsum(closure.sizes)])
        return Groups(starts, place[closure.by_component], group)

    @cached_property
    def movable(self) -> Ints:
        """Components that may move as a whole: not those with two rows of one apart group."""
        closure, apart = self.closure, self.known._apart
        movable = closure.sizes > 1
        in_clash = apart.members[np.isin(apart.group, closure.apart_clashes)]
        movable[closure.component[np.searchsorted(closure.nodes, in_clash)]] = False
        return np.flatnonzero(movable)

    @property
    def named_rows(self) -> Ints:
        """The rows that constraints name."""
        known = self.known
        ends = [part.ravel() for part in (known.must_link, known.cannot_link, known.relative)]
        ends.append(known._apart.members)
        return number_nodes(*(part.astype(np.int64, copy=False) for part in ends))[0]

    @cached_property
    def constrained(self) -> Ints:
        """The rows that a run needs in memory: those in pairs, and those with a label."""
        known = self.known
        ends = [known.must_link.ravel(), known.cannot_link.ravel(), known._apart.members]
        if self.seeds is not None:
            ends.append(np.flatnonzero(self.seeds >= 0))
        return number_nodes(*(part.astype(np.int64, copy=False) for part in ends))[0]

    @cached_property
    def free_sample(self) -> Ints:
        """Rows without constraints, or a sample of them that a resumed fit draws again."""
        rng = np.random.RandomState(0)
        return sample_rows(self.rows.n, self.rows.cells, self.k, rng, self.constrained)

    def costs_of_constraints(self, link_cost: Floats) -> Floats:
        """Cost of each constraint of `known`, given those of `links` and of their apart groups."""
        known, n_links = self.known, len(self.links.ends)
        costs, of_groups = link_cost[:n_links], link_cost[n_links:]
        if known.n_apart and not len(of_groups):  # written out as pairs
            ends, group = known._apart.pairs()
            places = self.links.positions_of(ends, np.zeros(len(ends), dtype=bool))
            of_groups = np.zeros(known.n_apart)
            np.add.at(of_groups, group, costs[places])
        if self.uses_entailed:
            costs = costs[self.links.positions(known)]
        return np.concatenate([costs, np.zeros(known.n_relative), of_groups])
