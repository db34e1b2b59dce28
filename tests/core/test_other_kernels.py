"""Kernels of trees, metrics, mixtures and sessions against slow versions of their formulas."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.spatial.distance import cdist, squareform

from linkwise import _core

# -------------------------------------------------------------------- constraints


def random_triplets(seed, n, m):
    rng = np.random.default_rng(seed)
    return np.array([rng.choice(n, 3, replace=False) for _ in range(m)])


def build(items, triplets):
    """Aho's BUILD: nested sets, or None if no tree satisfies the triplets."""
    if len(items) == 1:
        return items[0]
    inside = [t for t in triplets if set(t) <= set(items)]
    place = {item: p for p, item in enumerate(items)}
    ends = np.array([[place[a], place[b]] for a, b, _ in inside]).reshape(-1, 2)
    graph = sparse.coo_matrix((np.ones(len(ends)), ends.T), shape=(len(items),) * 2)
    number, part = connected_components(graph, directed=False)
    if number == 1:
        return None
    below = [build([i for i in items if part[place[i]] == p], inside) for p in range(number)]
    return None if None in below else frozenset(below)


def nested(above, n):
    """The sets of a list of parents."""
    below = {v: [] for v in range(n, len(above))}
    top = None
    for v, parent in enumerate(above):
        if parent < 0:
            top = v
        else:
            below[parent + n].append(v)

    def sets(v):
        return v if v < n else frozenset(map(sets, below[v]))

    return sets(top)


@pytest.mark.parametrize("seed", range(30))
def test_one_tree(seed):
    n, m = 3 + seed % 8, 1 + seed // 2
    triplets = random_triplets(seed, n, m)
    above, alive = _core.split_down(triplets, n)
    wanted = build(list(range(n)), [tuple(t) for t in triplets.tolist()])
    if wanted is None:
        assert not len(above)
        assert alive.any()
    else:
        assert nested(above.tolist(), n) == wanted
        assert not alive.any()


def test_items_that_are_not_there_are_refused():
    for triplets, n in (([[0, 1, 2]], 2), ([[0, 0, 1]], 3), ([[0, 1, -1]], 3), ([[0, 1, 2]], 0)):
        with pytest.raises(ValueError, match="linkwise._core"):
            _core.split_down(np.array(triplets), n)


# -------------------------------------------------------------------- density, hierarchy


@pytest.mark.parametrize("seed", range(4))
def test_spanning_tree(seed):
    rng = np.random.default_rng(seed)
    n, size = 30, 4
    X = rng.normal(size=(n, 3))
    away = cdist(X, X, "sqeuclidean")
    neighbor = np.argsort(away, axis=1)[:, size].copy()
    core_wanted = away[np.arange(n), neighbor]
    ends, reach, distance = np.empty((n - 1, 2), np.int64), np.empty(n - 1), np.empty(n - 1)
    core = np.empty(n)
    _core.spanning_tree(X, neighbor, ends, reach, distance, core)
    np.testing.assert_allclose(core, core_wanted)
    mutual = np.maximum(away, np.maximum.outer(core, core))
    np.testing.assert_allclose(reach, mutual[tuple(ends.T)])
    np.testing.assert_allclose(distance, away[tuple(ends.T)])
    joined = sparse.coo_matrix((np.ones(n - 1), ends.T), shape=(n, n))
    assert connected_components(joined, directed=False)[0] == 1
    np.fill_diagonal(mutual, 0)
    assert reach.sum() == pytest.approx(minimum_spanning_tree(mutual).sum())


def condensed(seed, n):
    X = np.random.default_rng(seed).normal(size=(n, 2))
    return squareform(cdist(X, X), checks=False)


