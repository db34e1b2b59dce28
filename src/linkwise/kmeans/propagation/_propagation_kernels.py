"""Compiled loops of constraint propagation over arrays; nothing else.

The *remoteness* of a row from an end of a constraint is its squared distance times a rate. Those
of two ends add up, and a pair of rows takes part while the sum is within a limit: so only rows
within the limit of an end by themselves matter, and with both lists in ascending order every pair
that is visited is wanted (or the reverse of a wanted one).
"""

from __future__ import annotations

import numpy as np

from linkwise._compiled import kernel

# -------------------------------------------------------------------- rows near a point


@kernel
def near_diagonal(X, point, metric, rate, limit, rows, found):
    """Rows of X (n, d) within the limit of a point, under the metric (d,); how many there are.

    OUT     rows, found (n,): the rows and their remoteness
    """
    most = limit / rate if rate > 0 else np.inf  # of the squared distance
    number = 0
    for i in range(X.shape[0]):
        squared = 0.0
        for f in range(X.shape[1]):
            away = X[i, f] - point[f]
            squared += metric[f] * away * away
            if squared > most:
                break
        # At the point itself even an infinite rate gives nothing.
        remote = squared * rate if squared > 0 else 0.0
        if remote <= limit:
            rows[number], found[number] = i, remote
            number += 1
    return number


@kernel
def near_full(X, point, root, rate, limit, rows, found):
    """As `near_diagonal`, under the metric root @ root.T."""
    d = X.shape[1]
    away = np.empty(d)
    number = 0
    for i in range(X.shape[0]):
        for f in range(d):
            away[f] = X[i, f] - point[f]
        squared = 0.0
        for c in range(d):
            part = 0.0
            for f in range(d):
                part += away[f] * root[f, c]
            squared += part * part
        remote = squared * rate if squared > 0 else 0.0
        if remote <= limit:
            rows[number], found[number] = i, remote
            number += 1
    return number


@kernel
def near_sparse(data, indices, indptr, point, metric, rate, limit, rows, found):
    """As `near_diagonal`, for CSR rows and a dense point."""
    length, filled = 0.0, 0
    for f in range(len(point)):
        length += metric[f] * point[f] * point[f]
        filled += point[f] != 0
    number = 0
    for i in range(len(indptr) - 1):
        squared, shared, met = 0.0, 0.0, 0
        for p in range(indptr[i], indptr[i + 1]):
            f = indices[p]
            away = data[p] - point[f]
            squared += metric[f] * away * away
            shared += metric[f] * point[f] * point[f]
            met += point[f] != 0
        if met < filled:  # else nothing is left over, and rounding must not say otherwise
            squared += max(length - shared, 0.0)
        remote = squared * rate if squared > 0 else 0.0
        if remote <= limit:
            rows[number], found[number] = i, remote
            number += 1
    return number


# -------------------------------------------------------------------- pairs of rows


@kernel
def count_ordered(near_a, near_b, limit):
    """Number of (x, y) with near_a[x] + near_b[y] within the limit; both are ascending."""
    total, within = 0, len(near_b)
    for x in range(len(near_a)):
        while within > 0 and near_a[x] + near_b[within - 1] > limit:
            within -= 1
        total += within
    return total


@kernel
def _is_wanted(i, j, remote, own_a, own_b, a, b):
    """Whether (i, j) is a pair to link, and the nearer of its two orientations."""
    if i == j or (i == a and j == b) or (i == b and j == a):
        return False
    turned = own_a[j] + own_b[i]
    return remote < turned or (remote == turned and i < j)


@kernel
def count_pairs(rows_a, near_a, rows_b, near_b, own_a, own_b, a, b, limit):
    """Number of different pairs that the constraint (a, b) spreads to; see `spread_pairs`."""
    number = 0
    for x in range(len(rows_a)):
        for y in range(len(rows_b)):
            remote = near_a[x] + near_b[y]
            if remote > limit:
                break
            number += _is_wanted(rows_a[x], rows_b[y], remote, own_a, own_b, a, b)
    return number


