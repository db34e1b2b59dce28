r"""Probabilities of clusters for k-means: the mixture that k-means is the limit of.

k-means with a learnt metric $A_h$ minimizes $d_h(x) - \log\det A_h$, which is minus twice the log
likelihood of a Gaussian with covariance $A_h^{-1}$, up to a constant. What it lacks is the scale of
that covariance: the pooled variance within clusters, $s^2$, the mean of $d_h(x) / D$ over the rows
in their own clusters, with D features. With equal shares of the clusters, Bayes' rule gives

    p(h | x) proportional to exp(-(d_h(x) / s^2 - log det A_h) / 2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from linkwise._types import Floats, Labels
    from linkwise.geometry._geometry import Geometry
    from linkwise.kmeans.rows._local_rows import LocalRows


def within_variance(rows: LocalRows, geometry: Geometry, labels: Labels) -> float:
    """Mean distance of the rows to their own centers, per feature."""
    inside = np.flatnonzero(labels >= 0)
    if not len(inside):
        return 0.0
    own = labels[inside]
    far = rows.own_costs(inside, own, geometry) + geometry.offsets()[own]
    far = np.maximum(far + geometry.row_terms(rows.X[inside]), 0.0)
    weight = rows.weight_of(inside) if rows.weighted else None
    return float(np.average(far, weights=weight)) / rows.d


def memberships(distances: Floats, log_det: Floats, variance: float) -> Floats:
    """Softmax of minus half the distance in units of the variance; rows sum to one.

    Parameters
    ----------
    distances : ndarray of shape (n_samples, n_clusters)
        Infinite where a cluster takes no new rows.
    log_det : ndarray of shape (n_clusters,)
        Logarithms of the determinants of the clusters' metrics, up to a common constant.
    variance : float
        0 gives each row to the nearest cluster, in equal parts if several are.
    """
    unit = variance if variance > 0 else np.finfo(np.float64).tiny
    with np.errstate(over="ignore"):
        far = (distances - distances.min(axis=1, keepdims=True)) / unit - log_det
    far -= far.min(axis=1, keepdims=True)
    odds = np.exp(-0.5 * far)
    return odds / odds.sum(axis=1, keepdims=True)
