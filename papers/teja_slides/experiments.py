"""Teja's slides: the runs that claim S1 needs.

Each method runs once from each of 100 random starts, as on the slides, and once as linkwise starts
it. "COP-KMeans, row by row" is the listing on the slides as it is printed. The author's public
script (kmeans_implementation.py of krishnatejak2/customKmeans) scores PreIdentify against the two
clouds, not the three classes, on points drawn without a seed: it is scored both ways, on the
author's points and on other draws.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from linkwise import Constraints, COPKMeans, PreIdentifiedKMeans
from linkwise.datasets import make_slides
from linkwise.evaluation import score
from papers.datasets import load
from papers.datasets._folder import data_file

from .._run import Cells, Experiment
from .literal import cop_row_by_row

FILES = {49: "0.0001", 499: "0.001", 4995: "0.01"}  # constraints: share of all pairs
K, TAG = 3, 2
TRIALS = 100
CLOUDS = np.repeat([0, 1], 500)  # of the author's points and of `make_slides`


def tasks(n_trials: int | None) -> Iterator[Cells]:
    for trial in range(n_trials or TRIALS):
        for method in ("COP-KMeans", "COP-KMeans, row by row"):
            for n in FILES:
                yield {"method": method, "constraints": n, "trial": trial}
        for method in ("k-means", "PreIdentify", "PreIdentify, other draw"):
            yield {"method": method, "constraints": 0, "trial": trial}
    for n in FILES:
        yield {"method": "COP-KMeans, default", "constraints": n, "trial": 0}


def cluster(method: str, constraints: int, trial: int) -> Iterator[Cells]:
    """NMI of one clustering of the slides' data; none where the listing ends without labels."""
    X, y = slides() if "other" not in method else make_slides(random_state=trial)
    labels = labels_of(method, constraints, trial, X, y)
    if labels is None:
        yield {"nmi": None, "clouds": None}
    else:
        yield {"nmi": score(y, labels).nmi, "clouds": score(CLOUDS, labels).nmi}


def labels_of(method: str, n: int, start: int, X: Any, y: Any) -> Any:
    rng = np.random.RandomState(start)
    known = author_constraints(n) if n else None
    if method == "k-means":
        return KMeans(K, init=_rows(X, K, rng), n_init=1).fit_predict(X)
    if method == "COP-KMeans, row by row":
        return cop_row_by_row(X, known, _rows(X, K, rng))
    if method.startswith("COP-KMeans"):
        init = "auto" if "default" in method else _rows(X, K, rng)
        return COPKMeans(K, init=init, random_state=start).fit_predict(X, constraints=known)
    tagged = np.where(y == TAG, TAG, -1)
    init = np.vstack([X[tagged == TAG].mean(axis=0), _rows(X[tagged < 0], K - 1, rng)])
    return PreIdentifiedKMeans(K, init=init, random_state=start).fit_predict(X, tagged)


def _rows(X: Any, k: int, rng: np.random.RandomState) -> Any:
    return X[rng.permutation(len(X))[:k]]


@cache
def slides() -> tuple[Any, Any]:
    bunch = load("slides_2d")
    return bunch.data, bunch.target


@cache
def author_constraints(n: int) -> Constraints:
    return Constraints.read(
        data_file(f"slides_2d_constraints_{FILES[n]}.csv", "the slides' author")
    )


EXPERIMENTS = (
    Experiment("starts", ("method", "constraints", "trial"), tasks, cluster, lambda task: "S1"),
)
