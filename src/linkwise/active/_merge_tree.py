"""Merges of parts under answers: how their heights predict answers, and the clusters cut from them.

A node is a part or a merged cluster, named by its lowest part. A merge is a line (node, node,
height, size, size, 1 if answers had joined both already); its height is the increase of the sum of
squares (Ward's linkage). See src/core/active.cpp.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import expit

from linkwise._core import agglomerate, joining_merges
from linkwise._types import Floats, Ints

from ._incremental_closure import IncrementalClosure
from ._parts import Parts
from ._questions import Verdict

History = Sequence[tuple[int, int, Verdict, float]]  # rows, answer, weight
Evidence = dict[tuple[int, int], float]  # log odds of the answers, by pair of parts

# Prior of the curve: "same" and "different" are equally likely at a tenth of the greatest height,
# and the odds fall with its power 1.5; both wide enough for some ten answers to replace them.
_PRIOR, _PRIOR_SD = np.array([1.5 * np.log(0.1), 1.5]), np.array([3.0, 1.0])
_LEAST_SLOPE, _LEAST_HEIGHT = 0.3, 1e-5  # the odds fall with height, whatever a few answers say
# Log odds of closeness where answers are evidence: below those of one answer, log((1 - p) / p),
# for each p up to `MOST_WRONG`, so that answers which agree are never outweighed.
MOST_CLOSENESS = 1.5
_INSIDE = 0.6  # value of a pair that a split corrects: its pieces must still find their clusters
_LEAST_DOUBT = 1.0  # pairs that another question about an answered pair must be expected to change
_SHOWN = 64  # candidates that are sorted before all are


class Curve(NamedTuple):
    """Log odds of "same" for a merge of relative height h: slope * (middle - log h)."""

    slope: float
    middle: float

    def odds(self, height: Floats) -> Floats:
        """Log odds at relative heights."""
        return self.slope * (self.middle - np.log(np.clip(height, _LEAST_HEIGHT, 1.0)))


def merge_curve(height: Floats, same: Floats) -> Curve:
    """Most probable curve of merges under a Gaussian prior."""
    logs = np.log(np.clip(height, _LEAST_HEIGHT, 1.0))
    design = np.column_stack([np.ones(len(logs)), -logs])
    a, slope = most_probable(design, same, _PRIOR, _PRIOR_SD)
    slope = max(float(slope), _LEAST_SLOPE)
    return Curve(slope, min(float(a) / slope, 0.0))


def most_probable(design: Floats, same: Floats, prior: Floats, sd: Floats) -> Floats:
    """Most probable weights of a logistic model with Gaussian priors, by Newton's method."""
    precision = np.diag(sd**-2.0)
    w = prior.copy()
    for _ in range(60):
        chance = expit(design @ w)
        gradient = design.T @ (same - chance) - precision @ (w - prior)
        hessian = (design * (chance * (1 - chance))[:, None]).T @ design + precision
        step = np.linalg.solve(hessian, gradient)
        largest = np.abs(step).max()
        w = w + step * min(1.0, 1.0 / max(largest, 1e-12))  # full steps may diverge far away
        if largest < 1e-6:
            break
    return w


def ward_linkage(center: Floats, weight: Floats) -> Floats:
    """Increase of the sum of squares when two parts merge, for all pairs; infinite with itself."""
    H = cdist(center, center, "sqeuclidean")
    H *= np.outer(weight, weight) / np.add.outer(weight, weight)
    np.fill_diagonal(H, np.inf)
    return H


@dataclass(frozen=True, eq=False)
class Stage:
    """Parts and their linkage, in the metric of the first answers."""

    n_answers: int
    parts: Parts
    center: Floats  # of the parts, in the metric
    noise: float = 0.0  # share of wrong answers; 0 takes every answer as true
    # number of clusters, fixed while questions grow groups (see `Groups`); None: the cut
    # follows from the answers
    n_clusters: int | None = None

    @cached_property
    def H(self) -> Floats:
        """Ward's linkage between the parts."""
        return ward_linkage(np.ascontiguousarray(self.center), self.parts.weight)

    @cached_property
    def free(self) -> Floats:
        """All merges without answers."""
        m = self.parts.n_parts
        return grow(self, np.arange(m), np.zeros((m, m), dtype=bool))[0]

    @property
    def top(self) -> float:
        """Height of the last merge without answers."""
        return float(self.free[-1, 2]) if len(self.free) and self.free[-1, 2] > 0 else 1.0


