"""Compiled TestCompatibility: may two clusters merge, and what becomes of the tree if they do.

No validation, no classes: arguments are arrays the caller owns, bundled as named tuples of arrays.
The tree is kept up to date as clusters merge. Two clusters that hang from one node may merge. If
they meet in a node with two branches, they may not: joined, nothing would keep that set apart.
Otherwise the test goes on inside the two branches only, and so does the change when they merge:
see `_rebuild`.
"""

from __future__ import annotations

import numpy as np

from linkwise._compiled import kernel
from linkwise._disjoint_sets import find

from ._triplet_kernels import (
    _COLUMNS,
    _branches,
    _file,
    _free_set,
    _link,
    _lose_leaf,
    _new_set,
    _renumber,
    _replace,
    _unlink,
)

_SEARCH = 8  # steps to find the branches of a triplet's three clusters, in places of leaves

# -------------------------------------------------------------------- may two clusters merge?


# Small loops take the arrays that they read: a call with a whole tuple of them passes hundreds of
# numbers, which takes longer than the loop.


@kernel
def hopeless(up, depth, n_children, count, left, right, alive, i, j):
    """Whether a look at the tree and at former refusals tells that i and j may not merge.

    IN      the first three of the Forest, up to date; count of the Triplets; the rest of Refusals
    """
    if count[i] == 0 or count[j] == 0 or up[i] == up[j]:
        return False
    p, _ = _branches(up, depth, i, j)
    return n_children[up[p]] == 2 or _is_refused(left, right, alive, i, j)


@kernel
def compatible(f, c, s, r, i, j, n):
    """TestCompatibility: whether all triplets can still be met once i and j are one cluster."""
    if c.count[i] == 0 or c.count[j] == 0 or f.up[i] == f.up[j]:
        return True
    if f.flags[2]:
        _renumber(f, n)
    p, q = _branches(f.up, f.depth, i, j)
    if f.n_children[f.up[p]] == 2 or _is_refused(r.left, r.right, r.alive, i, j):
        return False
    n_kids = _rebuild(f, c, s, p, q, i, j, n)
    if n_kids:
        _remember(f, r, c, s, s.kids[:n_kids], i, j)
        return False
    return True


# -------------------------------------------------------------------- the tree once two are one
#
# x and y hang in branches p and q of one set. As one cluster they hold p and q together, so that
# these become one set. It falls into the pieces that triplets inside it leave apart. Triplets
# inside p leave the branches of p apart, and those of q: a piece is made of whole branches, joined
# by triplets whose a and b meet in p and whose c is in q (or the other way round), and by x and y.
# A piece of one branch stays as it is. In a piece of several, the same goes on with these branches
# in the place of p and q: some of what held each of them together may have gone.


@kernel
def _rebuild(f, c, s, p, q, x, y, n):
    """Plan the tree in which x is one with y, which meet above the branches p and q.

    Returns 0, or if there is no such tree the number of branches in `kids` that nothing keeps
    apart.
    """
    _begin_plan(f, c, s, p, q)
    n_waiting = 1
    while n_waiting:
        n_waiting -= 1
        start, stop, p_start, p_stop, over, joined = s.waiting[n_waiting]
        n_kids = _gather(f, s, start, stop, n)
        n_level = _join(f, c, s, n_kids, start, stop, p_start, p_stop)
        if joined:
            _unite(
                s.root,
                _kid_with(f.low, f.high, s.kids[:n_kids], x),
                _kid_with(f.low, f.high, s.kids[:n_kids], y),
            )
        n_pieces = _number_pieces(s, n_kids)
        if n_pieces == 1 and joined and n_kids == 2 and s.kids[0] < n and s.kids[1] < n:
            _keep(s, y, over)  # x and y alone
            continue
        if n_pieces == 1:
            return n_kids
        for k in range(start, stop):
            if s.nodes[k] >= n:
                s.gone[s.plan[4]] = s.nodes[k]
                s.plan[4] += 1
        _sort_triplets(s, n_level)
        last = s.piece[_kid_with(f.low, f.high, s.kids[:n_kids], x)] if joined else -1
        n_waiting = _deal_out(s, n_waiting, n_kids, n_level, n_pieces, last)
        s.over[s.plan[3]] = over
        s.plan[3] += 1
    s.plan[0], s.plan[1] = x, y
    return 0


