"""Are relative constraints consistent? OneTree (Aho's algorithm), and proofs when they are not.

Entry points: `one_tree` builds a tree that induces every triplet ab|c, `irreducible` shrinks an
inconsistent set until dropping any one of it makes the rest consistent.

References
----------
.. [1] E. Y. Liu, Z. Zhang, W. Wang. Clustering with relative constraints. KDD 2011, section 4.1.
.. [2] A. V. Aho, Y. Sagiv, T. G. Szymanski, J. D. Ullman. Inferring a tree from lowest common
   ancestors with an application to the optimization of relational expressions. SIAM J.
   Computing 10(3), 1981.
.. [3] U. Junker. QuickXplain: preferred explanations and relaxations for over-constrained
   problems. AAAI 2004.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ._links import Rows


@dataclass(frozen=True)
class TreeBuilt:
    """Result of OneTree over items 0..n-1.

    Attributes
    ----------
    parent : ndarray of shape (n_nodes,) or None
        Parents with the items first, children before parents and the root last; None when the
        triplets are inconsistent.
    conflict : ndarray of int
        Positions of triplets that cannot be met together (not yet irreducible); empty when the
        tree exists.
    """

    parent: Rows | None
    conflict: Rows


def one_tree(triplets: Rows, n_items: int) -> TreeBuilt:
    """Build the least resolved tree over 0..n_items-1 that induces every triplet ab|c.

    All sets of one depth are split at once: joining a and b of the triplets that lie wholly in a
    set must leave at least two parts of it. Each depth costs a pass over the triplets still
    inside some set, so the whole is near-linear unless the tree is a long caterpillar.
    """
    builder = _TopDown(n_items)
    active = np.arange(len(triplets))
    items = np.arange(n_items)  # items of the sets still to be split
    while len(active):
        a, b, c = triplets[active].T
        part = _parts(a, b, items, n_items)
        whole = builder.unsplit(items, part)
        if len(whole):
            return TreeBuilt(None, active[np.isin(builder.node[a], whole)])
        builder.split(items, part)
        node = builder.node
        active = active[node[a] == node[c]]
        is_open = np.zeros(builder.n_nodes, dtype=bool)
        is_open[node[triplets[active, 0]]] = True
        items = items[is_open[node[items]]]
    return TreeBuilt(builder.parents(), np.zeros(0, dtype=np.int64))


def _parts(a: Rows, b: Rows, items: Rows, n_items: int) -> Rows:
    """Part of each of `items`, 0..p-1, when the pairs (a, b) are joined."""
    place = np.empty(n_items, dtype=np.int64)
    place[items] = np.arange(len(items))
    graph = coo_array(
        (np.ones(len(a), dtype=np.int64), (place[a], place[b])), shape=(len(items), len(items))
    )
    return connected_components(graph, directed=False)[1].astype(np.int64)


class _TopDown:
    """A tree that grows from the root: each set of items is a node, splitting it adds children."""

    def __init__(self, n_items: int):
        self.node: Rows = np.zeros(n_items, dtype=np.int64)  # the lowest set that holds each item
        self.n_nodes = 1
        self._above: list[Rows] = [np.array([-1])]

    def _set_of(self, items: Rows, part: Rows) -> Rows:
        """The set that each part lies in."""
        owner = np.empty(part.max() + 1, dtype=np.int64)
        owner[part] = self.node[items]
        return owner

    def unsplit(self, items: Rows, part: Rows) -> Rows:
        """The sets that would stay in one part."""
        return np.flatnonzero(np.bincount(self._set_of(items, part)) == 1)

    def split(self, items: Rows, part: Rows) -> None:
        """Make a node of every part with at least two items; single items stay where they are."""
        large = np.bincount(part) > 1
        number = self.n_nodes + np.cumsum(large) - 1
        self._above.append(self._set_of(items, part)[large])
        self.n_nodes += int(large.sum())
        grown = large[part]
        self.node[items[grown]] = number[part[grown]]

    def parents(self) -> Rows:
        """Parents in the order of `Tree`: items first, then the sets, the root last."""
        n_items, last = len(self.node), len(self.node) + self.n_nodes - 1
        above = np.concatenate(self._above)[::-1]
        inner = np.where(above < 0, -1, last - above)
        if n_items == 1:
            return np.array([-1])
        return np.concatenate([last - self.node, inner])


def irreducible(
    candidates: Rows, consistent: Callable[[Rows], bool], time_limit: float = np.inf
) -> tuple[Rows, bool]:
    """A subset of inconsistent `candidates` that becomes consistent when any one is dropped.

    QuickXplain: O(m log(n / m)) tests for a result of size m out of n. When time runs out, the
    set is inconsistent still, but perhaps not irreducible; the second value tells.
    """
    deadline = time.monotonic() + time_limit

    def test(chosen: Rows) -> bool:
        # Saying "consistent" keeps everything that has not been looked at yet.
        return time.monotonic() > deadline or consistent(chosen)

    core = np.sort(_explain(np.zeros(0, np.int64), candidates, False, test))
    return core, time.monotonic() <= deadline


def _explain(
    background: Rows, candidates: Rows, grown: bool, consistent: Callable[[Rows], bool]
) -> Rows:
    if grown and not consistent(background):
        return candidates[:0]
    if len(candidates) == 1:
        return candidates
    half = len(candidates) // 2
    first, second = candidates[:half], candidates[half:]
    needed_second = _explain(
        np.concatenate([background, first]), second, len(first) > 0, consistent
    )
    needed_first = _explain(
        np.concatenate([background, needed_second]), first, len(needed_second) > 0, consistent
    )
    return np.concatenate([needed_first, needed_second])
