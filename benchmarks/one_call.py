"""One call, k not told: the draws of `benchmarks.peers`, and two sets of single cells.

Run ``LINKWISE_DATA=... python -m benchmarks.one_call DRAWS [NAME,NAME,...]``. Links are balanced,
as there, for cells random pairs; cells are seen in 30 principal components of the logarithms of
counts. Beside it plain k-means that is told k, on standardized columns.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_blobs
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from linkwise import AutoCluster, Constraints

Table = tuple[Any, Any]


class Case(NamedTuple):
    """A data set, a number of links, how they are drawn, and the best peer's index."""

    read: Callable[[], Table]
    n_links: int
    kind: str
    peer: float = float("nan")


def cells(name: str) -> Table:
    """Counts per 10,000, logarithms, 30 principal components; the types of the cells."""
    folder = Path(os.environ["LINKWISE_DATA"], "many")
    counts = sparse.load_npz(folder / f"cells_{name}_counts.npz").toarray().astype(float)
    X = np.log1p(1e4 * counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0))
    y = np.loadtxt(folder / f"cells_{name}_labels.csv", skiprows=1)
    return PCA(30, random_state=0).fit_transform(X), np.unique(y, return_inverse=True)[1]


def _sklearn(load: Callable[..., Any]) -> Callable[[], Table]:
    return lambda: load(return_X_y=True)


def _blobs() -> Table:
    X, y = make_blobs(2_000, 16, centers=10, cluster_std=7.0, random_state=0)
    return X, y


CASES = {
    "iris": Case(_sklearn(load_iris), 100, "balanced", 0.98),
    "wine": Case(_sklearn(load_wine), 100, "balanced", 1.0),
    "breast cancer": Case(_sklearn(load_breast_cancer), 100, "balanced", 0.81),
    "breast cancer again": Case(_sklearn(load_breast_cancer), 1000, "balanced", 1.0),
    "bladder cells": Case(lambda: cells("bladder"), 200, "pairs"),
    "blood cells": Case(lambda: cells("pbmc"), 200, "pairs"),
    "digits": Case(_sklearn(load_digits), 1000, "balanced", 0.91),
    "blobs": Case(_blobs, 1000, "balanced", 0.99),
}


def main(draws: str, names: str = "") -> None:
    """Print one line per case and draw."""
    warnings.simplefilter("ignore")
    for name in names.split(",") if names else CASES:
        case = CASES[name]
        X, y = case.read()
        k = len(np.unique(y))
        for draw in range(int(draws)):
            known = Constraints.from_labels(y, case.n_links, case.kind, random_state=draw)
            plain = KMeans(k, n_init=10, random_state=draw).fit(StandardScaler().fit_transform(X))
            started = time.process_time()
            model = AutoCluster(random_state=draw).fit(X, constraints=known)
            found, (low, high) = model.expected_, model.expected_.ari_interval
            print(
                f"{name}, {case.n_links} links, {draw}: ARI "
                f"{adjusted_rand_score(y, model.labels_):.3f} (k-means told k "
                f"{adjusted_rand_score(y, plain.labels_):.3f}, best peer {case.peer:.2f}), k "
                f"{model.n_clusters_} of {k}, expected {found.ari:.2f} ({low:.2f} to {high:.2f}), "
                f"{time.process_time() - started:.1f} CPU s; {model.report_.reasons[0]}",
                flush=True,
            )


if __name__ == "__main__":
    main(*sys.argv[1:])
