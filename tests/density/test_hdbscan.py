"""Density-based clusters with links: against definitions, scikit-learn and brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import HDBSCAN
from sklearn.datasets import load_iris, load_wine, make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from linkwise import ConstrainedHDBSCAN, ConstraintError, Constraints
from linkwise.density._tree import (
    cluster_of_rows,
    condense_tree,
    link_gains,
    merge_rows,
    select,
    spanning_tree,
)

from .reference import antichains, kept_weight, merge_sets, spanning_weight


def same_partition(a, b) -> bool:
    return len(set(zip(a, b, strict=True))) == len(set(a)) == len(set(b))


def with_noise(n, d, seed):
    rng = np.random.default_rng(seed)
    X, y = make_blobs(n, d, centers=4, cluster_std=1.2, random_state=seed)
    noise = rng.uniform(X.min(axis=0), X.max(axis=0), (n // 8, d))
    return np.vstack([X, noise]), np.append(y, np.full(n // 8, -1))


SETS = {
    "iris": load_iris().data,
    "wine": StandardScaler().fit_transform(load_wine().data),
    "moons": make_moons(500, noise=0.08, random_state=0)[0],
    "noise": with_noise(800, 3, 0)[0],
}


def core_neighbors(X, n_neighbors):
    return NearestNeighbors(n_neighbors=n_neighbors).fit(X).kneighbors(X)[1][:, -1]


# -------------------------------------------------------------------- the spanning tree


@pytest.mark.parametrize("n_neighbors", [1, 2, 5])
@pytest.mark.parametrize("shape", [(30, 1), (200, 2), (150, 40)])
def test_spanning_tree_is_minimal(shape, n_neighbors):
    rng = np.random.default_rng(sum(shape))
    X = rng.normal(size=shape)
    X[5] = X[3]  # repeated rows
    found = spanning_tree(X, core_neighbors(X, n_neighbors))
    merges = merge_rows(found.ends, found.weight, len(X), np.zeros((0, 2), dtype=np.int64))
    assert len(merges.children) == len(X) - 1
    assert found.weight.sum() == pytest.approx(spanning_weight(X, n_neighbors))


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 12), st.integers(0, 6), st.integers(0, 10_000))
def test_cut_trees_hold_what_naive_merging_leaves(n, n_links, seed):
    rng = np.random.default_rng(seed)
    ends = np.array([(int(rng.integers(0, p)), p) for p in range(1, n)])
    ends = ends[rng.permutation(n - 1)]
    cannot = np.array([rng.choice(n, 2, replace=False) for _ in range(n_links)]).reshape(-1, 2)
    cannot = cannot.astype(np.int64)
    merges = merge_rows(ends, np.sort(rng.random(n - 1)), n, cannot)
    members = [frozenset([p]) for p in range(n)]
    for a, b in merges.children:
        members.append(members[a] | members[b])
    made, trees = merge_sets(ends, n, cannot)
    assert members[n:] == made
    assert {members[root] for root in merges.roots} == trees
    assert merges.size == [len(rows) for rows in members]


def test_groups_merge_first():
    """Rows of a group are together, whatever is between them."""
    X = np.array([[0.0], [1.0], [2.0], [3.0], [50.0], [51.0], [52.0]])
    spanning = spanning_tree(X, core_neighbors(X, 2))
    groups = np.array([0, 1, 2, 3, 4, 5, 0])
    tree = condense_tree(spanning, groups, np.zeros((0, 2), dtype=np.int64), 2)
    assert tree.row_cluster[0] == tree.row_cluster[6]


# -------------------------------------------------------------------- as scikit-learn's


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "options",
    [
        {"min_samples": 1},
        {"min_samples": 2, "min_cluster_size": 15},
        {"min_samples": 2, "min_cluster_size": 3},
    ],
)
def test_equals_scikit_learn_without_ties(seed, options):
    """With one or two samples no row is equally near to two clusters by its core distance."""
    X = with_noise(300, 3, seed)[0]
    theirs, ours = HDBSCAN(copy=True, **options).fit(X), ConstrainedHDBSCAN(**options).fit(X)
    assert same_partition(ours.labels_, theirs.labels_)
    np.testing.assert_allclose(ours.probabilities_, theirs.probabilities_, atol=1e-9)


@pytest.mark.parametrize("name", SETS)
def test_is_close_to_scikit_learn_where_rows_are_equally_near_to_two_clusters(name):
    X = SETS[name]
    theirs, ours = HDBSCAN(10, copy=True).fit(X), ConstrainedHDBSCAN(10).fit(X)
    assert adjusted_rand_score(ours.labels_, theirs.labels_) > 0.97


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([1, 2, 5]), st.booleans())
def test_the_order_of_rows_has_no_influence(seed, min_samples, grid):
    """Also with ties and repeated rows, unless equal rows are cannot-linked to each other."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 7, (60, 2)).astype(float) if grid else rng.normal(size=(60, 2))
    value = np.unique(X, axis=0, return_inverse=True)[1].ravel()
    known = Constraints.from_labels(value % 3, 8, random_state=seed)
    order = rng.permutation(len(X))
    place = np.argsort(order)
    moved = Constraints(
        must_link=place[known.must_link].tolist(), cannot_link=place[known.cannot_link].tolist()
    )
    model = ConstrainedHDBSCAN(4, min_samples=min_samples)
    first = model.fit(X, constraints=known).labels_
    second = model.fit(X[order], constraints=moved).labels_
    assert same_partition(first[order], second)


