"""The heaviest inferred links that are consistent: for methods with hard constraints."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linkwise.constraints import Constraints, color


def heaviest_consistent(
    sources: Constraints, propagated: Constraints, n_clusters: int, labels: NDArray
) -> Constraints:
    """The sources, and the heaviest inferred links that do not contradict them or each other.

    `propagated` has the sources, then the inferred links. These are taken in descending order of
    their weights; one that contradicts those before it is left out, and the last ones too if k
    clusters are not enough for all cannot-links. Where the sources contradict each other, those
    count that the present labels satisfy.
    """
    core = sources.satisfied(labels).satisfied if _contradictory(sources, n_clusters) else sources
    chosen = _greedily(core, sources, propagated)
    low, high = 0, len(chosen)
    while low < high:  # more links never need fewer clusters
        middle = (low + high + 1) // 2
        if _contradictory(_with(core, sources, propagated, chosen[:middle]), n_clusters):
            high = middle - 1
        else:
            low = middle
    return _with(sources, sources, propagated, chosen[:low])


def _contradictory(known: Constraints, n_clusters: int) -> bool:
    closure = known.closure()
    if not closure.consistent:
        return True
    # Half a second: a search that ends without an answer only leaves out some inferred links.
    return color(closure.cannot_link, closure.n_components, n_clusters, 0.5).colors is None


def _greedily(core: Constraints, sources: Constraints, propagated: Constraints) -> NDArray:
    """Positions of inferred links, heaviest first, none of which contradicts those before it."""
    n_must = propagated.n_must_link
    ends = np.concatenate([propagated.must_link, propagated.cannot_link]).tolist()
    weight = np.concatenate([propagated.must_link_weight, propagated.cannot_link_weight])
    inferred = np.ones(len(ends), dtype=bool)
    inferred[: sources.n_must_link] = False
    inferred[n_must : n_must + sources.n_cannot_link] = False
    places = np.flatnonzero(inferred)
    groups = _Groups()
    for i, j in core.must_link.tolist():
        groups.join(i, j)
    for i, j in core.cannot_link.tolist():
        groups.part(i, j)
    heaviest = places[np.argsort(-weight[places], kind="stable")].tolist()
    return np.array(
        [p for p in heaviest if (groups.join if p < n_must else groups.part)(*ends[p])],
        dtype=np.int64,
    )


def _with(
    core: Constraints, sources: Constraints, propagated: Constraints, chosen: NDArray
) -> Constraints:
    """Core constraints followed by some of the inferred ones."""
    n_must = propagated.n_must_link
    must, cannot = np.sort(chosen[chosen < n_must]), np.sort(chosen[chosen >= n_must]) - n_must
    return core.followed_by(
        (
            np.concatenate([core.must_link, propagated.must_link[must]]),
            np.concatenate([core.must_link_weight, propagated.must_link_weight[must]]),
        ),
        (
            np.concatenate([core.cannot_link, propagated.cannot_link[cannot]]),
            np.concatenate([core.cannot_link_weight, propagated.cannot_link_weight[cannot]]),
        ),
        source="propagated",
    )


class _Groups:
    """Disjoint sets of must-linked rows, and the pairs of sets that are cannot-linked."""

    def __init__(self) -> None:
        self._parent: dict[int, int] = {}
        self._apart: dict[int, set[int]] = {}  # roots by root

    def _root(self, row: int) -> int:
        parent = self._parent
        root = parent.setdefault(row, row)
        while parent[root] != root:
            root = parent[root]
        while parent[row] != root:
            parent[row], row = root, parent[row]
        return root

    def join(self, i: int, j: int) -> bool:
        """Merge the sets of two rows unless cannot-linked; returns whether they are one."""
        a, b = self._root(i), self._root(j)
        if a == b:
            return True
        mine, theirs = self._apart.setdefault(a, set()), self._apart.setdefault(b, set())
        if b in mine:
            return False
        if len(mine) < len(theirs):
            a, b, mine, theirs = b, a, theirs, mine
        self._parent[b] = a
        for other in theirs:
            self._apart[other].discard(b)
            self._apart[other].add(a)
        mine |= theirs
        del self._apart[b]
        return True

    def part(self, i: int, j: int) -> bool:
        """Cannot-link the sets of two rows unless they are one; returns whether they are apart."""
        a, b = self._root(i), self._root(j)
        if a == b:
            return False
        self._apart.setdefault(a, set()).add(b)
        self._apart.setdefault(b, set()).add(a)
        return True
