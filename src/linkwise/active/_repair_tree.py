"""Trees of parts under answers: what merges, and at which height.

As long as no answer forbids a merge, the tree under answers is the one without them. That one is
computed once, and kept at a few sizes on the way; an answer costs the rest from there on.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from linkwise._types import Floats, Ints

from ._incremental_closure import IncrementalClosure
from ._parts import Parts
from ._repair_kernels import agglomerate, follow, joining_merges, nearest_parts, ward_linkage

NO_PAIRS = np.zeros((0, 2), dtype=np.int64)
_NEIGHBORS = 10
_FEWEST = 100  # nodes of the last snapshot


class Snapshot(NamedTuple):
    """Nodes that are left after some merges without answers.

    Attributes
    ----------
    n_merges : int
    slot : ndarray of shape (n_nodes,)
        Their names, in ascending order.
    H : ndarray of shape (n_nodes, n_nodes)
    size : ndarray of shape (n_nodes,)
    """

    n_merges: int
    slot: Ints
    H: Floats
    size: Floats

    def grow(
        self, family: Ints, apart: Floats, pairs: Ints = NO_PAIRS, most: int | None = None
    ) -> Grown:
        """Merge these nodes as far as answers allow, at most so many times."""
        m = len(self.slot)
        H, size = self.H.copy(), self.size.copy()
        merges, crossing = np.zeros((m, 6)), np.zeros(len(pairs))
        n = agglomerate(
            H, size, family.copy(), apart.copy(), *nearest_parts(H), pairs, crossing, merges,
            m if most is None else most,
        )  # fmt: skip
        merges = merges[:n]
        left = np.setdiff1d(np.arange(m), merges[:, 1].astype(np.int64))
        merges[:, :2] = self.slot[merges[:, :2].astype(np.int64)]
        after = Snapshot(self.n_merges + n, self.slot[left], H[np.ix_(left, left)], size[left])
        return Grown(merges, crossing, after)


class Grown(NamedTuple):
    """Merges of the nodes of a snapshot, and the nodes that they leave.

    Attributes
    ----------
    merges : ndarray of shape (n_merges, 6)
        See `agglomerate`.
    crossing : ndarray of shape (n_pairs,)
        Height at which each of some pairs of nodes merges, or would.
    left : Snapshot
    """

    merges: Floats
    crossing: Floats
    left: Snapshot


@dataclass(frozen=True, eq=False)
class Linkage:
    """Ward's linkage between parts, computed when it is needed first.

    Attributes
    ----------
    center : ndarray of shape (n_parts, n_features)
    weight : ndarray of shape (n_parts,)
    """

    center: Floats
    weight: Floats

    @cached_property
    def H(self) -> Floats:
        """Linkage of all pairs; infinite on the diagonal."""
        return ward_linkage(np.ascontiguousarray(self.center), self.weight)

    @cached_property
    def neighbors(self) -> Ints:
        """The nearest parts of each part."""
        k = min(_NEIGHBORS, len(self.weight) - 1)
        if not k:
            return np.zeros((1, 0), dtype=np.int64)
        return np.argpartition(self.H, k - 1, axis=1)[:, :k].copy()  # without the matrix behind it

    @property
    def top(self) -> float:
        """Height of the last merge without answers."""
        merges = self.free[0]
        return float(merges[-1, 2]) if len(merges) and merges[-1, 2] > 0 else 1.0

    @cached_property
    def free(self) -> tuple[Floats, list[Snapshot]]:
        """The merges without answers, and the nodes left at half the parts, a quarter, ..."""
        m = len(self.weight)
        snapshots = [Snapshot(0, np.arange(m), self.H, self.weight)]
        merges, none = [np.zeros((0, 6))], np.zeros((m, m), dtype=bool)
        while (n_left := len(snapshots[-1].slot)) > 1:
            is_last = n_left < 2 * _FEWEST
            most = n_left if is_last else n_left // 2
            grown = snapshots[-1].grow(snapshots[-1].slot, none, most=most)
            merges.append(grown.merges)
            if is_last:
                break
            snapshots.append(grown.left)
        return np.vstack(merges), snapshots


class Tree(NamedTuple):
    """All merges of parts that some answers allow, the lowest first.

    Attributes
    ----------
    merges : ndarray of shape (n_merges, 6)
        See `agglomerate`.
    family : ndarray of shape (n_parts,)
        Parts that answers join, by their lowest part.
    apart : ndarray of bool of shape (n_parts, n_parts)
        Families that answers keep apart.
    crossing : ndarray of shape (n_pairs,)
        Height at which each of some pairs of parts merges, or would.
    told : ndarray of bool of shape (n_parts,)
        Parts with rows that answers are about.
    """

    merges: Floats
    family: Ints
    apart: Floats
    crossing: Floats
    told: Floats


def families(parts: Parts, known: IncrementalClosure) -> tuple[Ints, Floats]:
    """Families of parts that answers join, by their lowest part, and which of them are apart."""
    m, part = parts.n_parts, parts.of_row
    family = np.arange(m)
    lowest: dict[int, int] = {}

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
    told = [(root, other) for root, others in known.apart.items() for other in others]
    left, right = family[part[np.array(told, dtype=np.int64).reshape(-1, 2)]].T
    apart[left, right] = True
    np.fill_diagonal(apart, False)
    return family, apart


def grow_tree(
    parts: Parts, linkage: Linkage, known: IncrementalClosure, pairs: Ints = NO_PAIRS
) -> Tree:
    """All merges that answers allow, and the heights at which some pairs of parts merge."""
    family, apart = families(parts, known)
    merges, snapshots = linkage.free
    n_allowed = follow(merges.copy(), np.inf, family.copy(), apart.copy())[0]
    start = max((one for one in snapshots if one.n_merges <= n_allowed), key=lambda s: s.n_merges)
    before, joined, guarded = merges[: start.n_merges].copy(), family.copy(), apart.copy()
    root = follow(before, np.inf, joined, guarded)[1]
    grown = start.grow(joined[start.slot], guarded, np.searchsorted(start.slot, root[pairs]))
    at = joining_merges(before, parts.n_parts, pairs)
    crossing = np.where(at < 0, grown.crossing, np.append(before[:, 2], 0.0)[at])
    told = np.zeros(parts.n_parts, dtype=bool)
    told[parts.of_row[[row for rows in known.members.values() for row in rows]]] = True
    return Tree(np.vstack([before, grown.merges]), family, apart, crossing, told)
