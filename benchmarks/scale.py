"""Past one machine: Dask workers, blocks on disk, and how cost grows.

Fits are cut after a few iterations, from the same centers, so that all do the same work. Workers
run on this very machine: what is measured is what Dask adds, not what more machines bring.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from linkwise import Constraints, PCKMeans, open_blocks

from ._harness import Row, in_turn, peak_megabytes, seconds

K, D = 10, 16
ITERATIONS = 10
SIZES = (250_000, 500_000, 1_000_000, 2_000_000, 4_000_000)
LINKS = (10_000, 40_000, 160_000, 640_000)
LIMIT = 500  # MB, for the fit from disk
IMAGES = Path(__file__).parent / "images"


def run() -> Iterator[Row]:
    warnings.simplefilter("ignore", ConvergenceWarning)
    X, y = _blobs(SIZES[-1])
    yield from _rows(X, y)
    yield from _constraints(X[:500_000], y[:500_000])
    yield from _workers(X, y)
    yield from _overhead()
    yield from _disk()


def _blobs(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    centers = rng.uniform(-10, 10, (K, D))
    y = rng.integers(0, K, n)
    X = rng.normal(0.0, 7.0, (n, D))
    for start in range(0, n, 500_000):
        X[start : start + 500_000] += centers[y[start : start + 500_000]]
    return X, y


def _model(X: Any, **options: Any) -> PCKMeans:
    start = np.random.default_rng(1).uniform(-10, 10, (K, D))
    told = {"max_iter": ITERATIONS, "tol": 0, "random_state": 0, **options}
    return PCKMeans(K, init=start, **told)


def _fit(X: Any, constraints: Any = None, **options: Any) -> PCKMeans:
    return _model(X, **options).fit(X, constraints=constraints)


def _exponent(sizes: tuple[int, ...], times: list[float]) -> float:
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


# -------------------------------------------------------------------- how cost grows


def _rows(X: np.ndarray, y: np.ndarray) -> Iterator[Row]:
    known = Constraints.from_labels(y[: SIZES[0]], 10_000, "balanced", random_state=0)
    times, theirs, memory = [], [], []
    for n in SIZES:
        times.append(seconds(lambda n=n: _fit(X[:n], known), 2))
        kmeans = KMeans(K, init=_model(X).init, n_init=1, max_iter=ITERATIONS, tol=0)
        theirs.append(seconds(lambda n=n, m=kmeans: m.fit(X[:n]), 2))
        memory.append(peak_megabytes(_fit_fresh, n))
    model = _fit(X, known)
    exponent = _exponent(SIZES, times)
    # Its own default of a hundred passes takes minutes on so many rows.
    quick = MiniBatchKMeans(
        K, init=_model(X).init, n_init=1, max_iter=2, batch_size=8192, random_state=0
    )
    quick_time = seconds(lambda: quick.fit(X), 1)
    yield Row(
        f"PCKMeans, 250k to 4M x {D}, 10,000 constraints, {ITERATIONS} iterations",
        f"time grows as n^{exponent:.2f}; at 4M {times[-1] / theirs[-1]:.2f}x KMeans "
        f"({times[-1]:.1f} s), {times[-1] / quick_time:.2f}x MiniBatchKMeans (two passes)",
        "n^1.1",
        exponent <= 1.1,
        f"ARI {adjusted_rand_score(y, model.labels_):.3f}, KMeans "
        f"{adjusted_rand_score(y, kmeans.labels_):.3f}, MiniBatchKMeans "
        f"{adjusted_rand_score(y, quick.labels_):.3f}",
    )
    beyond = memory[-1] / (SIZES[-1] * D * 8 / 2**20)
    yield Row("the same, peak memory at 4M", f"{beyond:.2f}x the data, data included", "-", None)
    _plot("rows", "rows", SIZES, {"PCKMeans": times, "KMeans": theirs}, "seconds")
    _plot("memory", "rows", SIZES, {"PCKMeans, data included": memory}, "peak MB")


def _fit_fresh(n: int) -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    _fit(np.random.default_rng(0).normal(size=(n, D)), max_iter=2)


def _constraints(X: np.ndarray, y: np.ndarray) -> Iterator[Row]:
    drawn = [Constraints.from_labels(y, n, "balanced", random_state=0) for n in LINKS]
    plain = seconds(lambda: _fit(X), 2)
    times = [seconds(lambda known=known: _fit(X, known), 2) for known in drawn]
    added = [max(t - plain, 1e-3) for t in times]
    exponent = _exponent(LINKS[1:], added[1:])
    yield Row(
        f"PCKMeans, 500k x {D}, 10,000 to 640,000 constraints",
        f"time beyond that without constraints grows as m^{exponent:.2f} (from 40,000 on)",
        "linear (m^1.1)",
        exponent <= 1.1,
        f"{times[-1] / plain:.1f}x without constraints at the most",
    )
    _plot("constraints", "constraints", LINKS, {"PCKMeans, 500k rows": times}, "seconds")


# -------------------------------------------------------------------- Dask


@contextlib.contextmanager
def _cluster(n_workers: int) -> Iterator[Any]:
    import distributed

    with (
        distributed.LocalCluster(
            n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=None,
            silence_logs=50, memory_limit=None,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):  # fmt: skip
        yield client


def _on_workers(X: np.ndarray, folder: str, chunk: int) -> Any:
    """The rows as workers hold them, in even shares, read by themselves from a file."""
    import dask
    import dask.array as da
    import distributed

    path = str(Path(folder, "x.npy"))
    if not Path(path).exists():
        np.save(path, X)
    client = distributed.default_client()
    workers = list(client.nthreads())
    firsts = range(0, len(X), chunk)
    parts = [
        client.submit(_slice, path, a, a + chunk, workers=[workers[place % len(workers)]])
        for place, a in enumerate(firsts)
    ]
    rows = da.concatenate([
        da.from_delayed(dask.delayed(part), (min(chunk, len(X) - a), D), dtype=X.dtype)
        for a, part in zip(firsts, parts, strict=True)
    ]).persist()  # fmt: skip
    distributed.wait(rows)
    return rows


def _slice(path: str, first: int, last: int) -> np.ndarray:
    return np.array(np.load(path, mmap_mode="r")[first:last])


def _workers(X: np.ndarray, y: np.ndarray) -> Iterator[Row]:
    known = Constraints.from_labels(y[: SIZES[0]], 10_000, "balanced", random_state=0)
    near = _fit(X, known)
    by_workers = {}
    with tempfile.TemporaryDirectory() as folder:
        for n_workers in (1, 2):
            with _cluster(n_workers):
                rows = _on_workers(X, folder, 250_000)
                _fit(rows, known, max_iter=2)  # workers import
                far, mine = in_turn(lambda r=rows: _fit(r, known), lambda: _fit(X, known), 5)
                by_workers[n_workers] = far
                labels = np.asarray(_fit(rows, known).labels_)
    same = (labels == near.labels_).mean()
    yield Row(
        f"PCKMeans, 4M x {D}, two Dask workers of one thread each, {ITERATIONS} iterations",
        f"{far / mine:.2f}x the fit in memory with two threads",
        "1.3x",
        far <= 1.3 * mine,
        f"{same:.2%} of the labels as in memory; one worker takes {by_workers[1] / far:.2f}x",
    )
    _plot(
        "workers", "workers of one thread", (1, 2),
        {"PCKMeans on Dask": list(by_workers.values()), "in memory, two threads": [mine, mine]},
        "seconds", log=False,
    )  # fmt: skip


def _overhead() -> Iterator[Row]:
    """What an iteration costs when there is next to nothing to do in it."""
    import dask.array as da

    X = _blobs(64_000)[0]
    few, many = 5, 45
    with _cluster(2):
        rows = da.from_array(X, chunks=(1000, D)).persist()
        _fit(rows, max_iter=2)
        short, long = in_turn(lambda: _fit(rows, max_iter=few), lambda: _fit(rows, max_iter=many))
    here, there = in_turn(lambda: _fit(X, max_iter=few), lambda: _fit(X, max_iter=many))
    each = 1000 * ((long - short) - (there - here)) / (many - few)
    yield Row(
        "overhead of Dask per iteration, 64 blocks", f"{each:.0f} ms", "100 ms", each < 100,
        "beyond the same iterations in memory",
    )  # fmt: skip


# -------------------------------------------------------------------- from disk


def _fit_from_disk(path: str) -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    known = Constraints.from_labels(np.arange(20_000) % K, 1_000, "balanced", random_state=0)
    rows = open_blocks(path, memory_limit=f"{LIMIT}MB")
    _fit(rows, known, max_iter=3)


def _disk() -> Iterator[Row]:
    """Three times as much data as memory is allowed, as a file of NumPy and as Parquet."""
    from pyarrow import parquet, table

    n, step = 12_000_000, 500_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.npy")
        rows = np.lib.format.open_memmap(path, "w+", np.float64, (n, D))
        other, writer = Path(folder, "x.parquet"), None
        rng = np.random.default_rng(0)
        for start in range(0, n, step):
            part = rng.normal(size=(step, D))
            rows[start : start + step] = part
            columns = table({f"x{place}": part[:, place] for place in range(D)})
            writer = writer or parquet.ParquetWriter(other, columns.schema, compression=None)
            writer.write_table(columns)
        writer.close()
        del rows
        for file in (path, other):
            start = time.perf_counter()
            peak = peak_megabytes(_fit_from_disk, str(file), whole=True) * 2**20 / 1e6
            took = time.perf_counter() - start
            yield Row(
                f"PCKMeans from {file.suffix[1:]}, {n * D * 8 / 1e9:.1f} GB, limit {LIMIT} MB",
                f"{peak:.0f} MB resident at the most, Python and all libraries included",
                f"{LIMIT} MB",
                peak <= LIMIT,
                f"3 iterations, {took:.0f} s in all",
            )


# -------------------------------------------------------------------- pictures


def _plot(
    name: str, what: str, at: tuple[int, ...], lines: dict[str, list[float]], unit: str,
    log: bool = True,
) -> None:  # fmt: skip
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot, ticker

    figure, axes = pyplot.subplots(figsize=(5, 3.5), layout="constrained")
    for label, values in lines.items():
        axes.plot(at, values, marker="o", label=label)
    if log:
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.minorticks_off()
    else:
        axes.set_ylim(bottom=0)
    axes.set_xticks(at, [f"{n:,}" for n in at])
    axes.set_xlabel(what)
    axes.set_ylabel(unit)
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    IMAGES.mkdir(exist_ok=True)
    figure.savefig(IMAGES / f"scale_{name}.png", dpi=130)
    pyplot.close(figure)
