"""Constraints: closure, diagnosis, files and OneTree at the sizes we promise."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from linkwise import Constraints, Tree
from linkwise.constraints._triplets import build_tree

from ._harness import Row, in_turn, peak_megabytes, seconds

N = 1_000_000


def run() -> Iterator[Row]:
    yield from _closure()
    yield from _reading()
    yield from _one_tree()
    yield from _help()


def _million_links() -> tuple[np.ndarray, np.ndarray]:
    """Half a million must-links inside and cannot-links between 300,000 classes."""
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 300_000, N)
    order = np.argsort(classes, kind="stable")
    same = np.flatnonzero(np.diff(classes[order]) == 0)
    chosen = rng.choice(same, N // 2, replace=False)
    must = np.column_stack([order[chosen], order[chosen + 1]])
    cannot = rng.integers(0, N, (N // 2 + 10_000, 2))
    cannot = cannot[classes[cannot[:, 0]] != classes[cannot[:, 1]]][: N // 2]
    return must, cannot


def _check_million(must: np.ndarray, cannot: np.ndarray) -> bool:
    return Constraints(must_link=must, cannot_link=cannot).closure().consistent


def _closure() -> Iterator[Row]:
    must, cannot = _million_links()

    def ours() -> bool:
        return _check_million(must, cannot)

    def scipy() -> None:
        ones = np.ones(len(must), dtype=np.int8)
        connected_components(coo_array((ones, tuple(must.T)), shape=(N, N)), directed=False)

    mine, theirs = in_turn(ours, scipy)
    megabytes = peak_megabytes(_check_million, must, cannot)
    yield Row(
        "10^6 links over 10^6 rows: build, closure and contradiction check",
        f"{mine:.2f} s ({mine / theirs:.1f}x SciPy's bare components), {megabytes:.0f} MB",
        "2 s, 1 GB",
        mine < 2 and megabytes < 1000,
        "no contradiction, as built" if ours() else "WRONG",
    )
    known = Constraints(must_link=must, cannot_link=cannot)
    full = seconds(lambda: known.diagnose(5), 2)
    yield Row(
        "the same, full diagnosis with k = 5", f"{full:.2f} s", "-", None,
        f"k = 5 {known.diagnose(5).clusters.status}",
    )  # fmt: skip
    wrong = Constraints(must_link=must, cannot_link=must[::-1])
    bad = seconds(lambda: wrong.diagnose(), 2)
    yield Row(
        "10^6 links, half of them contradictions, 20 proofs", f"{bad:.2f} s", "-", None,
        f"{wrong.diagnose().n_contradictions:,} counted",
    )  # fmt: skip


def _reading() -> Iterator[Row]:
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        for name, form in (("row numbers", "{},{},must\n"), ("ids", "id{},id{},must\n")):
            path = Path(folder) / f"{name}.csv"
            with path.open("w") as file:
                file.write("i,j,link\n")
                for _ in range(100):
                    rows = rng.integers(0, N, (100_000, 2))
                    rows[:, 1] += (rows[:, 0] == rows[:, 1]).astype(int)
                    file.writelines(form.format(i, j) for i, j in rows.tolist())
            took = seconds(lambda path=path: Constraints.read(path), 1)
            megabytes = peak_megabytes(Constraints.read, path)
            yield Row(
                f"read 10^7 lines of CSV, {name}", f"{took:.0f} s, {megabytes:.0f} MB", "streams",
                None, "",
            )  # fmt: skip


def _one_tree() -> Iterator[Row]:
    rng = np.random.default_rng(0)
    n = 10_000
    average = Tree.from_linkage(linkage(rng.normal(size=(n, 4)), "average"))
    caterpillar = Tree(
        np.append(n + np.maximum(np.arange(n) - 1, 0), np.append(n + 1 + np.arange(n - 2), -1)),
        range(n),
    )
    random = Constraints.from_tree(caterpillar, "sample", 100_000 - n, random_state=0)
    cases = (
        ("by average linkage", Constraints.from_tree(average, "sample", 100_000, random_state=0)),
        ("a caterpillar", Constraints.from_tree(caterpillar, "sample", 100_000, random_state=0)),
        ("a caterpillar, pinned to its full depth", random + Constraints.from_tree(caterpillar)),
    )
    for name, known in cases:
        ends = known.relative.astype(np.int64)
        took = seconds(lambda ends=ends: build_tree(ends, n), 1)
        built = build_tree(ends, n)
        assert built.parent is not None
        met = Tree(built.parent, range(n)).displays(known.relative.tolist()).mean()
        yield Row(
            f"OneTree, 100,000 triplets over 10,000 items; tree {name}",
            f"{took:.2f} s", "5 s", took < 5, f"{met:.0%} of the triplets induced",
        )  # fmt: skip


def _help() -> Iterator[Row]:
    command = [sys.executable, "-m", "linkwise", "--help"]
    took = seconds(lambda: subprocess.run(command, capture_output=True, check=True))
    yield Row("linkwise --help", f"{took:.2f} s", "1 s", took < 1)
