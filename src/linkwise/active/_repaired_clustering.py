"""The clustering that `Repair` keeps, as an estimator."""

from __future__ import annotations

from numbers import Integral
from typing import Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import validate_data

from linkwise._types import Labels, MatrixLike
from linkwise._validation import check_number
from linkwise.constraints import Constraints, as_constraints

from ._questions import Verdict
from ._repair_model import RepairModel


class RepairedClustering(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Parts of the data, merged by links and by closeness; the model of `Repair`'s sessions.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of clusters; None: where the links let one expect the best F-measure over pairs.
    noise : float, default=0.0
        Expected share of wrong links.
    random_state : int, default=0

    Attributes
    ----------
    labels_ : ndarray of shape (n_rows,)

    See Also
    --------
    Repair : The strategy that asks for such links.

    Examples
    --------
    >>> from linkwise import Constraints
    >>> from linkwise.active import RepairedClustering
    >>> X = [[0.0], [0.1], [5.0], [5.1], [9.0], [9.1]]
    >>> known = Constraints(must_link=[(2, 4)], cannot_link=[(0, 2)])
    >>> RepairedClustering().fit_predict(X, constraints=known).tolist()
    [0, 0, 1, 1, 1, 1]
    """

    def __init__(self, n_clusters: int | None = None, *, noise: float = 0.0, random_state: int = 0):
        self.n_clusters = n_clusters
        self.noise = noise
        self.random_state = random_state

    def fit(
        self, X: MatrixLike, y: object = None, *, constraints: Constraints | None = None
    ) -> Self:
        """Cluster rows.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_rows, n_features)
        y : ignored
        constraints : Constraints, DataFrame or path, default=None
            Must-links and cannot-links that do not contradict each other.
        """
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64)
        if self.n_clusters is not None:
            check_number("n_clusters", self.n_clusters, Integral, 1)
        known = as_constraints(constraints).to_rows(X.shape[0])
        history: list[tuple[int, int, Verdict]] = []
        history += [(int(i), int(j), "same") for i, j in known.must_link]
        history += [(int(i), int(j), "different") for i, j in known.cannot_link]
        model = RepairModel(X, self.random_state or 0, self.noise)
        self.labels_: Labels = model.labels(history, self.n_clusters).astype(np.int32)
        return self
