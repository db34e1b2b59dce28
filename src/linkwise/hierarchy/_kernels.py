"""Compiled ReCon: merging the closest compatible pair, round after round.

No validation, no classes: arguments are arrays the caller owns, bundled as named tuples of arrays.

Three pieces of state are kept up to date as clusters merge:

- distances, condensed as SciPy has them, and for each cluster the nearest of those after it
  (Muellner's generic algorithm). A pair that may not merge is negative there; merging either of
  the two makes it positive again, to be tested anew. All distances are kept above zero for that.
- the relative constraints between clusters, as lists of each cluster's triplets;
- OneTree's tree of these constraints. Two clusters that hang from one node may merge. If they
  meet in a node with two branches, they may not: joined, nothing would keep that set apart.
  Otherwise TestCompatibility goes on inside the two branches only.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from linkwise._compiled import kernel
from linkwise.constraints._kernels import split_down

LINKAGES = ("single", "complete", "average", "centroid", "ward")
SQUARED = ("centroid", "ward")  # work on squared distances
_CENTROID, _WARD = 3, 4
TINY = 1e-300

# Modes: merge inside must-linked groups, merge what no cannot-link keeps apart, merge everything.
INSIDE, APART, ALL = 0, 1, 2

# ends (m, 3) clusters now; alive (m,); lists of places 3 t + side: first (n, 2) of edges and of
# thirds, after (3 m,); count (n,) living places
Triplets = namedtuple("Triplets", "ends alive first after count")
# nodes 0..n-1 are clusters, then sets: up, child, right, left (-1: none), n_children, n_leaves,
# depth, low, high; at (n,) and order (n,): leaves from left to right; flags: root, first free
# node, whether depth and low..high are out of date
Forest = namedtuple("Forest", "up child right left n_children n_leaves depth low high order flags")
# ends (m, 2); alive (m,); first (n,), after (2 m,): lists of places 2 t + side; colour (n,), one of
# `limit` colours that keeps all apart; limit 0: any number will do; -1: colours never mix
Apart = namedtuple("Apart", "ends alive first after colour limit")
# mark (n,), queue (n,), number (n,), stamp (1,)
Search = namedtuple("Search", "mark queue number stamp")
# distance (condensed), near and least (n,), size (n,) 0 = gone, name (n,) SciPy's number, group
# (n,); children (n - 1, 2), height (n - 1,), progress: merges done, mode
Clusters = namedtuple("Clusters", "distance near least size name group children height progress")


# -------------------------------------------------------------------- constrained complete link


@kernel
def shorten(distance, through):
    """Shortest paths that pass through some rows only (Floyd and Warshall).

    IN      through: row numbers
    IN/OUT  distance (n, n), symmetric
    """
    n = len(distance)
    for k in through:
        for i in range(n):
            via = distance[i, k]
            for j in range(n):
                distance[i, j] = min(distance[i, j], via + distance[k, j])


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
def make_apart(ends, n, colour, limit):
    """The cannot-links as lists of each cluster's places."""
    first = np.full(n, -1, np.int64)
    after = np.full(2 * len(ends), -1, np.int64)
    for t in range(len(ends)):
        for side in range(2):
            after[2 * t + side] = first[ends[t, side]]
            first[ends[t, side]] = 2 * t + side
    return Apart(ends, np.ones(len(ends), np.bool_), first, after, colour, limit)


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
    search = make_search(n)
    good = _grow(forest, triplets, search, items, -1)
    return forest, good


