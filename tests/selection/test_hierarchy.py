"""Cuts of a hierarchy, judged by links."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import cut_tree, linkage
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from linkwise import AutoCluster, Constraints
from linkwise.selection._hierarchy import Cuts
from linkwise.selection._splits import held_out


def problem(n_links=300, spread=2.0, seed=0):
    X, y = make_blobs(1200, 16, centers=40, cluster_std=spread, random_state=seed)
    known = Constraints.from_labels(y, n_links, "balanced", random_state=seed)
    return X, y, known, held_out(known, 5, np.random.RandomState(seed))


def test_cuts_count_the_links_of_all_folds():
    X, _, _, folds = problem(60)
    cuts = Cuts.of(X, folds, 2, 100)
    place = 10
    labels = cut_tree(linkage(X, "ward"), int(cuts.numbers[place]))[:, 0]
    expected = np.zeros(4)
    for fold in folds:
        for (i, j), must, weight in zip(fold.pairs, fold.must, fold.weight, strict=True):
            expected[2 * (not must) + (labels[i] != labels[j])] += weight
    np.testing.assert_allclose(cuts.counts[place], expected)
    same = labels[:, None] == labels
    np.testing.assert_allclose(cuts.shares[place], (same.sum() - 1200) / (1200 * 1199))


def test_more_clusters_put_fewer_pairs_together():
    """Up to one cluster per row, which is as far as limits may go."""
    X, _, _, folds = problem(60)
    cuts = Cuts.of(X, folds, 2, len(X))
    assert (np.diff(cuts.shares) < 0).all()
    assert (np.diff(cuts.counts[:, 0]) <= 0).all()


@pytest.mark.parametrize("spread", [2.0, 3.0])
def test_the_guess_is_near_the_number_of_classes(spread):
    X, y, _, folds = problem(spread=spread)
    cuts = Cuts.of(X, folds, 2, 600)
    assert 30 <= cuts.best <= 55
    share, error = cuts.finest
    true = ((y[:, None] == y).sum() - len(y)) / (len(y) * (len(y) - 1))
    assert abs(share - true) < 2 * error
    assert error < 0.5 * share


def test_too_few_must_links_tell_nothing_about_the_finest_cut():
    X, _, _, folds = problem(20)
    assert Cuts.of(X, folds, 2, 600).finest is None


def test_many_clusters_are_found_in_little_time():
    X, _, known, _ = problem()
    model = AutoCluster(time_budget=3, random_state=0).fit(X, constraints=known)
    assert 25 <= model.n_clusters_ <= 60


def fails(X):
    raise ValueError("no such space")


def not_finite(X):
    return np.full_like(X, np.nan)


@pytest.mark.parametrize("step", [fails, not_finite])
def test_a_candidate_whose_space_fails_does_not_end_the_choice(step):
    X, _, known, _ = problem()
    given = [make_pipeline(FunctionTransformer(step), KMeans(n_init=1)), KMeans(n_init=1)]
    model = AutoCluster(given, (38, 42), n_folds=2, random_state=0).fit(X, constraints=known)
    assert 38 <= model.n_clusters_ <= 42
