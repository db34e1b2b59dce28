"""Compiled loops of HDBSCAN*: spanning tree, merging of its edges, condensing.

Functions of arrays that the caller owns; arguments marked OUT are filled.
"""

from __future__ import annotations

import numpy as np

from linkwise._compiled import kernel
from linkwise._disjoint_sets import find


@kernel
def _squared_distance(X, i, j):
    total = 0.0
    for f in range(X.shape[1]):
        away = X[i, f] - X[j, f]
        total += away * away
    return total


@kernel
def spanning_edges(X, neighbor, core, ends, reach, distance):
    """Minimum spanning tree of the mutual reachability distances, by Prim's algorithm.

    O(n^2) distances, O(n) memory. Edges are compared by mutual reachability, then by distance: a
    row that its core distance makes equally near to two clusters joins the nearer one.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    neighbor : ndarray of shape (n,)
        The neighbor that defines the core distance of each row.
    core : ndarray of shape (n,)
        OUT: squared core distances, computed as the distances of edges are, so that equal
        distances are equal numbers.
    ends, reach, distance : ndarrays of shapes (n - 1, 2), (n - 1,) and (n - 1,)
        OUT: edges in the order in which they were found, with squared distances.
    """
    n = len(X)
    for i in range(n):
        core[i] = _squared_distance(X, i, neighbor[i])
    outside = np.arange(1, n)
    best, length = np.full(n, np.inf), np.full(n, np.inf)
    near = np.zeros(n, np.int64)
    last = 0
    for e in range(n - 1):
        n_left, first = n - 1 - e, 0
        for t in range(n_left):
            j = outside[t]
            d = _squared_distance(X, last, j)
            r = max(d, core[last], core[j])
            if r < best[j] or (r == best[j] and d < length[j]):
                best[j], length[j], near[j] = r, d, last
            low = outside[first]
            if best[j] < best[low] or (best[j] == best[low] and length[j] < length[low]):
                first = t
        last = outside[first]
        ends[e, 0], ends[e, 1] = near[last], last
        reach[e], distance[e] = best[last], length[last]
        # The order of the rest stays, so that of equal edges the first row is always taken.
        for t in range(first, n_left - 1):
            outside[t] = outside[t + 1]


@kernel
def _are_apart(small, large, heads, following, other, parent):
    """Whether a cannot-link joins two components; the links of the first are walked."""
    link = heads[small]
    while link >= 0:
        if find(parent, other[link]) == large:
            return True
        link = following[link]
    return False


@kernel
def merge_edges(ends, weight, n, cannot, children, distance, size, ceiling, top):
    """Merge the ends of edges in order, except where a cannot-link joins the two sides.

    Each cannot-link stands in a linked list at each of its components; lists are chained when
    components merge, and the shorter is walked to test a merge.

    Parameters
    ----------
    ends : ndarray of shape (n_edges, 2)
    weight : ndarray of shape (n_edges,)
    n : int
        Number of rows.
    cannot : ndarray of shape (n_links, 2)
    children, distance : ndarrays of shapes (n - 1, 2) and (n - 1,)
        OUT: the merges; the first `n_merges` are filled.
    size : ndarray of shape (2 n - 1,)
        OUT: rows below each node.
    ceiling : ndarray of shape (2 n - 1,)
        OUT: weight of the first merge that was refused to the node, or to the larger part of it
        and so on down; infinite if none.
    top : ndarray of shape (n,)
        OUT: the root of each row's tree.

    Returns
    -------
    n_merges : int
    """
    parent, node = np.arange(n), np.arange(n)
    heads, tails = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    length = np.zeros(n, np.int64)
    other, following = np.empty(2 * len(cannot), np.int64), np.empty(2 * len(cannot), np.int64)
    for link in range(2 * len(cannot)):
        p, other[link] = cannot[link // 2, link % 2], cannot[link // 2, 1 - link % 2]
        following[link], heads[p] = heads[p], link
        if tails[p] < 0:
            tails[p] = link
        length[p] += 1
    size[:n] = 1
    ceiling[:] = np.inf
    n_merges = 0
    for e in range(len(weight)):
        a, b = find(parent, ends[e, 0]), find(parent, ends[e, 1])
        if a == b:
            continue
        if length[a] > length[b]:
            a, b = b, a
        if length[a] and _are_apart(a, b, heads, following, other, parent):
            ceiling[node[a]] = min(ceiling[node[a]], weight[e])
            ceiling[node[b]] = min(ceiling[node[b]], weight[e])
            continue
        children[n_merges, 0], children[n_merges, 1] = node[a], node[b]
        distance[n_merges] = weight[e]
        size[n + n_merges] = size[node[a]] + size[node[b]]
        larger = a if size[node[a]] > size[node[b]] else b
        ceiling[n + n_merges] = ceiling[node[larger]]
        parent[a] = b
        node[b] = n + n_merges
        n_merges += 1
        if length[a]:
            if length[b]:
                following[tails[b]] = heads[a]
            else:
                heads[b] = heads[a]
            tails[b] = tails[a]
            length[b] += length[a]
    for p in range(n):
        top[p] = node[find(parent, p)]
    return n_merges


@kernel
def condense(merges, n_grouped, min_size, floor, latest, cluster, fall, parent, birth, n_clusters):
    """Walk from the roots down and keep only splits into two large parts.

    Nodes have higher numbers than what is below them. A group of rows that were joined beforehand
    falls apart row by row: its rows leave at the densities `floor`, those of their core distances.

    Parameters
    ----------
    merges : Merges
    n_grouped : int
        The first so many merges are inside groups.
    min_size : int
    floor : ndarray of shape (n,)
        Density at the core distance of each row.
    latest : ndarray of shape (2 n - 1,)
        A cluster that starts at this node is born at this density at the latest.
    cluster : ndarray of shape (2 n - 1,)
        INOUT: the cluster of each node; roots are given.
    fall : ndarray of shape (2 n - 1,)
        INOUT: density at which a node leaves its cluster; NaN while it is in it.
    parent, birth : ndarrays
        INOUT: parent and density at birth of each cluster; those of roots are given.
    n_clusters : int
        Number of clusters given.

    Returns
    -------
    n_clusters : int
    """
    n, children, density, size = len(floor), merges.children, merges.density, merges.size
    for merge in range(len(density) - 1, -1, -1):
        node, c = n + merge, cluster[n + merge]
        a, b = children[merge]
        cluster[a] = cluster[b] = c
        if not np.isnan(fall[node]):
            fall[a] = fall[b] = fall[node]
        elif merge < n_grouped:
            fall[a] = fall[b] = -1.0  # each row at its own density
        elif size[a] >= min_size and size[b] >= min_size:
            for child in (a, b):
                cluster[child] = n_clusters
                parent[n_clusters] = c
                birth[n_clusters] = max(density[merge], latest[child])
                n_clusters += 1
        else:
            if size[a] < min_size:
                fall[a] = density[merge]
            if size[b] < min_size:
                fall[b] = density[merge]
    for p in range(n):
        if np.isnan(fall[p]) or fall[p] < 0:
            fall[p] = max(floor[p], birth[cluster[p]])
    return n_clusters