@kernel
def make_search(n):
    """Room for searching."""
    return Search(
        np.zeros(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64), np.ones(1, np.int64)
    )


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
def _grow(f, c, s, items, up):
    """Hang OneTree's tree of some clusters, and of the triplets among them, under `up`."""
    if len(items) == 0:
        return True
    f.flags[2] = 1
    if len(items) == 1:
        _link(f, items[0], up)
        return True
    n_places = 0
    s.stamp[0] += 1
    for k in range(len(items)):
        s.number[items[k]] = k
        s.mark[items[k]] = s.stamp[0]
        n_places += c.count[items[k]]
    inside = np.empty((n_places, 3), np.int64)
    n_inside = 0
    for k in range(len(items)):
        place = c.first[items[k], 0]
        while place >= 0:
            t = place // 3
            b, third = c.ends[t, 1], c.ends[t, 2]
            if (
                c.alive[t] and place % 3 == 0
                and s.mark[b] == s.stamp[0] and s.mark[third] == s.stamp[0]
            ):  # fmt: skip
                inside[n_inside, 0], inside[n_inside, 1] = k, s.number[b]
                inside[n_inside, 2] = s.number[third]
                n_inside += 1
            place = c.after[place]
    above, _ = split_down(inside[:n_inside], len(items))
    if len(above) == 0:
        return False
    sets = np.empty(len(above) - len(items), np.int64)
    for k in range(len(sets)):
        over = above[len(items) + k]
        sets[k] = _new_set(f, up if over < 0 else sets[over])
    for k in range(len(items)):
        _link(f, items[k], sets[above[k]])
    return True


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
def _joined(f, c, s, i, j, p, q, known):
    """How many clusters hang together with i and j, joined, by triplets inside the set at hand.

    The set is what the last search has marked `known`, or the branches p and q if that is 0.
    """
    s.stamp[0] += 1
    stamp = s.stamp[0]
    s.queue[0], s.queue[1] = i, j
    s.mark[i], s.mark[j] = stamp, stamp
    head, tail = 0, 2
    while head < tail:
        v = s.queue[head]
        head += 1
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
            before, place = place, following
            w, third = c.ends[t, 1 - before % 3], c.ends[t, 2]
            if s.mark[w] == stamp:
                continue
            if known:
                inside = s.mark[w] >= known and s.mark[third] >= known
            else:
                inside = _within(f, w, p, q) and _within(f, third, p, q)
            if inside:
                s.mark[w] = stamp
                s.queue[tail] = w
                tail += 1
    return tail


@kernel
def _within(f, v, p, q):
    x = f.low[v]
    return f.low[p] <= x < f.high[p] or f.low[q] <= x < f.high[q]


@kernel
def _hopeless(f, c, i, j, n):
    """Whether a look at the tree suffices to tell that i and j may not merge."""
    if c.count[i] == 0 or c.count[j] == 0 or f.up[i] == f.up[j]:
        return False
    if f.flags[2]:
        _renumber(f, n)
    p, _ = _branches(f, i, j)
    return f.n_children[f.up[p]] == 2


@kernel
def compatible(f, c, s, i, j, n):
    """TestCompatibility: whether all triplets can still be met once i and j are one cluster."""
    if c.count[i] == 0 or c.count[j] == 0 or f.up[i] == f.up[j]:
        return True
    if f.flags[2]:
        _renumber(f, n)
    p, q = _branches(f, i, j)
    if f.n_children[f.up[p]] == 2:
        return False
    total, known = f.n_leaves[p] + f.n_leaves[q], 0
    while True:
        size = _joined(f, c, s, i, j, p, q, known)
        if size == 2:
            return True
        if size == total:
            return False
        total, known = size, s.stamp[0]


