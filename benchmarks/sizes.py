"""Limits on cluster sizes against k-means-constrained: ``python -m benchmarks.sizes``.

k-means-constrained (with OR-Tools) is no dependency; its part is left out if it is not installed.
Both start from the same centers. CPU seconds; the objective is the sum of squares to the means.
"""

from __future__ import annotations

import time

import numpy as np
from scipy import sparse
from sklearn.datasets import make_blobs

from linkwise import PCKMeans


def measured(work):
    """The result of a call, and the processor time that it took."""
    start = time.process_time()
    return work(), time.process_time() - start


def blobs(n: int, seed: int) -> np.ndarray:
    """Thirty overlapping blobs in 50 dimensions."""
    return make_blobs(n, n_features=50, centers=30, cluster_std=6, random_state=seed)[0]


def against_flow(n: int = 23_000, k: int = 10, draws: int = 3) -> None:
    """Sizes within 10 % of the mean size."""
    from k_means_constrained import KMeansConstrained

    low, high = int(0.9 * n / k), int(np.ceil(1.1 * n / k))
    for seed in range(draws):
        X = blobs(n, seed)
        centers = X[np.random.default_rng(seed).choice(n, k, replace=False)].copy()
        ours = PCKMeans(k, min_size=low, max_size=high, init=centers, random_state=0)
        theirs = KMeansConstrained(k, size_min=low, size_max=high, init=centers, n_init=1)
        _, own = measured(lambda m=ours, X=X: m.fit(X))
        _, other = measured(lambda m=theirs, X=X: m.fit(X))
        parts = [X[theirs.labels_ == c] for c in range(k)]
        objective = sum(((part - part.mean(axis=0)) ** 2).sum() for part in parts)
        print(
            f"{n:,} x 50, k = {k}, draw {seed}: {own:.2f} s, theirs {other:.2f} s, "
            f"{other / own:.0f} times; objective {ours.objective_ / objective:.6f} of theirs"
        )


def large(n: int = 132_000) -> None:
    """Many rows, dense and sparse."""
    words = sparse.random(n, 2000, density=0.005, format="csr", random_state=0)
    for name, X in (("dense, 50 columns", blobs(n, 0)), ("sparse, 2,000 columns", words)):
        model = PCKMeans(10, min_size=0.09, max_size=0.11, max_iter=50, random_state=0)
        _, seconds = measured(lambda m=model, X=X: m.fit(X))
        print(f"{n:,} rows, {name}: {seconds:.1f} s, {model.n_iter_} iterations")


if __name__ == "__main__":
    try:
        against_flow()
    except ImportError:
        print("k-means-constrained is not installed")
    large()
