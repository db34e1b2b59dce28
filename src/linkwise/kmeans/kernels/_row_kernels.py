"""Compiled loops over data rows; nothing else.

No validation, no classes: arguments are arrays the caller owns, or named tuples of arrays. Every
kernel releases the GIL and none uses numba's own threads (its default layer aborts when two threads
enter); callers split rows among threads. Costs have the form

    cost[c] = bias[c] + sum_f x_f (slope[f, c] + curve[f, c] x_f)

up to a term that is the same for all clusters. This covers the squared Euclidean distance, any
diagonal Mahalanobis distance, any full one that all clusters share, the cosine distance of rows of
length one and Bregman divergences up to a term of the row. Only full metrics per cluster have mixed
terms and go through BLAS instead.

Dense kernels transpose tiles of rows so that the inner loop runs over rows and vectorizes: `cost`
has one entry per row of the tile, and a feature's coefficients are scalars.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwise._compiled import kernel


class CostForm(NamedTuple):
    """Coefficients of the costs.

    `own` completes the cost with the term that all clusters share: sum_f own[f] x_f^2.
    """

    slope: NDArray  # (d, k)
    curve: NDArray  # (d, k), or (0, 0) if costs are linear
    bias: NDArray  # (k,)
    own: NDArray  # (d,), or (0,) if there is no shared term


class Drift(NamedTuple):
    """How much Hamerly's bounds must be loosened after an update."""

    stretch: float  # the most by which the new metric lengthens a distance
    shrink: float  # the most by which it shortens one
    moved: NDArray  # (k,): distance that each center moved
    most: float  # largest of `moved`
    second: float  # second largest
    which: int  # the center that moved most


class RowBounds(NamedTuple):
    """Hamerly's bounds on the distances of rows, and what they are loosened and tightened by."""

    own: NDArray  # (d,): the shared diagonal metric
    centers: NDArray  # (k, d)
    margin: float  # relative rounding error of a squared distance
    drift: Drift
    upper: NDArray  # (n,): at least the distance to the own center
    lower: NDArray  # (n,): at most that to any other


# -------------------------------------------------------------------- dense rows


@kernel
def outermost(X, shift, scale, start, stop, norm, low, high):
    """Squared length of each row with features divided by their scale; extremes per feature.

    OUT     norm (n,); low, high (d,): rows with the smallest and the largest value
    """
    n_features = X.shape[1]
    low[:] = start
    high[:] = start
    for i in range(start, stop):
        total = 0.0
        for f in range(n_features):
            away = X[i, f] - shift[f]
            total += away * away / scale[f]
            if X[i, f] < X[low[f], f]:
                low[f] = i
            if X[i, f] > X[high[f], f]:
                high[f] = i
        norm[i] = total


@kernel
def column_sums(X, pilot, weight, start, stop, sums, squares, most):
    """Add to the weighted sums and squares of the columns about a pilot.

    OUT     sums, squares, most (d,): the last is the largest |x| of each column
    """
    n_features = X.shape[1]
    for i in range(start, stop):
        w = weight[i] if weight.size else 1.0
        for f in range(n_features):
            size = abs(np.float64(X[i, f]))
            most[f] = size if size > most[f] else most[f]
            away = X[i, f] - pilot[f]
            sums[f] += w * away
            squares[f] += w * away * away


@kernel
def _move_dense(x, w, old, new, moments):
    """Move one row from a cluster (or none, -1) to another in the moments."""
    n_features = x.shape[0]
    counts, sums, squares = moments
    for sign in (-1.0, 1.0):
        c = old if sign < 0 else new
        if c < 0:
            continue
        counts[c] += sign * w
        for f in range(n_features):
            sums[c, f] += sign * w * x[f]
        if squares.shape[0] == 0:
            continue
        if squares.shape[1] == 1:  # only the diagonal
            for f in range(n_features):
                squares[c, 0, f] += sign * w * x[f] * x[f]
        else:
            for f in range(n_features):
                for g in range(n_features):
                    squares[c, f, g] += sign * w * x[f] * x[g]


@kernel
def move_dense(X, shift, rows, old, new, weight, moments):
    """Move given rows from their old clusters to new ones in the moments."""
    x = np.empty(X.shape[1])
    for t in range(rows.shape[0]):
        if old[t] != new[t]:
            i = rows[t]
            for f in range(X.shape[1]):
                x[f] = X[i, f] - shift[f]
            w = weight[i] if weight.size else 1.0
            _move_dense(x, w, old[t], new[t], moments)


# -------------------------------------------------------------------- rows that links may move


@kernel
def _bounds_of(own, other, beyond, margin):
    """Bounds from squared distances, widened by the rounding error."""
    own = max(own, 0.0)
    error = margin * (own + beyond)
    return np.sqrt(own + error), np.sqrt(max(other - error, 0.0))


