"""Minimum spanning tree of the mutual reachability distances, by Boruvka's algorithm.

Entry point: `spanning_tree`. Every round finds the shortest edge out of every component in a
kd-tree. Three things keep searches few: a row whose nearest foreign row is still foreign is not
searched again; a row is not searched whose lower bound is not below the best edge of its
component; and nodes inside one component are passed over. Memory is O(n); time is close to
O(n log n) in few dimensions and grows towards O(n^2) in many.

References
----------
.. [1] L. McInnes, J. Healy. Accelerated hierarchical density based clustering. ICDM workshops
   2017.
.. [2] W. B. March, P. Ram, A. G. Gray. Fast Euclidean minimum spanning tree: algorithm, analysis,
   and applications. KDD 2010.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import KDTree

from linkwise.engines import Threads

from . import _kernels

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

_LEAF = 24
_PARTS = 16  # fixed, so that the result does not depend on the number of threads


class Tree(NamedTuple):
    """A kd-tree: nodes in heap order, their boxes, and their ranges of rows."""

    start: Rows
    stop: Rows
    is_leaf: NDArray[np.bool_]
    low: Floats
    high: Floats
    leaf_size: int


class Forest(NamedTuple):
    """The state of Boruvka's algorithm, rows in the order of the tree."""

    tree: Tree
    points: Floats
    core: Floats
    node_core: Floats
    component: Rows
    node_component: Rows
    lower: Floats
    near: Rows


class Index(NamedTuple):
    """Rows in a kd-tree.

    Attributes
    ----------
    tree : Tree
    points : ndarray of shape (n_features, n_samples)
        Rows in the order of the tree, feature by feature.
    order : ndarray of shape (n_samples,)
        Row number of each.
    """

    tree: Tree
    points: Floats
    order: Rows

    @classmethod
    def build(cls, X: Floats) -> Index:
        """Put the rows of X into a tree."""
        _, order, nodes, bounds = KDTree(X, leaf_size=_LEAF).get_arrays()
        order = np.array(order, dtype=np.int64)
        start, stop = nodes["idx_start"].astype(np.int64), nodes["idx_end"].astype(np.int64)
        is_leaf = nodes["is_leaf"].astype(bool)
        size = int((stop - start)[is_leaf].max())
        low, high = np.array(bounds[0]), np.array(bounds[1])
        points = np.ascontiguousarray(np.asarray(X, dtype=np.float64)[order].T)
        return cls(Tree(start, stop, is_leaf, low, high, size), points, order)

    def neighbors(self, queries: Floats, n_neighbors: int) -> tuple[Floats, Rows]:
        """Squared distances and rows (in the order of the tree) of the nearest.

        Parameters
        ----------
        queries : ndarray of shape (n_features, n_queries)
        n_neighbors : int
        """
        n = queries.shape[1]
        found, where = np.empty((n, n_neighbors)), np.empty((n, n_neighbors), dtype=np.int64)

        def work(first: int, last: int) -> None:
            _kernels.nearest_neighbors(self.tree, self.points, queries, first, last, found, where)

        with Threads(n, 50 * len(queries)) as threads:
            threads.map(work)
        return found, where


class SpanningTree(NamedTuple):
    """Edges of the minimum spanning tree by row number, and core distances.

    Attributes
    ----------
    ends : ndarray of shape (n_edges, 2)
    weight : ndarray of shape (n_edges,)
        Mutual reachability distances, ascending; edges inside groups come first and weigh 0.
    n_grouped : int
        How many edges are inside groups.
    core : ndarray of shape (n_samples,)
        Core distances.
    """

    ends: Rows
    weight: Floats
    n_grouped: int
    core: Floats


def spanning_tree(index: Index, n_neighbors: int, groups: Rows) -> SpanningTree:
    """Span all rows at the least total mutual reachability distance.

    Parameters
    ----------
    index : Index
    n_neighbors : int
        A row's core distance is that to its `n_neighbors`-th nearest row, itself included.
    groups : ndarray of shape (n_samples,)
        Group of each row; rows of a group are joined beforehand.
    """
    n = len(index.order)
    distances, where = index.neighbors(index.points, n_neighbors)
    core = np.ascontiguousarray(distances[:, -1])
    lower, near = np.empty(n), np.empty(n, dtype=np.int64)
    _kernels.first_neighbors(core, where, lower, near)
    del distances, where
    component, grouped = _group(groups[index.order])
    node_core = np.empty(len(index.tree.start))
    _kernels.node_minima(index.tree, core, node_core)
    node_component = np.empty(len(index.tree.start), dtype=np.int64)
    forest = Forest(
        index.tree, index.points, core, node_core, component, node_component, lower, near
    )
    heads, tails, weights = _join_all(forest, n - 1 - len(grouped))
    order = np.argsort(weights, kind="stable")
    ends = np.concatenate([grouped, np.column_stack([heads, tails])[order]])
    weight = np.concatenate([np.zeros(len(grouped)), np.sqrt(weights[order])])
    by_row = np.empty(n)
    by_row[index.order] = np.sqrt(core)
    return SpanningTree(index.order[ends], weight, len(grouped), by_row)


def _group(groups: Rows) -> tuple[Rows, Rows]:
    """The first row of each row's group, and edges from it to the others."""
    _, first, place = np.unique(groups, return_index=True, return_inverse=True)
    component = first[place].astype(np.int64)
    others = np.flatnonzero(component != np.arange(len(groups)))
    return component, np.column_stack([component[others], others])


def _join_all(forest: Forest, n_edges: int) -> tuple[Rows, Rows, Floats]:
    """Rounds of Boruvka until one component is left."""
    n = len(forest.component)
    heads, tails = np.empty(n_edges, dtype=np.int64), np.empty(n_edges, dtype=np.int64)
    weights, parent, done = np.empty(n_edges), forest.component.copy(), 0
    with Threads(_PARTS, n * len(forest.points)) as threads:
        while done < n_edges:
            bound, edge = np.full(n, np.inf), np.full(n, -1, dtype=np.int64)
            _kernels.node_components(forest.tree, forest.component, forest.node_component)
            first = _kernels.known_edges(forest.component, forest.lower, forest.near, bound, edge)
            _search(forest, first, bound, edge, threads)
            _search(forest, np.arange(n), bound, edge, threads)
            done = _kernels.join_components(
                forest, parent, bound, edge, heads, tails, weights, done
            )
    return heads, tails, weights


def _search(forest: Forest, rows: Rows, bound: Floats, edge: Rows, threads: Threads) -> None:
    """Search from rows, in parts that do not see each other's bounds; the best edges are kept."""
    limits = list(pairwise(len(rows) * part // _PARTS for part in range(_PARTS + 1)))

    def work(first: int, last: int) -> list[tuple[Floats, Rows]]:
        found = []
        for start, stop in limits[first:last]:
            own = bound.copy(), edge.copy()
            _kernels.search_edges(forest, rows, start, stop, *own)
            found.append(own)
        return found

    for part in threads.map(work):
        for own_bound, own_edge in part:
            better = own_bound < bound
            bound[better], edge[better] = own_bound[better], own_edge[better]