@kernel
def spread_pairs(
    rows_a, near_a, rows_b, near_b, own_a, own_b, a, b, limit, weight, gaussian, low, high, strength
):
    """Write down all pairs that the constraint (a, b) spreads to; returns how many.

    IN      rows_a, near_a: rows near a in ascending order of their remoteness; the same for b;
            own_a, own_b (n,): the same by row, infinite for all others
    OUT     low, high, strength: rows i < j of each pair, and its weight
    """
    number = 0
    for x in range(len(rows_a)):
        i = rows_a[x]
        for y in range(len(rows_b)):
            remote = near_a[x] + near_b[y]
            if remote > limit:
                break
            j = rows_b[y]
            if _is_wanted(i, j, remote, own_a, own_b, a, b):
                low[number], high[number] = min(i, j), max(i, j)
                strength[number] = weight * _fade(remote, gaussian)
                number += 1
    return number


@kernel
def spread_sample(
    rows_a, near_a, rows_b, near_b, own_a, own_b, a, b, limit, weight, gaussian, chosen, low, high,
    strength
):  # fmt: skip
    """As `spread_pairs`, but looks only at the chosen ones (ascending) of `count_ordered`."""
    number, before, within, t = 0, 0, len(rows_b), 0
    for x in range(len(rows_a)):
        while within > 0 and near_a[x] + near_b[within - 1] > limit:
            within -= 1
        while t < len(chosen) and chosen[t] < before + within:
            y = chosen[t] - before
            i, j, remote = rows_a[x], rows_b[y], near_a[x] + near_b[y]
            if _is_wanted(i, j, remote, own_a, own_b, a, b):
                low[number], high[number] = min(i, j), max(i, j)
                strength[number] = weight * _fade(remote, gaussian)
                number += 1
            t += 1
        before += within
    return number


@kernel
def _fade(remote, gaussian):
    """Remaining share of a constraint's weight: (3.1), or linear in the distance."""
    return np.exp(-remote) if gaussian else 1.0 - np.sqrt(remote)


# -------------------------------------------------------------------- one link for each pair


@kernel
def merge_pairs(low, high, strength, n_rows, reduce, ends, weight, n_given):
    """Put pairs together with the given links and with each other; returns how many are left.

    The heaviest of equal links stays (`reduce`), or their weights add up.

    IN      low, high, strength (m,): pairs i < j of rows below n_rows
    IN/OUT  ends (n_given + m, 2), weight: given links first, then room for the others
    """
    starts = np.zeros(n_rows + 1, np.int64)
    for t in range(len(low)):
        starts[low[t] + 1] += 1
    for i in range(n_rows):
        starts[i + 1] += starts[i]
    order = np.empty(len(low), np.int32)
    fill = starts.copy()
    for t in range(len(low)):
        order[fill[low[t]]] = t
        fill[low[t]] += 1
    own = np.argsort(ends[:n_given, 0], kind="mergesort")
    place = np.full(n_rows, -1, np.int64)  # of the link from the present row to each other
    number, g = n_given, 0
    for i in range(n_rows):
        first, first_g = number, g
        while g < n_given and ends[own[g], 0] == i:
            place[ends[own[g], 1]] = own[g]
            g += 1
        for p in range(starts[i], starts[i + 1]):
            t = order[p]
            j = high[t]
            at = place[j]
            if at < 0:
                place[j] = number
                ends[number, 0], ends[number, 1], weight[number] = i, j, strength[t]
                number += 1
            elif reduce:
                weight[at] = max(weight[at], strength[t])
            else:
                weight[at] += strength[t]
        for q in range(first, number):
            place[ends[q, 1]] = -1
        for q in range(first_g, g):
            place[ends[own[q], 1]] = -1
    return number
