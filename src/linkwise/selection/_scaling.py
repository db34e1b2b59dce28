"""Scaling of columns that lets a category count as much as a number."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from linkwise._types import Floats
from linkwise.geometry import one_hot_groups


class ColumnScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Scales every column to unit variance, and the indicators of one category together.

    Neighboring columns of two values, one of which is high in each row, are the indicators of one
    category. They are scaled by one factor, to a variance of one in total: each by itself, a
    category would count as often as it has values, and rare values most. Constant columns become
    zero.

    Attributes
    ----------
    mean_, scale_ : ndarrays of shape (n_features,)
        What is subtracted, and what the rest is divided by.
    groups_ : list of pairs of int
        The indicators of each category: the first, and the column after the last.
    """

    def fit(self, X: ArrayLike, y: object = None) -> ColumnScaler:
        """Find means, scales and categories; y is ignored."""
        rows = np.asarray(validate_data(self, X, dtype=(np.float64, np.float32)), dtype=np.float64)
        self.mean_ = rows.mean(axis=0)
        variance = rows.var(axis=0)
        # The variance of a constant column is rounding error.
        variance[np.ptp(rows, axis=0) == 0] = 0.0
        self.groups_ = one_hot_groups(rows)
        for start, stop in self.groups_:
            variance[start:stop] = variance[start:stop].sum()
        self.scale_ = np.sqrt(np.where(variance > 0, variance, 1.0))
        return self

    def transform(self, X: ArrayLike) -> Floats:
        """The scaled columns."""
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=(np.float64, np.float32), reset=False)
        return np.asarray((rows - self.mean_) / self.scale_)
