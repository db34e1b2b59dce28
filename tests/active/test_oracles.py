"""Oracles: labels, functions."""

from __future__ import annotations

import numpy as np
import pytest

from linkwise.active import FunctionOracle, LabelOracle


def test_labels():
    oracle = LabelOracle(["a", "a", "b", None, float("nan")])
    assert [oracle(0, 1), oracle(1, 2), oracle(0, 3), oracle(4, 0)] == [
        "same",
        "different",
        "unsure",
        "unsure",
    ]
    assert oracle.n_asked == 4


def test_noise_is_a_share_and_the_same_every_time():
    y = np.repeat([0, 1], 50)
    pairs = [(i, j) for i in range(100) for j in range(i)]
    oracle = LabelOracle(y, noise=0.2, unsure=0.1, random_state=5)
    said = [oracle(i, j) for i, j in pairs]
    assert said == [oracle(j, i) for i, j in pairs]
    assert np.mean([s == "unsure" for s in said]) == pytest.approx(0.1, abs=0.02)
    right = LabelOracle(y)
    wrong = [s != right(*p) for s, p in zip(said, pairs, strict=True) if s != "unsure"]
    assert np.mean(wrong) == pytest.approx(0.2, abs=0.02)
    for bad in ({"noise": 1.5}, {"unsure": -0.1}):
        with pytest.raises(ValueError, match="must be between 0 and 1"):
            LabelOracle(y, **bad)


def test_functions_may_say_it_in_many_ways():
    replies = iter([True, np.True_, False, None, "same", "d"])
    oracle = FunctionOracle(lambda a, b: next(replies), "abcdef")
    said = [oracle(0, 1) for _ in range(6)]
    assert said == ["same", "same", "different", "unsure", "same", "different"]
