"""Rows nobody spoke about: pairs among a tenth of the rows, scored on the others.

Run ``python -m benchmarks.silent FOLDER SET,SET,... DRAWS`` with a folder of CSV files that have a
column ``class``; sets of more than 800 rows are sampled. Plain k-means, PCK-Means and MPCK-Means
with a full metric are told k, AutoCluster is not.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from linkwise import AutoCluster, Constraints, MPCKMeans, PCKMeans

from .choice import read

NUMBERS = 100, 400, 1500, 6000


def pairs_among(y: NDArray[np.int64], rows: NDArray[np.int64], n: int, seed: int) -> Constraints:
    """Random pairs of some rows, n or all there are, with what the classes say about them."""
    i, j = np.triu_indices(len(rows), 1)
    chosen = np.random.RandomState(seed).permutation(len(i))[:n]
    pairs = np.c_[rows[i[chosen]], rows[j[chosen]]]
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    return Constraints(must_link=pairs[same], cannot_link=pairs[~same])


def main(folder: str, names: str, draws: str) -> None:
    """Print one line per set, draw and number of pairs."""
    warnings.simplefilter("ignore")
    for name in names.split(","):
        X, y = read(Path(folder), name)
        k = len(np.unique(y))
        for draw in range(int(draws)):
            order = np.random.RandomState(draw).permutation(len(y))
            told, silent = np.split(order, [max(15, len(y) // 10)])
            ways: dict[str, Any] = {
                "k-means": KMeans(k, n_init=10, random_state=draw),
                "PCK": PCKMeans(k, random_state=draw),
                "MPCK full": MPCKMeans(k, metric="full", random_state=draw),
                "auto": AutoCluster(random_state=draw),
            }
            for n in NUMBERS:
                known = pairs_among(y, told, n, draw)
                found = known.n_must_link + known.n_cannot_link
                scores = []
                for way, model in ways.items():
                    given = {} if way == "k-means" else {"constraints": known}
                    labels = model.fit(X, **given).labels_[silent]
                    scores.append(f"{way} {adjusted_rand_score(y[silent], labels):.3f}")
                print(f"{name} {draw} {n} ({found}): {'; '.join(scores)}", flush=True)
                if found < n:
                    break


if __name__ == "__main__":
    main(*sys.argv[1:])
