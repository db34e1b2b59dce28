"""Agglomeration of parts under answers (src/core/active.cpp).

Ward's linkage by the Lance-Williams update. A node is a part or a merged cluster, named by the
lowest slot it took; H[i, j] is the increase of the sum of squares when i and j merge. A merge is
written as (node, node, height, size, size, 1 if both were of one family already).
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from linkwise._core import agglomerate, agglomerate_softly, follow, joining_merges, move_parts
from linkwise._types import Floats, Ints

__all__ = [
    "agglomerate", "agglomerate_softly", "follow", "joining_merges", "move_parts", "nearest_parts",
    "tree_nodes", "ward_linkage",
]  # fmt: skip


def ward_linkage(center: Floats, weight: Floats) -> Floats:
    """Increase of the sum of squares when two parts merge, for all pairs; infinite with itself."""
    H = cdist(center, center, "sqeuclidean")
    H *= np.outer(weight, weight) / np.add.outer(weight, weight)
    np.fill_diagonal(H, np.inf)
    return H


def nearest_parts(H: Floats) -> tuple[Ints, Floats]:
    """The nearest other node of each node, and the linkage to it."""
    nearest = H.argmin(axis=1)
    return nearest, H[np.arange(len(H)), nearest]


def tree_nodes(merges: Floats, n_parts: int) -> Ints:
    """Both nodes of each merge; parts are 0..m-1, the q-th merge is node m + q."""
    node, found = list(range(n_parts)), []
    for q, (i, j) in enumerate(merges[:, :2].astype(np.int64).tolist()):
        found.append((node[i], node[j]))
        node[i] = n_parts + q
    return np.array(found, dtype=np.int64).reshape(-1, 2)
