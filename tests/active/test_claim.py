"""Claim H5 in small: chosen questions beat random ones. In full: papers/basu2006_hmrf_kmeans."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from linkwise.datasets import load

SCRIPT = Path(__file__).parents[2] / "papers" / "basu2006_hmrf_kmeans" / "active.py"


@pytest.fixture(scope="module")
def claim():
    spec = importlib.util.spec_from_file_location("claim_h5", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def test_explore_and_consolidate_beat_random_pairs_on_iris(claim):
    X, y = load("iris", return_X_y=True)
    results = [
        result
        for split in range(8)
        for strategy in ("RandomPairs", "ExploreConsolidate")
        for result in claim.learning_curve(X, y, "iris", split, strategy, (20, 40))
    ]
    ((gain, chance),) = claim.compare(results, "ExploreConsolidate").values()
    assert gain > 0
    assert chance < 0.05
    active = [r for r in results if r.strategy == "ExploreConsolidate"]
    assert max(r.most_per_row for r in active) <= 2  # K - 1
    assert 0 < np.median([r.n_to_find_all for r in active]) < 20


def test_the_verdict_can_say_no(claim):
    def results(gain):
        return [
            claim.Result(
                "iris", split, strategy, 100, 0.5 + gain * (strategy != "RandomPairs"), 9, 2
            )
            for split in range(8)
            for strategy in (claim.RANDOM, *claim.ACTIVE)
        ]

    assert all("not reproduced" in line for line in claim.verdicts(results(-0.1)) if "H5.3" in line)
    assert all(
        "m pairs: reproduced" in line for line in claim.verdicts(results(0.1)) if "H5.3" in line
    )
    worse = [claim.Result("iris", 0, "MinMax", 100, 0.5, 9, 3), *results(0.1)]
    assert "not reproduced" in next(iter(claim.verdicts(worse)))
