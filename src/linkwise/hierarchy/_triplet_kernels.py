"""Compiled TestCompatibility: relative constraints between clusters, and OneTree's tree of them.

No validation, no classes: arguments are arrays the caller owns, bundled as named tuples of arrays.
The tree is kept up to date as clusters merge. Two clusters that hang from one node may merge. If
they meet in a node with two branches, they may not: joined, nothing would keep that set apart.
Otherwise the test goes on inside the two branches only, and so does the change when they merge.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from linkwise._compiled import kernel
from linkwise.constraints._kernels import split_down

# ends (m, 3) clusters now; alive (m,); lists of places 3 t + side: first (n, 2) of edges and of
# thirds, after (3 m,); count (n,) living places
Triplets = namedtuple("Triplets", "ends alive first after count")
# nodes 0..n-1 are clusters, then sets: up, child, right, left (-1: none), n_children, n_leaves,
# depth, low, high; order (n,): leaves from left to right, node v is low[v]..high[v] of it; flags:
# root, first free node, whether depth and low..high are out of date
Forest = namedtuple("Forest", "up child right left n_children n_leaves depth low high order flags")
# mark (n,), queue (n,), number (n,), side (n,), stamp (1,): room for searching; items (n,), above
# (2 n,), plan: the branch that the last accepted pair is to be merged into, its two clusters, and
# how many items and nodes it has
Search = namedtuple("Search", "mark queue number side stamp items above plan")
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
    return Triplets(ends, np.ones(len(ends), np.bool_), first, after, count)


@kernel
def make_forest(triplets, n):
    """OneTree's tree of the clusters that have triplets; fails if there is none."""
    size = 2 * n + 2
    forest = Forest(
        np.full(size, -1, np.int64), np.full(size, -1, np.int64), np.full(size, -1, np.int64),
        np.full(size, -1, np.int64), np.zeros(size, np.int64), np.zeros(size, np.int64),
        np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size, np.int64),
        np.empty(n, np.int64), np.array([-1, n, 1]),
    )  # fmt: skip
    for node in range(n, size):
        forest.right[node] = node + 1  # free nodes are a list
    items = np.flatnonzero(triplets.count > 0)
    if len(items) == 0:
        return forest, True
    above, _ = _split(triplets, make_search(n), items, -1, -1)
    if len(above) == 0:
        return forest, False
    _hang(forest, items, above, -1)
    return forest, True


@kernel
def make_search(n):
    """Room for searching."""
    return Search(
        np.zeros(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64),
        np.empty(n, np.int64), np.ones(1, np.int64), np.empty(n, np.int64),
        np.empty(2 * n, np.int64), np.full(4, -1, np.int64),
    )  # fmt: skip


# -------------------------------------------------------------------- the tree of constraints


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
def _new_set(f, up):
    node = f.flags[1]
    f.flags[1] = f.right[node]
    f.child[node], f.n_children[node] = -1, 0
    _link(f, node, up)
    return node


@kernel
def _free_set(f, node):
    f.right[node] = f.flags[1]
    f.flags[1] = node


@kernel
def _free_branch(f, node, n):
    """Give back all sets of a branch; its leaves hang nowhere then."""
    top = node
    while True:
        while node >= n and f.child[node] >= 0:
            node = f.child[node]
        up = f.up[node]
        _unlink(f, node)
        if node >= n:
            _free_set(f, node)
        if node == top:
            return
        node = up


@kernel
def _split(c, s, items, x, y):
    """OneTree of some clusters and of the triplets among them; x, if any, is called y.

    OUT     above as `split_down`, empty if there is no tree
            inside (m, 3), numbers of items: then, the triplets that hold a set together
    """
    n_places = 0
    s.stamp[0] += 1
    for k in range(len(items)):
        s.number[items[k]] = k
        s.mark[items[k]] = s.stamp[0]
        n_places += c.count[items[k]]
    if x >= 0:
        s.number[x], s.mark[x] = s.number[y], s.stamp[0]
        n_places += c.count[x]
    inside = np.empty((n_places, 3), np.int64)
    n_inside = 0
    for k in range(len(items) + (1 if x >= 0 else 0)):
        v = items[k] if k < len(items) else x
        before, place = -1, c.first[v, 0]
        while place >= 0:
            t, following = place // 3, c.after[place]
            if not c.alive[t]:  # take it out of the list
                if before < 0:
                    c.first[v, 0] = following
                else:
                    c.after[before] = following
                place = following
                continue
            before = place
            b, third = c.ends[t, 1], c.ends[t, 2]
            if (
                place % 3 == 0
                and s.mark[b] == s.stamp[0] and s.mark[third] == s.stamp[0]
                and s.number[b] != s.number[v]
            ):  # fmt: skip
                inside[n_inside, 0], inside[n_inside, 1] = s.number[v], s.number[b]
                inside[n_inside, 2] = s.number[third]
                n_inside += 1
            place = following
    inside = inside[:n_inside]
    broken = _broken(inside)
    if broken >= 0:
        return np.empty(0, np.int64), inside[broken : broken + 1]
    above, alive = split_down(inside, len(items))
    return above, inside[alive]


