"""COPKMeans: every constraint kept, no dead ends, proofs, and the least violated weight."""

from __future__ import annotations

from contextlib import nullcontext, suppress
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwise import ConstraintError, Constraints, COPKMeans
from linkwise.geometry import Mahalanobis
from linkwise.kmeans.rows._local_rows import LocalRows
from linkwise.kmeans.solver import _hard
from linkwise.kmeans.solver._assigners import ConstrainedCosts
from linkwise.kmeans.solver._problem import Problem
from tests.reference import (
    best_partition,
    colorable,
    components,
    labelings,
    sum_of_squares,
    violated_weight,
)
from tests.strategies import pairs

from .cases import weighted_links

MODES = ["auto", "greedy", "exact"]


def feasible(n: int, k: int, must: list, cannot: list) -> bool:
    part = components(n, [link[:2] for link in must])
    edges = [(part[i], part[j]) for i, j, *_ in cannot]
    if any(a == b for a, b in edges):
        return False
    names = sorted(set(part))
    return colorable(len(names), [(names.index(a), names.index(b)) for a, b in edges], k)


@pytest.mark.parametrize("mode", ["auto", "exact"])
@given(must=pairs(9, 5), cannot=pairs(9, 12), k=st.integers(1, 4), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_every_constraint_is_kept_or_refused_with_proof(mode, must, cannot, k, seed):
    X = np.random.default_rng(seed).normal(size=(9, 2))
    known = Constraints(must_link=must, cannot_link=cannot)
    model = COPKMeans(k, assignment=mode, n_init=2, random_state=0)
    if feasible(9, k, must, cannot):
        model.fit(X, constraints=known)
        assert known.satisfied(model.labels_)
        assert model.report_.satisfaction.n_violated == 0
        assert (model.labels_ >= 0).all()
        assert (model.labels_ < k).all()
    else:
        with pytest.raises(ConstraintError):
            model.fit(X, constraints=known)


@pytest.mark.parametrize("n_links", [50, 400, 3000])
@pytest.mark.parametrize("mode", MODES)
def test_true_constraints_on_larger_data(mode, n_links):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, 400)
    X = rng.normal(size=(400, 3))  # the data tells nothing of the classes
    known = Constraints.from_labels(y, n_links, random_state=0)
    model = COPKMeans(5, assignment=mode, n_init=1, random_state=0)
    with suppress(ConstraintError) if mode == "greedy" else nullcontext():  # it may give up
        model.fit(X, constraints=known)
        assert known.satisfied(model.labels_)


def random_case(seed: int) -> tuple:
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(5, 8)), int(rng.integers(2, 4))
    X = rng.normal(size=(n, 2))
    every = list(combinations(range(n), 2))
    rng.shuffle(every)
    drawn = [(int(i), int(j), 1.0) for i, j in every[: rng.integers(2, 9)]]
    n_must = int(rng.integers(0, 3))
    return X, k, drawn[:n_must], drawn[n_must:]


def test_exact_finds_the_optimum_of_most_small_cases_and_never_beats_it():
    found = tried = 0
    for seed in range(30):
        X, k, must, cannot = random_case(seed)
        best = best_partition(X, k, must, cannot)
        if best is None:
            continue
        model = COPKMeans(k, assignment="exact", n_init=8, random_state=0)
        model.fit(X, constraints=Constraints(must_link=must, cannot_link=cannot))
        assert model.objective_ == pytest.approx(sum_of_squares(X, model.labels_), abs=1e-9)
        assert model.objective_ >= best * (1 - 1e-9) - 1e-12
        tried += 1
        found += model.objective_ <= best * (1 + 1e-6) + 1e-12
    assert tried >= 15
    assert found >= 0.9 * tried


@pytest.mark.parametrize("seed", range(5))
def test_the_exact_assignment_is_the_cheapest(seed):
    # One iteration from given centers: brute force over all assignments to them.
    X, k, must, cannot = random_case(seed + 100)
    while not feasible(len(X), k, must, cannot):
        cannot = cannot[:-1]
    init = np.random.default_rng(seed).normal(size=(k, 2))
    distance = ((X[:, None] - init) ** 2).sum(axis=2)
    everyone = np.arange(len(X))
    best = min(
        distance[everyone, x].sum()
        for x in labelings(len(X), k)
        if violated_weight(x, must, cannot) == 0
    )
    known = Constraints(must_link=must, cannot_link=cannot)
    labels = assigned_exactly(X, k, known, init)
    assert violated_weight(labels, must, cannot) == 0
    assert distance[everyone, labels].sum() == pytest.approx(best, rel=1e-6)


