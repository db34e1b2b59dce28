"""Dense or CSR rows in memory, and the cluster of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray
from sklearn.utils.random import sample_without_replacement

from linkwise import _core
from linkwise._types import Bools, Floats, Ints, Labels, Matrix, RandomState, is_sparse
from linkwise._validation import check_range
from linkwise.engines import Threads
from linkwise.geometry import Geometry, Mahalanobis, Moments
from linkwise.kmeans._kernel_arguments import CostForm

from . import _by_cluster
from ._bounds import Bounds
from ._offsets import far_means, moved
from ._protocols import BLOCK_ROWS, DENSE_CELLS, cluster_sizes, dense_blocks

PAIRED_ROWS = 500  # rows of which all pairs are compared: 125,000 pairs, some milliseconds
# Initial centers of very many rows are drawn from a sample: at most 131,072 rows and 32 MB, but 100
# rows per cluster, so that k-means++ meets clusters of 1 % of the average size.
_SAMPLE, _SAMPLE_LEAST = 2**17, 100

KernelCall = tuple[Callable[..., int], tuple[object, ...]]


class ExtremeRows(NamedTuple):
    """Longest rows; per feature, the rows with the least and the largest value; all lengths."""

    longest: Ints
    edge: Ints  # (2, d)
    norm: Floats  # (n,)


class LocalRows:
    """Data rows and their weights.

    Dense rows are read relative to their mean: x - mean keeps the digits of sums of squares
    however far from the origin the data is. The data is not copied. Of sparse rows, only columns
    that are far from zero are shifted, so that zeros stay zeros, and `X` is a copy that is relative
    to `shift`. With ``centered=False`` nothing is shifted.
    """

    def __init__(
        self, X: Matrix, sample_weight: Floats | None = None, *, centered: bool = True,
        n_jobs: int | None = None, is_block: bool = False,
    ):  # fmt: skip
        self._set(X, np.zeros(X.shape[1]), sample_weight, n_jobs)
        self.total_weight = float(self.weight.sum()) if self.weight.size else float(self.n)
        if self.weight.size and not is_block:
            check_total_weight(self.total_weight)
        self._is_block = is_block  # other blocks may have larger values
        self.largest = 0.0
        if is_sparse(X):
            self._check_range(float(np.abs(X.data).max(initial=0)))
            if centered and not is_block:
                self._move(far_means(X))
        else:
            self._scan_columns(centered)

    def _set(self, X: Matrix, shift: Floats, weight: Floats | None, n_jobs: int | None) -> None:
        self.X = self._unscaled = X
        self.n, self.d = X.shape
        self.is_sparse, self.shift = is_sparse(X), shift
        self.weight = np.zeros(0) if weight is None else np.asarray(weight, float)
        stored = X.nnz // max(X.shape[0], 1) if is_sparse(X) else X.shape[1]
        self.cells = max(stored, 1)
        self.threads = Threads(self.n, 4 * self.cells, n_jobs)  # a value costs about four cells
        self._totals: dict[bool, Floats] = {}
        self._mean: Floats | None = None  # of rows that are not centered
        self._outermost: Ints | None = None
        # The geometry that adds rows to sums, if what they add depends on their cluster.
        self.by_cluster: Geometry | None = None

    def _move(self, shift: Floats) -> None:
        """Store sparse rows relative to a shift."""
        if shift.any():
            self.X = self._unscaled = moved(self.X, shift)
            self.shift = shift

    def _check_range(self, largest: float) -> None:
        self.largest = largest
        check_range(largest, self.X.dtype, vanishing=not self._is_block)

    @classmethod
    def in_coordinates(
        cls, X: Matrix, shift: Floats, weight: Floats | None = None, n_jobs: int | None = None
    ) -> LocalRows:
        """Rows relative to a shift that is known already."""
        rows = cls.__new__(cls)
        rows._set(X, shift, weight, n_jobs)
        return rows

    def close(self) -> None:
        """Release the threads."""
        self.threads.close()

    @property
    def dtype(self) -> np.dtype:
        """float32 or float64."""
        return self.X.dtype

    def precision(self, geometry: Geometry) -> DTypeLike:
        """In which costs are computed: float64 if rounding errors would show in the objective."""
        return np.float64 if self.weighted or geometry.is_narrow else self.X.dtype

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return bool(self.weight.size)

    def weight_of(self, rows: Ints) -> Floats:
        """Weights of some rows."""
        return self.weight[rows]

    def prefetch(self, rows: Ints) -> None:
        """Nothing to do: all rows are in memory."""

    def in_memory(self, rows: Ints) -> tuple[LocalRows, Ints]:
        """These rows and the given numbers."""
        return self, rows

    def collect_stats(self, geometry: Geometry) -> None:
        """Give a geometry its statistics of all rows."""
        geometry.set_stats([geometry.block_stats(self.X, self.weight)])

    def sample(self, k: int, rng: RandomState, without: Ints | None = None) -> LocalRows:
        """The rows that starts are drawn from; see `sample_rows`."""
        return self.subset(sample_rows(self.n, self.cells, k, rng, without))

    def subset(self, chosen: Ints) -> LocalRows:
        """Some rows as rows of their own."""
        if len(chosen) == self.n:
            return self
        weight = self.weight[chosen] if self.weighted else None
        return LocalRows.in_coordinates(self.X[chosen], self.shift, weight)

    def _scan_columns(self, centered: bool) -> None:
        """Means, squares about them (or about 0) and the largest value, in one pass.

        With p near the mean m, sum (x - m)^2 = sum (x - p)^2 - a (2 sum (x - p) - W a) for
        a = m - p and the total weight W: the subtraction is small, so few digits are lost.
        """
        pilot = np.zeros(self.d)
        if centered:
            # The mean of about 256 rows is within a tenth of a deviation of that of all.
            pilot = self.X[:: max(1, self.n // 256)].mean(axis=0, dtype=np.float64)
        sums, squares, most = self._column_sums(pilot)
        self._check_range(float(most.max(initial=0)))
        mean = pilot + sums / max(self.total_weight, 1e-300)
        if not centered:
            self._mean, self._totals[False] = mean, squares
            return
        # Kernels subtract the shift in the precision of the data: round it the same way here.
        self.shift = mean.astype(self.X.dtype).astype(np.float64)
        away = self.shift - pilot
        about = squares - away * (2 * sums - self.total_weight * away)
        self._totals[False] = np.maximum(about, 0.0)

    def _column_sums(self, pilot: Floats) -> tuple[Floats, Floats, Floats]:
        """Weighted sums and squares of the columns about a pilot, and their largest values."""

        def work(start: int, stop: int) -> Floats:
            out = np.zeros((3, self.d))
            _core.column_sums(self.X, pilot, self.weight, start, stop, out[0], out[1], out[2])
            return out

        parts = self.threads.map(work)
        sums, squares = np.sum([part[:2] for part in parts], axis=0)
        return sums, squares, np.max([part[2] for part in parts], axis=0)

    def total(self, full: bool = False) -> Floats:
        """Weighted sum of squares (or of products, if `full`) of all rows; computed once."""
        if full not in self._totals:
            self._totals[full] = self._total(full)
        return self._totals[full]

    def total_of(self, inside: Bools, full: bool) -> Floats:
        """The same of some of all rows."""
        weight = inside * self.weight if self.weight.size else inside.astype(np.float64)
        some = LocalRows.in_coordinates(self.X, self.shift, weight)
        try:
            return some.total(full)
        finally:
            some.close()

    def _total(self, full: bool) -> Floats:
        X = self.X
        if is_sparse(X):
            weight = self.weight if self.weight.size else np.ones(self.n)
            return np.asarray(X.multiply(X).T @ weight, dtype=np.float64).ravel()
        if not full:
            return self._column_sums(self.shift)[1]
        total = np.zeros((self.d, self.d))
        for start in range(0, self.n, BLOCK_ROWS):
            block = self._dense(slice(start, start + BLOCK_ROWS))
            weighted = (
                block * self.weight[start : start + BLOCK_ROWS, None] if self.weight.size else block
            )
            total += weighted.T @ block
        return total

    def uncentered_mean(self) -> Floats | None:
        """Mean of the rows; None if `shift` is the mean already."""
        if self.shift.any() and not self.is_sparse:
            return None
        if self._mean is not None:
            return self._mean
        weight = self.weight if self.weight.size else np.ones(self.n)
        return np.asarray(self.X.T @ weight, dtype=np.float64).ravel() / max(
            self.total_weight, 1e-300
        )

    def scale(self, geometry: Geometry) -> None:
        """Divide rows by their lengths under the metric, if the geometry scales rows."""
        self.by_cluster = geometry if geometry.rows_by_cluster else None
        if self.by_cluster is not None:
            self.X = self._unscaled
        elif geometry.scales_rows:
            # The memory is used again: fresh pages would take longer than the work.
            before = None if self.X is self._unscaled else self.X
            self.X = geometry.scaled(self._unscaled, self.threads.map, before)

    def take(self, rows: Ints) -> Floats:
        """Some rows, dense, relative to `shift`, in float64."""
        return self._dense(rows)

    def _dense(self, rows: Ints | slice) -> Floats:
        block = self.X[rows]
        return block.toarray().astype(np.float64) if is_sparse(block) else block - self.shift

    def differences(self, pairs: Ints) -> Matrix:
        """Differences of pairs of rows; sparse if the rows are."""
        i, j = pairs[:, 0], pairs[:, 1]
        if is_sparse(self.X):
            return (self.X[i] - self.X[j]).astype(np.float64)
        return self.take(i) - self.take(j)

    def distances(self, rows: Ints, geometry: Geometry, out: Floats | None = None) -> Floats:
        """Costs of some rows in all clusters, written to `out` if given."""
        out = np.empty((len(rows), geometry.k)) if out is None else out
        if geometry.rows_by_cluster:
            _by_cluster.costs(self.X, geometry, rows, out)
            return out
        if geometry.metrics.ndim == 3:
            return self._mixed_distances(rows, geometry, out)
        X, shift = self.X, self.shift
        if is_sparse(X):
            form = cost_form(geometry)
            self.threads.map(
                lambda a, b: _core.costs_sparse(
                    X.data, X.indices, X.indptr, rows[a:b], form, out[a:b]
                ),
                len(rows),
            )
        else:
            dense = dense_form(geometry, np.float64)
            self.threads.map(
                lambda a, b: _core.costs_dense(X, shift, rows[a:b], *dense, out[a:b]),
                len(rows),
            )
        return out

    def _mixed_distances(self, rows: Ints, geometry: Geometry, out: Floats) -> Floats:
        """Costs under full metrics, which have mixed terms."""
        assert isinstance(geometry, Mahalanobis)
        if geometry.per_cluster:
            form = geometry.factors()
            self.threads.map(
                lambda a, b: _core.costs_mixed(self.X, self.shift, rows[a:b], *form, out[a:b]),
                len(rows),
            )
            return out
        done = 0
        for part in dense_blocks(rows, self.d):
            out[done : done + len(part)] = geometry.distances(self.take(part))
            done += len(part)
        return out

    def own_costs(self, rows: Ints, labels: Labels, geometry: Geometry) -> Floats:
        """Cost of each of some rows in the cluster that it is in."""
        out = np.empty(len(rows))
        if self.is_sparse or geometry.metrics.ndim == 3 or geometry.rows_by_cluster:
            for start in range(0, len(rows), BLOCK_ROWS):
                part = slice(start, start + BLOCK_ROWS)
                costs = self.distances(rows[part], geometry)
                out[part] = costs[np.arange(len(costs)), labels[part]]
            return out
        form, bias, own = dense_form(geometry, np.float64)
        X, shift = self.X, self.shift
        self.threads.map(
            lambda a, b: _core.own_costs_dense(
                X, shift, rows[a:b], labels[a:b], form, bias, own, out[a:b]
            ),
            len(rows),
        )
        return out

    def arrays(self) -> tuple[NDArray, ...]:
        """The data as kernels take it."""
        X = self.X
        return (X.data, X.indices, X.indptr) if is_sparse(X) else (X, self.shift)

    def n_distinct(self) -> int:
        """Number of different rows."""
        X = self._unscaled
        if is_sparse(X):  # different rows have different products with a random vector
            return len(np.unique(X @ np.random.RandomState(0).random_sample(self.d)))
        return len(np.unique(X, axis=0))

    # ---------------------------------------------------------------- extreme rows

    def outermost(self) -> Ints:
        """The rows among which the farthest pair is searched: all if they are few; found once.

        Otherwise the rows with the largest and smallest value of each feature, and the rows
        farthest from the mean when every feature has unit variance.
        """
        if self._outermost is None:
            self._outermost = self._find_outermost()
        return self._outermost

    def _find_outermost(self) -> Ints:
        if self.n <= PAIRED_ROWS:
            return np.arange(self.n)
        if self.is_sparse:
            return np.sort(largest(self.lengths(), np.arange(self.n), PAIRED_ROWS))
        found = self.extremes(np.maximum(self.total(), 1e-300))
        edge = largest(found.norm, np.unique(found.edge), PAIRED_ROWS // 2)
        return np.unique(np.concatenate([found.longest, edge]))

    def lengths(self) -> Floats:
        """Squared length of each sparse row."""
        X = self.X
        assert is_sparse(X)
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()

    def extremes(self, scale: Floats) -> ExtremeRows:
        """Extreme rows when squared features are divided by `scale`."""
        norm = np.empty(self.n)

        def work(start: int, stop: int) -> Ints:
            ends = np.empty((2, self.d), dtype=np.int64)
            _core.outermost(self.X, self.shift, scale, start, stop, norm, ends[0], ends[1])
            return ends

        ends = np.array(self.threads.map(work))  # (parts, 2, d)
        edge, features = np.empty((2, self.d), dtype=np.int64), np.arange(self.d)
        for side, best in enumerate((np.argmin, np.argmax)):
            edge[side] = ends[best(self.X[ends[:, side], features], axis=0), side, features]
        return ExtremeRows(largest(norm, np.arange(self.n), PAIRED_ROWS // 2), edge, norm)

    def new_assignments(self, chosen: Ints) -> LocalAssignments:
        """Assignments in which no row has a cluster yet."""
        return LocalAssignments(self, chosen)

    # ---------------------------------------------------------------- passes over the data

    def assign(
        self, geometry: Geometry, labels: Labels, pinned: Bools, moments: Moments,
        closed: Bools | None = None, bounds: Bounds | None = None,
    ) -> int:  # fmt: skip
        """Assign every row that is not pinned to its cheapest cluster; returns how many moved.

        `closed` clusters accept no row. With `bounds`, rows whose center must still be the
        nearest are skipped.
        """
        if geometry.rows_by_cluster:
            by_cluster: KernelCall = _by_cluster.assign, (self.X, geometry, closed)
            kernel, data = by_cluster
        elif geometry.metrics.ndim == 3 and geometry.per_cluster:
            kernel, data = self._mixed(geometry, closed)
        elif self.is_sparse:
            kernel, data = self._sparse(geometry, closed)
        else:
            kernel, data = self._tiled(geometry, closed)
        rest: tuple[object, ...] = (labels, pinned, self.weight)
        if kernel is _core.assign_dense:
            rest = (*rest, None if bounds is None else bounds.arguments(geometry))

        def work(start: int, stop: int) -> tuple[int, Moments]:
            part = moments.like()
            return kernel(*data, *rest, start, stop, part), part

        parts = self.threads.map(work)
        for _, part in parts:
            moments.add(part)
        return sum(number for number, _ in parts)

    def _tiled(self, geometry: Geometry, closed: Bools | None) -> KernelCall:
        """Dense rows: products of row tiles and centers."""
        forms = geometry.distance_forms()
        assert forms is not None
        dtype = self.precision(geometry)
        form, bias = stacked(forms, dtype)
        if closed is not None:
            bias[closed] = np.inf
        data = (self.X, self.shift.astype(dtype), form, bias)
        return _core.assign_dense, data

    def _sparse(self, geometry: Geometry, closed: Bools | None) -> KernelCall:
        form = cost_form(geometry, self.precision(geometry))
        if closed is not None:
            form.bias[closed] = np.inf
        return _core.assign_sparse, (*self.arrays(), form)

    def _mixed(self, geometry: Geometry, closed: Bools | None) -> KernelCall:
        """Full metrics per cluster have mixed terms."""
        assert isinstance(geometry, Mahalanobis)
        factors, offsets, bias = geometry.factors()
        if closed is not None:
            bias[closed] = np.inf
        return _core.assign_mixed, (self.X, self.shift, factors, offsets, bias)

    def similarity_squares(self, labels: Labels, directions: Floats) -> Floats:
        """Per feature, the sum over rows of (x . direction of its cluster) times x squared."""
        if self.by_cluster is not None:
            return _by_cluster.similarity_squares(
                self.X, self.by_cluster, labels, directions, self.weight
            )
        data = self.arrays() if self.is_sparse else (self.X,)
        kernel: Callable[..., None] = (
            _core.similarity_squares_sparse if self.is_sparse else _core.similarity_squares_dense
        )

        def work(start: int, stop: int) -> Floats:
            out = np.zeros(self.d)
            kernel(*data, labels, directions, self.weight, start, stop, out)
            return out

        return np.sum(self.threads.map(work), axis=0)

    def recount(self, labels: Labels, moments: Moments) -> Moments:
        """The moments of a clustering, summed from scratch; unassigned rows (-1) are left out."""

        def work(start: int, stop: int) -> Moments:
            part, unassigned = moments.like(), np.full(stop - start, -1, dtype=np.int32)
            self.move(np.arange(start, stop), unassigned, labels[start:stop], part)
            return part

        fresh = moments.like()
        for part in self.threads.map(work):
            fresh.add(part)
        return fresh

    def move(self, rows: Ints, old: Labels, new: Labels, moments: Moments) -> None:
        """Move rows between clusters in the moments."""
        if self.by_cluster is not None:
            _by_cluster.move(self.X, self.by_cluster, rows, old, new, self.weight, moments)
            return
        move: Callable[..., None] = _core.move_sparse if self.is_sparse else _core.move_dense
        move(*self.arrays(), rows, old, new, self.weight, moments)


class LocalAssignments:
    """The clusters of rows in memory; `chosen` rows are assigned by the caller (`set_chosen`)."""

    def __init__(self, rows: LocalRows, chosen: Ints, labels: Labels | None = None):
        self.rows, self.chosen = rows, chosen
        self.bounds: Bounds | None = None
        self._labels = np.full(rows.n, -1, dtype=np.int32) if labels is None else labels
        self._pinned = np.zeros(rows.n, dtype=bool)
        self._pinned[chosen] = True
        self.chosen_labels: Labels = self._labels[chosen]  # a contiguous copy

    def assign(
        self, geometry: Geometry, moments: Moments, closed: Bools | None, bounded: bool,
        last: bool = False,
    ) -> int:  # fmt: skip
        """Assign all other rows to their cheapest cluster; returns how many moved."""
        if bounded and self.bounds is None:
            self.bounds = Bounds(self.rows.n, self.rows.precision(geometry))
        return self.rows.assign(
            geometry, self._labels, self._pinned, moments, closed, self.bounds if bounded else None
        )

    def set_chosen(self, new: Labels, moments: Moments) -> int:
        """Assign the chosen rows to given clusters; returns how many moved."""
        moved = np.flatnonzero(self.chosen_labels != new)
        rows = self.chosen[moved]
        self.rows.move(rows, self.chosen_labels[moved], new[moved], moments)
        self._labels[rows] = new[moved]
        self.chosen_labels = new.copy()
        return len(moved)

    def move_one(self, row: int, cluster: int, moments: Moments) -> None:
        """Move one row that is not chosen to a cluster."""
        one, new = np.array([row]), np.array([cluster], dtype=np.int32)
        self.rows.move(one, self._labels[one], new, moments)
        self._labels[row] = cluster
        if self.bounds is not None:
            self.bounds.forget(row)

    def labels(self) -> Labels:
        """Clusters of all rows."""
        return self._labels

    def labels_of(self, rows: Ints) -> Labels:
        """Clusters of some rows."""
        return self.chosen_labels if rows is self.chosen else self._labels[rows]

    def labels_for_report(self, rows: Ints) -> Labels:
        """Clusters of all rows."""
        return self._labels

    def sizes(self, k: int) -> Ints:
        """Number of rows per cluster."""
        return cluster_sizes(self._labels, k)

    def farthest(self, geometry: Geometry, sizes: Ints) -> tuple[int, int, float]:
        """The row farthest from its center, its cluster and its cost; row -1 if there is none.

        Chosen rows and rows that are alone in their cluster are skipped.
        """
        best, reach = -1, 0.0
        free = np.flatnonzero(~self._pinned)
        free = free[sizes[self._labels[free]] > 1]
        for start in range(0, len(free), BLOCK_ROWS):
            part = free[start : start + BLOCK_ROWS]
            clusters = self._labels[part]
            own = self.rows.own_costs(part, clusters, geometry)
            own += geometry.offsets()[clusters]
            own += geometry.row_terms(self.rows.X[part])
            if len(own) and own.max() > reach:
                best, reach = int(part[own.argmax()]), float(own.max())
        return best, int(self._labels[best]) if best >= 0 else -1, reach

    def recount(self, moments: Moments) -> Moments:
        """The moments of the clustering, summed from scratch."""
        return self.rows.recount(self._labels, moments)

    def similarity_squares(self, directions: Floats) -> Floats:
        """Per feature, the sum over rows of (x . direction of its cluster) times x squared."""
        return self.rows.similarity_squares(self._labels, directions)


def cost_form(geometry: Geometry, dtype: DTypeLike = np.float64) -> CostForm:
    """Costs without mixed terms, as kernels take them."""
    forms, own = geometry.forms(), geometry.own()
    assert forms is not None
    slope, curve, bias = (np.array(part, dtype=dtype, order="C") for part in forms)
    return CostForm(slope, curve, bias, own.astype(dtype))


def dense_form(
    geometry: Geometry, dtype: DTypeLike = np.float64
) -> tuple[NDArray, NDArray, NDArray]:
    """Costs without mixed terms as dense kernels take them: form, bias, own."""
    forms, own = geometry.forms(), geometry.own()
    assert forms is not None
    return *stacked(forms, dtype), own.astype(dtype)


def stacked(forms: tuple[NDArray, NDArray, NDArray], dtype: DTypeLike) -> tuple[NDArray, NDArray]:
    """Slope and curve side by side, one row per cluster, and bias."""
    slope, curve, bias = forms
    form = np.concatenate([slope, curve]) if curve.size else slope
    return np.ascontiguousarray(form.T, dtype=dtype), np.array(bias, dtype=dtype)


def sample_rows(n: int, cells: int, k: int, rng: RandomState, without: Ints | None = None) -> Ints:
    """Numbers of the rows among which starts are drawn: all, or a random sample of very many.

    The draw depends on sizes and seed only: local and remote rows give the same sample, and so the
    same fit.
    """
    size = max(min(_SAMPLE, DENSE_CELLS // cells), _SAMPLE_LEAST * k)
    if n <= size:
        chosen = np.arange(n)
    else:
        chosen = np.sort(sample_without_replacement(n, size, random_state=rng)).astype(np.int64)
    return chosen if without is None else np.setdiff1d(chosen, without, assume_unique=True)


def check_total_weight(total: float) -> None:
    """Refuse rows that all have weight zero."""
    if total <= 0:
        raise ValueError("sample_weight is zero for all rows; at least one must be positive")


def largest(values: Floats, among: Ints, number: int) -> Ints:
    """The `number` positions among the given ones that have the largest values."""
    if len(among) <= number:
        return among
    return among[np.argpartition(-values[among], number)[:number]]
