"""Objectives, E-step and metric update against slow versions straight from the equations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import sparse

from linkwise import Constraints, MPCKMeans, PCKMeans, _core
from linkwise.geometry import Mahalanobis, Moments
from linkwise.kmeans.rows._local_rows import LocalRows
from linkwise.kmeans.solver import _penalties
from linkwise.kmeans.solver._link_graph import LinkGraph
from linkwise.kmeans.solver._penalties import DistancePenalty
from linkwise.kmeans.solver._problem import Problem
from tests.reference import Setting, farthest_pair, matrices, sum_of_squares
from tests.strategies import clusterings

from .cases import (
    LABELLED,
    LEARNING,
    SOFT,
    blobs,
    metrics_of,
    same_partition,
    setting,
    taking_part,
    watched,
    weighted_links,
)

CONTRADICTORY = Constraints(
    must_link=[(0, 1, 2.0), (1, 2, 0.5), (3, 9, 0.1), (4, 5, 0.2)],
    cannot_link=[(0, 2, 1.0), (6, 7, 0.3), (8, 10, 0.2), (9, 11, 5.0)],
)
CONSISTENT = Constraints(
    must_link=[(0, 1, 2.0), (1, 2, 0.5), (3, 9, 0.1), (4, 5, 0.2)],
    cannot_link=[(0, 4, 1.0), (6, 7, 0.3), (8, 10, 0.2), (9, 11, 5.0)],
)

# Light enough that violated cannot-links leave the scatters positive definite.
MILD = Constraints(
    must_link=[(0, 1, 2.0), (1, 2, 0.5), (3, 9, 0.1), (4, 5, 0.2)],
    cannot_link=[(0, 2, 0.1), (6, 7, 0.03), (8, 10, 0.02), (9, 11, 0.05)],
)


def data(n: int = 24, d: int = 3, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * [1.0, 3.0, 0.5][:d] + 4.0


# -------------------------------------------------------------------- objective


@pytest.mark.parametrize("known", [CONSISTENT, CONTRADICTORY, Constraints()], ids=str)
@pytest.mark.parametrize("method", SOFT)
def test_objective_is_equation_2_4(method, known):
    X = data()
    spy = watched(SOFT[method](n_clusters=3, random_state=0), X, constraints=known)
    slow = setting(spy, X, known).objective(spy.model.labels_)
    assert spy.model.objective_ == pytest.approx(slow, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("method", SOFT)
@given(problem=clusterings())
@settings(max_examples=15)
def test_objective_is_equation_2_4_on_any_problem(method, problem):
    X, k, known = problem
    spy = watched(SOFT[method](n_clusters=k, random_state=0), X, constraints=known)
    slow = setting(spy, X, known).objective(spy.model.labels_)
    assert spy.model.objective_ == pytest.approx(slow, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("method", SOFT)
def test_objective_with_row_weights(method):
    X = data()
    weight = np.resize([0.25, 1.75, 0.5, 1.5], len(X))  # of mean 1; test_weights has others
    assert weight.mean() == 1.0
    model = SOFT[method](n_clusters=3, random_state=0)
    spy = watched(model, X, constraints=CONSISTENT, sample_weight=weight)
    slow = setting(spy, X, CONSISTENT)
    slow.row_weight = weight
    assert model.objective_ == pytest.approx(slow.objective(model.labels_), rel=1e-9)


@pytest.mark.parametrize("method", SOFT)
def test_report_costs_are_the_terms_of_the_violated_links(method):
    X = data()
    spy = watched(SOFT[method](n_clusters=3, random_state=0), X, constraints=CONTRADICTORY)
    slow, labels = setting(spy, X, CONTRADICTORY), spy.model.labels_
    must, cannot = weighted_links(CONTRADICTORY)
    wanted = [slow.must_cost(i, j, w, labels[i], labels[j]) for i, j, w in must]
    wanted += [slow.cannot_cost(i, j, w, labels[i], labels[j]) for i, j, w in cannot]
    assert sum(cost > 0 for cost in wanted)  # the case is one with violations
    np.testing.assert_allclose(spy.model.report_.costs, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("method", LABELLED)
def test_links_cost_labeled_methods_nothing(method):
    X = data()
    known = Constraints(must_link=[(i, i + 9, 5.0) for i in range(6)], cannot_link=[(0, 1, 3.0)])
    model = LABELLED[method](n_clusters=3, random_state=0).fit(X, constraints=known)
    wanted = ((X - model.cluster_centers_[model.labels_]) ** 2).sum()
    assert model.objective_ == pytest.approx(wanted, rel=1e-9)
    assert model.report_.costs.sum() == 0


@pytest.mark.parametrize("method", SOFT)
def test_score_and_transform_agree_with_the_equations(method):
    X, new = data(), data(seed=5)
    spy = watched(SOFT[method](n_clusters=3, random_state=0), X, constraints=CONSISTENT)
    slow = setting(spy, X, CONSISTENT)
    slow.X = new
    cost = np.array([[slow.row(i, c) for c in range(3)] for i in range(len(new))])
    logs = np.array([np.linalg.slogdet(A)[1] for A in slow.metrics])
    assert spy.model.score(new) == pytest.approx(-cost.min(axis=1).sum(), rel=1e-9)
    np.testing.assert_array_equal(spy.model.predict(new), cost.argmin(axis=1))
    np.testing.assert_allclose(spy.model.transform(new) ** 2, cost + logs, rtol=1e-8, atol=1e-8)


def test_the_farthest_pair_is_the_farthest():
    X = data()
    for method, make in LEARNING.items():
        model = make(n_clusters=3, random_state=0, max_iter=1)
        spy = watched(model, X, constraints=CONSISTENT)
        # Under the identity, where the run begins; later a pair may be held.
        penalty, problem = spy.penalties[-1], spy.problems[-1]
        geometry = model._preset(problem).geometry()
        penalty.update_bound(geometry)
        i, j = penalty.pair[0]
        assert ((X[i] - X[j]) ** 2).sum() == pytest.approx(farthest_pair(X, np.eye(3))), method


# -------------------------------------------------------------------- E-step


def random_state_of(metric: str, per_cluster: bool, seed: int, k: int = 3) -> tuple:
    """Geometry with random centers and metrics, labels, links, and the same in slow terms."""
    rng = np.random.default_rng(seed)
    X = data(seed=seed)
    d = X.shape[1]
    rows = LocalRows(X)
    problem = Problem(rows, k, MILD)
    total = rows.total(full=metric == "full" and not per_cluster)
    geometry = Mahalanobis(k, total, rows.total_weight, metric, per_cluster, 1e-12)
    geometry.centers = rng.normal(size=(k, d))
    groups = k if per_cluster else 1
    root = rng.normal(size=(groups, d, d))
    full = np.eye(d) + root @ root.transpose(0, 2, 1)
    if metric != "identity":
        diagonals = np.diagonal(full, axis1=1, axis2=2)
        geometry.set_metrics(full if metric == "full" else diagonals.copy())
    penalty = DistancePenalty(problem.links, rows)
    penalty.update_bound(geometry)
    metrics = geometry.metrics if per_cluster else geometry.metrics[0]
    must, cannot = weighted_links(MILD)
    pairs = np.broadcast_to(penalty.pair, (k, 2))
    slow = Setting(
        X,
        geometry.centers + rows.shift,
        matrices(metrics, k, per_cluster=per_cluster),
        must,
        cannot,
        [X[i] - X[j] for i, j in pairs],
    )
    labels = rng.integers(0, k, len(X)).astype(np.int32)
    return rows, problem.links, geometry, penalty, labels, slow


KINDS = [("identity", False), ("diagonal", False), ("diagonal", True), ("full", False)]
KINDS.append(("full", True))
LEARNT = KINDS[1:]


@pytest.mark.parametrize(("metric", "per_cluster"), KINDS)
def test_contribution_of_a_row_in_the_e_step(metric, per_cluster):
    for seed in range(3):
        rows, links, geometry, penalty, labels, slow = random_state_of(metric, per_cluster, seed)
        graph = links.with_costs(penalty.costs(geometry))
        distance = rows.distances(links.rows, geometry)
        n = len(links.rows)
        for t, row in enumerate(links.rows):
            new = labels[links.rows]
            nothing = (np.full(n, np.inf), np.zeros(n, dtype=np.uint16), np.zeros(n, dtype=bool))
            moved, change = _core.icm(
                np.array([t]),
                np.arange(n),
                distance,
                *graph.costs,
                graph.measure,
                links.lists_of_cliques,
                links.clique_counts(new, geometry.k),
                graph.dearest,
                new,
                *nothing,
            )
            wanted = np.array([slow.contribution(labels, row, c) for c in range(geometry.k)])
            assert wanted[new[t]] == pytest.approx(wanted.min(), rel=1e-9, abs=1e-9)
            assert moved == (new[t] != labels[row])
            # What the links say changed by what is not the distances' part.
            apart = distance[t, new[t]] - distance[t, labels[row]]
            told = wanted[new[t]] - wanted[labels[row]] - apart
            assert change == pytest.approx(told, rel=1e-9, abs=1e-9)


def test_contributions_are_differences_of_the_objective():
    *_, labels, slow = random_state_of("full", True, 0)
    for row in range(12):
        moved = labels.copy()
        for c in range(3):
            moved[row] = c
            change = slow.objective(moved) - slow.objective(labels)
            own = slow.contribution(labels, row, c) - slow.contribution(labels, row, labels[row])
            assert change == pytest.approx(own, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("method", ["pck", "pck-distance"])
@given(problem=clusterings())
@settings(max_examples=25)
def test_no_row_and_no_component_gains_by_moving(method, problem):
    X, k, known = problem
    spy = watched(SOFT[method](n_clusters=k, random_state=0, tol=0), X, constraints=known)
    slow, labels = setting(spy, X, known), spy.model.labels_
    now = slow.objective(labels)
    slack = 1e-9 * (1 + abs(now))
    closure = known.closure()
    groups = [[row] for row in range(len(X))]
    groups += [closure.nodes[closure.component == c].tolist() for c in range(len(closure.sizes))]
    for group in groups:
        for c in range(k):
            moved = labels.copy()
            moved[group] = c
            assert slow.objective(moved) >= now - slack


@pytest.mark.parametrize("tol", [0, 1e-2])
def test_components_are_looked_at_before_a_run_ends(tol):
    """Looks at whole components pause while single rows move: none may gain at the end even so."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, k = 2 * rng.normal(size=(300, 2)), 6
        pairs = [(i, j) for i, j in rng.integers(0, 300, (80, 2)).tolist() if i != j]
        known = Constraints(must_link=[(*ends, rng.choice([0.5, 1, 3, 7])) for ends in pairs])
        model = PCKMeans(k, penalty="weight", random_state=0, tol=tol).fit(X, constraints=known)
        every = known.closure().expand()
        apart = ((X[:, None] - model.cluster_centers_) ** 2).sum(axis=2)

        def objective(labels, apart=apart, every=every):
            broken = labels[every.must_link[:, 0]] != labels[every.must_link[:, 1]]
            return apart[np.arange(300), labels].sum() + every.must_link_weight[broken].sum()

        now = objective(model.labels_)
        assert now == pytest.approx(model.objective_)
        for group in known.closure().components:
            for c in range(k):
                moved = model.labels_.copy()
                moved[group] = c
                assert objective(moved) >= now - 1e-9 * now, seed


