"""Cosine distance with weights of the features (Basu et al. 2006, 3.17), and correlation.

    d(x, mu) = 1 - x'A mu / (|x|_A |mu|_A)

Rows and centers are kept at length one under the metric, so that costs are linear in the rows.
With weights per cluster a row has a length per cluster: rows stay as they are, and each cosine and
each sum is divided by the length that belongs to the cluster.

The published centroid (3.24) adds rows of different length; here each is divided by its own length
first, which is the minimizer.

References
----------
.. [1] S. Basu, M. Bilenko, A. Banerjee, R. J. Mooney. Probabilistic semi-supervised clustering
   with constraints. In Semi-Supervised Learning, MIT Press 2006.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from linkwise import _core
from linkwise._types import Floats, Ints, Labels, Matrix, is_sparse
from linkwise._validation import check_scale

from ._geometry import Geometry, HasSimilaritySquares, MapRanges, RowSlices, refuse_zeros
from ._moments import Moments, sums_by_cluster

_ETA = 100.0  # the step of the published experiments
_TINY = 1e-300
_NARROW = 1e-2  # variance of directions; unit vectors of random ones have 1


class Cosine(Geometry):
    """Cosine distance: the angle between rows (Basu et al., 3.17).

    Examples
    --------
    >>> from linkwise import PCKMeans
    >>> X = [[1.0, 0.0], [9.0, 1.0], [0.0, 1.0], [1.0, 8.0]]
    >>> PCKMeans(2, distortion="cosine", random_state=0).fit_predict(X).tolist()
    [1, 1, 0, 0]
    """

    scales_rows = True
    signed = False  # whether any row has negative entries, so that angles may be obtuse

    def validate_rows(self, X: Matrix) -> Matrix:
        """Rows of length one; a row of zeros has no direction and is refused."""
        check_scale(X, vanishing=False)
        scaled, length = _scaled(X, np.ones(X.shape[1]))
        refuse_zeros(
            length,
            "they have no direction, so cosine distance is not defined; leave them out, or use "
            'distortion="euclidean"',
        )
        return scaled

    def block_stats(self, X: Matrix, sample_weight: Floats) -> bool:
        """Whether angles may be obtuse."""
        return bool((X.data if is_sparse(X) else X).min(initial=0) < 0)

    def set_stats(self, stats: Sequence[bool]) -> None:
        """Whether any block has negative entries."""
        self.signed = any(stats)

    def scaled(
        self, X: Matrix, map_ranges: MapRanges | None = None, out: Matrix | None = None
    ) -> Matrix:
        """Rows of length one under the metric; validated rows have it under equal weights."""
        if self.per_cluster or (self.metrics == 1.0).all():
            return X
        return _scaled(X, self.metrics[0], map_ranges, out)[0]

    def row_terms(self, X: Matrix) -> float:
        """One minus the cosine."""
        return 1.0

    # ---------------------------------------------------------------- rows by cluster

    def costs(self, X: Matrix) -> Floats:
        """Minus the cosines under the metric of each cluster, (m, k)."""
        return -np.asarray(X @ (self.centers * self.metrics).T) / self._lengths(X)

    def _lengths(self, X: Matrix) -> Floats:
        """Length of each row under each metric, (m, groups)."""
        squares = np.asarray(_squared(X) @ self.metrics.T)
        return np.sqrt(np.maximum(squares, _TINY))

    def add_rows(self, X: Matrix, labels: Labels, weight: Floats, moments: Moments) -> None:
        """Add rows, divided by their length in their cluster, to counts and sums."""
        length = self._lengths(X)[np.arange(len(labels)), labels]
        moments.counts[:] += np.bincount(labels, weight, minlength=self.k)
        moments.sums[:] += sums_by_cluster(X, labels, weight / length, self.k)

    def similarity_squares(
        self, X: Matrix, labels: Labels, directions: Floats, weight: Floats
    ) -> Floats:
        """Per cluster and feature, the sum of cosines times squared entries of unit rows."""
        own = np.arange(len(labels)), labels
        products = np.asarray(X @ directions.T)[own] / self._lengths(X)[own] ** 3
        return sums_by_cluster(_squared(X), labels, weight * products, self.k)

    # ---------------------------------------------------------------- costs

    def forms(self) -> tuple[Floats, Floats, Floats] | None:
        """Costs are minus the cosines; None with weights per cluster."""
        if self.per_cluster:
            return None
        slope = -(self.centers * self.metrics[0]).T
        return slope, np.zeros((0, 0)), np.zeros(self.k)

    @property
    def bounded(self) -> bool:  # type: ignore[override]
        """Whether rows keep their lengths: 2 - 2 cos is the squared distance of unit vectors."""
        return not self.learns

    @property
    def is_narrow(self) -> bool:  # type: ignore[override]
        """Whether all rows have nearly the same direction, so that all cosines are nearly 1."""
        return self.mean_variance * self.centers.shape[1] < _NARROW

    def distance_forms(self) -> tuple[Floats, Floats, Floats] | None:
        """Squared distances of unit vectors, up to the rows' own squares."""
        forms = self.forms()
        if forms is None:
            return None
        slope, curve, _ = forms
        return 2.0 * slope, curve, np.ones(self.k)

    def distortion(self, moments: Moments) -> float:
        """Sum of the distances of all rows to their centers."""
        return float(moments.counts.sum() - (self.centers * self.metrics * moments.sums).sum())

    def set_centers(self, centers: Floats) -> None:
        """Centers of length one under the metric."""
        length = np.sqrt((centers**2 * self.metrics).sum(axis=1, keepdims=True))
        self.centers = np.asarray(centers, dtype=np.float64) / np.maximum(length, _TINY)

    def set_center(self, cluster: int, row: Floats) -> None:
        """Put one center at a row, made of length one."""
        super().set_center(cluster, row)
        self.set_centers(self.centers)

    def scatter(self, moments: Moments, assignments: HasSimilaritySquares) -> Floats:
        """Derivative of the distortion by the weights: (3.29) with its sign corrected."""
        scaled = self.centers * self.metrics
        cosines = (scaled * moments.sums).sum(axis=1, keepdims=True)
        slope = 0.5 * cosines * self.centers**2 - self.centers * moments.sums
        if not self.per_cluster:
            slope = slope.sum(axis=0, keepdims=True)
        return slope + 0.5 * assignments.similarity_squares(scaled)

    def proposal(self, slope: Floats, weights: Floats) -> Floats:
        """A gradient step; costs do not depend on the scale of the weights."""
        return self._descended(slope, self.eta if isinstance(self.eta, float) else _ETA)

    def set_metrics(self, metrics: Floats) -> None:
        """Set the weights; centers keep their directions."""
        self.metrics = metrics
        self.set_centers(self.centers)

    def bound(self) -> float:
        """1 (a right angle), or 2 if entries may be negative."""
        return 2.0 if self.signed else 1.0

    def pairs(self, X: RowSlices, i: Ints, j: Ints) -> Floats:
        """Cosine distance of rows; under a shared metric they have length one."""
        if self.per_cluster:
            a, b = X[i], X[j]
            products = a.multiply(b) if is_sparse(a) else a * b
            lengths = self._lengths(a) * self._lengths(b)
            return 1.0 - np.asarray(products @ self.metrics.T) / lengths
        if not isinstance(X, np.ndarray):
            return 1.0 - _cosines(X[i], X[j], self.metrics[0])
        cosines = np.empty(len(i))
        _core.pair_products(X, i, j, self.metrics[0], cosines)
        return 1.0 - cosines

    def pair_slopes(self, X: RowSlices, i: Ints, j: Ints, weight: Floats, group: int = 0) -> Floats:
        """Weighted sum of the derivatives of the distances."""
        a, b = X[i], X[j]
        if self.per_cluster:
            a, b = (_scaled(end, self.metrics[group])[0] for end in (a, b))
        half = 0.5 * weight * _cosines(a, b, self.metrics[group])
        if is_sparse(a) and is_sparse(b):
            squares = (a.multiply(a) + b.multiply(b)).T @ half
            return np.asarray(squares - a.multiply(b).T @ weight).ravel()
        return half @ (a**2 + b**2) - weight @ (a * b)


