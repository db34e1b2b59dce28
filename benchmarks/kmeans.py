"""The k-means methods against scikit-learn's KMeans: same data, same start, same iterations."""

from __future__ import annotations

import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from linkwise import Constraints, COPKMeans, MPCKMeans, PCKMeans

from ._harness import Row, in_turn, peak_megabytes

K = 10
ITERATIONS = 30


def run() -> Iterator[Row]:
    warnings.simplefilter("ignore", ConvergenceWarning)
    # Wide blobs: k-means still moves rows after thirty iterations.
    X, y = make_blobs(1_000_000, 16, centers=K, cluster_std=7.0, random_state=0)
    known = Constraints.from_labels(y, 20_000, "balanced", random_state=0)
    work = "10^6 x 16, 10,000 must + 10,000 cannot"
    yield _compare(work, PCKMeans(K), X, y, known, 1.0)
    yield _compare(work, MPCKMeans(K), X, y, known, 1.5)
    yield _compare(work, MPCKMeans(K, per_cluster=True), X, y, known, 2.5)
    yield _compare(work, MPCKMeans(K, metric="full"), X, y, known, 3.0)
    X, y = X[:100_000].copy(), y[:100_000]
    known = Constraints.from_labels(y, 1_000_000, "balanced", random_state=0)
    yield _compare("10^5 x 16, 10^6 constraints", PCKMeans(K), X, y, known, 3.0)
    yield from _sparse()
    X, y = X[:10_000].copy(), y[:10_000]
    known = Constraints.from_labels(y, 1_000, "balanced", random_state=0)
    yield _compare("10^4 x 16, 1,000 constraints", COPKMeans(K, n_init=1), X, y, known, 3.0)
    yield from _memory()
    yield from _small_fits()
    yield from _first_fit()


def _start(X: Any) -> np.ndarray:
    rows = X[np.random.default_rng(1).choice(X.shape[0], K, replace=False)]
    return rows.toarray() if sparse.issparse(rows) else rows.copy()


def _compare(work: str, model: Any, X: Any, y: np.ndarray, known: Constraints, bar: float) -> Row:
    centers = _start(X)
    model.set_params(init=centers, max_iter=ITERATIONS, tol=0, random_state=0)
    kmeans = KMeans(K, init=centers, n_init=1, max_iter=ITERATIONS, tol=0)
    mine, theirs = in_turn(lambda: model.fit(X, constraints=known), lambda: kmeans.fit(X))
    # Both may stop early: compare the time of an iteration.
    ratio = (mine / model.n_iter_) / (theirs / kmeans.n_iter_)
    found, plain = (adjusted_rand_score(y, m.labels_) for m in (model, kmeans))
    return Row(
        f"{_name(model)}, {work}",
        f"{ratio:.2f}x KMeans per iteration ({mine / theirs:.2f}x in all, {model.n_iter_} "
        f"iterations against {kmeans.n_iter_})",
        f"{bar}x",
        ratio <= bar,
        f"ARI {found:.3f} (KMeans {plain:.3f}), {model.report_.satisfaction.share:.0%} kept",
    )


def _name(model: Any) -> str:
    extra = []
    if isinstance(model, MPCKMeans):
        extra = [model.metric, "per cluster" if model.per_cluster else "one metric"]
    return " ".join([type(model).__name__, *extra])


def _sparse() -> Iterator[Row]:
    rng = np.random.default_rng(0)
    X = sparse.random(20_000, 20_000, 0.003, format="csr", random_state=0)
    y = rng.integers(0, K, 20_000)
    known = Constraints.from_labels(y, 2_000, "balanced", random_state=0)
    yield _compare(
        "CSR 20,000 x 20,000, 0.3 % dense, 2,000 constraints", PCKMeans(K), X, y, known, 1.5
    )


def _fit_large(kind: str) -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    X = np.random.default_rng(0).normal(size=(1_000_000, 16))
    known = Constraints.from_labels(np.arange(len(X)) % K, 20_000, "balanced", random_state=0)
    model = {"pck": PCKMeans(K), "mpck": MPCKMeans(K, per_cluster=True)}[kind]
    model.set_params(init=X[:K].copy(), max_iter=3).fit(X, constraints=known)


def _memory() -> Iterator[Row]:
    data = 1_000_000 * 16 * 8 / 2**20
    for kind in ("pck", "mpck"):
        beyond = peak_megabytes(_fit_large, kind) - data
        yield Row(
            f"peak memory of {kind}, 10^6 x 16", f"{beyond / data:.2f}x the data beyond the data",
            "1.5x", beyond <= 1.5 * data,
        )  # fmt: skip


# Processor time of importing, and of the first fit.
_FIRST = """
import time, numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
X, y = load_iris(return_X_y=True)
start = time.process_time()
from linkwise import Constraints, MPCKMeans
imported = time.process_time()
known = Constraints.from_labels(y, 50, random_state=0)
MPCKMeans(3, random_state=0).fit(X, constraints=known)
print(imported - start, time.process_time() - imported)
"""


def _small_fits() -> Iterator[Row]:
    """Median processor time of 20 fits of iris with 60 links, in turn with KMeans of ten starts."""
    X, y = load_iris(return_X_y=True)
    known = Constraints.from_labels(y, 60, random_state=0)
    for model, bar in ((PCKMeans(3), 8), (MPCKMeans(3), 15)):
        for n_init in ("auto", 1):
            model.set_params(n_init=n_init)
            taken = np.array([_processor_ms(model, X, known, seed) for seed in range(20)])
            ours, theirs = np.median(taken, axis=0)
            yield Row(
                f"{_name(model)}, iris, 60 constraints, n_init={n_init}",
                f"{ours:.0f} ms ({ours / theirs:.1f}x KMeans with ten starts)",
                f"{bar} ms",
                bool(ours <= bar),
            )


def _processor_ms(model: Any, X: Any, known: Constraints, seed: int) -> tuple[float, float]:
    start = time.process_time()
    model.set_params(random_state=seed).fit(X, constraints=known)
    middle = time.process_time()
    KMeans(3, n_init=10, random_state=seed).fit(X)
    return 1e3 * (middle - start), 1e3 * (time.process_time() - middle)


def _first_fit() -> Iterator[Row]:
    times = []
    for _ in range(5):
        command = [sys.executable, "-c", _FIRST]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        times.append([float(part) for part in done.stdout.split()])
    imported, fitted = np.median(times, axis=0)
    for work, seconds, bar in (
        ("import of the k-means methods, beyond NumPy and scikit-learn", imported, 0.3),
        ("first fit of a process, MPCKMeans, iris, 50 constraints", fitted, 0.2),
    ):
        yield Row(work, f"{seconds:.2f} CPU s", f"{bar} s", bool(seconds <= bar))
