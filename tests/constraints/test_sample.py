"""Constraints drawn out of labels and trees."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine

from linkwise import ConstraintError, Constraints

Y = load_iris().target


@pytest.mark.parametrize("kind", ["pairs", "balanced", "triplets", "informative"])
@pytest.mark.parametrize("n", [0, 1, 7, 200])
def test_draws_are_right_distinct_and_reproducible(kind, n):
    known = Constraints.from_labels(Y, n, kind, random_state=3)
    assert known.n_constraints == n
    assert known.n_repeated == 0
    assert known.satisfied(Y)
    assert known == Constraints.from_labels(Y, n, kind, random_state=3)
    if n == 200:
        assert known != Constraints.from_labels(Y, n, kind, random_state=4)


def test_balanced():
    known = Constraints.from_labels(Y, 101, "balanced", random_state=0)
    assert (known.n_must_link, known.n_cannot_link) == (51, 50)


@pytest.mark.parametrize(("load", "expected"), [(load_iris, 2 * 147), (load_wine, 2 * 175)])
def test_informative_triplets_are_k_minus_1_times_n_minus_k(load, expected):
    y = load().target
    known = Constraints.from_labels(y, kind="informative")
    assert known.n_relative == expected
    a, b, c = known.relative.T
    assert (y[a] == y[b]).all()
    assert (y[a] != y[c]).all()
    assert known.diagnose().consistent


def test_all_that_labels_imply():
    y = Y.copy()
    y[::3] = -1
    known = Constraints.from_labels(y)
    closure = known.closure()
    rows = np.flatnonzero(y >= 0)
    assert known.n_constraints == len(rows) - 3 + 3
    assert closure.n_must_link + closure.n_cannot_link == len(rows) * (len(rows) - 1) // 2


def test_ids():
    names = [f"flower {i}" for i in range(len(Y))]
    known = Constraints.from_labels(Y, 20, ids=names, random_state=0)
    assert known.has_ids
    assert known.to_rows(len(Y), names) == Constraints.from_labels(Y, 20, random_state=0)
    with pytest.raises(ValueError, match="150 labels but 3 ids"):
        Constraints.from_labels(Y, 20, ids=["a", "b", "c"])


def test_exhausting_all_pairs():
    y = [0, 0, 0, 1, 1]
    known = Constraints.from_labels(y, 10)
    assert (known.n_must_link, known.n_cannot_link) == (4, 6)
    assert Constraints.from_labels(y, 9, "triplets").n_relative == 9
    with pytest.raises(ValueError, match="asked for 11 pairs, but the labels allow only 10"):
        Constraints.from_labels(y, 11)
    with pytest.raises(ValueError, match="asked for 5 pairs of rows of one class, but .* only 4"):
        Constraints.from_labels(y, 10, "balanced")
    with pytest.raises(ValueError, match="asked for 10 triplets, but the labels allow only 9"):
        Constraints.from_labels(y, 10, "triplets")
    with pytest.raises(ValueError, match="n=11 must be between 0 and .* 10"):
        known.sample(11)


def test_draws_of_many_rows_are_uniform():
    y = np.repeat([0, 1, 2], [500, 1500, 3000])
    known = Constraints.from_labels(y, 20_000, "balanced", random_state=0)
    assert known.n_constraints == 20_000
    assert known.satisfied(y)
    share = np.bincount(y[known.must_link[:, 0]]) / known.n_must_link
    sizes = np.bincount(y)
    expected = sizes * (sizes - 1) / (sizes * (sizes - 1)).sum()
    assert np.abs(share - expected).max() < 0.02
    triplets = Constraints.from_labels(y, 5_000, "triplets", random_state=0)
    assert triplets.satisfied(y)
    assert triplets.n_repeated == 0
    mixed = Constraints.from_labels(y, 10_000, random_state=0)
    assert abs(mixed.n_must_link / 10_000 - 0.46) < 0.03


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "triples"}, "kind='triples': expected"),
        ({"n": -1}, "n=-1 must not be negative"),
        ({"kind": "balanced"}, "kind='balanced' draws a sample; give its size n"),
        ({"kind": "triplets"}, "kind='triplets' draws a sample"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ValueError, match=message):
        Constraints.from_labels(Y, **options)


def test_from_tree():
    known = Constraints.from_tree("((cat,dog),(trout,eel));")
    assert known.relative.tolist() == [["cat", "dog", "trout"], ["trout", "eel", "cat"]]
    every = Constraints.from_tree([[0, 1, 2], 3], "sample", 3, random_state=0)
    assert every == Constraints(relative=[(0, 1, 3), (0, 2, 3), (1, 2, 3)])
    assert Constraints.from_tree([0, 1]).n_constraints == 0
    assert Constraints.from_tree([[0, 1], 2], "sample", 0).n_constraints == 0
    with pytest.raises(ConstraintError, match="asked for 4 triplets, but only 3"):
        Constraints.from_tree([[0, 1, 2], 3], "sample", 4)
    with pytest.raises(ValueError, match="needs the number of triplets n, not None"):
        Constraints.from_tree([[0, 1], 2], "sample")
    with pytest.raises(ValueError, match="how='every': expected"):
        Constraints.from_tree([[0, 1], 2], "every")
    with pytest.raises(ValueError, match="n goes with how='sample'"):
        Constraints.from_tree([[0, 1], 2], n=4)


def test_every_pair_and_triplet_is_as_likely():
    y = np.array([0, 0, 0, 1, 1, 2])
    for kind, total in (("pairs", 15), ("triplets", 3 * 3 + 4), ("informative", 2 * 3)):
        whole = Constraints.from_labels(y, total, kind, random_state=0)
        assert whole.n_constraints == total  # every one is there, once
        counts = {}
        for seed in range(600):
            link = Constraints.from_labels(y, 1, kind, random_state=seed).at(0)
            counts[link.rows] = counts.get(link.rows, 0) + 1
        assert len(counts) == total
        expected = 600 / total
        assert sum((n - expected) ** 2 / expected for n in counts.values()) < 2.5 * total + 10


def test_many_small_classes_and_one_large():
    pairs = np.repeat(np.arange(50_000), 2)
    assert Constraints.from_labels(pairs, 100, "balanced", random_state=0).n_must_link == 50
    skewed = np.concatenate([np.zeros(1_000_000, int), np.arange(1, 1001)])
    known = Constraints.from_labels(skewed, 100_000, "triplets", random_state=0)
    assert known.n_relative == 100_000
    assert known.satisfied(skewed)