def assigned_exactly(X, k, known, init) -> np.ndarray:
    """The final exact assignment to fixed centers."""
    model = COPKMeans(k, assignment="exact")
    preset = model._preset(Problem(LocalRows(X), k, known))
    problem, assign = preset.problem, preset.assigner()
    centers_cost = ((X[:, None] - init) ** 2).sum(axis=2)
    labels = centers_cost.argmin(axis=1)
    geometry = Mahalanobis(k, problem.rows.total(), len(X))
    geometry.set_centers(init - problem.rows.shift)
    mine = ConstrainedCosts(problem.rows, assign.rows, geometry)
    now = np.full(len(assign.rows), -1, dtype=np.int32)
    rng = np.random.RandomState(0)
    for _ in range(3):  # exact solving waits until greedy has settled
        now, _ = assign(mine, now, np.zeros((0, 1)), rng)
    labels[assign.rows] = now
    return labels


# -------------------------------------------------------------------- dead ends


def crown(n: int) -> list:
    """2 n vertices in two rows, each apart from all of the other row but its partner."""
    return [(i, n + j) for i in range(n) for j in range(n) if i != j]


@pytest.mark.parametrize("mode", ["auto", "exact"])
def test_crown_graphs_never_dead_end(mode):
    # Partners lie together, so greedy choices by distance pair them up and run out of clusters.
    n = 5
    at = np.arange(n, dtype=float)
    X = np.concatenate([np.column_stack([at, at]), np.column_stack([at, at]) + 1e-3])
    known = Constraints(cannot_link=crown(n))
    for seed in range(5):
        model = COPKMeans(2, assignment=mode, n_init=1, random_state=seed)
        model.fit(X, constraints=known)
        assert known.satisfied(model.labels_)


def test_where_greedy_finds_no_way_exact_does(monkeypatch):
    monkeypatch.setattr(_hard, "_RESTARTS", 0)
    X = np.random.default_rng(0).normal(size=(10, 2))
    known = Constraints(cannot_link=crown(5), must_link=[(0, 1)])
    with pytest.raises(ConstraintError, match='assignment="auto" or "exact"'):
        COPKMeans(2, assignment="greedy").fit(X, constraints=known)
    for mode in ("auto", "exact"):
        model = COPKMeans(2, assignment=mode, random_state=0).fit(X, constraints=known)
        assert known.satisfied(model.labels_)


def test_rings_that_need_every_color():
    n = 61  # an odd ring needs three clusters
    X = np.random.default_rng(0).normal(size=(n, 2))
    known = Constraints(cannot_link=[(i, (i + 1) % n) for i in range(n)])
    for mode in ("auto", "exact"):
        model = COPKMeans(3, assignment=mode, n_init=2, random_state=0).fit(X, constraints=known)
        assert known.satisfied(model.labels_)


def test_a_cluster_for_every_row():
    X = np.random.default_rng(0).normal(size=(6, 2))
    known = Constraints(cannot_link=list(combinations(range(6), 2)))
    labels = COPKMeans(6, random_state=0).fit_predict(X, constraints=known)
    assert len(set(labels.tolist())) == 6


# -------------------------------------------------------------------- proofs

X12 = np.random.default_rng(0).normal(size=(12, 2))


def test_proof_of_a_contradiction():
    known = Constraints(must_link=[(0, 4), (4, 7)], cannot_link=[(0, 7)])
    with pytest.raises(ConstraintError, match=r"0-4-7 must be together, but 0 and 7 must be apart"):
        COPKMeans(3).fit(X12, constraints=known)


def test_proof_by_clique():
    known = Constraints(cannot_link=list(combinations([1, 3, 5, 7], 2)))
    with pytest.raises(ConstraintError, match=r"n_clusters=3 is too small.*at least 4"):
        COPKMeans(3).fit(X12, constraints=known)
    COPKMeans(4, random_state=0).fit(X12, constraints=known)


