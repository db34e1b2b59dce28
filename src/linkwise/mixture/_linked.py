"""scikit-learn's EM with an E-step that sums over the labels of linked rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.metrics import pairwise_distances_argmin
from sklearn.mixture import GaussianMixture

from linkwise._validation import progress_reporter
from linkwise.constraints import Constraints
from linkwise.kmeans import PCKMeans

from ._field import Field

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_TINY = 1e-300  # keeps the logarithm of a probability of 0 finite


class LinkedGaussians(GaussianMixture):  # type: ignore[misc]
    """A Gaussian mixture in which chunklets share a label and cannot-links keep them apart.

    Without links, every step is scikit-learn's.
    """

    field: Field
    paths: list[list[float]]  # mean log likelihood after each E-step of each run

    @classmethod
    def of(cls, estimator: Any, field: Field, pairs: Constraints) -> LinkedGaussians:
        """The mixture that a `ConstrainedMixture` describes."""
        mixture = cls(
            estimator.n_clusters, covariance_type=estimator.covariance_type,
            reg_covar=estimator.reg_covar, n_init=estimator.n_init, max_iter=estimator.max_iter,
            tol=estimator.tol, random_state=estimator.random_state,
        )  # fmt: skip
        mixture.estimator, mixture.field, mixture.pairs = estimator, field, pairs
        mixture.paths = []
        return mixture

    @property
    def best_run(self) -> int:
        """The run whose result was kept: scikit-learn takes the first of equal ones."""
        return int(np.argmax([path[-1] for path in self.paths]))

    def _initialize_parameters(self, X: Floats, random_state: Any, **options: Any) -> None:
        self.paths.append([])
        self._report = progress_reporter(self.estimator, len(self.paths) - 1)
        init, k = self.estimator.init, self.n_components
        # Chunklets in large components start from their initial clusters, softened.
        self.loose = np.full((len(self.field.loose), k), 1.0 / k)
        if not isinstance(init, str):
            means = np.asarray(init, dtype=np.float64)
            if means.shape != (k, X.shape[1]):
                raise ValueError(
                    f"init has shape {means.shape}; expected (n_clusters, n_features) = "
                    f"{(k, X.shape[1])}"
                )
            labels = pairwise_distances_argmin(X, means)
        elif init == "auto" and self.pairs:
            labels = PCKMeans(k, random_state=random_state).fit(X, constraints=self.pairs).labels_
        else:
            super()._initialize_parameters(X, random_state, **options)
            return
        self._initialize(X, np.eye(k)[labels])

    def _initialize(self, X: Floats, resp: Floats, **options: Any) -> None:
        super()._initialize(X, resp, **options)
        field = self.field
        if len(field.loose):
            share = np.add.reduceat(resp[field.rows], field.first, axis=0)[field.loose]
            self.loose = 0.9 * share / share.sum(axis=1, keepdims=True) + 0.1 / resp.shape[1]
