"""Informativeness and coherence (Davidson, Wagstaff & Basu 2006)."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array
from sklearn.cluster import KMeans

from linkwise import Constraints


def slow_overlap(a, b, c, d) -> float:
    """Length of the part of segment cd that the projection of ab on its line covers."""
    direction = d - c
    length = np.linalg.norm(direction)
    if length == 0:
        return 0.0
    unit = direction / length
    ends = sorted([float((a - c) @ unit), float((b - c) @ unit)])
    return max(0.0, min(ends[1], length) - max(ends[0], 0.0))


def slow_coherence(known, X) -> float:
    good = total = 0
    for i, j in known.must_link:
        for p, q in known.cannot_link:
            total += 1
            over_c = slow_overlap(X[i], X[j], X[p], X[q])
            over_m = slow_overlap(X[p], X[q], X[i], X[j])
            good += over_c < 1e-9 and over_m < 1e-9
    return good / total


@given(arrays(float, (8, 2), elements=st.integers(-5, 5).map(float)), st.integers(0, 5))
def test_coherence_equals_the_slow_one(X, seed):
    rng = np.random.default_rng(seed)
    links = [rng.permutation(8)[:2] for _ in range(6)]
    known = Constraints(must_link=links[:3], cannot_link=links[3:])
    assert known.coherence(X) == pytest.approx(slow_coherence(known, X))


def test_coherence_by_hand():
    X = np.array([[0.0, 0.0], [2.0, 0.0], [5.0, 0.0], [7.0, 0.0], [1.0, 0.0], [1.0, 9.0]])
    apart = Constraints(must_link=[(0, 1)], cannot_link=[(2, 3)])  # beside each other on a line
    assert apart.coherence(X) == 1.0
    across = Constraints(must_link=[(0, 1)], cannot_link=[(4, 5)])  # perpendicular
    assert across.coherence(X) == 1.0
    against = Constraints(must_link=[(0, 2)], cannot_link=[(1, 3)])
    assert against.coherence(X) == 0.0
    assert math.isnan(Constraints(must_link=[(0, 1)]).coherence(X))


def test_coherence_of_many_is_sampled(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    known = Constraints.from_labels(rng.integers(0, 2, 200), 400, "balanced", random_state=0)
    exact = known.coherence(X)
    monkeypatch.setattr("linkwise.constraints._measure._MOST_PAIRS", 10_000)
    assert known.coherence(X) == pytest.approx(exact, abs=0.02)


def test_informativeness():
    X = np.array([[0.0], [0.1], [5.0], [5.1]])
    right = Constraints(must_link=[(0, 1)], cannot_link=[(1, 2)])
    wrong = Constraints(must_link=[(0, 2)], cannot_link=[(0, 1), (0, 3)])
    kmeans = KMeans(2, n_init=2, random_state=0)
    assert right.informativeness(X, kmeans) == 0.0
    assert wrong.informativeness(X, kmeans) == pytest.approx(2 / 3)
    assert not hasattr(kmeans, "labels_")  # a clone was fitted
    frame = pd.DataFrame(X, index=list("abcd"))
    assert Constraints(must_link=[("a", "d")]).informativeness(frame, kmeans) == 1.0
    with pytest.raises(TypeError, match="str is not a clusterer"):
        right.informativeness(X, "kmeans")


def test_coherence_of_many_rows(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    known = Constraints.from_labels(rng.integers(0, 3, 300), 300, "balanced", random_state=0)
    expected = known.coherence(X)
    monkeypatch.setattr("linkwise.constraints._measure._CELLS", 1000)  # several blocks
    assert known.coherence(X) == expected
    assert known.coherence(csr_array(X)) == expected
