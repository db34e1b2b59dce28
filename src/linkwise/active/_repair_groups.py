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
from scipy.special import expit

from linkwise._types import Floats, Ints

from ._incremental_closure import IncrementalClosure
from ._merge_tree import families, most_probable
from ._parts import Parts

_NEIGHBORS, _SCALE_NEIGHBOR = 30, 5
_PRIOR, _PRIOR_SD = np.array([1.0, 1.0, 1.0]), np.full(3, 2.0)  # odds fall with both distances
_SIZE_POWER = 0.1  # of the number of pairs: nearly by the probability alone, see above
_RECENT = 100  # answers the curve is learned from; of more, the last half: groups have grown since
_ENOUGH = 0.7  # share of the rows


class NeighborGraph:
    """Parts and their nearest neighbors."""

    def __init__(self, parts: Parts):
        m = parts.n_parts
        squared = np.maximum(cdist(parts.center, parts.center, "sqeuclidean"), 1e-12)
        np.fill_diagonal(squared, np.inf)
        k = min(_NEIGHBORS, m - 1)
        near = np.argpartition(squared, k - 1, axis=1)[:, :k]
        pairs = np.column_stack([np.repeat(np.arange(m), k), near.ravel()])
        self.parts = parts
        self.edge = np.unique(np.sort(pairs, axis=1), axis=0)
        last = min(_SCALE_NEIGHBOR, m - 1) - 1
        self._scale = np.sqrt(np.partition(squared, last, axis=1)[:, last])
        self._typical = float(np.log(squared[self.edge[:, 0], self.edge[:, 1]]).mean())
        self._squared = squared

    def design(self, a: Ints, b: Ints, squared: Floats | None = None) -> Floats:
        """Variables of the odds of "same" for pairs of parts, at their own or other distances."""
        own = self._squared[a, b]
        local = np.log(own / (self._scale[a] * self._scale[b]))
        far = np.log(own if squared is None else np.maximum(squared, 1e-12)) - self._typical
        return np.column_stack([np.ones(len(far)), -local, -far])


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of parts, given some answers."""

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
        part, history = self.graph.parts.of_row, self.known.history
        recent = history[len(history) // 2 :] if len(history) > _RECENT else history
        rows = [(part[i], part[j], said == "same") for i, j, said, _ in recent if said != "unsure"]
        answers = np.array(rows, dtype=np.int64).reshape(-1, 3)
        a, b, same = answers[answers[:, 0] != answers[:, 1]].T
        first, *slopes = most_probable(self.graph.design(a, b), same, _PRIOR, _PRIOR_SD)
        return np.array([first, *np.maximum(slopes, 0.0)])

    def pairs(self, pending: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int, float]]:
        """Representative rows of two groups, and the chance that these are one; the best first.

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
        chance = expit(graph.design(edge[:, 0], edge[:, 1], squared) @ self._weights)
        value = chance * (mass[a] * mass[b]) ** _SIZE_POWER
        for where in np.argsort(-value, kind="stable").tolist():
            i, j = parts.row[edge[where]].tolist()
            yield i, j, float(chance[where])
