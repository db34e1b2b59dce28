"""Compiled loops over must-link components, which take a cluster as a whole.

As in `_link_kernels`: arguments are arrays the caller owns, or named tuples of arrays; nothing is
checked; the GIL is released. Rows are positions among the constrained rows. Adjacency lists are
read in the kernels' own loops, as in `icm`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwise._compiled import kernel

from ._link_kernels import _measured

_EPS = 1e-10  # relative rounding error of the costs of a component


class Groups(NamedTuple):
    """Must-link components: members of group g are members[starts[g]:starts[g + 1]]."""

    starts: NDArray
    members: NDArray
    group: NDArray  # (n,): group of each row


@kernel
def _meeting(g, c, groups, lists, measure, labels, total, limit):
    """Add what cannot-links of a must-link component to rows in cluster c cost, up to a limit."""
    neighbor = lists.neighbor
    for q in range(groups.starts[g], groups.starts[g + 1]):
        i = groups.members[q]
        for p in range(lists.middle[i], lists.indptr[i + 1]):
            if labels[neighbor[p]] == c and groups.group[neighbor[p]] != g:
                total += _measured(i, p, False, neighbor, measure)
        if total > limit:
            break
    return total


@kernel
def _paid_now(g, groups, lists, measure, labels):
    """What the links of a must-link component cost now, less those that cost it everywhere."""
    indptr, middle, neighbor = lists
    total = 0.0
    for q in range(groups.starts[g], groups.starts[g + 1]):
        i = groups.members[q]
        for p in range(indptr[i], indptr[i + 1]):
            is_must = p < middle[i]
            together = labels[neighbor[p]] == labels[i]
            if groups.group[neighbor[p]] != g:
                if together:
                    total += _measured(i, p, False, neighbor, measure)
            elif not together:  # met from both ends; a cannot-link inside costs it everywhere
                total -= 0.5 * _measured(i, p, is_must, neighbor, measure)
    return total


@kernel
def _cheapest_meeting(g, groups, lists, measure, labels, total, known):
    """The cheapest cluster of a component, whose links are measured for likely ones only.

    IN/OUT  total (k,): costs of the rows, to which costs of links are added as far as they matter
    """
    known[:] = True  # unless there is a link into the cluster
    for q in range(groups.starts[g], groups.starts[g + 1]):
        i = groups.members[q]
        for p in range(lists.middle[i], lists.indptr[i + 1]):
            v = lists.neighbor[p]
            if labels[v] >= 0 and groups.group[v] != g:
                known[labels[v]] = False
    limit = np.inf  # the least that a cluster costs with its links
    for c in range(total.shape[0]):
        if known[c]:
            limit = min(limit, total[c])
    while True:
        best = 0
        for c in range(1, total.shape[0]):
            if total[c] < total[best]:
                best = c
        if known[best]:
            return best
        total[best] = _meeting(g, best, groups, lists, measure, labels, total[best], limit)
        known[best] = True
        limit = min(limit, total[best])


@kernel
def icm_groups(
    order, groups, distance, lists, flat, signed, each, measure, cliques, counts, dear, paid,
    clashing, labels, edge, satisfied,
):  # fmt: skip
    """One sweep in which whole must-link components take their cheapest cluster.

    Single rows cannot leave a component one by one without violating links; together they can. A
    component without a cluster takes one in any case. Costs are summed over neighbors from scratch:
    in running sums the rounding error of heavy links inside a group would exceed light ones
    outside.

    IN      order of the groups; groups: `Groups`; lists, flat, signed, each: see `LinkLists`;
            dear (n,): the most that the links of each row can cost; clashing: whether a group may
            contain cannot-links; measure, cliques as in `icm`; no group that has a cluster has two
            members of an apart group
    IN/OUT  labels (n,), -1 = not assigned yet; counts (n_cliques, k); paid (n_groups,): at least
            what the violated links of each group cost; edge, satisfied (n,) as in `icm`
    """
    starts, members, group = groups
    indptr, middle, neighbor = lists
    k = distance.shape[1]
    total, pull = np.empty(k), np.empty(k + 1)  # the first entry is for neighbors without a cluster
    if measure is not None:
        known = np.empty(k, np.bool_)
    moved = 0
    for t in range(order.shape[0]):
        g = order[t]
        is_new = labels[members[starts[g]]] < 0
        total[:] = 0.0
        pull[:] = 0.0
        now = 0.0
        together = 0.0
        reach = 0.0  # the most that links can cost now
        for q in range(starts[g], starts[g + 1]):
            i = members[q]
            for c in range(k):
                total[c] += distance[i, c]
            if not is_new:
                now += distance[i, labels[i]]
                reach += dear[i]
        least = total[0]
        for c in range(1, k):
            least = min(least, total[c])
        if not is_new and not least < now + paid[g] - _EPS * abs(now):
            continue
        if measure is not None and not is_new:
            reach = _paid_now(g, groups, lists, measure, labels)
        if not is_new and not least < now + reach:
            continue
        for q in range(starts[g], starts[g + 1]):
            if measure is not None:
                break
            i = members[q]
            a = labels[i]
            if cliques is not None:
                for p in range(cliques.indptr[i], cliques.indptr[i + 1]):
                    which = cliques.group[p]
                    apart = cliques.weight[which]
                    for c in range(k):
                        pull[c + 1] += apart * counts[which, c]
                    if not is_new:
                        pull[a + 1] -= apart
                        now += apart * (counts[which, a] - 1)
            # Must-links are inside, cannot-links outside.
            if flat is not None and (is_new or not clashing):
                kept, broken = 0, 0
                for p in range(indptr[i], middle[i]):
                    kept += labels[neighbor[p]] == a
                for p in range(middle[i], indptr[i + 1]):
                    pull[labels[neighbor[p]] + 1] += flat[1]
                    broken += labels[neighbor[p]] == a
                together += 0.5 * flat[0] * (middle[i] - indptr[i])
                now += 0.5 * flat[0] * kept + flat[1] * broken
                continue
            for p in range(indptr[i], indptr[i + 1]):
                b = labels[neighbor[p]]
                if b < 0:
                    continue
                inside = group[neighbor[p]] == g
                share = 0.5 if inside else 1.0  # links inside are met from both ends
                if each is None:
                    reward = 0.0
                    if flat is not None:
                        reward = flat[0] if p < middle[i] else flat[1]
                    if signed is not None:
                        reward = signed[p]
                    if inside:
                        together += 0.5 * reward
                    else:
                        pull[b + 1] += reward
                    if a == b:  # the same terms for the present labels
                        now += share * reward
                if each is not None:
                    number = each.link[p]
                    if not inside:  # must-links are inside
                        pull[b + 1] += each.cost[number, b]
                    elif not each.is_must[number]:  # contradictory: broken wherever the group goes
                        for c in range(k):
                            pull[c + 1] += 0.5 * each.cost[number, c]
                    if (a == b) != each.is_must[number]:
                        now += share * 0.5 * (each.cost[number, a] + each.cost[number, b])
        best = 0
        for c in range(k):
            total[c] += pull[c + 1]
            if total[c] < total[best]:
                best = c
        if measure is not None:
            best = _cheapest_meeting(g, groups, lists, measure, labels, total, known)
            now += reach
        after = total[best] + together
        if not is_new and not after < now - _EPS * (abs(now) + abs(after)):
            continue
        for q in range(starts[g], starts[g + 1]):
            i = members[q]
            moved += labels[i] != best
            if cliques is not None:
                for p in range(cliques.indptr[i], cliques.indptr[i + 1]):
                    which = cliques.group[p]
                    counts[which, best] += 1
                    if is_new:  # no edge is known yet
                        continue
                    counts[which, labels[i]] -= 1
                    for v in cliques.members[cliques.starts[which] : cliques.starts[which + 1]]:
                        edge[v] = np.inf
            labels[i] = best
            edge[i], satisfied[i] = np.inf, False
            for p in range(indptr[i], indptr[i] if is_new else indptr[i + 1]):
                v = neighbor[p]
                edge[v], satisfied[v], paid[group[v]] = np.inf, False, np.inf
    return moved
