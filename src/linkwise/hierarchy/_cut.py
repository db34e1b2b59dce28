"""Cutting a hierarchy into k parts with what is known, instead of undoing the last merges.

Entry point: `cut`. Undoing merges from the root spends clusters on outliers, which merge late. So
the merges that join the two sides of some ab|c are undone first (they are known to be apart), then
those between large branches, then any. A merge below the top of its part is undone there: the
branches that join the part above it go to the nearer side. That breaks nothing:

- if a merge joins the sides of no ab|c, no constraint restricts where the branch goes;
- where a small branch is known to be apart, it goes to a side only if that leaves c with both of
  a, b or with neither (Definition 4.2 of the paper).

If no side may take a branch, the cut goes through the top of its part instead, which spends a
cluster on it; or, if the branch is smaller than `CutParts.outlier`, it goes to the nearer side all
the same (section 4.2.1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from linkwise._types import Floats
from linkwise.constraints import ConstraintError, Constraints, Tree

Ints = NDArray[np.int64]
# Given two sets of rows: to which of them (0 or 1) a third set is nearer.
Nearer = Callable[[Ints, Ints], Callable[[Ints], int]]


@dataclass
class CutParts:
    """A hierarchy that is being cut: a binary tree whose branches may be hung elsewhere.

    Attributes
    ----------
    left, right, up : ndarray of shape (n_nodes,)
        Branches and parent of each node; rows are nodes 0..n-1.
    size : ndarray of shape (n_nodes,)
        Number of rows below each node.
    support : ndarray of shape (n_nodes,)
        Weight of the triplets whose two sides each merge joins.
    whole : ndarray of bool of shape (n_nodes,)
        Nodes that must not be cut, since their rows must be together.
    triplets, weight, starts : ndarrays
        The triplets sorted by the merge that joins their sides.
    outlier : int
        Branches with fewer rows may go to the nearer side whatever is known about them.
    roots : list of int
        The parts.
    """

    left: Ints
    right: Ints
    up: Ints
    size: Ints
    support: NDArray[np.float64]
    whole: NDArray[np.bool_]
    triplets: Ints
    weight: NDArray[np.float64]
    starts: Ints
    nearer: Nearer | None
    outlier: int = 0
    roots: list[int] = field(default_factory=list)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return (len(self.left) + 1) // 2

    def rows(self, node: int) -> Ints:
        """The rows below a node."""
        found, stack = [], [node]
        while stack:
            node = stack.pop()
            if node < self.n_rows:
                found.append(node)
            else:
                stack += (int(self.left[node]), int(self.right[node]))
        return np.array(found, dtype=np.int64)

    def topmost(self, root: int, wanted: NDArray[np.bool_]) -> Iterator[int]:
        """The wanted merges of a part that have no wanted one above them."""
        stack = [root]
        while stack:
            node = stack.pop()
            if node < self.n_rows or self.whole[node]:
                continue
            if wanted[node]:
                yield node
            else:
                stack += (int(self.left[node]), int(self.right[node]))

    def path(self, node: int) -> list[int]:
        """The merges above a node within its part, from below."""
        above = []
        while self.up[node] >= 0:
            node = int(self.up[node])
            above.append(node)
        return above

    # ---------------------------------------------------------------- undoing a merge

    def undo(self, root: int, merge: int) -> None:
        """Cut a part in two at a merge, or, where branches above find no side, at its top."""
        sides = self._sides(merge)
        if sides is None:
            merge, sides = root, []
        self.roots.remove(root)
        self.roots += self._rehang(merge, sides)

    def _sides(self, merge: int) -> list[tuple[int, int, int]] | None:
        """Where the branches above go: (merge, branch, side); None if one has nowhere to go."""
        above = self.path(merge)
        if not above:
            return []
        rows = [self.rows(int(self.left[merge])), self.rows(int(self.right[merge]))]
        side_of = np.full(self.n_rows, -1)
        side_of[rows[0]], side_of[rows[1]] = 0, 1
        assert self.nearer is not None, "clusters that need not be branches need distances"
        nearer = self.nearer(*rows)
        plan, below = [], merge
        for over in above:
            branch = int(self.right[over] if self.left[over] == below else self.left[over])
            below = over
            own = self.rows(branch)
            allowed = [side for side in (0, 1) if self._may_join(over, own, side_of, side)]
            if not allowed and len(own) >= self.outlier:
                return None
            side = allowed[0] if len(allowed) == 1 else nearer(own)
            plan.append((over, branch, side))
            side_of[own] = side
        return plan

    def _may_join(self, over: int, branch: Ints, side_of: Ints, side: int) -> bool:
        """Whether the branch above may go to a side: c is then with both of a, b or neither."""
        if not self.support[over]:
            return True
        a, b, c = self.triplets[self.starts[over] : self.starts[over + 1]].T
        third = np.isin(c, branch)
        return bool(((side_of[a[third]] == side) == (side_of[b[third]] == side)).all())

    def _rehang(self, merge: int, plan: list[tuple[int, int, int]]) -> list[int]:
        tops = [int(self.left[merge]), int(self.right[merge])]
        self.up[tops] = -1
        for over, branch, side in plan:
            self.left[over], self.right[over] = tops[side], branch
            self.up[tops[side]] = self.up[branch] = over
            self.size[over] = self.size[tops[side]] + self.size[branch]
            self.up[over] = -1
            tops[side] = over
        for over, _, side in plan:
            self._support_anew(over, tops[side])
        return tops

    def _support_anew(self, over: int, top: int) -> None:
        """Triplets that the cut has torn apart support a merge no longer."""
        if self.support[over]:
            inside = np.zeros(self.n_rows, dtype=bool)
            inside[self.rows(top)] = True
            place = slice(self.starts[over], self.starts[over + 1])
            self.support[over] = self.weight[place][inside[self.triplets[place]].all(axis=1)].sum()

    def smaller(self) -> Ints:
        """Rows in the smaller branch of each merge."""
        n = self.n_rows
        less = np.zeros(len(self.left), dtype=np.int64)
        less[n:] = np.minimum(self.size[self.left[n:]], self.size[self.right[n:]])
        return less


def least_clusters(children: Ints, known: Constraints) -> int:
    """In how many branches a hierarchy keeps cannot-linked rows apart."""
    return len(make_parts(children, known, None).roots)


def make_parts(children: Ints, known: Constraints, nearer: Nearer | None) -> CutParts:
    """A hierarchy to be cut, with the constraints that it keeps."""
    n = len(children) + 1
    tree = Tree.from_linkage(children) if n > 1 else Tree([-1], [0])
    left, right = np.full((2, 2 * n - 1), -1, dtype=np.int64)
    left[n:], right[n:] = children.T
    size = np.ones(2 * n - 1, dtype=np.int64)
    for node in range(n, 2 * n - 1):
        size[node] = size[left[node]] + size[right[node]]
    a, _, c = known.relative.T
    at = tree.lca(a, c) if len(a) else a
    order = np.argsort(at, kind="stable")
    starts = np.searchsorted(at[order], np.arange(2 * n))
    weight = known.relative_weight
    parts = CutParts(
        left=left, right=right, up=tree.parent.copy(), size=size,
        support=np.bincount(at, weight, 2 * n - 1).astype(np.float64),
        whole=_whole(known, left, right, n),
        triplets=known.relative[order], weight=weight[order], starts=starts, nearer=nearer,
    )  # fmt: skip
    parts.roots = _without_cannot_links(parts, tree, known)
    return parts


def _whole(known: Constraints, left: Ints, right: Ints, n: int) -> NDArray[np.bool_]:
    """Nodes whose rows must all be together."""
    group = np.arange(n)
    closure = known.closure()
    hub = np.zeros(closure.n_components, dtype=np.int64)
    hub[closure.component[::-1]] = closure.nodes[::-1]
    group[closure.nodes] = hub[closure.component]
    group = np.append(group, np.full(n - 1, -1))
    for node in range(n, 2 * n - 1):
        if group[left[node]] == group[right[node]]:
            group[node] = group[left[node]]
    return group >= 0


def _without_cannot_links(parts: CutParts, tree: Tree, known: Constraints) -> list[int]:
    """The largest branches without a cannot-link inside; they become parts."""
    torn = np.zeros(len(parts.left), dtype=bool)
    if known.n_cannot_link:
        torn[tree.lca(*known.cannot_link.T)] = True
    for node, up in enumerate(tree.parent[:-1].tolist()):
        torn[up] |= torn[node]
    below = ~torn & torn[tree.parent]  # the root, with parent -1, has itself above it here
    roots = np.flatnonzero(below) if torn[-1] else np.array([len(torn) - 1])
    parts.up[roots] = -1
    return [int(root) for root in roots]


def cut(
    children: Ints,
    known: Constraints,
    nearer: Nearer | None,
    k: int | None,
    min_branch: int,
    *,
    strict: bool = True,
) -> NDArray[np.int32]:
    """Labels of k parts of a hierarchy that keep every constraint the hierarchy keeps.

    Parameters
    ----------
    children : ndarray of shape (n - 1, 2)
        The merges.
    known : Constraints
        By row number; the hierarchy keeps the relative ones, and must-linked rows merge first.
    nearer : callable
        To which of two sets of rows a third is nearer.
    k : int or None
        Number of parts; None: as few as the cannot-links allow.
    min_branch : int
        Branches with fewer rows are outliers: merges with them are undone last.
    strict : bool, default=True
        False: outliers that no side of a cut may take go to the nearer one, and relative
        constraints about them may be violated.
    """
    parts = make_parts(children, known, nearer)
    parts.outlier = 0 if strict else min_branch
    least, most = len(parts.roots), _most(parts)
    k = least if k is None else k
    if not least <= k <= most:
        raise ConstraintError(_why_not(k, least, most), topic="clusters")
    asserted = [True, False, True, False]  # what is known first, within each size of branches
    least_size = [min_branch, min_branch, 1, 1]
    for known_apart, size in zip(asserted, least_size, strict=True):
        _undo_all(parts, k, known_apart, size)
    return _labels(parts)


def _undo_all(parts: CutParts, k: int, known_apart: bool, size: int) -> None:
    """Undo merges of a kind, the best supported and latest first, until there are k parts."""
    fresh = list(parts.roots)
    waiting: dict[int, tuple[tuple[float, int], int]] = {}  # root: key and merge
    while len(parts.roots) < k:
        wanted = parts.smaller() >= size
        if known_apart:
            wanted &= parts.support > 0
        for root in fresh:
            found = list(parts.topmost(root, wanted))
            if found:
                waiting[root] = max(((float(parts.support[m]), m), m) for m in found)
        if not waiting:
            return
        root = max(waiting, key=lambda part: waiting[part][0])
        _, merge = waiting.pop(root)
        before = set(parts.roots)
        parts.undo(root, merge)
        fresh = [part for part in parts.roots if part not in before]


def _most(parts: CutParts) -> int:
    """How many parts there can be: each must-linked group stays whole."""
    n = parts.n_rows
    return n - int(parts.whole[n:].sum())


def _why_not(k: int, least: int, most: int) -> str:
    if k > most:
        return (
            f"{{n_clusters={k}}} is too large: must-links leave {most} groups of rows; ask for "
            f"at most {most}"
        )
    return (
        f"{{n_clusters={k}}} is too small: the hierarchy keeps cannot-linked rows apart only in "
        f"{least} clusters or more; ask for at least {least}, or give fewer constraints"
    )


def _labels(parts: CutParts) -> NDArray[np.int32]:
    """Clusters numbered by their first row."""
    labels = np.empty(parts.n_rows, dtype=np.int32)
    members = sorted((parts.rows(root) for root in parts.roots), key=lambda rows: int(rows.min()))
    for number, rows in enumerate(members):
        labels[rows] = number
    return labels


def nearer_by_means(X: Floats, distance: Callable[[Floats, Floats], Floats]) -> Nearer:
    """Nearness of sets of rows by the distances of their means."""

    def nearer(left: Ints, right: Ints) -> Callable[[Ints], int]:
        sides = np.array([X[left].mean(axis=0), X[right].mean(axis=0)])
        return lambda rows: int(distance(X[rows].mean(axis=0)[None], sides)[0].argmin())

    return nearer


def nearer_by_distances(distances: Floats) -> Nearer:
    """Nearness of sets of rows by their average distances."""

    def nearer(left: Ints, right: Ints) -> Callable[[Ints], int]:
        sides = (left, right)
        return lambda rows: int(np.argmin([distances[np.ix_(rows, s)].mean() for s in sides]))

    return nearer
