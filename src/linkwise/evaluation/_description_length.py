"""The description length of a clustering: a criterion for the number of clusters.

Basu et al. (2006, section 3.7) name it as a way to choose k when links are few. The data is told in
two parts: the model, then what the model does not say. Lengths are in nats:

    n H(sizes)                       the cluster of every row,
    -log p(X | centers, variance)    the rows, normal about their centers,
    (k d + 1) / 2 log n              centers and the variance (Rissanen 1978),
    log C(m, v) + log(m + 1)         which v of the m links are violated.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, xlogy
from sklearn.utils.validation import check_array

from linkwise._types import MatrixLike
from linkwise.constraints import Constraints

_LEAST = 1e-12  # variance left, as a share of the variance of the data: rounding beyond that


def description_length(
    X: MatrixLike, labels: ArrayLike, constraints: Constraints | None = None
) -> float:
    """Length of the shortest description of rows and links by a clustering, in nats.

    Compare clusterings of the same rows and links: the shorter the better. Rows labeled -1 count
    as clusters of their own.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The rows, in the space in which clusters are round: scale or transform them first.
    labels : array-like of shape (n_samples,)
        Cluster of each row.
    constraints : Constraints, default=None
        Links by row number.

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
    X = check_array(X, dtype=np.float64)
    code = np.array(np.unique(labels, return_inverse=True)[1])
    if len(code) != len(X):
        raise ValueError(f"labels has {len(code)} entries, but X has {len(X)} rows")
    alone = np.flatnonzero(np.asarray(labels) == -1)
    code[alone] = code.max(initial=-1) + 1 + np.arange(len(alone))
    code = np.unique(code, return_inverse=True)[1]
    (n, d), sizes = X.shape, np.bincount(code)
    length = -float(xlogy(sizes, sizes / n).sum())
    length += _of_rows(X, code, sizes) + (len(sizes) * d + 1) / 2 * np.log(n)
    if constraints is not None:
        length += _of_links(constraints, np.asarray(labels))
    return float(length)


def _of_rows(X: np.ndarray, code: np.ndarray, sizes: np.ndarray) -> float:
    """Minus the log likelihood of the rows about their means, with one variance for all."""
    n, d = X.shape
    X = X - X.mean(axis=0)
    total = float((X**2).sum()) / (n * d)
    means = np.zeros((len(sizes), d))
    np.add.at(means, code, X)
    means /= sizes[:, None]
    variance = float(((X - means[code]) ** 2).sum()) / (n * d)
    variance = max(variance, _LEAST * total, np.finfo(np.float64).tiny)
    return float(n * d / 2 * (np.log(2 * np.pi * variance) + 1))


def _of_links(constraints: Constraints, labels: np.ndarray) -> float:
    """Which of the links are violated."""
    held = constraints.satisfied(labels)
    number = constraints.n_must_link + constraints.n_cannot_link
    violated = number - int(held.must_link.sum()) - int(held.cannot_link.sum())
    choose = gammaln(number + 1) - gammaln(violated + 1) - gammaln(number - violated + 1)
    return float(choose + np.log(number + 1))