def families(parts: Parts, known: IncrementalClosure) -> tuple[Ints, Floats]:
    """Families of parts that answers join, by their lowest part, and which of them are apart."""
    m, part = parts.n_parts, parts.of_row
    family, lowest = np.arange(m), dict[int, int]()

    def find(one: int) -> int:
        while lowest.setdefault(one, one) != one:
            lowest[one] = one = lowest[lowest[one]]
        return one

    for rows in known.members.values():
        for one in part[rows].tolist():
            a, b = find(one), find(int(part[rows[0]]))
            lowest[max(a, b)] = min(a, b)
    for one in lowest:
        family[one] = find(one)
    apart = np.zeros((m, m), dtype=bool)
    pairs = [(root, other) for root, others in known.apart.items() for other in others]
    left, right = family[part[np.array(pairs, dtype=np.int64).reshape(-1, 2)]].T
    apart[left, right] = True
    np.fill_diagonal(apart, False)
    return family, apart


def grow(
    stage: Stage, family: Ints, apart: Floats, pairs: Ints | None = None
) -> tuple[Floats, Floats]:
    """All merges that answers allow, and the height at which each pair of parts merges or would."""
    m, H = stage.parts.n_parts, stage.H.copy()
    nearest = H.argmin(axis=1)
    merges, pairs = np.zeros((m, 6)), np.zeros((0, 2), dtype=np.int64) if pairs is None else pairs
    crossing = np.zeros(len(pairs))
    n = agglomerate(
        H, stage.parts.weight.copy(), family.copy(), apart.copy(), nearest,
        H[np.arange(m), nearest], pairs, crossing, merges,
    )  # fmt: skip
    return merges[:n], crossing


class Candidate(NamedTuple):
    """A question: its value in pairs of rows, and the parts on both sides."""

    value: float
    left: Ints
    right: Ints


@dataclass(frozen=True, eq=False)
class RepairState:
    """Parts merged into clusters, given some answers."""

    stage: Stage
    curve: Curve
    merges: Floats  # those below the cut
    mode: Ints  # parts merged by closeness
    family: Ints  # modes joined by answers
    apart: Floats  # families that answers keep apart
    answered: Floats  # parts with rows that answers are about
    evidence: Evidence  # log odds of the answers, if they may be wrong
    spread: bool  # whether parts without answers follow their neighbors

    @cached_property
    def cluster(self) -> Ints:
        """Family of each part, after those without answers have followed their neighbors."""
        if self.spread and are_large(self.family):
            return follow_neighbors(self.stage.parts, self.family, self.answered)
        return self.family

    @cached_property
    def labels(self) -> Ints:
        """Cluster of each row."""
        return np.unique(self.cluster, return_inverse=True)[1][self.stage.parts.of_row]

    @cached_property
    def slots(self) -> Ints:
        """Names of the modes."""
        return np.unique(self.mode)

    @cached_property
    def _children(self) -> Ints:
        """Both nodes of each merge; parts are 0..m-1, the q-th merge is node m + q."""
        m = self.stage.parts.n_parts
        node, found = list(range(m)), []
        for q, (i, j) in enumerate(self.merges[:, :2].astype(np.int64).tolist()):
            found.append((node[i], node[j]))
            node[i] = m + q
        return np.array(found, dtype=np.int64).reshape(-1, 2)

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

    def joining(self, pairs: Sequence[tuple[int, int]]) -> Ints:
        """The merge that joined each pair of parts; -1 if they are in different modes."""
        wanted = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        return joining_merges(self.merges, self.stage.parts.n_parts, wanted)

    @cached_property
    def values(self) -> tuple[Floats, Floats]:
        """Expected number of pairs that a question changes, per merge and per pair of modes."""
        inner, between = self._evidence()
        merges, family = self.merges, self.family[self.slots]
        weight = self.stage.parts.weight
        wrong = expit(-self._odds(merges[:, 2], inner))
        split = _INSIDE * merges[:, 3] * merges[:, 4] * wrong
        split[np.where(inner != 0, split < _LEAST_DOUBT, merges[:, 5] > 0)] = 0.0

        size = np.bincount(self.mode, weight, len(weight))[self.slots].astype(np.float64)
        mass = np.bincount(self.family, weight, len(weight))[family]
        center = self.stage.center * weight[:, None]
        where = np.searchsorted(self.slots, self.mode)
        mean = np.column_stack([np.bincount(where, x) for x in center.T]) / size[:, None]
        H = ward_linkage(mean, size)
        same = family[:, None] == family[None, :]
        joint = _sums(between, family)
        join = np.outer(mass, mass) * expit(self._odds(H, joint))
        check = _INSIDE * np.outer(size, size) * expit(-self._odds(H, between)) * (between > 0)
        value = np.where(same, check, join)
        decided = same | self.apart[np.ix_(family, family)]
        value[decided & (value < _LEAST_DOUBT if self.evidence else True)] = 0.0
        return split, np.triu(value, 1)

    def _odds(self, height: Floats, evidence: Floats) -> Floats:
        """Log odds that two nodes are one cluster."""
        odds = self.curve.odds(height / self.stage.top)
        return evidence + np.where(
            evidence != 0, np.clip(odds, -MOST_CLOSENESS, MOST_CLOSENESS), odds
        )

    def _evidence(self) -> tuple[Floats, Floats]:
        """Log odds of the answers at each merge, and between modes."""
        inner, between = np.zeros(len(self.merges)), np.zeros((len(self.slots), len(self.slots)))
        if self.evidence:
            pairs, odds = np.array(list(self.evidence)), np.array(list(self.evidence.values()))
            at = self.joining(list(self.evidence))
            np.add.at(inner, at[at >= 0], odds[at >= 0])
            a, b = np.searchsorted(self.slots, self.mode[pairs[at < 0]]).T
            np.add.at(between, (a, b), odds[at < 0])
            between = between + between.T
        return inner, between

    def candidates(self) -> Iterator[Candidate]:
        """Questions by the number of pairs that their answer is expected to change."""
        split, between = self.values
        worth = np.concatenate([split, between.ravel()])
        for order in _best_first(worth):
            for where in order.tolist():
                if where < len(split):
                    left, right = map(self.leaves, self._children[where].tolist())
                else:
                    a, b = divmod(where - len(split), len(self.slots))
                    left, right = (np.flatnonzero(self.mode == self.slots[one]) for one in (a, b))
                yield Candidate(float(worth[where]), left, right)


