"""Compiled loops for limits on cluster sizes: prices, shortest paths between clusters, repairs.

As in `_link_kernels`: arguments are arrays the caller owns; nothing is checked; the GIL is
released. Units are rows, or groups of rows that stay together; their size is their number of
rows or their weight.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwise._compiled import kernel

_SWAPS = 64  # units of the other clusters that are tried as partners of a swap
_POOL = 32  # candidates that are kept per pair of clusters
_TINY = 1e-9  # relative to a size: rounding of sums of weights


class UnitLinks(NamedTuple):
    """What units cost each other: `signed` if together, and the weights of apart groups."""

    indptr: NDArray  # (n + 1,)
    neighbor: NDArray
    signed: NDArray
    in_groups: NDArray  # (n + 1,): groups of unit u are group[in_groups[u]:in_groups[u + 1]]
    group: NDArray
    starts: NDArray  # (n_groups + 1,)
    members: NDArray
    weight: NDArray  # (n_groups,)


class Members(NamedTuple):
    """The units of each cluster as linked lists."""

    head: NDArray  # (k,)
    after: NDArray  # (n,)
    before: NDArray  # (n,)


class Moves(NamedTuple):
    """The cheapest unit to move for every pair of clusters, and the next candidates.

    Units of a cluster that are not in `pool` cost at least `bound`.
    """

    gain: NDArray  # (k, k)
    who: NDArray  # (k, k)
    pool: NDArray  # (k, k, _POOL)
    filled: NDArray  # (k, k)
    bound: NDArray  # (k, k)


@kernel
def priced_labels(cost, size, price, labels, load):
    """Cheapest cluster of each unit if a cluster costs its price per unit of size.

    IN      cost (n, k); size (n,); price (k,)
    OUT     labels (n,), load (k,)

    Returns the sum of the lowest costs, prices included.
    """
    k = cost.shape[1]
    load[:] = 0.0
    total = 0.0
    for u in range(cost.shape[0]):
        best, least = 0, np.inf
        for c in range(k):
            here = cost[u, c] + price[c] * size[u]
            if here < least:
                least = here
                best = c
        labels[u] = best
        load[best] += size[u]
        total += least
    return total


@kernel
def ship(cost, labels, low, high, potential, links):
    """Move units along cheapest paths between clusters until every size is within its limits.

    The transportation problem by successive shortest paths. Nodes are the clusters and a pool
    that every cluster sends its units to, between `low` and `high` of them at no cost; the length
    of an arc between clusters is the least extra cost of a unit that moves. If labels are the
    cheapest at the prices ``-potential`` (relative to the pool's), the result is the optimum. With
    links it is within the limits only: costs of neighbors change as units move.

    IN      low, high (k,): whole numbers; links: `UnitLinks`
    IN/OUT  cost (n, k), with the present costs of links; labels (n,); potential (k + 1,)

    Returns whether the limits can be met.
    """
    n, k = cost.shape
    head, count = np.full(k, -1, np.int64), np.zeros(k, np.int64)
    after, before = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    for u in range(n):
        a = labels[u]
        after[u] = head[a]
        if head[a] >= 0:
            before[head[a]] = u
        head[a] = u
        count[a] += 1
    members = Members(head, after, before)
    gain, who = np.full((k, k), np.inf), np.full((k, k), -1, np.int64)
    pool, filled = np.empty((k, k, _POOL), np.int64), np.zeros((k, k), np.int64)
    moves = Moves(gain, who, pool, filled, np.full((k, k), -np.inf))
    listed = np.zeros(k + 1, np.bool_)  # clusters that a path has come to
    listed[k] = True
    # From each cluster to the pool. A price above 0 asks for a full cluster, one below 0 for one
    # at its minimum: so no arc has a negative reduced cost, and the result is the optimum.
    sent = np.minimum(np.maximum(count, low), high)
    for c in range(k):
        if potential[c] < potential[k]:
            sent[c] = high[c]
        elif potential[c] > potential[k]:
            sent[c] = low[c]
    excess = np.empty(k + 1, np.int64)
    excess[k] = -n
    for c in range(k):
        excess[c] = count[c] - sent[c]
        excess[k] += sent[c]
    distance, parent = np.empty(k + 1), np.empty(k + 1, np.int64)
    done = np.empty(k + 1, np.bool_)
    for source in range(k + 1):
        while excess[source] > 0:
            distance[:] = np.inf
            parent[:] = -1
            done[:] = False
            distance[source] = 0.0
            target = -1
            while True:
                v = -1
                for c in range(k + 1):
                    if (
                        not done[c]
                        and distance[c] < np.inf
                        and (v < 0 or distance[c] < distance[v])
                    ):
                        v = c
                if v < 0:
                    return False
                done[v] = True
                if excess[v] < 0:
                    target = v
                    break
                if not listed[v]:
                    listed[v] = True
                    for c in range(k):
                        if c != v:
                            _scan(v, c, cost, members, moves)
                for c in range(k + 1):
                    if done[c]:
                        continue
                    if v == k:
                        length = 0.0 if sent[c] > low[c] else np.inf
                    elif c == k:
                        length = 0.0 if sent[v] < high[v] else np.inf
                    else:
                        length = gain[v, c]
                    # Not negative but for rounding, and for links that moves have changed.
                    length = distance[v] + max(0.0, length + potential[v] - potential[c])
                    if length < distance[c]:
                        distance[c] = length
                        parent[c] = v
            for c in range(k + 1):
                potential[c] += min(distance[c], distance[target])
            excess[source] -= 1
            excess[target] += 1
            b = target
            while b != source:
                a = parent[b]
                if a == k:
                    sent[b] -= 1
                elif b == k:
                    sent[a] += 1
                else:
                    u = who[a, b]
                    # An earlier move of this path may have taken the unit or changed its costs.
                    if u >= 0 and labels[u] == a:
                        _transfer(u, a, b, cost, labels, members, moves, links)
                b = a
    return True


@kernel
def _transfer(u, a, b, cost, labels, members, moves, links):
    """Move a unit from a to b, and keep the cheapest units of all pairs of clusters."""
    head, after, before = members
    if before[u] >= 0:
        after[before[u]] = after[u]
    else:
        head[a] = after[u]
    if after[u] >= 0:
        before[after[u]] = before[u]
    before[u] = -1
    after[u] = head[b]
    if head[b] >= 0:
        before[head[b]] = u
    head[b] = u
    labels[u] = b
    for c in range(cost.shape[1]):
        if c != a and moves.who[a, c] == u:
            _choose(a, c, cost, labels, members, moves)
        if c != b:
            _offer(u, b, c, cost, labels, moves)
    for p in range(links.indptr[u], links.indptr[u + 1]):
        _reprice(links.neighbor[p], links.signed[p], a, b, cost, labels, members, moves)
    for p in range(links.in_groups[u], links.in_groups[u + 1]):
        g = links.group[p]
        for q in range(links.starts[g], links.starts[g + 1]):
            v = links.members[q]
            if v != u:
                _reprice(v, links.weight[g], a, b, cost, labels, members, moves)


@kernel
def _scan(a, c, cost, members, moves):
    """List the units of cluster a that are the cheapest to move to c."""
    gain, who, pool, filled, bound = moves
    gain[a, c], bound[a, c] = np.inf, np.inf
    who[a, c] = -1
    number, worst = 0, 0
    u = members.head[a]
    while u >= 0:
        now = cost[u, c] - cost[u, a]
        if now < gain[a, c]:
            gain[a, c] = now
            who[a, c] = u
        if number < _POOL or now < bound[a, c]:
            if number < _POOL:
                pool[a, c, number] = u
                number += 1
            else:
                pool[a, c, worst] = u
            if number == _POOL:
                worst = 0
                bound[a, c] = -np.inf
                for q in range(_POOL):
                    v = pool[a, c, q]
                    if cost[v, c] - cost[v, a] > bound[a, c]:
                        bound[a, c] = cost[v, c] - cost[v, a]
                        worst = q
        u = members.after[u]
    filled[a, c] = number


@kernel
def _choose(a, c, cost, labels, members, moves):
    """The cheapest unit of the list; if others may be cheaper, list anew."""
    gain, who, pool, filled, bound = moves
    gain[a, c] = np.inf
    who[a, c] = -1
    number = 0
    for q in range(filled[a, c]):
        u = pool[a, c, q]
        if labels[u] != a:
            continue
        pool[a, c, number] = u
        number += 1
        if cost[u, c] - cost[u, a] < gain[a, c]:
            gain[a, c] = cost[u, c] - cost[u, a]
            who[a, c] = u
    filled[a, c] = number
    if gain[a, c] > bound[a, c] or (number == 0 and bound[a, c] < np.inf):
        _scan(a, c, cost, members, moves)


@kernel
def _offer(u, a, c, cost, labels, moves):
    """List a unit of cluster a whose cost in c may be among the lowest now."""
    gain, who, pool, filled, bound = moves
    now = cost[u, c] - cost[u, a]
    if now > bound[a, c]:
        return
    place = filled[a, c]
    if place == _POOL:  # in the place of one that left, or of the dearest
        dearest = -np.inf
        for q in range(_POOL):
            v = pool[a, c, q]
            here = cost[v, c] - cost[v, a] if labels[v] == a else np.inf
            if here > dearest:
                dearest = here
                place = q
        if dearest < np.inf:
            bound[a, c] = min(bound[a, c], max(dearest, now))
        if now >= dearest:
            return
    else:
        filled[a, c] += 1
    pool[a, c, place] = u
    if now < gain[a, c]:
        gain[a, c] = now
        who[a, c] = u


@kernel
def _reprice(v, paid, a, b, cost, labels, members, moves):
    """A neighbor of v moved from a to b."""
    cost[v, a] -= paid
    cost[v, b] += paid
    own = labels[v]
    for c in range(cost.shape[1]):
        if c == own:
            continue
        if moves.who[own, c] == v:
            _choose(own, c, cost, labels, members, moves)
        else:
            _offer(v, own, c, cost, labels, moves)


# -------------------------------------------------------------------- units of different sizes


@kernel
def _excess(load, low, high):
    """By how much a load is outside its limits."""
    return max(0.0, load - high) + max(0.0, low - load)


@kernel
def settle(cost, size, low, high, labels, links, most):
    """Repair sizes by the moves and swaps that cost least per unit of size, then improve.

    IN      size (n,); low, high (k,); links: `UnitLinks`; most: moves that are made
    IN/OUT  cost (n, k), with the present costs of links; labels (n,)

    Returns what is left outside the limits.
    """
    n, k = cost.shape
    load = np.zeros(k)
    scale = 0.0
    for u in range(n):
        load[labels[u]] += size[u]
        scale += size[u]
    tiny = _TINY * scale / max(n, 1)
    left = 0.0
    for _ in range(most):
        left = 0.0
        for c in range(k):
            left += _excess(load[c], low[c], high[c])
        if left <= tiny:
            break
        best, unit, to = np.inf, -1, -1
        for u in range(n):
            a = labels[u]
            for b in range(k):
                if b == a:
                    continue
                less = _relief(load, low, high, a, b, size[u])
                if less > tiny:
                    price = (cost[u, b] - cost[u, a]) / less
                    if price < best:
                        best, unit, to = price, u, b
        if unit >= 0:
            _move(unit, to, cost, size, labels, load, links)
            continue
        other = -1
        for u in range(n):
            a = labels[u]
            if _excess(load[a], low[a], high[a]) <= tiny:
                continue
            step = max(1, n // _SWAPS)
            for v in range(u % step, n, step):
                b = labels[v]
                less = _relief(load, low, high, a, b, size[u] - size[v])
                if b != a and less > tiny:
                    price = cost[u, b] - cost[u, a] + cost[v, a] - cost[v, b]
                    if price / less < best:
                        best, unit, other = price / less, u, v
        if unit < 0:
            return left
        a, b = labels[unit], labels[other]
        _move(unit, b, cost, size, labels, load, links)
        _move(other, a, cost, size, labels, load, links)
    if left <= tiny:
        _improve(cost, size, low, high, labels, load, links, tiny)
    return left if left > tiny else 0.0


@kernel
def _relief(load, low, high, a, b, moved):
    """By how much the sizes get nearer to their limits if `moved` goes from a to b."""
    now = _excess(load[a], low[a], high[a]) + _excess(load[b], low[b], high[b])
    then = _excess(load[a] - moved, low[a], high[a]) + _excess(load[b] + moved, low[b], high[b])
    return now - then


@kernel
def _move(u, b, cost, size, labels, load, links):
    a = labels[u]
    labels[u] = b
    load[a] -= size[u]
    load[b] += size[u]
    for p in range(links.indptr[u], links.indptr[u + 1]):
        cost[links.neighbor[p], a] -= links.signed[p]
        cost[links.neighbor[p], b] += links.signed[p]
    for p in range(links.in_groups[u], links.in_groups[u + 1]):
        g = links.group[p]
        for q in range(links.starts[g], links.starts[g + 1]):
            v = links.members[q]
            if v != u:
                cost[v, a] -= links.weight[g]
                cost[v, b] += links.weight[g]


@kernel
def _improve(cost, size, low, high, labels, load, links, tiny):
    """Move units to cheaper clusters, and swap them, as long as the limits hold."""
    n, k = cost.shape
    for _ in range(10):
        moved = 0
        for u in range(n):
            a, best = labels[u], labels[u]
            for b in range(k):
                if load[a] - size[u] < low[a] - tiny or load[b] + size[u] > high[b] + tiny:
                    continue
                if b != a and cost[u, b] < cost[u, best] - 1e-12 * abs(cost[u, best]):
                    best = b
            if best != a:
                _move(u, best, cost, size, labels, load, links)
                moved += 1
        if moved == 0:
            break


@kernel
def link_costs(lists, flat, signed, each, cliques, counts, labels, out):
    """What links and apart groups cost each constrained row in each cluster, beside constants.

    IN      lists, flat, signed, each: see `LinkLists`; cliques: `CliqueLists`;
            counts (n_groups, k); labels (m,)
    OUT     out (m, k)
    """
    indptr, middle, neighbor = lists
    in_groups, group, _, _, weight = cliques
    k = out.shape[1]
    out[:] = 0.0
    for i in range(out.shape[0]):
        for p in range(indptr[i], indptr[i + 1]):
            b = labels[neighbor[p]]
            if b < 0:
                continue
            if flat is not None:
                out[i, b] += flat[0] if p < middle[i] else flat[1]
            if signed is not None:
                out[i, b] += signed[p]
            if each is not None:
                cost = each.cost[each.link[p]]
                if not each.is_must[each.link[p]]:
                    out[i, b] += cost[b]
                else:
                    for c in range(k):
                        if c != b:
                            out[i, c] += 0.5 * (cost[c] + cost[b])
        for p in range(in_groups[i], in_groups[i + 1]):
            g = group[p]
            for c in range(k):
                out[i, c] += weight[g] * counts[g, c]
            if labels[i] >= 0:
                out[i, labels[i]] -= weight[g]
