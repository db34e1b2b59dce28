"""Slow, obvious code to compare with: written from the definitions."""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import cdist


def reachability(X, n_neighbors):
    """Mutual reachability distances of all pairs, and core distances."""
    distances = cdist(X, X)
    core = np.sort(distances, axis=1)[:, n_neighbors - 1]
    return np.maximum(np.maximum(distances, core), core[:, None]), core


def spanning_weight(X, n_neighbors):
    """Total weight of the minimum spanning tree."""
    reach, _ = reachability(X, n_neighbors)
    # SciPy reads 0 as no edge.
    return minimum_spanning_tree(np.triu(1.0 + reach, 1)).sum() - (len(X) - 1)


def merge_sets(ends, n, cannot):
    """Sets of rows after merging along edges in order, refusing what a cannot-link forbids."""
    sets = {p: frozenset([p]) for p in range(n)}
    merges = []
    for p, q in ends:
        a, b = sets[p], sets[q]
        if a == b or any((i in a and j in b) or (i in b and j in a) for i, j in cannot):
            continue
        for row in a | b:
            sets[row] = a | b
        merges.append(a | b)
    return merges, set(sets.values())


def antichains(parent):
    """Every set of nodes none of which is above another."""
    n = len(parent)
    above = [set() for _ in range(n)]
    for node in range(n):
        up = parent[node]
        while up >= 0:
            above[node].add(up)
            up = parent[up]
    for bits in range(2**n):
        chosen = [node for node in range(n) if bits >> node & 1]
        if not any(other in above[node] for node in chosen for other in chosen):
            yield chosen


def kept_weight(labels, known):
    """Weight of the links that labels keep."""
    mask = known.satisfied(labels)
    return float(
        known.must_link_weight[mask.must_link].sum()
        + known.cannot_link_weight[mask.cannot_link].sum()
    )