@kernel
def _broken(triplets):
    """The first triplet ab|c whose c is one with a or b; -1 if there is none."""
    for t in range(len(triplets)):
        if triplets[t, 2] == triplets[t, 0] or triplets[t, 2] == triplets[t, 1]:
            return t
    return -1


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
    if over >= 0:
        _unlink(f, node)
    f.flags[0] = -1 if over < 0 else f.flags[0]
    if only >= 0:
        _unlink(f, only)
        _link(f, only, over)
        if only < n:
            f.depth[only] = f.depth[node]
        else:
            f.flags[2] = 1
    _free_set(f, node)


@kernel
def _branches(f, i, j):
    """The two branches in which i and j hang from the node where they meet."""
    while f.depth[i] > f.depth[j]:
        i = f.up[i]
    while f.depth[j] > f.depth[i]:
        j = f.up[j]
    while f.up[i] != f.up[j]:
        i, j = f.up[i], f.up[j]
    return i, j


# -------------------------------------------------------------------- may two clusters merge?


@kernel
def _leaves(f, p, q, x, n, out):
    """The leaves of two branches but for x; returns how many."""
    found = 0
    for branch in (p, q):
        for k in range(f.low[branch], f.high[branch]):
            v = f.order[k]
            # Stretches have holes where leaves have gone.
            if v != x and (f.up[v] >= 0 or f.flags[0] == v) and f.low[v] == k:
                out[found] = v
                found += 1
    return found


@kernel
def hopeless(f, c, r, i, j, n):
    """Whether a look at the tree and at former refusals tells that i and j may not merge."""
    if c.count[i] == 0 or c.count[j] == 0 or f.up[i] == f.up[j]:
        return False
    if f.flags[2]:
        _renumber(f, n)
    p, _ = _branches(f, i, j)
    return f.n_children[f.up[p]] == 2 or _is_refused(r, i, j)


@kernel
def compatible(f, c, s, r, i, j, n):
    """TestCompatibility: whether all triplets can still be met once i and j are one cluster."""
    if c.count[i] == 0 or c.count[j] == 0 or f.up[i] == f.up[j]:
        return True
    if f.flags[2]:
        _renumber(f, n)
    p, q = _branches(f, i, j)
    if f.n_children[f.up[p]] == 2 or _is_refused(r, i, j):
        return False
    n_items = _leaves(f, p, q, i, n, s.items)
    above, inside = _split(c, s, s.items[:n_items], i, j)
    if len(above) == 0:
        _remember(r, c, s, inside, i, j)
        return False
    s.above[: len(above)] = above
    s.plan[0], s.plan[1], s.plan[2], s.plan[3] = i, j, n_items, len(above)
    return True


# -------------------------------------------------------------------- former refusals
#
# A refusal ends with a set of clusters that the triplets inside it hold together once i and j are
# one, so that no tree can split it. Without the join it falls into two sides, since no triplet of
# the set has its a on one side and its b on the other. The same set speaks against every pair with
# one cluster on each side. Merging does not change that: it contracts the set, or renames one of
# its clusters, and both keep it connected. Only a set of two clusters, i and j alone, proves
# nothing.


@kernel
def make_refusals(n):
    """No proofs yet."""
    return Refusals(
        np.zeros((n, _COLUMNS), np.int64), np.zeros((n, _COLUMNS), np.int64),
        np.zeros(64 * _COLUMNS, np.int64), np.zeros(_COLUMNS, np.int64), np.zeros(1, np.int64),
    )  # fmt: skip


@kernel
def _is_refused(r, i, j):
    for w in range(_COLUMNS):
        if ((r.left[i, w] & r.right[j, w]) | (r.right[i, w] & r.left[j, w])) & r.alive[w]:
            return True
    return False


