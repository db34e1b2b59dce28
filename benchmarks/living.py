"""New rows for a fitted model: time of an update, and the objective after 20 of them.

Run: ``python -m benchmarks.living``.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
from sklearn.datasets import make_blobs

from linkwise import MPCKMeans, PCKMeans


def cost(X: np.ndarray, model: PCKMeans) -> float:
    return float(((X - model.cluster_centers_[model.labels_]) ** 2).sum())


def speed() -> None:
    X, _ = make_blobs(101_000, 64, centers=20, cluster_std=4.0, random_state=0)
    for name, model in (("PCKMeans", PCKMeans(20, random_state=0)),
                        ("MPCKMeans", MPCKMeans(20, random_state=0))):  # fmt: skip
        started = time.perf_counter()
        model.fit(X[:100_000])
        fit = time.perf_counter() - started
        started, cpu = time.perf_counter(), time.process_time()
        model.update(X[100_000:])
        wall, cpu = time.perf_counter() - started, time.process_time() - cpu
        print(f"{name}: fit {fit:.2f} s, update {wall:.3f} s (CPU {cpu:.3f} s)")


def batches() -> None:
    gaps = []
    for seed in range(8):
        X, _ = make_blobs(4000, 8, centers=10, cluster_std=3.0, random_state=seed)
        model = PCKMeans(10, n_init=3, random_state=0).fit(X[:2000])
        for start in range(2000, 4000, 100):
            model.update(X[start : start + 100])
        whole = PCKMeans(10, n_init=3, random_state=0).fit(X)
        again = PCKMeans(10, init=model.cluster_centers_).fit(X)  # the minimum it is at
        gaps.append([cost(X, model) / cost(X, other) - 1 for other in (whole, again)])
    for name, found in zip(
        ("one fit", "one fit from its centers"), np.transpose(gaps), strict=True
    ):
        error = np.std(found, ddof=1) / np.sqrt(len(found))
        print(
            f"20 batches, above {name}: {found.mean():+.2%} +- {error:.2%}, "
            f"median {np.median(found):+.2%}, worst {found.max():+.2%}"
        )


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        speed()
        batches()
