"""Compiled loops over arrays; nothing else.

No validation, no classes: arguments are arrays the caller owns. Everything releases the GIL and
none uses numba's own threads (its default layer aborts when two threads enter); callers split rows
among threads. Costs have the form

    cost[c] = bias[c] + sum_f x_f (slope[f, c] + curve[f, c] x_f)

up to a term that is the same for all clusters, which covers squared Euclidean distance and any
diagonal Mahalanobis distance, and any full one that all clusters share.
"""

from __future__ import annotations

import numpy as np

from linkwise._compiled import kernel

_ROWS = 128  # rows worked on together: their features fit into the first-level cache
_AT_ONCE = 1_024  # rows whose bounds are looked at together


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
def assign_dense(
    X, shift, slope, curve, bias, labels, pinned, weight, start, stop, counts, sums, squares
):
    """Put rows start..stop into their cheapest cluster, and keep count of what moved.

    IN      X (n, d); shift (d,) subtracted from every row; slope (d, k); curve (d, k) or (0, 0);
            bias (k,); pinned (n,) rows to leave alone; weight (n,) or (0,)
    IN/OUT  labels (n,), -1 = not assigned yet
    OUT     counts (k,), sums (k, d), squares (k, 1, d), (k, d, d) or (0, 0, 0): what moved
            rows add to and take from each cluster
    """
    n_features, k = slope.shape
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
            _tile_costs(tile, slope, curve, bias, c, cost)
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
                _move_dense(tile[:, r], w, labels[i], best[r], counts, sums, squares)
                labels[i] = best[r]
                moved += 1
    return moved