@kernel
def _begin_plan(f, c, s, p, q):
    """An empty plan, and the first part to be split: the branches p and q.

    Triplets whose a and b meet above p and q may meet below once the two are one.
    """
    s.plan[:] = 0
    s.plan[0] = -1
    s.nodes[0], s.nodes[1] = (p, q) if f.low[p] < f.low[q] else (q, p)
    _wait(s, 0, 0, 2, 0, _list_between(f, c, s, p, q), -1, 1)


@kernel
def _list_between(f, c, s, p, q):
    """The triplets with a in one of two branches and b in the other, into `pending`; how many.

    They are among those filed where the branches hang, and among those of either branch's leaves:
    the shorter list is read.
    """
    small, large = (p, q) if f.n_leaves[p] < f.n_leaves[q] else (q, p)
    n_places, number = 0, 0
    for k in range(f.low[small], f.high[small]):
        v = f.order[k]
        n_places += c.count[v] if f.low[v] == k else 0
    if n_places < f.n_held[f.up[p]]:
        for k in range(f.low[small], f.high[small]):
            if f.low[f.order[k]] == k:
                number = _list_edges(f, c, s, f.order[k], large, number)
        return number
    n_held = _list_held(f, c, s, f.up[p], 0)
    for k in range(n_held):
        t = s.level[k, 0]
        if _both_under(f.low, f.high, c.ends[t, 0], c.ends[t, 1], p, q):
            s.pending[number] = t
            number += 1
    return number


@kernel
def _list_edges(f, c, s, v, branch, number):
    """Add the triplets with v as a or b and the other one in a branch to `pending`.

    Those that were met are dropped from the list of v.
    """
    before, place = -1, c.first[v, 0]
    while place >= 0:
        t, following = place // 3, c.after[place]
        if c.alive[t]:
            before = place
            if _is_under(f.low, f.high, c.ends[t, 1 - place % 3], branch):
                s.pending[number] = t
                number += 1
        elif before < 0:
            c.first[v, 0] = following
        else:
            c.after[before] = following
        place = following
    return number


@kernel
def _list_held(f, c, s, node, number):
    """Add the triplets whose a and b meet in a node to `level`; those that were met are dropped."""
    before, t = -1, f.held[node]
    while t >= 0:
        following = c.beside[t]
        if c.alive[t]:
            s.level[number, 0] = t
            number += 1
            before = t
        else:
            f.n_held[node] -= 1
            if before < 0:
                f.held[node] = following
            else:
                c.beside[before] = following
        t = following
    return number


@kernel
def _wait(s, number, start, stop, p_start, p_stop, over, joined):
    """Note a part to be split: nodes, pending triplets, the set above, whether it has x and y."""
    w = s.waiting[number]
    w[0], w[1], w[2], w[3], w[4], w[5] = start, stop, p_start, p_stop, over, joined


@kernel
def _keep(s, node, over):
    """Plan that a branch hangs under a new set as it is."""
    s.items[s.plan[2]], s.above[s.plan[2]] = node, over
    s.plan[2] += 1


@kernel
def _sort_triplets(s, n_level):
    """Plan where a and b meet: in the new set, or in the piece that has both, which is counted."""
    for k in range(n_level):
        a, b = s.piece[s.level[k, 1]], s.piece[s.level[k, 2]]
        s.level[k, 1], s.level[k, 2] = a, b
        if a == b:
            s.size[a, 1] += 1
        else:
            s.met[s.plan[5], 0], s.met[s.plan[5], 1] = s.level[k, 0], s.plan[3]
            s.plan[5] += 1


