"""Apart groups: time of a fit with and without them, in one run.

Run as ``python -m benchmarks.groups``. Rows are drawn around k centers, and each group has rows of
different clusters; both fits start from the same centers.
"""

from __future__ import annotations

import time

import numpy as np

from linkwise import Constraints, COPKMeans, PCKMeans

CASES = ((1_000_000, 5, 10, 16), (100_000, 50, 60, 16))  # rows, group size, clusters, features


def data(n: int, size: int, k: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and the group of each."""
    rng = np.random.default_rng(0)
    order = rng.random((n // size, k)).argsort(axis=1)[:, :size]
    X = rng.normal(size=(k, d))[order.ravel()] + rng.normal(size=(n, d))
    return X, np.repeat(np.arange(n // size), size)


def seconds(model: PCKMeans | COPKMeans, X: np.ndarray, known: Constraints | None) -> str:
    """CPU seconds and iterations of a fit."""
    began = time.process_time()
    model.fit(X, constraints=known)
    return f"{time.process_time() - began:.1f} s CPU, {model.n_iter_} iterations"


def main() -> None:
    """Print one line per fit."""
    for n, size, k, d in CASES:
        X, group = data(n, size, k, d)
        began = time.process_time()
        known = Constraints(apart=group)
        print(f"{n:,} rows, groups of {size}: built in {time.process_time() - began:.1f} s")
        start = X[np.random.default_rng(1).choice(n, k, replace=False)]
        for make in (PCKMeans, COPKMeans):
            for title, given in (("without", None), ("with", known)):
                model = make(k, init=start, max_iter=30, tol=0)
                print(f"  {make.__name__} {title}: {seconds(model, X, given)}", flush=True)


if __name__ == "__main__":
    main()
