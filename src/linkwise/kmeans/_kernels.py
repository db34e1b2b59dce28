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


# -------------------------------------------------------------------- nearest centre, dense


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
    curved = curve.size > 0
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
            for r in range(_ROWS):
                cost[r] = bias[c]
            if curved:
                for f in range(n_features):
                    s, q = slope[f, c], curve[f, c]
                    for r in range(_ROWS):
                        cost[r] += tile[f, r] * (s + q * tile[f, r])
            else:
                _add_linear(tile, slope, c, cost)
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
def assign_bounded(
    X,
    shift,
    slope,
    bias,
    labels,
    pinned,
    weight,
    upper,
    lower,
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
    """`assign_dense` for Euclidean distance, passing over rows whose centre must be the nearest.

    Hamerly's bounds: `upper` is at least the distance to the own centre and `lower` at most that
    to any other; both are loosened by how far centres have moved (`drift`; `most` is the largest,
    of centre `which`, `second` the next), and only rows whose bounds cross are looked at.

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
    moved = 0
    i = start
    while i < stop:
        m = 0
        while i < stop and m < _ROWS:
            a = labels[i]
            crossed = not pinned[i]
            if crossed and a >= 0:
                upper[i] += drift[a]
                lower[i] -= second if a == which else most
                crossed = not upper[i] < lower[i]
            if crossed:
                chosen[m] = i
                for f in range(n_features):
                    tile[f, m] = X[i, f] - shift[f]
                m += 1
            i += 1
        if m == 0:
            break
        for r in range(_ROWS):
            norm[r] = 0.0
            least[r] = np.inf
            other[r] = np.inf
            best[r] = 0
        for f in range(n_features):
            for r in range(_ROWS):
                norm[r] += tile[f, r] * tile[f, r]
        for c in range(k):
            for r in range(_ROWS):
                cost[r] = bias[c]
            _add_linear(tile, slope, c, cost)
            for r in range(_ROWS):
                other[r] = min(other[r], max(cost[r], least[r]))
                if cost[r] < least[r]:
                    least[r] = cost[r]
                    best[r] = c
        for r in range(m):
            j = chosen[r]
            error = margin * (norm[r] + abs(least[r]))
            upper[j] = np.sqrt(max(least[r] + norm[r], 0.0) + error)
            lower[j] = np.sqrt(max(other[r] + norm[r] - error, 0.0))
            if labels[j] != best[r]:
                w = weight[j] if weight.size else 1.0
                _move_dense(tile[:, r], w, labels[j], best[r], counts, sums, squares)
                labels[j] = best[r]
                moved += 1
    return moved


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


# -------------------------------------------------------------------- nearest centre, sparse


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


# -------------------------------------------------------------------- links


@kernel
def fill_penalties(indptr, neighbour, link, is_must, cost, labels, penalty):
    """What each cluster would cost each constrained row, given where its neighbours are.

    Up to a constant per row. `cost` (n_links, 1) or (n_links, k) is what a violated link costs in
    a cluster; a must-link between two clusters costs the mean of both. Neighbours with label -1
    say nothing.
    """
    n_rows, k = penalty.shape
    shared = cost.shape[1] == 1
    for i in range(n_rows):
        for c in range(k):
            penalty[i, c] = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            b = labels[neighbour[p]]
            if b >= 0:
                _add_penalty(penalty[i], b, cost[link[p]], is_must[link[p]], shared, 1.0)


@kernel
def _add_penalty(penalty, b, cost, must, shared, sign):
    """Count a neighbour in cluster b for (sign 1) or out (sign -1)."""
    if shared:
        # Being elsewhere costs the same everywhere: reward being together instead.
        penalty[b] += -sign * cost[0] if must else sign * cost[0]
    elif must:
        for c in range(penalty.shape[0]):
            if c != b:
                penalty[c] += sign * 0.5 * (cost[c] + cost[b])
    else:
        penalty[b] += sign * cost[b]


@kernel
def wants_to_move(distance, penalty, labels):
    """Which rows would be cheaper in another cluster."""
    n_rows, k = distance.shape
    restless = np.zeros(n_rows, np.bool_)
    for i in range(n_rows):
        now = distance[i, labels[i]] + penalty[i, labels[i]]
        for c in range(k):
            if distance[i, c] + penalty[i, c] < now:
                restless[i] = True
    return restless


@kernel
def icm(order, distance, penalty, labels, indptr, neighbour, link, is_must, cost, max_sweeps):
    """Iterated conditional modes: each row in turn takes its cheapest cluster, until none moves.

    IN      order (n,) of the constrained rows; distance (n, k)
    IN/OUT  penalty (n, k), kept right as neighbours move; labels (n,)
    """
    k = distance.shape[1]
    shared = cost.shape[1] == 1
    for _ in range(max_sweeps):
        moved = 0
        for t in range(order.shape[0]):
            i = order[t]
            old = labels[i]
            best = old if old >= 0 else 0
            for c in range(k):
                if distance[i, c] + penalty[i, c] < distance[i, best] + penalty[i, best]:
                    best = c
            if best == old:
                continue
            labels[i] = best
            moved += 1
            for p in range(indptr[i], indptr[i + 1]):
                j, number = neighbour[p], link[p]
                if old >= 0:
                    _add_penalty(penalty[j], old, cost[number], is_must[number], shared, -1.0)
                _add_penalty(penalty[j], best, cost[number], is_must[number], shared, 1.0)
        if moved == 0:
            break


@kernel
def icm_groups(
    order, starts, members, group, distance, penalty, labels, indptr, neighbour, link, is_must, cost
):
    """One sweep in which whole must-link components take their cheapest cluster.

    Single rows cannot leave a component one by one without breaking links; together they can.

    IN      order of the groups; members of group g are members[starts[g]:starts[g + 1]];
            group (n,) of each row
    IN/OUT  penalty, labels, as in `icm`
    """
    k = distance.shape[1]
    shared = cost.shape[1] == 1
    total = np.empty(k)
    moved = 0
    for t in range(order.shape[0]):
        g = order[t]
        total[:] = 0.0
        now = 0.0
        assigned = True
        for q in range(starts[g], starts[g + 1]):
            i = members[q]
            a = labels[i]
            assigned = assigned and a >= 0
            for c in range(k):
                total[c] += distance[i, c]
            if a >= 0:
                now += distance[i, a]
            for p in range(indptr[i], indptr[i + 1]):
                j, number = neighbour[p], link[p]
                b = labels[j]
                if b < 0:
                    continue
                if group[j] != g:
                    _add_penalty(total, b, cost[number], is_must[number], shared, 1.0)
                elif not is_must[number]:  # a contradiction: broken wherever the group goes
                    for c in range(k):
                        total[c] += 0.5 * cost[number, 0 if shared else c]
                if a < 0 or (is_must[number] and a == b):
                    continue
                # The same terms for the present labels; links inside are met from both ends.
                share = 0.5 if group[j] == g else 1.0
                if shared:
                    if is_must[number]:
                        now += share * cost[number, 0] if group[j] == g else 0.0
                    elif a == b:
                        now += share * cost[number, 0]
                elif is_must[number]:
                    now += share * 0.5 * (cost[number, a] + cost[number, b])
                elif a == b:
                    now += share * cost[number, a]
            if shared and a >= 0:
                # `_add_penalty` rewards being together; give the present labels the same reward.
                for p in range(indptr[i], indptr[i + 1]):
                    j, number = neighbour[p], link[p]
                    if group[j] != g and is_must[number] and labels[j] == a:
                        now -= cost[number, 0]
        best = 0
        for c in range(1, k):
            if total[c] < total[best]:
                best = c
        if assigned and not total[best] < now - 1e-10 * (abs(now) + abs(total[best])):
            continue
        for q in range(starts[g], starts[g + 1]):
            i = members[q]
            old = labels[i]
            if old == best:
                continue
            labels[i] = best
            moved += 1
            for p in range(indptr[i], indptr[i + 1]):
                j, number = neighbour[p], link[p]
                if old >= 0:
                    _add_penalty(penalty[j], old, cost[number], is_must[number], shared, -1.0)
                _add_penalty(penalty[j], best, cost[number], is_must[number], shared, 1.0)
    return moved


@kernel
def greedy_hard(order, distance, labels, indptr, neighbour, taken):
    """Give each group in turn its cheapest cluster that no cannot-linked group has yet.

    Returns -1, or the group that found no cluster left.
    """
    k = distance.shape[1]
    labels[:] = -1
    for t in range(order.shape[0]):
        i = order[t]
        for c in range(k):
            taken[c] = False
        for p in range(indptr[i], indptr[i + 1]):
            if labels[neighbour[p]] >= 0:
                taken[labels[neighbour[p]]] = True
        best = -1
        for c in range(k):
            if not taken[c] and (best < 0 or distance[i, c] < distance[i, best]):
                best = c
        if best < 0:
            return i
        labels[i] = best
    return -1


@kernel
def improve_hard(order, distance, labels, indptr, neighbour, taken, max_sweeps):
    """Move groups to cheaper clusters as long as no cannot-link breaks; also swap linked pairs."""
    k = distance.shape[1]
    for _ in range(max_sweeps):
        moved = 0
        for t in range(order.shape[0]):
            i = order[t]
            for c in range(k):
                taken[c] = 0
            for p in range(indptr[i], indptr[i + 1]):
                taken[labels[neighbour[p]]] += 1
            old = labels[i]
            best = old
            for c in range(k):
                if taken[c] == 0 and distance[i, c] < distance[i, best]:
                    best = c
            if best != old:
                labels[i] = best
                moved += 1
                continue
            for p in range(indptr[i], indptr[i + 1]):
                j = neighbour[p]
                c = labels[j]
                # j alone keeps i out of c: let them change places if j may come here.
                if taken[c] != 1:
                    continue
                gain = distance[i, old] + distance[j, c] - distance[i, c] - distance[j, old]
                if gain <= 1e-12 * (abs(distance[i, old]) + abs(distance[j, c])):
                    continue
                free = True
                for q in range(indptr[j], indptr[j + 1]):
                    if neighbour[q] != i and labels[neighbour[q]] == old:
                        free = False
                if free:
                    labels[i], labels[j] = c, old
                    moved += 1
                    break
        if moved == 0:
            break