@kernel
def costs_dense(X, shift, rows, slope, curve, bias, own, log_det, out):
    """Costs of chosen rows in all clusters.

    IN      rows (m,); own (d,) or (0,) adds what all clusters share, less `log_det`
    OUT     out (m, k)
    """
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
    X,
    shift,
    slope,
    bias,
    own,
    centers,
    labels,
    pinned,
    weight,
    upper,
    lower,
    stretch,
    shrink,
    drift,
    most,
    second,
    which,
    margin,
    start,
    stop,
    counts,
    sums,
    squares,
):
    """`assign_dense` under a shared diagonal metric, passing over rows whose center stays nearest.

    Hamerly's bounds: `upper` is at least the distance to the own center and `lower` at most that
    to any other. Both are loosened by how far centers have moved (`drift`; `most` is the largest,
    of center `which`, `second` the next), and scaled by how much a change of the metric may have
    stretched or shrunk distances. Rows whose bounds cross get their own distance anew, and only
    if they still cross are all centers looked at.

    IN      own (d,): the metric; centers (k, d)
    IN/OUT  upper, lower (n,)
    IN      margin: relative rounding error of a squared distance
    """
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
                upper[i] = upper[i] * stretch + drift[a]
                lower[i] = lower[i] * shrink - (second if a == which else most)
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
                _move_dense(tile[:, r], w, labels[j], best[r], counts, sums, squares)
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
    """Squared length of each row when every feature counts alike, and the ends of each feature.

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
def _move_dense(x, w, old, new, counts, sums, squares):
    """Move one row from a cluster (or none, -1) to another in the moments."""
    n_features = x.shape[0]
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
def move_dense(X, shift, rows, old, new, weight, counts, sums, squares):
    """Move given rows from their old clusters to new ones in the moments."""
    x = np.empty(X.shape[1], np.float64)
    for t in range(rows.shape[0]):
        if old[t] != new[t]:
            i = rows[t]
            for f in range(X.shape[1]):
                x[f] = X[i, f] - shift[f]
            w = weight[i] if weight.size else 1.0
            _move_dense(x, w, old[t], new[t], counts, sums, squares)


# -------------------------------------------------------------------- rows that links may move


@kernel
def crossed_bounds(
    labels, slack, known, upper, lower, stretch, shrink, drift, most, second, which, start, stop,
    number, crossed,
):  # fmt: skip
    """Add those of rows start..stop that might be cheaper in another cluster to a list.

    Hamerly's bounds as in `assign_bounded`, with room for what links can add. The distance to the
    own center is not taken anew: fetching a row costs as much as all of its distances.

    IN      slack (n,): the most by which links can make the present cluster dearer than another;
            known (n,): labels that the bounds are for
    IN/OUT  upper, lower (n,); crossed (m,): the list, which has `number` rows

    Returns how many rows it has now.
    """
    # Unsigned: whether a signed index is negative is looked at every time.
    for i in range(np.uint64(start), np.uint64(stop)):
        a = labels[i]
        high = upper[i] * stretch + drift[a]
        low = max(lower[i] * shrink - (second if a == which else most), 0.0)
        upper[i] = high
        lower[i] = low
        crossed[number] = i
        # No branch: which rows cross cannot be foretold.
        number += a != known[i] or not high * high + slack[i] < low * low
    return number


@kernel
def _bounds_of(own, other, log_det, beyond, margin):
    """Bounds from costs: squared distances less `log_det`, known up to rounding."""
    own = max(own + log_det, 0.0)
    error = margin * (own + beyond)
    return np.sqrt(own + error), np.sqrt(max(other + log_det - error, 0.0))


@kernel
def wavering_rows(
    cost, slack, labels, log_det, beyond, margin, start, stop, known, upper, lower, wavers
):
    """Mark those of rows start..stop that links could move, given their costs. Notes bounds.

    IN      cost (n, k): for bounds, squared distances less `log_det`, up to a rounding error of
            `margin` times (distance + beyond); slack (n,) and labels (n,) as in `crossed_bounds`
    OUT     known, upper, lower (n,), or (0,) where there are no bounds; wavers (n,)
    """
    k = cost.shape[1]
    for i in range(start, stop):
        a = labels[i]
        other = np.inf
        for c in range(k):
            if c != a:
                other = min(other, cost[i, c])
        wavers[i] = not cost[i, a] + slack[i] < other
        if known.size:
            known[i] = a
            upper[i], lower[i] = _bounds_of(cost[i, a], other, log_det, beyond, margin)


@kernel
def _fill_tile(X, shift, rows, beside, tile):
    """Scattered rows into the columns of a tile, relative to the mean.

    They are laid side by side first: reads that wait for memory overlap only if no scattered
    writes stand between them.

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
def sift_dense(
    X, shift, chosen, slope, curve, bias, own, log_det, labels, slack, known, upper, lower,
    stretch, shrink, drift, most, second, which, beyond, margin, start, stop, wavers, place, kept,
):  # fmt: skip
    """`wavering_rows` among those whose bounds have crossed; only their costs are kept.

    OUT     place (n,) of the costs of undecided rows in kept (n, k), from `start` on
    """
    n_features, k = slope.shape
    crossed, rows = np.empty(_AT_ONCE + _ROWS, np.int64), np.empty(_ROWS, np.int64)
    tile = np.empty((n_features, _ROWS), slope.dtype)
    beside = np.zeros((_ROWS, n_features), X.dtype)
    costs = np.zeros((k, _ROWS))
    norm, mine, other = np.zeros(_ROWS), np.zeros(_ROWS), np.zeros(_ROWS)
    high, low = np.zeros(_ROWS), np.zeros(_ROWS)
    label = np.zeros(_ROWS, np.int32)
    at = start
    number = 0
    for first in range(start, stop, _AT_ONCE):
        number = crossed_bounds(
            labels, slack, known, upper, lower, stretch, shrink, drift, most, second, which, first,
            min(first + _AT_ONCE, stop), number, crossed,
        )  # fmt: skip
        done = 0
        # A tile takes as long whether it is full or not: rows that do not fill one wait.
        while number - done >= _ROWS or (done < number and first + _AT_ONCE >= stop):
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
                costs[label[r], r] = np.inf  # looked at without the own cluster
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
                    wavers[i] = True
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
def assign_sparse(
    data,
    indices,
    indptr,
    slope,
    curve,
    bias,
    labels,
    pinned,
    weight,
    start,
    stop,
    counts,
    sums,
    squares,
):
    """`assign_dense` for rows of a CSR matrix (no shift: zeros stay zeros)."""
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
            _move_sparse(data, indices, indptr, i, w, labels[i], best, counts, sums, squares)
            labels[i] = best
            moved += 1
    return moved


@kernel
def costs_sparse(data, indices, indptr, rows, slope, curve, bias, own, log_det, out):
    """`costs_dense` for rows of a CSR matrix."""
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
def _move_sparse(data, indices, indptr, i, w, old, new, counts, sums, squares):
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
def move_sparse(data, indices, indptr, rows, old, new, weight, counts, sums, squares):
    """`move_dense` for rows of a CSR matrix."""
    for t in range(rows.shape[0]):
        if old[t] != new[t]:
            i = rows[t]
            w = weight[i] if weight.size else 1.0
            _move_sparse(data, indices, indptr, i, w, old[t], new[t], counts, sums, squares)


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
