"""AutoCluster, k not given: mean adjusted Rand index, intervals, suspects, CPU seconds.

Run ``LINKWISE_DATA=... python -m benchmarks.one_call [ROW,ROW,...] [DRAWS]``. Rows of the table:
classics, random, wrong, texts, time. The classics and the design sets were looked at while the
method was made, the validation sets only afterwards.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from linkwise import AutoCluster, Constraints

CLASSICS = ["iris", "wine", "breast cancer", "digits"]
DESIGN = ["seeds", "ecoli", "vehicle", "dermatology", "glass", "ionosphere", "vowel", "zoo"]
VALIDATION = [
    "banknote", "balance_scale", "breast_wisconsin_original", "newthyroid", "parkinsons", "segment",
    "sonar", "soybean_small", "texture", "usps", "yeast",
]  # fmt: skip
_SKLEARN = dict(zip(CLASSICS, (load_iris, load_wine, load_breast_cancer, load_digits), strict=True))
_MOST_ROWS = 1500  # of a set; larger ones are a sample, so that a row takes minutes


class Fit(NamedTuple):
    """One fit: index of the clusters, and whether the interval holds it."""

    ari: float
    plain: float
    n_clusters: int
    inside: bool
    seconds: float


def read(name: str) -> tuple[Any, Any]:
    """Numeric columns and classes of a set."""
    if name in _SKLEARN:
        return _SKLEARN[name](return_X_y=True)
    folder = Path(os.environ["LINKWISE_DATA"])
    if name in ("clinc150", "massive_scenario"):
        stored = np.load(folder / "many" / f"{name}.npz")
        return np.asarray(stored["X"], float), np.unique(stored["y"], return_inverse=True)[1]
    table = pd.read_csv(next(folder.glob(f"{name}.csv*")))
    X = table.iloc[:, :-1].select_dtypes("number").fillna(0).to_numpy(float)
    y = pd.factorize(table.iloc[:, -1])[0]
    some = np.random.default_rng(0).permutation(len(X))[:_MOST_ROWS]
    return X[some], y[some]


def turned(known: Constraints, share: float, seed: int) -> Constraints:
    """The links with a share of them wrong."""
    rng = np.random.default_rng(seed)
    must, cannot = known.must_link, known.cannot_link
    a, b = rng.random(len(must)) < share, rng.random(len(cannot)) < share
    return Constraints(
        must_link=np.concatenate([must[~a], cannot[b]]),
        cannot_link=np.concatenate([cannot[~b], must[a]]),
    )


def fit(name: str, n_links: int, kind: str, draw: int, wrong: float = 0.0) -> Fit:
    """One draw of links."""
    X, y = read(name)
    known = Constraints.from_labels(y, n_links, kind, random_state=draw)
    if wrong:
        known = turned(known, wrong, draw)
    started = time.process_time()
    model = AutoCluster(random_state=draw).fit(X, constraints=known)
    seconds = time.process_time() - started
    n_classes = len(np.unique(y))
    plain = KMeans(n_classes, n_init=5, random_state=draw).fit(StandardScaler().fit_transform(X))
    ari, (low, high) = adjusted_rand_score(y, model.labels_), model.expected_.interval
    inside = not low > ari + 0.005 and not high < ari - 0.005
    return Fit(ari, adjusted_rand_score(y, plain.labels_), model.n_clusters_, inside, seconds)


def line(names: list[str], n_links: int, kind: str, draws: int, wrong: float = 0.0) -> str:
    """A line of the table."""
    found = {name: [fit(name, n_links, kind, d, wrong) for d in range(draws)] for name in names}
    every = [one for own in found.values() for one in own]
    each = ", ".join(
        f"{name} {np.mean([f.ari for f in own]):.2f} ({np.mean([f.plain for f in own]):.2f})"
        for name, own in found.items()
    )
    share = f", {wrong:.0%} wrong" if wrong else ""
    return (
        f"| {n_links:,} {kind}{share} | {np.mean([f.ari for f in every]):.3f} "
        f"| {np.mean([f.plain for f in every]):.3f} | {sum(f.inside for f in every)} of "
        f"{len(every)} | {np.mean([f.seconds for f in every]):.1f} | {each} |"
    )


def classics(draws: int) -> Iterator[str]:
    """Iris, Wine, breast cancer, digits."""
    for n_links in (20, 50, 100, 1000):
        yield line(CLASSICS, n_links, "balanced", draws)


def random(draws: int) -> Iterator[str]:
    """Random pairs, design and validation sets."""
    for names in (DESIGN, VALIDATION):
        for n_links in (20, 50, 200):
            yield line(names, n_links, "pairs", draws)


def wrong(draws: int) -> Iterator[str]:
    """A share of the links wrong."""
    yield line(CLASSICS, 1000, "balanced", draws, 0.2)
    for share in (0.1, 0.2, 0.3):
        yield line(VALIDATION, 400, "balanced", draws, share)


def texts(draws: int) -> Iterator[str]:
    """Embedded texts with many classes."""
    yield line(["clinc150"], 2000, "balanced", draws)
    yield line(["massive_scenario"], 1000, "balanced", draws)


def times(draws: int) -> Iterator[str]:
    """CPU seconds by size, after a first fit."""
    AutoCluster(random_state=0).fit(read("wine")[0])
    for n_rows, n_columns in ((150, 4), (1000, 16), (20_000, 768), (1_000_000, 16)):
        X, y = make_blobs(n_rows, n_columns, centers=8, cluster_std=4.0, random_state=0)
        known = Constraints.from_labels(y, 100, "balanced", random_state=0)
        started = time.process_time()
        model = AutoCluster(random_state=0).fit(X, constraints=known)
        seconds, ari = time.process_time() - started, adjusted_rand_score(y, model.labels_)
        yield f"| {n_rows:,} x {n_columns} | {seconds:.1f} CPU s | ARI {ari:.2f} |"


ROWS = {"classics": classics, "random": random, "wrong": wrong, "texts": texts, "time": times}


def main(names: str = "", draws: str = "3") -> None:
    """Print the lines of the table."""
    warnings.simplefilter("ignore")
    print("| links | ARI | k-means given k | interval holds | CPU s | each (k-means given k) |")
    print("|---|---|---|---|---|---|")
    for name in names.split(",") if names else ROWS:
        for text in ROWS[name](int(draws)):
            print(text, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
