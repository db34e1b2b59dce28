"""The rows of the data, dense or sparse, behind one set of calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from linkwise.engines import Threads
from linkwise.geometry import Mahalanobis, Moments

from . import _kernels

Ints = NDArray[np.int64]
_BLOCK = 8192


class Bounds:
    """What is known about the distance of each row to its own and to all other centres."""

    def __init__(self, n_rows: int, dtype: Any):
        self.upper = np.full(n_rows, np.inf, dtype=dtype)
        self.lower = np.zeros(n_rows, dtype=dtype)
        self._centers: NDArray | None = None

    def drift(self, centers: NDArray) -> tuple[NDArray, float, float, int]:
        """How far each centre has moved since the last call; the largest, the next, and whose."""
        before = centers if self._centers is None else self._centers
        self._centers = centers.copy()
        drift = np.sqrt(((centers - before) ** 2).sum(axis=1)) * (1 + 1e-6)
        order = np.argsort(drift)
        second = drift[order[-2]] if len(order) > 1 else 0.0
        return (
            drift.astype(self.upper.dtype),
            float(drift[order[-1]]),
            float(second),
            int(order[-1]),
        )

    def forget(self, row: int) -> None:
        """The row was moved by other means."""
        self.upper[row] = np.inf


class Rows:
    """Data rows and their weights; knows how to assign them to the nearest cluster.

    Dense rows are looked at relative to their mean, which keeps sums of squares accurate however
    far from the origin the data lies; the data itself is not copied. Sparse rows stay where they
    are, so that zeros stay zeros.
    """

    def __init__(self, X: Any, sample_weight: NDArray | None = None):
        self.X = X
        self.n, self.d = X.shape
        self.is_sparse = sparse.issparse(X)
        self.weight = np.zeros(0) if sample_weight is None else np.asarray(sample_weight, float)
        self.total_weight = float(self.weight.sum()) if self.weight.size else float(self.n)
        self.shift = np.zeros(self.d) if self.is_sparse else self._mean()
        self._totals: dict[bool, NDArray] = {}
        per_row = X.nnz // max(self.n, 1) if self.is_sparse else self.d
        self.threads = Threads(self.n, max(per_row, 1) * 4)

    def _mean(self) -> NDArray:
        if self.weight.size:
            return self.weight @ self.X / self.total_weight
        return self.X.mean(axis=0, dtype=np.float64)

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
        total = np.zeros((self.d, self.d) if full else self.d)
        for start in range(0, self.n, _BLOCK):
            block = self.take(slice(start, start + _BLOCK))
            weighted = (
                block * self.weight[start : start + _BLOCK, None] if self.weight.size else block
            )
            total += weighted.T @ block if full else np.einsum("ij,ij->j", weighted, block)
        return total

    def offset(self) -> NDArray | None:
        """Mean of the rows where they are not looked at relative to it, else None."""
        if not self.is_sparse:
            return None
        weight = self.weight if self.weight.size else np.ones(self.n)
        return np.asarray(self.X.T @ weight, dtype=float).ravel() / max(self.total_weight, 1e-300)

    def take(self, rows: Any) -> NDArray[np.float64]:
        """Chosen rows, dense, relative to the mean, in float64."""
        block = self.X[rows]
        return (block.toarray() if self.is_sparse else block) - self.shift

    def blocks(self, rows: Ints) -> list[Ints]:
        """Row numbers in pieces small enough to make dense."""
        size = max(1, 4_000_000 // max(self.d, 1))
        return [rows[start : start + size] for start in range(0, len(rows), size)]

    def distances(self, rows: Ints, geometry: Mahalanobis) -> NDArray[np.float64]:
        """Costs of chosen rows in all clusters."""
        if self.is_sparse:
            return self._sparse_distances(rows, geometry)
        if not len(rows):
            return np.zeros((0, geometry.k))
        return np.concatenate([geometry.distances(self.take(part)) for part in self.blocks(rows)])

    def _sparse_distances(self, rows: Ints, geometry: Mahalanobis) -> NDArray[np.float64]:
        forms = geometry.forms()
        assert forms is not None
        slope, curve, bias = forms
        X = self.X[rows]
        squared = X.multiply(X)
        cost = np.asarray(X @ slope) + bias
        own = squared @ (curve if curve.size else geometry.metrics.T)
        return np.asarray(cost + own, dtype=np.float64)

    # ---------------------------------------------------------------- passes over the data

    def assign(
        self,
        geometry: Mahalanobis,
        labels: NDArray[np.int32],
        pinned: NDArray,
        moments: Moments,
        closed: NDArray[np.bool_] | None = None,
        bounds: Bounds | None = None,
    ) -> int:
        """Put every row that is not pinned into its cheapest cluster; returns how many moved.

        `closed` clusters take no row. With `bounds`, rows that cannot have a nearer centre are
        passed over.
        """
        forms = geometry.forms()
        if forms is None:
            work = self._assign_by_blocks(geometry, labels, pinned, moments)
        else:
            slope, curve, bias = (form.astype(self.X.dtype) for form in forms)
            if closed is not None:
                bias[closed] = np.inf
            if bounds is None:
                work = self._assign_by_kernel(slope, curve, bias, labels, pinned, moments)
            else:
                drift = bounds.drift(geometry.centers)
                work = self._assign_by_bounds(slope, bias, labels, pinned, moments, bounds, drift)
        moved = 0
        for number, part in self.threads.map(work):
            moved += number
            moments.add(part)
        return moved

    def _assign_by_kernel(
        self,
        slope: NDArray,
        curve: NDArray,
        bias: NDArray,
        labels: NDArray[np.int32],
        pinned: NDArray,
        moments: Moments,
    ) -> Callable[[int, int], tuple[int, Moments]]:
        shift = self.shift.astype(self.X.dtype)

        def work(start: int, stop: int) -> tuple[int, Moments]:
            part = moments.like()
            end = (labels, pinned, self.weight, start, stop, part.counts, part.sums, part.squares)
            if self.is_sparse:
                arrays = (self.X.data, self.X.indices, self.X.indptr)
                return _kernels.assign_sparse(*arrays, slope, curve, bias, *end), part
            return _kernels.assign_dense(self.X, shift, slope, curve, bias, *end), part

        return work

    def _assign_by_bounds(
        self,
        slope: NDArray,
        bias: NDArray,
        labels: NDArray[np.int32],
        pinned: NDArray,
        moments: Moments,
        bounds: Bounds,
        drift: tuple[NDArray, float, float, int],
    ) -> Callable[[int, int], tuple[int, Moments]]:
        shift = self.shift.astype(self.X.dtype)
        margin = 32.0 * float(np.finfo(self.X.dtype).eps)
        middle = (bounds.upper, bounds.lower, *drift, margin)

        def work(start: int, stop: int) -> tuple[int, Moments]:
            part = moments.like()
            moved = _kernels.assign_bounded(
                self.X, shift, slope, bias, labels, pinned, self.weight, *middle, start, stop,
                part.counts, part.sums, part.squares,
            )  # fmt: skip
            return moved, part

        return work

    def _assign_by_blocks(
        self,
        geometry: Mahalanobis,
        labels: NDArray[np.int32],
        pinned: NDArray,
        moments: Moments,
    ) -> Callable[[int, int], tuple[int, Moments]]:
        def work(start: int, stop: int) -> tuple[int, Moments]:
            part, moved = moments.like(), 0
            for first in range(start, stop, _BLOCK):
                rows = np.arange(first, min(first + _BLOCK, stop))
                rows = rows[~pinned[rows]]
                best = geometry.distances(self.take(rows)).argmin(axis=1).astype(np.int32)
                moved += int((labels[rows] != best).sum())
                self.move(rows, labels[rows], best, part)
                labels[rows] = best
            return moved, part

        return work

    def move(
        self, rows: Ints, old: NDArray[np.int32], new: NDArray[np.int32], moments: Moments
    ) -> None:
        """Move rows between clusters in the moments."""
        end = (rows, old, new, self.weight, moments.counts, moments.sums, moments.squares)
        if self.is_sparse:
            _kernels.move_sparse(self.X.data, self.X.indices, self.X.indptr, *end)
        else:
            _kernels.move_dense(self.X, self.shift, *end)
