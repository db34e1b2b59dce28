"""The hierarchy of HDBSCAN* under links, and the choice of clusters in it.

Edges of the minimum spanning tree are merged in ascending order, after must-linked rows. A merge
is refused if a cannot-link joins its two sides, as in Kruskal's algorithm with forbidden pairs, so
no tree of the resulting forest violates a cannot-link. An edge refused at a distance w counts as a
split at w: at densities below 1/w the data joins what must be apart, so those levels add nothing
to the stability of the two sides.

References
----------
.. [1] R. J. G. B. Campello, D. Moulavi, A. Zimek, J. Sander. Hierarchical density estimates for
   data clustering, visualization, and outlier detection. ACM TKDD 10(1), 2015, sections 3 and 4.
.. [2] R. J. G. B. Campello, D. Moulavi, A. Zimek, J. Sander. A framework for semi-supervised and
   unsupervised optimal extraction of clusters from hierarchies. Data Mining and Knowledge
   Discovery 27, 2013, sections 3 to 5.
"""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwise import _core
from linkwise.constraints import Constraints

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Rows = NDArray[np.int64]


class SpanningTree(NamedTuple):
    """Edges of a minimum spanning tree, ascending by weight, and the core distances of rows."""

    ends: Rows
    weight: Floats
    core: Floats


class Merges(NamedTuple):
    """A forest of merges: merge t makes node n_samples + t of two nodes."""

    children: list[tuple[int, int]]
    distance: list[float]
    size: list[int]  # rows of each node
    # Distance of the first merge that was refused to a node, or to the larger of its two parts and
    # so on down; infinite if none.
    refused: list[float]
    roots: list[int]


class CondensedTree(NamedTuple):
    """Clusters of at least the minimum size, and the density at which each row leaves its last one.

    Parents have lower numbers than their children. Node 0 is the root and never chosen.
    """

    parent: Rows
    birth: Floats
    row_cluster: Rows
    row_density: Floats

    @property
    def stability(self) -> Floats:
        """Excess of mass: how long rows stay in each cluster, summed over rows ([1], eq. 3)."""
        n, (up, birth) = len(self.parent), (self.parent, self.birth)
        size = np.bincount(self.row_cluster, minlength=n)
        _add_to_ancestors(size, up)
        stayed = np.maximum(self.row_density - birth[self.row_cluster], 0.0)
        total = np.bincount(self.row_cluster, stayed, minlength=n)
        passed_on = size[1:] * np.maximum(birth[1:] - birth[up[1:]], 0.0)
        return np.asarray(total + np.bincount(up[1:], passed_on, minlength=n))

    @property
    def death(self) -> Floats:
        """Density at which the last rows leave each cluster, or continue in its children."""
        last = self.birth.copy()
        np.maximum.at(last, self.row_cluster, self.row_density)
        np.maximum.at(last, self.parent[1:], self.birth[1:])
        return last


# -------------------------------------------------------------------- hierarchy


def order_by_value(X: Floats, pairs: Constraints) -> Rows:
    """Order of the rows by their values, and of repeated rows by their links.

    Equal distances are then resolved alike, whatever the order in which the rows are given.
    """
    n_distinct = 0
    rank = np.unique(X + 0.0, axis=0, return_inverse=True)[1].ravel()  # + 0.0: no -0.0
    links: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for kind, ends in enumerate((pairs.must_link, pairs.cannot_link)):
        for i, j in ends.tolist():
            links[i].append((kind, j))
            links[j].append((kind, i))
    # Equal rows are ordered by the ranks of the rows they are linked to, until this changes no
    # rank.
    while links and n_distinct < rank.max() + 1 < len(X):
        n_distinct = int(rank.max()) + 1
        keys = [
            (r, sorted((kind, int(rank[j])) for kind, j in links.get(i, ())))
            for i, r in enumerate(rank.tolist())
        ]
        order = sorted(range(len(X)), key=keys.__getitem__)
        steps = [keys[a] != keys[b] for a, b in pairwise(order)]
        rank[order] = np.cumsum([0, *steps])
    return np.argsort(rank, kind="stable")


def spanning_tree(X: Floats, neighbor: Rows) -> SpanningTree:
    """Minimum spanning tree of the mutual reachability distances.

    `neighbor` is the row that defines the core distance of each row. Edges of equal reachability
    are ordered by distance, so that a row whose core distance makes it equally near to two
    clusters joins the nearer one.
    """
    n = len(X)
    ends, core = np.empty((n - 1, 2), dtype=np.int64), np.empty(n)
    reach, distance = np.empty(n - 1), np.empty(n - 1)
    _core.spanning_tree(X, neighbor, ends, reach, distance, core)
    order = np.lexsort((distance, reach))
    return SpanningTree(ends[order], np.sqrt(reach[order]), np.sqrt(core))


def merge_rows(ends: Rows, weight: Floats, n: int, cannot_link: Rows) -> Merges:
    """Merge the ends of edges in order, except where a cannot-link joins the two sides."""
    parent = list(range(n))  # disjoint sets

    def find(p: int) -> int:
        while parent[p] != p:
            parent[p] = parent[parent[p]]
            p = parent[p]
        return p

    apart: dict[int, set[int]] = defaultdict(set)  # sets that may not merge
    for i, j in cannot_link.tolist():
        apart[i].add(j)
        apart[j].add(i)
    node = list(range(n))  # node of each set
    found = Merges([], [], [1] * n, [np.inf] * n, [])
    size, refused = found.size, found.refused
    for (p, q), w in zip(ends.tolist(), weight.tolist(), strict=True):
        a, b = find(p), find(q)
        if a == b:
            continue
        x, y = node[a], node[b]
        if b in apart.get(a, ()):
            refused[x], refused[y] = min(refused[x], w), min(refused[y], w)
            continue
        if len(apart.get(a, ())) > len(apart.get(b, ())):
            a, b = b, a
        for c in apart.pop(a, ()):
            apart[c].discard(a)
            apart[c].add(b)
            apart[b].add(c)
        parent[a], node[b] = b, n + len(found.children)
        found.children.append((x, y))
        found.distance.append(w)
        size.append(size[x] + size[y])
        refused.append(refused[x] if size[x] > size[y] else refused[y])
    found.roots.extend(sorted({node[find(p)] for p in range(n)}))
    return found


