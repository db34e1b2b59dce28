"""AutoCluster on data that decided nothing: adjusted Rand index, k, interval, CPU seconds.

Run ``python -m benchmarks.choice FOLDER SET,SET,... LINKS,LINKS,... DRAWS`` with a folder of CSV
files that have a column ``class``; sets of more than 800 rows are sampled.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from linkwise import AutoCluster, Constraints, COPKMeans, MPCKMeans, PCKMeans

_MOST_ROWS = 800


def read(folder: Path, name: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Standardized numbers and classes of one set."""
    import pandas as pd

    path = next(folder.glob(f"{name}.csv*"))
    table = pd.read_csv(path).dropna()
    y = pd.factorize(table["class"])[0]
    X = table.drop(columns="class").select_dtypes("number").to_numpy(float)
    if len(y) > _MOST_ROWS:
        rows = np.random.RandomState(0).choice(len(y), _MOST_ROWS, replace=False)
        X, y = X[rows], y[rows]
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0), y


def main(folder: str, names: str, links: str, draws: str) -> None:
    """Print one line per set, number of links and draw."""
    warnings.simplefilter("ignore")
    for name in names.split(","):
        X, y = read(Path(folder), name)
        k = len(np.unique(y))
        fixed = {"COP": COPKMeans, "PCK": PCKMeans, "MPCK": MPCKMeans}
        for n_links in map(int, links.split(",")):
            for seed in range(int(draws)):
                known = Constraints.from_labels(y, n_links, random_state=100 + seed)
                plain = KMeans(k, n_init=10, random_state=seed).fit(X).labels_
                score = {"k-means": adjusted_rand_score(y, plain)}
                for short, method in fixed.items():
                    labels = method(k, random_state=seed).fit(X, constraints=known).labels_
                    score[short] = adjusted_rand_score(y, labels)
                started = time.process_time()
                model = AutoCluster(random_state=seed).fit(X, constraints=known)
                score["auto"] = truth = adjusted_rand_score(y, model.labels_)
                low, high = model.expected_.ari_interval
                told = " ".join(f"{short} {value:.3f}" for short, value in score.items())
                inside = "inside" if low <= truth <= high else "outside"
                print(
                    f"{name} {n_links} {seed}: {told}; k {model.n_clusters_} of {k}, expected "
                    f"{model.expected_.ari:.2f} ({low:.2f} to {high:.2f}) {inside}, "
                    f"{time.process_time() - started:.1f} CPU s",
                    flush=True,
                )


if __name__ == "__main__":
    main(*sys.argv[1:])
