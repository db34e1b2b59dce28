"""Label inference under links (a pairwise Markov random field).

Hard links: rows connected by must-links form a chunklet with one label, and a cannot-link between
two chunklets forbids equal labels. Soft links: every linked row has a separate label, and a
violated link of weight w divides the probability of a labeling by exp(strength w). For a must-link
this is, but for a constant, a cost of -strength w if the labels are equal, so that one kind of edge
serves both. Connected components of that graph are summed over exactly if `MAX_TERMS` terms
suffice. In larger ones the labels are taken as independent (mean field), which gives a lower bound
of the sum.

References
----------
.. [1] N. Shental, A. Bar-Hillel, T. Hertz, D. Weinshall. Computing Gaussian mixture models with EM
   using equivalence constraints. NIPS 16, 2003, sections 2 and 3.
.. [2] Z. Lu, T. K. Leen. Semi-supervised learning with penalized probabilistic clustering. NIPS
   17, 2005 (soft links).
.. [3] J. Pearl. Probabilistic reasoning in intelligent systems. 1988, section 4.4 (cutsets).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.special import logsumexp

from linkwise import _core
from linkwise.constraints import Constraints, number_nodes

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_LEAST = 1e-300  # weights whose logarithm is taken are at least this
# Labelings of the cutset, times nodes, times labels: about 20 ms of an E-step per component.
MAX_TERMS = 1_000_000
_STRONGEST = 30.0  # largest cost in the mean field: exp(-30) is no probability that matters
_SWEEPS, _SETTLED = 50, 1e-6  # of the mean field: sweeps, and the change at which they end
_COLD, _TIES = 1e6, 1e-4  # a factor that leaves only the best labeling; noise that breaks ties


class Plan(NamedTuple):
    """Components for exact sums, one after another; in each, the cutset comes first.

    `start` is the first node of each component and `n_cut` the size of its cutset. `parent` and
    `parent_penalty` describe the forest without the cutsets (-1 at its roots); the edges with an
    end in a cutset are given by position in their component.
    """

    start: Ints
    n_cut: Ints
    parent: Ints
    parent_penalty: Floats
    edge_start: Ints
    edge_cut: Ints
    edge_node: Ints
    edge_penalty: Floats

    def sum(self, potential: Floats) -> tuple[Floats, Floats]:
        """Log sum over the labelings of each component, and the marginals of all nodes."""
        log_sum, marginal = np.empty(len(self.n_cut)), np.empty(potential.shape)
        _core.sum_components(*self, np.ascontiguousarray(potential), log_sum, marginal)
        return log_sum, marginal


@dataclass(frozen=True)
class Field:
    """Chunklets (single rows if links are soft) and the costs of equal labels between them."""

    rows: Ints  # rows in chunklets, chunklet after chunklet
    first: Ints  # position of the first row of each chunklet
    exponent: Floats  # power of the component's weight: 1, or the number of rows of the chunklet
    alone: Ints  # chunklets without edges
    exact: Ints  # chunklets with exact sums, in the order of `plan`
    plan: Plan
    loose: Ints  # chunklets in components that are too large for exact sums
    graph: csr_array  # costs of equal labels among these

    @classmethod
    def of(cls, pairs: Constraints, k: int, *, per_row: bool, strength: float) -> Field:
        """The field of links by row number, for k labels.

        With `per_row`, the weight of a component counts once per row of a chunklet. A violated
        link of weight 1 costs `strength`; links are hard if it is infinite.
        """
        if np.isfinite(strength):
            rows, (must, ends) = number_nodes(pairs.must_link, pairs.cannot_link)
            sizes, ends = np.ones(len(rows), dtype=np.int64), np.concatenate([must, ends])
            weight = np.concatenate([-pairs.must_link_weight, pairs.cannot_link_weight])
        else:
            closure = pairs.closure()
            rows, sizes = closure.nodes[closure.by_component], closure.sizes
            ends, weight = closure.cannot_link, closure.weight
        graph = _symmetric(ends, strength * weight, len(sizes))
        pieces: list[_Piece] = []
        loose: list[int] = []
        alone: list[int] = []
        for nodes in _components(graph):
            if len(nodes) == 1:
                alone.append(int(nodes[0]))
                continue
            piece = _plan_component(nodes, _neighbors(graph, nodes))
            # The power would overflow for large cutsets, which are too large anyway.
            if float(k) ** min(piece.n_cut, 60) * len(nodes) * k <= MAX_TERMS:
                pieces.append(piece)
            else:
                loose.extend(nodes.tolist())
        rest = np.array(loose, dtype=np.int64)
        between = graph[rest][:, rest].tocsr()
        between.data = np.clip(between.data, -_STRONGEST, _STRONGEST)
        return cls(
            rows=rows,
            first=np.cumsum(sizes) - sizes,
            exponent=sizes.astype(float) if per_row else np.ones(len(sizes)),
            alone=np.array(alone, dtype=np.int64),
            exact=_chain([piece.nodes for piece in pieces], np.int64),
            plan=_join(pieces),
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

    def sum_rows(self, values: Floats) -> Floats:
        """Sums over the rows of each chunklet: of log densities, as rows are independent."""
        return np.add.reduceat(values, self.first, axis=0)

    def sum_labels(
        self, density: Floats, log_weight: Floats, loose: Floats
    ) -> tuple[float, Floats]:
        """Log of the sum over all labelings, and the probability of each label of each chunklet.

        `density` holds the log densities of chunklets; `loose`, the probabilities in components
        that are too large for exact sums, is updated in place.
        """
        potential = density + self.exponent[:, None] * log_weight
        marginal = np.empty_like(potential)
        single = logsumexp(potential[self.alone], axis=1)
        marginal[self.alone] = np.exp(potential[self.alone] - single[:, None])
        total = float(single.sum())
        if len(self.exact):
            log_sum, marginal[self.exact] = self.plan.sum(potential[self.exact])
            total += float(log_sum.sum())
        if len(self.loose):
            total += _core.mean_field(
                self.graph.indptr.astype(np.int64), self.graph.indices.astype(np.int64),
                self.graph.data, potential[self.loose], loose, _SWEEPS, _SETTLED,
            )  # fmt: skip
            # The constant of must-links, which cancels only where sums are divided by others.
            total += float(np.minimum(self.graph.data, 0.0).sum()) / 2
            marginal[self.loose] = loose
        return total, marginal

    def best_labels(self, density: Floats, log_weight: Floats, loose: Floats) -> Ints:
        """The most probable labels of all chunklets jointly; in large components, one by one."""
        potential = density + self.exponent[:, None] * log_weight
        labels = potential.argmax(axis=1)
        if len(self.exact):
            # At a low temperature, sums over labelings are maxima; noise far below what matters
            # breaks ties between labelings.
            chosen = potential[self.exact]
            chosen = chosen - chosen.max(axis=1, keepdims=True)
            chosen += _TIES * np.random.RandomState(0).uniform(size=chosen.shape)
            cold = self.plan._replace(
                parent_penalty=_COLD * self.plan.parent_penalty,
                edge_penalty=_COLD * self.plan.edge_penalty,
            )
            labels[self.exact] = cold.sum(_COLD * chosen)[1].argmax(axis=1)
        if len(self.loose):
            labels[self.loose] = loose.argmax(axis=1)
        return labels

    def log_normalizer(self, log_weight: Floats) -> tuple[float, Floats]:
        """Log probability that labels drawn from the weights satisfy the links; its derivative.

        Components with mean field are left out: a bound cannot be divided by a bound.
        """
        power = self.exponent[self.alone]
        powers = power[:, None] * log_weight
        single = logsumexp(powers, axis=1)
        value, counts = float(single.sum()), power @ np.exp(powers - single[:, None])
        if len(self.exact):
            power = self.exponent[self.exact]
            log_sum, marginal = self.plan.sum(power[:, None] * log_weight)
            value, counts = value + float(log_sum.sum()), counts + power @ marginal
        return value, counts

    def best_weights(self, counts: Floats, weight: Floats) -> Floats:
        """Weights of the M-step, given the expected counts and the present weights.

        The labels of linked rows are conditioned on the links, so the likelihood is divided by the
        probability Z(w) that labels drawn from the weights satisfy them. In the log weights,
        counts @ log(w) - log Z(w) is concave, because log Z is a log-sum-exp of linear functions.
        """
        if not len(self.exact) and (self.exponent[self.alone] == 1).all():
            return counts / counts.sum()  # Z is 1

        def loss(theta: Floats) -> tuple[float, Floats]:
            log_weight = theta - logsumexp(theta)
            log_z, expected = self.log_normalizer(log_weight)
            slope = counts - expected
            return log_z - float(counts @ log_weight), np.exp(log_weight) * slope.sum() - slope

        start = np.log(np.maximum(weight, _LEAST))
        found = minimize(loss, start, jac=True, method="L-BFGS-B")
        if found.fun > loss(start)[0]:  # rounding at the maximum
            return weight
        return np.exp(found.x - logsumexp(found.x))


class _Piece(NamedTuple):
    """Cutset and forest of one component; parents and edges by position in `nodes`."""

    nodes: Ints
    n_cut: int
    parent: Ints
    parent_penalty: Floats
    edges: list[tuple[int, int, float]]


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
    """Split one component into a cutset and a forest."""
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
    return _Piece(nodes[order], len(cut), above, cost, edges)


def _cutset(near: list[set[int]]) -> list[int]:
    """Nodes whose removal leaves no cycle; greedily, the one with the most edges left."""
    left, cut = set(range(len(near))), []
    ends = [node for node in left if len(near[node]) < 2]  # on no cycle
    while left:
        if ends:
            node = ends.pop()
        else:
            node = max(left, key=lambda i: (len(near[i]), -i))
            cut.append(node)
        if node not in left:
            continue
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
    start = np.cumsum([0, *(len(piece.nodes) for piece in pieces)])
    edges = [edge for piece in pieces for edge in piece.edges]
    parents = [
        np.where(piece.parent < 0, -1, piece.parent + begin)
        for piece, begin in zip(pieces, start[:-1].tolist(), strict=True)
    ]
    return Plan(
        start=start.astype(np.int64),
        n_cut=np.array([piece.n_cut for piece in pieces], dtype=np.int64),
        parent=_chain(parents, np.int64),
        parent_penalty=_chain([piece.parent_penalty for piece in pieces], np.float64),
        edge_start=np.cumsum([0, *(len(piece.edges) for piece in pieces)]).astype(np.int64),
        edge_cut=np.array([edge[0] for edge in edges], dtype=np.int64),
        edge_node=np.array([edge[1] for edge in edges], dtype=np.int64),
        edge_penalty=np.array([edge[2] for edge in edges], dtype=np.float64),
    )


def _chain(parts: list[NDArray], dtype: type) -> NDArray:
    return np.concatenate([np.zeros(0, dtype), *parts]).astype(dtype)