# -------------------------------------------------------------------- taking clusters out


@settings(max_examples=80, deadline=None)
@given(st.integers(1, 9), st.integers(0, 100_000), st.booleans())
def test_selection_is_optimal(n, seed, linked):
    rng = np.random.default_rng(seed)
    parent = np.array([-1] + [int(rng.integers(0, node)) for node in range(1, n)])
    stability = rng.random(n)
    gain = rng.integers(-2, 3, n).astype(float) if linked else np.zeros(n)
    chosen = np.flatnonzero(select(parent, stability, gain)).tolist()

    def quality(nodes):
        return round(gain[nodes].sum(), 9), round(stability[nodes].sum(), 9)

    choices = [nodes for nodes in antichains(parent) if 0 not in nodes]
    assert chosen in choices
    assert quality(chosen) == max(quality(nodes) for nodes in choices)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000))
def test_link_gains_count_satisfied_links(seed):
    """But for a constant, gains add up to the weight of links satisfied, for any choice."""
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.normal(c, 0.4, (12, 2)) for c in ((0, 0), (2, 0), (1, 3))])
    pairs = np.array([rng.choice(len(X), 2, replace=False) for _ in range(14)])
    weight = rng.random(14) + 0.1
    known = Constraints(
        must_link=np.column_stack([pairs[:7], weight[:7]]).tolist(),
        cannot_link=[(int(i), int(j), w) for (i, j), w in zip(pairs[7:], weight[7:], strict=True)],
    )
    spanning = spanning_tree(X, core_neighbors(X, 2))
    tree = condense_tree(spanning, np.arange(len(X)), np.zeros((0, 2), dtype=np.int64), 3)
    gain = link_gains(tree.parent, tree.row_cluster, known)
    constant = float(known.cannot_link_weight.sum())
    for nodes in list(antichains(tree.parent[:10]))[:50]:
        if 0 in nodes:
            continue
        chosen = np.zeros(len(tree.parent), dtype=bool)
        chosen[nodes] = True
        labels = cluster_of_rows(tree, chosen)
        assert kept_weight(labels, known) == pytest.approx(constant + gain[nodes].sum())


# -------------------------------------------------------------------- links


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 60))
def test_hard_links_hold(seed, n_links):
    X, y = with_noise(120, 2, seed)
    truth = np.where(y < 0, 4, y)
    known = Constraints.from_labels(truth, n_links, random_state=seed)
    model = ConstrainedHDBSCAN(6, min_samples=3).fit(X, constraints=known)
    labels = model.labels_
    i, j = known.cannot_link.T
    assert not ((labels[i] == labels[j]) & (labels[i] >= 0)).any()
    i, j = known.must_link.T
    assert (labels[i] == labels[j]).all()  # in one cluster, or both noise
    assert model.report_.satisfaction.cannot_link.all()


