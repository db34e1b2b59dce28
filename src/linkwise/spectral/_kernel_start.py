"""Where kernel k-means starts: groups of must-linked rows far apart, and rows as in k-means++."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from linkwise.constraints import Closure

from ._gram import Gram

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

_MOST_GROUPS = 500  # the largest ones are looked at


def start(
    S: Gram, a: Floats, k: int, closure: Closure, rng: np.random.RandomState, *, groups: bool
) -> Labels:
    """First labels: rows go to the nearest of k centers, must-linked ones together.

    Parameters
    ----------
    S : Gram
    a : ndarray of shape (n,)
        Weights of the rows.
    k : int
    closure : Closure
        Its components of two or more rows stay together; with `groups` they are the first centers.
    rng : RandomState
    groups : bool
    """
    members = _groups(closure)
    distance = np.empty((len(a), 0))
    if groups and len(members):
        distance = _apart(S, a, k, members)
    while distance.shape[1] < k:
        row = _draw(distance, a, rng)
        new = S.diagonal + S.diagonal[row] - 2 * S.column(row)
        distance = np.column_stack([distance, np.maximum(new, 0.0)])
    labels = distance.argmin(axis=1)
    for rows in members:
        labels[rows] = (a[rows] @ distance[rows]).argmin()
    return labels.astype(np.int64)


def _groups(closure: Closure) -> list[Labels]:
    """Rows of each component of two or more, the largest first."""
    order = closure.by_component
    pieces = np.split(closure.nodes[order], np.cumsum(closure.sizes)[:-1])
    return sorted((piece for piece in pieces if len(piece) > 1), key=len, reverse=True)


def _apart(S: Gram, a: Floats, k: int, members: list[Labels]) -> Floats:
    """Distances to at most k group means, chosen large and far from each other."""
    members = members[:_MOST_GROUPS]
    H = _means(members, a)
    common = S.times(H)
    inner = H.T @ common
    own = np.diag(inner)
    between = np.sqrt(np.maximum(own[:, None] + own - 2 * inner, 0.0))
    weight = np.sqrt([a[rows].sum() for rows in members])
    chosen = [int(np.argmax(weight))]
    while len(chosen) < min(k, len(members)):
        far = between[:, chosen].min(axis=1) * weight
        far[chosen] = -1.0
        chosen.append(int(far.argmax()))
    return np.maximum(S.diagonal[:, None] - 2 * common[:, chosen] + own[chosen], 0.0)


def _means(members: list[Labels], a: Floats) -> Any:
    """Sparse weights, of shape (n, n_groups), that make the mean of each group."""
    rows = np.concatenate(members)
    which = np.repeat(np.arange(len(members)), [len(group) for group in members])
    mass = np.bincount(which, weights=a[rows])
    value = np.where(mass[which] > 0, a[rows] / np.where(mass > 0, mass, 1.0)[which], 0.0)
    return sparse.csr_array((value, (rows, which)), shape=(len(a), len(members)))


def _draw(distance: Floats, a: Floats, rng: np.random.RandomState) -> int:
    """A row drawn by weight times squared distance to the nearest center, as k-means++ does."""
    odds = a * distance.min(axis=1) if distance.shape[1] else a.copy()
    total = odds.sum()
    return int(rng.choice(len(a), p=odds / total if total > 0 else None))
