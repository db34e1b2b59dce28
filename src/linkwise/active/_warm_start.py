"""Warm start of a refit when the number of clusters has changed.

The clusters before are joined or parted as the answers say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from linkwise._types import Matrix

from ._neighborhoods import squared_distances
from ._questions import Answer

Labels = NDArray[np.int32]


def carry_over(
    X: Matrix, labels: Labels, answers: Sequence[Answer], k: int
) -> NDArray[np.float64] | None:
    """Centers of k clusters from the previous labels; None if the answers do not determine them.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_rows, n_features)
    labels : ndarray of shape (n_rows,)
        The clusters before.
    answers : sequence of Answer
    k : int
        Number of clusters now.
    """
    found: Labels | None = labels
    while found is not None and (n := len(np.unique(found[found >= 0]))) != k:
        found = _join(found, answers) if n > k else _part(X, found, answers)
    if found is None:
        return None
    rows = (np.flatnonzero(found == c) for c in np.unique(found[found >= 0]))
    return np.array([np.asarray(X[mine].mean(axis=0)).ravel() for mine in rows])


def _join(labels: Labels, answers: Sequence[Answer]) -> Labels | None:
    """Merge the two clusters that most must-links connect."""
    across = Counter(
        tuple(sorted((int(labels[a.i]), int(labels[a.j]))))
        for a in answers
        if a.said == "same" and labels[a.i] != labels[a.j] and min(labels[a.i], labels[a.j]) >= 0
    )
    if not across:
        return None
    one, two = across.most_common(1)[0][0]
    return np.where(labels == two, one, labels)


def _part(X: Matrix, labels: Labels, answers: Sequence[Answer]) -> Labels | None:
    """Split the cluster that contains the last violated cannot-link."""
    for a in reversed(answers):
        if a.said == "different" and labels[a.i] == labels[a.j] >= 0:
            rows = np.flatnonzero(labels == labels[a.i])
            nearer = squared_distances(X[rows], X[[a.i, a.j]]).argmin(axis=1)
            parted = labels.copy()
            parted[rows[nearer == 1]] = labels.max() + 1
            return None if len(set(nearer.tolist())) == 1 else parted
    return None
