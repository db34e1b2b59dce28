"""Compiled state of relative constraints between clusters: triplets, and OneTree's tree of them.

No validation, no classes: arguments are arrays the caller owns, bundled as named tuples of arrays.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from linkwise._compiled import kernel
from linkwise.constraints._kernels import split_down

# ends (m, 3) clusters now; alive (m,); lists of places 3 t + side: first (n, 2) of edges and of
# thirds, after (3 m,); count (n,) living places; beside (m,): see `held`
Triplets = namedtuple("Triplets", "ends alive first after count beside")
# nodes 0..n-1 are clusters, then sets: up, child, right, left (-1: none), n_children, n_leaves,
# depth, low, high; order (n,): leaves from left to right, node v is low[v]..high[v] of it; held:
# first of the triplets ab|c whose a and b meet in the node, `beside` is the next, n_held how many
# with those that were met since; flags: root, first free node, whether depth and low..high are out
# of date
Forest = namedtuple(
    "Forest", "up child right left n_children n_leaves depth low high order held n_held flags"
)
# mark, queue, side, number (n,), stamp (1,): room for searching
# The plan for the last accepted pair: its two clusters, and how many there are of: items (n,), the
# branches that stay as they are, and the new sets above them; over (n,), the sets above new sets;
# gone (n,), sets that are no more; met (m, 2), triplets and the new sets in which a and b meet
# Room for `_rebuild`: nodes (n,) and pending (m,) of all waiting (n, 6) parts; kids, root, piece,
# size (n,), level (m, 3) and found (3,) of the present one
Search = namedtuple(
    "Search",
    "mark queue side number stamp plan items above over gone met "
    "nodes pending waiting kids root piece size level found",
)
# proofs that pairs may not merge, 64 per column: left, right (n, columns), bit b of column w is set
# for the clusters of either side of proof 64 w + b; size (64 columns,) clusters left in each proof;
# alive (columns,) bits of the proofs in force; flags: number of the next proof
Refusals = namedtuple("Refusals", "left right size alive flags")
_COLUMNS = 4  # older proofs make room for newer ones


# -------------------------------------------------------------------- state


@kernel
def make_triplets(ends, n):
    """The relative constraints as lists of each cluster's places."""
    first = np.full((n, 2), -1, np.int64)
    after = np.full(3 * len(ends), -1, np.int64)
    count = np.zeros(n, np.int64)
    for t in range(len(ends) - 1, -1, -1):
        for side in range(3):
            v, which = ends[t, side], side // 2
            after[3 * t + side] = first[v, which]
            first[v, which] = 3 * t + side
            count[v] += 1
    beside = np.full(len(ends), -1, np.int64)
    return Triplets(ends, np.ones(len(ends), np.bool_), first, after, count, beside)


@kernel
def make_forest(triplets, n):
    """OneTree's tree of the clusters that have triplets; fails if there is none."""
    size = 2 * n + 2
    forest = Forest(
        np.full(size, -1, np.int64), np.full(size, -1, np.int64), np.full(size, -1, np.int64),
        np.full(size, -1, np.int64), np.zeros(size, np.int64), np.zeros(size, np.int64),
        np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size, np.int64),
        np.empty(n, np.int64), np.full(size, -1, np.int64), np.zeros(size, np.int64),
        np.array([-1, n, 1]),
    )  # fmt: skip
    for node in range(n, size):
        forest.right[node] = node + 1  # free nodes are a list
    items = np.flatnonzero(triplets.count > 0)
    if len(items) == 0:
        return forest, True
    number = np.empty(n, np.int64)
    for k in range(len(items)):
        number[items[k]] = k
    ends = np.empty_like(triplets.ends)
    for t in range(len(ends)):
        for side in range(3):
            ends[t, side] = number[triplets.ends[t, side]]
    above, _ = split_down(ends, len(items))
    if len(above) == 0:
        return forest, False
    _hang(forest, items, above, -1)
    _renumber(forest, n)
    for t in range(len(ends)):
        branch, _ = _branches(forest.up, forest.depth, triplets.ends[t, 0], triplets.ends[t, 1])
        _file(forest.held, forest.n_held, triplets.beside, t, forest.up[branch])
    return forest, True


@kernel
def make_search(n, n_triplets):
    """Room for searching."""
    m = n_triplets
    return Search(
        np.zeros(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64),
        np.ones(1, np.int64), np.full(6, -1, np.int64), np.empty(n, np.int64),
        np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64),
        np.empty((m, 2), np.int64), np.empty(n, np.int64), np.empty(m, np.int64),
        np.empty((n, 6), np.int64), np.empty(n, np.int64), np.empty(n, np.int64),
        np.empty(n, np.int64), np.empty((n, 2), np.int64), np.empty((m, 3), np.int64),
        np.empty(3, np.int64),
    )  # fmt: skip


