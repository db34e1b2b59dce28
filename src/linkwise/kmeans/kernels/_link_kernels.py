"""Compiled loops over links: graphs, penalties, ICM of single rows.

As in `_row_kernels`: arguments are arrays the caller owns, or named tuples of arrays; nothing is
checked; the GIL is released. Rows are positions among the constrained rows. What is tested for
None is compiled only where it is given.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwise._compiled import kernel

_MANY = 65_535  # largest count of moved neighbors (uint16)


class Measure(NamedTuple):
    """Costs by the lengths of links, to be computed when they are needed.

    A must-link costs the squared distance of its rows, a cannot-link what that lacks of the
    farthest pair's. With many links per row, to read the rows takes most of the time, and few
    rows need it: one in its nearest cluster without a violated link stays whatever links cost.
    """

    X: NDArray  # (n_all, d)
    at: NDArray  # (n,): rows of X
    metric: NDArray  # (d,)
    weight: NDArray  # of each entry, (2 m,), or of all, (1,)
    farthest: float
    done: NDArray  # (n,): rows whose costs are filled in


class LinkLists(NamedTuple):
    """Adjacency lists of the constrained rows: must-links first, up to `middle`.

    What the links cost is given beside them in one of three forms, the others being None. With
    one cost per link for all clusters, a violated must-link costs the same wherever the two rows
    are, so that being together is rewarded instead (a negative cost):

    flat (2,)       cost of being together by any must-link, and by any cannot-link
    signed (2 m,)   the same per entry; with a `Measure`, filled in for a row when its turn comes
    each            `LinkCosts`, if costs differ between clusters
    """

    indptr: NDArray  # (n + 1,)
    middle: NDArray  # (n,): where the cannot-links of each row start
    neighbor: NDArray  # (2 m,)


class LinkCosts(NamedTuple):
    """Costs of links that differ between clusters."""

    link: NDArray  # (2 m,): link of each entry of the lists
    is_must: NDArray  # (m,)
    cost: NDArray  # (m, k)


class CliqueLists(NamedTuple):
    """Apart groups of the constrained rows: each pair of a group in one cluster costs its weight.

    A row needs the number of members per cluster only, so that its cost takes O(k) per group
    whatever the size of the group. Counts (n_groups, k) are kept by the caller.
    """

    indptr: NDArray  # (n + 1,): groups of row i are group[indptr[i]:indptr[i + 1]]
    group: NDArray
    starts: NDArray  # (n_groups + 1,)
    members: NDArray
    weight: NDArray  # (n_groups,)


# -------------------------------------------------------------------- lengths of links


@kernel
def link_lengths(X, pairs, metrics, start, stop, out):
    """Squared lengths of pairs start..stop of rows under diagonal metrics, in float64.

    IN      X (n, d); pairs (m, 2) of rows; metrics (groups, d)
    OUT     out (m, groups)
    """
    n_groups, n_features = metrics.shape
    for e in range(start, stop):
        i, j = pairs[e, 0], pairs[e, 1]
        for g in range(n_groups):
            total = 0.0
            for f in range(n_features):
                away = np.float64(X[i, f]) - X[j, f]
                total += away * away * metrics[g, f]
            out[e, g] = total


@kernel
def add_squares(X, pairs, group, weight, out):
    """Add weighted squares of differences to the groups of pairs.

    IN      pairs (m, 2) of rows; group (m,); weight (m,)
    IN/OUT  out (groups, d)
    """
    for e in range(pairs.shape[0]):
        i, j, g, w = pairs[e, 0], pairs[e, 1], group[e], weight[e]
        if w == 0.0:
            continue
        for f in range(X.shape[1]):
            away = np.float64(X[i, f]) - X[j, f]
            out[g, f] += w * away * away


# -------------------------------------------------------------------- links


@kernel
def list_neighbors(ends, indptr, neighbor, edge):
    """Adjacency lists: the neighbors of each vertex and the edges to them, lower edges first.

    IN      ends (m, 2)
    IN/OUT  indptr (n_vertices + 1,), zeros
    OUT     neighbor (2 m,); edge (2 m,) or (0,)
    """
    for e in range(ends.shape[0]):
        indptr[ends[e, 0]] += 1
        indptr[ends[e, 1]] += 1
    total = 0
    for v in range(indptr.shape[0]):
        number = indptr[v]
        indptr[v] = total
        total += number
    for e in range(ends.shape[0]):
        for side in range(2):
            v = ends[e, side]
            p = indptr[v]  # the next free position of the list, at last the start of the next one
            neighbor[p] = ends[e, 1 - side]
            if edge.size:
                edge[p] = e
            indptr[v] = p + 1
    for v in range(indptr.shape[0] - 1, 0, -1):
        indptr[v] = indptr[v - 1]
    indptr[0] = 0


@kernel
def list_violated(ends, is_must, labels, start, stop, out):
    """List the violated ones of links start..stop, from out[start] on; returns how many."""
    number = 0
    for e in range(start, stop):
        a, b = labels[ends[e, 0]], labels[ends[e, 1]]
        out[start + number] = e
        number += ((a == b) != is_must[e]) & ((a >= 0) | (b >= 0))  # -1: no cluster
    return number


@kernel
def signed_costs(indptr, link, n_must, cost, start, stop, signed, total, dearest):
    """Cost of being together at each entry of the adjacency: negative for must-links.

    IN      cost (m, 1) or (m, k), must-links first; start..stop: the rows to fill in
    OUT     signed (2 m,), or (0,) if costs differ between clusters; per row, total (n,) of what
            its links can cost and dearest (n,), the most that one of them can
    """
    k = cost.shape[1]
    for i in range(start, stop):
        total[i] = 0.0
        dearest[i] = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            most = cost[link[p], 0]
            if signed.size:
                signed[p] = -most if link[p] < n_must else most
            for c in range(1, k):
                most = max(most, cost[link[p], c])
            total[i] += most
            dearest[i] = max(dearest[i], most)


@kernel
def _measured(i, p, is_must, neighbor, measure):
    """Cost of being together at one entry of the list of row i."""
    X, at, metric, weight, farthest, _ = measure
    a, b = at[i], at[neighbor[p]]
    length = 0.0
    for f in range(metric.shape[0]):
        away = np.float64(X[a, f]) - X[b, f]
        length += metric[f] * away * away
    w = weight[p] if weight.size > 1 else weight[0]
    return -w * length if is_must else w * max(farthest - length, 0.0)


@kernel
def _fill_in(i, lists, measure, signed, dearest):
    """Measure the links of row i."""
    dearest[i] = 0.0
    for p in range(lists.indptr[i], lists.indptr[i + 1]):
        cost = _measured(i, p, p < lists.middle[i], lists.neighbor, measure)
        signed[p] = cost
        dearest[i] = max(dearest[i], abs(cost))
    measure.done[i] = True


@kernel
def _may_move(i, a, gap, lists, measure, labels, satisfied):
    """Whether row i might leave cluster a, which costs `gap` more than the cheapest other.

    Only must-links and violated links are measured: to leave costs at least the must-links that
    are kept, and saves at most the violated links, which a satisfied row has none of.
    """
    indptr, middle, neighbor = lists
    if satisfied:
        for p in range(indptr[i], middle[i]):
            gap += _measured(i, p, True, neighbor, measure)
            if gap <= 0.0:
                return False
        return gap > 0.0
    kept = True
    for p in range(indptr[i], middle[i]):
        kept &= labels[neighbor[p]] == a
    for p in range(middle[i], indptr[i + 1]):
        kept &= labels[neighbor[p]] != a
    if kept and gap <= 0.0:
        return False
    for p in range(indptr[i], middle[i]):
        b = labels[neighbor[p]]
        if b >= 0:
            cost = _measured(i, p, True, neighbor, measure)
            gap += cost if a == b else -cost
    for p in range(middle[i], indptr[i + 1]):
        if labels[neighbor[p]] == a:
            gap += _measured(i, p, False, neighbor, measure)
    return gap > 0.0


# `icm` reads the adjacency lists in its own loops: a call per row with many arrays takes longer
# than the loop. No branch depends on what is read, so that reads overlap: penalties start with an
# entry for neighbors without a cluster (-1).


@kernel
def icm(
    order, place, distance, lists, flat, signed, each, measure, cliques, counts, dearest, labels,
    edge, moves, satisfied,
):  # fmt: skip
    """Iterated conditional modes: each row in turn takes its cheapest cluster.

    A row sums the costs of its links only when its turn comes; between turns only the number of
    neighbors that moved is kept. A neighbor's move changes the difference of two clusters by at
    most twice the cost of the dearest link, which bounds `edge` without reading the links.

    IN      order (m,) of the rows to visit; place (n,): position of each row in distance (m, k);
            lists: `LinkLists`, and flat, signed, each as it says; measure: `Measure` or None;
            cliques: `CliqueLists` or None; dearest (n,): the largest cost of a row's links and of
            a pair of its groups, at least 0 (filled in with a measure)
    IN/OUT  counts (n_groups, k): members per cluster; labels (n,)
            edge (n,): the most by which links made the present cluster dearer than
            another at the last visit; moves (n,): neighbors that have moved since
            satisfied (n,): rows without a violated link or a group, whose nearest cluster is the
            cheapest; False for rows of which nothing is known

    Returns how many rows moved, and the change in the cost of violated links.
    """
    indptr, middle, neighbor = lists
    k = distance.shape[1]
    penalties = np.empty(k + 1)
    penalty = penalties[1:]
    moved = 0
    change = 0.0
    for s in range(order.shape[0]):
        i = order[s]
        t, old = place[i], labels[i]
        other = np.inf
        for c in range(k):
            penalty[c] = 0.0
            if c != old:
                other = min(other, distance[t, c])
        # A neighbor that moves makes one cluster dearer and another cheaper by its link's cost.
        if moves[i] < _MANY:
            edge[i] += 2.0 * dearest[i] * moves[i]
            moves[i] = 0
            if distance[t, old] + edge[i] < other:
                continue
        if satisfied[i] and distance[t, old] <= other:
            if measure is None:  # else `dearest` is not known, by which an edge grows
                edge[i] = min(edge[i], 0.0)
            continue
        if measure is not None and not measure.done[i]:
            gap = distance[t, old] - other
            if old >= 0 and not _may_move(i, old, gap, lists, measure, labels, satisfied[i]):
                moves[i] = 0
                continue
            _fill_in(i, lists, measure, signed, dearest)
        if flat is not None:
            for p in range(indptr[i], middle[i]):
                penalties[labels[neighbor[p]] + 1] += flat[0]
            for p in range(middle[i], indptr[i + 1]):
                penalties[labels[neighbor[p]] + 1] += flat[1]
        if signed is not None:
            for p in range(indptr[i], indptr[i + 1]):
                penalties[labels[neighbor[p]] + 1] += signed[p]
        if each is not None:
            for p in range(indptr[i], indptr[i + 1]):
                b, number = labels[neighbor[p]], each.link[p]
                if b >= 0 and not each.is_must[number]:
                    penalty[b] += each.cost[number, b]
                elif b >= 0:  # a must-link between two clusters costs the mean of both
                    for c in range(k):
                        if c != b:
                            penalty[c] += 0.5 * (each.cost[number, c] + each.cost[number, b])
        if cliques is not None:
            for p in range(cliques.indptr[i], cliques.indptr[i + 1]):
                g = cliques.group[p]
                for c in range(k):
                    penalty[c] += cliques.weight[g] * counts[g, c]
                if old >= 0:
                    penalty[old] -= cliques.weight[g]  # the row itself
        best, lowest = max(old, 0), 0
        least = distance[t, best] + penalty[best]
        first, second = np.inf, np.inf  # the lowest penalties
        for c in range(k):
            here = penalty[c]
            if distance[t, c] + here < least:
                least = distance[t, c] + here
                best = c
            second = min(second, max(first, here))
            if here < first:
                first = here
                lowest = c
        edge[i] = penalty[best] - (second if lowest == best else first)
        moves[i] = 0
        if best == old:
            continue
        labels[i] = best
        satisfied[i] = False
        moved += 1
        change += penalty[best] - penalty[max(old, 0)]
        for p in range(indptr[i], indptr[i + 1]):
            satisfied[neighbor[p]] = False
            if moves[neighbor[p]] < _MANY:
                moves[neighbor[p]] += 1
        if cliques is not None:
            for p in range(cliques.indptr[i], cliques.indptr[i + 1]):
                g = cliques.group[p]
                counts[g, best] += 1
                if old >= 0:
                    counts[g, old] -= 1
                for q in range(cliques.starts[g], cliques.starts[g + 1]):
                    v = cliques.members[q]
                    if moves[v] < _MANY and v != i:
                        moves[v] += 1
    return moved, change


@kernel
def count_members(cliques, labels, counts):
    """Members per cluster of each apart group; rows without a cluster (-1) are not counted.

    OUT     counts (n_groups, k)
    """
    starts, members = cliques.starts, cliques.members
    counts[:] = 0
    for g in range(counts.shape[0]):
        for q in range(starts[g], starts[g + 1]):
            if labels[members[q]] >= 0:
                counts[g, labels[members[q]]] += 1


@kernel
def own_clique_costs(cliques, counts, labels, out):
    """What apart groups cost each row where it is; in no cluster do they cost less than 0.

    IN      counts (n_groups, k); labels (n,), none -1
    OUT     out (n,)
    """
    indptr, group, weight = cliques.indptr, cliques.group, cliques.weight
    for i in range(labels.shape[0]):
        out[i] = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            out[i] += weight[group[p]] * (counts[group[p], labels[i]] - 1)


@kernel
def rows_of_runs(runs, width, wanted, out):
    """List the wanted rows, run by run (a run is `width` consecutive rows); returns how many."""
    number = 0
    for s in range(runs.shape[0]):
        first = runs[s] * width
        for i in range(first, min(first + width, wanted.shape[0])):
            out[number] = i
            number += wanted[i]  # no branch: it could not be predicted
    return number
