r"""New rows of a fitted k-means estimator: clusters, distances, probabilities.

k-means with a learned metric $A_h$ minimizes $d_h(x) - \log\det A_h$, which is minus twice the log
likelihood of a Gaussian with covariance $A_h^{-1}$, up to a constant. The scale of that
covariance is not part of the model; it is estimated by the pooled variance within clusters, $s^2$,
the mean of $d_h(x) / D$ over all rows, h being the cluster of the row and D the number of features.
Correlated features would count several times: the D features count as E independent ones, which
multiplies the log odds by E / D. With clusters of equal shares, Bayes' rule gives

    p(h | x) proportional to exp(-(E / D) (d_h(x) / s^2 - log det A_h) / 2).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from linkwise._types import Bools, Floats, Ints, Labels, Matrix, MatrixLike, is_sparse
from linkwise._validation import read_data, read_features
from linkwise.engines import is_out_of_memory, map_blocks
from linkwise.geometry import Geometry, Moments
from linkwise.kmeans.rows._local_rows import PAIRED_ROWS, LocalRows
from linkwise.kmeans.rows._offsets import moved
from linkwise.kmeans.rows._protocols import BLOCK_ROWS, DENSE_CELLS


class NewRowsMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """`predict`, `transform`, `predict_proba` and `score` of the k-means estimators."""

    n_clusters: int
    cluster_centers_: Floats
    within_variance_: float | None
    _closed_: Bools | None
    _geometry_: Geometry
    _shift_: Floats

    def _closed_to_rows(self) -> NDArray[np.bool_] | None:
        """Clusters that accept no new rows: closed by the method, or retired by an update."""
        closed, retired = self._closed_, getattr(self, "_retired_", None)
        if closed is None and (retired is None or not retired.any()):
            return None
        mask = np.zeros(self._geometry_.k, dtype=bool)
        for part in (closed, retired):
            if part is not None:
                mask[: len(part)] |= part
        return mask

    def _check_new(self, X: MatrixLike) -> Matrix:
        check_is_fitted(self)
        return read_data(self, X, reset=False)

    def _blockwise(
        self, X: MatrixLike, method: str, dtype: DTypeLike | None, width: int | None
    ) -> NDArray:
        """A method's results on blocks of rows: a Dask array for Dask collections."""
        check_is_fitted(self)
        read_features(self, X, reset=False)
        return map_blocks(X, _Call(self, method), dtype, width)

    def predict(self, X: MatrixLike) -> Labels:
        """The nearest cluster of each row, under the learned metric.

        Limits on sizes and the number of outliers are of the rows of the fit: a new row is never an
        outlier (-1), however far it is. `transform` gives its distances.

        Parameters
        ----------
        X : array-like, CSR matrix, Dask collection or Blocks of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            A lazy Dask array if X is a Dask collection.
        """
        if is_out_of_memory(X):
            return self._blockwise(X, "predict", np.int32, None)
        return self._nearest(self._check_new(X))

    def transform(self, X: MatrixLike) -> NDArray:
        """Distance of each row to each center, under the learned metric.

        Parameters
        ----------
        X : array-like, CSR matrix, Dask collection or Blocks of shape (n_samples, n_features)

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
            A lazy Dask array if X is a Dask collection.
        """
        if is_out_of_memory(X):
            return self._blockwise(X, "transform", None, len(self.cluster_centers_))
        X = self._check_new(X)
        geometry = self._geometry_
        out = np.empty((X.shape[0], geometry.k), dtype=X.dtype)
        for part, costs in self._cost_blocks(X):
            far = np.maximum(costs + geometry.offsets(), 0.0)
            out[part] = np.sqrt(far) if geometry.squared else far
        return out

    def predict_proba(self, X: MatrixLike) -> Floats:
        """How probable each cluster is for each row, under a stated model.

        The model is the mixture that k-means is the limit of: Gaussians of equal shares with the
        learned metric (or the unit metric) and one variance, `within_variance_`, the mean squared
        distance within clusters per feature. Features that go together within clusters count as
        `effective_features_` independent ones. The probabilities are the softmax of minus half the
        squared distance in units of this variance, times the share of independent features. Links
        have no influence. The probabilities measure how clear the choice among the clusters is, not
        whether the clusters are right; `ConstrainedMixture` estimates weights and covariances too.

        Parameters
        ----------
        X : array-like, CSR matrix, Dask collection or Blocks of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_clusters)
            A lazy Dask array if X is a Dask collection.
        """
        check_is_fitted(self)
        if self.within_variance_ is None:
            raise ValueError(
                "predict_proba needs the variance within clusters, which is found only when the "
                "model is fitted to rows in memory; fit it to a sample of them"
            )
        if is_out_of_memory(X):
            return self._blockwise(X, "predict_proba", np.float64, len(self.cluster_centers_))
        X, geometry = self._check_new(X), self._geometry_
        offsets = geometry.offsets()
        out = np.empty((X.shape[0], geometry.k))
        share = (getattr(self, "effective_features_", None) or X.shape[1]) / X.shape[1]
        for part, costs in self._open_costs(X):
            distances = np.maximum(costs + offsets, 0.0)
            out[part] = memberships(distances, offsets, self.within_variance_, share)
        return out

    def score(
        self, X: MatrixLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Minus the sum of the rows' costs in their nearest clusters (higher is better).

        Parameters
        ----------
        X : array-like, CSR matrix, Dask collection or Blocks of shape (n_samples, n_features)
        y : Ignored
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; all 1 if not given.

        Returns
        -------
        score : float
        """
        if is_out_of_memory(X):
            each = self._blockwise(X, "_row_scores", np.float64, None)
        else:
            each = self._row_scores(X, y)
        if sample_weight is not None:
            weight = np.asarray(sample_weight, dtype=np.float64)
            if weight.shape != each.shape:
                raise ValueError(
                    f"sample_weight has shape {weight.shape}; expected one weight per row, shape "
                    f"{each.shape}"
                )
            each = each * weight
        return float(np.sum(each))

    def _row_scores(self, X: MatrixLike, y: ArrayLike | None = None) -> Floats:
        rows = self._check_new(X)
        least = np.empty(rows.shape[0])
        for part, costs in self._open_costs(rows):
            least[part] = costs.min(axis=1)
        return self._geometry_.shared_log_det - least

    def _open_costs(self, X: Matrix) -> Iterator[tuple[slice, Floats]]:
        """Costs block by block; infinite in clusters that accept no new rows."""
        closed = self._closed_to_rows()
        for part, costs in self._cost_blocks(X):
            if closed is not None:
                costs[:, closed] = np.inf
            yield part, costs

    @contextmanager
    def _new_rows(self, X: Matrix) -> Iterator[LocalRows]:
        """New rows as the geometry needs them."""
        geometry = self._geometry_
        X = geometry.scaled(geometry.validate_rows(X))
        if is_sparse(X) and self._shift_.any():
            X = moved(X, self._shift_)
        rows = LocalRows.in_coordinates(X, self._shift_)
        try:
            yield rows
        finally:
            rows.close()

    def _nearest(self, X: Matrix) -> NDArray[np.int32]:
        """The cheapest cluster of each row, without all costs at once."""
        labels = np.full(X.shape[0], -1, dtype=np.int32)
        closed, nothing = self._closed_to_rows(), Moments.zeros(0, 0)  # no sums
        for part, piece in self._pieces(X):
            with self._new_rows(piece) as rows:
                pinned = np.zeros(rows.n, dtype=bool)
                rows.assign(self._geometry_, labels[part], pinned, nothing, closed)
        return labels

    def _pieces(self, X: Matrix) -> Iterator[tuple[slice, Matrix]]:
        """All rows; or, if a fit of dense rows is asked about sparse ones, dense pieces of them.

        Dense rows are read relative to their mean, which would leave no zeros.
        """
        if not is_sparse(X) or 2 * np.count_nonzero(self._shift_) < X.shape[1]:
            yield slice(0, X.shape[0]), X
            return
        size = max(1, DENSE_CELLS // max(X.shape[1], 1))
        for start in range(0, X.shape[0], size):
            part = slice(start, min(start + size, X.shape[0]))
            yield part, X[part].toarray()

    def _cost_blocks(self, X: Matrix) -> Iterator[tuple[slice, Floats]]:
        """Costs of the rows in all clusters, block by block."""
        geometry = self._geometry_
        size = max(1, min(BLOCK_ROWS, DENSE_CELLS // self.n_clusters))
        for piece, of_piece in self._pieces(X):
            with self._new_rows(of_piece) as rows:
                for start in range(0, rows.n, size):
                    part = slice(start, min(start + size, rows.n))
                    costs = rows.distances(np.arange(part.start, part.stop), geometry)
                    costs = costs + np.reshape(geometry.row_terms(rows.X[part]), (-1, 1))
                    yield slice(piece.start + part.start, piece.start + part.stop), costs


class _Call:
    """A method of a fitted estimator that workers call on blocks of rows."""

    def __init__(self, estimator: Any, method: str):
        self.estimator, self.method = copy(estimator), method
        for name in ("labels_", "report_", "feature_names_in_"):  # not needed on workers
            self.estimator.__dict__.pop(name, None)
        self.estimator.callback = None

    def __call__(self, X: Matrix) -> NDArray:
        return getattr(self.estimator, self.method)(X)


# -------------------------------------------------------------------- probabilities


def cluster_costs(rows: LocalRows, geometry: Geometry, labels: Labels) -> Floats:
    """Sum of the weighted distances of each cluster's rows to its center."""
    inside = np.flatnonzero(labels >= 0)
    own = labels[inside]
    far = rows.own_costs(inside, own, geometry) + geometry.offsets()[own]
    X = rows.X if len(inside) == rows.n else rows.X[inside]  # no copy of all rows
    far = np.maximum(far + geometry.row_terms(X), 0.0)
    far = far * (rows.weight_of(inside) if rows.weighted else 1.0)
    return np.bincount(own, far, minlength=geometry.k).astype(np.float64)


def effective_features(rows: LocalRows, geometry: Geometry, labels: Labels) -> float:
    """Number of independent features of equal variance that rows vary in within clusters.

    It is (tr S)^2 / tr S^2 for their covariance S within clusters: the mean squared length of the
    residuals, squared, over the mean squared product of two of them.
    """
    inside = np.flatnonzero(labels >= 0)
    most = min(PAIRED_ROWS, max(2, DENSE_CELLS // rows.d))
    some = inside[:: max(1, len(inside) // most)][:most]
    if len(some) < 2:
        return 1.0
    away = rows.take(some) - geometry.centers[labels[some]]
    products = _products(away, geometry.metrics, geometry.group(labels[some]))
    squares, n = np.diagonal(products), len(some)
    crossed = ((products**2).sum() - (squares**2).sum()) / (n * (n - 1))
    if not crossed > 0:
        return float(rows.d)
    return float(np.clip(squares.mean() ** 2 / crossed, 1.0, rows.d))


def _products(away: Floats, metrics: Floats, group: Ints | Labels) -> Floats:
    """Products of all pairs of residuals, each under the metric of its cluster.

    The longest entry is 1, so that squares of products neither overflow nor vanish.
    """
    scaled = np.empty_like(away)
    for g in np.unique(group):
        mine = group == g
        if metrics.ndim == 2:
            scaled[mine] = away[mine] * np.sqrt(metrics[g])
        else:
            values, vectors = np.linalg.eigh(metrics[g])
            root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
            scaled[mine] = away[mine] @ root
    scaled /= np.abs(scaled).max() or 1.0
    return np.asarray(scaled @ scaled.T)


def memberships(distances: Floats, log_det: Floats, variance: float, share: float = 1.0) -> Floats:
    """Softmax of minus half the distance in units of the variance; rows sum to one.

    Parameters
    ----------
    distances : ndarray of shape (n_samples, n_clusters)
        Infinite where a cluster takes no new rows.
    log_det : ndarray of shape (n_clusters,)
        Logarithms of the determinants of the clusters' metrics, up to a common constant.
    variance : float
        0 gives each row to the nearest cluster, in equal parts if several are.
    share : float, default=1.0
        Of the features that count as independent.
    """
    unit = variance if variance > 0 else np.finfo(np.float64).tiny
    with np.errstate(over="ignore"):
        far = (distances - distances.min(axis=1, keepdims=True)) / unit - log_det
    far -= far.min(axis=1, keepdims=True)
    odds = np.exp(-0.5 * share * far)
    return odds / odds.sum(axis=1, keepdims=True)
