"""The description length against its formula, and as a criterion for k."""

from __future__ import annotations

from math import comb, log

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.datasets import make_blobs

from linkwise import Constraints, PCKMeans
from linkwise.evaluation import description_length


def test_the_formula_term_by_term():
    X = np.random.default_rng(0).normal(size=(12, 2))
    labels = np.arange(12) % 3
    known = Constraints(must_link=[(0, 3), (0, 1)], cannot_link=[(0, 2), (1, 4), (2, 3)])
    means = np.array([X[labels == c].mean(axis=0) for c in range(3)])
    away = X - means[labels]
    deviation = np.sqrt((away**2).mean())
    slow = 12 * log(3) - norm.logpdf(away, scale=deviation).sum() + (3 * 2 + 1) / 2 * log(12)
    assert description_length(X, labels) == pytest.approx(slow)
    # One must-link (0, 1) and one cannot-link (1, 4) are violated.
    slow += log(comb(5, 2)) + log(6)
    assert description_length(X, labels, known) == pytest.approx(slow)


@pytest.mark.parametrize("k", [2, 4, 7])
def test_finds_the_number_of_round_clusters(k):
    X, y = make_blobs(100 * k, 5, centers=k, center_box=(-20, 20), random_state=k)
    known = Constraints.from_labels(y, 50, random_state=0)
    lengths = {}
    for number in range(1, 11):
        model = PCKMeans(number, random_state=0)
        lengths[number] = description_length(X, model.fit_predict(X, constraints=known), known)
    assert min(lengths, key=lengths.get) == k


def test_rows_without_a_cluster_are_alone():
    X = np.random.default_rng(0).normal(size=(6, 2))
    assert description_length(X, [0, 0, 1, 1, -1, -1]) == pytest.approx(
        description_length(X, [0, 0, 1, 1, 2, 3])
    )


def test_identical_rows_and_bad_input():
    assert np.isfinite(description_length(np.ones((4, 2)), [0, 0, 0, 0]))
    with pytest.raises(ValueError, match="labels has 3 entries, but X has 4 rows"):
        description_length(np.ones((4, 2)), [0, 0, 0])
