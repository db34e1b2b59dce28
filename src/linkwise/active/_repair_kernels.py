"""Agglomeration of parts under answers, compiled.

Ward's linkage by the Lance-Williams update. A node is a part or a merged cluster, named by the
lowest slot it took; H[i, j] is the increase of the sum of squares when i and j merge.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwise._compiled import kernel

_SWEEPS = 10  # over the parts that may move


@kernel
def ward_linkage(center: Any, weight: Any) -> Any:
    """Increase of the sum of squares when two parts merge, for all pairs; infinite with itself."""
    m, d = center.shape
    H = np.empty((m, m))
    for i in range(m):
        H[i, i] = np.inf
        for j in range(i):
            squared = 0.0
            for k in range(d):
                squared += (center[i, k] - center[j, k]) ** 2
            H[i, j] = H[j, i] = squared * (weight[i] * weight[j] / (weight[i] + weight[j]))
    return H


@kernel
def nearest_parts(H: Any) -> Any:
    """The nearest other node of each node, and the linkage to it."""
    m = len(H)
    nearest, distance = np.zeros(m, dtype=np.int64), np.full(m, np.inf)
    for i in range(m):
        for k in range(m):
            if H[i, k] < distance[i]:
                distance[i], nearest[i] = H[i, k], k
    return nearest, distance


@kernel
def _guarded(apart: Any) -> Any:
    """Families with anything apart from them."""
    found = np.zeros(len(apart), dtype=np.bool_)
    for i in range(len(apart)):
        for j in range(len(apart)):
            found[i] |= apart[i, j]
    return found


@kernel
def _join(family: Any, apart: Any, guarded: Any, f: int, g: int) -> None:
    """Family g becomes a part of family f."""
    for k in range(len(family)):
        if family[k] == g:
            family[k] = f
    if guarded[g]:
        guarded[f] = True
        for k in range(len(apart)):
            if apart[g, k]:
                apart[f, k] = apart[k, f] = True


@kernel
def agglomerate(
    H: Any,
    size: Any,
    family: Any,
    apart: Any,
    nearest: Any,
    distance: Any,
    pairs: Any,
    crossing: Any,
    merges: Any,
    most: int,
) -> int:
    """Merge the closest allowed nodes, at most so many times.

    Parameters
    ----------
    H : ndarray of shape (m, m), IN/OUT
        Linkage; infinite on the diagonal.
    size : ndarray of shape (m,), IN/OUT
        Rows per node.
    family : ndarray of shape (m,), IN/OUT
        Nodes of one family are in one cluster by answers, though they need not be merged.
    apart : ndarray of bool of shape (n_families, n_families), IN/OUT
        Families that must not be joined.
    nearest, distance : ndarray of shape (m,), IN/OUT
        The nearest neighbor of each node without constraints, and the linkage to it.
    pairs : ndarray of shape (n_pairs, 2), IN
    crossing : ndarray of shape (n_pairs,), OUT
        Height at which each pair of parts merged, or would have merged were it allowed.
    merges : ndarray of shape (m, 6), OUT
        Nodes, height, sizes, and 1 if both were of one family already.
    most : int

    Returns
    -------
    n_merges : int
    """
    m = H.shape[0]
    live = np.arange(m)
    n_live, n_merges = m, 0
    alive = np.ones(m, dtype=np.bool_)
    root = np.arange(m)
    guarded = _guarded(apart)
    waiting = np.arange(len(pairs))
    n_waiting = len(pairs)
    while n_live > 1 and n_merges < most:
        best, height = -1, np.inf
        for a in range(n_live):
            if distance[live[a]] < height:
                best = live[a]
                height = distance[best]
        if best < 0:
            break
        i, j = best, nearest[best]
        if not alive[j] or H[i, j] != height or apart[family[i], family[j]]:
            distance[i] = np.inf  # stale: constraints only grow, so the true distance is higher
            for a in range(n_live):
                k = live[a]
                if k != i and H[i, k] < distance[i] and not apart[family[i], family[k]]:
                    distance[i], nearest[i] = H[i, k], k
            continue
        f, g = family[i], family[j]
        merges[n_merges, 0], merges[n_merges, 1], merges[n_merges, 2] = i, j, height
        merges[n_merges, 3], merges[n_merges, 4] = size[i], size[j]
        merges[n_merges, 5] = 1.0 if f == g else 0.0
        n_merges += 1
        if f != g:
            _join(family, apart, guarded, f, g)
        alive[j] = False
        si, sj = size[i], size[j]
        w = 0
        for a in range(n_live):
            k = live[a]
            if k == j:
                continue
            live[w] = k
            w += 1
            if k != i:
                sk = size[k]
                value = ((si + sk) * H[i, k] + (sj + sk) * H[j, k] - sk * height) / (si + sj + sk)
                H[i, k] = H[k, i] = value
        n_live = w
        size[i] = si + sj
        for k in range(m):
            if root[k] == j:
                root[k] = i
        distance[i] = np.inf
        for a in range(n_live):
            k = live[a]
            if k != i and not apart[family[i], family[k]]:
                if H[i, k] < distance[i]:
                    distance[i], nearest[i] = H[i, k], k
                if H[i, k] < distance[k]:
                    distance[k], nearest[k] = H[i, k], i
        left = 0
        for a in range(n_waiting):
            q = waiting[a]
            x, y = root[pairs[q, 0]], root[pairs[q, 1]]
            if x == y:
                crossing[q] = height
            elif H[x, y] <= height:
                crossing[q] = H[x, y]
            else:
                waiting[left] = q
                left += 1
        n_waiting = left
    for a in range(n_waiting):
        q = waiting[a]
        crossing[q] = H[root[pairs[q, 0]], root[pairs[q, 1]]]
    return n_merges


@kernel
def follow(merges: Any, cut: float, family: Any, apart: Any) -> Any:
    """The merges of a tree up to the height `cut`, or to the first that is not allowed.

    Parameters
    ----------
    merges : ndarray of shape (n, 6), IN/OUT
        See `agglomerate`. Whether both nodes are of one family is set anew.
    cut : float
    family, apart : ndarray, IN/OUT
        As in `agglomerate`, for the parts.

    Returns
    -------
    n_merges : int
    root : ndarray of shape (n_parts,)
        The node of each part.
    """
    guarded = _guarded(apart)
    n_merges = 0
    while n_merges < len(merges) and merges[n_merges, 2] <= cut:
        f, g = family[int(merges[n_merges, 0])], family[int(merges[n_merges, 1])]
        if apart[f, g]:
            break
        merges[n_merges, 5] = 1.0 if f == g else 0.0
        if f != g:
            _join(family, apart, guarded, f, g)
        n_merges += 1
    root = np.arange(len(family))
    for q in range(n_merges - 1, -1, -1):
        root[int(merges[q, 1])] = root[int(merges[q, 0])]
    return n_merges, root


@kernel
def joining_merges(merges: Any, n_parts: int, pairs: Any) -> Any:
    """The merge that joins each pair of parts; -1 if none does."""
    n = len(merges)
    parent, until = np.arange(n_parts), np.full(n_parts, n)
    for q in range(n):
        j = int(merges[q, 1])
        parent[j], until[j] = int(merges[q, 0]), q
    found = np.full(len(pairs), -1)
    for p in range(len(pairs)):
        a, b = pairs[p, 0], pairs[p, 1]
        while a != b:
            if until[a] > until[b]:
                a, b = b, a
            found[p] = until[a]
            if until[a] == n:  # both are nodes that are left
                found[p] = -1
                break
            a = parent[a]
    return found


@kernel
def tree_nodes(merges: Any, n_parts: int) -> Any:
    """Both nodes of each merge; parts are 0..m-1, the q-th merge is node m + q."""
    node, found = np.arange(n_parts), np.empty((len(merges), 2), dtype=np.int64)
    for q in range(len(merges)):
        i = int(merges[q, 0])
        found[q, 0], found[q, 1] = node[i], node[int(merges[q, 1])]
        node[i] = n_parts + q
    return found


@kernel
def _believed(h: float, evidence: float, slope: float, middle: float, most: float) -> bool:
    """Whether a merge at height h stands against the answers that speak against it."""
    return evidence >= 0 or min(slope * (middle - np.log(h)), most) + evidence >= 0


@kernel
def agglomerate_softly(
    H: Any, size: Any, evidence: Any, cut: float, slope: float, middle: float, most: float
) -> Any:
    """Merge the closest nodes up to `cut` where answers, as log odds, do not outweigh closeness.

    Parameters
    ----------
    H, size : ndarray, IN/OUT
        As in `agglomerate`.
    evidence : ndarray of shape (m, m), IN/OUT
        Sum of the log odds of the answers between nodes; adds up when nodes merge.
    cut : float
    slope, middle : float
        The log odds of "same" at height h are slope * (middle - log h).
    most : float
        The most that closeness counts, so that it never outweighs an answer or two.

    Returns
    -------
    root : ndarray of shape (m,)
    """
    m = H.shape[0]
    alive = np.ones(m, dtype=np.bool_)
    root = np.arange(m)
    nearest = np.full(m, -1)
    distance = np.full(m, np.inf)
    for i in range(m):
        for k in range(m):
            if H[i, k] < distance[i] and _believed(H[i, k], evidence[i, k], slope, middle, most):
                distance[i], nearest[i] = H[i, k], k
    while True:
        i, height = -1, np.inf
        for k in range(m):
            if alive[k] and distance[k] < height:
                i, height = k, distance[k]
        if i < 0 or height > cut:
            break
        j = nearest[i]
        stands = _believed(H[i, j], evidence[i, j], slope, middle, most)
        if not alive[j] or H[i, j] != height or not stands:
            distance[i] = np.inf
            for k in range(m):
                if (
                    alive[k]
                    and k != i
                    and H[i, k] < distance[i]
                    and _believed(H[i, k], evidence[i, k], slope, middle, most)
                ):
                    distance[i], nearest[i] = H[i, k], k
            continue
        alive[j] = False
        distance[j] = np.inf
        si, sj = size[i], size[j]
        distance[i] = np.inf
        for k in range(m):
            if root[k] == j:
                root[k] = i
            if alive[k] and k != i:
                sk = size[k]
                value = ((si + sk) * H[i, k] + (sj + sk) * H[j, k] - sk * height) / (si + sj + sk)
                H[i, k] = H[k, i] = value
                evidence[i, k] += evidence[j, k]
                evidence[k, i] = evidence[i, k]
                if _believed(value, evidence[i, k], slope, middle, most):
                    if value < distance[i]:
                        distance[i], nearest[i] = value, k
                    if value < distance[k]:
                        distance[k], nearest[k] = value, i
        size[i] = si + sj
    return root


@kernel
def move_parts(
    label: Any,
    told: Any,
    first: Any,
    other: Any,
    odds: Any,
    start: Any,
    neighbor: Any,
    affinity: Any,
    votes: float,
    least: float,
) -> None:
    """Move parts, one at a time, to the cluster that their answers and neighbors speak for.

    A cluster is worth the log odds of the answers about its parts, and `votes` times the logarithm
    of the share of the neighbors that are in it, plus `least`.

    Parameters
    ----------
    label : ndarray of shape (m,), IN/OUT
        Cluster of each part, below m.
    told : ndarray of shape (n_told,), IN
        The parts that may move.
    first, other, odds : ndarray, IN
        Answers about part i are those from first[i] to first[i + 1]: the other part, the log odds.
    start, neighbor, affinity : ndarray, IN
        Neighbors of part i are those from start[i] to start[i + 1].
    votes, least : float
    """
    m = len(label)
    size = np.bincount(label, minlength=m)
    said, heard, alone = np.zeros(m), np.zeros(m), votes * np.log(least)
    for _ in range(_SWEEPS):
        n_moved = 0
        for i in told:
            own, total = label[i], 1e-300
            for p in range(start[i], start[i + 1]):
                heard[label[neighbor[p]]] += affinity[p]
                total += affinity[p]
            for p in range(first[i], first[i + 1]):
                said[label[other[p]]] += odds[p]
            best, top = own, alone
            if size[own] > 1:
                top = said[own] + votes * np.log(heard[own] / total + least)
                if alone > top:
                    best, top = np.argmin(size), alone  # a cluster of its own
            for p in range(start[i], start[i + 1]):
                c = label[neighbor[p]]
                value = said[c] + votes * np.log(heard[c] / total + least)
                if c != own and value > top:
                    best, top = c, value
            for p in range(first[i], first[i + 1]):
                c = label[other[p]]
                value = said[c] + votes * np.log(heard[c] / total + least)
                if c != own and value > top:
                    best, top = c, value
            for p in range(start[i], start[i + 1]):
                heard[label[neighbor[p]]] = 0.0
            for p in range(first[i], first[i + 1]):
                said[label[other[p]]] = 0.0
            if best != own:
                size[own] -= 1
                size[best] += 1
                label[i] = best
                n_moved += 1
        if n_moved == 0:
            break
