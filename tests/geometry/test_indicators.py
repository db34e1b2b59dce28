"""Indicators of categories among columns."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwise.geometry import one_hot_groups


def is_two_valued(column):
    return len(np.unique(column)) == 2


def slow_groups(X, single):
    """From every column on: neighbors are added until each row has one at its upper value."""
    found, start = [], 0
    while start < X.shape[1]:
        stop, total = None, np.zeros(len(X))
        for place in range(start, X.shape[1]):
            total += X[:, place] == X[:, place].max()
            if not is_two_valued(X[:, place]) or total.max() > 1:
                break
            if place > start and total.min() == 1:
                stop = place + 1
                break
        if stop is None and single and is_two_valued(X[:, start]):
            stop = start + 1
        if stop is not None:
            found.append((start, stop))
        start = start + 1 if stop is None else stop
    return found


@given(st.integers(0, 10_000), st.booleans())
@settings(max_examples=100, deadline=None)
def test_they_are_those_of_a_slow_version(seed, single):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    parts = []
    for kind in rng.integers(0, 5, 6).tolist():
        k = int(rng.integers(2, 5))
        if kind < 2:  # a category, shifted and scaled
            parts.append(np.eye(k)[rng.integers(0, k, n)] * 2.5 - rng.integers(0, 2))
        elif kind < 4:
            parts.append(rng.integers(0, 2, (n, k)).astype(float))
        else:
            parts.append(rng.normal(size=(n, 1)))
    X = np.hstack(parts)
    assert one_hot_groups(X, single=single) == slow_groups(X, single)


def test_groups_that_do_not_end_are_not_begun_anew():
    rng = np.random.default_rng(0)
    # Every column has one row at its upper value: groups begin everywhere, and hardly any ends.
    X = np.zeros((100, 10_000))
    X[rng.integers(0, 100, X.shape[1]), np.arange(X.shape[1])] = 1.0
    assert one_hot_groups(X) == []
