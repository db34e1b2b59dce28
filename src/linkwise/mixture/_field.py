"""The field of chunklets: which labels linked rows have, given what each looks like.

Rows that must be together form a chunklet with one label. Cannot-links between chunklets make
equal labels impossible, or cost a penalty. Components of that graph are summed over exactly as long
as `MAX_TERMS` terms suffice; in larger ones, labels are taken to be independent (mean field), which
gives a lower bound of the sum.

References
----------
.. [1] N. Shental, A. Bar-Hillel, T. Hertz, D. Weinshall. Computing Gaussian mixture models with EM
   using equivalence constraints. NIPS 16, 2003, sections 2 and 3.
.. [2] J. Pearl. Probabilistic reasoning in intelligent systems. 1988, section 4.4 (cutsets).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.special import logsumexp

from linkwise.constraints import Closure

from . import _kernels

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MAX_TERMS = 1_000_000  # per component: labelings of the cutset, times nodes, times labels
_STRONGEST = 30.0  # what a cannot-link costs at most in the mean field
_SWEEPS, _SETTLED = 50, 1e-6
_COLD, _TIES = 1e6, 1e-4  # a factor that leaves only the best labeling; noise in potentials


class Plan(NamedTuple):
    """Components to sum over exactly; nodes of a component stand in a row, its cutset first.

    Attributes
    ----------
    node : ndarray of shape (n_nodes,)
        Chunklet of each node.
    start : ndarray of shape (n_components + 1,)
        First node of each component.
    n_cut : ndarray of shape (n_components,)
        Size of each cutset.
    parent, parent_penalty : ndarrays of shape (n_nodes,)
        The forest that is left without the cutsets; -1 at its roots.
    edge_start : ndarray of shape (n_components + 1,)
    edge_cut, edge_node, edge_penalty : ndarrays of shape (n_edges,)
        Edges with an end in a cutset, by position in the component.
    """

    node: Ints
    start: Ints
    n_cut: Ints
    parent: Ints
    parent_penalty: Floats
    edge_start: Ints
    edge_cut: Ints
    edge_node: Ints
    edge_penalty: Floats


class Summed(NamedTuple):
    """Sums over all labelings: their log, and the probability of each label of each chunklet."""

    log_sum: float
    marginal: Floats


@dataclass(frozen=True)
class Field:
    """Chunklets and what keeps them apart.

    Attributes
    ----------
    rows : ndarray of shape (n_rows,)
        Rows in chunklets, chunklet after chunklet.
    first : ndarray of shape (n_chunklets,)
        Where each begins.
    exponent : ndarray of shape (n_chunklets,)
        How often the weight of its component counts: once per chunklet, or once per row.
    alone : ndarray of int
        Chunklets without cannot-links.
    plan : Plan
        Components that are summed over exactly.
    loose : ndarray of int
        Chunklets in components that are too large for that.
    graph : csr_array of shape (n_loose, n_loose)
        Penalties between them.
    """

    rows: Ints
    first: Ints
    exponent: Floats
    alone: Ints
    plan: Plan
    loose: Ints
    graph: csr_array

    @classmethod
    def of(cls, closure: Closure, k: int, *, per_row: bool, strength: float) -> Field:
        """The field of given constraints.

        Parameters
        ----------
        closure : Closure
            By row number.
        k : int
            Number of labels.
        per_row : bool
            Whether the weight of a component counts once per row of a chunklet.
        strength : float
            Cost of a violated cannot-link of weight 1; may be infinite.
        """
        order = closure.by_component
        sizes = closure.sizes.astype(float)
        penalty = strength * closure.weight
        graph = _symmetric(closure.cannot_link, penalty, closure.n_components)
        exact: list[_Piece] = []
        loose: list[int] = []
        alone: list[int] = []
        for nodes in _components(graph):
            if len(nodes) == 1:
                alone.append(int(nodes[0]))
                continue
            piece = _plan_component(nodes, _neighbors(graph, nodes))
            terms = float(k) ** min(piece[1], 60) * len(nodes) * k
            if terms <= MAX_TERMS:
                exact.append(piece)
            else:
                loose.extend(nodes.tolist())
        rest = np.array(loose, dtype=np.int64)
        between = graph[rest][:, rest].tocsr()
        between.data = np.minimum(between.data, _STRONGEST)
        return cls(
            rows=closure.nodes[order],
            first=np.cumsum(closure.sizes) - closure.sizes,
            exponent=sizes if per_row else np.ones(len(sizes)),
            alone=np.array(alone, dtype=np.int64),
            plan=_join(exact),
            loose=rest,
            graph=between,
        )

    @property
    def n_chunklets(self) -> int:
        """Number of chunklets, those of one row included."""
        return len(self.first)

    @cached_property
    def chunklet(self) -> Ints:
        """Chunklet of each of `rows`."""
        sizes = np.diff(np.append(self.first, len(self.rows)))
        return np.repeat(np.arange(self.n_chunklets), sizes)

    def gather(self, log_density: Floats) -> Floats:
        """Log density of each chunklet under each component: rows of one are independent."""
        return np.add.reduceat(log_density, self.first, axis=0)

    def sum_labels(self, density: Floats, log_weight: Floats, loose: Floats) -> Summed:
        """Sum over the labels of all chunklets.

        Parameters
        ----------
        density : ndarray of shape (n_chunklets, k)
            Log densities of chunklets.
        log_weight : ndarray of shape (k,)
        loose : ndarray of shape (n_loose, k)
            INOUT: probabilities in components that are too large for exact sums.
        """
        potential = density + self.exponent[:, None] * log_weight
        marginal = np.empty_like(potential)
        single = logsumexp(potential[self.alone], axis=1)
        marginal[self.alone] = np.exp(potential[self.alone] - single[:, None])
        total = float(single.sum())
        if len(self.plan.node):
            log_sum, found = sum_plan(self.plan, potential[self.plan.node])
            marginal[self.plan.node] = found
            total += float(log_sum.sum())
        if len(self.loose):
            total += self._fit_loose(potential[self.loose], loose)
            marginal[self.loose] = loose
        return Summed(total, marginal)

    def _fit_loose(self, potential: Floats, loose: Floats) -> float:
        graph = self.graph
        return float(
            _kernels.mean_field(
                graph.indptr.astype(np.int64), graph.indices.astype(np.int64), graph.data,
                np.ascontiguousarray(potential), loose, _SWEEPS, _SETTLED,
            )
        )  # fmt: skip

    def best_labels(self, density: Floats, log_weight: Floats, loose: Floats) -> Ints:
        """The likeliest labels of all chunklets together; in large components, one by one."""
        potential = density + self.exponent[:, None] * log_weight
        labels = potential.argmax(axis=1)
        if len(self.plan.node):
            # Sums over cold labelings are maxima; noise far below what matters breaks ties.
            chosen = potential[self.plan.node]
            chosen = chosen - chosen.max(axis=1, keepdims=True)
            chosen += _TIES * np.random.RandomState(0).uniform(size=chosen.shape)
            labels[self.plan.node] = sum_plan(self._cold_plan, _COLD * chosen)[1].argmax(axis=1)
        if len(self.loose):
            labels[self.loose] = loose.argmax(axis=1)
        return labels

    @property
    def _cold_plan(self) -> Plan:
        cost, edges = self.plan.parent_penalty, self.plan.edge_penalty
        return self.plan._replace(parent_penalty=_COLD * cost, edge_penalty=_COLD * edges)


def sum_plan(plan: Plan, potential: Floats) -> tuple[Floats, Floats]:
    """Log sum of each component of a plan, and marginals of its nodes."""
    log_sum, marginal = np.empty(len(plan.n_cut)), np.empty(potential.shape)
    _kernels.sum_components(plan, np.ascontiguousarray(potential), log_sum, marginal)
    return log_sum, marginal


def _symmetric(pairs: Ints, value: Floats, n: int) -> csr_array:
    i, j = np.concatenate([pairs, pairs[:, ::-1]]).T
    return csr_array((np.concatenate([value, value]), (i, j)), shape=(n, n))


def _components(graph: csr_array) -> list[Ints]:
    """Nodes of each connected component."""
    if not graph.shape[0]:
        return []
    n, label = connected_components(graph, directed=False)
    order = np.argsort(label, kind="stable")
    return np.split(order, np.cumsum(np.bincount(label, minlength=n))[:-1])


_Piece = tuple[Ints, int, Ints, Floats, list[tuple[int, int, float]]]


def _neighbors(graph: csr_array, nodes: Ints) -> list[dict[int, float]]:
    """Penalties by neighbor of each node, by position among the nodes of a component."""
    place = {node: position for position, node in enumerate(nodes.tolist())}
    found = []
    for node in nodes.tolist():
        part = slice(graph.indptr[node], graph.indptr[node + 1])
        others = [place[other] for other in graph.indices[part].tolist()]
        found.append(dict(zip(others, graph.data[part].tolist(), strict=True)))
    return found


def _plan_component(nodes: Ints, near: list[dict[int, float]]) -> _Piece:
    """Cutset and forest of one component: nodes in order, size of the cutset, parents, edges."""
    cut = _cutset([set(others) for others in near])
    order, parent = _walk(near, cut)
    place = {node: position for position, node in enumerate(order)}
    above = np.array([-1 if up is None else place[up] for up in parent], dtype=np.int64)
    cost = np.array(
        [0.0 if up is None else near[node][up] for node, up in zip(order, parent, strict=True)]
    )
    edges = [
        (place[a], place[b], penalty)
        for a in cut
        for b, penalty in near[a].items()
        if b not in cut or place[a] < place[b]
    ]
    return nodes[order], len(cut), above, cost, edges


def _cutset(near: list[set[int]]) -> list[int]:
    """Nodes without which no ring is left: always the one with the most edges left."""
    near = [set(others) for others in near]
    left, cut = set(range(len(near))), []
    ends = [node for node in left if len(near[node]) < 2]
    while left:
        while ends:
            node = ends.pop()
            if node not in left:
                continue
            left.discard(node)
            for other in near[node]:
                near[other].discard(node)
                if len(near[other]) < 2:
                    ends.append(other)
            near[node] = set()
        if left:
            node = max(left, key=lambda i: (len(near[i]), -i))
            cut.append(node)
            left.discard(node)
            for other in near[node]:
                near[other].discard(node)
                if len(near[other]) < 2:
                    ends.append(other)
            near[node] = set()
    return cut


def _walk(near: list[dict[int, float]], cut: list[int]) -> tuple[list[int], list[int | None]]:
    """Cutset, then the forest without it with parents before children; the parent of each."""
    order, parent = list(cut), [None] * len(cut)
    above: list[int | None] = list(parent)
    seen = set(cut)
    for root in range(len(near)):
        if root in seen:
            continue
        seen.add(root)
        waiting: list[tuple[int, int | None]] = [(root, None)]
        while waiting:
            node, up = waiting.pop()
            order.append(node)
            above.append(up)
            for other in near[node]:
                if other not in seen:
                    seen.add(other)
                    waiting.append((other, node))
    return order, above


def _join(pieces: list[_Piece]) -> Plan:
    """Components one after another."""
    sizes = np.array([len(piece[0]) for piece in pieces], dtype=np.int64)
    start = np.append(0, np.cumsum(sizes)).astype(np.int64)
    parents = [
        np.where(piece[2] < 0, -1, piece[2] + begin)
        for piece, begin in zip(pieces, start[:-1].tolist(), strict=True)
    ]
    edges = [edge for piece in pieces for edge in piece[4]]
    n_edges = np.array([len(piece[4]) for piece in pieces], dtype=np.int64)
    return Plan(
        node=_chain([piece[0] for piece in pieces], np.int64),
        start=start,
        n_cut=np.array([piece[1] for piece in pieces], dtype=np.int64),
        parent=_chain(parents, np.int64),
        parent_penalty=_chain([piece[3] for piece in pieces], np.float64),
        edge_start=np.append(0, np.cumsum(n_edges)).astype(np.int64),
        edge_cut=np.array([edge[0] for edge in edges], dtype=np.int64),
        edge_node=np.array([edge[1] for edge in edges], dtype=np.int64),
        edge_penalty=np.array([edge[2] for edge in edges], dtype=np.float64),
    )


def _chain(parts: list[NDArray], dtype: type) -> NDArray:
    return np.concatenate([np.zeros(0, dtype), *parts]).astype(dtype)


def distinct(field: Field) -> tuple[Plan, Floats, Floats]:
    """Components that differ as priors see them, their exponents, and how often each occurs.

    Without densities, components of the same shape, penalties and exponents have the same sum.
    """
    plan = field.plan
    seen: dict[bytes, int] = {}
    chosen: list[int] = []
    count: list[float] = []
    for c in range(len(plan.n_cut)):
        first, last = plan.start[c : c + 2]
        edges = slice(plan.edge_start[c], plan.edge_start[c + 1])
        parent = plan.parent[first:last]
        key = b"|".join(
            part.tobytes()
            for part in (
                field.exponent[plan.node[first:last]],
                np.where(parent < 0, -1, parent - first),
                plan.parent_penalty[first:last],
                plan.edge_cut[edges],
                plan.edge_node[edges],
                plan.edge_penalty[edges],
            )
        )
        if key not in seen:
            seen[key] = len(chosen)
            chosen.append(c)
            count.append(0.0)
        count[seen[key]] += 1.0
    part = _choose(plan, chosen)
    return part, field.exponent[part.node], np.array(count)


def _choose(plan: Plan, components: list[int]) -> Plan:
    pieces: list[_Piece] = []
    for c in components:
        first, last = plan.start[c : c + 2].tolist()
        edges = range(plan.edge_start[c], plan.edge_start[c + 1])
        parent = plan.parent[first:last]
        pieces.append(
            (
                plan.node[first:last],
                int(plan.n_cut[c]),
                np.where(parent < 0, -1, parent - first),
                plan.parent_penalty[first:last],
                [
                    (int(plan.edge_cut[e]), int(plan.edge_node[e]), float(plan.edge_penalty[e]))
                    for e in edges
                ],
            )
        )
    return _join(pieces)
