"""Which answers are believed, against slow versions; and parts that follow their neighbors."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from linkwise.active import LabelOracle, QueryContext, Repair
from linkwise.active._label_spreading import are_large, follow_neighbors
from linkwise.active._parts import make_parts
from linkwise.active._repair_kernels import move_parts
from linkwise.active._repair_model import RepairModel, fold_history
from linkwise.active._wrong_answers import _contract, share_of_wrong

from .cases import blobs


def slow_contraction(n, evidence, closeness):
    """Join the two groups of largest weight and closeness, as long as that is positive."""
    label = np.arange(n)
    while True:
        best = (0.0, 0, 0)
        for x in np.unique(label).tolist():
            for y in np.unique(label[label > x]).tolist():
                across = [
                    (odds, closeness(min(pair), max(pair)))
                    for pair, odds in evidence.items()
                    if {int(label[pair[0]]), int(label[pair[1]])} == {x, y}
                ]
                if across:
                    odds, near = zip(*across, strict=True)
                    best = max(best, (sum(odds) + max(near), x, y))
        if best[0] <= 0:
            return label
        label[label == best[2]] = best[1]


@pytest.mark.parametrize("seed", range(20))
def test_contraction_joins_the_best_first(seed):
    rng = np.random.default_rng(seed)
    n = 12
    evidence = {}
    for _ in range(25):
        a, b = sorted(rng.choice(n, 2, replace=False).tolist())
        evidence[a, b] = float(rng.choice([-6, -3, 3, 6]))
    near = -rng.integers(0, 4, size=(n, n)) / 4

    def closeness(x, y):
        return float(near[x, y])

    found = _contract(np.arange(n), evidence, closeness)
    assert np.array_equal(found, slow_contraction(n, evidence, closeness))


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
    move_parts(
        found, np.flatnonzero(odds.any(axis=1)), told.indptr, told.indices, told.data,
        near.indptr, near.indices, near.data, 2.0, 0.05,
    )  # fmt: skip
    wanted = slow_moves(label.copy(), odds, affinity, 2.0, 0.05)
    assert np.array_equal(found[:, None] == found, wanted[:, None] == wanted)


def test_answers_that_nothing_tests_say_nothing_about_wrong_ones():
    untested = fold_history([(0, row, "same") for row in range(1, 40)])
    tested = fold_history([(a, b, "same") for a in range(9) for b in range(a)])
    at_first = share_of_wrong(fold_history([]), 0)
    assert share_of_wrong(untested, 39) == pytest.approx(at_first)
    assert share_of_wrong(tested, 36) < at_first / 3
    assert share_of_wrong(tested, 40) == pytest.approx(0.1, abs=0.02)  # 4 are not believed
    assert share_of_wrong(tested, 80) == 0.15


def test_the_state_after_answers_were_taken_back_is_that_of_the_rest():
    X, y = blobs(80, k=3, spread=1.0, seed=2)
    context, oracle = QueryContext(X), LabelOracle(y, noise=0.15, random_state=0)
    questions = Repair().questions(context)
    question = next(questions)
    for _ in range(70):
        said = oracle(*question)
        context.known.add(*question, said)
        question = questions.send(said)
    history = context.known.history
    model = RepairModel(X, 0, "auto")
    for n in (70, 66, 69, 61, 65):
        known, fresh = fold_history(history[:n]), RepairModel(X, 0, "auto")
        one, two = model.at(known), fresh.at(fold_history(history[:n]))
        assert np.array_equal(one.labels, two.labels)
        assert one.prediction == two.prediction


def test_neighbors_vote_as_in_the_dense_formula():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(20, 2)), rng.normal(size=(20, 2)) + 4])
    family = np.where(rng.random(40) < 0.15, 20, np.repeat([0, 20], 20))
    told = rng.random(40) < 0.2
    parts = make_parts(X, np.arange(40))
    dense, votes = parts.walk.toarray(), np.zeros((40, 2))
    votes[np.arange(40), (family == 20).astype(int)] = np.where(told, 1.0, 0.3)
    F = votes.copy()
    for _ in range(20):
        F = 0.9 * dense @ F + 0.1 * votes
    cluster, share = follow_neighbors(parts, family, told)
    assert np.array_equal(cluster, np.where(told, family, np.where(F[:, 1] > F[:, 0], 20, 0)))
    assert ((share >= 0) & (share <= 1)).all()
    assert (cluster != family).any()


def test_no_family_is_lost_to_its_neighbors():
    X = np.arange(10.0)[:, None]
    family = np.array([0, 0, 0, 0, 4, 0, 0, 0, 0, 0])
    cluster, _ = follow_neighbors(make_parts(X, np.arange(10)), family, np.zeros(10, dtype=bool))
    assert np.array_equal(cluster, family)


def test_no_family_is_lost_when_another_one_comes_back():
    """Part 0 would go to the family of parts 1 and 2, and these to the told parts 3 and 4."""
    walk = np.array(
        [
            [0.0, 1.0, 1.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.04, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.04],
            [0.0, 0.0, 0.0, 1.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 1.0],
        ]
    )
    family, told = np.array([0, 1, 1, 3, 4]), np.arange(5) > 2
    cluster, _ = follow_neighbors(SimpleNamespace(walk=walk), family, told)
    assert np.array_equal(cluster, family)


def test_rows_of_small_clusters_stay_in_the_tree():
    assert are_large(np.repeat([0, 30], 30))
    assert not are_large(np.repeat([0, 20, 40], 20))
    assert not are_large(np.zeros(10, dtype=int))
