"""The condensed tree of HDBSCAN*, cut by cannot-links.

Entry point: `condense_tree`. Edges of the spanning tree are merged in ascending order. An edge is
refused if a cannot-link joins its two sides, as in Kruskal's algorithm with forbidden pairs; what
is left is a forest in which no tree violates a cannot-link. What was refused at a distance w counts
as a split at w: at densities below 1/w the data joins what is known to be apart, so those levels
add nothing to the stability of the parts, nor to that of what these are merged with later.

References
----------
.. [1] R. J. G. B. Campello, D. Moulavi, A. Zimek, J. Sander. Hierarchical density estimates for
   data clustering, visualization, and outlier detection. ACM TKDD 10(1), 2015, sections 3 and 4.
.. [2] J. Castro Gertrudes, A. Zimek, J. Sander, R. J. G. B. Campello. A unified view of
   density-based methods for semi-supervised clustering and classification. Data Mining and
   Knowledge Discovery 33, 2019: labels spread over the spanning tree, the largest edge between
   two labels is cut.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _tree_kernels as kernels
from ._spanning import SpanningTree

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


class Merges(NamedTuple):
    """Merges of a forest; merge t makes node n_samples + t."""

    children: Rows
    density: Floats
    size: Rows


class CondensedTree(NamedTuple):
    """Clusters of at least the least size, and when each row leaves the last it is in.

    Attributes
    ----------
    parent : ndarray of shape (n_nodes,)
        Parent of each cluster, which has a lower number; -1 for the root, number 0.
    birth : ndarray of shape (n_nodes,)
        Density (1 / distance) at which the cluster appears. Where a cannot-link cut, rows and
        children may leave at lower densities.
    row_cluster : ndarray of shape (n_samples,)
        The lowest cluster that a row is in.
    row_density : ndarray of shape (n_samples,)
        Density at which the row leaves it.
    n_trees : int
        Trees of the forest with at least the least size. With more than one tree, or rows outside
        of the only one, the root is none of them and stands for no cluster.
    is_cut : bool
        Whether cannot-links cut the tree.
    """

    parent: Rows
    birth: Floats
    row_cluster: Rows
    row_density: Floats
    n_trees: int
    is_cut: bool

    @property
    def size(self) -> Rows:
        """Rows in each cluster when it is born."""
        size = np.bincount(self.row_cluster, minlength=len(self.parent)).astype(np.int64)
        kernels.add_to_ancestors(size, self.parent)
        return size

    @property
    def stability(self) -> Floats:
        """Excess of mass: how long rows stay in each cluster, summed over rows ([1], eq. 3)."""
        n, (up, birth) = len(self.parent), (self.parent, self.birth)
        stayed = np.maximum(self.row_density - birth[self.row_cluster], 0.0)
        total = np.bincount(self.row_cluster, stayed, minlength=n)
        passed_on = self.size[1:] * np.maximum(birth[1:] - birth[up[1:]], 0.0)
        return np.asarray(total + np.bincount(up[1:], passed_on, minlength=n))

    @property
    def death(self) -> Floats:
        """The density at which the last rows leave each cluster, or go on in its children."""
        last = self.birth.copy()
        np.maximum.at(last, self.row_cluster, self.row_density)
        np.maximum.at(last, self.parent[1:], self.birth[1:])
        return last


def condense_tree(spanning: SpanningTree, cannot_link: Rows, min_size: int) -> CondensedTree:
    """Merge rows along the spanning tree and keep the splits into large parts.

    Parameters
    ----------
    spanning : SpanningTree
    cannot_link : ndarray of shape (n_links, 2)
        Pairs of rows that no tree may hold together; none inside a group of the spanning tree.
    min_size : int
        The least size of a cluster.
    """
    n, tiny = len(spanning.core), _least_distance(spanning.weight)
    children, distance = np.empty((n - 1, 2), dtype=np.int64), np.empty(n - 1)
    size, ceiling = np.empty(2 * n - 1, dtype=np.int64), np.empty(2 * n - 1)
    top = np.empty(n, dtype=np.int64)
    n_merges = kernels.merge_edges(
        spanning.ends, spanning.weight, n, cannot_link, children, distance, size, ceiling, top
    )
    density = 1.0 / np.maximum(distance[:n_merges], tiny)
    roots = np.unique(top)
    latest = 1.0 / np.maximum(ceiling, tiny)
    cluster = np.zeros(2 * n - 1, dtype=np.int64)
    fall = np.full(2 * n - 1, np.nan)
    most = 2 * n // max(min_size, 1) + len(roots) + 2
    parent, birth = np.full(most, -1, dtype=np.int64), np.zeros(most)
    large = size[roots] >= min_size
    n_given = 1
    if len(roots) > 1:
        n_given += int(large.sum())
        cluster[roots[large]] = np.arange(1, n_given)
        parent[1:n_given] = 0
        birth[1:n_given] = latest[roots[large]]
        fall[roots[~large]] = latest[roots[~large]]
    n_clusters = kernels.condense(
        Merges(children[:n_merges], density, size), spanning.n_grouped, min_size,
        1.0 / np.maximum(spanning.core, tiny), latest, cluster, fall, parent, birth, n_given,
    )  # fmt: skip
    return CondensedTree(
        parent[:n_clusters], birth[:n_clusters], cluster[:n], fall[:n],
        int(large.sum()), len(roots) > 1,
    )  # fmt: skip


def _least_distance(weight: Floats) -> float:
    """What counts as distance 0, so that densities of repeated rows stay finite."""
    positive = weight[weight > 0]
    return 0.5 * float(positive.min()) if len(positive) else 1.0
