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

_ROWS = 128  # rows per tile: their features fit into the first-level cache
_CHECKED_ROWS = 1_024  # rows whose bounds are checked before distances are computed


class CostForm(NamedTuple):
    """Coefficients of the costs.

    `own` and `log_det` complete the cost with the terms that all clusters share:
    sum_f own[f] x_f^2 - log_det.
    """

    slope: NDArray  # (d, k)
    curve: NDArray  # (d, k), or (0, 0) if costs are linear
    bias: NDArray  # (k,)
    own: NDArray  # (d,), or (0,) if there are no shared terms
    log_det: float


class Drift(NamedTuple):
    """How much Hamerly's bounds must be loosened after an update."""

    stretch: float  # the most by which the new metric lengthens a distance
    shrink: float  # the most by which it shortens one
    moved: NDArray  # (k,): distance that each center moved
    most: float  # largest of `moved`
    second: float  # second largest
    which: int  # the center that moved most


# -------------------------------------------------------------------- nearest center, dense


@kernel
def _add_linear(tile, slope, c, cost):
    """Add the linear terms of cluster c to the costs of a tile, four features at a time."""
    n_features = slope.shape[0]
    f = 0
    while f + 4 <= n_features:
        s0, s1, s2, s3 = slope[f, c], slope[f + 1, c], slope[f + 2, c], slope[f + 3, c]
        for r in range(_ROWS):
            cost[r] += (tile[f, r] * s0 + tile[f + 1, r] * s1) + (
                tile[f + 2, r] * s2 + tile[f + 3, r] * s3
            )
        f += 4
    while f < n_features:
        s = slope[f, c]
        for r in range(_ROWS):
            cost[r] += tile[f, r] * s
        f += 1


@kernel
def _add_curved(tile, slope, curve, c, cost):
    """`_add_linear` with squares."""
    n_features = slope.shape[0]
    f = 0
    while f + 4 <= n_features:
        s0, s1, s2, s3 = slope[f, c], slope[f + 1, c], slope[f + 2, c], slope[f + 3, c]
        q0, q1, q2, q3 = curve[f, c], curve[f + 1, c], curve[f + 2, c], curve[f + 3, c]
        for r in range(_ROWS):
            x0, x1, x2, x3 = tile[f, r], tile[f + 1, r], tile[f + 2, r], tile[f + 3, r]
            cost[r] += (x0 * (s0 + q0 * x0) + x1 * (s1 + q1 * x1)) + (
                x2 * (s2 + q2 * x2) + x3 * (s3 + q3 * x3)
            )
        f += 4
    while f < n_features:
        s, q = slope[f, c], curve[f, c]
        for r in range(_ROWS):
            cost[r] += tile[f, r] * (s + q * tile[f, r])
        f += 1


@kernel
def _tile_costs(tile, slope, curve, bias, c, cost):
    """Costs of a tile's rows in cluster c."""
    for r in range(_ROWS):
        cost[r] = bias[c]
    if curve.size == 0:
        _add_linear(tile, slope, c, cost)
    else:
        _add_curved(tile, slope, curve, c, cost)


@kernel
def assign_dense(X, shift, form, labels, pinned, weight, start, stop, moments):
    """Assign rows start..stop to their cheapest cluster; returns how many moved.

    IN      X (n, d); shift (d,) subtracted from every row; form: `CostForm`; pinned (n,): rows to
            leave alone; weight (n,) or (0,)
    IN/OUT  labels (n,), -1 = not assigned yet
    OUT     moments: `Moments`, to which moved rows are added (new cluster) and subtracted (old)
    """
    n_features, k = form.slope.shape
    tile = np.empty((n_features, _ROWS), X.dtype)
    cost = np.empty(_ROWS, X.dtype)
    least = np.empty(_ROWS, X.dtype)
    best = np.empty(_ROWS, np.int32)
    moved = 0
    for first in range(start, stop, _ROWS):
        m = min(_ROWS, stop - first)
        for r in range(m):
            for f in range(n_features):
                tile[f, r] = X[first + r, f] - shift[f]
        for c in range(k):
            _tile_costs(tile, form.slope, form.curve, form.bias, c, cost)
            if c == 0:
                for r in range(_ROWS):
                    least[r] = cost[r]
                    best[r] = 0
            else:
                for r in range(_ROWS):
                    if cost[r] < least[r]:
                        least[r] = cost[r]
                        best[r] = c
        for r in range(m):
            i = first + r
            if labels[i] != best[r] and not pinned[i]:
                w = weight[i] if weight.size else 1.0
                _move_dense(tile[:, r], w, labels[i], best[r], moments)
                labels[i] = best[r]
                moved += 1
    return moved


