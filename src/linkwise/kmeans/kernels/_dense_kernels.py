"""Compiled passes over dense rows: products of row tiles and centers by BLAS, the rest in one loop.

A tile holds `_ROWS` rows, relative to the mean, in the precision of the data. One matrix product
gives their costs in all clusters,

    cost[c] = bias[c] + sum_f form[c, f] z_f,    z = x, or (x, x * x) where costs have squares,

and the smallest of them is taken while they are in the cache. A product always has the full size of
a tile, so that the costs of a row do not depend on the rows beside it, nor on how rows are split
among threads. Sums over rows are kept in float64. Callers limit BLAS to one thread.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from linkwise._compiled import kernel

from ._row_kernels import _move_dense

_ROWS = 256  # rows in a tile: large enough for BLAS, small enough for the second-level cache


class Tile(NamedTuple):
    """Room for a tile; made by the caller, since every way to make an array takes time to compile.

    Rows beyond the last one are computed with, and their results are not looked at.
    """

    values: NDArray  # (_ROWS, d) or (_ROWS, 2 d)
    cost: NDArray  # (k, _ROWS)
    least: NDArray  # (_ROWS,)
    other: NDArray  # (_ROWS,)
    best: NDArray  # (_ROWS,)
    rows: NDArray  # (_ROWS,)

    @classmethod
    def of(cls, form: NDArray) -> Self:
        """Room for costs of a form, (k, d) or (k, 2 d)."""
        (k, width), dtype = form.shape, form.dtype
        values, cost = np.zeros((_ROWS, width), dtype), np.empty((k, _ROWS), dtype)
        least, other = np.empty(_ROWS, dtype), np.empty(_ROWS, dtype)
        return cls(values, cost, least, other, np.empty(_ROWS, np.int32), np.empty(_ROWS, np.int64))


@kernel
def _load_row(X, shift, i, tile, r):
    """Row i into row r of a tile, followed by its squares where the tile has room for them."""
    n_features = X.shape[1]
    for f in range(n_features):
        tile[r, f] = X[i, f] - shift[f]
    if tile.shape[1] > n_features:
        for f in range(n_features):
            tile[r, n_features + f] = tile[r, f] * tile[r, f]


# Every value is stored, changed or not: with a branch the loops would not use vectors.


@kernel
def _cheapest(cost, bias, least, best):
    """Smallest cost of each row of a tile, and the first cluster that has it; cost (k, _ROWS)."""
    for r in range(_ROWS):
        least[r] = cost[0, r] + bias[0]
        best[r] = 0
    for c in range(1, cost.shape[0]):
        b, number = bias[c], np.int32(c)
        for r in range(_ROWS):
            here, least_yet = cost[c, r] + b, least[r]
            best[r] = number if here < least_yet else best[r]
            least[r] = here if here < least_yet else least_yet


@kernel
def _two_cheapest(cost, bias, least, other, best):
    """`_cheapest`, and the smallest cost in any other cluster."""
    for r in range(_ROWS):
        least[r] = cost[0, r] + bias[0]
        other[r] = np.inf
        best[r] = 0
    for c in range(1, cost.shape[0]):
        b, number = bias[c], np.int32(c)
        for r in range(_ROWS):
            here, least_yet = cost[c, r] + b, least[r]
            dearer = least_yet if here < least_yet else here
            other[r] = dearer if dearer < other[r] else other[r]
            best[r] = number if here < least_yet else best[r]
            least[r] = here if here < least_yet else least_yet


@kernel
def _norm(tile, r, own):
    """Squared length of a row of a tile under a diagonal metric."""
    total = own[0] * tile[r, 0] * tile[r, 0]
    for f in range(1, own.shape[0]):
        total += own[f] * tile[r, f] * tile[r, f]
    return total


@kernel
def _is_settled(X, shift, i, label, bounds):
    """Whether Hamerly's bounds show that row i keeps its cluster; loosens and tightens them.

    IN/OUT  bounds: `RowBounds`
    """
    own, centers, margin, drift, upper, lower = bounds
    stretch, shrink, away, most, second, which = drift
    upper[i] = upper[i] * stretch + away[label]
    lower[i] = lower[i] * shrink - (second if label == which else most)
    if upper[i] < lower[i]:
        return True
    total = 0.0
    for f in range(X.shape[1]):
        step = X[i, f] - shift[f] - centers[label, f]
        total += own[f] * step * step
    upper[i] = np.sqrt(total * (1.0 + margin))  # rounded up
    return upper[i] < lower[i]


@kernel
def assign_dense(X, shift, form, bias, labels, pinned, weight, bounds, start, stop, moments, room):
    """Put rows start..stop into their cheapest clusters, and keep count of what moved.

    With bounds (Hamerly), rows whose center is sure to be nearest are skipped: `upper` is at least
    the distance to the own center and `lower` at most that to any other. Both are loosened by what
    has changed since. If they cross, the distance to the own center is computed anew, and only if
    they still cross those to all centers.

    IN      X (n, d); shift (d,) subtracted from every row; form (k, d), or (k, 2 d) with squares;
            bias (k,); pinned (n,) rows to leave alone; weight (n,) or (0,)
    IN/OUT  labels (n,), -1 = not assigned yet; bounds: `RowBounds`, or None (the part for them is
            not compiled then)
    OUT     moments: `Moments`, to which moved rows are added (new cluster) and subtracted (old);
            of no clusters if they are not needed; room: `Tile`

    Returns how many rows moved.
    """
    tile, cost, least, other, best, rows = room
    moved = 0
    i = start
    while i < stop:
        m = 0
        while i < stop and m < _ROWS:
            wanted = not pinned[i]
            if bounds is not None and wanted and labels[i] >= 0:
                wanted = not _is_settled(X, shift, i, labels[i], bounds)
            if wanted:
                _load_row(X, shift, i, tile, np.int64(m))
                rows[m] = i
                m += 1
            i += 1
        if m == 0:
            break
        np.dot(form, tile.T, cost)
        if bounds is not None:
            _two_cheapest(cost, bias, least, other, best)
            for r in range(m):
                norm = _norm(tile, r, bounds.own)
                error = bounds.margin * (norm + abs(least[r]))
                bounds.upper[rows[r]] = np.sqrt(max(least[r] + norm, 0.0) + error)
                bounds.lower[rows[r]] = np.sqrt(max(other[r] + norm - error, 0.0))
        else:
            _cheapest(cost, bias, least, best)
        for r in range(m):
            j = rows[r]
            if labels[j] != best[r]:
                if moments.counts.size:
                    w = weight[j] if weight.size else 1.0
                    x = tile[r, : X.shape[1]]
                    _move_dense(x, w, labels[j], best[r], moments)
                labels[j] = best[r]
                moved += 1
    return moved


@kernel
def costs_dense(X, shift, rows, form, bias, own, out, room):
    """Costs of chosen rows in all clusters, in float64.

    IN      rows (m,); form (k, d) or (k, 2 d), bias (k,) as in `assign_dense`, in float64;
            own (d,) or (0,) adds what all clusters share
    OUT     out (m, k); room: `Tile`
    """
    k = form.shape[0]
    tile, cost = room.values, room.cost
    for first in range(0, rows.shape[0], _ROWS):
        m = min(_ROWS, rows.shape[0] - first)
        for r in range(m):
            _load_row(X, shift, rows[first + r], tile, r)
        np.dot(form, tile.T, cost)
        for r in range(m):
            rest = _norm(tile, r, own) if own.size else 0.0
            for c in range(k):
                out[first + r, c] = cost[c, r] + (bias[c] + rest)


@kernel
def undecided_dense(
    X, shift, chosen, form, bias, own, beyond, margin, labels, slack, known, drift, upper, lower,
    start, stop, undecided, room,
):  # fmt: skip
    """Mark those of rows start..stop that links might move, by bounds and costs with an error.

    Rows are positions in `chosen`. Bounds are loosened as in `assign_dense`, with room for what
    links can add. The distance to the own center is not computed anew: to fetch a row takes as
    long as all of its distances.

    IN      form, bias in the precision of the data: costs have a rounding error of `margin` times
            (cost + norm + beyond), the norm being that of the row under `own` (d,); slack (n,): the
            most by which links can make the present cluster dearer than another
    IN/OUT  known (n,): labels that the bounds are for; upper, lower (n,), or (0,) for no bounds
    OUT     undecided (n,); room: `Tile`
    """
    tile, cost, least, other, best, rows = room
    stretch, shrink, away, most, second, which = drift
    bounded = upper.size > 0
    i = start
    while i < stop:
        m = 0
        while i < stop and m < _ROWS:
            a = labels[i]
            undecided[i] = False
            wanted = True
            if bounded:
                high = upper[i] * stretch + away[a]
                low = max(lower[i] * shrink - (second if a == which else most), 0.0)
                upper[i], lower[i] = high, low
                wanted = a != known[i] or not high * high + slack[i] < low * low
            if wanted:
                _load_row(X, shift, chosen[i], tile, m)
                rows[m] = i
                m += 1
            i += 1
        if m == 0:
            break
        np.dot(form, tile.T, cost)
        _two_cheapest(cost, bias, least, other, best)
        for r in range(m):
            j = rows[r]
            a = labels[j]
            norm = np.float64(_norm(tile, r, own))
            mine = norm + cost[a, r] + bias[a]
            rest = norm + (other[r] if best[r] == a else least[r])
            error = margin * (abs(mine) + norm + beyond)
            undecided[j] = not mine + slack[j] + 2.0 * error < rest
            if bounded:
                known[j] = a
                upper[j] = np.sqrt(max(mine, 0.0) + error)
                lower[j] = np.sqrt(max(rest - error, 0.0))


@kernel
def own_costs_dense(X, shift, rows, labels, form, bias, own, out):
    """Cost of each chosen row in its own cluster, in float64; see `costs_dense`."""
    n_features = X.shape[1]
    for t in range(rows.shape[0]):
        i = rows[t]
        c = labels[t]
        total = bias[c]
        for f in range(n_features):
            x = X[i, f] - shift[f]
            total += x * form[c, f]
            if form.shape[1] > n_features:
                total += x * x * form[c, n_features + f]
            if own.size:
                total += own[f] * x * x
        out[t] = total


@kernel
def point_distances(X, shift, points, start, stop, out):
    """Squared Euclidean distances of rows start..stop to a few points, in float64.

    IN      points (m, d), relative to `shift`
    OUT     out (m, n)
    """
    row = np.empty(X.shape[1])
    for i in range(start, stop):
        for f in range(X.shape[1]):
            row[f] = X[i, f] - shift[f]
        for t in range(points.shape[0]):
            total = 0.0
            for f in range(X.shape[1]):
                away = row[f] - points[t, f]
                total += away * away
            out[t, i] = total


# -------------------------------------------------------------------- full metrics of each cluster


@kernel
def _mixed_costs(tile, factor, offset, bias, image, cost):
    """Costs of a tile's rows under one full metric, |F x - o|^2 + bias; image (d, _ROWS)."""
    np.dot(factor, tile.T, image)
    for r in range(_ROWS):
        cost[r] = bias
    for f in range(offset.shape[0]):
        o = offset[f]
        for r in range(_ROWS):
            away = image[f, r] - o
            cost[r] += away * away


