"""Parts merged into clusters, given some answers; and what may be asked next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from linkwise._types import Floats, Ints

from ._answer_curves import Prediction, sigmoid
from ._incremental_closure import IncrementalClosure
from ._label_spreading import are_large, follow_neighbors
from ._parts import Parts
from ._questions import Verdict
from ._repair_kernels import follow, joining_merges, tree_nodes, ward_linkage
from ._repair_tree import Linkage, Tree

History = Sequence[tuple[int, int, Verdict]]
Evidence = dict[tuple[int, int], float]  # log odds of the answers, by pair of parts

LEAST_SHARE = 0.05  # of the votes of neighbors
MOST_CLOSENESS = 1.5  # log odds; one answer outweighs closeness, see `agglomerate_softly`
_LOCAL_NEIGHBOR, _LOCAL_TYPICAL, _LOCAL_RANGE = 5, 0.6, (0.6, 2.0)
_INSIDE = 0.6  # value of a pair that a split sets right: its pieces must still find their clusters
_LEAST_DOUBT = 1.0  # pairs that a check of answers must be expected to change
_SURE, _LEAST_SURE = 0.008, 80  # share of wrong answers that neighbors may follow; answers
_SHOWN = 64  # candidates looked at before all are sorted


class Candidate(NamedTuple):
    """A question that might be asked.

    Attributes
    ----------
    value : float
        Number of pairs of rows that its answer is expected to change.
    left, right : ndarray of int
        Parts on the two sides.
    inside : bool
        Whether the sides are in one cluster now.
    """

    value: float
    left: Ints
    right: Ints
    inside: bool


@dataclass(frozen=True, eq=False)
class Stage:
    """Parts and their linkage in the metric of some answers.

    Attributes
    ----------
    n_answers : int
    parts : Parts
    linkage : Linkage
    top : float
        Height of the last merge without constraints.
    outer : ndarray of bool of shape (n_answers,)
        Whether each answer was about two modes, by those of its own stage.
    first : ndarray of shape (n_rows,)
        The modes at the beginning of the stage.
    n_clusters : int or None
        Clusters are so many from now on, and questions grow groups (see `Groups`); None: the
        answers say where to cut.
    noise : float
        Share of wrong answers; 0 takes every answer as true.
    """

    n_answers: int
    parts: Parts
    linkage: Linkage
    top: float
    outer: Ints
    first: Ints
    n_clusters: int | None = None
    noise: float = 0.0

    @property
    def is_sure(self) -> bool:
        """Whether answers can be relied on."""
        return not self.noise or (self.noise <= _SURE and self.n_answers >= _LEAST_SURE)

    def was_outer(self, history: History) -> Ints:
        """1 for answers that were about two modes, 0 for those that tested a merge.

        An answer that tested a merge says nothing about modes that closeness leaves apart, also
        when it has become one about two modes by saying "different".
        """
        new = [int(self.first[i] != self.first[j]) for i, j, _ in history[self.n_answers :]]
        return np.concatenate([self.outer, np.array(new, dtype=np.int64)])

    def without_linkage(self) -> Stage:
        """The same without the computed linkage, which needs most of the memory."""
        return replace(self, linkage=replace(self.linkage))


@dataclass(frozen=True, eq=False)
class RepairState:
    """Parts merged into clusters, given some answers.

    Attributes
    ----------
    stage : Stage
    prediction : Prediction
    merges : ndarray of shape (n_merges, 6)
        See `agglomerate`.
    mode : ndarray of shape (n_parts,)
        Parts merged by closeness.
    family : ndarray of shape (n_parts,)
        Modes joined by answers: the clusters.
    apart : ndarray of bool of shape (n_parts, n_parts)
    H : ndarray of shape (n_modes, n_modes)
        Linkage of the modes, in the order of `slots`.
    size : ndarray of shape (n_modes,)
        Rows per mode.
    evidence : dict
        Log odds of the answers, if they may be wrong.
    told : ndarray of bool of shape (n_parts,)
        Parts with rows that answers are about.
    """

    stage: Stage
    prediction: Prediction
    merges: Floats
    mode: Ints
    family: Ints
    apart: Floats
    H: Floats
    size: Floats
    evidence: Evidence
    told: Floats

    @cached_property
    def labels(self) -> Ints:
        """Cluster of each row."""
        found = np.unique(self.cluster, return_inverse=True)[1]
        return found[self.stage.parts.of_row]

    @property
    def cluster(self) -> Ints:
        """Family of each part after those that nobody asked about have followed their neighbors."""
        return self._followed[0]

    @cached_property
    def _followed(self) -> tuple[Ints, Floats]:
        """The cluster of each part, and the share of its neighbors, or of their votes, for it."""
        # A wrong answer would take its neighbors along.
        if self.stage.is_sure and are_large(self.family):
            return follow_neighbors(self.stage.parts, self.family, self.told)
        neighbors = self.stage.linkage.neighbors
        own = (self.family[neighbors] == self.family[:, None]).sum(axis=1)
        return self.family, own / max(neighbors.shape[1], 1)

    @cached_property
    def slots(self) -> Ints:
        """Slots of the modes."""
        return np.unique(self.mode)

    @cached_property
    def local(self) -> Floats:
        """Local distance between modes, in the order of `slots`."""
        return _local_distance(self.H, self.size)

    @cached_property
    def _children(self) -> Ints:
        """Both nodes of each merge; parts are 0..m-1, the q-th merge is node m + q."""
        return tree_nodes(self.merges, self.stage.parts.n_parts)

    def leaves(self, node: int) -> Ints:
        """Parts under a node of the tree."""
        m, stack, found = self.stage.parts.n_parts, [node], []
        while stack:
            top = stack.pop()
            if top < m:
                found.append(top)
            else:
                stack.extend(self._children[top - m].tolist())
        return np.array(sorted(found), dtype=np.int64)

    @cached_property
    def values(self) -> tuple[Floats, Floats, Floats]:
        """Expected number of changed pairs, per merge, pair of modes, and part that moved."""
        merges, slots = self.merges, self.slots
        odds = self.prediction.inner.odds(merges[:, 2] / self.stage.top)
        inner_evidence, between = self._evidence()
        odds = np.where(inner_evidence, np.clip(odds, -MOST_CLOSENESS, MOST_CLOSENESS), odds)
        odds = odds + self._margins()
        inner = _INSIDE * merges[:, 3] * merges[:, 4] * sigmoid(-(odds + inner_evidence))
        doubts = inner_evidence != 0
        inner[np.where(doubts, inner < _LEAST_DOUBT, merges[:, 5] > 0)] = 0.0
        inner[np.append(self._asked_there, False)[self._single]] = 0.0
        family = self.family[slots]
        mass = np.bincount(self.family, self.stage.parts.weight, len(self.family))[family]
        height = self.H / self.stage.top
        odds = self.prediction.outer.odds(height, self.local)
        same = family[:, None] == family[None, :]
        if self.evidence:
            closeness = np.clip(odds, -MOST_CLOSENESS, MOST_CLOSENESS)
            number = np.unique(family, return_inverse=True)[1]
            joint = np.zeros((number.max() + 1, number.max() + 1))
            np.add.at(joint, (number[:, None], number[None, :]), between)
            across = np.minimum(odds, MOST_CLOSENESS) + joint[np.ix_(number, number)]
            value = np.outer(mass, mass) * sigmoid(across)
            size = self.size
            doubt = _INSIDE * np.outer(size, size) * sigmoid(-(closeness + between)) * (between > 0)
            value = np.where(same, doubt, value)
            told = same | self.apart[np.ix_(family, family)]
            value[told & (value < _LEAST_DOUBT)] = 0.0
        else:
            value = np.outer(mass, mass) * sigmoid(odds)
            value[self.apart[np.ix_(family, family)] | same] = 0.0
        return inner, np.triu(value, 1), self._moved_values()

    def _moved_values(self) -> Floats:
        """Of asking whether a part that followed its neighbors belongs there; else 0."""
        weight = self.stage.parts.weight
        mass = np.bincount(self.cluster, weight, len(weight))[self.cluster]
        value = _INSIDE * weight * mass * sigmoid(-self._neighbor_odds)
        return np.where(self._asked_there, value, 0.0)

    @property
    def _asked_there(self) -> Floats:
        """Parts that are compared with the cluster they moved to, not with those they came from.

        Only where answers keep both apart: else "same" would make them one.
        """
        return self.apart[self.family, self.cluster]

    def _margins(self) -> Floats:
        """Log odds that a part merged alone is like its neighbors; else 0."""
        return np.append(self._neighbor_odds, 0.0)[self._single]

    @property
    def _single(self) -> Ints:
        """The part that each merge adds to others; n_parts if it joins larger nodes."""
        m = len(self.mode)
        return np.minimum(self._children.min(axis=1, initial=m), m)  # merged nodes come later

    @property
    def _neighbor_odds(self) -> Floats:
        """Log odds that a part is in the cluster of its neighbors."""
        share = self._followed[1]
        return np.log((share + LEAST_SHARE) / (1 - share + LEAST_SHARE))

    def _evidence(self) -> tuple[Floats, Floats]:
        """Log odds of the answers at each merge and between modes; zero without a noise model."""
        inner = np.zeros(len(self.merges))
        between = np.zeros((len(self.slots), len(self.slots)))
        if self.evidence:
            at = self.join_heights(list(self.evidence))
            for (pair, odds), merge in zip(self.evidence.items(), at, strict=True):
                if merge >= 0:
                    inner[merge] += odds
                else:
                    a, b = np.searchsorted(self.slots, self.mode[list(pair)])
                    between[a, b] += odds
                    between[b, a] += odds
        return inner, between

    def join_heights(self, pairs: Sequence[tuple[int, int]]) -> list[int]:
        """The merge that joined each pair of parts; -1 if they are in different modes."""
        wanted = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        return joining_merges(self.merges, self.stage.parts.n_parts, wanted).tolist()

    def candidates(self) -> Iterator[Candidate]:
        """Questions by the number of pairs that their answer is expected to change."""
        inner, between, moved = self.values
        n_inner, n_known = len(inner), len(inner) + between.size
        worth = np.concatenate([inner, between.ravel(), moved])
        for order in _best_first(worth):
            for where in order.tolist():
                if where < n_inner:
                    left, right = self._children[where].tolist()
                    sides = self.leaves(left), self.leaves(right)
                elif where < n_known:
                    a, b = divmod(where - n_inner, len(self.slots))
                    sides = self.parts_of(self.slots[a]), self.parts_of(self.slots[b])
                else:
                    sides = self._moved_sides(where - n_known)
                inside = not n_inner <= where < n_known
                yield Candidate(float(worth[where]), *sides, inside=inside)

    def _moved_sides(self, part: int) -> tuple[Ints, Ints]:
        """A part that moved, and those of its new cluster that answers are about."""
        return np.array([part]), np.flatnonzero(self.told & (self.family == self.cluster[part]))

    def parts_of(self, slot: int) -> Ints:
        """Parts of a mode."""
        return np.flatnonzero(self.mode == slot)

    def odds(self, i: int, j: int) -> float:
        """Log odds that two rows belong together, closeness alone."""
        a, b = self.stage.parts.of_row[[i, j]]
        if a == b:
            return float(self.prediction.inner.odds(np.zeros(1))[0])
        merge = self.join_heights([(int(a), int(b))])[0]
        if merge >= 0:
            height = self.merges[merge, 2] / self.stage.top
            return float(self.prediction.inner.odds(np.array([height]))[0])
        one, two = np.searchsorted(self.slots, self.mode[[a, b]])
        height = self.H[one, two] / self.stage.top
        outer = self.prediction.outer
        return float(outer.odds(np.array([height]), self.local[[one], [two]])[0])


def _best_first(worth: Floats) -> Iterator[Ints]:
    """Indices of positive values, the best first: some at once, all only if these do not do."""
    some = min(_SHOWN, len(worth))
    if some == 0:
        return
    early = np.argpartition(-worth, some - 1)[:some]
    early = early[worth[early] > 0]
    yield early[np.lexsort((early, -worth[early]))]
    rest = np.setdiff1d(np.flatnonzero(worth > 0), early)
    yield rest[np.lexsort((rest, -worth[rest]))]


def _local_distance(H: Floats, size: Floats) -> Floats:
    """Squared distance of two modes relative to that of modes around both, less a typical value.

    Ward's linkage is the squared distance of the means times s t / (s + t) for sizes s and t. The
    scale of a mode is its distance to the fifth nearest other one, as in locally scaled affinities
    (Zelnik-Manor and Perona 2004). Zero where there are too few modes for a scale.
    """
    n = len(H)
    if n <= _LOCAL_NEIGHBOR + 1:
        return np.zeros((n, n))
    squared = H * (1.0 / size[:, None] + 1.0 / size[None, :])
    scale = np.sqrt(np.partition(squared, _LOCAL_NEIGHBOR - 1, axis=1)[:, _LOCAL_NEIGHBOR - 1])
    scale = np.maximum(scale, 1e-6 * scale.max(initial=1e-300))
    np.fill_diagonal(squared, 0.0)
    low, high = _LOCAL_RANGE
    return np.clip(squared / np.outer(scale, scale), low, high) - _LOCAL_TYPICAL


def merge(stage: Stage, predicted: Prediction, tree: Tree, evidence: Evidence) -> RepairState:
    """The clusters below the cut of a tree."""
    weight = stage.parts.weight
    family, apart = tree.family.copy(), tree.apart.copy()
    n, mode = follow(tree.merges, predicted.cut * stage.top, family, apart)
    place = np.unique(mode, return_inverse=True)[1]
    size = np.bincount(place, weight).astype(np.float64)
    center = np.column_stack([np.bincount(place, weight * x) for x in stage.linkage.center.T])
    H = ward_linkage(center / size[:, None], size)
    return RepairState(
        stage, predicted, tree.merges[:n], mode, family, apart, H, size, evidence, tree.told
    )


def answered_parts(
    stage: Stage, history: History, known: IncrementalClosure | None
) -> tuple[Ints, Floats, Ints]:
    """Parts, 1 for "same", and place of each answer but those that `known` contradicts."""
    part = stage.parts.of_row
    found = [
        (int(part[i]), int(part[j]), said == "same", place)
        for place, (i, j, said) in enumerate(history)
        if said != "unsure"
        and part[i] != part[j]
        and (known is None or known.relation(i, j) == said)
    ]
    told = np.array(found, dtype=np.int64).reshape(-1, 4)
    return np.ascontiguousarray(told[:, :2]), told[:, 2].astype(np.float64), told[:, 3]