@kernel
def costs_dense(X, shift, rows, form, out):
    """Costs of some rows in all clusters, shared terms included.

    IN      rows (m,); form: `CostForm`
    OUT     out (m, k)
    """
    slope, curve, bias, own, log_det = form
    n_features, k = slope.shape
    tile = np.zeros((n_features, _ROWS), slope.dtype)
    cost = np.empty(_ROWS, slope.dtype)
    norm = np.zeros(_ROWS, slope.dtype)
    for first in range(0, rows.shape[0], _ROWS):
        m = min(_ROWS, rows.shape[0] - first)
        for r in range(m):
            i = rows[first + r]
            for f in range(n_features):
                tile[f, r] = X[i, f] - shift[f]
        if own.size:
            _tile_norms(tile, own, norm)
        for c in range(k):
            _tile_costs(tile, slope, curve, bias, c, cost)
            for r in range(m):
                out[first + r, c] = cost[r] + norm[r] - log_det


@kernel
def _tile_norms(tile, own, norm):
    """Squared length of a tile's rows under a diagonal metric."""
    for r in range(_ROWS):
        norm[r] = 0.0
    for f in range(own.shape[0]):
        for r in range(_ROWS):
            norm[r] += own[f] * tile[f, r] * tile[f, r]


@kernel
def assign_bounded(
    X, shift, form, centers, labels, pinned, weight, upper, lower, drift, margin, start, stop,
    moments,
):  # fmt: skip
    """`assign_dense` under a shared diagonal metric, skipping rows whose center stays nearest.

    Hamerly's bounds: `upper` is at least the distance to the own center and `lower` at most that
    to any other. By the triangle inequality a center that moves by m changes a distance by at most
    m, so both are loosened by `drift`. Rows whose bounds cross get the distance to their own
    center; only if the bounds still cross are the distances to all centers computed.

    IN      form.own (d,): the metric; centers (k, d); drift: `Drift`; margin: relative rounding
            error of a squared distance
    IN/OUT  upper, lower (n,)
    """
    slope, _, bias, own, _ = form
    n_features, k = slope.shape
    tile = np.zeros((n_features, _ROWS), X.dtype)
    cost = np.empty(_ROWS, X.dtype)
    least = np.empty(_ROWS, X.dtype)
    other = np.empty(_ROWS, X.dtype)
    norm = np.empty(_ROWS, X.dtype)
    best = np.empty(_ROWS, np.int32)
    chosen = np.empty(_ROWS, np.int64)
    flat = np.zeros((0, 0), X.dtype)
    moved = 0
    i = start
    while i < stop:
        m = 0
        while i < stop and m < _ROWS:
            a = labels[i]
            crossed = not pinned[i]
            if crossed and a >= 0:
                upper[i] = upper[i] * drift.stretch + drift.moved[a]
                away = drift.second if a == drift.which else drift.most
                lower[i] = lower[i] * drift.shrink - away
                crossed = not upper[i] < lower[i]
                if crossed:
                    upper[i] = _distance(X, i, shift, own, centers, a, margin)
                    crossed = not upper[i] < lower[i]
            if crossed:
                chosen[m] = i
                for f in range(n_features):
                    tile[f, m] = X[i, f] - shift[f]
                m += 1
            i += 1
        if m == 0:
            break
        _tile_norms(tile, own, norm)
        for r in range(_ROWS):
            least[r] = np.inf
            other[r] = np.inf
            best[r] = 0
        for c in range(k):
            _tile_costs(tile, slope, flat, bias, c, cost)
            for r in range(_ROWS):
                other[r] = min(other[r], max(cost[r], least[r]))
                if cost[r] < least[r]:
                    least[r] = cost[r]
                    best[r] = c
        for r in range(_ROWS):
            error = margin * (norm[r] + abs(least[r]))
            least[r] = np.sqrt(max(least[r] + norm[r], 0.0) + error)
            other[r] = np.sqrt(max(other[r] + norm[r] - error, 0.0))
        for r in range(m):
            j = chosen[r]
            upper[j] = least[r]
            lower[j] = other[r]
            if labels[j] != best[r]:
                w = weight[j] if weight.size else 1.0
                _move_dense(tile[:, r], w, labels[j], best[r], moments)
                labels[j] = best[r]
                moved += 1
    return moved


