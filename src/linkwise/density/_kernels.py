"""Compiled searches in a kd-tree: nearest neighbors, and one round of Boruvka's algorithm.

Rows are in the order of the tree, so that a leaf is a range of rows, and stored feature by
feature (`points`, shape (n_features, n_samples)), so that the distances of a leaf's rows are
computed in vector registers. All distances are squared.
"""

from __future__ import annotations

import numpy as np

from linkwise._compiled import kernel
from linkwise._disjoint_sets import find

_DEPTH = 128  # nodes waiting on the stack: at most one per level and one more


@kernel
def _box_distance(low, high, query):
    """Squared distance of a query to the box of a node."""
    total = 0.0
    for f in range(len(query)):
        gap = max(max(low[f] - query[f], query[f] - high[f]), 0.0)
        total += gap * gap
    return total


@kernel
def _leaf_distances(points, query, start, stop, out):
    """Squared distances of a query to the rows of a leaf."""
    for j in range(stop - start):
        out[j] = 0.0
    for f in range(len(query)):
        x = query[f]
        column = points[f, start:stop]
        for j in range(stop - start):
            gap = column[j] - x
            out[j] += gap * gap


@kernel
def _insert(best, rows, distance, row):
    """Put a row into the sorted list of the nearest so far."""
    j = len(best) - 1
    while j > 0 and best[j - 1] > distance:
        best[j] = best[j - 1]
        rows[j] = rows[j - 1]
        j -= 1
    best[j] = distance
    rows[j] = row


@kernel
def _push_children(tree, node, query, nodes, bounds, top):
    """Put both children on the stack, the nearer one on top."""
    left = 2 * node + 1
    a = _box_distance(tree.low[left], tree.high[left], query)
    b = _box_distance(tree.low[left + 1], tree.high[left + 1], query)
    nearer = left if a <= b else left + 1
    nodes[top], bounds[top] = 2 * left + 1 - nearer, max(a, b)
    nodes[top + 1], bounds[top + 1] = nearer, min(a, b)
    return top + 2


@kernel
def nearest_neighbors(tree, points, queries, first, last, found, where):
    """Find the nearest rows of each query, itself included where it is a row of the tree.

    Parameters
    ----------
    tree : Tree
    points : ndarray of shape (n_features, n_samples)
    queries : ndarray of shape (n_features, n_queries)
    first, last : int
        Range of queries.
    found, where : ndarrays of shape (n_queries, n_neighbors)
        OUT: squared distances, ascending, and rows.
    """
    distances = np.empty(tree.leaf_size)
    nodes, bounds = np.empty(_DEPTH, np.int64), np.empty(_DEPTH)
    query = np.empty(points.shape[0])
    for p in range(first, last):
        for f in range(len(query)):
            query[f] = queries[f, p]
        best, rows = found[p], where[p]
        best[:] = np.inf
        rows[:] = -1
        nodes[0], bounds[0], top = 0, 0.0, 1
        while top > 0:
            top -= 1
            node = nodes[top]
            if bounds[top] >= best[-1]:
                continue
            if not tree.is_leaf[node]:
                top = _push_children(tree, node, query, nodes, bounds, top)
                continue
            start, stop = tree.start[node], tree.stop[node]
            _leaf_distances(points, query, start, stop, distances)
            for j in range(stop - start):
                if distances[j] < best[-1]:
                    _insert(best, rows, distances[j], start + j)


@kernel
def first_neighbors(core, where, lower, near):
    """Exact nearest row by mutual reachability where the neighbor list has it.

    A neighbor with a core distance not above the row's own is at the row's core distance, and no
    other row can be nearer. OUT: `lower`, a lower bound of that distance, and `near`, -1 if open.
    """
    for p in range(len(core)):
        lower[p], near[p] = core[p], -1
        for q in where[p]:
            if q != p and q >= 0 and core[q] <= core[p]:
                near[p] = q
                break


