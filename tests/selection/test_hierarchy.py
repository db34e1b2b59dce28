"""Cuts of a hierarchy, judged by links."""

import math

import numpy as np
import pytest
from scipy.cluster.hierarchy import cut_tree, linkage
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from linkwise import AutoCluster, Constraints, PCKMeans
from linkwise.selection._hierarchy import Cuts, plausibility
from linkwise.selection._splits import all_links, held_out


def problem(n_links=300, spread=2.0, seed=0):
    X, y = make_blobs(1200, 16, centers=40, cluster_std=spread, random_state=seed)
    known = Constraints.from_labels(y, n_links, "balanced", random_state=seed)
    return X, y, known, held_out(known, 5, np.random.RandomState(seed))


def test_cuts_count_the_links_of_all_folds():
    X, _, _, folds = problem(60)
    cuts = Cuts.of(X, folds, 60, 2, 100)
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
    cuts = Cuts.of(X, folds, 60, 2, len(X))
    assert (np.diff(cuts.shares) < 0).all()
    assert (np.diff(cuts.counts[:, 0]) <= 0).all()


@pytest.mark.parametrize("spread", [2.0, 3.0])
def test_the_guess_is_near_the_number_of_classes(spread):
    X, y, _, folds = problem(spread=spread)
    cuts = Cuts.of(X, folds, 60, 2, 600)
    assert 30 <= cuts.best <= 55
    share, error = cuts.finest
    true = ((y[:, None] == y).sum() - len(y)) / (len(y) * (len(y) - 1))
    assert abs(share - true) < 2 * error
    assert error < 0.5 * share


def test_too_few_must_links_tell_nothing_about_the_finest_cut():
    X, _, _, folds = problem(20)
    assert Cuts.of(X, folds, 60, 2, 600).finest is None


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


# -------------------------------------------------------------------- plausible numbers


def blobs_of(n_classes, seed=0):
    return make_blobs(300, 8, centers=n_classes, cluster_std=2.0, random_state=seed)


def cuts_by(X, known):
    return Cuts.of(X, [all_links(known)], known.n_must_link + known.n_cannot_link, 2, 150)


def one_kind(y, n_links, must, seed=0):
    pairs = np.random.RandomState(seed).randint(len(y), size=(100 * n_links, 2))
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    pairs = pairs[(same == must) & (pairs[:, 0] != pairs[:, 1])][:n_links]
    return Constraints(must_link=pairs) if must else Constraints(cannot_link=pairs)


@pytest.mark.parametrize("links", [(3, 1, 2, 14), (0, 0, 5, 15), (4, 1, 0, 0)])
def test_plausibility_is_bayes_rule(links):
    """Against sums over agreements and over explanations of the shares of links, one by one."""
    shares, numbers = np.array([0.5, 0.2, 0.05]), np.array([2, 5, 20])
    kept, broken, joined, apart = links
    m, c = kept + broken, joined + apart
    expected = []
    for s, k in zip(shares, numbers, strict=True):
        given, chosen = 0.0, 0.0
        for q in (np.arange(40) + 0.5) / 40:
            t, f = q + (1 - q) * s, (1 - q) * s
            others = ((1 - t) / (1 - s)) ** broken * (f / s) ** joined
            others *= ((1 - f) / (1 - s)) ** apart
            given += (t / s) ** kept * others
            chosen += t**kept * others  # near rows: together in any cut
        any_share = math.factorial(m) * math.factorial(c) / math.factorial(m + c + 1)
        on_purpose = 0.1 * any_share + (0.25 if not m or not c else 0.0)
        expected.append((given * s**m * (1 - s) ** c + chosen * on_purpose) / k)
    found = plausibility(np.tile(np.array(links, float), (3, 1)), shares, numbers, m + c)
    np.testing.assert_allclose(found, np.array(expected) / max(expected))


@pytest.mark.parametrize("seed", [0, 2, 3])  # with 1, few cannot-links are within two clusters
def test_few_must_links_among_many_cannot_links_speak_for_many_clusters(seed):
    X, y = blobs_of(12, seed)
    known = Constraints.from_labels(y, 20, random_state=seed)
    assert known.n_must_link <= 4
    cuts = cuts_by(X, known)
    assert 6 <= cuts.most_plausible <= 30
    assert cuts.plausible_at(2, 0.5) < 0.2
    assert min(cuts.worth_trying) > 2


@pytest.mark.parametrize("n_links", [5, 20, 100])
@pytest.mark.parametrize("must", [False, True])
def test_links_of_one_kind_do_not_shatter_clusters(n_links, must):
    X, y = blobs_of(3)
    cuts = cuts_by(X, one_kind(y, n_links, must))
    assert cuts.most_plausible <= 4
    assert cuts.plausible_at(30, 0.03) < 0.5


@pytest.mark.parametrize("n_cannot", [0, 20])
def test_must_links_between_near_rows_do_not_shatter_clusters(n_cannot):
    """People name rows that are alike: these are together in fine cuts, too."""
    X, y = blobs_of(5)
    near = NearestNeighbors(n_neighbors=2).fit(X).kneighbors(X, return_distance=False)
    rows = np.random.RandomState(0).permutation(len(X))[:10]
    apart = np.random.RandomState(1).randint(len(y), size=(100, 2))
    apart = apart[y[apart[:, 0]] != y[apart[:, 1]]][:n_cannot]
    known = Constraints(must_link=near[rows], cannot_link=apart)
    cuts = cuts_by(X, known)
    assert cuts.most_plausible <= 8
    model = AutoCluster([PCKMeans(2, n_init=2)], n_folds=2, random_state=0)
    model.fit(X, constraints=known)
    assert adjusted_rand_score(y, model.labels_) > 0.5


def test_numbers_worth_trying_are_few_and_hold_the_best():
    X, y = blobs_of(12)
    cuts = cuts_by(X, one_kind(y, 5, False))
    worth = cuts.worth_trying
    assert cuts.most_plausible in worth
    assert len(worth) <= 6
    assert worth == sorted(set(worth))


def test_what_follows_from_links_adds_no_weight():
    counts, shares, numbers = (
        np.array([[3.0, 1, 2, 14]] * 2),
        np.array([0.5, 0.1]),
        np.array([2, 9]),
    )
    once = plausibility(counts, shares, numbers, 20)
    np.testing.assert_allclose(plausibility(7 * counts, shares, numbers, 20), once)
    many = plausibility(100 * counts, shares, numbers, 2000)
    np.testing.assert_allclose(many, plausibility(2.5 * counts, shares, numbers, 50))