@kernel
def assign_mixed(X, shift, factors, offsets, bias, labels, pinned, weight, start, stop, moments):
    """`assign_dense` under full metrics of each cluster, in float64.

    IN      factors (k, d, d), offsets (k, d), bias (k,): see `Mahalanobis.factors`
    """
    k, n_features = offsets.shape
    tile, image = np.zeros((_ROWS, n_features)), np.empty((n_features, _ROWS))
    cost = np.empty((k, _ROWS))
    none = np.zeros(k)
    least, best = np.empty(_ROWS), np.empty(_ROWS, np.int32)
    rows = np.empty(_ROWS, np.int64)
    moved = 0
    i = start
    while i < stop:
        m = 0
        while i < stop and m < _ROWS:
            if not pinned[i]:
                _load_row(X, shift, i, tile, m)
                rows[m] = i
                m += 1
            i += 1
        for c in range(k):
            _mixed_costs(tile, factors[c], offsets[c], bias[c], image, cost[c])
        _cheapest(cost, none, least, best)
        for r in range(m):
            j = rows[r]
            if labels[j] != best[r]:
                if moments.counts.size:
                    w = weight[j] if weight.size else 1.0
                    _move_dense(tile[r], w, labels[j], best[r], moments)
                labels[j] = best[r]
                moved += 1
    return moved


@kernel
def costs_mixed(X, shift, rows, factors, offsets, bias, out):
    """`costs_dense` under full metrics of each cluster."""
    k, n_features = offsets.shape
    tile, image = np.zeros((_ROWS, n_features)), np.empty((n_features, _ROWS))
    cost = np.empty(_ROWS)
    for first in range(0, rows.shape[0], _ROWS):
        m = min(_ROWS, rows.shape[0] - first)
        for r in range(m):
            _load_row(X, shift, rows[first + r], tile, r)
        for c in range(k):
            _mixed_costs(tile, factors[c], offsets[c], bias[c], image, cost)
            for r in range(m):
                out[first + r, c] = cost[r]
