"""Apart groups in the k-means family, against written-out pairs and brute force."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from linkwise import ConstraintError, Constraints, COPKMeans, MPCKMeans, PCKMeans, _core
from linkwise.kmeans.solver._link_graph import LinkGraph


def photos(n=120, k=6, size=4, seed=0):
    rng = np.random.default_rng(seed)
    y = np.concatenate([rng.permutation(k)[:size] for _ in range(n // size)])
    X = rng.normal(size=(k, 3))[y] * 2 + rng.normal(size=(n, 3))
    return X, y, np.repeat(np.arange(n // size), size)


def written_out(photo):
    pairs = [p for g in np.unique(photo) for p in combinations(np.flatnonzero(photo == g), 2)]
    return Constraints(cannot_link=pairs)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(5, 7))
def test_a_clique_is_an_assignment_problem(seed, size, k):
    rng = np.random.default_rng(seed)
    cost = rng.random((3 * size, k)).round(1)  # with ties
    starts, members = np.arange(0, 3 * size + 1, size), rng.permutation(3 * size)
    labels = np.full(3 * size, -1, np.int32)
    _core.assign_cliques(starts, members, cost, cost.argmin(axis=1).astype(np.int32), labels)
    for g in range(3):
        rows = members[starts[g] : starts[g + 1]]
        assert len(set(labels[rows])) == size
        best = cost[rows][linear_sum_assignment(cost[rows])].sum()
        assert cost[rows, labels[rows]].sum() == pytest.approx(best)


def test_costs_of_groups_are_those_of_their_pairs():
    _, _, photo = photos()
    labels = np.random.default_rng(0).integers(0, 6, len(photo))
    known = Constraints(apart=photo, apart_weight={3: 2.0})
    of_groups = LinkGraph.of(known).clique_costs(labels, 6)
    pairs = known.as_pairs()
    broken = labels[pairs.cannot_link[:, 0]] == labels[pairs.cannot_link[:, 1]]
    assert of_groups.sum() == pytest.approx(pairs.cannot_link_weight[broken].sum())


@pytest.mark.parametrize("weight", [0.3, 3.0])
@pytest.mark.parametrize("must", [[], [(0, 4), (1, 5), (4, 8)]])
def test_pck_with_groups_equals_pck_with_pairs(weight, must):
    X, _, photo = photos()
    known = Constraints(must_link=must, apart=photo, apart_weight=weight)
    fits = [
        PCKMeans(6, init="k-means++", random_state=0, n_init=1).fit(X, constraints=c)
        for c in (known, known.as_pairs())
    ]
    assert (fits[0].labels_ == fits[1].labels_).all()
    assert fits[0].objective_ == pytest.approx(fits[1].objective_)
    assert fits[0].report_.costs.sum() == pytest.approx(fits[1].report_.costs.sum())
    assert (np.diff(fits[0].objective_path_) <= 1e-9 * abs(fits[0].objective_)).all()
    assert fits[0].report_.satisfaction.apart.shape == (30,)


def test_cop_keeps_groups_and_is_no_worse_than_with_pairs():
    X, _, photo = photos()
    known = Constraints(apart=photo)
    mine = COPKMeans(6, random_state=0).fit(X, constraints=known)
    theirs = COPKMeans(6, random_state=0).fit(X, constraints=known.as_pairs())
    assert known.satisfied(mine.labels_)
    assert mine.objective_ <= theirs.objective_ * 1.01


def test_cop_with_groups_that_share_rows_and_other_links():
    X, y, photo = photos()
    known = Constraints(apart=photo) + Constraints(apart=[(0, 4 + int(y[4] == y[0]), 9)])
    same = [tuple(np.flatnonzero(y == c)[:2].tolist()) for c in range(3)]
    known = known + Constraints(must_link=same)
    model = COPKMeans(6, random_state=0, n_init=2).fit(X, constraints=known)
    assert known.satisfied(model.labels_)


def test_groups_larger_than_k_and_contradictions_are_proved():
    X, _, photo = photos()
    with pytest.raises(ConstraintError, match="use at least 4"):
        COPKMeans(3, random_state=0).fit(X, constraints=Constraints(apart=photo))
    both = Constraints(together=[(0, 1)], apart=photo)
    with pytest.raises(ConstraintError, match="group 0"):
        COPKMeans(6, random_state=0).fit(X, constraints=both)
    relaxed = COPKMeans(6, on_infeasible="relax", random_state=0).fit(X, constraints=both)
    assert relaxed.report_.satisfaction.n_violated >= 1
    PCKMeans(6, random_state=0).fit(X, constraints=both)  # at a cost


def test_other_methods_write_groups_out():
    X, _, photo = photos()
    known = Constraints(apart=photo)
    one, other = (
        MPCKMeans(6, random_state=0).fit(X, constraints=c) for c in (known, known.as_pairs())
    )
    assert (one.labels_ == other.labels_).all()
    big = Constraints(apart=[range(10_000)])
    with pytest.raises(ConstraintError, match="PCKMeans and COPKMeans take groups"):
        MPCKMeans(6).fit(np.zeros((10_000, 1)), constraints=big)


def test_no_row_of_many_groups_gains_by_moving():
    X, _, photo = photos(n=2400)
    model = PCKMeans(6, penalty="weight", random_state=0, n_init=1, tol=0, init=X[:6])
    model.fit(X, constraints=Constraints(apart=photo, apart_weight=2.0))
    labels = model.labels_
    cost = ((X[:, None] - model.cluster_centers_) ** 2).sum(axis=2)
    members = np.zeros((photo.max() + 1, 6))
    np.add.at(members, (photo, labels), 1)
    cost += 2.0 * members[photo]
    cost[np.arange(len(X)), labels] -= 2.0  # the row itself
    assert (cost[np.arange(len(X)), labels] <= cost.min(axis=1) + 1e-9).all()
    path = model.objective_path_
    assert (np.diff(path) <= 1e-9 * path[:-1]).all()


def test_groups_that_share_a_pair_are_reported_each():
    X, y, _ = photos()
    a, b, c = (int(np.flatnonzero(y == label)[0]) for label in range(3))
    known = Constraints(must_link=[(a, a + 50), (a, a + 60)], apart=[[a, b], [a, b, c]])
    costs = PCKMeans(6, random_state=0).fit(X, constraints=known).report_.costs
    assert costs.shape == (2 + 2,)
    assert (costs >= 0).all()
