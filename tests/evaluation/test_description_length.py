"""The description length against its formula, and as a criterion for k."""

from __future__ import annotations

from math import comb, log

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm
from sklearn.datasets import make_blobs

from linkwise import Constraints, PCKMeans
from linkwise.evaluation import _description_length, description_length


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


@pytest.mark.parametrize("covariance", ["diagonal", "tied", "full"])
def test_other_shapes(covariance, monkeypatch):
    monkeypatch.setattr(_description_length, "_LEAST", 0.0)
    X = np.random.default_rng(0).normal(size=(40, 3)) @ np.diag([1.0, 3.0, 9.0])
    labels = np.arange(40) % 2
    parts = [X[labels == c] - X[labels == c].mean(axis=0) for c in (0, 1)]
    told = {"diagonal": 3, "tied": 6, "full": 12}[covariance]
    slow = 40 * log(2) + (2 * 3 + told) / 2 * log(40)
    for part in parts:
        around = part if covariance == "full" else np.concatenate(parts)
        shape = around.T @ around / len(around)
        shape = np.diag(np.diag(shape)) if covariance == "diagonal" else shape
        slow -= multivariate_normal(np.zeros(3), shape).logpdf(part).sum()
    assert description_length(X, labels, covariance=covariance) == pytest.approx(slow)


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
    with pytest.raises(ValueError, match="covariance"):
        description_length(np.ones((4, 2)), [0, 0, 0, 0], covariance="round")
    with pytest.raises(ValueError, match="labels has 3 entries, but X has 4 rows"):
        description_length(np.ones((4, 2)), [0, 0, 0])