@kernel
def _sides(c, s, inside, i, j):
    """The set that triplets hold together once i and j are one, from i and from j.

    It goes into `queue`, and `side` says which of the two each cluster hangs together with;
    returns its size.
    """
    s.stamp[0] += 2
    known, stamp = s.stamp[0] - 1, s.stamp[0]
    for t in range(len(inside)):
        for v in inside[t]:
            s.mark[s.items[v]] = known
    s.queue[0], s.queue[1] = i, j
    s.mark[i], s.mark[j] = stamp, stamp
    s.side[i], s.side[j] = 0, 1
    head, tail = 0, 2
    while head < tail:
        v = s.queue[head]
        head += 1
        place = c.first[v, 0]
        while place >= 0:
            t = place // 3
            w, third = c.ends[t, 1 - place % 3], c.ends[t, 2]
            if c.alive[t] and s.mark[w] == known and s.mark[third] >= known:
                s.mark[w] = stamp
                s.side[w] = s.side[v]
                s.queue[tail] = w
                tail += 1
            place = c.after[place]
    return tail


@kernel
def _remember(r, c, s, inside, i, j):
    """Keep the set that speaks against i and j; it takes the place of the oldest."""
    size = _sides(c, s, inside, i, j)
    if size == 2:
        return
    number = r.flags[0]
    r.flags[0] = (number + 1) % len(r.size)
    w, bit = number // 64, np.int64(1) << (number % 64)
    for v in range(len(r.left)):
        r.left[v, w] &= ~bit
        r.right[v, w] &= ~bit
    for v in s.queue[:size]:
        if s.side[v] == 0:
            r.left[v, w] |= bit
        else:
            r.right[v, w] |= bit
    r.size[number] = size
    r.alive[w] |= bit


@kernel
def merge_refusals(r, x, y):
    """Make x a part of y in all proofs."""
    for w in range(_COLUMNS):
        both = (r.left[x, w] & r.left[y, w]) | (r.right[x, w] & r.right[y, w])
        both &= r.alive[w]
        for b in range(64 if both else 0):
            if both >> b & 1:
                r.size[64 * w + b] -= 1
                if r.size[64 * w + b] == 2:
                    r.alive[w] &= ~(np.int64(1) << b)
        r.left[y, w] |= r.left[x, w]
        r.right[y, w] |= r.right[x, w]


# -------------------------------------------------------------------- merging


@kernel
def _rename(c, x, y):
    """Triplets of x become triplets of y; those with a = b are met and fall away."""
    for which in range(2):
        place = c.first[x, which]
        while place >= 0:
            t, following = place // 3, c.after[place]
            if c.alive[t]:
                c.ends[t, place % 3] = y
                c.count[y] += 1
                c.after[place] = c.first[y, which]
                c.first[y, which] = place
            place = following
        c.first[x, which] = -1
    c.count[x] = 0


@kernel
def _meet_triplets(f, c, y, n):
    """Let the triplets fall away whose a and b are both y; clusters without any leave the tree."""
    place = c.first[y, 0]
    while place >= 0:
        t = place // 3
        if c.alive[t] and c.ends[t, 0] == c.ends[t, 1]:
            c.alive[t] = False
            third = c.ends[t, 2]
            c.count[y] -= 2
            c.count[third] -= 1
            if c.count[third] == 0:
                _leave(f, third, n)
        place = c.after[place]
    if c.count[y] == 0:
        _leave(f, y, n)


@kernel
def _leave(f, v, n):
    if f.up[v] >= 0 or f.flags[0] == v:
        _lose_leaf(f, v, n)


@kernel
def merge_constraints(f, c, s, r, x, y, n):
    """Make x a part of y in triplets and tree."""
    if c.count[x] == 0:
        return
    if c.count[y] == 0:  # y takes the place of x
        up = f.up[x]
        if up >= 0:
            _unlink(f, x)
        _link(f, y, up)
        f.depth[y], f.low[y], f.high[y], f.n_leaves[y] = f.depth[x], f.low[x], f.high[x], 1
        f.order[f.low[y]] = y
        f.up[x] = -1
        _rename(c, x, y)
        return
    if f.up[x] == f.up[y]:
        _lose_leaf(f, x, n)
        _rename(c, x, y)
        _meet_triplets(f, c, y, n)
        return
    if f.flags[2]:
        _renumber(f, n)
    if s.plan[0] != x or s.plan[1] != y:
        compatible(f, c, s, r, x, y, n)
    p, q = _branches(f, x, y)
    up = f.up[p]
    _free_branch(f, p, n)
    _free_branch(f, q, n)
    _rename(c, x, y)
    _meet_triplets(f, c, y, n)
    items = s.items[: s.plan[2]]
    _hang(f, items, s.above[: s.plan[3]], up)
    for v in items:
        if c.count[v] == 0:
            _leave(f, v, n)
    _tidy(f, up, n)
    s.plan[0] = -1
