"""Compiled ReCon: merging the closest compatible pair, round after round.

No validation, no classes: arguments are arrays the caller owns, bundled as named tuples of arrays.

Distances are condensed as SciPy has them, and for each cluster the nearest of those after it is
kept (Muellner's generic algorithm). A pair that may not merge is negative there; merging either of
the two makes it positive again, to be tested anew. All distances are kept above zero for that.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from linkwise._compiled import kernel

from ._cannot_link_kernels import may_be_together, merge_apart
from ._compatibility_kernels import compatible, hopeless, merge_constraints, merge_refusals
from ._triplet_kernels import _renumber

LINKAGES = ("single", "complete", "average", "centroid", "ward")
SQUARED = ("centroid", "ward")  # work on squared distances
_CENTROID = 3
TINY = 1e-300

# Modes: merge inside must-linked groups, merge what no cannot-link keeps apart, merge everything.
INSIDE, APART, ALL = 0, 1, 2

# distance (condensed), near and least (n,), size (n,) 0 = gone, name (n,) SciPy's number, group
# (n,); children (n - 1, 2), height (n - 1,), progress: merges done, mode
Clusters = namedtuple("Clusters", "distance near least size name group children height progress")


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
def _scan(k, f, c, r, i, n):
    """Find the nearest later cluster of i that may be its partner, as far as a look can tell."""
    row, best, near = _row(i, n), np.inf, -1
    only = k.progress[1] == INSIDE
    if f.flags[2]:
        _renumber(f, n)
    known = (f.up, f.depth, f.n_children, c.count, r.left, r.right, r.alive)
    for j in range(i + 1, n):
        d = k.distance[row + j]
        if 0 < d < best and (not only or k.group[i] == k.group[j]):
            if hopeless(*known, i, j):
                k.distance[row + j] = -d
            else:
                best, near = d, j
    k.least[i], k.near[i] = best, near


@kernel
def _merge_distances(k, f, c, r, x, y, code, n):
    """Make x a part of y; y is tested anew against all others."""
    row_x, row_y = _row(x, n), _row(y, n)
    dxy = abs(k.distance[row_x + y])
    sx, sy = k.size[x], k.size[y]
    only = k.progress[1] == INSIDE
    if f.flags[2]:
        _renumber(f, n)
    known = (f.up, f.depth, f.n_children, c.count, r.left, r.right, r.alive)
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
            if hopeless(*known, low, high):
                k.distance[at_y] = -d
            else:
                k.least[low], k.near[low] = d, high
    k.distance[row_x + y] = np.inf
    k.least[x] = np.inf
    k.size[x], k.size[y] = 0, sx + sy


@kernel
def _next_mode(k, f, c, r, n):
    """Pass on to the next mode: what was not allowed is tested anew."""
    k.progress[1] += 1
    for place in range(len(k.distance)):
        k.distance[place] = abs(k.distance[place])
    for i in range(n):
        if k.size[i] > 0:
            _scan(k, f, c, r, i, n)


@kernel
def merge_until(k, f, c, r, a, s, code, stop):
    """Merge the closest pair that may merge until `stop` merges are done; False if there is none.

    IN      code: position in LINKAGES
    IN/OUT  k Clusters, f Forest, c Triplets, r Refusals, a Apart, s Search
    """
    n = len(k.size)
    while k.progress[0] < stop:
        x = np.argmin(k.least)
        if k.least[x] == np.inf:
            if k.progress[1] == ALL:
                return False
            _next_mode(k, f, c, r, n)
            continue
        y = k.near[x]
        at = _row(x, n) + y
        d = k.distance[at]
        if d != k.least[x]:  # the row has changed since
            _scan(k, f, c, r, x, n)
            continue
        together = k.progress[1] != APART or may_be_together(a, s, x, y)
        if not together or not compatible(f, c, s, r, x, y, n):
            k.distance[at] = -d
            _scan(k, f, c, r, x, n)
            continue
        t = k.progress[0]
        k.children[t, 0] = min(k.name[x], k.name[y])
        k.children[t, 1] = max(k.name[x], k.name[y])
        k.height[t] = d
        merge_constraints(f, c, s, r, x, y, n)
        merge_refusals(r, x, y)
        merge_apart(a, s, x, y)
        _merge_distances(k, f, c, r, x, y, code, n)
        k.name[y] = n + t
        k.progress[0] += 1
    return True


# -------------------------------------------------------------------- constrained complete link


@kernel
def group_distances(flat, n, rows, starts):
    """Distance of each group of rows to every row: that of the nearest of its rows, or of theirs.

    IN      flat: condensed distances of n rows; rows, starts: groups g = rows[starts[g] : ...]
    OUT     (number of groups, n)
    """
    n_groups = len(starts) - 1
    near = np.full((n_groups, n), np.inf)
    for g in range(n_groups):
        for i in rows[starts[g] : starts[g + 1]]:
            own, at = near[g], i - 1  # of row 0 and i
            for j in range(i):
                own[j] = min(own[j], flat[at])
                at += n - j - 2
            row = _row(i, n)
            for j in range(i + 1, n):
                own[j] = min(own[j], flat[row + j])
    for g in range(n_groups):
        for h in range(n_groups):
            group = rows[starts[h] : starts[h + 1]]
            nearest = 0.0 if g == h else near[g][group].min()
            for j in group:
                near[g, j] = nearest
    return near


@kernel
def shorten(flat, n, near, hubs):
    """Shortest paths that pass through groups only (Floyd and Warshall).

    Paths between groups come first, so that each pair of rows needs one group in between, and
    all groups pass by while the distances of one row are in the cache.

    IN      hubs: a row of each group
    IN/OUT  flat: condensed distances of n rows; near: distances of groups to rows
    """
    for k in range(len(hubs)):
        for g in range(len(hubs)):
            _detour(near[g], near[g, hubs[k]], near[k])
    for i in range(n - 1):
        row = _row(i, n)
        for g in range(len(hubs)):
            _detour(flat[row + i + 1 : row + n], near[g, i], near[g, i + 1 :])


@kernel
def _detour(distance, first, second):
    for j in range(len(distance)):
        d = first + second[j]
        distance[j] = d if d < distance[j] else distance[j]
