"""Methods, data and a spy that the tests of this folder share."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from linkwise import (
    ConstrainedKMeans,
    Constraints,
    COPKMeans,
    MPCKMeans,
    PCKMeans,
    PreIdentifiedKMeans,
    SeededKMeans,
)
from linkwise.kmeans.solver import _runs
from tests.reference import Setting, matrices

PUBLISHED = partial(PCKMeans, penalty="weight")
LEARNING = {
    "mpck": MPCKMeans,
    "mpck-per-cluster": partial(MPCKMeans, per_cluster=True),
    "mpck-full": partial(MPCKMeans, metric="full"),
    "mpck-full-per-cluster": partial(MPCKMeans, metric="full", per_cluster=True),
}
SOFT = {"pck": PUBLISHED, "pck-distance": partial(PCKMeans, penalty="distance"), **LEARNING}
LABELLED = {
    "seeded": SeededKMeans,
    "constrained": ConstrainedKMeans,
    "preidentified": PreIdentifiedKMeans,
}
EUCLIDEAN = {
    "cop": COPKMeans,
    "cop-exact": partial(COPKMeans, assignment="exact"),
    **LABELLED,
    "pck": PUBLISHED,
    "pck-distance": partial(PCKMeans, penalty="distance"),
}
METHODS = {**EUCLIDEAN, **LEARNING}


@dataclass
class Spy:
    """A fitted model, and what its runs were made of and found."""

    model: Any
    problems: list = field(default_factory=list)
    penalties: list = field(default_factory=list)
    solutions: list = field(default_factory=list)

    @property
    def best_penalty(self) -> Any:
        """The penalty of the run that was kept."""
        assert len(self.penalties) == len(self.solutions)
        # Runs within rounding of each other are ties, and the first stays.
        kept = [found.objective == self.model.objective_ for found in self.solutions]
        return self.penalties[kept.index(True)]


def watched(model: Any, X: Any, y: Any = None, **fit: Any) -> Spy:
    """Fit, and keep what each run was made of and its solutions; it need not converge."""
    spy = Spy(model)

    class WatchedRun(_runs.Run):
        def advance(self, *args: Any, **options: Any) -> Any:
            spy.problems.append(self.problem)
            spy.penalties.append(self.penalty)
            spy.solutions.append(super().advance(*args, **options))
            return spy.solutions[-1]

    with warnings.catch_warnings(), patch.object(_runs, "Run", WatchedRun):
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y, **fit)
    return spy


def weighted_links(known: Constraints) -> tuple[list, list]:
    """Links as lists of (i, j, weight)."""
    must = np.column_stack([known.must_link, known.must_link_weight])
    cannot = np.column_stack([known.cannot_link, known.cannot_link_weight])
    return [[(int(i), int(j), float(w)) for i, j, w in part] for part in (must, cannot)]


def taking_part(known: Constraints) -> tuple[list, list]:
    """The links in the objective of soft methods: entailed ones too, unless contradictory."""
    closure = known.closure()
    return weighted_links(closure.expand() if closure.consistent else known)


def setting(spy: Spy, X: np.ndarray, known: Constraints) -> Setting:
    """The result of a soft method in terms of equation (2.4)."""
    model, penalty = spy.model, spy.best_penalty
    must, cannot = taking_part(known)
    k, farthest = model.n_clusters, None
    if penalty.depends_on_metric:
        farthest = [np.zeros(X.shape[1])] * k
        if penalty.pair is not None:
            pairs = np.broadcast_to(penalty.pair, (k, 2))
            farthest = [X[i] - X[j] for i, j in pairs]
    return Setting(X, model.cluster_centers_, metrics_of(model), must, cannot, farthest)


def metrics_of(model: Any) -> list[np.ndarray]:
    """The metric of each cluster as a matrix."""
    per_cluster = getattr(model, "per_cluster", False)
    return matrices(model.metrics_, model.n_clusters, per_cluster=per_cluster)


def same_partition(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two labelings differ in names only."""
    pairs = set(zip(np.asarray(a).tolist(), np.asarray(b).tolist(), strict=True))
    return len(pairs) == len(np.unique(a)) == len(np.unique(b))


def blobs(n: int = 60, d: int = 3, k: int = 3, apart: float = 12.0, seed: int = 0) -> tuple:
    """Well separated clusters, and their labels."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    centers = rng.normal(size=(k, d))
    centers *= apart / np.linalg.norm(centers[0] - centers[1])
    return centers[y] + rng.normal(size=(n, d)), y