def test_proof_by_odd_ring():
    known = Constraints(cannot_link=[(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)])
    with pytest.raises(ConstraintError, match=r"n_clusters=2"):
        COPKMeans(2).fit(X12, constraints=known)
    COPKMeans(3, random_state=0).fit(X12, constraints=known)


def test_proof_where_no_clique_shows_it():
    wheel = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), *[(5, i) for i in range(5)]]
    with pytest.raises(ConstraintError, match=r"n_clusters=3"):
        COPKMeans(3).fit(X12, constraints=Constraints(cannot_link=wheel))
    COPKMeans(4, random_state=0).fit(X12, constraints=Constraints(cannot_link=wheel))


def test_more_labels_than_clusters_are_refused():
    with pytest.raises(ConstraintError, match="n_clusters=2"):
        COPKMeans(2).fit(X12, np.r_[0, 1, 2, np.full(9, -1)])


def test_nothing_is_stored_when_refused():
    known = Constraints(must_link=[(0, 1)], cannot_link=[(0, 1)])
    model = COPKMeans(2)
    with pytest.raises(ConstraintError):
        model.fit(X12, constraints=known)
    assert not hasattr(model, "labels_")


# -------------------------------------------------------------------- relaxing

weights = st.sampled_from([0.5, 1.0, 1.5, 3.0, 10.0])


@given(must=pairs(6, 6), cannot=pairs(6, 10), k=st.integers(1, 3), data=st.data())
@settings(max_examples=60)
def test_relaxing_gives_up_the_least_weight(must, cannot, k, data):
    must, cannot = ([(i, j, data.draw(weights)) for i, j in part] for part in (must, cannot))
    known = Constraints(must_link=must, cannot_link=cannot)
    model = COPKMeans(k, on_infeasible="relax", n_init=2, random_state=0)
    model.fit(X12, constraints=known)
    links = weighted_links(known)
    least = min(violated_weight(x, *links) for x in labelings(6, k))
    assert violated_weight(model.labels_, *links) == pytest.approx(least)


def test_relaxing_a_feasible_problem_changes_nothing():
    known = Constraints(must_link=[(0, 1)], cannot_link=[(1, 2)])
    a = COPKMeans(3, random_state=0).fit(X12, constraints=known)
    b = COPKMeans(3, random_state=0, on_infeasible="relax").fit(X12, constraints=known)
    np.testing.assert_array_equal(a.labels_, b.labels_)


def test_what_was_given_up_is_in_the_report():
    known = Constraints(must_link=[(0, 1, 5.0), (1, 2, 5.0)], cannot_link=[(0, 2, 1.0)])
    model = COPKMeans(2, on_infeasible="relax", random_state=0).fit(X12, constraints=known)
    assert model.report_.violated == Constraints(cannot_link=[(0, 2, 1.0)])
    assert "violated:" in str(model.report_)
    # As documented, the objective is the sum of squares alone.
    assert model.objective_ == pytest.approx(sum_of_squares(X12, model.labels_), rel=1e-9)


def test_light_links_are_kept_beside_a_heavy_contradiction():
    known = Constraints(
        must_link=[(0, 1, 1e6), (2, 3, 1.0)], cannot_link=[(0, 1, 1e6 + 1), (2, 3, 2.0)]
    )
    model = COPKMeans(2, on_infeasible="relax", random_state=0).fit(X12, constraints=known)
    assert violated_weight(model.labels_, *weighted_links(known)) == 1e6 + 1.0


@pytest.mark.parametrize("mode", MODES)
def test_row_weights_count(mode):
    # The heavy row decides where its component goes.
    X = np.array([[0.0], [0.2], [10.0], [10.2], [1.0], [9.0]])
    known = Constraints(must_link=[(4, 5)])
    for heavy, other in ((4, 0), (5, 2)):
        weight = np.ones(6)
        weight[heavy] = 100.0
        model = COPKMeans(2, assignment=mode, random_state=0)
        labels = model.fit_predict(X, constraints=known, sample_weight=weight)
        assert labels[4] == labels[5] == labels[other]