@kernel
def undecided_rows(
    cost, slack, labels, beyond, margin, start, stop, known, upper, lower, undecided
):
    """Mark those of rows start..stop that links could move, given their costs; updates bounds.

    IN      cost (n, k): with bounds, squared distances, with a rounding error of at most `margin`
            times (distance + beyond); slack (n,), labels (n,) as in `undecided_dense`
    OUT     known, upper, lower (n,), or (0,) without bounds; undecided (n,)
    """
    k = cost.shape[1]
    for i in range(start, stop):
        a = labels[i]
        other = np.inf
        for c in range(k):
            if c != a:
                other = min(other, cost[i, c])
        undecided[i] = not cost[i, a] + slack[i] < other
        if known.size:
            known[i] = a
            upper[i], lower[i] = _bounds_of(cost[i, a], other, beyond, margin)


# -------------------------------------------------------------------- nearest center, sparse


@kernel
def assign_sparse(data, indices, indptr, form, labels, pinned, weight, start, stop, moments):
    """`assign_dense` for rows of a CSR matrix (no shift: zeros stay zeros)."""
    slope, curve, bias, _ = form
    k = slope.shape[1]
    curved = curve.size > 0
    cost = np.empty(k, slope.dtype)
    moved = 0
    for i in range(start, stop):
        if pinned[i]:
            continue
        for c in range(k):
            cost[c] = bias[c]
        for p in range(indptr[i], indptr[i + 1]):
            f, x = indices[p], data[p]
            if curved:
                for c in range(k):
                    cost[c] += x * (slope[f, c] + curve[f, c] * x)
            else:
                for c in range(k):
                    cost[c] += x * slope[f, c]
        best = 0
        for c in range(1, k):
            if cost[c] < cost[best]:
                best = c
        if labels[i] != best:
            if moments.counts.size:
                w = weight[i] if weight.size else 1.0
                _move_sparse(data, indices, indptr, i, w, labels[i], best, moments)
            labels[i] = best
            moved += 1
    return moved


@kernel
def costs_sparse(data, indices, indptr, rows, form, out):
    """`costs_dense` for rows of a CSR matrix."""
    slope, curve, bias, own = form
    k = slope.shape[1]
    for t in range(rows.shape[0]):
        norm = 0.0
        for c in range(k):
            out[t, c] = bias[c]
        for p in range(indptr[rows[t]], indptr[rows[t] + 1]):
            f, x = indices[p], data[p]
            if own.size:
                norm += own[f] * x * x
            if curve.size:
                for c in range(k):
                    out[t, c] += x * (slope[f, c] + curve[f, c] * x)
            else:
                for c in range(k):
                    out[t, c] += x * slope[f, c]
        for c in range(k):
            out[t, c] += norm


@kernel
def _move_sparse(data, indices, indptr, i, w, old, new, moments):
    counts, sums, squares = moments
    for sign in (-1.0, 1.0):
        c = old if sign < 0 else new
        if c < 0:
            continue
        counts[c] += sign * w
        for p in range(indptr[i], indptr[i + 1]):
            f, x = indices[p], data[p]
            sums[c, f] += sign * w * x
            if squares.shape[0] > 0:
                squares[c, 0, f] += sign * w * x * x


@kernel
def move_sparse(data, indices, indptr, rows, old, new, weight, moments):
    """`move_dense` for rows of a CSR matrix."""
    for t in range(rows.shape[0]):
        if old[t] != new[t]:
            i = rows[t]
            w = weight[i] if weight.size else 1.0
            _move_sparse(data, indices, indptr, i, w, old[t], new[t], moments)


@kernel
def similarity_squares_sparse(data, indices, indptr, labels, directions, weight, start, stop, out):
    """Add to `out` (d,) each row's squares times its similarity to the direction of its cluster.

    IN      directions (k, d); labels (n,), -1 for rows that do not count
    """
    for i in range(start, stop):
        if labels[i] < 0:
            continue
        similarity = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            similarity += data[p] * directions[labels[i], indices[p]]
        if weight.size:
            similarity *= weight[i]
        for p in range(indptr[i], indptr[i + 1]):
            out[indices[p]] += similarity * data[p] * data[p]


@kernel
def similarity_squares_dense(X, labels, directions, weight, start, stop, out):
    """`similarity_squares_sparse` for dense rows."""
    for i in range(start, stop):
        if labels[i] < 0:
            continue
        similarity = 0.0
        for f in range(X.shape[1]):
            similarity += X[i, f] * directions[labels[i], f]
        if weight.size:
            similarity *= weight[i]
        for f in range(X.shape[1]):
            out[f] += similarity * X[i, f] * X[i, f]
