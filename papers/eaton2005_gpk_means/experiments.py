"""Eaton (2005): the runs that claims E1 to E7 need.

The protocol is that of section 4.2: 50 trials of 5 folds; constraints are random pairs of four
folds, all rows are clustered, the fifth fold is scored. Weights are one, the base is MPCK-Means
with diagonal metrics, started once from its neighborhoods. The thesis does not say whether
features were scaled: both are run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from linkwise import Constraints, GPKMeans, MPCKMeans, PCKMeans

from .._run import Cells, Experiment
from .._trials import data_of, draws, measured

SETS = ("iris", "protein", "digits389", "letters_ijl", "crabs_gender")
METRICS, SCALES = ("one", "many"), ("raw", "standardized")
NUMBERS = (10, 40, 160)
MORE = {"iris": (320,)}  # where full propagation drops
THRESHOLDS = dict.fromkeys(SETS, (0.5, 0.7)) | {"protein": (0.01, 0.05)}
TRIALS = 50
START: dict[str, Any] = {"init": "neighborhoods", "n_init": 1}
# The formula (3.4) as printed; the last round is the result, as in figure 3.1.
PRINTED: dict[str, Any] = {"scale": "thesis", "radius": "mahalanobis", "result": "last"}
COLUMNS = (
    "score", "PCK", "MPCK", "MPCK repeated", "GPK low", "GPK reduced", "MPCK twice",
    "PCK, distances", "GPK high", "GPK squared",
)  # fmt: skip
RUNS = 11  # of MPCK-Means at most: the first and GPK-Means' ten rounds


class Repeated(MPCKMeans):
    """MPCK-Means run again from its last centers: GPK-Means without propagation (claim E7)."""

    def __init__(
        self, n_clusters: int = 8, *, runs: int = 2, per_cluster: bool = False,
        init: Any = "neighborhoods", n_init: int = 1, random_state: Any = None,
    ):  # fmt: skip
        super().__init__(
            n_clusters, per_cluster=per_cluster, init=init, n_init=n_init, random_state=random_state
        )
        self.runs = runs

    def fit(self, X: Any, y: Any = None, *, constraints: Any = None) -> Repeated:
        """Stop where GPK-Means does: when the objective has settled."""
        start = self.init
        super().fit(X, y, constraints=constraints)
        for _ in range(self.runs - 1):
            before = self.objective_
            self.init = self.cluster_centers_
            super().fit(X, y, constraints=constraints)
            if abs(self.objective_ - before) <= 1e-4 * abs(self.objective_):  # tol of GPKMeans
                break
        self.init = start
        return self


def methods(data: str, metrics: str, scale: str, k: int) -> dict[str, Any]:
    """Everything that is compared, by name."""
    many = metrics == "many"
    base = MPCKMeans(per_cluster=many, **START)
    low, high = THRESHOLDS[data]
    found = {
        "PCK": PCKMeans(k, penalty="weight", **START),
        "MPCK": MPCKMeans(k, per_cluster=many, **START),
        "MPCK repeated": Repeated(k, per_cluster=many, runs=RUNS),
        "GPK low": GPKMeans(k, base, threshold=low, **PRINTED),
        "GPK reduced": GPKMeans(k, base, threshold=low, reduced=True, **PRINTED),
        # The rest on features as they are: two runs, another penalty, another threshold, and the
        # defaults of `GPKMeans`.
        "MPCK twice": Repeated(k, per_cluster=many),
        "PCK, distances": PCKMeans(k, penalty="distance", **START),
        "GPK high": GPKMeans(k, base, threshold=high, **PRINTED),
        "GPK squared": GPKMeans(k, base, threshold=low),
    }
    if data not in ("iris", "protein") or metrics == "one":
        del found["GPK reduced"]
    if scale == "standardized":
        for name in ("MPCK twice", "PCK, distances", "GPK high", "GPK squared"):
            del found[name]
    return found


def tasks(n_trials: int | None) -> Iterator[Cells]:
    for trial, data, metrics, scale in product(range(n_trials or TRIALS), SETS, METRICS, SCALES):
        for n in (*NUMBERS, *MORE.get(data, ())):
            yield {
                "data": data, "metrics": metrics, "scale": scale, "constraints": n, "trial": trial,
            }  # fmt: skip


def trial_of(data: str, metrics: str, scale: str, constraints: int, trial: int) -> list[Cells]:
    """F and the links inferred for each source."""
    X, y = data_of(data)
    X = StandardScaler().fit_transform(X) if scale == "standardized" else X
    compared = methods(data, metrics, scale, len(np.unique(y)))
    rows = measured(
        compared, X, y, draws(y, constraints, trial, 5), ("pair_f",),
        {"per source": lambda model: getattr(model, "n_propagated_", 0) / constraints},
    )  # fmt: skip
    return [dict.fromkeys(COLUMNS) | row for row in rows]


_USED = {
    ("iris", "one"): "E1", ("protein", "one"): "E1", ("iris", "many"): "E2 E5",
    ("crabs_gender", "many"): "E2", ("letters_ijl", "one"): "E3", ("letters_ijl", "many"): "E3",
    ("digits389", "many"): "E3", ("protein", "many"): "E3",
}  # fmt: skip


def claims_of(task: Cells) -> str:
    return f"E4 E6 {_USED.get((task['data'], task['metrics']), '')}"


# -------------------------------------------------------------------- claim E7


def exact_tasks(n_trials: int | None) -> Iterator[Cells]:
    for trial, data, metrics in product(range(min(n_trials or 4, 4)), SETS[:4], METRICS):
        yield {"data": data, "metrics": metrics, "trial": trial}


def same_as_twice(data: str, metrics: str, trial: int) -> Iterable[Cells]:
    """With g = 1, GPK-Means is MPCK-Means run twice."""
    X, y = data_of(data)
    different = np.unique(X, axis=0, return_index=True)[1]  # equal rows would be linked at g = 1
    X, y = X[different], y[different]
    k, many = len(np.unique(y)), metrics == "many"
    known = Constraints.from_labels(y, 40, random_state=trial)
    base = MPCKMeans(per_cluster=many, **START)
    gpk = GPKMeans(k, base, threshold=1.0, random_state=trial)
    gpk.fit(X, constraints=known)
    twice = Repeated(k, per_cluster=many, random_state=trial).fit(X, constraints=known)
    same = np.array_equal(gpk.labels_, twice.labels_)
    return [{"same": int(same), "propagated": gpk.n_propagated_}]


EXPERIMENTS = (
    Experiment(
        "curves", ("data", "metrics", "scale", "constraints", "trial"), tasks, trial_of, claims_of
    ),
    Experiment("e7", ("data", "metrics", "trial"), exact_tasks, same_as_twice, lambda task: "E7"),
)
