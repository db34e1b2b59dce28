"""Compiled loops under hard constraints: greedy assignment, improvement, disjoint cliques.

Vertices are must-link components ("groups"); see `_link_kernels` for the conventions.
"""

from __future__ import annotations

import numpy as np

from linkwise._compiled import kernel


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
