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
def _tile_costs(tile, slope, curve, bias, c, cost):
    """Costs of a tile's rows in cluster c."""
    for r in range(_ROWS):
        cost[r] = bias[c]
    if curve.size == 0:
        _add_linear(tile, slope, c, cost)
        return
    for f in range(slope.shape[0]):
        s, q = slope[f, c], curve[f, c]
        for r in range(_ROWS):
            cost[r] += tile[f, r] * (s + q * tile[f, r])


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
def costs_dense(X, shift, rows, slope, curve, bias, own, start, stop, out):
    """Costs of chosen rows in all clusters; `own` (d,) or (0,) adds what all clusters share.

    IN      rows (m,), of which start..stop are looked at
    OUT     out (m, k)
    """
    n_features, k = slope.shape
    tile = np.zeros((n_features, _ROWS), slope.dtype)
    cost = np.empty(_ROWS, slope.dtype)
    norm = np.zeros(_ROWS, slope.dtype)
    for first in range(start, stop, _ROWS):
        m = min(_ROWS, stop - first)
        for r in range(m):
            i = rows[first + r]
            for f in range(n_features):
                tile[f, r] = X[i, f] - shift[f]
        if own.size:
            _tile_norms(tile, own, norm)
        for c in range(k):
            _tile_costs(tile, slope, curve, bias, c, cost)
            for r in range(m):
                out[first + r, c] = cost[r] + norm[r]


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
    """`assign_dense` under a shared diagonal metric, passing over rows whose centre stays nearest.

    Hamerly's bounds: `upper` is at least the distance to the own centre and `lower` at most that
    to any other. Both are loosened by how far centres have moved (`drift`; `most` is the largest,
    of centre `which`, `second` the next), and scaled by how much a change of the metric may have
    stretched or shrunk distances. Rows whose bounds cross get their own distance anew, and only
    if they still cross are all centres looked at.

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
    """Distance of row i to centre c under a diagonal metric, rounded up."""
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
def costs_sparse(data, indices, indptr, rows, slope, curve, bias, own, start, stop, out):
    """`costs_dense` for rows of a CSR matrix."""
    k = slope.shape[1]
    for t in range(start, stop):
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


# -------------------------------------------------------------------- links


@kernel
def fill_adjacency(ends, indptr, neighbour, edge):
    """List the neighbours of each vertex and the edges to them, lower edges first.

    IN      ends (m, 2)
    OUT     indptr (n_vertices + 1,), zeros at first; neighbour (2 m,), edge (2 m,)
    """
    n_edges, n_vertices = ends.shape[0], indptr.shape[0] - 1
    for e in range(n_edges):
        indptr[ends[e, 0]] += 1
        indptr[ends[e, 1]] += 1
    total = 0
    for v in range(n_vertices):
        total += indptr[v]
        indptr[v] = total
    indptr[n_vertices] = total
    for e in range(n_edges - 1, -1, -1):
        for side in (1, 0):
            v = ends[e, side]
            indptr[v] -= 1
            neighbour[indptr[v]] = ends[e, 1 - side]
            edge[indptr[v]] = e


@kernel
def violations(ends, is_must, labels, cost, clusters):
    """Total cost of violated links: the mean of a link's entries for the clusters of its ends.

    IN      cost (m, 1), or (m, k) where `clusters`
    """
    total = 0.0
    for e in range(ends.shape[0]):
        a, b = labels[ends[e, 0]], labels[ends[e, 1]]
        if (a == b) != is_must[e]:
            total += 0.5 * (cost[e, a] + cost[e, b]) if clusters else cost[e, 0]
    return total


@kernel
def signed_costs(link, is_must, cost, signed):
    """What being together costs at each entry of the adjacency: less than nothing if it must be.

    IN      cost (m, 1)
    OUT     signed (2 m,)
    """
    for p in range(link.shape[0]):
        signed[p] = -cost[link[p], 0] if is_must[link[p]] else cost[link[p], 0]


@kernel
def _add_penalty(penalty, b, must, cost, number):
    """Add what a link to a row in cluster b costs in each cluster.

    A must-link between two clusters costs the mean of both.
    """
    if not must:
        penalty[b] += cost[number, b]
        return
    for c in range(penalty.shape[0]):
        if c != b:
            penalty[c] += 0.5 * (cost[number, c] + cost[number, b])


# One cost for all clusters stands in `signed`: being elsewhere costs the same everywhere, so that
# being together is rewarded instead.


@kernel
def icm(
    order, place, distance, indptr, neighbour, signed, link, is_must, cost, labels, edge, stale
):
    """Iterated conditional modes: each row in turn takes its cheapest cluster.

    IN      order (m,) of the rows to look at; place (n,) of each row in distance (m, k)
    IN/OUT  labels (n,); edge (n,): by how much links make the present cluster dearer than the
            next one, unless `stale` (n,), since neighbours have moved

    Returns how many moved, and by how much that changed what violated links cost.
    """
    k = distance.shape[1]
    penalty = np.zeros(k)
    moved = 0
    change = 0.0
    for s in range(order.shape[0]):
        i = order[s]
        t, old = place[i], labels[i]
        other = np.inf
        for c in range(k):
            penalty[c] = 0.0
            if c != old:
                other = min(other, distance[t, c])
        if not stale[i] and distance[t, old] + edge[i] < other:
            continue
        if signed.size:
            for p in range(indptr[i], indptr[i + 1]):
                b = labels[neighbour[p]]
                if b >= 0:
                    penalty[b] += signed[p]
        else:
            for p in range(indptr[i], indptr[i + 1]):
                b = labels[neighbour[p]]
                if b >= 0:
                    _add_penalty(penalty, b, is_must[link[p]], cost, link[p])
        best = max(old, 0)
        for c in range(k):
            if distance[t, c] + penalty[c] < distance[t, best] + penalty[best]:
                best = c
        other = np.inf
        for c in range(k):
            if c != best:
                other = min(other, penalty[c])
        edge[i] = penalty[best] - other
        stale[i] = False
        if best == old:
            continue
        labels[i] = best
        moved += 1
        change += penalty[best] - penalty[max(old, 0)]
        for p in range(indptr[i], indptr[i + 1]):
            stale[neighbour[p]] = True
    return moved, change


@kernel
def crossed_bounds(
    labels,
    known,
    upper,
    lower,
    stretch,
    shrink,
    drift,
    most,
    second,
    which,
    slack,
    start,
    stop,
    out,
):
    """List those of rows start..stop that might be cheaper in another cluster; returns how many.

    Hamerly's bounds as in `assign_bounded`, with room for what links can add.

    IN      known (n,): labels that the bounds are for; slack (n,): the most by which links can
            make the present cluster dearer than another
    IN/OUT  upper, lower (n,)
    OUT     out (n,), from `start` on
    """
    number = 0
    for i in range(start, stop):
        a = labels[i]
        if a == known[i]:
            upper[i] = upper[i] * stretch + drift[a]
            lower[i] = max(lower[i] * shrink - (second if a == which else most), 0.0)
            if upper[i] * upper[i] + slack[i] < lower[i] * lower[i]:
                continue
        out[start + number] = i
        number += 1
    return number


@kernel
def wavering_rows(
    rows, cost, slack, labels, log_det, beyond, margin, start, stop, known, upper, lower, out
):
    """List those rows that links could move, given their costs; returns how many. Notes bounds.

    IN      rows (m,), of which start..stop are looked at; cost (m, k): for bounds, squared
            distances less `log_det`, up to a rounding error of `margin` times (distance + beyond);
            slack (n,) and labels (n,) as in `crossed_bounds`
    OUT     known, upper, lower (n,), or (0,) where there are no bounds; out (m,), from `start` on
    """
    k = cost.shape[1]
    number = 0
    for t in range(start, stop):
        i = rows[t]
        a = labels[i]
        other = np.inf
        for c in range(k):
            if c != a:
                other = min(other, cost[t, c])
        if not cost[t, a] + slack[i] < other:
            out[start + number] = i
            number += 1
        if known.size:
            own = max(cost[t, a] + log_det, 0.0)
            error = margin * (own + beyond)
            known[i] = a
            upper[i] = np.sqrt(own + error)
            lower[i] = np.sqrt(max(other + log_det - error, 0.0))
    return number


@kernel
def icm_groups(
    order, starts, members, group, distance, indptr, neighbour, signed, link, is_must, cost, labels
):
    """One sweep in which whole must-link components take their cheapest cluster.

    Single rows cannot leave a component one by one without breaking links; together they can.
    Costs are summed over neighbours afresh, so that heavy links inside a group do not drown light
    ones outside.

    IN      order of the groups; members of group g are members[starts[g]:starts[g + 1]];
            group (n,) of each row
    IN/OUT  labels (n,)
    """
    k = distance.shape[1]
    total = np.empty(k)
    moved = 0
    for t in range(order.shape[0]):
        g = order[t]
        total[:] = 0.0
        now = 0.0
        together = 0.0
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
                b = labels[neighbour[p]]
                if b < 0:
                    continue
                inside = group[neighbour[p]] == g
                share = 0.5 if inside else 1.0  # links inside are met from both ends
                if signed.size:
                    if inside:
                        together += 0.5 * signed[p]
                    else:
                        total[b] += signed[p]
                    if a == b:  # the same terms for the present labels
                        now += share * signed[p]
                    continue
                number = link[p]
                if not inside:
                    _add_penalty(total, b, is_must[number], cost, number)
                elif not is_must[number]:  # a contradiction: broken wherever the group goes
                    for c in range(k):
                        total[c] += 0.5 * cost[number, c]
                if a >= 0 and (a == b) != is_must[number]:
                    now += share * 0.5 * (cost[number, a] + cost[number, b])
        best = 0
        for c in range(1, k):
            if total[c] < total[best]:
                best = c
        after = total[best] + together
        if assigned and not after < now - 1e-10 * (abs(now) + abs(after)):
            continue
        for q in range(starts[g], starts[g + 1]):
            moved += labels[members[q]] != best
            labels[members[q]] = best
    return moved


# -------------------------------------------------------------------- hard constraints


@kernel
def group_costs(distance, group, cost, nearest):
    """What each group of rows costs in each cluster, and where it costs least.

    IN      distance (n, k); group (n,) of each row
    OUT     cost (m, k), nearest (m,)
    """
    n_groups, k = cost.shape
    cost[:] = 0.0
    for i in range(group.shape[0]):
        for c in range(k):
            cost[group[i], c] += distance[i, c]
    for g in range(n_groups):
        nearest[g] = 0
        for c in range(1, k):
            if cost[g, c] < cost[g, nearest[g]]:
                nearest[g] = c


@kernel
def total_cost(cost, labels):
    """Sum of what each group costs in its cluster."""
    total = 0.0
    for g in range(labels.shape[0]):
        total += cost[g, labels[g]]
    return total


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
