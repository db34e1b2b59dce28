"""Inference other than ICM: against brute force, against ICM, on trees exact."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from linkwise import Constraints, HMRFKMeans
from linkwise.kmeans.solver import _inference
from linkwise.kmeans.solver._inference import BeliefPropagation, LinearProgram, MeanField
from linkwise.kmeans.solver._link_graph import LinkGraph

KINDS = {
    "belief_propagation": BeliefPropagation,
    "mean_field": MeanField,
    "linear_program": LinearProgram,
}


def field(seed, n=7, k=3, links=9, per_cluster=False, tree=False):
    """Random costs of rows and links on a small graph."""
    rng = np.random.default_rng(seed)
    if tree:
        pairs = [(int(rng.integers(i)), i) for i in range(1, n)]
    else:
        every = list(itertools.combinations(range(n), 2))
        pairs = [every[i] for i in rng.permutation(len(every))[:links]]
    split = len(pairs) // 2
    graph = LinkGraph.of(Constraints(must_link=pairs[:split], cannot_link=pairs[split:]))
    m = len(graph.rows)
    return graph, rng.random((m, k)), rng.random((len(pairs), k if per_cluster else 1)) * 1.5


def energy(graph, rows, cost, labels):
    """The objective, link by link."""
    total = sum(rows[i, c] for i, c in enumerate(labels))
    for (i, j), must, w in zip(graph.ends, graph.is_must, cost, strict=True):
        a, b = labels[i], labels[j]
        w = np.broadcast_to(w, rows.shape[1])
        if must and a != b:
            total += (w[a] + w[b]) / 2
        if not must and a == b:
            total += w[a]
    return total


def least(graph, rows, cost):
    every = itertools.product(range(rows.shape[1]), repeat=len(rows))
    return min(energy(graph, rows, cost, labels) for labels in every)


def inferred(kind, graph, rows, cost):
    """Labels by the inference alone, without ICM."""
    assigner = kind.__new__(kind)
    assigner._links = graph
    return assigner._infer(rows.copy(), cost).argmin(axis=1)


@pytest.mark.parametrize("per_cluster", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_belief_propagation_is_exact_on_trees(seed, per_cluster):
    graph, rows, cost = field(seed, tree=True, per_cluster=per_cluster)
    labels = inferred(BeliefPropagation, graph, rows, cost)
    assert energy(graph, rows, cost, labels) == pytest.approx(least(graph, rows, cost))


@pytest.mark.parametrize(
    ("kind", "gap"), [(BeliefPropagation, 0.15), (MeanField, 0.05), (LinearProgram, 0.3)]
)
def test_near_the_least_energy_on_loops(kind, gap):
    """Without ICM after it; short cycles of contradictory links are hard for messages."""
    gaps = []
    for seed in range(10):
        graph, rows, cost = field(seed, n=6)
        found = energy(graph, rows, cost, inferred(kind, graph, rows, cost))
        best = least(graph, rows, cost)
        assert found >= best - 1e-12
        gaps.append(found / best - 1)
    assert np.mean(gaps) < gap


@pytest.mark.parametrize("per_cluster", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_the_linear_program_is_a_lower_bound(seed, per_cluster):
    graph, rows, cost = field(seed, n=6, per_cluster=per_cluster)
    assigner = LinearProgram.__new__(LinearProgram)
    assigner._links = graph
    x = assigner._shares(rows, cost)
    np.testing.assert_allclose(x.sum(axis=1), 1.0)
    value = (rows * x).sum()
    for (i, j), must, w in zip(graph.ends, graph.is_must, cost, strict=True):
        each = np.abs(x[i] - x[j]) / 2 if must else np.maximum(x[i] + x[j] - 1, 0.0)
        value += (np.broadcast_to(w, len(each)) * each).sum()
    best = least(graph, rows, cost)
    assert value <= best + 1e-9
    if np.isclose(x, np.round(x)).all():  # an integral solution is the optimum
        assert value == pytest.approx(best)
        assert energy(graph, rows, cost, x.argmax(axis=1)) == pytest.approx(best)


@pytest.mark.parametrize("seed", range(5))
def test_expected_costs_of_links(seed):
    graph, rows, cost = field(seed, per_cluster=bool(seed % 2))
    q = np.random.default_rng(seed).dirichlet(np.ones(rows.shape[1]), len(rows))
    found = _inference._expected_link_costs(graph, q, cost)
    w = np.broadcast_to(cost, (len(cost), rows.shape[1]))
    slow = np.zeros_like(found)
    for (i, j), must, each in zip(graph.ends, graph.is_must, w, strict=True):
        for a, b in itertools.product(range(rows.shape[1]), repeat=2):
            paid = (each[a] + each[b]) / 2 if must and a != b else each[a] * (not must and a == b)
            slow[i, a] += q[j, b] * paid
            slow[j, b] += q[i, a] * paid
    np.testing.assert_allclose(found, slow)


@pytest.mark.parametrize("inference", KINDS)
@pytest.mark.parametrize("options", [{}, {"per_cluster": True}, {"distortion": "cosine"}])
def test_whole_fits_never_raise_the_objective(inference, options):
    X, y = make_blobs(150, 4, centers=4, cluster_std=4.0, random_state=0)
    known = Constraints.from_labels(y, 80, random_state=1)
    model = HMRFKMeans(4, inference=inference, random_state=0, n_init=1, **options)
    model.fit(X, constraints=known)
    path = model.objective_path_
    assert (np.diff(path) <= 1e-9 * np.abs(path[1:])).all()
    again = HMRFKMeans(4, inference=inference, random_state=0, n_init=1, **options)
    assert (again.fit_predict(X, constraints=known) == model.labels_).all()


def test_too_many_messages_are_refused(monkeypatch):
    monkeypatch.setattr(_inference, "_MOST_CELLS", 10)
    with pytest.raises(ValueError, match="use inference='icm'"):
        HMRFKMeans(3, inference="mean_field").fit(
            np.eye(6), constraints=Constraints(must_link=[(0, 1), (2, 3)])
        )


def test_names():
    with pytest.raises(ValueError, match="inference"):
        HMRFKMeans(2, inference="sampling").fit(np.eye(4))
