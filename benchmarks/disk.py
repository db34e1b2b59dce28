"""Ten times more data than memory, as a user would do it: ``linkwise cluster big.npy``.

Writes 20 GB to a folder for temporary files, so that it only runs when it is asked for by name.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from linkwise import Constraints

from ._harness import Row, peak_megabytes

GIGABYTES, LIMIT = 20, 2
D, K, STEP = 16, 10, 500_000
ITERATIONS = 5


def run() -> Iterator[Row]:
    n = int(GIGABYTES * 1e9 / (8 * D)) // STEP * STEP
    free = shutil.disk_usage(tempfile.gettempdir()).free / 1e9
    if free < 1.5 * GIGABYTES:
        raise SystemExit(f"{free:.0f} GB are free; {1.5 * GIGABYTES:.0f} are needed (TMPDIR=...)")
    with tempfile.TemporaryDirectory() as folder:
        _write(Path(folder), n)
        start = time.perf_counter()
        peak = peak_megabytes(_cluster, folder, whole=True) * 2**20 / 1e9
        took = time.perf_counter() - start
        labels = np.load(Path(folder, "labels.npy"), mmap_mode="r")
        clouds = np.asarray(labels[: K * 1000]).reshape(-1, K).T
        same = np.mean([np.bincount(cloud, minlength=K).max() / len(cloud) for cloud in clouds])
    yield Row(
        f"linkwise cluster, pck, {n:,} x {D} (npy, {GIGABYTES} GB), --memory-limit {LIMIT}GB",
        f"{peak:.2f} GB resident at the most, Python and all libraries included",
        f"{LIMIT} GB",
        peak <= LIMIT,
        f"at most {ITERATIONS} iterations, {took:.0f} s in all; {same:.1%} of a cloud's first "
        "rows together",
    )


def _write(folder: Path, n: int) -> None:
    """Rows of K clouds in turn, and constraints on the first of them."""
    rng = np.random.default_rng(0)
    centers = rng.normal(scale=1.2, size=(K, D))
    with (folder / "big.npy").open("wb") as file:
        head = {"descr": "<f8", "fortran_order": False, "shape": (n, D)}
        np.lib.format.write_array_header_1_0(file, head)
        noise = rng.normal(size=(STEP, D)) + np.tile(centers, (STEP // K, 1))
        for _ in range(0, n, STEP):
            file.write((noise * rng.uniform(0.9, 1.1)).tobytes())
    classes = np.arange(20_000) % K
    Constraints.from_labels(classes, 10_000, "balanced", random_state=0).write(folder / "links.csv")


def _cluster(folder: str) -> None:
    from linkwise.cli import app

    given = f"cluster {folder}/big.npy -k {K} --constraints {folder}/links.csv --algorithm pck"
    rest = f"--n-init 1 --max-iter {ITERATIONS} --seed 0 --memory-limit {LIMIT}GB"
    app(f"{given} {rest} -o {folder}/labels.npy".split(), standalone_mode=False)
