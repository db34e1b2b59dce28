"""Compiled cannot-links between clusters, and the coloring that shows k clusters to suffice.

No validation, no classes: arguments are arrays the caller owns, bundled as named tuples of arrays.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from linkwise._compiled import kernel

# ends (m, 2); alive (m,); first (n,), after (2 m,): lists of places 2 t + side; color (n,), one of
# `limit` colors that keeps all apart; limit 0: any number will do; -1: colors never mix
Apart = namedtuple("Apart", "ends alive first after color limit")


@kernel
def make_apart(ends, n, color, limit):
    """The cannot-links as lists of each cluster's places."""
    first = np.full(n, -1, np.int64)
    after = np.full(2 * len(ends), -1, np.int64)
    for t in range(len(ends)):
        for side in range(2):
            after[2 * t + side] = first[ends[t, side]]
            first[ends[t, side]] = 2 * t + side
    return Apart(ends, np.ones(len(ends), np.bool_), first, after, color, limit)


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
def _neighbors(a, s, i, j, v, out):
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
def _recolor(a, s, i, j):
    """Whether the clusters can be colored when i and j are one; if so, `color` is changed.

    Clusters with fewer neighbors than colors are set aside until none is left; colored in the
    opposite order, each finds a free color.
    """
    n = len(a.first)
    degree, order, n_order, n_all = np.zeros(n, np.int64), np.empty(n, np.int64), 0, 0
    gone, near = np.zeros(n, np.bool_), np.empty(n, np.int64)
    for v in range(n):
        if v != j and a.first[v] >= 0:
            degree[v] = _neighbors(a, s, i, j, v, near)
            n_all += 1
            if degree[v] < a.limit:
                gone[v] = True
                order[n_order] = v
                n_order += 1
    head = 0
    while head < n_order:
        found = _neighbors(a, s, i, j, order[head], near)
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
        found = _neighbors(a, s, i, j, v, near)
        for w in near[:found]:
            if done[w]:
                taken[a.color[w]] = k
        color = 0
        while taken[color] == k:
            color += 1
        a.color[v] = color
        done[v] = True
    a.color[j] = a.color[i]
    return True


@kernel
def may_be_together(a, s, i, j):
    """Whether no cannot-link speaks against one cluster of i and j, and k colors still do."""
    if a.limit < 0:
        return a.color[i] < 0 or a.color[j] < 0 or a.color[i] == a.color[j]
    if a.first[i] < 0 or a.first[j] < 0:
        return True
    if _is_apart(a, i, j):
        return False
    if a.limit == 0 or a.color[i] == a.color[j]:
        return True
    return _recolor(a, s, i, j)


@kernel
def merge_apart(a, s, x, y):
    """Cannot-links of x become cannot-links of y, none twice."""
    if a.first[y] < 0 and a.color[x] >= 0:
        a.color[y] = a.color[x]
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
