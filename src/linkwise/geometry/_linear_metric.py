"""Base of the metric learners that are transformers: rows times `components_`."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from linkwise._types import Floats, MatrixLike
from linkwise._validation import read_new_rows


class LinearMetric(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A learnt Mahalanobis metric as a linear map; a subclass fits `mean_` and `components_`."""

    mean_: Floats
    components_: Floats

    def transform(self, X: MatrixLike) -> NDArray:
        """Rows in the space where Euclidean distance is the metric learnt.

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