def test_a_refilled_cluster_is_not_the_end_of_a_run():
    """The row that went to the empty cluster may draw others there."""
    X = [0, 1, 1, -2, -1, 1, 0, 0, -1, 0, 0, 1, -1, 0, 0, 0, 2, 0, 0]
    X = np.array(X, dtype=float).reshape(-1, 1)
    known = Constraints(must_link=[(0, 4, 7.0), (3, 16, 0.5), (6, 7, 0.001)])
    model = PCKMeans(4, penalty="distance", random_state=0, tol=0).fit(X, constraints=known)
    free = np.setdiff1d(np.arange(len(X)), known.rows)
    np.testing.assert_array_equal(model.labels_[free], model.predict(X[free]))


# -------------------------------------------------------------------- metric update


def learnt(metric: str, per_cluster: bool, seed: int) -> tuple:
    """Metrics after one update from a random state, and the state in slow terms."""
    rows, links, geometry, penalty, labels, slow = random_state_of(metric, per_cluster, seed)
    moments = Moments.zeros(geometry.k, rows.d, geometry.squares_shape)
    everyone = np.arange(rows.n)
    rows.move(everyone, np.full(rows.n, -1, dtype=np.int32), labels, moments)
    spread = geometry.scatter(moments) + penalty.scatter_term(geometry, labels[links.rows])
    before = [A.copy() for A in slow.metrics]
    geometry.set_metrics(geometry.proposal(spread, geometry.weights(moments)))
    metrics = geometry.metrics if per_cluster else geometry.metrics[0]
    found = matrices(metrics, 3, per_cluster=per_cluster)
    return found, before, labels, slow