@kernel
def node_minima(tree, core, out):
    """OUT: the least core distance below each node; children stand after their parents."""
    for node in range(len(out) - 1, -1, -1):
        if tree.is_leaf[node]:
            out[node] = core[tree.start[node] : tree.stop[node]].min()
        else:
            out[node] = min(out[2 * node + 1], out[2 * node + 2])


@kernel
def node_components(tree, component, out):
    """OUT: the component that all rows below a node belong to, -1 if there are several."""
    for node in range(len(out) - 1, -1, -1):
        if tree.is_leaf[node]:
            start = tree.start[node]
            out[node] = component[start]
            for p in range(start + 1, tree.stop[node]):
                if component[p] != component[start]:
                    out[node] = -1
                    break
        else:
            left = out[2 * node + 1]
            out[node] = left if left == out[2 * node + 2] else -1


@kernel
def known_edges(component, lower, near, bound, edge):
    """Candidate edges out of each component from rows whose nearest foreign row is still known.

    OUT: `bound`, the least distance per component, and `edge`, the row it starts from. `near` is
    set to -1 where the row found before has joined the component. The return value is, per
    component, the row with the least lower bound: the one to search from first.
    """
    first = np.full(len(bound), -1, np.int64)
    for p in range(len(component)):
        c = component[p]
        if near[p] >= 0 and component[near[p]] == c:
            near[p] = -1
        if near[p] >= 0 and lower[p] < bound[c]:
            bound[c], edge[c] = lower[p], p
        if near[p] < 0 and (first[c] < 0 or lower[p] < lower[first[c]]):
            first[c] = p
    return first


@kernel
def search_edges(forest, rows, first, last, bound, edge):
    """Search foreign neighbors that are nearer than the bound of each row's component.

    Parameters
    ----------
    forest : Forest
    rows : ndarray of int
        Rows to search from, in this order; those in range first..last.
    first, last : int
    bound, edge : ndarrays of shape (n_samples,)
        INOUT: the least distance per component found so far, and the row it starts from.
    """
    tree, component = forest.tree, forest.component
    distances = np.empty(tree.leaf_size)
    nodes, bounds = np.empty(_DEPTH, np.int64), np.empty(_DEPTH)
    query = np.empty(forest.points.shape[0])
    for i in range(first, last):
        p = rows[i]
        if p < 0:
            continue
        c = component[p]
        if forest.near[p] >= 0 or forest.lower[p] >= bound[c]:
            continue
        for f in range(len(query)):
            query[f] = forest.points[f, p]
        best, found = bound[c], -1
        nodes[0], bounds[0], top = 0, 0.0, 1
        while top > 0:
            top -= 1
            node = nodes[top]
            if max(bounds[top], forest.node_core[node]) >= best or forest.node_component[node] == c:
                continue
            if not tree.is_leaf[node]:
                top = _push_children(tree, node, query, nodes, bounds, top)
                continue
            start, stop = tree.start[node], tree.stop[node]
            _leaf_distances(forest.points, query, start, stop, distances)
            for j in range(stop - start):
                q = start + j
                if component[q] != c:
                    reach = max(max(distances[j], forest.core[q]), forest.core[p])
                    if reach < best:
                        best, found = reach, q
        # Nothing below the bound: the bound is then a lower bound of this row's distance, for good,
        # because components only grow.
        forest.lower[p], forest.near[p] = best, found
        if found >= 0:
            bound[c], edge[c] = best, p


@kernel
def join_components(forest, parent, bound, edge, heads, tails, weights, n_edges):
    """Add the edge of each component to the spanning tree; OUT: the components that result.

    Where equal weights would close a ring, the second edge is left out.
    """
    component = forest.component
    for c in range(len(bound)):
        p = edge[c]
        if p < 0:
            continue
        a, b = find(parent, p), find(parent, forest.near[p])
        if a == b:
            continue
        parent[max(a, b)] = min(a, b)
        heads[n_edges], tails[n_edges], weights[n_edges] = p, forest.near[p], bound[c]
        n_edges += 1
    for p in range(len(component)):
        component[p] = find(parent, p)
    return n_edges
