"""What the tests of this folder share."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_blobs

from linkwise.active import LabelOracle, Session
from linkwise.active._settings import STRATEGIES
from linkwise.kmeans import PCKMeans

NAMES = tuple(STRATEGIES)
PLACING = ("ExploreConsolidate", "MinMax", "NormalizedPointUncertainty")


def blobs(n_rows: int = 40, k: int = 3, *, seed: int = 0, spread: float = 2.0):
    return make_blobs(n_rows, 3, centers=k, cluster_std=spread, random_state=seed)


def small(name: str):
    """A strategy that is quick enough to be asked hundreds of questions."""
    return STRATEGIES[name](n_trees=5) if name.startswith("Norm") else STRATEGIES[name]()


def session(X, strategy="ExploreConsolidate", n_clusters=3, **settings) -> Session:
    settings = {"background": False, "refit_every": 10, "who": "ana", **settings}
    strategy = small(strategy) if isinstance(strategy, str) else strategy
    model = settings.pop("model", PCKMeans(max_iter=20, n_init=1))
    return Session(X, strategy, model, n_clusters, **settings)


def pairs_asked(work: Session) -> list[tuple[int, int]]:
    return [answer.question.pair for answer in work.snapshot().answers if answer.is_active]


def run(X, y, strategy, n=None, n_clusters=3, **oracle) -> Session:
    work = session(X, strategy, n_clusters, refit_every=10 if "Norm" in strategy else None)
    work.run(LabelOracle(y, **oracle), n)
    return work


def truth(work: Session, y) -> np.ndarray:
    """For every neighborhood, the classes in it."""
    return [set(np.asarray(y)[list(group)].tolist()) for group in work.snapshot().neighborhoods]
