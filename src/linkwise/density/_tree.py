"""The hierarchy of HDBSCAN* under links, and the choice of clusters in it.

`spanning_tree` joins all rows, must-linked ones at distance 0. `condense_tree` merges its edges in
ascending order; an edge is refused if a cannot-link joins its two sides, as in Kruskal's algorithm
with forbidden pairs, so that no tree of the forest violates a cannot-link. An edge refused at a
distance w counts as a split at w: at densities below 1/w the data joins what must be apart, so
those levels add nothing to the stability of the two sides. `select` takes the best disjoint
clusters, `label_rows` assigns the rows.

References
----------
.. [1] R. J. G. B. Campello, D. Moulavi, A. Zimek, J. Sander. Hierarchical density estimates for
   data clustering, visualization, and outlier detection. ACM TKDD 10(1), 2015, sections 3 and 4.
.. [2] R. J. G. B. Campello, D. Moulavi, A. Zimek, J. Sander. A framework for semi-supervised and
   unsupervised optimal extraction of clusters from hierarchies. Data Mining and Knowledge
   Discovery 27, 2013, sections 3 to 5.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwise.constraints import Constraints

from . import _kernels as kernels

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Rows = NDArray[np.int64]


class SpanningTree(NamedTuple):
    """Edges of a minimum spanning tree, ascending by weight; the first `n_grouped` weigh 0."""

    ends: Rows
    weight: Floats
    n_grouped: int
    core: Floats


class Merges(NamedTuple):
    """Merges of a forest; merge t makes node n_samples + t."""

    children: Rows
    density: Floats
    size: Rows


class CondensedTree(NamedTuple):
    """Clusters of at least the least size, and the density at which each row leaves its last one.

    Parents have lower numbers than their children; node 0 is the root. With `n_trees` above 1, or
    rows outside of the only large tree, the root is no cluster (`is_cut`).
    """

    parent: Rows
    birth: Floats
    row_cluster: Rows
    row_density: Floats
    n_trees: int
    is_cut: bool

    @property
    def size(self) -> Rows:
        """Number of rows of each cluster at its birth."""
        size = np.bincount(self.row_cluster, minlength=len(self.parent)).astype(np.int64)
        _add_to_ancestors(size, self.parent)
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
        """Density at which the last rows leave each cluster, or go on in its children."""
        last = self.birth.copy()
        np.maximum.at(last, self.row_cluster, self.row_density)
        np.maximum.at(last, self.parent[1:], self.birth[1:])
        return last


class Labeled(NamedTuple):
    """Labels, probabilities, and the node of the condensed tree of each label."""

    labels: NDArray[np.int32]
    probabilities: Floats
    chosen: Rows


def spanning_tree(X: Floats, neighbor: Rows, groups: Rows) -> SpanningTree:
    """Minimum spanning tree of the mutual reachability distances, rows of a group at distance 0.

    `neighbor` is the row that defines the core distance of each row.
    """
    n = len(X)
    core, ends = np.empty(n), np.empty((n - 1, 2), dtype=np.int64)
    reach, distance = np.empty(n - 1), np.empty(n - 1)
    kernels.spanning_edges(X, neighbor, core, ends, reach, distance)
    order = np.lexsort((distance, reach))
    # Edges that leave the tree when others of weight 0 join the graph close a ring with them:
    # merging in ascending order, weight 0 first, passes over these.
    _, first, place = np.unique(groups, return_index=True, return_inverse=True)
    hub = first[place]
    others = np.flatnonzero(hub != np.arange(n))
    grouped = np.column_stack([hub[others], others])
    weight = np.concatenate([np.zeros(len(others)), np.sqrt(reach[order])])
    return SpanningTree(np.concatenate([grouped, ends[order]]), weight, len(others), np.sqrt(core))


def condense_tree(spanning: SpanningTree, cannot_link: Rows, min_size: int) -> CondensedTree:
    """Merge rows along the spanning tree, and keep the splits into large parts.

    No cannot-link may be inside a group of the spanning tree.
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
    most = 2 * n // min_size + len(roots) + 2
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
    """Distance that counts as 0, so that densities of repeated rows stay finite."""
    positive = weight[weight > 0]
    return 0.5 * float(positive.min()) if len(positive) else 1.0


def _add_to_ancestors(value: NDArray, parent: Rows) -> None:
    """INOUT: add the value of each cluster to all above it."""
    for node in range(len(parent) - 1, 0, -1):
        value[parent[node]] += value[node]


# -------------------------------------------------------------------- choosing clusters