@kernel
def make_refusals(n):
    """No proofs yet."""
    return Refusals(
        np.zeros((n, _COLUMNS), np.int64), np.zeros((n, _COLUMNS), np.int64),
        np.zeros(64 * _COLUMNS, np.int64), np.zeros(_COLUMNS, np.int64), np.zeros(1, np.int64),
    )  # fmt: skip


# -------------------------------------------------------------------- primitives


@kernel
def _link(f, node, up):
    """Hang a node under another."""
    f.up[node] = up
    f.left[node], f.right[node] = -1, -1
    if up < 0:
        f.flags[0] = node
        return
    first = f.child[up]
    f.right[node] = first
    if first >= 0:
        f.left[first] = node
    f.child[up] = node
    f.n_children[up] += 1


@kernel
def _unlink(f, node):
    """Take a node out from under its parent; its own branch stays as it is."""
    up, left, right = f.up[node], f.left[node], f.right[node]
    if up >= 0:
        f.n_children[up] -= 1
        if left < 0:
            f.child[up] = right
    if left >= 0:
        f.right[left] = right
    if right >= 0:
        f.left[right] = left
    f.up[node] = -1


@kernel
def _replace(f, node, other):
    """Put another node in the place of one, so that siblings stay in the order of `low`."""
    up, left, right = f.up[node], f.left[node], f.right[node]
    f.up[other], f.left[other], f.right[other] = up, left, right
    if up < 0:
        f.flags[0] = other
    elif left < 0:
        f.child[up] = other
    if left >= 0:
        f.right[left] = other
    if right >= 0:
        f.left[right] = other
    f.up[node] = -1


@kernel
def _file(held, n_held, beside, t, node):
    """Note that a and b of a triplet meet in a node."""
    beside[t] = held[node]
    held[node] = t
    n_held[node] += 1


@kernel
def _new_set(f, up):
    node = f.flags[1]
    f.flags[1] = f.right[node]
    f.child[node], f.n_children[node] = -1, 0
    _link(f, node, up)
    return node


@kernel
def _free_set(f, node):
    f.held[node], f.n_held[node] = -1, 0
    f.right[node] = f.flags[1]
    f.flags[1] = node


@kernel
def _hang(f, items, above, up):
    """Hang a tree of some clusters under `up`."""
    f.flags[2] = 1
    if len(items) == 1:
        _link(f, items[0], up)
        return
    sets = np.empty(len(above) - len(items), np.int64)
    for k in range(len(sets)):
        over = above[len(items) + k]
        sets[k] = _new_set(f, up if over < 0 else sets[over])
    for k in range(len(items)):
        _link(f, items[k], sets[above[k]])


@kernel
def _renumber(f, n):
    """Depth, leaves and stretch of every node, in one walk."""
    f.flags[2] = 0
    node = f.flags[0]
    if node < 0:
        return
    place, depth = 0, 0
    down = True
    while node >= 0:
        if down:
            f.depth[node], f.low[node] = depth, place
            if node < n:
                f.order[place] = node
                place += 1
            elif f.child[node] >= 0:
                node = f.child[node]
                depth += 1
                continue
        f.high[node] = place
        f.n_leaves[node] = place - f.low[node]
        if f.right[node] >= 0 and f.up[node] >= 0:
            node, down = f.right[node], True
        else:
            node, down = f.up[node], False
            depth -= 1


@kernel
def _lose_leaf(f, node, n):
    """Take a leaf out of the tree."""
    up = f.up[node]
    _unlink(f, node)
    over = up
    while over >= 0:
        f.n_leaves[over] -= 1
        over = f.up[over]
    _tidy(f, up, n)


@kernel
def _tidy(f, node, n):
    """A set with a single branch left gives way to that branch, one without any to nothing."""
    if node < 0:
        f.flags[0] = -1
        return
    if f.n_children[node] > 1:
        return
    only, over = f.child[node], f.up[node]
    if only < 0:
        _unlink(f, node)
        f.flags[0] = -1 if over < 0 else f.flags[0]
    else:
        _replace(f, node, only)
        if only < n:
            f.depth[only] = f.depth[node]
        else:
            f.flags[2] = 1
    _free_set(f, node)


@kernel
def _branches(up, depth, i, j):
    """The two branches in which i and j hang from the node where they meet."""
    while depth[i] > depth[j]:
        i = up[i]
    while depth[j] > depth[i]:
        j = up[j]
    while up[i] != up[j]:
        i, j = up[i], up[j]
    return i, j
