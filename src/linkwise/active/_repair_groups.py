"""Groups of parts that answers have joined, and which two of them are most likely one.

Where clusters are many, testing what closeness assumes is spent on splits that leave pieces
without a cluster: 2,000 answers on CLINC150 raised ARI to .68 only. Here groups grow from the
bottom up: the next question is about the two groups that are one with the largest chance, so that
most answers are "same" and join something for good. In 1,000 parts, 2,000 questions by the number
of pairs times the chance reach .70, by the chance alone .77 (benchmarks/RESULTS.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.spatial.distance import cdist

from linkwise._types import Floats, Ints

from ._answer_curves import most_probable, sigmoid
from ._incremental_closure import IncrementalClosure
from ._parts import Parts
from ._repair_tree import families

_NEIGHBORS, _SCALE_NEIGHBOR = 30, 5
_PRIOR, _PRIOR_SD = np.array([1.0, 1.0, 1.0]), np.full(3, 2.0)
_SIZE_POWER = 0.1
_ALL = 100  # answers that the curve is learnt from, all of them; of more the last half
_ENOUGH = 0.7  # share of the rows


@dataclass(frozen=True, eq=False)
class NeighborGraph:
    """Parts and their nearest neighbors.

    Attributes
    ----------
    parts : Parts
    edge : ndarray of shape (n_edges, 2)
        Pairs of parts, one of which is among the nearest of the other.
    squared : ndarray of shape (n_parts, n_parts)
        Squared distances of centers.
    scale : ndarray of shape (n_parts,)
        Distance to the fifth nearest part.
    typical : float
        Mean of the logarithm of the squared length of an edge.
    """

    parts: Parts
    edge: Ints
    squared: Floats
    scale: Floats
    typical: float

    @classmethod
    def of(cls, parts: Parts) -> NeighborGraph:
        """The graph of some parts, at least two."""
        m = parts.n_parts
        squared = cdist(parts.center, parts.center, "sqeuclidean")
        np.maximum(squared, 1e-12, out=squared)
        np.fill_diagonal(squared, np.inf)
        k = min(_NEIGHBORS, m - 1)
        near = np.argpartition(squared, k - 1, axis=1)[:, :k]
        pairs = np.column_stack([np.repeat(np.arange(m), k), near.ravel()])
        edge = np.unique(np.sort(pairs, axis=1), axis=0)
        fifth = min(_SCALE_NEIGHBOR, m - 1) - 1
        scale = np.sqrt(np.partition(squared, fifth, axis=1)[:, fifth])
        typical = float(np.log(squared[edge[:, 0], edge[:, 1]]).mean())
        return cls(parts, edge, squared, scale, typical)

    def local(self, a: Ints, b: Ints) -> Floats:
        """Logarithm of squared distances relative to those of the parts around both."""
        return np.log(self.squared[a, b] / (self.scale[a] * self.scale[b]))

    def design(self, local: Floats, squared: Floats) -> Floats:
        """What the odds of "same" are linear in."""
        far = np.log(np.maximum(squared, 1e-12)) - self.typical
        return np.column_stack([np.ones(len(far)), -local, -far])


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of parts, given some answers.

    Attributes
    ----------
    graph : NeighborGraph
    known : IncrementalClosure
    """

    graph: NeighborGraph
    known: IncrementalClosure

    @cached_property
    def _joined(self) -> tuple[Ints, Floats]:
        return families(self.graph.parts, self.known)

    @property
    def labels(self) -> Ints:
        """Group of each row."""
        return np.unique(self._joined[0], return_inverse=True)[1][self.graph.parts.of_row]

    @property
    def are_found(self) -> bool:
        """Whether most rows are in parts that answers have joined to others.

        On CLINC150 the groups become better than what closeness makes of them at about this share.
        """
        family, _ = self._joined
        joined = (np.bincount(family, minlength=len(family)) > 1)[family]
        n_joined = float(self.graph.parts.weight[joined].sum())
        return n_joined > _ENOUGH * len(self.graph.parts.of_row)

    @cached_property
    def _weights(self) -> Floats:
        """Of the odds of "same", by the last half of the answers."""
        graph, part = self.graph, self.graph.parts.of_row
        history = self.known.history
        recent = history[len(history) // 2 :] if len(history) > _ALL else history
        rows = [(i, j, said == "same") for i, j, said in recent if said != "unsure"]
        told = np.array(rows, dtype=np.int64).reshape(-1, 3)
        a, b = part[told[:, 0]], part[told[:, 1]]
        two = a != b
        a, b, same = a[two], b[two], told[two, 2].astype(np.float64)
        design = graph.design(graph.local(a, b), graph.squared[a, b])
        start, *slopes = most_probable(design, same, 0.0, _PRIOR, _PRIOR_SD)
        return np.array([start, *np.maximum(slopes, 0.0)])

    def pairs(self, pending: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int, float]]:
        """Rows that speak for two groups, and the chance that these are one; the best first.

        Groups that a pending question is about are left out.
        """
        graph, (family, apart) = self.graph, self._joined
        parts = graph.parts
        if pending:
            a, b = family[parts.of_row[np.array(pending)]].T
            apart = apart.copy()
            apart[a, b] = apart[b, a] = True
        a, b = family[graph.edge].T
        left = np.flatnonzero((a != b) & ~apart[a, b])
        a, b, edge = a[left], b[left], graph.edge[left]
        mass = np.bincount(family, parts.weight, len(family))
        total = np.zeros_like(parts.center)
        np.add.at(total, family, parts.center * parts.weight[:, None])
        mean = total / np.maximum(mass, 1.0)[:, None]
        squared = ((mean[a] - mean[b]) ** 2).sum(axis=1)
        design = graph.design(graph.local(edge[:, 0], edge[:, 1]), squared)
        chance = sigmoid(design @ self._weights)
        value = chance * (mass[a] * mass[b]) ** _SIZE_POWER
        for where in np.argsort(-value, kind="stable").tolist():
            i, j = parts.row[edge[where]].tolist()
            yield i, j, float(chance[where])