@pytest.mark.parametrize("seed", range(6))
def test_merging_under_triplets(seed):
    """Each merge is the closest of those after which some tree satisfies all triplets."""
    n = 8
    distance, rng = condensed(seed, n), np.random.default_rng(seed)
    place = rng.permutation(n)  # triplets of a random caterpillar: consistent
    picked = np.sort(random_triplets(seed, n, 6), axis=1)
    triplets = place[picked]
    children, height = np.empty((n - 1, 2), np.int64), np.empty(n - 1)
    none = np.zeros((0, 2), np.int64)
    good = _core.merge_clusters(
        distance.copy(), np.arange(n), triplets, none, np.full(n, -1), 0, 1, False, children, height
    )
    assert good
    full, parts = squareform(distance), {i: (i,) for i in range(n)}

    def consistent(parts):
        of = {v: name for name, members in parts.items() for v in members}
        named = [tuple(of[v] for v in t) for t in triplets.tolist()]
        open_ones = [t for t in named if t[0] != t[1]]
        if any(t[2] in t[:2] for t in open_ones):
            return False
        return build(list(parts), open_ones) is not None

    for t, (a, b) in enumerate(children.tolist()):
        allowed = []
        for x, y in itertools.combinations(parts, 2):
            merged = {k: v for k, v in parts.items() if k not in (x, y)}
            merged[n + t] = parts[x] + parts[y]
            # A satisfied triplet may not be broken: c stays outside of the union of a and b.
            if consistent(merged):
                allowed.append((full[np.ix_(parts[x], parts[y])].max(), {x, y}))
        best = min(allowed, key=lambda pair: pair[0])
        assert height[t] == pytest.approx(best[0])
        assert {a, b} == best[1]
        parts[n + t] = parts.pop(a) + parts.pop(b)


# -------------------------------------------------------------------- geometry


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_rows_of_length_one_and_products_of_pairs(dtype, index):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 6)).astype(dtype) * (rng.random((20, 6)) < 0.6)
    X[3] = 0
    weight = rng.random(6)
    lengths_wanted = np.sqrt((X.astype(float) ** 2 * weight).sum(axis=1))
    wanted = X / np.where(lengths_wanted > 0, lengths_wanted, 1)[:, None]
    lengths, out = np.empty(20), np.empty_like(X)
    _core.scale_rows_dense(X, weight, 0, 20, lengths, out)
    np.testing.assert_allclose(lengths, lengths_wanted, rtol=1e-6)
    np.testing.assert_allclose(out, wanted, rtol=1e-5)
    thin = sparse.csr_matrix(X)
    given = thin.data, thin.indices.astype(index), thin.indptr.astype(index)
    lengths, data = np.empty(20), np.empty_like(thin.data)
    for start, stop in ((0, 7), (7, 20)):
        _core.scale_rows_sparse(*given, weight, start, stop, lengths, data)
    np.testing.assert_allclose(lengths, lengths_wanted, rtol=1e-6)
    np.testing.assert_allclose(sparse.csr_matrix((data, *given[1:])).toarray(), wanted, rtol=1e-5)
    i, j = rng.integers(0, 20, (2, 30))
    products = np.empty(30)
    _core.pair_products(X, i, j, weight, products)
    np.testing.assert_allclose(products, (X[i].astype(float) * X[j] * weight).sum(axis=1), 1e-5)


def test_a_sweep_of_itml():
    """Algorithm 1 of Davis et al. 2007, steps 3.1 to 3.8, constraint by constraint."""
    rng = np.random.default_rng(0)
    d, m = 4, 12
    V, must, gamma = rng.normal(size=(m, d)), rng.random(m) < 0.5, rng.random(m) + 0.5
    A, slack, dual = np.eye(d), rng.random(m) + 0.5, rng.random(m)
    B, xi, lam = A.copy(), slack.copy(), dual.copy()
    _core.itml_sweep(A, V, must, gamma, slack, dual)
    for i, v in enumerate(V):
        p, delta = v @ B @ v, 1.0 if must[i] else -1.0
        step = delta * gamma[i] / (gamma[i] + 1) * (1 / p - 1 / xi[i])
        alpha = min(lam[i], step)
        beta = delta * alpha / (1 - delta * alpha * p)
        xi[i] = gamma[i] * xi[i] / (gamma[i] + delta * alpha * xi[i])
        lam[i] -= alpha
        B = B + beta * np.outer(B @ v, B @ v)
    np.testing.assert_allclose(A, B)
    np.testing.assert_allclose(slack, xi)
    np.testing.assert_allclose(dual, lam)


# -------------------------------------------------------------------- mixture


