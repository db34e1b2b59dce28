"""Measure the tables of the guide: ``.venv/bin/python docs/measure.py [noise | curves]``.

They stand in docs/guide/noise.md and docs/guide/how-many.md (2026-11-16; scikit-learn 1.9.1). The
noise table takes about a minute, the curves ten.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler

import linkwise as lw
from linkwise import Constraints
from linkwise.datasets import load
from linkwise.evaluation import Protocol, learning_curve, score

N_DRAWS, N_LINKS, SHARE_WRONG = 3, 150, 0.2
NUMBERS = (0, 5, 20, 50, 100, 200)


def measure_noise() -> None:
    """Mean ARI with right constraints, with one in five wrong, and with confidences."""
    for name in ("iris", "wine"):
        X, y = _standardized(name)
        print(
            name,
            "k-means",
            f"{score(y, KMeans(3, n_init=10, random_state=0).fit_predict(X)).ari:.2f}",
        )
        draws = [list(_constraints(y, seed)) for seed in range(N_DRAWS)]
        for method in (
            lw.PCKMeans(3, n_init=5, random_state=0),
            lw.MPCKMeans(3, n_init=5, random_state=0),
            lw.HMRFKMeans(3, n_init=5, random_state=0),
            lw.BoostCluster(KMeans(3, n_init=5), random_state=0),
            lw.ConstrainedKernelKMeans(3, random_state=0),
            lw.SpectralLearning(3, random_state=0),
        ):
            found = [[score(y, method.fit(X, constraints=k).labels_).ari for k in d] for d in draws]
            print(name, type(method).__name__, np.mean(found, axis=0).round(2))


def _constraints(y: Any, seed: int) -> Iterator[Constraints]:
    """Right, partly wrong, and the same with confidences that know better."""
    good = Constraints.from_labels(y, N_LINKS, random_state=seed)
    told = good.flip(SHARE_WRONG, random_state=seed)
    right, rng = told.satisfied(y), np.random.default_rng(seed)

    def sure(links: Any, is_right: Any) -> list[tuple[int, int, float]]:
        weight = np.where(
            is_right, rng.uniform(0.5, 1, len(links)), rng.uniform(0, 0.5, len(links))
        )
        return [(i, j, float(w)) for (i, j), w in zip(links.tolist(), weight, strict=True)]

    yield from (good, told)
    yield Constraints(
        must_link=sure(told.must_link, right.must_link),
        cannot_link=sure(told.cannot_link, right.cannot_link),
    )


def measure_curves() -> None:
    """ARI on rows that no constraint speaks of, by the number of random pairs."""
    for name, k in (("iris", 3), ("wine", 3), ("wdbc", 2), ("digits", 10)):
        X, y = load(name, return_X_y=True) if name == "digits" else _standardized(name)
        methods = {
            "k-means": KMeans(k, n_init=3), "PCKMeans": lw.PCKMeans(k), "MPCKMeans": lw.MPCKMeans(k)
        }  # fmt: skip
        curve = learning_curve(
            methods, X, y, n_constraints=NUMBERS, protocol=Protocol(n_trials=3, n_folds=3)
        )
        for method, line in zip(curve.methods, curve.mean("ari"), strict=True):
            print(name, method, line.round(2))


def _standardized(name: str) -> tuple[Any, Any]:
    X, y = load(name, return_X_y=True)
    return StandardScaler().fit_transform(X), y


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for part in sys.argv[1:] or ("noise", "curves"):
        {"noise": measure_noise, "curves": measure_curves}[part]()
