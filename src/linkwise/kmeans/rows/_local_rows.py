"""The rows of the data, dense or sparse, behind one set of calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.random import sample_without_replacement

from linkwise.engines import Threads, single_blas_thread
from linkwise.geometry import Geometry, Mahalanobis, Moments
from linkwise.kmeans.kernels import _dense_kernels
from linkwise.kmeans.kernels import _row_kernels as _kernels

Ints = NDArray[np.int64]
_BLOCK = 8192
_WORK = 4  # operations a number is worth, roughly
_PILOT = 256  # rows whose mean stands in for that of all while sums are taken
OUTERMOST = 500  # rows among which the farthest pair is looked for
_SAMPLE = 2**17  # rows among which starts are drawn, at most
_SAMPLE_CELLS = 2**23  # and numbers in them
_SAMPLE_LEAST = 100  # rows for each cluster, even so
NO_CHANGE = (1.0, 1.0, np.zeros(0), 0.0, 0.0, 0)  # what `Bounds.loosen` tells of no bounds
_UP = 1 + 1e-6  # rounds bounds away from where they could be wrong


def rounding_margin(n_features: int, dtype: Any) -> float:
    """Relative rounding error of a squared distance, generously."""
    return max(32.0, 2.0 * n_features**0.5) * float(np.finfo(dtype).eps)


class Bounds:
    """What is known about the distance of each row to its own and to all other centers."""

    def __init__(self, n_rows: int, dtype: Any):
        self.upper = np.full(n_rows, np.inf, dtype=dtype)
        self.lower = np.zeros(n_rows, dtype=dtype)
        self._centers: NDArray | None = None
        self._metric: NDArray | None = None

    def loosen(self, geometry: Geometry) -> tuple[float, float, NDArray, float, float, int]:
        """By how much bounds must give since the last call.

        The most that a change of the (diagonal, shared) metric stretches and shrinks a distance;
        how far each center has moved; the longest way, the next, and which center went it.
        """
        centers, metric = geometry.centers, geometry.metrics[0]
        before = centers if self._centers is None else self._centers
        change = np.ones(1) if self._metric is None else metric / self._metric
        self._centers, self._metric = centers.copy(), metric.copy()
        drift = np.sqrt(((centers - before) ** 2 * metric).sum(axis=1)) * _UP
        second, which = np.argsort(drift)[-2:]
        return (
            float(np.sqrt(change.max())) * _UP,
            float(np.sqrt(change.min())) / _UP,
            drift.astype(self.upper.dtype),
            float(drift[which]),
            float(drift[second]),
            int(which),
        )

    def known(self, geometry: Geometry) -> tuple[Any, ...]:
        """What `assign_dense` takes: metric, centers, margin, changes, upper and lower bounds."""
        dtype, d = self.upper.dtype, geometry.centers.shape[1]
        if not self.upper.size:
            own, centers = np.zeros(0, dtype), np.zeros((0, 0), dtype)
            change = (*NO_CHANGE[:2], np.zeros(0, dtype), *NO_CHANGE[3:])
        else:
            own, centers = geometry.metrics[0].astype(dtype), geometry.centers.astype(dtype)
            change = self.loosen(geometry)
        return own, centers, rounding_margin(d, dtype), change, self.upper, self.lower

    def copy(self) -> Bounds:
        """Bounds that may change while these stay."""
        twin = Bounds.__new__(Bounds)
        twin.upper, twin.lower = self.upper.copy(), self.lower.copy()
        twin._centers, twin._metric = self._centers, self._metric
        return twin

    def forget(self, row: int) -> None:
        """The row was moved by other means."""
        self.upper[row], self.lower[row] = np.inf, 0.0


class Rows:
    """Data rows and their weights; knows how to assign them to the nearest cluster.

    Dense rows are looked at relative to their mean, which keeps sums of squares accurate however
    far from the origin the data lies; the data itself is not copied. Sparse rows stay where they
    are, so that zeros stay zeros, and so do others unless they are `centered`.
    """

    def __init__(
        self, X: Any, sample_weight: NDArray | None = None, *, centered: bool = True,
        n_jobs: int | None = None, part: bool = False,
    ):  # fmt: skip
        self.X = self._given = X
        self.n, self.d = X.shape
        self.is_sparse = sparse.issparse(X)
        self.weight = np.zeros(0) if sample_weight is None else np.asarray(sample_weight, float)
        self.total_weight = float(self.weight.sum()) if self.weight.size else float(self.n)
        if self.weight.size and not part:
            check_total_weight(self.total_weight)
        self.cells = _cells(X)
        self.threads = Threads(self.n, _WORK * self.cells, n_jobs)
        self._totals: dict[bool, NDArray] = {}
        self._mean: NDArray | None = None  # of rows that are not centered
        self._outermost: Ints | None = None
        self.shift = np.zeros(self.d)
        self._is_part = part  # of rows that may be larger elsewhere
        self.largest = 0.0
        if self.is_sparse:
            self._check_range(float(np.abs(X.data).max(initial=0)))
        else:
            self._look_at_columns(centered)

    def _check_range(self, largest: float) -> None:
        self.largest = largest
        check_range(largest, self.X.dtype, vanishing=not self._is_part)

    @classmethod
    def in_coordinates(
        cls, X: Any, shift: NDArray, weight: NDArray | None = None, n_jobs: int | None = None
    ) -> Rows:
        """Other rows, relative to a mean that is known already."""
        rows = cls.__new__(cls)
        rows.X = rows._given = X
        rows.shift, rows.weight = shift, np.zeros(0) if weight is None else weight
        rows.n, rows.d = X.shape
        rows.is_sparse = sparse.issparse(X)
        rows.cells = _cells(X)
        rows.threads = Threads(rows.n, _WORK * rows.cells, n_jobs)
        rows._totals, rows._outermost, rows._mean = {}, None, None
        return rows

    def close(self) -> None:
        """Let the threads go."""
        self.threads.close()

    @property
    def dtype(self) -> Any:
        """The precision of the data."""
        return self.X.dtype

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return bool(self.weight.size)

    def weight_of(self, rows: Any) -> NDArray[np.float64]:
        """Weights of some rows."""
        return self.weight[rows]

    def gather(self, rows: Ints) -> None:
        """Have these rows at hand: they are."""

    def show(self, geometry: Geometry) -> None:
        """Let a geometry take in what it must know about all rows."""
        geometry.set_stats([geometry.block_stats(self.X, self.weight)])

    def sample(self, k: int, rng: Any, without: Ints | None = None) -> Rows:
        """Some rows to draw starts from: all, or a random part of very many; see `sample_rows`."""
        chosen = sample_rows(self.n, self.cells, k, rng, without)
        if len(chosen) == self.n:
            return self
        weight = self.weight[chosen] if self.weighted else None
        return Rows.in_coordinates(self.X[chosen], self.shift, weight)

    def _look_at_columns(self, centered: bool) -> None:
        """Means, squares about them (or about zero) and the largest value, in one pass.

        Sums are taken about a pilot close to the mean, so that few digits are lost.
        """
        pilot = np.zeros(self.d)
        if centered:
            pilot = self.X[:: max(1, self.n // _PILOT)].mean(axis=0, dtype=np.float64)
        sums, squares, most = self._column_sums(pilot)
        self._check_range(float(most.max(initial=0)))
        mean = pilot + sums / max(self.total_weight, 1e-300)
        if not centered:
            self._mean, self._totals[False] = mean, squares
            return
        # Kernels work in the precision of the data: they must take off the very same number.
        self.shift = mean.astype(self.X.dtype).astype(np.float64)
        away = self.shift - pilot
        about = squares - away * (2 * sums - self.total_weight * away)
        self._totals[False] = np.maximum(about, 0.0)

    def _column_sums(self, pilot: NDArray) -> tuple[NDArray, NDArray, NDArray]:
        """Weighted sums and squares of the columns about a pilot, and their largest values."""

        def work(start: int, stop: int) -> NDArray:
            out = np.zeros((3, self.d))
            _kernels.column_sums(self.X, pilot, self.weight, start, stop, out[0], out[1], out[2])
            return out

        parts = self.threads.map(work)
        sums, squares = np.sum([part[:2] for part in parts], axis=0)
        return sums, squares, np.max([part[2] for part in parts], axis=0)

    def total(self, full: bool = False) -> NDArray:
        """Weighted sum of squares (or of products, if `full`) of all rows; taken once."""
        if full not in self._totals:
            self._totals[full] = self._total(full)
        return self._totals[full]

    def _total(self, full: bool) -> NDArray:
        if self.is_sparse:
            squared = self.X.multiply(self.X)
            weight = self.weight if self.weight.size else np.ones(self.n)
            return np.asarray(squared.T @ weight, dtype=float).ravel()
        if not full:
            return self._column_sums(self.shift)[1]
        total = np.zeros((self.d, self.d))
        for start in range(0, self.n, _BLOCK):
            block = self.take(slice(start, start + _BLOCK))
            weighted = (
                block * self.weight[start : start + _BLOCK, None] if self.weight.size else block
            )
            total += weighted.T @ block
        return total

    def offset(self) -> NDArray | None:
        """Mean of the rows where they are not looked at relative to it, else None."""
        if self.shift.any():
            return None
        if self._mean is not None:
            return self._mean
        weight = self.weight if self.weight.size else np.ones(self.n)
        return np.asarray(self.X.T @ weight, dtype=float).ravel() / max(self.total_weight, 1e-300)

    def scale(self, geometry: Geometry) -> None:
        """Divide the rows by their lengths under the geometry's metric, where it asks for that."""
        if geometry.scales_rows:
            # Memory is used again: fresh pages would take longer than the work.
            before = None if self.X is self._given else self.X
            self.X = geometry.scaled(self._given, self.threads.map, before)

    def take(self, rows: Any) -> NDArray[np.float64]:
        """Chosen rows, dense, relative to the mean, in float64."""
        block = self.X[rows]
        return (block.toarray() if self.is_sparse else block) - self.shift

    def differences(self, pairs: Ints) -> Any:
        """Differences of pairs of rows; sparse if the rows are."""
        i, j = pairs[:, 0], pairs[:, 1]
        if self.is_sparse:
            return (self.X[i] - self.X[j]).astype(np.float64)
        return self.take(i) - self.take(j)

    def blocks(self, rows: Ints) -> list[Ints]:
        """Row numbers in pieces small enough to make dense."""
        size = max(1, 4_000_000 // self.d)
        return [rows[start : start + size] for start in range(0, len(rows), size)]

    def distances(
        self, rows: Ints, geometry: Geometry, out: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Costs of chosen rows in all clusters, in `out` if there is one at hand."""
        out = np.empty((len(rows), geometry.k)) if out is None else out
        if geometry.metrics.ndim == 3:
            return self._mixed_distances(rows, geometry, out)
        form: tuple[Any, ...] = dense_form(geometry, np.float64)
        data, kernel = self.arrays(), _dense_kernels.costs_dense
        if self.is_sparse:
            kernel, form = _kernels.costs_sparse, sparse_form(geometry, np.float64)
        with single_blas_thread():
            self.threads.map(lambda a, b: kernel(*data, rows[a:b], *form, out[a:b]), len(rows))
        return out

    def _mixed_distances(
        self, rows: Ints, geometry: Geometry, out: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Costs under full metrics, which have mixed terms."""
        assert isinstance(geometry, Mahalanobis)
        if geometry.per_cluster:
            form = geometry.factors()
            with single_blas_thread():
                self.threads.map(
                    lambda a, b: _dense_kernels.costs_mixed(
                        self.X, self.shift, rows[a:b], *form, out[a:b]
                    ),
                    len(rows),
                )
            return out
        done = 0
        for part in self.blocks(rows):
            out[done : done + len(part)] = geometry.distances(self.take(part))
            done += len(part)
        return out

    def own_costs(
        self, rows: Ints, labels: NDArray[np.int32], geometry: Geometry
    ) -> NDArray[np.float64]:
        """Cost of each chosen row in the cluster that it is in."""
        if self.is_sparse or geometry.metrics.ndim == 3:
            out = np.empty(len(rows))
            for part in np.array_split(np.arange(len(rows)), max(1, len(rows) // _BLOCK)):
                costs = self.distances(rows[part], geometry)
                out[part] = costs[np.arange(len(part)), labels[part]]
            return out
        form, bias, own, log_det = dense_form(geometry, np.float64)
        data, out = self.arrays(), np.empty(len(rows))
        self.threads.map(
            lambda a, b: _dense_kernels.own_costs_dense(
                *data, rows[a:b], labels[a:b], form, bias, own, out[a:b]
            ),
            len(rows),
        )
        return out - log_det

    def arrays(self) -> tuple[NDArray, ...]:
        """The data as kernels take it."""
        X = self.X
        return (X.data, X.indices, X.indptr) if self.is_sparse else (X, self.shift)

    def at_hand(self, rows: Ints) -> tuple[Rows, Ints]:
        """Rows in memory that hold the given ones, and where."""
        return self, rows

    def outermost(self) -> Ints:
        """Rows among which the farthest pair is looked for: all if they are few; found once.

        Else those with the largest and smallest values of each feature, and those farthest from
        the mean when every feature counts alike.
        """
        if self._outermost is None:
            self._outermost = self._find_outermost()
        return self._outermost

    def _find_outermost(self) -> Ints:
        if self.n <= OUTERMOST:
            return np.arange(self.n)
        if self.is_sparse:
            return np.sort(largest(self.lengths(), np.arange(self.n), OUTERMOST))
        outer, edge, norm = self.ends(np.maximum(self.total(), 1e-300))
        return np.unique(np.concatenate([outer, largest(norm, np.unique(edge), OUTERMOST // 2)]))

    def lengths(self) -> NDArray[np.float64]:
        """Squared length of each sparse row."""
        return np.asarray(self.X.multiply(self.X).sum(axis=1)).ravel()

    def ends(self, scale: NDArray) -> tuple[Ints, Ints, NDArray[np.float64]]:
        """The longest rows when features are divided by `scale`; lowest and highest; lengths.

        The second is (2, d): the rows in which each feature is least and most.
        """
        norm = np.empty(self.n)

        def work(start: int, stop: int) -> Ints:
            ends = np.empty((2, self.d), dtype=np.int64)
            _kernels.outermost(self.X, self.shift, scale, start, stop, norm, ends[0], ends[1])
            return ends

        ends = np.array(self.threads.map(work))  # (parts, 2, d)
        edge, features = np.empty((2, self.d), dtype=np.int64), np.arange(self.d)
        for side, best in enumerate((np.argmin, np.argmax)):
            edge[side] = ends[best(self.X[ends[:, side], features], axis=0), side, features]
        number = OUTERMOST // 2
        return largest(norm, np.arange(self.n), number), edge, norm

    def places(self, chosen: Ints) -> Any:
        """Nowhere yet; `chosen` rows will be placed by other means."""
        from ._assignments import Assignments

        return Assignments(self, chosen)

    # ---------------------------------------------------------------- passes over the data

    def assign(
        self,
        geometry: Geometry,
        labels: NDArray[np.int32],
        pinned: NDArray,
        moments: Moments,
        closed: NDArray[np.bool_] | None = None,
        bounds: Bounds | None = None,
    ) -> int:
        """Put every row that is not pinned into its cheapest cluster; returns how many moved.

        `closed` clusters take no row. With `bounds`, rows that cannot have a nearer center are
        passed over.
        """
        if geometry.metrics.ndim == 3 and geometry.per_cluster:
            work = self._assign_mixed(geometry, labels, pinned, moments, closed)
        elif self.is_sparse:
            work = self._assign_sparse(geometry, labels, pinned, moments, closed)
        else:
            work = self._assign_dense(geometry, labels, pinned, moments, closed, bounds)
        moved = 0
        with single_blas_thread():
            parts = self.threads.map(work)
        for number, part in parts:
            moved += number
            moments.add(part)
        return moved

    def _assign_sparse(
        self, geometry: Geometry, labels: NDArray[np.int32], pinned: NDArray, moments: Moments,
        closed: NDArray[np.bool_] | None,
    ) -> Callable[[int, int], tuple[int, Moments]]:  # fmt: skip
        slope, curve, bias, *_ = sparse_form(geometry, self.X.dtype)
        if closed is not None:
            bias[closed] = np.inf

        def work(start: int, stop: int) -> tuple[int, Moments]:
            part = moments.like()
            end = (labels, pinned, self.weight, start, stop, part.counts, part.sums, part.squares)
            return _kernels.assign_sparse(*self.arrays(), slope, curve, bias, *end), part

        return work

    def _assign_dense(
        self, geometry: Geometry, labels: NDArray[np.int32], pinned: NDArray, moments: Moments,
        closed: NDArray[np.bool_] | None, bounds: Bounds | None,
    ) -> Callable[[int, int], tuple[int, Moments]]:  # fmt: skip
        dtype = self.X.dtype
        forms = geometry.distance_forms()
        assert forms is not None
        form, bias = stacked(forms, dtype)
        if closed is not None:
            bias[closed] = np.inf
        shift = self.shift.astype(dtype)
        known = (Bounds(0, dtype) if bounds is None else bounds).known(geometry)

        def work(start: int, stop: int) -> tuple[int, Moments]:
            part = moments.like()
            moved = _dense_kernels.assign_dense(
                self.X, shift, form, bias, labels, pinned, self.weight, *known, start, stop,
                part.counts, part.sums, part.squares,
            )  # fmt: skip
            return moved, part

        return work

    def _assign_mixed(
        self, geometry: Geometry, labels: NDArray[np.int32], pinned: NDArray, moments: Moments,
        closed: NDArray[np.bool_] | None,
    ) -> Callable[[int, int], tuple[int, Moments]]:  # fmt: skip
        assert isinstance(geometry, Mahalanobis)
        factors, offsets, bias = geometry.factors()
        if closed is not None:
            bias[closed] = np.inf

        def work(start: int, stop: int) -> tuple[int, Moments]:
            part = moments.like()
            moved = _dense_kernels.assign_mixed(
                self.X, self.shift, factors, offsets, bias, labels, pinned, self.weight, start,
                stop, part.counts, part.sums, part.squares,
            )  # fmt: skip
            return moved, part

        return work

    def similarity_squares(self, labels: NDArray[np.int32], directions: NDArray) -> NDArray:
        """Sum over the rows of (x . direction of its cluster) times squares of x, by feature."""

        def work(start: int, stop: int) -> NDArray:
            end = (labels, directions, self.weight, start, stop, np.zeros(self.d))
            if self.is_sparse:
                _kernels.similarity_squares_sparse(*self.arrays(), *end)
            else:
                _kernels.similarity_squares_dense(self.X, *end)
            return end[-1]

        return np.sum(self.threads.map(work), axis=0)

    def recount(self, labels: NDArray[np.int32], moments: Moments) -> Moments:
        """The moments of a clustering, taken afresh; rows in no cluster (-1) do not count."""

        def work(start: int, stop: int) -> Moments:
            part, nowhere = moments.like(), np.full(stop - start, -1, dtype=np.int32)
            self.move(np.arange(start, stop), nowhere, labels[start:stop], part)
            return part

        fresh = moments.like()
        for part in self.threads.map(work):
            fresh.add(part)
        return fresh

    def move(
        self, rows: Ints, old: NDArray[np.int32], new: NDArray[np.int32], moments: Moments
    ) -> None:
        """Move rows between clusters in the moments."""
        end = (rows, old, new, self.weight, moments.counts, moments.sums, moments.squares)
        move = _kernels.move_sparse if self.is_sparse else _kernels.move_dense
        move(*self.arrays(), *end)


def sparse_form(geometry: Geometry, dtype: Any) -> tuple[NDArray, NDArray, NDArray, NDArray, float]:
    """Costs without mixed terms as sparse kernels take them: slope, curve, bias, own, log_det."""
    forms, own = geometry.forms(), geometry.own()
    assert forms is not None
    slope, curve, bias = (np.array(form, dtype=dtype, order="C") for form in forms)
    return slope, curve, bias, own, _shared_log_det(geometry)


def dense_form(geometry: Geometry, dtype: Any) -> tuple[NDArray, NDArray, NDArray, float]:
    """Costs without mixed terms as `_dense_kernels` take them: form, bias, own, log_det."""
    return (
        *stacked(geometry.forms(), dtype),
        geometry.own().astype(dtype),
        _shared_log_det(geometry),
    )


def _shared_log_det(geometry: Geometry) -> float:
    """What `forms` leave out because it is the same in all clusters."""
    return float(geometry.log_det[0]) if geometry.own().size else 0.0


def stacked(forms: Any, dtype: Any) -> tuple[NDArray, NDArray]:
    """Slope and curve side by side, one line for each cluster, and bias."""
    slope, curve, bias = forms
    form = np.concatenate([slope, curve]) if curve.size else slope
    return np.ascontiguousarray(form.T, dtype=dtype), np.array(bias, dtype=dtype)


def sample_rows(n: int, cells: int, k: int, rng: Any, without: Ints | None = None) -> Ints:
    """Numbers of the rows among which starts are drawn: all, or some of very many, at random.

    The same rows come out wherever they live, so that a fit does not depend on it.
    """
    size = max(min(_SAMPLE, _SAMPLE_CELLS // cells), _SAMPLE_LEAST * k)
    if n <= size:
        chosen = np.arange(n)
    else:
        chosen = np.sort(sample_without_replacement(n, size, random_state=rng)).astype(np.int64)
    return chosen if without is None else np.setdiff1d(chosen, without, assume_unique=True)


def check_total_weight(total: float) -> None:
    """Refuse rows of which none counts."""
    if total <= 0:
        raise ValueError("sample_weight is zero for all rows; some row must count")


def check_range(largest: float, dtype: Any, vanishing: bool = True) -> None:
    """Squares must neither overflow nor (if asked) vanish."""
    low, high = (1e-16, 1e16) if dtype == np.float32 else (1e-140, 1e140)
    if largest and not (low if vanishing else 0.0) <= largest <= high:
        raise ValueError(
            f"the largest value in X is {largest:.3g} in size; squares of it overflow or vanish in "
            f"{dtype}, whose limits here are {low:.0e} and {high:.0e}: rescale the features "
            "(StandardScaler)"
        )


def _cells(X: Any) -> int:
    """Numbers in a row, in the mean."""
    return max(X.nnz // max(X.shape[0], 1) if sparse.issparse(X) else X.shape[1], 1)


def largest(values: NDArray, among: Ints, number: int) -> Ints:
    """Which of the chosen have the largest values."""
    if len(among) <= number:
        return among
    return among[np.argpartition(-values[among], number)[:number]]
