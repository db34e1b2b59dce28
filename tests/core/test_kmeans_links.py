"""Loops over links against the same in plain Python."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment, linprog

from linkwise import _core

N, D, K = 40, 3, 4


def neighbors(ends, n, edges=False):
    indptr, neighbor = np.zeros(n + 1, np.uint32), np.empty(2 * len(ends), np.uint32)
    edge = np.empty(2 * len(ends) if edges else 0, np.uint32)
    _core.list_neighbors(ends, indptr, neighbor, edge)
    return indptr, neighbor, edge


def random_links(seed, n_must=25, n_cannot=30):
    """Ends (must-links first), lists, link of each entry and where cannot-links begin."""
    rng = np.random.default_rng(seed)
    every = np.array(list(itertools.combinations(range(N), 2)))
    ends = every[rng.choice(len(every), n_must + n_cannot, replace=False)].astype(np.int32)
    is_must = np.arange(len(ends)) < n_must
    indptr, neighbor, link = neighbors(ends, N, edges=True)
    musts = np.bincount(ends[:n_must].ravel(), minlength=N)
    return ends, is_must, (indptr, indptr[:-1] + musts.astype(np.uint32), neighbor), link


def random_cliques(seed):
    """Groups of each row, and members of each group."""
    rng = np.random.default_rng(seed)
    members = [np.sort(rng.choice(N, size, replace=False)) for size in (3, 5, 2)]
    rows = np.concatenate(members)
    group = np.repeat(np.arange(3), [len(part) for part in members])
    order = np.argsort(rows, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=N))])
    starts = np.concatenate([[0], np.cumsum([len(part) for part in members])])
    return (indptr, group[order], starts, rows, rng.random(3)), members


def slow_penalty(i, labels, ends, is_must, cost, cliques, members):
    """What the links of row i cost in each cluster; cost (m, k)."""
    penalty = np.zeros(K)
    for (a, b), must, here in zip(ends, is_must, cost, strict=True):
        if i not in (a, b):
            continue
        other = labels[b if a == i else a]
        if other < 0:
            continue
        if must:
            penalty += 0.5 * (here + here[other]) * (np.arange(K) != other)
        else:
            penalty[other] += here[other]
    for which, weight in zip(members, cliques[4], strict=True):
        for v in which if i in which else ():
            if v != i and labels[v] >= 0:
                penalty[labels[v]] += weight
    return penalty


def test_neighbors():
    for dtype in (np.int32, np.int64):
        ends = np.array([[0, 2], [1, 2], [3, 0]], dtype)
        indptr, neighbor, edge = neighbors(ends, 5, edges=True)
        assert indptr.tolist() == [0, 2, 3, 5, 6, 6]
        assert neighbor.tolist() == [2, 3, 2, 0, 1, 0]
        assert edge.tolist() == [0, 2, 1, 0, 1, 2]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_lengths_and_squares(dtype):
    rng = np.random.default_rng(0)
    X, pairs = rng.normal(size=(N, D)).astype(dtype), rng.integers(0, N, (30, 2))
    metrics, out = rng.random((2, D)), np.zeros((30, 2))
    away = X[pairs[:, 0]].astype(float) - X[pairs[:, 1]]
    _core.link_lengths(X, pairs, metrics, 0, 30, out)
    np.testing.assert_allclose(out, away**2 @ metrics.T)
    group, weight, total = rng.integers(0, 2, 30).astype(np.int32), rng.random(30), np.ones((2, D))
    _core.add_squares(X, pairs, group, weight, total)
    for g in range(2):
        np.testing.assert_allclose(total[g], 1 + weight[group == g] @ away[group == g] ** 2)


def test_violated_links():
    ends, is_must, _, _ = random_links(0)
    labels = np.random.default_rng(0).integers(-1, K, N).astype(np.int32)
    a, b = labels[ends].T
    wanted = np.flatnonzero(((a == b) != is_must) & ((a >= 0) | (b >= 0)))
    out = np.empty(len(ends), np.uint32)
    number = _core.list_violated(ends, is_must, labels, 0, len(ends), out)
    np.testing.assert_array_equal(out[:number], wanted)


@pytest.mark.parametrize("width", [1, K])
def test_signed_costs(width):
    ends, is_must, (indptr, _, _), link = random_links(0)
    cost = np.random.default_rng(0).random((len(ends), width))
    signed, total, dearest = np.zeros(len(link)), np.zeros(N), np.zeros(N)
    _core.signed_costs(indptr, link, is_must.sum(), cost, 0, N, signed, total, dearest)
    np.testing.assert_array_equal(signed, np.where(is_must, -1, 1)[link] * cost[link, 0])
    most = cost.max(axis=1)
    row = np.repeat(np.arange(N), np.diff(indptr.astype(int)))
    np.testing.assert_allclose(total, np.bincount(row, most[link], minlength=N))
    for i in range(N):
        assert dearest[i] == max(most[link[row == i]], default=0.0)


def test_rows_of_runs():
    wanted, out = np.random.default_rng(0).random(10) < 0.5, np.empty(10, np.int64)
    number = _core.rows_of_runs(np.array([2, 0, 1]), 4, wanted, out)
    order = np.array([8, 9, 0, 1, 2, 3, 4, 5, 6, 7])
    assert out[:number].tolist() == order[wanted[order]].tolist()
    for runs in ([3], [-1], [0, 0]):
        with pytest.raises(ValueError, match=r"linkwise\._core"):
            _core.rows_of_runs(np.array(runs), 4, wanted, out)


def test_apart_groups():
    cliques, members = random_cliques(0)
    labels = np.random.default_rng(0).integers(0, K, N).astype(np.int32)
    counts, out = np.zeros((3, K), np.int32), np.zeros(N)
    _core.count_members(cliques, labels, counts)
    wanted = np.array([np.bincount(labels[which], minlength=K) for which in members])
    np.testing.assert_array_equal(counts, wanted)
    _core.own_clique_costs(cliques, counts, labels, out)
    for i in range(N):
        here = sum(cliques[4][g] * (counts[g, labels[i]] - 1) for g in range(3) if i in members[g])
        assert out[i] == pytest.approx(here)


FORMS = ("flat", "signed", "each", "measure")


def with_costs(form, seed):
    """Costs of links as `icm` takes them, (m, k) costs of the same, and dearest."""
    rng = np.random.default_rng(seed)
    ends, is_must, lists, link = random_links(seed)
    flat = signed = each = measure = None
    if form == "flat":
        cost = np.where(is_must, 0.3, 0.8)[:, None]
        flat = np.array([-0.3, 0.8])
    elif form == "each":
        cost = rng.random((len(ends), K))
        each = (link, is_must, cost)
    elif form == "signed":
        cost = rng.random((len(ends), 1))
        signed = np.where(is_must, -1.0, 1.0)[link] * cost[link, 0]
    else:
        X, metric, weight = rng.normal(size=(2 * N, D)), rng.random(D), rng.random(len(ends))
        at, farthest = rng.choice(2 * N, N, replace=False), 3.0
        length = ((X[at[ends[:, 0]]] - X[at[ends[:, 1]]]) ** 2) @ metric
        cost = (weight * np.where(is_must, length, np.maximum(farthest - length, 0)))[:, None]
        signed = np.zeros(len(link))
        measure = (X, at, metric, weight[link], farthest, np.zeros(N, bool))
    row = np.repeat(np.arange(N), np.diff(lists[0].astype(int)))
    dearest, total = np.zeros(N), np.zeros(N)
    np.maximum.at(dearest, row, cost.max(axis=1)[link])
    np.add.at(total, row, cost.max(axis=1)[link])
    forms = (lists, flat, signed, each, measure)
    return forms, ends, is_must, np.broadcast_to(cost, (len(ends), K)), dearest, total


# Costs are not measured where there are apart groups.
@pytest.mark.parametrize(
    ("form", "apart"), [(form, apart) for form in FORMS for apart in (False, True)][:-1]
)
@pytest.mark.parametrize("seed", range(4))
def test_each_row_takes_its_cheapest_cluster(seed, form, apart):
    rng = np.random.default_rng(seed)
    forms, ends, is_must, cost, dearest, _ = with_costs(form, seed)
    cliques, members = random_cliques(seed)
    if apart:
        np.maximum.at(dearest, cliques[3], cliques[4].max())
    distance, order = rng.random((N, K)), rng.permutation(N)
    labels = rng.integers(0, K, N).astype(np.int32)
    wanted, change = labels.copy(), 0.0
    groups = members if apart else [[], [], []]
    for i in order:
        penalty = slow_penalty(i, wanted, ends, is_must, cost, cliques, groups)
        best = (distance[i] + penalty).argmin()
        change += penalty[best] - penalty[wanted[i]]
        wanted[i] = best
    before, counts = labels.copy(), np.zeros((3 if apart else 0, K), np.int32)
    if apart:
        _core.count_members(cliques, labels, counts)
    edge, moves = np.full(N, np.inf), np.zeros(N, np.uint16)
    state = (counts, dearest, labels, edge, moves, np.zeros(N, bool))
    given = (*forms, cliques if apart else None, *state)
    moved, told = _core.icm(order, np.arange(N), distance, *given)
    np.testing.assert_array_equal(labels, wanted)
    assert moved == (before != wanted).sum()
    assert told == pytest.approx(change)
    for _ in range(50):  # what is kept between visits does not hide a gain
        if not _core.icm(order, np.arange(N), distance, *given)[0]:
            break
    for i in range(N):
        penalty = slow_penalty(i, labels, ends, is_must, cost, cliques, groups)
        total = distance[i] + penalty
        assert total[labels[i]] <= total.min() + 1e-9


def components(ends, is_must):
    group = np.arange(N)
    for a, b in ends[is_must]:
        group[group == group[b]] = group[a]
    return np.unique(group, return_inverse=True)[1].astype(np.int32)


@pytest.mark.parametrize("is_new", [False, True])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(4))
def test_each_component_takes_its_cheapest_cluster(seed, form, is_new):
    rng = np.random.default_rng(seed)
    forms, ends, is_must, cost, _, total = with_costs(form, seed)
    group = components(ends, is_must)
    inside = group[ends[:, 0]] == group[ends[:, 1]]
    clashing = bool((inside & ~is_must).any())
    sizes = np.bincount(group)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    members = np.argsort(group, kind="stable")
    distance, order = 3 * rng.random((N, K)), rng.permutation(len(sizes))
    labels = np.full(N, -1, np.int32)
    if not is_new:
        labels = rng.integers(0, K, len(sizes)).astype(np.int32)[group]

    def objective(labels):
        a, b = labels[ends].T
        broken = ((a == b) != is_must) & (a >= 0) & (b >= 0)
        number = np.arange(len(ends))
        paid = 0.5 * (cost[number, a] + cost[number, b])[broken].sum()
        have = np.flatnonzero(labels >= 0)
        return distance[have, labels[have]].sum() + paid

    wanted = labels.copy()
    for g in order:
        tries = [np.where(group == g, c, wanted).astype(np.int32) for c in range(K)]
        worth = [objective(one) for one in tries]
        wanted = tries[int(np.argmin(worth))]
    state = (np.zeros((0, K), np.int32), total, np.full(len(sizes), np.inf), clashing, labels)
    edge, satisfied = np.full(N, np.inf), np.zeros(N, bool)
    moved = _core.icm_groups(
        order, (starts, members, group), distance, *forms, None, *state, edge, satisfied
    )
    np.testing.assert_array_equal(labels, wanted)
    assert moved >= 0


def test_bad_lists_are_refused():
    forms, *_, dearest, _ = with_costs("signed", 0)
    (indptr, middle, neighbor), flat, signed, each, measure = forms

    def run(lists=(indptr, middle, neighbor), signed=signed, **given):
        labels = given.get("labels", np.zeros(N, np.int32))
        order = given.get("order", np.arange(N))
        place = given.get("place", np.arange(N))
        return _core.icm(
            order, place, np.zeros((N, K)), lists, flat, signed, each, measure, None,
            np.zeros((0, K), np.int32), dearest.copy(), labels, np.full(N, np.inf),
            np.zeros(N, np.uint16), np.zeros(N, bool),
        )  # fmt: skip

    run()
    far = neighbor.copy()
    far[3] = N
    for bad in (
        {"lists": (indptr, middle, far)},
        {"lists": (indptr[:-1], middle, neighbor)},
        {"lists": (indptr, indptr[:-1] - 1, neighbor)},
        {"signed": signed[1:]},
        {"order": np.array([N])},
        {"place": np.arange(N) + 1},
        {"labels": np.full(N, K, np.int32)},
        {"labels": np.zeros(N - 1, np.int32)},
    ):
        with pytest.raises(ValueError, match=r"linkwise\._core"):
            run(**bad)


# -------------------------------------------------------------------- hard constraints


def test_costs_of_groups():
    rng = np.random.default_rng(0)
    distance, group = rng.random((N, K)), rng.integers(0, 7, N)
    group[:7] = np.arange(7)
    cost, nearest = np.empty((7, K)), np.empty(7, np.int32)
    _core.group_costs(distance, group, cost, nearest)
    wanted = np.array([distance[group == g].sum(axis=0) for g in range(7)])
    np.testing.assert_allclose(cost, wanted)
    np.testing.assert_array_equal(nearest, wanted.argmin(axis=1))


def test_cliques_are_assigned_at_the_least_cost():
    rng = np.random.default_rng(0)
    cost, members = rng.random((N, K)), rng.permutation(N)[:12]
    nearest, labels = cost.argmin(axis=1).astype(np.int32), np.full(N, -1, np.int32)
    starts = np.array([0, 4, 6, 9, 12])
    _core.assign_cliques(starts, members, cost, nearest, labels)
    for first, stop in itertools.pairwise(starts):
        which = members[first:stop]
        assert len(set(labels[which])) == len(which)
        row, column = linear_sum_assignment(cost[which])
        assert cost[which, labels[which]].sum() == pytest.approx(cost[which][row, column].sum())
    assert (np.delete(labels, members) == -1).all()
    with pytest.raises(ValueError, match="more members"):
        _core.assign_cliques(np.array([0, 5]), members, cost, nearest, labels)


def test_greedy_and_improved_assignment():
    rng = np.random.default_rng(0)
    every = np.array(list(itertools.combinations(range(N), 2)))
    ends = every[rng.choice(len(every), 30, replace=False)]
    indptr, neighbor, _ = neighbors(ends, N)
    cost, order = rng.random((N, K)), rng.permutation(N)
    labels = np.empty(N, np.int32)
    assert _core.greedy_hard(order, cost, labels, indptr, neighbor) == -1
    wanted = np.full(N, -1)
    for i in order:
        taken = wanted[neighbor[indptr[i] : indptr[i + 1]]]
        wanted[i] = min(set(range(K)) - set(taken), key=lambda c: cost[i, c])
    np.testing.assert_array_equal(labels, wanted)
    before, nearest = cost[np.arange(N), labels].sum(), cost.argmin(axis=1).astype(np.int32)
    _core.improve_hard(order, cost, nearest, labels, indptr, neighbor, 100)
    assert (labels[ends[:, 0]] != labels[ends[:, 1]]).all()
    assert cost[np.arange(N), labels].sum() <= before
    for i in range(N):  # no single move is left
        free = set(range(K)) - set(labels[neighbor[indptr[i] : indptr[i + 1]]])
        assert cost[i, labels[i]] == min(cost[i, c] for c in free)
    triangle = neighbors(np.array([[0, 1], [1, 2], [0, 2]]), 3)
    stuck = _core.greedy_hard(np.arange(3), cost[:3, :2].copy(), labels[:3], *triangle[:2])
    assert stuck == 2


# -------------------------------------------------------------------- limits on sizes


def no_links(n):
    none, zeros = np.zeros(0, np.int64), np.zeros(n + 1, np.int64)
    return zeros, none, np.zeros(0), zeros, none, np.zeros(1, np.int64), none, np.zeros(0)


@pytest.mark.parametrize("seed", range(5))
def test_shipping_is_the_optimum_of_the_linear_program(seed):
    rng = np.random.default_rng(seed)
    cost = rng.random((N, K))
    low, high = np.array([5, 0, 12, 3]), np.array([9, 11, 2**62, 8])
    labels, potential = cost.argmin(axis=1).astype(np.int32), np.zeros(K + 1)
    assert _core.ship(cost, labels, low, high, potential, no_links(N))
    sizes = np.bincount(labels, minlength=K)
    assert ((low <= sizes) & (sizes <= high)).all()
    load = np.tile(np.eye(K), N)
    found = linprog(
        cost.ravel(),
        A_ub=np.vstack([load, -load]),
        b_ub=np.concatenate([np.minimum(high, N), -low]),
        A_eq=np.kron(np.eye(N), np.ones(K)),
        b_eq=np.ones(N),
    )
    assert cost[np.arange(N), labels].sum() == pytest.approx(found.fun)
    price = potential[-1] - potential[:-1]
    at_price = (cost + price)[np.arange(N), labels]
    assert (at_price <= (cost + price).min(axis=1) + 1e-9).all()


def test_limits_that_cannot_be_met():
    labels, potential = np.zeros(3, np.int32), np.zeros(3)
    for low, high in (([2, 2], [9, 9]), ([0, 0], [1, 1])):
        limits = np.array(low), np.array(high)
        assert not _core.ship(np.zeros((3, 2)), labels, *limits, potential, no_links(3))


@pytest.mark.parametrize("seed", range(3))
def test_units_of_different_sizes_are_brought_within_limits(seed):
    rng = np.random.default_rng(seed)
    cost, size = rng.random((N, K)), rng.integers(1, 4, N).astype(float)
    low, high = np.full(K, size.sum() / K - 2), np.full(K, size.sum() / K + 2)
    labels = np.zeros(N, np.int32)
    assert _core.settle(cost, size, low, high, labels, no_links(N), 10_000) == 0
    load = np.bincount(labels, size, minlength=K)
    assert ((low <= load + 1e-9) & (load <= high + 1e-9)).all()


def test_prices():
    rng = np.random.default_rng(0)
    cost, size, price = rng.random((N, K)), rng.random(N), rng.random(K)
    labels, load = np.empty(N, np.int32), np.empty(K)
    total = _core.priced_labels(cost, size, price, labels, load)
    priced = cost + price * size[:, None]
    np.testing.assert_array_equal(labels, priced.argmin(axis=1))
    np.testing.assert_allclose(load, np.bincount(labels, size, minlength=K))
    assert total == pytest.approx(priced.min(axis=1).sum())


@pytest.mark.parametrize("form", FORMS[:3])
def test_costs_of_links(form):
    forms, ends, is_must, cost, _, _ = with_costs(form, 0)
    cliques, members = random_cliques(0)
    labels = np.random.default_rng(0).integers(-1, K, N).astype(np.int32)
    counts, out = np.zeros((3, K), np.int32), np.empty((N, K))
    _core.count_members(cliques, labels, counts)
    _core.link_costs(*forms[:4], cliques, counts, labels, out)
    for i in range(N):
        wanted = slow_penalty(i, labels, ends, is_must, cost, cliques, members)
        np.testing.assert_allclose(np.diff(out[i]), np.diff(wanted), atol=1e-12)