@kernel
def _is_apart(a, i, j):
    """Whether a cannot-link lies between two clusters."""
    place = a.first[i]
    while place >= 0:
        if a.alive[place // 2] and a.ends[place // 2, 1 - place % 2] == j:
            return True
        place = a.after[place]
    return False


@kernel
def _neighbours(a, s, i, j, v, out):
    """The clusters cannot-linked to v when i and j are one, called i; returns how many."""
    s.stamp[0] += 1
    found = 0
    for part in range(2 if v == i else 1):
        place = a.first[j if part else v]
        while place >= 0:
            w = a.ends[place // 2, 1 - place % 2]
            w = i if w == j else w
            if a.alive[place // 2] and s.mark[w] != s.stamp[0]:
                s.mark[w] = s.stamp[0]
                out[found] = w
                found += 1
            place = a.after[place]
    return found


@kernel
def _recolour(a, s, i, j):
    """Whether the clusters can be coloured when i and j are one; if so, `colour` is changed.

    Clusters with fewer neighbours than colours are set aside until none is left; coloured in the
    opposite order, each finds a free colour.
    """
    n = len(a.first)
    degree, order, n_order, n_all = np.zeros(n, np.int64), np.empty(n, np.int64), 0, 0
    gone, near = np.zeros(n, np.bool_), np.empty(n, np.int64)
    for v in range(n):
        if v != j and a.first[v] >= 0:
            degree[v] = _neighbours(a, s, i, j, v, near)
            n_all += 1
            if degree[v] < a.limit:
                gone[v] = True
                order[n_order] = v
                n_order += 1
    head = 0
    while head < n_order:
        found = _neighbours(a, s, i, j, order[head], near)
        head += 1
        for w in near[:found]:
            degree[w] -= 1
            if degree[w] < a.limit and not gone[w]:
                gone[w] = True
                order[n_order] = w
                n_order += 1
    if n_order < n_all:
        return False
    taken, done = np.full(a.limit, -1, np.int64), np.zeros(n, np.bool_)
    for k in range(n_order - 1, -1, -1):
        v = order[k]
        found = _neighbours(a, s, i, j, v, near)
        for w in near[:found]:
            if done[w]:
                taken[a.colour[w]] = k
        colour = 0
        while taken[colour] == k:
            colour += 1
        a.colour[v] = colour
        done[v] = True
    a.colour[j] = a.colour[i]
    return True


@kernel
def _may_be_together(a, s, i, j):
    """Whether no cannot-link speaks against one cluster of i and j, and k colours still do."""
    if a.limit < 0:
        return a.colour[i] < 0 or a.colour[j] < 0 or a.colour[i] == a.colour[j]
    if a.first[i] < 0 or a.first[j] < 0:
        return True
    if _is_apart(a, i, j):
        return False
    if a.limit == 0 or a.colour[i] == a.colour[j]:
        return True
    return _recolour(a, s, i, j)


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
def _merge_constraints(f, c, s, x, y, n):
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
    p, q = _branches(f, x, y)
    up, items, n_items = f.up[p], np.empty(f.high[p] - f.low[p] + f.high[q] - f.low[q], np.int64), 0
    for branch in (p, q):
        for k in range(f.low[branch], f.high[branch]):
            v = f.order[k]
            # Stretches have holes where leaves have gone.
            if v != x and f.up[v] >= 0 and f.low[v] == k:
                items[n_items] = v
                n_items += 1
    _free_branch(f, p, n)
    _free_branch(f, q, n)
    _rename(c, x, y)
    _meet_triplets(f, c, y, n)
    items = items[:n_items]
    _grow(f, c, s, items[c.count[items] > 0], up)
    _tidy(f, up, n)


@kernel
def _merge_apart(a, s, x, y):
    """Cannot-links of x become cannot-links of y, none twice."""
    if a.first[y] < 0 and a.colour[x] >= 0:
        a.colour[y] = a.colour[x]
    s.stamp[0] += 1
    s.mark[y] = s.stamp[0]
    place = a.first[y]
    while place >= 0:
        if a.alive[place // 2]:
            s.mark[a.ends[place // 2, 1 - place % 2]] = s.stamp[0]
        place = a.after[place]
    place = a.first[x]
    while place >= 0:
        t, following = place // 2, a.after[place]
        w = a.ends[t, 1 - place % 2]
        if a.alive[t] and s.mark[w] != s.stamp[0]:
            s.mark[w] = s.stamp[0]
            a.ends[t, place % 2] = y
            a.after[place] = a.first[y]
            a.first[y] = place
        else:
            a.alive[t] = False
        place = following
    a.first[x] = -1


@kernel
def _updated(code, dx, dy, dxy, sx, sy, sz):
    """Lance and Williams: the distance of z to the union of x and y."""
    if code == 0:
        return min(dx, dy)
    if code == 1:
        return max(dx, dy)
    if code == 2:
        return (sx * dx + sy * dy) / (sx + sy)
    if code == _CENTROID:
        return (sx * dx + sy * dy - sx * sy * dxy / (sx + sy)) / (sx + sy)
    return ((sx + sz) * dx + (sy + sz) * dy - sz * dxy) / (sx + sy + sz)


@kernel
def _row(i, n):
    """Where the distances of i to later clusters start: that to j is at _row(i, n) + j."""
    return n * i - i * (i + 1) // 2 - i - 1


@kernel
def _scan(k, f, c, i, n):
    """Find the nearest later cluster of i that may be its partner, as far as a look can tell."""
    row, best, near = _row(i, n), np.inf, -1
    only = k.progress[1] == INSIDE
    for j in range(i + 1, n):
        d = k.distance[row + j]
        if 0 < d < best and (not only or k.group[i] == k.group[j]):
            if _hopeless(f, c, i, j, n):
                k.distance[row + j] = -d
            else:
                best, near = d, j
    k.least[i], k.near[i] = best, near


@kernel
def _merge_distances(k, f, c, x, y, code, n):
    """Make x a part of y; y is tested anew against all others."""
    row_x, row_y = _row(x, n), _row(y, n)
    dxy = abs(k.distance[row_x + y])
    sx, sy = k.size[x], k.size[y]
    only = k.progress[1] == INSIDE
    k.least[y], k.near[y] = np.inf, -1
    row = -1  # of z
    for z in range(n):
        at_x = row_x + z if z > x else row + x
        at_y = row_y + z if z > y else row + y
        row += n - z - 2
        if z in (x, y) or k.size[z] == 0:
            continue
        d = _updated(code, abs(k.distance[at_x]), abs(k.distance[at_y]), dxy, sx, sy, k.size[z])
        d = max(d, TINY)
        k.distance[at_x], k.distance[at_y] = np.inf, d
        low, high = (z, y) if z < y else (y, z)
        if d < k.least[low] and (not only or k.group[z] == k.group[y]):
            if _hopeless(f, c, low, high, n):
                k.distance[at_y] = -d
            else:
                k.least[low], k.near[low] = d, high
    k.distance[row_x + y] = np.inf
    k.least[x] = np.inf
    k.size[x], k.size[y] = 0, sx + sy


@kernel
def _next_mode(k, f, c, n):
    """Pass on to the next mode: what was not allowed is tested anew."""
    k.progress[1] += 1
    for place in range(len(k.distance)):
        k.distance[place] = abs(k.distance[place])
    for i in range(n):
        if k.size[i] > 0:
            _scan(k, f, c, i, n)


@kernel
def merge_until(k, f, c, a, s, code, stop):
    """Merge the closest pair that may merge until `stop` merges are done; False if there is none.

    IN      code: position in LINKAGES
    IN/OUT  k Clusters, f Forest, c Triplets, a Apart, s Search
    """
    n = len(k.size)
    while k.progress[0] < stop:
        x = np.argmin(k.least)
        if k.least[x] == np.inf:
            if k.progress[1] == ALL:
                return False
            _next_mode(k, f, c, n)
            continue
        y = k.near[x]
        at = _row(x, n) + y
        d = k.distance[at]
        if d != k.least[x]:  # the row has changed since
            _scan(k, f, c, x, n)
            continue
        together = k.progress[1] != APART or _may_be_together(a, s, x, y)
        if not together or not compatible(f, c, s, x, y, n):
            k.distance[at] = -d
            _scan(k, f, c, x, n)
            continue
        t = k.progress[0]
        k.children[t, 0] = min(k.name[x], k.name[y])
        k.children[t, 1] = max(k.name[x], k.name[y])
        k.height[t] = d
        _merge_constraints(f, c, s, x, y, n)
        _merge_apart(a, s, x, y)
        _merge_distances(k, f, c, x, y, code, n)
        k.name[y] = n + t
        k.progress[0] += 1
    return True