@kernel
def _distance(X, i, shift, own, centers, c, margin):
    """Distance of row i to center c under a diagonal metric, rounded up."""
    total = 0.0
    for f in range(X.shape[1]):
        away = X[i, f] - shift[f] - centers[c, f]
        total += own[f] * away * away
    return np.sqrt(total * (1.0 + margin))


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
def column_sums(X, pilot, weight, start, stop, sums, squares):
    """Add to the weighted sums and squares of the columns about a pilot; returns the largest |x|.

    OUT     sums (d,), squares (d,)
    """
    n_features = X.shape[1]
    largest = 0.0
    for i in range(start, stop):
        w = weight[i] if weight.size else 1.0
        for f in range(n_features):
            largest = max(largest, abs(X[i, f]))
            away = X[i, f] - pilot[f]
            sums[f] += w * away
            squares[f] += w * away * away
    return largest


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
    x = np.empty(X.shape[1], np.float64)
    for t in range(rows.shape[0]):
        if old[t] != new[t]:
            i = rows[t]
            for f in range(X.shape[1]):
                x[f] = X[i, f] - shift[f]
            w = weight[i] if weight.size else 1.0
            _move_dense(x, w, old[t], new[t], moments)


# -------------------------------------------------------------------- rows that links may move


@kernel
def crossed_bounds(labels, slack, known, upper, lower, drift, start, stop, number, crossed):
    """Append those of rows start..stop that may be cheaper in another cluster to a list.

    Hamerly's bounds as in `assign_bounded`, plus the most that links can add. The distance to the
    own center is not recomputed: fetching a row takes as long as all of its distances.

    IN      slack (n,): the most by which links can raise the present cluster's cost above
            another's; known (n,): labels that the bounds are for; drift: `Drift`
    IN/OUT  upper, lower (n,); crossed (m,): the list, which has `number` rows

    Returns the new length of the list.
    """
    # Unsigned: numba wraps negative indices, which takes a test per access for signed ones.
    for i in range(np.uint64(start), np.uint64(stop)):
        a = labels[i]
        high = upper[i] * drift.stretch + drift.moved[a]
        away = drift.second if a == drift.which else drift.most
        low = max(lower[i] * drift.shrink - away, 0.0)
        upper[i] = high
        lower[i] = low
        crossed[number] = i
        # No branch: the processor could not predict which rows cross.
        number += a != known[i] or not high * high + slack[i] < low * low
    return number


@kernel
def _bounds_of(own, other, log_det, beyond, margin):
    """Bounds from costs (squared distances minus `log_det`), widened by the rounding error."""
    own = max(own + log_det, 0.0)
    error = margin * (own + beyond)
    return np.sqrt(own + error), np.sqrt(max(other + log_det - error, 0.0))


