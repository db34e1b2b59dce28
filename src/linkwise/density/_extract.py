"""Clusters out of a condensed tree: the best antichain by stability and links kept (FOSC).

Entry points: `select`, O(clusters), and `label_rows`, O(clusters + rows). Both qualities add up
over clusters. Rows in no cluster keep every cannot-link and no must-link; so, but for a constant,
the weight of links kept is, summed over the chosen clusters, that of the must-links inside minus
that of the cannot-links inside. A dynamic programme from the leaves up is then exact.

References
----------
.. [1] R. J. G. B. Campello, D. Moulavi, A. Zimek, J. Sander. A framework for semi-supervised and
   unsupervised optimal extraction of clusters from hierarchies. Data Mining and Knowledge
   Discovery 27, 2013, sections 3 to 5.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwise.constraints import Constraints

from . import _tree_kernels as kernels
from ._condense import CondensedTree

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Rows = NDArray[np.int64]

_ROUNDING = 1e-12


class Labelled(NamedTuple):
    """What rows get from the chosen clusters.

    Attributes
    ----------
    labels : ndarray of shape (n_samples,)
        Clusters numbered by their first row; -1 for noise.
    probabilities : ndarray of shape (n_samples,)
        Density at which a row leaves its cluster as a share of the cluster's last; 0 for noise.
    chosen : ndarray of shape (n_clusters,)
        Node of the condensed tree that each label stands for.
    """

    labels: NDArray[np.int32]
    probabilities: Floats
    chosen: Rows


def link_gains(tree: CondensedTree, known: Constraints) -> Floats:
    """Weight of the must-links inside each cluster minus that of the cannot-links inside."""
    gain = np.zeros(len(tree.parent))
    kinds = (
        (known.must_link, known.must_link_weight),
        (known.cannot_link, -known.cannot_link_weight),
    )
    for pairs, weight in kinds:
        if len(pairs):
            a, b = tree.row_cluster[np.asarray(pairs, dtype=np.int64).T]
            meeting = np.empty(len(a), dtype=np.int64)
            kernels.meet(a, b, tree.parent, meeting)
            gain += np.bincount(meeting, weight, minlength=len(gain))
    kernels.add_to_ancestors(gain, tree.parent)
    return gain


def is_eligible(tree: CondensedTree, *, leaves_only: bool, allow_single: bool) -> Mask:
    """Which nodes of the tree may be chosen.

    The root of a forest is no cluster. The root of a tree that holds all rows, or all but some
    that are too few for a cluster, is one only if a single cluster is allowed.
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
    """Choose disjoint clusters of the greatest total quality.

    Parameters
    ----------
    parent : ndarray of shape (n_nodes,)
        Parents have lower numbers; -1 for the root.
    eligible : ndarray of bool of shape (n_nodes,)
    stability : ndarray of shape (n_nodes,)
    gain : ndarray of shape (n_nodes,)
        See `link_gains`.
    link_share : float
        Share of the links in the quality, both parts being scaled to their greatest sums. At 1,
        stability decides only among choices that keep the same weight of links.

    Returns
    -------
    chosen : ndarray of bool of shape (n_nodes,)
        Of choices with the same quality, that with fewer clusters; a leaf of quality 0 is chosen.
    """
    quality = _quality(eligible, stability, gain, link_share)
    below = np.zeros_like(quality)
    takes = np.zeros(len(parent), dtype=bool)
    for node in range(len(parent) - 1, -1, -1):
        own = quality[node]
        takes[node] = eligible[node] and _is_at_least(own, below[node])
        if parent[node] >= 0:
            below[parent[node]] += own if takes[node] else below[node]
    covered = np.zeros(len(parent), dtype=bool)
    for node in range(1, len(parent)):
        up = parent[node]
        covered[node] = covered[up] or takes[up]
    return takes & ~covered


def _quality(eligible: Mask, stability: Floats, gain: Floats, link_share: float) -> Floats:
    """First and second criterion of each node, shape (n_nodes, 2)."""
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
    slack = _ROUNDING * max(abs(a[0]), abs(b[0]))
    if abs(a[0] - b[0]) > slack:
        return bool(a[0] > b[0])
    return bool(a[1] >= b[1])


def label_rows(tree: CondensedTree, chosen: Mask) -> Labelled:
    """Labels and probabilities of rows under the chosen clusters."""
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
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    labels = np.full(len(cluster), -1, dtype=np.int32)
    labels[inside] = rank[place]
    probabilities = np.zeros(len(cluster))
    end = death[cluster[inside]]
    probabilities[inside] = np.minimum(tree.row_density[inside], end) / end
    return Labelled(labels, probabilities, nodes[order])


def outlier_scores(tree: CondensedTree) -> Floats:
    """GLOSH: how much earlier a row leaves than the densest one below the cluster it leaves."""
    last = tree.death
    for node in range(len(last) - 1, 0, -1):
        up = tree.parent[node]
        last[up] = max(last[up], last[node])
    end = last[tree.row_cluster]
    return np.maximum(1.0 - tree.row_density / end, 0.0)
