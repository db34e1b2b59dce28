"""Constraint propagation and GPK-Means: seconds and memory, and what comes out."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from linkwise import Constraints, GPKMeans, MPCKMeans, propagate

from ._harness import Row, in_turn, peak_megabytes, seconds

FITS = 20
# 10^4 rows and 500 constraints, at a width that gives just under ten million links.
WIDE = {"threshold": 0.46}


def run() -> Iterator[Row]:
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", UserWarning)  # that a sample is taken
    yield _propagate("10^4 x 4, 500 constraints, g = 0.5", 10_000, 500, {}, 5.0)
    yield _propagate("10^4 x 4, 500 constraints, g = 0.46", 10_000, 500, WIDE, 5.0)
    yield _propagate("10^5 x 4, 100 constraints, g = 0.5", 100_000, 100, {}, None)
    for name, n, m, how in (("g = 0.5", 10_000, 500, {}), ("g = 0.46", 10_000, 500, WIDE)):
        peak = peak_megabytes(_work, n, m, how)
        yield Row(
            f"peak memory of propagate, 10^4 x 4, 500 constraints, {name}", f"{peak:.0f} MB",
            "1,000 MB", peak < 1000,
        )  # fmt: skip
    yield _iris()


def _problem(n: int, m: int) -> tuple[np.ndarray, np.ndarray, Constraints]:
    X, y = make_blobs(n, 4, centers=5, cluster_std=2.0, random_state=0)
    return X, y, Constraints.from_labels(y, m, random_state=0)


def _work(n: int, m: int, how: dict[str, float]) -> None:
    X, y, known = _problem(n, m)
    propagate(known, X, y, **how)


def _propagate(work: str, n: int, m: int, how: dict[str, float], bar: float | None) -> Row:
    X, y, known = _problem(n, m)
    found = propagate(known, X, y, **how)
    taken = seconds(lambda: propagate(known, X, y, **how))
    number = found.n_constraints + found.n_repeated - m
    return Row(
        f"propagate, {work}", f"{taken:.2f} s", "works" if bar is None else f"{bar:g} s",
        bar is None or taken < bar, f"{number:,} links for {found.n_constraints - m:,} pairs",
    )  # fmt: skip


def _iris() -> Row:
    X, y = load_iris(return_X_y=True)
    times, ratios, gains = [], [], []
    for draw in range(FITS):
        known = Constraints.from_labels(y, 50, random_state=draw)
        model, base = GPKMeans(3, random_state=0), MPCKMeans(3, random_state=0)
        model.fit(X, constraints=known)
        mine, alone = in_turn(
            lambda m=model, c=known: m.fit(X, constraints=c),
            lambda m=base, c=known: m.fit(X, constraints=c),
        )
        times.append(mine)
        ratios.append(mine / alone)
        gains.append([adjusted_rand_score(y, m.labels_) for m in (model, base)])
    ours, theirs = np.mean(gains, axis=0)
    return Row(
        f"GPKMeans on Iris, 50 constraints, {FITS} draws",
        f"{np.mean(times):.3f} s, longest {max(times):.3f} s; {np.mean(ratios):.1f}x MPCKMeans",
        "0.2 s", max(times) < 0.2, f"ARI {ours:.3f} (MPCKMeans {theirs:.3f})",
    )  # fmt: skip
