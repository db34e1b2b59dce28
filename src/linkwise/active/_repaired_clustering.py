"""The clustering that `Repair` keeps, as an estimator."""

from __future__ import annotations

import time
from numbers import Integral
from typing import Self

import numpy as np
from sklearn.base import BaseEstimator

from linkwise._types import Ints, Labels, MatrixLike, SampleIds
from linkwise._validation import ConstrainedClusterMixin, Knowable, Knowledge, check_number
from linkwise.report import Report

from ._questions import Verdict
from ._repair_model import RepairModel, check_noise


class RepairedClustering(ConstrainedClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Parts of the data, merged by links and by closeness; the model of `Repair`'s sessions.

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

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        noise: float | str = 0.0,
        random_state: int = 0,
    ):
        self.n_clusters = n_clusters
        self.noise = noise
        self.random_state = random_state

    def fit(
        self, X: MatrixLike, y: object = None, *,
        constraints: Knowable = None, sample_ids: SampleIds = None,
    ) -> Self:  # fmt: skip
        """Cluster rows."""
        started = time.perf_counter()
        rows, told = self._read_rows(X, constraints, sample_ids)
        self._check_enough_rows(rows.shape[0])
        if self.n_clusters is not None:
            check_number("n_clusters", self.n_clusters, Integral, 1)
        history: list[tuple[int, int, Verdict, float]] = []
        history += [(int(i), int(j), "same", 1.0) for i, j in told.known.must_link]
        history += [(int(i), int(j), "different", 1.0) for i, j in told.known.cannot_link]
        check_noise(self.noise)
        model = RepairModel(rows, self.random_state or 0, self.noise)
        return self.take(model.labels(history, self.n_clusters), told, started)

    def take(self, labels: Ints | Labels, told: Knowledge, started: float) -> Self:
        """Take over a clustering, such as the one that `Repair` keeps in a session."""
        self.labels_: Labels = np.asarray(labels, dtype=np.int32)
        self.report_ = Report.of(
            told.known,
            self.labels_,
            algorithm=type(self).__name__,
            costs=np.zeros(0),
            objective=None,
            n_iter=1,
            converged=True,
            seconds=time.perf_counter() - started,
            n_dropped=told.n_dropped,
            ids=told.ids,
        )
        return self
