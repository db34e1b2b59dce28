"""The description length of a clustering: a criterion for the number of clusters.

Basu et al. (2006, section 3.7) name it as a way to choose k when links are few. It is a two-part code (not
the PAC-MDL bound, which the chapter also names): the model, then the data given the model. Lengths are in nats:

    n H(sizes)                       the cluster of every row,
    -log p(X | centers, variance)    the rows, normal about their centers,
    (k d + v) / 2 log n              centers and v numbers of variances (Rissanen 1978),
    log C(m, v) + log(m + 1)         which v of the m links are violated.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, xlogy
from sklearn.utils.validation import check_array

from linkwise._types import MatrixLike
from linkwise._validation import check_choice
from linkwise.constraints import Constraints

Covariance = Literal["spherical", "diagonal", "tied", "full"]
COVARIANCES: tuple[Covariance, ...] = ("spherical", "diagonal", "tied", "full")
_LEAST = 1e-3  # variance left, as a share of that of the data: the precision of the code


def description_length(
    X: MatrixLike,
    labels: ArrayLike,
    constraints: Constraints | None = None,
    *,
    covariance: Covariance = "spherical",
) -> float:
    """Length of the shortest description of rows and links by a clustering, in nats.

    Compare clusterings of the same rows and links: the shorter the better. Each row labeled -1
    counts as a cluster.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The rows; for "spherical" in the space in which clusters are round, scaled or transformed.
    labels : array-like of shape (n_samples,)
        Cluster of each row.
    constraints : Constraints, default=None
        Links by row number.
    covariance : {"spherical", "diagonal", "tied", "full"}, default="spherical"
        How clusters are described: one variance for all of them, one per feature, one matrix, or
        one matrix per cluster. The richer the shape, the fewer clusters it takes; "spherical"
        cuts long clusters into pieces.

    Returns
    -------
    length : float

    Examples
    --------
    >>> import numpy as np
    >>> from linkwise.evaluation import description_length
    >>> X = np.array([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    >>> two = description_length(X, [0, 0, 0, 1, 1, 1])
    >>> two < description_length(X, [0, 0, 0, 0, 0, 0])
    True
    >>> two < description_length(X, [0, 0, 1, 2, 2, 3])
    True
    """
    check_choice("covariance", covariance, COVARIANCES)
    X = check_array(X, dtype=np.float64)
    code = np.array(np.unique(labels, return_inverse=True)[1])
    if len(code) != len(X):
        raise ValueError(f"labels has {len(code)} entries, but X has {len(X)} rows")
    alone = np.flatnonzero(np.asarray(labels) == -1)
    code[alone] = code.max(initial=-1) + 1 + np.arange(len(alone))
    code = np.unique(code, return_inverse=True)[1]
    n, sizes = len(X), np.bincount(code)
    length = -float(xlogy(sizes, sizes / n).sum())
    length += _of_rows(X, code, sizes, covariance)
    if constraints is not None:
        length += _of_links(constraints, np.asarray(labels))
    return float(length)


def _of_rows(X: np.ndarray, code: np.ndarray, sizes: np.ndarray, covariance: Covariance) -> float:
    """Length of the rows about their means, and of the parameters of the clusters."""
    (n, d), k = X.shape, len(sizes)
    means = np.zeros((k, d))
    np.add.at(means, code, X)
    away = X - (means / sizes[:, None])[code]
    every = np.maximum(X.var(axis=0), np.finfo(np.float64).tiny)
    if covariance == "full":
        n_variances, parts = k * d * (d + 1) / 2, [away[code == c] for c in range(k)]
        length = sum(_normal(part, _matrix(part, every)) for part in parts)
    elif covariance == "tied":
        n_variances, length = d * (d + 1) / 2, _normal(away, _matrix(away, every))
    else:
        variance = np.maximum((away**2).mean(axis=0), _LEAST * every)
        n_variances = d
        if covariance == "spherical":
            n_variances, variance = 1, np.full(d, max((away**2).mean(), _LEAST * every.mean()))
        length = _normal(away, float(np.log(variance).sum()))
    return float(length + (k * d + n_variances) / 2 * np.log(n))


def _normal(away: np.ndarray, log_det: float) -> float:
    """Minus the log likelihood of rows about their mean, at the likeliest covariance."""
    n, d = away.shape
    return n / 2 * (d * (np.log(2 * np.pi) + 1) + log_det)


def _matrix(away: np.ndarray, every: np.ndarray) -> float:
    """Logarithm of the determinant of the covariance, floored by adding to its diagonal."""
    found = away.T @ away / len(away) + np.diag(_LEAST * every)
    return float(np.linalg.slogdet(found)[1])


def _of_links(constraints: Constraints, labels: np.ndarray) -> float:
    """Which of the links are violated."""
    held = constraints.satisfied(labels)
    number = constraints.n_must_link + constraints.n_cannot_link
    violated = number - int(held.must_link.sum()) - int(held.cannot_link.sum())
    choose = gammaln(number + 1) - gammaln(violated + 1) - gammaln(number - violated + 1)
    return float(choose + np.log(number + 1))
