"""Agglomeration of parts against SciPy and plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.cluster.hierarchy import fcluster, linkage

from linkwise import _core
from linkwise.active._merge_tree import ward_linkage

M = 40


def setting(seed):
    rng = np.random.default_rng(seed)
    center = rng.normal(size=(M, 3))
    return rng, center, ward_linkage(center, np.ones(M))


def grown(H, family=None, apart=None, pairs=None, size=None):
    family = np.arange(M) if family is None else family
    apart = np.zeros((M, M), bool) if apart is None else apart
    pairs = np.zeros((0, 2), np.int64) if pairs is None else pairs
    crossing, merges = np.zeros(len(pairs)), np.zeros((M, 6))
    size = np.ones(M) if size is None else size
    nearest = H.argmin(axis=1)
    n = _core.agglomerate(
        H.copy(), size, family, apart, nearest, H[np.arange(M), nearest], pairs, crossing, merges
    )
    return merges[:n], crossing


def labels_at(merges, n):
    root = np.arange(M)
    for i, j in merges[:n, :2].astype(int):
        root[root == j] = i
    return root


@pytest.mark.parametrize("seed", range(3))
def test_without_answers_it_is_ward(seed):
    _, center, H = setting(seed)
    merges, _ = grown(H)
    tree = linkage(center, "ward")
    np.testing.assert_allclose(np.sqrt(2 * merges[:, 2]), tree[:, 2])
    root = labels_at(merges, M - 5)
    wanted = fcluster(tree, 5, "maxclust")
    assert (np.equal.outer(root, root) == np.equal.outer(wanted, wanted)).all()


@pytest.mark.parametrize("seed", range(3))
def test_the_closest_allowed_nodes_merge(seed):
    rng, _, H = setting(seed)
    family, apart = np.arange(M), np.zeros((M, M), bool)
    family[[3, 9]] = 1
    for a, b in rng.integers(0, M, (12, 2)):
        if family[a] != family[b]:
            apart[family[a], family[b]] = apart[family[b], family[a]] = True
    pairs = rng.integers(0, M, (20, 2))
    before = family.copy(), apart.copy()
    merges, crossing = grown(H, family.copy(), apart.copy(), pairs)
    now, size, live = H.copy(), np.ones(M), list(range(M))
    kin, walls = before[0].copy(), before[1].copy()
    height = np.full((M, M), np.nan)
    members = {i: [i] for i in range(M)}
    for i, j, at, *_, same in merges:
        i, j = int(i), int(j)
        free = [
            (now[a, b], a, b) for a in live for b in live if a != b and not walls[kin[a], kin[b]]
        ]
        assert at == pytest.approx(min(free)[0])
        assert same == (kin[i] == kin[j])
        f, g = kin[i], kin[j]
        kin[kin == g] = f
        walls[f] |= walls[g]
        walls[:, f] |= walls[:, g]
        for a in members[i]:
            for b in members[j]:
                height[a, b] = height[b, a] = at
        members[i] += members.pop(j)
        live.remove(j)
        for k in live:
            if k != i:
                total = size[i] + size[j] + size[k]
                now[i, k] = now[k, i] = (
                    (size[i] + size[k]) * now[i, k] + (size[j] + size[k]) * now[j, k]
                    - size[k] * at
                ) / total  # fmt: skip
        size[i] += size[j]
    for (a, b), found in zip(pairs, crossing, strict=True):
        if not np.isnan(height[a, b]):
            assert found <= height[a, b] + 1e-12
    joined = _core.joining_merges(merges, M, pairs)
    for (a, b), q in zip(pairs, joined, strict=True):
        if a != b:
            assert (q < 0) == np.isnan(height[a, b])
            assert q < 0 or merges[q, 2] == height[a, b]
    n, root = _core.follow(merges.copy(), np.inf, *before)
    assert n == len(merges)
    np.testing.assert_array_equal(root, labels_at(merges, n))


def test_answers_that_outweigh_closeness_keep_nodes_apart():
    _, _, H = setting(0)
    merges, _ = grown(H)
    cut = float(merges[M - 5, 2])
    none = np.zeros((M, M))
    root = _core.agglomerate_softly(H.copy(), np.ones(M), none, cut, 1.0, np.log(cut), 1.5)
    np.testing.assert_array_equal(root, labels_at(merges, M - 4))
    i, j = merges[0, :2].astype(int)
    against = np.zeros((M, M))
    against[i, j] = against[j, i] = -5.0
    root = _core.agglomerate_softly(H.copy(), np.ones(M), against, cut, 1.0, np.log(cut), 1.5)
    assert root[i] != root[j]


def test_trees_that_name_a_part_twice_are_refused():
    pairs = np.array([[0, 1]])
    good = np.array([[0, 1, 1.0, 1, 1, 0], [0, 2, 2.0, 2, 1, 0]])
    assert _core.joining_merges(good, 3, pairs).tolist() == [0]
    for a, b in ((1, 2), (0, 1), (0, 3), (-1, 2), (2, 2)):
        bad = good.copy()
        bad[1, :2] = a, b
        with pytest.raises(ValueError, match="merges"):
            _core.joining_merges(bad, 3, pairs)


def slow_moves(label, odds, affinity, votes, least):
    """Each part with answers, in turn, to the cluster of largest worth, until none moves."""
    n = len(label)
    for _ in range(10):
        before = label.copy()
        for i in np.flatnonzero(odds.any(axis=1)):
            others = np.arange(n) != i
            worth = {-1: votes * np.log(least)}  # a cluster of its own
            for c in np.unique(label[others]).tolist():
                mine = others & (label == c)
                share = affinity[i, mine].sum() / max(affinity[i].sum(), 1e-300)
                worth[c] = odds[i, mine].sum() + votes * np.log(share + least)
            own = int(label[i]) if label[i] in label[others] else -1
            best = max(worth, key=worth.__getitem__)
            if worth[best] > worth[own]:
                label[i] = best if best >= 0 else np.setdiff1d(np.arange(n), label)[0]
        if np.array_equal(before, label):
            break
    return label


@pytest.mark.parametrize("seed", range(20))
def test_parts_move_where_answers_and_neighbors_speak_for(seed):
    rng = np.random.default_rng(seed)
    n = 14
    odds, affinity = np.zeros((n, n)), np.zeros((n, n))
    for scores, many in ((odds, 20), (affinity, 40)):
        for _ in range(many):
            a, b = rng.choice(n, 2, replace=False)
            scores[a, b] = scores[b, a] = rng.normal(scale=3)
    affinity = np.abs(affinity)
    label = rng.integers(0, 4, n)
    told, near = sparse.csr_array(odds), sparse.csr_array(affinity)
    found = label.copy()
    _core.move_parts(
        found, np.flatnonzero(odds.any(axis=1)), told.indptr, told.indices, told.data,
        near.indptr, near.indices, near.data, 2.0, 0.05,
    )  # fmt: skip
    wanted = slow_moves(label.copy(), odds, affinity, 2.0, 0.05)
    assert np.array_equal(found[:, None] == found, wanted[:, None] == wanted)