class Pearson(Cosine):
    """Pearson distance: one minus the correlation of rows over their features.

    Rows lose their mean over the features, which learned weights do not change; then distances are
    those of `Cosine`.

    Examples
    --------
    >>> from linkwise import PCKMeans
    >>> X = [[1.0, 2.0, 3.0], [10.0, 20.0, 31.0], [3.0, 2.0, 1.0], [9.0, 5.0, 1.0]]
    >>> PCKMeans(2, distortion="pearson", random_state=0).fit_predict(X).tolist()
    [1, 1, 0, 0]
    """

    def validate_rows(self, X: Matrix) -> Matrix:
        """Rows without their mean and of length one; constant rows have no shape."""
        if is_sparse(X):
            raise ValueError(
                'distortion="pearson" needs dense data: rows without their mean are not sparse; '
                'use distortion="cosine"'
            )
        centered = X - X.mean(axis=1, keepdims=True)
        size = np.abs(X).max(axis=1, initial=0.0)
        # What is left of a constant row is rounding.
        flat = np.abs(centered).max(axis=1, initial=0.0) <= 8 * np.finfo(X.dtype).eps * size
        refuse_zeros(
            np.where(flat, 0.0, 1.0),
            "they are constant, so that correlations with them are not defined; leave them out, or "
            'use distortion="euclidean"',
            what="have the same value in all features",
        )
        return super().validate_rows(centered)


def _squared(X: Matrix) -> Matrix:
    return X.multiply(X) if is_sparse(X) else X * X


def _cosines(a: Matrix, b: Matrix, weights: Floats) -> Floats:
    if is_sparse(a):
        return np.asarray(a.multiply(b) @ weights).ravel()
    return np.asarray((a * b) @ weights)


def _scaled(
    X: Matrix, weights: Floats, map_ranges: MapRanges | None = None, out: Matrix | None = None
) -> tuple[Matrix, Floats]:
    """Rows of length one under weights, in the type of the data, and the lengths they had."""
    lengths = np.empty(X.shape[0])
    values = X.data if is_sparse(X) else X
    room = np.empty_like(values) if out is None else (out.data if is_sparse(out) else out)

    def work(start: int, stop: int) -> None:
        if is_sparse(X):
            arrays = (X.data, X.indices, X.indptr)
            _core.scale_rows_sparse(*arrays, weights, start, stop, lengths, room)
        else:
            _core.scale_rows_dense(X, weights, start, stop, lengths, room)

    if map_ranges is None:
        work(0, X.shape[0])
    else:
        map_ranges(work)
    if is_sparse(X):
        return sparse.csr_matrix((room, X.indices, X.indptr), shape=X.shape), lengths
    return room, lengths
