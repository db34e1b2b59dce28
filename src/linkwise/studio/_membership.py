"""How sure the clusters of rows are: probabilities, and the next best cluster."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import euclidean_distances

from linkwise._types import Labels, Matrix

_BLOCK = 4_096  # rows whose distances are in memory at once


@dataclass(frozen=True, eq=False)
class Membership:
    """Probabilities of the clusters of a fit.

    The posterior of a mixture of spherical normal distributions with the clusters' means, sizes
    and one pooled variance. Its accuracy depends on how well that describes the data.

    Attributes
    ----------
    probability : ndarray of shape (n_rows,)
        Of the cluster that each row is in.
    distance : ndarray of shape (n_rows,)
        Squared distance to the mean of that cluster.
    runner_up : ndarray of shape (n_rows,)
        The most probable other cluster; -1 if there is none.
    """

    probability: NDArray[np.float64]
    distance: NDArray[np.float64]
    runner_up: Labels

    @classmethod
    def of(cls, X: Matrix, labels: Labels) -> Membership:
        """Compute it from the rows and their clusters.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n_rows, n_features)
        labels : ndarray of shape (n_rows,)
            -1 for rows without a cluster; their probability is 0.
        """
        numbers, place = np.unique(labels, return_inverse=True)
        first = int((numbers < 0).sum())  # rows without a cluster come first
        numbers, place = numbers[first:], place - first
        n_rows = len(labels)
        if not len(numbers):
            return cls(np.zeros(n_rows), np.zeros(n_rows), np.full(n_rows, -1, np.int32))
        means = np.vstack([np.asarray(X[labels == c].mean(axis=0)).ravel() for c in numbers])
        apart = np.empty((n_rows, len(numbers)))
        for start in range(0, n_rows, _BLOCK):
            stop = start + _BLOCK
            apart[start:stop] = euclidean_distances(X[start:stop], means, squared=True)
        return cls._from_distances(apart, numbers, place)

    @classmethod
    def _from_distances(
        cls, apart: NDArray[np.float64], numbers: Labels, place: NDArray[np.intp]
    ) -> Membership:
        n_rows = len(apart)
        rows, inside = np.arange(n_rows), place >= 0
        own = np.where(inside, apart[rows, place], np.inf)
        sizes = np.bincount(place[inside], minlength=len(numbers))
        # The mean squared distance estimates (number of dimensions) x variance; taking it as the
        # variance of one dimension keeps many correlated columns from counting as evidence each.
        variance = max(float(own[inside].mean()), 1e-12)
        score = np.log(sizes) - apart / (2 * variance)
        score -= score.max(axis=1, keepdims=True)
        share = np.exp(score)
        share /= share.sum(axis=1, keepdims=True)
        others = share.copy()
        others[rows[inside], place[inside]] = -1.0
        runner_up = numbers[others.argmax(axis=1)] if len(numbers) > 1 else np.full(n_rows, -1)
        probability = np.where(inside, share[rows, place], 0.0)
        return cls(probability, own, np.asarray(runner_up, dtype=np.int32))