def test_links_help_where_density_alone_does_not():
    X, y = make_moons(600, noise=0.15, random_state=0)
    plain = adjusted_rand_score(y, ConstrainedHDBSCAN(10, min_samples=5).fit_predict(X))
    found = []
    for seed in range(3):
        known = Constraints.from_labels(y, 100, random_state=seed)
        labels = ConstrainedHDBSCAN(10, min_samples=5).fit_predict(X, constraints=known)
        found.append(adjusted_rand_score(y, labels))
    assert min(found) > 0.9 > plain


def test_contradictory_links_are_refused():
    X, y = make_moons(300, noise=0.1, random_state=1)
    known = Constraints.from_labels(y, 40, random_state=0)
    wrong = Constraints(must_link=[known.cannot_link[0].tolist()])
    with pytest.raises(ConstraintError, match="must be together, but"):
        ConstrainedHDBSCAN(10).fit(X, constraints=known + wrong)


def test_labels_are_links():
    X, y = make_moons(400, noise=0.15, random_state=0)
    some = np.full(400, -1)
    some[:30] = y[:30]
    labels = ConstrainedHDBSCAN(10, min_samples=5).fit_predict(X, some)
    assert adjusted_rand_score(y[:30], labels[:30]) == 1.0
    assert adjusted_rand_score(y, labels) > 0.8
    as_links = ConstrainedHDBSCAN(10, min_samples=5).fit(X, constraints=Constraints(labels=some))
    np.testing.assert_array_equal(labels, as_links.labels_)


def test_a_large_group_does_not_count_as_infinitely_dense():
    X = np.vstack([np.random.default_rng(0).normal(c, 1.0, (60, 2)) for c in (0.0, 8.0)])
    known = Constraints(together=[range(0, 60, 3)])
    labels = ConstrainedHDBSCAN(5).fit_predict(X, constraints=known)
    assert len(set(labels[:60]) - {-1}) == 1
    assert (labels[:60] == labels[0]).mean() > 0.9


# -------------------------------------------------------------------- attributes, new rows


def test_repeated_rows_and_tiny_data():
    assert (ConstrainedHDBSCAN(3).fit_predict(np.ones((10, 2))) == -1).all()
    X = np.repeat([[0.0], [5.0]], 8, axis=0)
    model = ConstrainedHDBSCAN(4).fit(X)
    assert model.labels_.tolist() == [0] * 8 + [1] * 8
    assert ConstrainedHDBSCAN(5).fit_predict([[0.0], [1.0]]).tolist() == [-1, -1]


def test_probabilities():
    X, y = with_noise(600, 2, 3)
    model = ConstrainedHDBSCAN(15).fit(X)
    assert ((model.probabilities_ > 0) == (model.labels_ >= 0)).all()
    assert model.probabilities_.max() == 1.0
    assert model.probabilities_[y < 0].mean() < model.probabilities_[y >= 0].mean() - 0.2
    assert model.n_clusters_ == model.labels_.max() + 1


def test_new_rows():
    X, _ = with_noise(900, 2, 4)
    model = ConstrainedHDBSCAN(15).fit(X[::2])
    again = model.predict(X[::2])
    assert (again == model.labels_).mean() > 0.95
    labels = model.predict(X[1::2])
    whole = ConstrainedHDBSCAN(15).fit(X).labels_[1::2]
    assert adjusted_rand_score(labels, whole) > 0.85
    assert model.predict([[1e6, 1e6]]).tolist() == [-1]


def test_the_report_counts_noise():
    X, _ = with_noise(300, 2, 5)
    model = ConstrainedHDBSCAN(10).fit(X, constraints=Constraints(must_link=[(0, 1)]))
    assert model.report_.n_noise == (model.labels_ < 0).sum() > 0
    assert "rows in no cluster" in str(model.report_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_cluster_size": 1}, "min_cluster_size=1 must be at least 2"),
        ({"min_samples": 0}, "min_samples=0 must be at least 1"),
    ],
)
def test_wrong_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        ConstrainedHDBSCAN(**options).fit(np.eye(6))