def condense_tree(
    spanning: SpanningTree, groups: Rows, cannot_link: Rows, min_size: int
) -> CondensedTree:
    """Merge rows, those of a group first, and keep the splits into parts of at least `min_size`.

    No cannot-link may be inside a group.
    """
    n = len(spanning.core)
    # Edges of the spanning tree that are not minimal any more close a ring with those of groups:
    # merging in ascending order, groups first, ignores them.
    _, first, place = np.unique(groups, return_index=True, return_inverse=True)
    others = np.flatnonzero(first[place] != np.arange(n))
    inside = np.column_stack([first[place][others], others])
    merges = merge_rows(
        np.concatenate([inside, spanning.ends]),
        np.concatenate([np.zeros(len(inside)), spanning.weight]),
        n,
        cannot_link,
    )
    positive = spanning.weight[spanning.weight > 0]
    tiny = 0.5 * float(positive.min()) if len(positive) else 1.0  # keeps densities finite
    density = (1.0 / np.maximum(merges.distance, tiny)).tolist()
    latest = (1.0 / np.maximum(merges.refused, tiny)).tolist()

    n_nodes, size = len(merges.size), merges.size
    parent, birth = [-1], [0.0]
    cluster, fall = [0] * n_nodes, [np.nan] * n_nodes  # NaN: is still in its cluster
    large = [root for root in merges.roots if size[root] >= min_size]
    for root in merges.roots if len(merges.roots) > 1 else ():
        if size[root] < min_size:
            fall[root] = latest[root]
        elif len(large) > 1:
            cluster[root] = len(parent)
            parent.append(0)
            birth.append(latest[root])
    for merge in range(len(density) - 1, -1, -1):  # from the roots down
        at, here = n + merge, cluster[n + merge]
        for child in merges.children[merge]:
            cluster[child] = here
        a, b = merges.children[merge]
        if not math.isnan(fall[at]):
            fall[a] = fall[b] = fall[at]
        elif merge < len(others):
            fall[a] = fall[b] = -1.0  # a group falls apart row by row
        elif min(size[a], size[b]) >= min_size:
            for child in (a, b):
                cluster[child] = len(parent)
                parent.append(here)
                birth.append(max(density[merge], latest[child]))
        else:
            for child in (a, b):
                if size[child] < min_size:
                    fall[child] = density[merge]
    row_cluster, row_density = np.array(cluster[:n]), np.array(fall[:n])
    born = np.array(birth)
    # Rows of groups, and rows that never left a cluster, leave at their core distance.
    own = np.maximum(1.0 / np.maximum(spanning.core, tiny), born[row_cluster])
    row_density = np.where(row_density > 0, row_density, own)
    return CondensedTree(np.array(parent), born, row_cluster, row_density)


def _add_to_ancestors(value: NDArray, parent: Rows) -> None:
    """INOUT: add the value of each cluster to all above it."""
    for node in range(len(parent) - 1, 0, -1):
        value[parent[node]] += value[node]


# -------------------------------------------------------------------- choice of clusters


def link_gains(parent: Rows, row_cluster: Rows, pairs: Constraints) -> Floats:
    """Weight of the must-links inside each cluster minus that of the cannot-links inside.

    Noise satisfies every cannot-link and no must-link. So the weight of satisfied links is, but
    for a constant, the sum of these gains over the chosen clusters, and `select` is exact.
    """
    gain = np.zeros(len(parent))
    links = np.concatenate([pairs.must_link, pairs.cannot_link])
    weight = np.concatenate([pairs.must_link_weight, -pairs.cannot_link_weight])
    for (a, b), w in zip(row_cluster[links].tolist(), weight.tolist(), strict=True):
        while a != b:
            a, b = min(a, b), int(parent[max(a, b)])
        gain[a] += w
    _add_to_ancestors(gain, parent)
    return gain


def select(parent: Rows, stability: Floats, gain: Floats) -> Mask:
    """Disjoint clusters of the greatest total gain; those of greatest stability if gains are equal.

    By dynamic programming from the leaves. Of choices that are equal in both, that with fewer
    clusters.
    """
    below = np.zeros((len(parent), 2))  # gain and stability of the best choice below each node
    takes = np.zeros(len(parent), dtype=bool)
    for node in range(len(parent) - 1, 0, -1):
        least_gain, least_stability = below[node]
        # Sums of the same weights in another order differ by rounding.
        if math.isclose(gain[node], least_gain, rel_tol=1e-9, abs_tol=1e-12):
            takes[node] = stability[node] >= least_stability
        else:
            takes[node] = gain[node] > least_gain
        best = (gain[node], stability[node]) if takes[node] else below[node]
        below[parent[node]] += best
    covered = np.zeros(len(parent), dtype=bool)
    for node in range(1, len(parent)):
        covered[node] = covered[parent[node]] or takes[parent[node]]
    return takes & ~covered


def cluster_of_rows(tree: CondensedTree, chosen: Mask) -> Rows:
    """The chosen cluster that each row is in, -1 if in none."""
    at = np.where(chosen, np.arange(len(chosen)), -1)
    for node in range(1, len(at)):
        if at[node] < 0:
            at[node] = at[tree.parent[node]]
    return np.asarray(at[tree.row_cluster])
