r"""Probabilities of clusters for k-means: the mixture that k-means is the limit of.

k-means with a learnt metric $A_h$ minimizes $d_h(x) - \log\det A_h$, which is minus twice the log
likelihood of a Gaussian with covariance $A_h^{-1}$, up to a constant. What it lacks is the scale of
that covariance: the pooled variance within clusters, $s^2$, the mean of $d_h(x) / D$ over the rows
in their own clusters, with D features. Features that go together within clusters tell the same
thing several times: log odds are those of E independent features, a share E / D of the sum. With
equal shares of the clusters, Bayes' rule gives

    p(h | x) proportional to exp(-(E / D) (d_h(x) / s^2 - log det A_h) / 2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

# From so many rows the number of independent features is estimated; fewer if rows are wide.
_MOST_ROWS, _LEAST_ROWS, _MOST_CELLS = 500, 50, 4_000_000

if TYPE_CHECKING:
    from linkwise._types import Floats, Ints, Labels
    from linkwise.geometry._geometry import Geometry
    from linkwise.kmeans.rows._local_rows import LocalRows


def cluster_costs(rows: LocalRows, geometry: Geometry, labels: Labels) -> Floats:
    """Sum of the weighted distances of each cluster's rows to its center."""
    inside = np.flatnonzero(labels >= 0)
    own = labels[inside]
    far = rows.own_costs(inside, own, geometry) + geometry.offsets()[own]
    X = rows.X if len(inside) == rows.n else rows.X[inside]  # no copy of all rows
    far = np.maximum(far + geometry.row_terms(X), 0.0)
    far = far * (rows.weight_of(inside) if rows.weighted else 1.0)
    return np.bincount(own, far, minlength=geometry.k).astype(np.float64)


def effective_features(rows: LocalRows, geometry: Geometry, labels: Labels) -> float:
    """Number of independent features of equal variance that rows vary in within clusters.

    It is (tr S)^2 / tr S^2 for their covariance S within clusters: the mean squared length of the
    residuals, squared, over the mean squared product of two of them.
    """
    inside = np.flatnonzero(labels >= 0)
    most = min(_MOST_ROWS, max(_LEAST_ROWS, _MOST_CELLS // rows.d))
    some = inside[:: max(1, len(inside) // most)][:most]
    if len(some) < 2:
        return 1.0
    away = rows.take(some) - geometry.centers[labels[some]]
    products = _products(away, geometry.metrics, geometry.group(labels[some]))
    squares, n = np.diagonal(products), len(some)
    crossed = ((products**2).sum() - (squares**2).sum()) / (n * (n - 1))
    if not crossed > 0:
        return float(rows.d)
    return float(np.clip(squares.mean() ** 2 / crossed, 1.0, rows.d))


def _products(away: Floats, metrics: Floats, group: Ints | Labels) -> Floats:
    """Products of all pairs of residuals, each under the metric of its own cluster.

    The longest entry is 1, so that squares of products neither overflow nor vanish.
    """
    scaled = np.empty_like(away)
    for g in np.unique(group):
        mine = group == g
        if metrics.ndim == 2:
            scaled[mine] = away[mine] * np.sqrt(metrics[g])
        else:
            values, vectors = np.linalg.eigh(metrics[g])
            root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
            scaled[mine] = away[mine] @ root
    scaled /= np.abs(scaled).max() or 1.0
    return np.asarray(scaled @ scaled.T)


def memberships(distances: Floats, log_det: Floats, variance: float, share: float = 1.0) -> Floats:
    """Softmax of minus half the distance in units of the variance; rows sum to one.

    Parameters
    ----------
    distances : ndarray of shape (n_samples, n_clusters)
        Infinite where a cluster takes no new rows.
    log_det : ndarray of shape (n_clusters,)
        Logarithms of the determinants of the clusters' metrics, up to a common constant.
    variance : float
        0 gives each row to the nearest cluster, in equal parts if several are.
    share : float, default=1.0
        Of the features that count as independent.
    """
    unit = variance if variance > 0 else np.finfo(np.float64).tiny
    with np.errstate(over="ignore"):
        far = (distances - distances.min(axis=1, keepdims=True)) / unit - log_det
    far -= far.min(axis=1, keepdims=True)
    odds = np.exp(-0.5 * share * far)
    return odds / odds.sum(axis=1, keepdims=True)