def link_gains(tree: CondensedTree, known: Constraints) -> Floats:
    """Weight of the must-links inside each cluster minus that of the cannot-links inside.

    Noise satisfies every cannot-link and no must-link. So the weight of satisfied links is, but
    for a constant, the sum of these gains over the chosen clusters, and `select` is exact.
    """
    gain = np.zeros(len(tree.parent))
    kinds = (
        (known.must_link, known.must_link_weight),
        (known.cannot_link, -known.cannot_link_weight),
    )
    for pairs, weight in kinds:
        for (i, j), w in zip(pairs.tolist(), weight.tolist(), strict=True):
            a, b = int(tree.row_cluster[i]), int(tree.row_cluster[j])
            while a != b:
                a, b = min(a, b), int(tree.parent[max(a, b)])
            gain[a] += w
    _add_to_ancestors(gain, tree.parent)
    return gain


def is_eligible(tree: CondensedTree, *, leaves_only: bool, allow_single: bool) -> Mask:
    """Nodes of the tree that may be chosen.

    The root of a forest is no cluster. The root of a tree that has all rows, or all but too few
    for a cluster, is one only if a single cluster is allowed.
    """
    n = len(tree.parent)
    is_leaf = np.ones(n, dtype=bool)
    is_leaf[tree.parent[1:]] = False
    eligible = is_leaf.copy() if leaves_only else np.ones(n, dtype=bool)
    eligible[0] = allow_single and not tree.is_cut and eligible[0]
    if tree.is_cut and tree.n_trees == 1 and not allow_single:
        eligible[1] = False
    return eligible


def select(
    parent: Rows, eligible: Mask, stability: Floats, gain: Floats, link_share: float
) -> Mask:
    """Disjoint clusters of the greatest total quality, by dynamic programming from the leaves.

    Of choices of equal quality, that with fewer clusters; a leaf of quality 0 is chosen.
    """
    quality = _quality(eligible, stability, gain, link_share)
    below = np.zeros_like(quality)
    takes = np.zeros(len(parent), dtype=bool)
    for node in range(len(parent) - 1, -1, -1):
        takes[node] = eligible[node] and _is_at_least(quality[node], below[node])
        if parent[node] >= 0:
            below[parent[node]] += quality[node] if takes[node] else below[node]
    covered = np.zeros(len(parent), dtype=bool)
    for node in range(1, len(parent)):
        up = parent[node]
        covered[node] = covered[up] or takes[up]
    return takes & ~covered


def _quality(eligible: Mask, stability: Floats, gain: Floats, link_share: float) -> Floats:
    """First and second criterion of each node, shape (n_nodes, 2).

    Links and stability are scaled to their greatest sums. If links have all the weight, stability
    decides among choices that satisfy the same weight of links.
    """
    reach = float(np.abs(gain).max())
    if not reach or not link_share:
        return np.column_stack([stability, np.zeros(len(gain))])
    if link_share == 1.0:
        return np.column_stack([gain / reach, stability])
    whole = float(stability[eligible].sum())
    mixed = link_share * gain / reach + (1.0 - link_share) * stability / (whole or 1.0)
    return np.column_stack([mixed, np.zeros(len(gain))])


def _is_at_least(a: Floats, b: Floats) -> bool:
    """Whether a is not worse than b; the second criterion counts where the first is equal."""
    # Sums of the same numbers in another order differ by rounding.
    if not np.isclose(a[0], b[0], rtol=1e-12, atol=0.0):
        return bool(a[0] > b[0])
    return bool(a[1] >= b[1])


def label_rows(tree: CondensedTree, chosen: Mask) -> Labeled:
    """Labels and probabilities of rows under the chosen clusters, numbered by their first row."""
    at = np.where(chosen, np.arange(len(chosen)), -1)
    for node in range(1, len(at)):
        if at[node] < 0:
            at[node] = at[tree.parent[node]]
    cluster, death = at[tree.row_cluster], tree.death
    if chosen[0]:
        # A single cluster of everything: rows that leave before its end are noise.
        cluster = np.where((cluster == 0) & (tree.row_density < death[0]), -1, cluster)
    inside = np.flatnonzero(cluster >= 0)
    nodes, first, place = np.unique(cluster[inside], return_index=True, return_inverse=True)
    order = np.argsort(first)
    labels = np.full(len(cluster), -1, dtype=np.int32)
    labels[inside] = np.argsort(order)[place]
    probabilities = np.zeros(len(cluster))
    end = death[cluster[inside]]
    probabilities[inside] = np.minimum(tree.row_density[inside], end) / end
    return Labeled(labels, probabilities, nodes[order])


def outlier_scores(tree: CondensedTree) -> Floats:
    """GLOSH [1]: how much earlier a row leaves than the densest one below the cluster it leaves."""
    last = tree.death
    for node in range(len(last) - 1, 0, -1):
        up = tree.parent[node]
        last[up] = max(last[up], last[node])
    return np.maximum(1.0 - tree.row_density / last[tree.row_cluster], 0.0)
