"""Compiled loops over links: graphs, penalties, ICM, hard constraints.

As in `_row_kernels`: arguments are arrays the caller owns, or named tuples of arrays; nothing is
checked; the GIL is released. Rows are positions among the constrained rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwise._compiled import kernel

_MANY = 65_535  # largest count of moved neighbors (uint16)


class LinkCosts(NamedTuple):
    """Adjacency lists of the constrained rows, and what their links cost.

    With one cost per link for all clusters, a violated must-link costs the same wherever the two
    rows are, so that being together is rewarded instead (a negative cost). Lists have must-links
    first, up to `middle`. If all must-links cost the same and all cannot-links do, the two numbers
    in `flat` are enough; otherwise every entry has its own cost in `signed`. Both are empty if
    costs differ between clusters; then `cost[link]` is used.
    """

    indptr: NDArray  # (n + 1,)
    middle: NDArray  # (n,): where the cannot-links of each row start
    neighbor: NDArray  # (2 m,)
    flat: NDArray  # (2,) or (0,): cost of being together by a must-link, by a cannot-link
    signed: NDArray  # (2 m,) or (0,): the same per entry
    link: NDArray  # (2 m,) or (0,): link of each entry
    is_must: NDArray  # (m,)
    cost: NDArray  # (m, 1) or (m, k)


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


class Groups(NamedTuple):
    """Must-link components: members of group g are members[starts[g]:starts[g + 1]]."""

    starts: NDArray
    members: NDArray
    group: NDArray  # (n,): group of each row


# -------------------------------------------------------------------- lengths of links


@kernel
def link_lengths(X, pairs, metrics, start, stop, out):
    """Squared lengths of pairs start..stop of rows under diagonal metrics, in float64.

    IN      X (n, d); pairs (m, 2) of rows; metrics (groups, d)
    OUT     out (m, groups)
    """
    n_groups, n_features = metrics.shape
    squares = np.empty(n_features)
    for e in range(start, stop):
        i, j = pairs[e, 0], pairs[e, 1]
        for f in range(n_features):
            away = np.float64(X[i, f]) - X[j, f]
            squares[f] = away * away
        for g in range(n_groups):
            total = 0.0
            for f in range(n_features):
                total += squares[f] * metrics[g, f]
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
def count_ends(ends, start, stop, counts):
    """Count how often each vertex is an end of edges start..stop, ends (m, 2)."""
    for e in range(start, stop):
        counts[ends[e, 0]] += 1
        counts[ends[e, 1]] += 1


@kernel
def place_lists(counts, indptr):
    """Where each vertex's list starts, and within it the part of each thread's edges.

    IN/OUT  counts (n_parts, n_vertices): how many, then where they start
    OUT     indptr (n_vertices + 1,)
    """
    total = 0
    for v in range(counts.shape[1]):
        indptr[v] = total
        for part in range(counts.shape[0]):
            number = counts[part, v]
            counts[part, v] = total
            total += number
    indptr[counts.shape[1]] = total


@kernel
def fill_adjacency(ends, start, stop, cursor, neighbor, edge):
    """List the neighbors of each vertex and the edges to them, lower edges first.

    IN      ends (m, 2), of which start..stop are added
    IN/OUT  cursor (n_vertices,): next free position of each list
    OUT     neighbor (2 m,); edge (2 m,) or (0,)
    """
    for e in range(start, stop):
        for side in (0, 1):
            v = ends[e, side]
            neighbor[cursor[v]] = ends[e, 1 - side]
            if edge.size:
                edge[cursor[v]] = e
            cursor[v] += 1


@kernel
def violation_costs(ends, is_must, labels, cost, clusters, start, stop, each):
    """Total cost of violated links: the mean of a link's entries for the clusters of its ends.

    IN      cost (m, 1), or (m, k) where `clusters`; start..stop: the links to add up
    OUT     each (m,) or (0,): cost of each link
    """
    total = 0.0
    for e in range(start, stop):
        a, b = labels[ends[e, 0]], labels[ends[e, 1]]
        paid = 0.0
        if (a == b) != is_must[e] and (a >= 0 or b >= 0):  # -1: no cluster
            paid = 0.5 * (cost[e, a] + cost[e, b]) if clusters else cost[e, 0]
        if each.size:
            each[e] = paid
        total += paid
    return total


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


# The kernels below read the adjacency lists in their own loops: a call per row with many arrays
# takes longer than the loop. No branch depends on what is read, so that reads overlap: penalties
# start with an entry for neighbors without a cluster (-1).


@kernel
def icm(order, place, distance, graph, cliques, counts, dearest, labels, edge, moves):
    """Iterated conditional modes: each row in turn takes its cheapest cluster.

    A row sums the costs of its links only when its turn comes; between turns only the number of
    neighbors that moved is kept. A neighbor's move changes the difference of two clusters by at
    most twice the cost of the dearest link, which bounds `edge` without reading the links.

    IN      order (m,) of the rows to visit; place (n,): position of each row in distance (m, k);
            graph: `LinkCosts`; cliques: `CliqueLists`; dearest (n,): the largest cost of a row's
            links and of a pair of its groups, at least 0
    IN/OUT  counts (n_groups, k): members per cluster; labels (n,)
            edge (n,): the most by which links made the present cluster dearer than
            another at the last visit; moves (n,): neighbors that have moved since

    Returns how many rows moved, and the change in the cost of violated links.
    """
    indptr, middle, neighbor, flat, signed, link, is_must, cost = graph
    in_groups, group, starts, members, weight = cliques
    k = distance.shape[1]
    penalties = np.zeros(k + 1)
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
        if flat.size:
            for p in range(indptr[i], middle[i]):
                penalties[labels[neighbor[p]] + 1] += flat[0]
            for p in range(middle[i], indptr[i + 1]):
                penalties[labels[neighbor[p]] + 1] += flat[1]
        elif signed.size:
            for p in range(indptr[i], indptr[i + 1]):
                penalties[labels[neighbor[p]] + 1] += signed[p]
        else:
            for p in range(indptr[i], indptr[i + 1]):
                b, number = labels[neighbor[p]], link[p]
                if b >= 0 and not is_must[number]:
                    penalty[b] += cost[number, b]
                elif b >= 0:  # a must-link between two clusters costs the mean of both
                    for c in range(k):
                        if c != b:
                            penalty[c] += 0.5 * (cost[number, c] + cost[number, b])
        for p in range(in_groups[i], in_groups[i + 1]):
            g = group[p]
            for c in range(k):
                penalty[c] += weight[g] * counts[g, c]
            if old >= 0:
                penalty[old] -= weight[g]  # the row itself
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
        moved += 1
        change += penalty[best] - penalty[max(old, 0)]
        for p in range(indptr[i], indptr[i + 1]):
            if moves[neighbor[p]] < _MANY:
                moves[neighbor[p]] += 1
        for p in range(in_groups[i], in_groups[i + 1]):
            g = group[p]
            counts[g, best] += 1
            if old >= 0:
                counts[g, old] -= 1
            for q in range(starts[g], starts[g + 1]):
                if moves[members[q]] < _MANY and members[q] != i:
                    moves[members[q]] += 1
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


@kernel
def assign_groups(order, groups, distance, graph, cliques, counts, labels):
    """Assign whole must-link components that have no cluster yet to their cheapest cluster.

    IN      order of the groups; groups: `Groups`; graph: `LinkCosts`; cliques: `CliqueLists`
    IN/OUT  labels (n,), -1 = not assigned yet; counts (n_groups, k)
    """
    starts, members, _ = groups
    in_cliques, clique, weight = cliques.indptr, cliques.group, cliques.weight
    indptr, middle, neighbor, flat, signed, link, _, cost = graph
    k = distance.shape[1]
    total, pull = np.empty(k), np.empty(k + 1)
    for t in range(order.shape[0]):
        g = order[t]
        total[:] = 0.0
        pull[:] = 0.0
        for q in range(starts[g], starts[g + 1]):
            i = members[q]
            for c in range(k):
                total[c] += distance[i, c]
            for p in range(in_cliques[i], in_cliques[i + 1]):
                for c in range(k):
                    pull[c + 1] += weight[clique[p]] * counts[clique[p], c]
            # Must-links stay inside the group: all of them count here.
            if flat.size:
                for p in range(middle[i], indptr[i + 1]):
                    pull[labels[neighbor[p]] + 1] += flat[1]
            elif signed.size:
                for p in range(middle[i], indptr[i + 1]):
                    pull[labels[neighbor[p]] + 1] += signed[p]
            else:
                for p in range(middle[i], indptr[i + 1]):
                    b = labels[neighbor[p]]
                    if b >= 0:
                        pull[b + 1] += cost[link[p], b]
        best = 0
        for c in range(k):
            total[c] += pull[c + 1]
            if total[c] < total[best]:
                best = c
        for q in range(starts[g], starts[g + 1]):
            i = members[q]
            labels[i] = best
            for p in range(in_cliques[i], in_cliques[i + 1]):
                counts[clique[p], best] += 1


@kernel
def icm_groups(order, groups, distance, graph, cliques, counts, dear, clashing, labels):
    """One sweep in which whole must-link components take their cheapest cluster.

    Single rows cannot leave a component one by one without violating links; together they can.
    Costs are summed over neighbors from scratch: in running sums the rounding error of heavy links
    inside a group would exceed light ones outside.

    IN      order of the groups; groups: `Groups`; graph: `LinkCosts`; dear (n,): the most that the
            links of each row can cost; clashing: whether a group may contain cannot-links;
            cliques: `CliqueLists`, of which no group here has two members
    IN/OUT  labels (n,); counts (n_cliques, k)
    """
    starts, members, group = groups
    in_cliques, clique, weight = cliques.indptr, cliques.group, cliques.weight
    indptr, middle, neighbor, flat, signed, link, is_must, cost = graph
    k = distance.shape[1]
    total, pull = np.empty(k), np.empty(k)
    moved = 0
    for t in range(order.shape[0]):
        g = order[t]
        total[:] = 0.0
        pull[:] = 0.0
        now = 0.0
        together = 0.0
        reach = 0.0  # the most that links can cost now
        for q in range(starts[g], starts[g + 1]):
            i = members[q]
            for c in range(k):
                total[c] += distance[i, c]
            now += distance[i, labels[i]]
            reach += dear[i]
        least = total[0]
        for c in range(1, k):
            least = min(least, total[c])
        if not least < now + reach:
            continue
        for q in range(starts[g], starts[g + 1]):
            i = members[q]
            a = labels[i]
            for p in range(in_cliques[i], in_cliques[i + 1]):
                apart = weight[clique[p]]
                for c in range(k):
                    pull[c] += apart * counts[clique[p], c]
                pull[a] -= apart
                now += apart * (counts[clique[p], a] - 1)
            if flat.size and not clashing:  # must-links are inside, cannot-links outside
                kept, broken = 0, 0
                for p in range(indptr[i], middle[i]):
                    kept += labels[neighbor[p]] == a
                for p in range(middle[i], indptr[i + 1]):
                    pull[labels[neighbor[p]]] += flat[1]
                    broken += labels[neighbor[p]] == a
                together += 0.5 * flat[0] * (middle[i] - indptr[i])
                now += 0.5 * flat[0] * kept + flat[1] * broken
                continue
            for p in range(indptr[i], indptr[i + 1]):
                b = labels[neighbor[p]]
                inside = group[neighbor[p]] == g
                share = 0.5 if inside else 1.0  # links inside are met from both ends
                if flat.size or signed.size:
                    reward = signed[p] if signed.size else flat[0 if p < middle[i] else 1]
                    if inside:
                        together += 0.5 * reward
                    else:
                        total[b] += reward
                    if a == b:  # the same terms for the present labels
                        now += share * reward
                    continue
                number = link[p]
                if not inside:  # must-links are inside
                    total[b] += cost[number, b]
                elif not is_must[number]:  # a contradiction: broken wherever the group goes
                    for c in range(k):
                        total[c] += 0.5 * cost[number, c]
                if (a == b) != is_must[number]:
                    now += share * 0.5 * (cost[number, a] + cost[number, b])
        best = 0
        for c in range(k):
            total[c] += pull[c]
            if total[c] < total[best]:
                best = c
        after = total[best] + together
        if not after < now - 1e-10 * (abs(now) + abs(after)):
            continue
        for q in range(starts[g], starts[g + 1]):
            i = members[q]
            moved += labels[i] != best
            for p in range(in_cliques[i], in_cliques[i + 1]):
                counts[clique[p], labels[i]] -= 1
                counts[clique[p], best] += 1
            labels[i] = best
    return moved


# -------------------------------------------------------------------- hard constraints


@kernel
def group_costs(distance, group, cost, nearest):
    """Cost of each group of rows in each cluster, and its cheapest cluster.

    IN      distance (n, k); group (n,) of each row
    OUT     cost (m, k), nearest (m,)
    """
    n_groups, k = cost.shape
    cost[:] = 0.0
    for i in range(group.shape[0]):
        for c in range(k):
            cost[group[i], c] += distance[i, c]
    for g in range(n_groups):
        nearest[g] = 0
        for c in range(1, k):
            if cost[g, c] < cost[g, nearest[g]]:
                nearest[g] = c


@kernel
def assign_cliques(starts, members, cost, nearest, labels):
    """Give the vertices of each disjoint clique different clusters at the least total cost.

    The Hungarian method with potentials, one vertex at a time: O(m^2 k) for a clique of m. A clique
    whose nearest clusters differ already is done at once.

    IN      starts (n_cliques + 1,), members: vertices; cost (n, k); nearest (n,)
    OUT     labels (n,), of the members only
    """
    k = cost.shape[1]
    largest = 0
    for g in range(starts.shape[0] - 1):
        largest = max(largest, starts[g + 1] - starts[g])
    taken = np.zeros(k, np.bool_)
    u, v = np.zeros(largest + 1), np.zeros(k + 1)
    row_of, way = np.zeros(k + 1, np.int64), np.zeros(k + 1, np.int64)
    least, used = np.empty(k + 1), np.empty(k + 1, np.bool_)
    for g in range(starts.shape[0] - 1):
        first, size = starts[g], starts[g + 1] - starts[g]
        taken[:] = False
        differ = True
        for q in range(size):
            c = nearest[members[first + q]]
            differ &= not taken[c]
            taken[c] = True
            labels[members[first + q]] = c
        if differ:
            continue
        u[:], v[:] = 0.0, 0.0
        row_of[:] = 0
        for i in range(1, size + 1):
            row_of[0] = i
            least[:] = np.inf
            used[:] = False
            j = 0
            while True:
                used[j] = True
                row, delta, next_j = row_of[j], np.inf, 0
                for c in range(1, k + 1):
                    if used[c]:
                        continue
                    now = cost[members[first + row - 1], c - 1] - u[row] - v[c]
                    if now < least[c]:
                        least[c] = now
                        way[c] = j
                    if least[c] < delta:
                        delta = least[c]
                        next_j = c
                for c in range(k + 1):
                    if used[c]:
                        u[row_of[c]] += delta
                        v[c] -= delta
                    else:
                        least[c] -= delta
                j = next_j
                if row_of[j] == 0:
                    break
            while j:
                row_of[j] = row_of[way[j]]
                j = way[j]
        for c in range(1, k + 1):
            if row_of[c]:
                labels[members[first + row_of[c] - 1]] = c - 1


@kernel
def total_cost(cost, labels):
    """Sum of what each group costs in its cluster."""
    total = 0.0
    for g in range(labels.shape[0]):
        total += cost[g, labels[g]]
    return total


@kernel
def greedy_hard(order, distance, labels, indptr, neighbor, taken):
    """Give each group in turn its cheapest cluster that no cannot-linked group has yet.

    Returns -1, or the group that found no cluster left.
    """
    k = distance.shape[1]
    labels[:] = -1
    for t in range(order.shape[0]):
        i = order[t]
        for c in range(k):
            taken[c] = False
        for p in range(indptr[i], indptr[i + 1]):
            if labels[neighbor[p]] >= 0:
                taken[labels[neighbor[p]]] = True
        best = -1
        for c in range(k):
            if not taken[c] and (best < 0 or distance[i, c] < distance[i, best]):
                best = c
        if best < 0:
            return i
        labels[i] = best
    return -1


@kernel
def improve_hard(order, distance, nearest, labels, indptr, neighbor, taken, max_sweeps):
    """Move groups to cheaper clusters as long as no cannot-link breaks; also swap linked pairs.

    A group in its nearest cluster has nothing to gain by itself; a swap is proposed by the other.
    """
    k = distance.shape[1]
    for _ in range(max_sweeps):
        moved = 0
        for t in range(order.shape[0]):
            i = order[t]
            if labels[i] == nearest[i]:
                continue
            for c in range(k):
                taken[c] = 0
            for p in range(indptr[i], indptr[i + 1]):
                taken[labels[neighbor[p]]] += 1
            old = labels[i]
            best = old
            for c in range(k):
                if taken[c] == 0 and distance[i, c] < distance[i, best]:
                    best = c
            if best != old:
                labels[i] = best
                moved += 1
                continue
            for p in range(indptr[i], indptr[i + 1]):
                j = neighbor[p]
                c = labels[j]
                # j alone keeps i out of c: swap them if no neighbor of j is in i's cluster.
                if taken[c] != 1:
                    continue
                gain = distance[i, old] + distance[j, c] - distance[i, c] - distance[j, old]
                if gain <= 1e-12 * (abs(distance[i, old]) + abs(distance[j, c])):
                    continue
                free = True
                for q in range(indptr[j], indptr[j + 1]):
                    if neighbor[q] != i and labels[neighbor[q]] == old:
                        free = False
                if free:
                    labels[i], labels[j] = c, old
                    moved += 1
                    break
        if moved == 0:
            break
