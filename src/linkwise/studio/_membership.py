"""Distances of rows to the clusters: how typical a row is, and its second nearest cluster."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import euclidean_distances

from linkwise._types import Labels, Matrix

_BLOCK = 4_096  # rows whose distances to all clusters are in memory at once


class Membership(NamedTuple):
    """Distances of the rows to the means of the clusters.

    No probability: one from distances alone was found to be uncalibrated (issue 41).

    Attributes
    ----------
    distance : ndarray of shape (n_rows,)
        Squared distance to the mean of the row's own cluster; inf for rows without a cluster.
    runner_up : ndarray of shape (n_rows,)
        The nearest other cluster; -1 if there is none.
    """

    distance: NDArray[np.float64]
    runner_up: Labels

    @classmethod
    def of(cls, X: Matrix, labels: Labels) -> Membership:
        """Compute it from the rows and their clusters (-1: none)."""
        numbers = np.unique(labels[labels >= 0])
        distance = np.full(len(labels), np.inf)
        runner_up = np.full(len(labels), -1, dtype=np.int32)
        if not len(numbers):
            return cls(distance, runner_up)
        means = np.vstack([np.asarray(X[labels == c].mean(axis=0)).ravel() for c in numbers])
        for start in range(0, len(labels), _BLOCK):
            part = slice(start, start + _BLOCK)
            apart = euclidean_distances(X[part], means, squared=True)
            own = labels[part, None] == numbers
            distance[part] = np.where(own, apart, 0).sum(axis=1)
            apart[own] = np.inf
            has_other = np.isfinite(apart.min(axis=1))
            runner_up[part] = np.where(has_other, numbers[apart.argmin(axis=1)], -1)
        distance[labels < 0] = np.inf
        return cls(distance, runner_up)
