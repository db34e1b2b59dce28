"""Groups that grow from the bottom up, where clusters are many."""

from __future__ import annotations

import numpy as np

from linkwise.active import Repair
from linkwise.active._incremental_closure import IncrementalClosure
from linkwise.active._parts import make_parts
from linkwise.active._repair_groups import Groups, NeighborGraph
from linkwise.active._strategy import QueryContext


def many_blobs(n_clusters: int, size: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Clusters on a grid, so far apart that nearest neighbors are of one cluster."""
    y = np.repeat(np.arange(n_clusters), size)
    center = np.column_stack(np.divmod(np.arange(n_clusters), 10)).astype(float)
    return center[y] + np.random.RandomState(seed).normal(0.0, 0.05, (len(y), 2)), y


def graph_of(X):
    return NeighborGraph(make_parts(X))


def test_edges_are_those_to_the_nearest_parts():
    X, _ = many_blobs(8, 6)
    graph = graph_of(X)
    distance = ((X[:, None] - X[None]) ** 2).sum(axis=-1)
    for i in range(len(X)):
        nearest = np.argsort(distance[i])[1:31]
        assert all((graph.edge == sorted((i, j))).all(axis=1).any() for j in nearest)
    assert (graph.edge[:, 0] < graph.edge[:, 1]).all()


def test_groups_grow_to_the_clusters_and_ask_nothing_that_is_known():
    X, y = many_blobs(12, 5)
    known, n_same = IncrementalClosure(), 0
    for n_asked in range(200):
        pair = next(Groups(graph_of(X), known).pairs([]), None)
        if pair is None:
            break
        i, j, chance = pair
        assert known.is_undecided(i, j)
        assert 0 < chance < 1
        known.add(i, j, "same" if y[i] == y[j] else "different")
        n_same += y[i] == y[j]
        if n_asked == 20:
            assert n_same > 15  # the most likely ones come first
    assert n_same == len(X) - 12
    found = Groups(graph_of(X), known)
    assert len(set(zip(found.labels.tolist(), y.tolist(), strict=True))) == 12
    assert found.are_found
    assert not Groups(graph_of(X), IncrementalClosure()).are_found


def test_groups_of_a_pending_question_are_not_asked_about():
    X, _ = many_blobs(4, 5)
    groups = Groups(graph_of(X), IncrementalClosure())
    i, j, _ = next(groups.pairs([]))
    assert (i, j) not in [pair[:2] for pair in groups.pairs([(i, j)])]


def test_many_clusters_let_groups_grow_after_a_hundred_answers():
    X, y = many_blobs(60, 35)
    rng, known = np.random.RandomState(0), IncrementalClosure()
    while len(known.history) < 110:
        i, j = rng.choice(len(X), 2, replace=False).tolist()
        if known.is_undecided(i, j):
            known.add(i, j, "same" if y[i] == y[j] else "different")
    context, strategy = QueryContext(X, None, 0, view=lambda: None), Repair()
    context.known = known
    model = strategy.model(context)
    assert model.groups(known) is not None
    few = IncrementalClosure()
    few.add(0, 1, "same")
    assert model.groups(few) is None
    question = strategy._next(context)
    assert question is not None
    assert y[question.i] == y[question.j]
    assert known.is_undecided(*question)
