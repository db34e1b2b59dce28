"""Probability of each row to be in the right cluster, calibrated by what links let one expect."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import softmax
from sklearn.metrics import pairwise_distances
from sklearn.utils import gen_batches

from linkwise._types import Floats

_BATCH = 50_000  # rows whose distances to all centers are in memory
_RANGE = 1e-4, 1e4  # of the width, as a multiple of the variance within clusters


def row_probabilities(
    Z: Floats, labels: NDArray, centers: Floats, right: float, sample: NDArray
) -> Floats:
    """Probability of each row to be in its cluster, by round clusters of one width.

    If rows are right with probabilities p_i, two rows of one cluster belong together with
    probability p_i p_j. The width is such that the mean of these is the share of pairs that
    held-out links let one expect to be right.
    """
    if len(centers) == 1:
        return np.ones(len(Z))
    some, own = _squared(Z[sample], centers), labels[sample]
    variance = some[np.arange(len(own)), own].mean() / Z.shape[1]
    width = max(float(variance), 1e-12)
    if np.isfinite(right):
        n_pairs = float((np.bincount(own, minlength=len(centers)) ** 2).sum())

        def excess(log_width: float) -> float:
            p = _of_own(some, own, width * np.exp(log_width))
            return float((np.bincount(own, p) ** 2).sum() / n_pairs - right)

        low, high = np.log(_RANGE)
        if excess(low) <= 0:
            width *= _RANGE[0]
        elif excess(high) >= 0:
            width *= _RANGE[1]
        else:
            width *= float(np.exp(brentq(excess, low, high, xtol=0.01)))
    found = np.empty(len(Z))
    for rows in gen_batches(len(Z), _BATCH):
        found[rows] = _of_own(_squared(Z[rows], centers), labels[rows], width)
    return found


def _squared(Z: Floats, centers: Floats) -> Floats:
    return np.asarray(pairwise_distances(Z, centers, metric="sqeuclidean"))


def _of_own(squared: Floats, labels: NDArray, width: float) -> Floats:
    found = softmax(-squared / (2 * width), axis=1)
    return np.asarray(found[np.arange(len(labels)), labels])