@kernel
def _deal_out(s, n_waiting, n_kids, n_level, n_pieces, last):
    """Keep pieces of one kid, and let the others wait, the one with x and y to be next.

    Their nodes and triplets take the place of those of the part that they are pieces of.
    """
    start, p_start = s.waiting[n_waiting, 0], s.waiting[n_waiting, 2]
    for k in range(n_pieces + 1):
        piece = last if k == n_pieces else k
        if piece < 0 or (piece == last and k < n_pieces):
            continue
        size, n_pending = s.size[piece]
        s.size[piece, 0], s.size[piece, 1] = -1, p_start
        if size > 1:
            stop, p_stop = start + size, p_start + n_pending
            joined = 1 if piece == last else 0
            _wait(s, n_waiting, start, stop, p_start, p_stop, s.plan[3], joined)
            n_waiting += 1
            s.size[piece, 0] = start
            start, p_start = stop, p_stop
    for k in range(n_kids):
        place = s.size[s.piece[k], 0]
        if place < 0:
            _keep(s, s.kids[k], s.plan[3])
        else:
            s.nodes[place] = s.kids[k]
            s.size[s.piece[k], 0] += 1
    for k in range(n_level):
        if s.level[k, 1] == s.level[k, 2]:
            s.pending[s.size[s.level[k, 1], 1]] = s.level[k, 0]
            s.size[s.level[k, 1], 1] += 1
    return n_waiting


@kernel
def _is_under(low, high, leaf, node):
    return low[node] <= low[leaf] < high[node]


@kernel
def _both_under(low, high, a, b, p, q):
    """Whether two leaves are in two branches, in the same or not."""
    if not _is_under(low, high, a, p) and not _is_under(low, high, a, q):
        return False
    return _is_under(low, high, b, p) or _is_under(low, high, b, q)


@kernel
def _gather(f, s, start, stop, n):
    """The branches of some nodes, from left to right, into `kids`; returns how many."""
    n_kids = 0
    for k in range(start, stop):
        node = s.nodes[k]
        kid = node if node < n else f.child[node]
        while kid >= 0:
            s.kids[n_kids] = kid
            n_kids += 1
            kid = -1 if node < n else f.right[kid]
    return n_kids


@kernel
def _kid_with(low, high, kids, leaf):
    """The one of the kids that a leaf is under; -1 if there is none."""
    first, stop = 0, len(kids)
    while first < stop:
        middle = (first + stop) // 2
        if low[kids[middle]] <= low[leaf]:
            first = middle + 1
        else:
            stop = middle
    return first - 1 if first and _is_under(low, high, leaf, kids[first - 1]) else -1


@kernel
def _list_places(f, s, n_kids, n_level):
    """List the kid of every leaf by its place, if that is less work than to search for each one.

    Returns whether it was.
    """
    n_places = 0
    for k in range(n_kids):
        n_places += f.high[s.kids[k]] - f.low[s.kids[k]]
    if n_places > _SEARCH * n_level:
        return False
    s.stamp[0] += 1
    for k in range(n_kids):
        for place in range(f.low[s.kids[k]], f.high[s.kids[k]]):
            s.side[place], s.mark[place] = k, s.stamp[0]
    return True


@kernel
def _unite(root, k, other):
    root[find(root, k)] = find(root, other)


@kernel
def _join(f, c, s, n_kids, start, stop, p_start, p_stop):
    """Unite kids that triplets hold together; triplets, and the kids of a and b, into `level`.

    These are the triplets whose a and b are in different kids; returns how many.
    """
    n_level = 0
    for k in range(p_start, p_stop):
        s.level[n_level, 0] = s.pending[k]
        n_level += 1
    for k in range(start, stop):
        n_level = _list_held(f, c, s, s.nodes[k], n_level)
    for k in range(n_kids):
        s.root[k] = k
    kids, found, listed = s.kids[:n_kids], s.found, _list_places(f, s, n_kids, n_level)
    for k in range(n_level):
        t = s.level[k, 0]
        for side in range(3):
            leaf = c.ends[t, side]
            if not listed:
                found[side] = _kid_with(f.low, f.high, kids, leaf)
            else:
                place = f.low[leaf]
                found[side] = s.side[place] if s.mark[place] == s.stamp[0] else -1
        s.level[k, 1], s.level[k, 2] = found[0], found[1]
        if found[2] >= 0:
            _unite(s.root, found[0], found[1])
    return n_level


