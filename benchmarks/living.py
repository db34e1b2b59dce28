"""New rows for a fitted model, and sessions whose data changed: time and objective.

Run: ``python -m benchmarks.living``.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.datasets import make_blobs

from linkwise import MPCKMeans, PCKMeans, Session, load_model, save_model


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


def batches(n_init: int) -> None:
    """Sum of squares after 20 batches, above one fit of everything, and where the gap is from.

    The first fit may be in another local minimum than the fit of everything: its own gap to that
    minimum, on the first half of the rows, is what the updates start with.
    """
    gaps = []
    for seed in range(16):
        X, _ = make_blobs(4000, 8, centers=10, cluster_std=3.0, random_state=seed)
        half = X[:2000]
        model = PCKMeans(10, n_init=n_init, random_state=0).fit(half)
        whole = PCKMeans(10, n_init=n_init, random_state=0).fit(X)
        there = PCKMeans(10, init=whole.cluster_centers_).fit(half)
        first = cost(half, model) / cost(half, there) - 1
        for start in range(2000, 4000, 100):
            model.update(X[start : start + 100])
        last = cost(X, model) / cost(X, whole) - 1
        gaps.append([last, first, last - first])
    names = ("after 20 batches", "of the first fit", "difference")
    for name, found in zip(names, np.transpose(gaps), strict=True):
        error = np.std(found, ddof=1) / np.sqrt(len(found))
        print(
            f"n_init={n_init}, gap {name}: {found.mean():+.3%} +- {error:.3%}, "
            f"median {np.median(found):+.3%}, worst {found.max():+.3%}"
        )


def million() -> None:
    """A million rows: fit, save, load, update with 10,000 rows, save again."""
    X, _ = make_blobs(1_010_000, 16, centers=20, cluster_std=3.0, random_state=0)
    model = PCKMeans(20, random_state=0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "m.linkwise")
        steps: dict[str, Callable[[], object]] = {
            "fit": lambda: model.fit(X[:1_000_000]),
            "save": lambda: save_model(model, path),
            "save without rows": lambda: save_model(model, Path(folder, "s"), keep_rows=False),
            "load": lambda: load_model(path),
            "update with 10,000 rows": lambda: model.update(X[1_000_000:]),
            "update of a loaded model, saved": lambda: (
                load_model(path).update(X[1_000_000:]).save(path)
            ),
        }
        for name, step in steps.items():
            started, cpu = time.perf_counter(), time.process_time()
            step()
            wall, cpu = time.perf_counter() - started, time.process_time() - cpu
            print(f"a million rows x 16, k = 20, {name}: {wall:.2f} s (CPU {cpu:.2f} s)")
        sizes = [Path(folder, name).stat().st_size / 1e6 for name in ("m.linkwise", "s")]
        print(f"file {sizes[0]:.2f} MB, without rows {sizes[1]:.3f} MB")


def carried() -> None:
    """A session of 100,000 rows whose data is reordered and changed: time to carry it over."""
    rng = np.random.default_rng(0)
    X, y = make_blobs(100_000, 16, centers=10, cluster_std=3.0, random_state=0)
    ids = [f"r{i}" for i in range(len(X))]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "s.db")
        model = PCKMeans(random_state=0)
        given = {"path": path, "refit_every": 100, "background": False}
        with Session(X, "RandomPairs", model, 10, sample_ids=ids, **given) as session:
            for i, j in rng.integers(len(X), size=(500, 2)).tolist():
                if i != j:
                    session.tell(bool(y[i] == y[j]), (i, j))
            before = dict(zip(ids, session.labels_.tolist(), strict=True))
        order = rng.permutation(len(X))[:99_000]
        names = [ids[i] for i in order]
        started, cpu = time.perf_counter(), time.process_time()
        with Session.open(
            path, X[order], sample_ids=names, data_changed="carry", background=False
        ) as session:
            wall, cpu = time.perf_counter() - started, time.process_time() - cpu
            kept = np.mean([before[n] == c for n, c in zip(names, session.labels_, strict=True)])
            print(f"session of 100,000 rows carried over: {wall:.2f} s (CPU {cpu:.2f} s); "
                  f"{kept:.2%} of the rows keep their cluster; "
                  f"{len(session.snapshot().data_changes.dropped)} answers dropped")  # fmt: skip


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        speed()
        batches(3)
        batches(10)
        million()
        carried()