@pytest.mark.parametrize(("metric", "per_cluster"), LEARNT)
@pytest.mark.parametrize("seed", range(4))
def test_metric_update_is_equation_2_7(metric, per_cluster, seed):
    found, _, labels, slow = learnt(metric, per_cluster, seed)
    wanted = slow.metric_update(labels, diagonal=metric == "diagonal", per_cluster=per_cluster)
    assert all((np.linalg.eigvalsh(A) > 0).all() for A in wanted), "a floor is active: bad case"
    for A, B in zip(found, wanted, strict=True):
        np.testing.assert_allclose(A, B, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize(("metric", "per_cluster"), LEARNT)
@pytest.mark.parametrize("seed", range(2))
def test_metric_update_is_stationary(metric, per_cluster, seed):
    found, before, labels, slow = learnt(metric, per_cluster, seed)
    rng = np.random.default_rng(seed)
    k, d = slow.centers.shape

    # Floored cannot-links were judged under the metric before: leave them out here.
    slow.metrics = before
    slow.cannot = [
        (i, j, w)
        for i, j, w in slow.cannot
        if labels[i] != labels[j] or slow.cannot_cost(i, j, w, labels[i], labels[i]) > 0
    ]

    def slope(metrics: list) -> float:
        """Largest slope of (2.4) among random directions, by central differences."""
        largest = 0.0
        for _ in range(4):
            way = rng.normal(size=(k, d, d))
            way = way + way.transpose(0, 2, 1)
            if metric == "diagonal":
                way *= np.eye(d)
            if not per_cluster:
                way[:] = way[0]
            # In proportion to the metric, so that all directions count alike.
            way = [A @ D @ A for A, D in zip(metrics, way, strict=True)]
            step = 1e-5
            values = []
            for sign in (1, -1):
                slow.metrics = [A + sign * step * D for A, D in zip(metrics, way, strict=True)]
                values.append(unfloored(slow, labels))
            largest = max(largest, abs(values[0] - values[1]) / (2 * step))
        return largest

    assert slope(found) < 1e-4 * slope(before)


def unfloored(slow: Setting, labels: np.ndarray) -> float:
    """(2.4) without the floor on cannot-links, which is what (2.7) minimizes."""
    total = sum(slow.row(i, c) for i, c in enumerate(labels))
    total += sum(slow.must_cost(i, j, w, labels[i], labels[j]) for i, j, w in slow.must)
    for i, j, w in slow.cannot:
        c = labels[i]
        if c == labels[j]:
            A, u = slow.metrics[c], slow.X[i] - slow.X[j]
            total += w * (slow.farthest[c] @ A @ slow.farthest[c] - u @ A @ u)
    return total


@pytest.mark.parametrize("method", LEARNING)
def test_without_constraints_the_metric_is_the_inverse_covariance(method):
    X = data(60)
    model = LEARNING[method](n_clusters=2, random_state=0, tol=0).fit(X)
    per_cluster, diagonal = "per" in method, "full" not in method
    slow = Setting(X, model.cluster_centers_, [], [], [])
    wanted = slow.metric_update(model.labels_, diagonal=diagonal, per_cluster=per_cluster)
    for A, B in zip(metrics_of(model), wanted, strict=True):
        np.testing.assert_allclose(A, B, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("method", LEARNING)
@given(problem=clusterings())
@settings(max_examples=15)
def test_metrics_stay_positive_definite_and_below_their_cap(method, problem):
    X, k, known = problem
    spy = watched(LEARNING[method](n_clusters=k, random_state=0), X, constraints=known)
    variance = X.var(axis=0)
    root = np.sqrt(np.where(variance > 0, variance, 1.0))
    for A in metrics_of(spy.model):
        values = np.linalg.eigvalsh(A * np.outer(root, root))
        assert (values > 0).all()
        assert values.max() <= 100 * (1 + 1e-6) or np.allclose(A, np.eye(len(A)))


def test_pck_is_k_means_plus_weights():
    X = data()
    spy = watched(SOFT["pck"](n_clusters=3, random_state=0, tol=0), X, constraints=CONTRADICTORY)
    broken = LinkGraph.of(CONTRADICTORY)
    violated = broken.violated(spy.model.labels_[broken.rows])
    wanted = sum_of_squares(X, spy.model.labels_) + broken.weight[violated].sum()
    assert spy.model.objective_ == pytest.approx(wanted, rel=1e-9)


def test_entailed_links_take_part():
    # 0-1-2 must be together; row 2 is 3 away from both: splitting it off breaks two links.
    X = np.array([[0.0], [0.1], [3.0], [3.1], [3.2]])
    known = Constraints(must_link=[(0, 1, 4.0), (1, 2, 4.0)])
    must, _ = taking_part(known)
    assert (0, 2, 4.0) in must
    spy = watched(SOFT["pck"](n_clusters=2, init=[[0.0], [3.1]], max_iter=1), X, constraints=known)
    assert len(spy.problems[-1].links.ends) == 3


# -------------------------------------------------------------------- rounding


def test_heavy_weights_do_not_drown_the_rows():
    X, y = blobs()
    rng = np.random.default_rng(0)
    plain = Constraints.from_labels(y, 40, random_state=0)
    for size in (1e10, 1e15, 1e300):
        heavy = Constraints(
            must_link=[(*p, size * (0.5 + rng.random())) for p in plain.must_link.tolist()],
            cannot_link=[(*p, size * (0.5 + rng.random())) for p in plain.cannot_link.tolist()],
        )
        model = PCKMeans(3, random_state=0).fit(X, constraints=heavy)
        assert model.report_.satisfaction.n_violated == 0
        inertia = ((X - model.cluster_centers_[model.labels_]) ** 2).sum()
        assert model.objective_ == pytest.approx(inertia, rel=1e-6)


def test_float32_far_from_the_origin_keeps_the_objective():
    rng = np.random.default_rng(0)
    X = (1e6 + rng.integers(0, 3, (3000, 2))).astype(np.float32)
    model = PCKMeans(9, random_state=0).fit(X)
    assert model.objective_ >= 0
    assert model.objective_ == pytest.approx(model.objective_path_[-1], rel=1e-5, abs=1e-3)


def test_float32_of_small_scale_learns_like_float64():
    X, y = blobs()
    small = X * 1e-5
    known = Constraints.from_labels(y, 20, random_state=0)
    wide = MPCKMeans(3, random_state=0).fit(small, constraints=known)
    narrow = MPCKMeans(3, random_state=0).fit(small.astype(np.float32), constraints=known)
    assert same_partition(wide.labels_, narrow.labels_)


def test_a_constant_sparse_feature_has_no_weight_to_speak_of():
    X, _ = blobs()
    X = np.column_stack([X, np.full(len(X), 0.1)])
    dense = MPCKMeans(3, random_state=0).fit(X)
    csr = MPCKMeans(3, random_state=0).fit(sparse.csr_matrix(X))
    np.testing.assert_allclose(dense.metrics_, csr.metrics_, rtol=1e-5)


@pytest.mark.parametrize("wrong", [0.0, 0.2])
def test_links_measured_when_needed_give_the_same_fit(monkeypatch, wrong):
    """Many links per row: costs computed for a row in its turn, against those of all links."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, 120)
    X = rng.normal(size=(120, 3)) + 1.5 * np.eye(3)[y]
    told = np.where(rng.random(120) < wrong, rng.integers(0, 3, 120), y)
    known = Constraints.from_labels(told, 900, random_state=0)
    weights = rng.uniform(0.5, 2.0, 900)
    known = Constraints(
        must_link=[(*pair, w) for pair, w in zip(known.must_link.tolist(), weights, strict=False)],
        cannot_link=[
            (*pair, w) for pair, w in zip(known.cannot_link.tolist(), weights[::-1], strict=False)
        ],
    )
    given = {"max_iter": 20, "n_init": 2, "random_state": 0}
    lazy = MPCKMeans(3, **given).fit(X, constraints=known)
    monkeypatch.setattr(_penalties, "_MANY_LINKS", np.inf)
    eager = MPCKMeans(3, **given).fit(X, constraints=known)
    np.testing.assert_array_equal(lazy.labels_, eager.labels_)
    assert lazy.objective_ == pytest.approx(eager.objective_, rel=1e-12)
    np.testing.assert_allclose(lazy.objective_path_, eager.objective_path_, rtol=1e-10)