@kernel
def _number_pieces(s, n_kids):
    """Number the pieces that the kids make up, and count their kids; returns how many."""
    n_pieces = 0
    for k in range(n_kids):
        if s.root[k] == k:
            s.piece[k] = n_pieces
            s.size[n_pieces, 0], s.size[n_pieces, 1] = 0, 0
            n_pieces += 1
    for k in range(n_kids):
        s.piece[k] = s.piece[find(s.root, k)]
        s.size[s.piece[k], 0] += 1
    return n_pieces


# -------------------------------------------------------------------- former refusals
#
# A refusal ends with a set of clusters that the triplets inside it hold together once i and j are
# one, so that no tree can split it. Without the join it falls into two sides, since no triplet of
# the set has its a on one side and its b on the other. The same set speaks against every pair with
# one cluster on each side. Merging does not change that: it contracts the set, or renames one of
# its clusters, and both keep it connected. Only a set of two clusters, i and j alone, proves
# nothing.


@kernel
def _is_refused(left, right, alive, i, j):
    for w in range(_COLUMNS):
        if ((left[i, w] & right[j, w]) | (right[i, w] & left[j, w])) & alive[w]:
            return True
    return False


@kernel
def _sides(f, c, s, branches, i, j):
    """The set that triplets hold together once i and j are one, from i and from j.

    It goes into `queue`, and `side` says which of the two each cluster hangs together with;
    returns its size.
    """
    s.stamp[0] += 2
    known, stamp = s.stamp[0] - 1, s.stamp[0]
    for branch in branches:
        for k in range(f.low[branch], f.high[branch]):
            v = f.order[k]
            # Stretches have holes where leaves have gone.
            if (f.up[v] >= 0 or f.flags[0] == v) and f.low[v] == k:
                s.mark[v] = known
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
def _remember(f, r, c, s, branches, i, j):
    """Keep the set that speaks against i and j; it takes the place of the oldest."""
    size = _sides(f, c, s, branches, i, j)
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
        _replace(f, x, y)
        f.depth[y], f.low[y], f.high[y], f.n_leaves[y] = f.depth[x], f.low[x], f.high[x], 1
        f.order[f.low[y]] = y
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
    _follow_plan(f, c, s, x, y, n)
    _rename(c, x, y)
    _meet_triplets(f, c, y, n)
    s.plan[0] = -1


@kernel
def _follow_plan(f, c, s, x, y, n):
    """Put what `_rebuild` has planned in the place of two branches."""
    p, q = _branches(f.up, f.depth, x, y)
    up = f.up[p]
    t, f.held[up], f.n_held[up] = f.held[up], -1, 0
    while t >= 0:  # those that meet below now are filed there
        following = c.beside[t]
        if c.alive[t] and not _both_under(f.low, f.high, c.ends[t, 0], c.ends[t, 1], p, q):
            _file(f.held, f.n_held, c.beside, t, up)
        t = following
    _unlink(f, p)
    _unlink(f, q)
    f.up[x] = -1
    _, _, n_items, n_sets, n_gone, n_met = s.plan
    for node in s.gone[:n_gone]:
        _free_set(f, node)
    for k in range(n_sets):
        over = s.over[k]
        s.number[k] = _new_set(f, up if over < 0 else s.number[over])
    for k in range(n_items):
        _link(f, s.items[k], s.number[s.above[k]])
    for k in range(n_met):
        _file(f.held, f.n_held, c.beside, s.met[k, 0], s.number[s.met[k, 1]])
    f.flags[2] = 1
