"""Scores by description length: how much shorter clusters make the data and its links to tell.

See `linkwise.evaluation.description_length`. Lengths are compared in one space for all candidates,
whatever their own preprocessing, and by the shape of clusters that is shortest for each.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from linkwise._types import Matrix
from linkwise.constraints import Constraints
from linkwise.evaluation import description_length
from linkwise.evaluation._description_length import COVARIANCES

from ._splits import ConstraintFold

NAME = "description length"


def everything(known: Constraints) -> ConstraintFold:
    """The only fold: nothing is held back, as the length of the clusters stands against them."""
    none = np.zeros(0, dtype=np.int64)
    return ConstraintFold(
        known, np.zeros((0, 2), dtype=np.int64), none.astype(bool), none.astype(float), none
    )


class Description:
    """Rows in the space in which they are described.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
    """

    def __init__(self, X: Matrix):
        if sparse.issparse(X):
            raise ValueError(
                'criterion="description_length" needs dense rows: clusters are described as normal '
                'clouds; use criterion="held_out"'
            )
        self._X = StandardScaler().fit_transform(X)

    def saved(self, labels: NDArray[np.int64], fold: ConstraintFold) -> float:
        """Nats per row that clusters save against one cluster for all rows."""
        X = self._X if fold.rows is None else self._X[fold.rows]
        one = _shortest(X, np.zeros(len(X), dtype=np.int64), fold.known)
        return (one - _shortest(X, labels, fold.known)) / len(X)


def _shortest(X: Matrix, labels: NDArray[np.int64], known: Constraints) -> float:
    return min(description_length(X, labels, known, covariance=shape) for shape in COVARIANCES)