@kernel
def undecided_rows(
    cost, slack, labels, log_det, beyond, margin, start, stop, known, upper, lower, undecided
):
    """Mark those of rows start..stop that links could move, given their costs; updates bounds.

    IN      cost (n, k): with bounds, squared distances minus `log_det`, with a rounding error of
            at most `margin` times (distance + beyond); slack (n,), labels (n,) as in
            `crossed_bounds`
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
            upper[i], lower[i] = _bounds_of(cost[i, a], other, log_det, beyond, margin)


@kernel
def _fill_tile(X, shift, rows, beside, tile):
    """Copy scattered rows into the columns of a tile, relative to the mean.

    They are first copied to contiguous rows: waiting reads overlap only if no scattered writes
    come between them.

    IN      rows (m,), of which the tile takes at most _ROWS
    OUT     beside (_ROWS, d): scratch; tile (d, _ROWS)
    """
    n_features = X.shape[1]
    for r in range(rows.shape[0]):
        i = rows[r]
        for f in range(n_features):
            beside[r, f] = X[i, f]
    for f in range(n_features):
        mean = shift[f]
        for r in range(_ROWS):
            tile[f, r] = beside[r, f] - mean


@kernel
def undecided_from_bounds(
    X, shift, chosen, form, labels, slack, known, upper, lower, drift, beyond, margin, start, stop,
    undecided, place, kept,
):  # fmt: skip
    """`undecided_rows` among those whose bounds cross; only the costs of these are computed.

    OUT     place (n,): position of the costs of undecided rows in kept (n, k), from `start` on
    """
    slope, curve, bias, own, log_det = form
    n_features, k = slope.shape
    crossed, rows = np.empty(_CHECKED_ROWS + _ROWS, np.int64), np.empty(_ROWS, np.int64)
    tile = np.empty((n_features, _ROWS), slope.dtype)
    beside = np.zeros((_ROWS, n_features), X.dtype)
    costs = np.zeros((k, _ROWS))
    norm, mine, other = np.zeros(_ROWS), np.zeros(_ROWS), np.zeros(_ROWS)
    high, low = np.zeros(_ROWS), np.zeros(_ROWS)
    label = np.zeros(_ROWS, np.int32)
    at = start
    number = 0
    for first in range(start, stop, _CHECKED_ROWS):
        number = crossed_bounds(
            labels, slack, known, upper, lower, drift, first, min(first + _CHECKED_ROWS, stop),
            number, crossed,
        )  # fmt: skip
        done = 0
        # A partly filled tile takes as long as a full one: keep the rest for the next tile.
        while number - done >= _ROWS or (done < number and first + _CHECKED_ROWS >= stop):
            m = min(_ROWS, number - done)
            for r in range(m):
                label[r] = labels[crossed[done + r]]
                rows[r] = chosen[crossed[done + r]]
            _fill_tile(X, shift, rows[:m], beside, tile)
            _tile_norms(tile, own, norm)
            for c in range(k):
                _tile_costs(tile, slope, curve, bias, c, costs[c])
            for r in range(m):
                mine[r] = costs[label[r], r]
                costs[label[r], r] = np.inf  # leave the own cluster out of the minimum
            for r in range(_ROWS):
                other[r] = costs[0, r]
            for c in range(1, k):
                for r in range(_ROWS):
                    other[r] = min(other[r], costs[c, r])
            for r in range(_ROWS):
                mine[r] += norm[r] - log_det
                other[r] += norm[r] - log_det
                high[r], low[r] = _bounds_of(mine[r], other[r], log_det, beyond, margin)
            for r in range(m):
                i = crossed[done + r]
                known[i], upper[i], lower[i] = label[r], high[r], low[r]
                if not mine[r] + slack[i] < other[r]:
                    undecided[i] = True
                    place[i] = at
                    for c in range(k):
                        kept[at, c] = costs[c, r] + norm[r] - log_det
                    kept[at, label[r]] = mine[r]
                    at += 1
            done += m
        number -= done
        for r in range(number):
            crossed[r] = crossed[done + r]


# -------------------------------------------------------------------- nearest center, sparse


@kernel
def assign_sparse(data, indices, indptr, form, labels, pinned, weight, start, stop, moments):
    """`assign_dense` for rows of a CSR matrix (no shift: zeros stay zeros)."""
    slope, curve, bias, _, _ = form
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
            w = weight[i] if weight.size else 1.0
            _move_sparse(data, indices, indptr, i, w, labels[i], best, moments)
            labels[i] = best
            moved += 1
    return moved


@kernel
def costs_sparse(data, indices, indptr, rows, form, out):
    """`costs_dense` for rows of a CSR matrix."""
    slope, curve, bias, own, log_det = form
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
            out[t, c] += norm - log_det


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