def _sums(between: Floats, family: Ints) -> Floats:
    """Sums of values between modes over all modes of two families, at each pair of modes."""
    if not between.any():
        return between
    number = np.unique(family, return_inverse=True)[1]
    joint = np.zeros((number.max() + 1, number.max() + 1))
    np.add.at(joint, (number[:, None], number[None, :]), between)
    return joint[np.ix_(number, number)]


def _best_first(worth: Floats) -> Iterator[Ints]:
    """Indices of positive values, the best first; sorts all only if some are not enough."""
    some = min(_SHOWN, len(worth))
    if some == 0:
        return
    early = np.argpartition(-worth, some - 1)[:some]
    early = early[worth[early] > 0]
    yield early[np.lexsort((early, -worth[early]))]
    rest = np.setdiff1d(np.flatnonzero(worth > 0), early)
    yield rest[np.lexsort((rest, -worth[rest]))]


def best_cut(stage: Stage, curve: Curve, merges: Floats) -> float:
    """Height of largest expected F-measure over pairs.

    Cutting where "same" is as likely as not would leave most clusters in pieces when clusters are
    hard to tell apart: nearly all pairs are different. The F-measure weighs pairs
    found against pairs missed.
    """
    if len(merges) == 0:
        return stage.top
    share = np.where(merges[:, 5] > 0, 1.0, expit(curve.odds(merges[:, 2] / stage.top)))
    n_pairs = merges[:, 3] * merges[:, 4]
    within = float((stage.parts.weight * (stage.parts.weight - 1) / 2).sum())
    found = np.cumsum(n_pairs * share) + within
    F = 2 * found / (np.cumsum(n_pairs) + within + found[-1])
    return max(float(merges[F.argmax(), 2]), _LEAST_HEIGHT * stage.top) * (1 + 1e-9)


def cut_for(merges: Floats, n_families: int, n_clusters: int) -> float:
    """Height that leaves this number of families, or the nearest that answers allow."""
    left = n_families - np.cumsum(merges[:, 5] == 0)
    last = np.flatnonzero(left >= n_clusters)
    if n_families <= n_clusters or len(last) == 0:
        return 0.0
    return float(merges[last[-1], 2]) * (1 + 1e-9)


# -------------------------------------------------------------------- parts follow neighbors

_PASSED_ON = 0.9  # share of the votes that comes from neighbors, the rest from the part itself
_ROUNDS = 20  # the rest is .9^20 = .12 of the first votes
_LEAST_PARTS = 25  # per family: ten neighbors of a row in a cluster of 20 are mostly of others
_ASSUMED = 0.3  # vote of a part without answers; 1 for the others


def are_large(family: Ints) -> bool:
    """Whether neighbors of most parts can be of their family."""
    return len(family) >= _LEAST_PARTS * max(len(np.unique(family)), 2)


def follow_neighbors(parts: Parts, family: Ints, answered: Floats) -> Ints:
    """Family of each part by the votes of its neighbors; parts with answers and the last stay.

    Label spreading (Zhou et al. 2003). A tree merges compact groups well, but puts rows at the
    margin of a cluster into the wrong one more often than their nearest neighbors do.
    """
    names, own = np.unique(family, return_inverse=True)
    votes = np.zeros((len(own), len(names)))
    votes[np.arange(len(own)), own] = np.where(answered, 1.0, _ASSUMED)
    first = (1 - _PASSED_ON) * votes
    for _ in range(_ROUNDS):
        votes = _PASSED_ON * (parts.walk @ votes) + first
    best = np.where(answered, own, votes.argmax(axis=1))
    stays = np.bincount(own[best == own], minlength=len(names)) > 0
    return names[np.where(stays[own], best, own)]