def test_sums_over_the_labels_of_a_component():
    """A cycle of four nodes, one of them in the cutset, and a node alone."""
    rng = np.random.default_rng(0)
    k, potential = 3, rng.normal(size=(5, 3))
    penalty = {(0, 1): 0.7, (1, 2): np.inf, (2, 3): 1.3, (0, 3): 0.4}
    sums, marginal = np.empty(2), np.empty((5, k))
    _core.sum_components(
        np.array([0, 4, 5]), np.array([1, 0]),  # node 0 is the cutset, 1 - 2 - 3 a path
        np.array([-1, -1, 1, 2, -1]), np.array([0, 0, np.inf, 1.3, 0]),
        np.array([0, 2, 2]), np.array([0, 0]), np.array([1, 3]), np.array([0.7, 0.4]),
        potential, sums, marginal,
    )  # fmt: skip
    total, shares = 0.0, np.zeros((4, k))
    for labels in itertools.product(range(k), repeat=4):
        paid = sum(cost for (a, b), cost in penalty.items() if labels[a] == labels[b])
        weight = np.exp(potential[np.arange(4), labels].sum() - paid)
        total += weight
        shares[np.arange(4), labels] += weight
    np.testing.assert_allclose(sums, [np.log(total), np.log(np.exp(potential[4]).sum())])
    np.testing.assert_allclose(marginal[:4], shares / total, atol=1e-12)


def test_mean_field():
    rng = np.random.default_rng(0)
    n, k = 6, 3
    cost = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.5), 1)
    graph, potential = sparse.csr_matrix(cost + cost.T), rng.normal(size=(n, k))
    marginal = np.full((n, k), 1 / k)
    bound = _core.mean_field(
        graph.indptr.astype(np.int64), graph.indices.astype(np.int64), graph.data, potential,
        marginal, 500, 1e-12,
    )  # fmt: skip
    q = np.full((n, k), 1 / k)
    for _ in range(500):
        for i in range(n):
            value = np.exp(potential[i] - graph[i].toarray().ravel() @ q)
            q[i] = value / value.sum()
    np.testing.assert_allclose(marginal, q, atol=1e-9)
    paid = 0.5 * sum(graph[i, j] * (q[i] @ q[j]) for i in range(n) for j in range(n))
    assert bound == pytest.approx((q * (potential - np.log(q))).sum() - paid)
    every = [
        np.exp(potential[np.arange(n), c].sum() - sum(
            cost[a, b] for a, b in itertools.combinations(range(n), 2) if c[a] == c[b]
        ))
        for c in itertools.product(range(k), repeat=n)
    ]  # fmt: skip
    assert bound <= np.log(sum(every)) + 1e-9


# -------------------------------------------------------------------- sessions


def test_parts_move_to_the_clusters_of_their_answers_and_neighbors():
    rng = np.random.default_rng(0)
    m, votes, least = 12, 1.5, 0.05

    def lists(density):
        value = np.triu(rng.normal(size=(m, m)) * (rng.random((m, m)) < density), 1)
        return sparse.csr_matrix(value + value.T)

    odds, affinity = lists(0.3), lists(0.5)
    affinity.data = np.abs(affinity.data)
    label, told = rng.integers(0, 4, m), np.arange(m)

    def worth(label, i, c):
        said = sum(odds[i, j] for j in range(m) if label[j] == c)
        near = affinity[i].toarray().ravel()
        heard = near[label == c].sum() / (near.sum() + 1e-300)
        return said + votes * np.log(heard + least)

    wanted = label.copy()
    for _ in range(10):
        for i in range(m):
            own = wanted[i]
            known = {wanted[j] for j in range(m) if odds[i, j] or affinity[i, j]}
            alone = votes * np.log(least)
            here = worth(wanted, i, own) if (wanted == own).sum() > 1 else alone
            values = {c: worth(wanted, i, c) for c in known - {own}}
            top = max([here, alone, *values.values()])
            if top > here and top == alone:
                wanted[i] = np.bincount(wanted, minlength=m).argmin()
            elif top > here:
                wanted[i] = max(values, key=values.get)
    lists64 = [
        (g.indptr.astype(np.int64), g.indices.astype(np.int64), g.data) for g in (odds, affinity)
    ]
    _core.move_parts(label, told, *lists64[0], *lists64[1], votes, least)
    np.testing.assert_array_equal(label, wanted)
