"""A clusterer with bound constraints, for tools that only call ``fit(X)``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from linkwise._types import Floats, Labels, MatrixLike, SampleIds
from linkwise._validation import Knowable

Method = TypeVar("Method", bound=Callable[..., object])


def _can(method: str) -> Callable[[Method], Method]:
    """Whether the inner estimator has a method."""

    def has(self: BoundConstraints) -> bool:
        return hasattr(getattr(self, "estimator_", self.estimator), method)

    return cast("Callable[[Method], Method]", available_if(has))


class BoundConstraints(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """A clusterer that brings its constraints, such as for ``BERTopic(hdbscan_model=...)``.

    Tools that take a clusterer call ``fit(X)`` and know nothing of constraints. This wrapper adds
    them, by row number, or by id if `sample_ids` has the id of each row.

    Parameters
    ----------
    estimator : clusterer of linkwise
    constraints : Constraints, DataFrame or path
    sample_ids : array-like of shape (n_samples,), default=None
        Ids of the rows that `fit` will get, in their order.
    labels : array-like of shape (n_samples,), default=None
        Partial labels of these rows, -1 or None for unknown.

    Attributes
    ----------
    estimator_ : clusterer
        The fitted one.
    labels_ : ndarray of shape (n_samples,)
        Clusters; -1 for noise.
    probabilities_ : ndarray of shape (n_samples,)
        Of the own cluster, where the estimator has them; else not there.

    References
    ----------
    .. [1] M. Grootendorst. BERTopic: neural topic modeling with a class-based TF-IDF procedure.
       arXiv:2203.05794, 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from linkwise import Constraints, COPKMeans
    >>> from linkwise.integrations import BoundConstraints
    >>> known = Constraints(must_link=[(0, 3)])
    >>> bound = BoundConstraints(COPKMeans(2, random_state=0), known)
    >>> labels = bound.fit(np.array([[0.0], [0.1], [5.0], [5.1]])).labels_
    >>> bool(labels[0] == labels[3])
    True
    """

    def __init__(
        self, estimator: BaseEstimator, constraints: Knowable = None,
        sample_ids: SampleIds = None, labels: ArrayLike | None = None,
    ):  # fmt: skip
        self.estimator = estimator
        self.constraints = constraints
        self.sample_ids = sample_ids
        self.labels = labels

    def fit(self, X: MatrixLike, y: object = None) -> Self:
        """Cluster the rows of X with the constraints.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : Ignored

        Returns
        -------
        self : object
        """
        given = {} if self.sample_ids is None else {"sample_ids": self.sample_ids}
        self._check_rows(X)
        self.estimator_ = clone(self.estimator)
        self.estimator_.fit(X, self.labels, constraints=self.constraints, **given)
        self.labels_ = self.estimator_.labels_
        self.n_features_in_ = self.estimator_.n_features_in_
        found = getattr(self.estimator_, "probabilities_", None)
        if found is None and hasattr(self.estimator_, "predict_proba"):
            found = self.estimator_.predict_proba(X)
        if found is not None:
            self.probabilities_ = _own(np.asarray(found), self.labels_)
        return self

    def _check_rows(self, X: MatrixLike) -> None:
        for name in ("sample_ids", "labels"):
            given = getattr(self, name)
            if given is not None and len(given) != np.shape(X)[0]:
                raise ValueError(
                    f"{name} has {len(given):,} entries, but fit got {np.shape(X)[0]:,} rows; "
                    "bind them in the order of the rows"
                )

    @_can("predict")
    def predict(self, X: MatrixLike) -> Labels:
        """Clusters of new rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        check_is_fitted(self, "estimator_")
        return self.estimator_.predict(X)

    @_can("predict_proba")
    def predict_proba(self, X: MatrixLike) -> Floats:
        """How probable each cluster is for new rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_clusters)
        """
        check_is_fitted(self, "estimator_")
        return self.estimator_.predict_proba(X)


def _own(probabilities: Floats, labels: Labels) -> Floats:
    """Probability of each row's own cluster; 0 for noise."""
    if probabilities.ndim == 1:
        return probabilities
    own = probabilities[np.arange(len(labels)), np.maximum(labels, 0)]
    return np.where(labels < 0, 0.0, own)
