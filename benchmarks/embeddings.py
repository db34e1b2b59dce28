"""Wide rows and many clusters: whole fits against scikit-learn's k-means and faiss.

All start from the same rows (not the generator's centers) and run ten iterations. Ratios are by CPU
time (for a loaded machine) and by the clock (for a quiet one). The roofline is what one pass over
the rows must take on this machine: the slower of reading them once and of the 2 n k d operations of
their products with the centers, at the speeds that a copy and a matrix product reach here.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from linkwise import Constraints, COPKMeans, HMRFKMeans, MPCKMeans, PCKMeans

from ._harness import Row, peak_megabytes

SHAPES = ((50_000, 768, 50), (20_000, 768, 500), (50_000, 256, 150), (50_000, 32, 1_000))
# To reach, against KMeans: without links, PCK, MPCK, COP, PCK cosine, HMRF cosine.
BARS = {
    (50_000, 768, 50): (1.0, 1.1, 1.6, 1.2, 1.2, 2.5),
    (20_000, 768, 500): (1.0, 1.1, 1.6, 1.3, 1.2, 2.5),
    (50_000, 256, 150): (1.0, 1.1, 1.6, 1.3, 1.2, 2.5),
    (50_000, 32, 1_000): (1.0, 0.7, 1.3, 1.0, 0.9, 2.0),
}
REPEAT, ITERATIONS = 2, 10
Work = Callable[[], Any]


def run() -> Iterator[Row]:
    for shape in SHAPES:
        yield from _wide(*shape)
    yield from _predict()
    yield from _many_rows()
    yield from _many_links()


def _data(n: int, d: int, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    centers, y = rng.normal(size=(k, d)), rng.integers(0, k, n)
    X = centers[y] + rng.normal(0, 2.5 if d > 100 else 0.7, (n, d))
    X = X.astype(np.float32)
    return X, y, X[rng.choice(n, k, replace=False)].copy()


class Seconds(NamedTuple):
    """Least seconds of the processor and of the clock."""

    cpu: float
    clock: float

    def over(self, reference: Seconds) -> str:
        """Ratios to the seconds of a reference."""
        cpu, clock = self.cpu / reference.cpu, self.clock / reference.clock
        return f"{cpu:.2f}x by CPU, {clock:.2f}x by clock"


def _seconds(work: dict[str, Work], repeat: int = REPEAT) -> dict[str, Seconds]:
    """Seconds of each, measured in turn; a first round does not count."""
    best = dict.fromkeys(work, Seconds(np.inf, np.inf))
    warnings.simplefilter("ignore", ConvergenceWarning)  # ten iterations are asked for
    for turn in range(repeat + 1):
        for name, call in work.items():
            cpu, clock = time.process_time(), time.perf_counter()
            call()
            if turn:
                cpu, clock = time.process_time() - cpu, time.perf_counter() - clock
                best[name] = Seconds(min(best[name].cpu, cpu), min(best[name].clock, clock))
    return best


def _faiss(X: np.ndarray, k: int, start: np.ndarray) -> Work | None:
    try:
        import faiss
    except ImportError:
        return None

    def fit() -> None:
        model = faiss.Kmeans(
            X.shape[1], k, niter=ITERATIONS, max_points_per_centroid=10**9,
            min_points_per_centroid=1, seed=0,
        )  # fmt: skip
        model.train(X, init_centroids=start)
        model.index.search(X, 1)

    return fit


def _wide(n: int, d: int, k: int) -> Iterator[Row]:
    X, y, start = _data(n, d, k)
    known = Constraints.from_labels(y, 2_000, "balanced", random_state=0)
    same: dict[str, Any] = {
        "init": start, "n_init": 1, "max_iter": ITERATIONS, "tol": 0, "random_state": 0
    }  # fmt: skip
    ours = {
        "PCK, no links": PCKMeans(k, **same),
        "PCK": PCKMeans(k, **same),
        "MPCK": MPCKMeans(k, **same),
        "COP": COPKMeans(k, **same),
        "PCK cosine": PCKMeans(k, distortion="cosine", **same),
        "HMRF cosine": HMRFKMeans(k, distortion="cosine", **same),
    }
    work: dict[str, Work] = {"KMeans": lambda: KMeans(k, algorithm="lloyd", **same).fit(X)}
    peer = _faiss(X, k, start)
    if peer is not None:
        work["faiss"] = peer
    for name, model in ours.items():
        given = None if name.endswith("no links") else known
        work[name] = lambda model=model, given=given: model.fit(X, constraints=given)  # type: ignore[misc]
    found = _seconds(work)
    what, base = f"{n:,} x {d} float32, k = {k:,}", found["KMeans"]
    floor = _roofline(X, k)
    yield Row(
        f"{what}: one pass, roofline",
        f"{floor:.3f} s; ours {found['PCK, no links'].cpu / ITERATIONS:.3f} s per iteration "
        f"({found['PCK, no links'].cpu / ITERATIONS / floor:.1f}x)",
        "-",
        None,
    )
    if peer is not None:
        yield Row(f"{what}: faiss-cpu", found["faiss"].over(base), "-", None)
    for (name, model), bar in zip(ours.items(), BARS[n, d, k], strict=True):
        yield Row(
            f"{what}: {name}", found[name].over(base), f"{bar:g}x",
            found[name].cpu <= bar * base.cpu, f"{model.report_.satisfaction.share:.0%} satisfied",
        )  # fmt: skip


def _roofline(X: np.ndarray, k: int) -> float:
    """CPU seconds that one pass over the rows takes at least on this machine."""
    n, d = X.shape
    a, b = np.ones((1024, 1024), np.float32), np.ones((1024, 1024), np.float32)
    times = _seconds({"copy": lambda: X.copy(), "product": lambda: a @ b}, 5)
    bandwidth, flops = 2 * X.nbytes / times["copy"].cpu, 2 * 1024**3 / times["product"].cpu
    return max(X.nbytes / bandwidth, 2.0 * n * k * d / flops)


def _predict_large() -> None:
    X, _, start = _data(200_000, 32, 1_000)
    model = PCKMeans(1_000, init=start, n_init=1, max_iter=1).fit(X[:20_000])
    model.predict(X)


def _predict() -> Iterator[Row]:
    X, _, start = _data(200_000, 32, 1_000)
    ours = PCKMeans(1_000, init=start, n_init=1, max_iter=1).fit(X[:20_000])
    theirs = KMeans(1_000, init=start, n_init=1, max_iter=1).fit(X[:20_000])
    found = _seconds({"ours": lambda: ours.predict(X), "theirs": lambda: theirs.predict(X)})
    yield Row(
        "predict, 200,000 x 32, k = 1,000", found["ours"].over(found["theirs"]), "1.2x",
        found["ours"].cpu <= 1.2 * found["theirs"].cpu,
        f"{peak_megabytes(_predict_large):.0f} MB with the data (26 MB) and a fit",
    )  # fmt: skip


def _many_rows() -> Iterator[Row]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, 1_000_000)
    X = rng.normal(size=(1_000_000, 16)) + 1.5 * rng.normal(size=(10, 16))[y]
    start = X[rng.choice(len(X), 10, replace=False)].copy()
    known = Constraints.from_labels(y, 20_000, "balanced", random_state=0)
    models = {
        "PCK": (PCKMeans, {}, 0.7),
        "MPCK": (MPCKMeans, {}, 1.1),
        "MPCK per cluster": (MPCKMeans, {"per_cluster": True}, 1.6),
        "MPCK full": (MPCKMeans, {"metric": "full"}, 1.8),
    }
    yield from _against_kmeans("10^6 x 16, k = 10, 20,000 links", X, known, start, models)


def _many_links() -> Iterator[Row]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, 100_000)
    X = rng.normal(size=(100_000, 16)) + 1.5 * rng.normal(size=(10, 16))[y]
    start = X[rng.choice(len(X), 10, replace=False)].copy()
    known = Constraints.from_labels(y, 1_000_000, random_state=0)
    models = {"PCK": (PCKMeans, {}, 2.0), "MPCK": (MPCKMeans, {}, 3.0)}
    yield from _against_kmeans("10^5 x 16, k = 10, 10^6 links", X, known, start, models)


def _against_kmeans(
    what: str, X: np.ndarray, known: Constraints, start: np.ndarray, models: dict[str, Any]
) -> Iterator[Row]:
    same: dict[str, Any] = {
        "init": start, "n_init": 1, "max_iter": ITERATIONS, "tol": 0, "random_state": 0
    }  # fmt: skip
    work: dict[str, Work] = {"KMeans": lambda: KMeans(len(start), algorithm="lloyd", **same).fit(X)}
    for name, (kind, given, _) in models.items():
        model = kind(len(start), **same, **given)
        work[name] = lambda model=model: model.fit(X, constraints=known)  # type: ignore[misc]
    found = _seconds(work, 1)
    for name, (_, _, bar) in models.items():
        passed = found[name].cpu <= bar * found["KMeans"].cpu
        yield Row(f"{what}: {name}", found[name].over(found["KMeans"]), f"{bar:g}x", passed)
