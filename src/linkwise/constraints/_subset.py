"""Inconsistent relative constraints: a large subset of them that can be met together.

Entry point: `consistent_subset`. Finding the largest is NP-hard (Maximum Triplet Consistency);
this is a heuristic. Where OneTree is stuck with a set that its triplets hold together, the set is
cut in two so that few of them are cut through: from several starts, by moving single items. The
tree that comes out of it keeps more triplets than it was made for, and each of the others is tried
once more, heavy ones first, until time runs out.

References
----------
.. [1] E. Y. Liu, Z. Zhang, W. Wang. Clustering with relative constraints. KDD 2011, section 6.
.. [2] S. Snir, S. Rao. Using max cut to enhance rooted trees consistency. IEEE/ACM Trans.
   Computational Biology and Bioinformatics 3(4), 2006.
"""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import breadth_first_order
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from ._closure import number_nodes
from ._links import Rows
from ._tree import Tree
from ._triplets import build_tree, consistent

Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]

_OPEN = 0.6  # what a triplet is worth that the cut leaves open; one that it meets is worth 1
_ROUNDS = 50
_BRANCHES = 5  # branches of a spanning tree to start from


def consistent_subset(triplets: Rows, weight: Floats, time_limit: float = 5.0) -> Mask:
    """Mark triplets that can all be met together, of a large total weight.

    Parameters
    ----------
    triplets : ndarray of shape (m, 3)
    weight : ndarray of shape (m,)
    time_limit : float, default=5.0
        Seconds for trying to take back what was given up.

    Returns
    -------
    kept : ndarray of bool of shape (m,)

    Examples
    --------
    >>> import numpy as np
    >>> from linkwise.constraints import consistent_subset
    >>> triplets = np.array([(0, 1, 2), (1, 2, 0), (0, 1, 3)])
    >>> consistent_subset(triplets, np.array([1.0, 0.4, 1.0])).tolist()
    [True, False, True]
    """
    kept = np.ones(len(triplets), dtype=bool)
    if not len(triplets):
        return kept
    items, (ends,) = number_nodes(triplets)
    while True:
        chosen = np.flatnonzero(kept)
        built = build_tree(ends[chosen], len(items))
        if built.parent is not None:
            break
        stuck = chosen[built.conflict]
        kept[stuck[_cut_through(ends[stuck], weight[stuck])]] = False
    kept |= Tree(built.parent, range(len(items))).displays(ends.tolist())
    return _taken_back(ends, weight, kept, time_limit)


def _taken_back(ends: Rows, weight: Floats, kept: Mask, time_limit: float) -> Mask:
    """Add triplets that do no harm, the heaviest first."""
    deadline = time.monotonic() + time_limit
    missing = np.flatnonzero(~kept)
    for t in missing[np.argsort(-weight[missing], kind="stable")].tolist():
        if time.monotonic() > deadline:
            break
        kept[t] = True
        kept[t] = consistent(ends[kept])
    return kept


def _cut_through(triplets: Rows, weight: Floats) -> Mask:
    """Which triplets to give up so that a set falls into two."""
    from linkwise._core import improve_cut

    items, (ends,) = number_nodes(triplets)
    best, most = np.zeros(0, dtype=np.int64), -np.inf
    for side in _starts(ends, weight, len(items)):
        worth = improve_cut(ends, weight, side, _OPEN, _ROUNDS)
        if worth > most:
            best, most = side, worth
    return best[ends[:, 0]] != best[ends[:, 1]]


def _starts(ends: Rows, weight: Floats, n_items: int) -> list[Rows]:
    """Cuts to start from: light branches of a spanning tree, and a spectral one."""
    a, b, c = ends.T
    pull = _symmetric(a, b, weight, n_items)
    starts = _light_branches(pull, n_items)
    if n_items > 3:
        push = _symmetric(a, c, weight, n_items) + _symmetric(b, c, weight, n_items)
        side = (_leading(pull - push / 2) > 0).astype(np.int64)
        if 0 < side.sum() < n_items:
            starts.append(side)
    return starts


def _leading(matrix: csr_array) -> Floats:
    """An approximate leading eigenvector; no signs at all if it does not converge."""
    first = np.cos(np.arange(matrix.shape[0]))  # any fixed vector will do to start from
    try:
        return eigsh(matrix, k=1, which="LA", v0=first, tol=1e-3)[1][:, 0]
    except ArpackNoConvergence:
        return np.zeros(matrix.shape[0])


def _symmetric(i: Rows, j: Rows, weight: Floats, n: int) -> csr_array:
    ends = (np.concatenate([i, j]), np.concatenate([j, i]))
    return coo_array((np.concatenate([weight, weight]), ends), shape=(n, n)).tocsr()


def _light_branches(graph: csr_array, n: int) -> list[Rows]:
    """Branches of a breadth-first tree that the lightest edges join to the rest.

    Below v, the edges that leave are the degrees summed up minus twice the edges inside, and an
    edge is inside from the lowest common ancestor of its ends upwards.
    """
    order, above = breadth_first_order(graph, 0, directed=False)
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n - 1, -1, -1)  # from the leaves to the root
    up = np.append(place[above[order[::-1][:-1]]], -1)
    edges = coo_array(graph)
    i, j = place[edges.row], place[edges.col]
    inside = np.bincount(_meeting(up, i, j), edges.data, minlength=n)  # each edge stands twice
    leaving = np.bincount(i, edges.data, minlength=n) - inside
    for v in range(n - 1):
        leaving[up[v]] += leaving[v]
    found = []
    for v in np.argsort(leaving[:-1], kind="stable")[:_BRANCHES].tolist():
        below = np.zeros(n, dtype=np.int64)
        below[v] = 1
        for w in range(v - 1, -1, -1):
            below[w] = below[up[w]]
        found.append(below[place])
    return found


def _meeting(up: Rows, i: Rows, j: Rows) -> Rows:
    """Lowest common ancestors in a tree in which parents have higher numbers."""
    i, j = i.copy(), j.copy()
    while (apart := i != j).any():
        low = apart & (i < j)
        high = apart & ~low
        i[low] = up[i[low]]
        j[high] = up[j[high]]
    return i
