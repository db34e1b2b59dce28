"""Compiled OneTree: splitting sets of items while their triplets fall away.

No validation, no classes: arguments are arrays the caller owns. A triplet ab|c lives while its
three items are in one set; the edges (a, b) of living triplets hold a set together. When a set is
split, only its smaller parts are walked: their triplets with an item elsewhere die. The largest
part is looked at only where edges died, by searching from both ends at once until they meet or the
smaller side is exhausted. A part of a set is therefore walked O(log n) times, whatever the depth.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from linkwise._compiled import kernel

# Living edges (a, b) of each item: from `start`, `degree` of them, each the triplet (`edges`) and
# the item at its other end (`ends`); `place` says where each triplet stands there. Then the
# triplets in which an item is the third.
_Graph = namedtuple("_Graph", "triplets start degree edges ends place third_start third alive")
# A set is a stretch of `order`; `at` is the inverse. The rest serves searching: `count` holds the
# latest mark and the number of edges looked at.
_Sets = namedtuple("_Sets", "order at mark count queues pieces died")


@kernel
def occurrences(triplets, n_items, first, stop):
    """For each item, where it stands in columns first..stop of the triplets (CSR).

    OUT     start (n_items + 1,), which (number of places,): triplet numbers, ascending
    """
    start = np.zeros(n_items + 1, np.int64)
    for t in range(len(triplets)):
        for side in range(first, stop):
            start[triplets[t, side] + 1] += 1
    for v in range(n_items):
        start[v + 1] += start[v]
    which = np.empty(start[n_items], np.int64)
    fill = start[:-1].copy()
    for t in range(len(triplets)):
        for side in range(first, stop):
            v = triplets[t, side]
            which[fill[v]] = t
            fill[v] += 1
    return start, which


@kernel
def _graph(triplets, n_items):
    start, edges = occurrences(triplets, n_items, 0, 2)
    third_start, third = occurrences(triplets, n_items, 2, 3)
    place = np.empty((len(triplets), 2), np.int64)
    ends = np.empty(len(edges), np.int64)
    for v in range(n_items):
        for e in range(start[v], start[v + 1]):
            side = _side(triplets, edges[e], v)
            place[edges[e], side] = e
            ends[e] = triplets[edges[e], 1 - side]
    alive = np.ones(len(triplets), np.bool_)
    degree = start[1:] - start[:-1]
    return _Graph(triplets, start, degree, edges, ends, place, third_start, third, alive)


@kernel
def _side(triplets, t, v):
    return 0 if triplets[t, 0] == v else 1


@kernel
def _kill(g, t):
    """Take triplet t out of the edge lists of its a and b."""
    g.alive[t] = False
    for side in range(2):
        v = g.triplets[t, side]
        g.degree[v] -= 1
        hole, last = g.place[t, side], g.start[v] + g.degree[v]
        moved = g.edges[last]
        g.edges[hole], g.ends[hole] = moved, g.ends[last]
        g.place[moved, _side(g.triplets, moved, v)] = hole


@kernel
def _reach(g, s, v):
    """Everything that living edges join to v, into the first queue; returns how many."""
    s.count[0] += 2
    queue, stamp = s.queues[0], s.count[0]
    s.mark[v] = stamp
    queue[0] = v
    head, tail = 0, 1
    while head < tail:
        v = queue[head]
        head += 1
        s.count[1] += g.degree[v]
        for e in range(g.start[v], g.start[v] + g.degree[v]):
            w = g.ends[e]
            if s.mark[w] != stamp:
                s.mark[w] = stamp
                queue[tail] = w
                tail += 1
    return tail


@kernel
def _meet(g, s, a, b):
    """Search from a and b, an edge at a time each.

    Returns (-1, 0) when the two meet, else the exhausted side (0 or 1) and how many items it
    has; they stand in the queue of that side.
    """
    s.count[0] += 2
    stamp, queues = s.count[0], s.queues
    s.mark[a], s.mark[b] = stamp, stamp + 1
    queues[0, 0], queues[1, 0] = a, b
    head, edge, tail = np.zeros(2, np.int64), np.zeros(2, np.int64), np.ones(2, np.int64)
    while True:
        for side in range(2):
            v = queues[side, head[side]]
            while edge[side] == g.degree[v]:
                head[side] += 1
                edge[side] = 0
                if head[side] == tail[side]:
                    return side, tail[side]
                v = queues[side, head[side]]
            w = g.ends[g.start[v] + edge[side]]
            edge[side] += 1
            s.count[1] += 1
            if s.mark[w] == stamp + 1 - side:
                return -1, 0
            if s.mark[w] != stamp + side:
                s.mark[w] = stamp + side
                queues[side, tail[side]] = w
                tail[side] += 1


@kernel
def _to_end(s, queue, size, front, n_pieces):
    """Make the items in the queue a piece of their own, before `front`; returns its start."""
    front -= size
    for k in range(size):
        v = queue[k]
        there, w = s.at[v], s.order[front + k]
        s.order[there], s.at[w] = w, there
        s.order[front + k], s.at[v] = v, front + k
    s.pieces[n_pieces, 0], s.pieces[n_pieces, 1] = front, front + size
    return front


@kernel
def _cut_unknown(g, s, low, high):
    """Components of a stretch of which nothing is known; the largest is left out of `pieces`.

    Returns the number of the other pieces and the stretch of the largest.
    """
    front, n_pieces, largest = high, 0, 0
    while front > low:
        size = _reach(g, s, s.order[low])
        front = _to_end(s, s.queues[0], size, front, n_pieces)
        if size > s.pieces[largest, 1] - s.pieces[largest, 0]:
            largest = n_pieces
        n_pieces += 1
    low, high = s.pieces[largest]
    n_pieces -= 1
    s.pieces[largest, 0], s.pieces[largest, 1] = s.pieces[n_pieces]
    return n_pieces, low, high


@kernel
def _cut_known(g, s, low, high, n_died, budget):
    """Components of a stretch that was one until the edges of `died` died.

    First the two ends of each such edge are told apart or found joined. What is left then falls
    into several components only if pieces cut off lay between them: the ends next to pieces must
    be joined to one of them, the hub. Returns as `_cut_unknown`; -1 pieces if it would look at
    more than `budget` edges.
    """
    front, n_pieces, hub = high, 0, -1
    s.count[1] = 0
    for k in range(2 * n_died):
        a, b = g.triplets[s.died[k % n_died], 0], g.triplets[s.died[k % n_died], 1]
        if k >= n_died:
            if (s.at[a] < front) == (s.at[b] < front):
                continue
            b = a if s.at[a] < front else b
            if hub < 0:
                hub = b
            a = hub
        if a == b or s.at[a] >= front or s.at[b] >= front:
            continue
        side, size = _meet(g, s, a, b)
        if side >= 0:
            front = _to_end(s, s.queues[side], size, front, n_pieces)
            n_pieces += 1
            if side == 0:
                hub = b if k >= n_died else hub
        if s.count[1] > budget:
            return -1, low, high
    return n_pieces, low, front


@kernel
def _bury(g, s, n_pieces, low, high):
    """Kill the triplets that the pieces cut through; those of low..high are listed in `died`.

    Returns their number, and the number of edges that the pieces and the dead had.
    """
    n_died, n_edges = 0, 0
    for p in range(n_pieces):
        first, stop = s.pieces[p]
        for k in range(first, stop):
            v = s.order[k]
            n_edges += g.degree[v]
            for e in range(g.start[v] + g.degree[v] - 1, g.start[v] - 1, -1):
                t = g.edges[e]
                c = s.at[g.triplets[t, 2]]
                if c < first or c >= stop:
                    _kill(g, t)
            for e in range(g.third_start[v], g.third_start[v + 1]):
                t = g.third[e]
                a = s.at[g.triplets[t, 0]]
                if g.alive[t] and (a < first or a >= stop):
                    _kill(g, t)
                    if low <= a < high:
                        s.died[n_died] = t
                        n_died += 1
    return n_died, n_edges + 2 * n_died


@kernel
def split_down(triplets, n_items):
    """OneTree over items 0..n_items-1.

    IN      triplets (m, 3): rows a, b, c read as ab|c, three different items
    OUT     above (n_items + n_sets,): for an item the set it hangs from, for a set the one above
            it; sets are numbered from the root, 0, downwards, and the root's own is -1.
            Empty if some set cannot be split
            alive (m,): in that case, the triplets that hold it together
    """
    g = _graph(triplets, n_items)
    s = _Sets(
        np.arange(n_items), np.arange(n_items), np.zeros(n_items, np.int64),
        np.zeros(2, np.int64), np.empty((2, n_items), np.int64),
        np.zeros((n_items + 1, 2), np.int64), np.empty(len(triplets), np.int64),
    )  # fmt: skip
    above = np.full(2 * n_items, -1, np.int64)
    waiting = np.empty((n_items + 1, 3), np.int64)  # stretches to be split, and the sets above
    waiting[0, 0], waiting[0, 1], waiting[0, 2] = 0, n_items, -1
    n_waiting, n_sets = 1, 0
    while n_waiting:
        n_waiting -= 1
        low, high, up = waiting[n_waiting]
        n_died, n_edges = 0, -1  # nothing is known about this stretch
        while high - low > 1:
            n_pieces, next_low, next_high = -1, low, high
            if n_edges >= 0:
                n_pieces, next_low, next_high = _cut_known(g, s, low, high, n_died, n_edges)
            if n_pieces < 0:
                s.count[1] = 0
                n_pieces, next_low, next_high = _cut_unknown(g, s, low, high)
                n_edges = s.count[1]
            if n_pieces == 0:
                for t in range(len(triplets)):
                    g.alive[t] &= low <= s.at[triplets[t, 0]] < high
                return above[:0], g.alive
            above[n_items + n_sets] = up
            up = n_sets
            n_sets += 1
            n_died, n_gone = _bury(g, s, n_pieces, next_low, next_high)
            n_edges -= n_gone
            for p in range(n_pieces):
                first, stop = s.pieces[p]
                if stop - first == 1:
                    above[s.order[first]] = up
                else:
                    waiting[n_waiting, 0], waiting[n_waiting, 1] = first, stop
                    waiting[n_waiting, 2] = up
                    n_waiting += 1
            low, high = next_low, next_high
        above[s.order[low]] = up
    return above[: n_items + n_sets], g.alive


# -------------------------------------------------------------------- what to give up


@kernel
def _worth(triplets, weight, side, v, start, which, open_worth):
    """What the triplets of item v are worth: met by the cut 1, still open less, cut through 0."""
    total = 0.0
    for e in range(start[v], start[v + 1]):
        t = which[e]
        a, b, c = side[triplets[t, 0]], side[triplets[t, 1]], side[triplets[t, 2]]
        if a == b:
            total += weight[t] * (1.0 if a != c else open_worth)
    return total


@kernel
def improve_cut(triplets, weight, side, open_worth, max_rounds):
    """Move single items to the other side while that makes the cut worth more.

    IN      triplets (m, 3) over 0..n-1; weight (m,)
    IN/OUT  side (n,): 0 or 1, both in use
    OUT     what the cut is worth
    """
    n = len(side)
    start, which = occurrences(triplets, n, 0, 3)
    on = np.zeros(2, np.int64)
    for v in range(n):
        on[side[v]] += 1
    for _ in range(max_rounds):
        moved = False
        for v in range(n):
            if on[side[v]] == 1:
                continue
            before = _worth(triplets, weight, side, v, start, which, open_worth)
            side[v] = 1 - side[v]
            after = _worth(triplets, weight, side, v, start, which, open_worth)
            if after > before * (1 + 1e-12) + 1e-300:
                on[side[v]] += 1
                on[1 - side[v]] -= 1
                moved = True
            else:
                side[v] = 1 - side[v]
        if not moved:
            break
    total = 0.0
    for t in range(len(triplets)):
        a, b, c = side[triplets[t, 0]], side[triplets[t, 1]], side[triplets[t, 2]]
        if a == b:
            total += weight[t] * (1.0 if a != c else open_worth)
    return total
