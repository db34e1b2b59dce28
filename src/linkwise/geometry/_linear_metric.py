"""Base of the metric learners that are transformers: rows times `components_`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from linkwise._types import Floats, MatrixLike, SampleIds
from linkwise._validation import (
    Knowable,
    check_scale,
    read_data,
    read_knowledge,
    read_labels,
    read_new_rows,
)
from linkwise.constraints import Constraints


class LinearMetric(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A learned Mahalanobis metric as a linear map; a subclass fits `mean_` and `components_`."""

    _needs = "all rows (or a sample with the linked ones in it) in memory"
    mean_: Floats
    components_: Floats

    def _read(
        self, X: MatrixLike, y: ArrayLike | None, constraints: Knowable, sample_ids: SampleIds
    ) -> tuple[Floats, Constraints]:
        """The rows, and what is known about them, labels included."""
        given, X = X, read_data(self, X, accept_sparse=False)
        check_scale(X, dtype=np.float64)
        n = X.shape[0]
        if n < 2:
            name = type(self).__name__
            raise ValueError(f"n_samples=1: {name} needs at least two rows that are linked")
        known, _ = read_knowledge(constraints, n, sample_ids, given)
        if (labels := read_labels(y, n)) is not None:
            known = known + Constraints(labels=labels)
        return X.astype(np.float64), known

    def _take_root(self, metric: Floats) -> None:
        """Fit the symmetric root of a metric: A = R R, so that |R x|^2 = x' A x."""
        values, vectors = linalg.eigh(metric)
        self.components_ = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        self._n_features_out = len(metric)

    @property
    def metric_(self) -> Floats:
        """The Mahalanobis metric, of shape (n_features, n_features)."""
        check_is_fitted(self)
        return self.components_.T @ self.components_

    def transform(self, X: MatrixLike) -> NDArray:
        """Rows in the space where Euclidean distance is the metric learned.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        X = read_new_rows(self, X, accept_sparse=False)
        return ((X - self.mean_) @ self.components_.T).astype(X.dtype)

    def fit_transform(self, X: MatrixLike, y: ArrayLike | None = None, **params: Any) -> NDArray:
        """Fit and transform.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,), default=None
            Partial labels, -1 for unknown.
        **params
            Other parameters of `fit`, such as `constraints`.
        """
        learner: Any = self  # what else `fit` takes is up to the subclass
        return learner.fit(X, y, **params).transform(X)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
