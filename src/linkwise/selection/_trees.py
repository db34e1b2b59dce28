"""Ward's hierarchy with must-linked rows contracted: a clustering for every k from one tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.sparse.csgraph import connected_components

from linkwise._types import Floats
from linkwise.constraints import Constraints


def contracted(Z: Floats, known: Constraints) -> Floats:
    """Coordinates with must-linked rows moved to their mean.

    Ward's hierarchy of these begins with the components and continues as if each were contracted:
    its distances depend on means and sizes only.
    """
    ends = np.asarray(known.must_link, dtype=np.int64).reshape(-1, 2)
    if not len(ends):
        return Z
    n_rows = len(Z)
    edges = sparse.coo_array((np.ones(len(ends)), ends.T), shape=(n_rows, n_rows))
    component = connected_components(edges, directed=False)[1]
    member = sparse.csr_array((np.ones(n_rows), (component, np.arange(n_rows))))
    means = (member @ Z) / np.bincount(component)[:, None]
    return np.asarray(means[component])


class WardTree:
    """Ward's hierarchy, cut into any number of clusters."""

    def __init__(self, Z: Floats):
        tree, n_rows = linkage(Z, "ward"), len(Z)
        left, right = tree[:, 0].astype(np.int64), tree[:, 1].astype(np.int64)
        size = np.append(np.ones(n_rows, np.int64), tree[:, 3].astype(np.int64))
        # In the order of the leaves each cluster is an interval; a merge has one boundary in it.
        start = np.zeros(2 * n_rows - 1, np.int64)
        for merge in range(n_rows - 2, -1, -1):
            start[left[merge]] = start[n_rows + merge]
            start[right[merge]] = start[n_rows + merge] + size[left[merge]]
        self._boundary, self._order = start[right], leaves_list(tree)

    def cut(self, k: int) -> NDArray[np.int32]:
        """Labels of k clusters."""
        n_rows = len(self._order)
        first, labels = np.zeros(n_rows, np.int32), np.empty(n_rows, np.int32)
        first[self._boundary[n_rows - k :]] = 1
        labels[self._order] = np.cumsum(first)
        return labels
