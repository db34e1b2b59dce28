"""Liu, Jin & Jain (KDD 2007): the runs that claims B1 to B7 need.

Balanced constraints (half must-links, half cannot-links), 0 to 800 of them, NMI and pairwise F over
all rows, five draws; three data sets once more with 20 % of the constraints flipped. The paper does
not say whether features were scaled, nor the affinity of SpectralLearn. "part" is at most 650 rows
with standardized features, because spectral clustering in every round costs n^3. "all" is all rows
with features as they are; there SpectralLearn has a Gaussian of one width, the median distance,
normalizes by addition (Kamvar et al. 2003) and does not close the constraints.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.metrics import pairwise_distances
from sklearn.preprocessing import StandardScaler

from linkwise import (
    BoostCluster,
    ConstrainedKernelKMeans,
    Constraints,
    MPCKMeans,
    SpectralLearning,
)
from linkwise.ensemble import PartitionalSingleLink

from .._run import Cells, Experiment
from .._trials import data_of, draws, measured

# Data sets of the paper's Table 1 and its number of eigenvectors s.
SETS = {
    "wdbc": 5, "balance_scale": 3, "vowel": 5, "segment": 5, "digits4000": 10, "pendigits3689": 5,
}  # fmt: skip
TITLES = {
    "wdbc": "wdbc", "balance_scale": "scale", "vowel": "vowel", "segment": "segmentation",
    "digits4000": "digits", "pendigits3689": "pendigit",
}  # fmt: skip
NOISY = ("balance_scale", "vowel", "pendigits3689")
NOISE = 0.2
NUMBERS = (0, 100, 400, 800)
TRIALS = 5
ROUNDS = 25  # the paper's figure 3
MOST_ROWS = 650  # of "part"
BASES = ("K-means", "SLINK", "SPEC")
KEY = ("data", "rows", "noise", "constraints", "trial")


@cache
def rows_of(name: str, rows: str) -> tuple[Any, Any]:
    """All rows as they are, or a random part of them, standardized."""
    X, y = data_of(name)
    X = np.asarray(X, dtype=float)
    if rows == "all":
        return X, y
    chosen = np.random.RandomState(0).permutation(len(y))[:MOST_ROWS]
    part = StandardScaler().fit_transform(X[chosen])
    return part, np.unique(y[chosen], return_inverse=True)[1]


def clusterer(name: str, k: int, d: int) -> Any:
    """The paper's clusterers as near as we have them."""
    if name == "SPEC":
        return SpectralClustering(k, gamma=1.0 / d)  # of standardized features
    return KMeans(k, n_init=10) if name == "K-means" else PartitionalSingleLink(k)


def methods(data: str, rows: str, X: Any, k: int) -> dict[str, Any]:
    """Those of figure 4 that run on these rows."""
    d = X.shape[1]
    found = {
        f"BoostCluster + {name}": BoostCluster(clusterer(name, k, d), ROUNDS, min(SETS[data], d))
        for name in (BASES if rows == "part" else BASES[:2])
    }
    found |= {"MPCKMeans": MPCKMeans(k), "SSKK": ConstrainedKernelKMeans(k)}
    if rows == "all":
        gamma = float(0.5 / np.median(pairwise_distances(X[:1000], metric="sqeuclidean")))
        how = {"affinity": "rbf", "gamma": gamma, "normalization": "additive", "entailed": False}
        for name in BASES[:2]:
            base = clusterer(name, k, d)
            found[f"SpectralLearn + {name}"] = SpectralLearning(k, clusterer=base, **how)
    return found


COLUMNS = (
    "score", "BoostCluster + K-means", "BoostCluster + SLINK", "BoostCluster + SPEC", "MPCKMeans",
    "SSKK", "SpectralLearn + K-means", "SpectralLearn + SLINK",
)  # fmt: skip


def tasks(n_trials: int | None) -> Iterator[Cells]:
    for trial, noise, rows in product(range(n_trials or TRIALS), (0.0, NOISE), ("all", "part")):
        for data, n in product(NOISY if noise else SETS, NUMBERS):
            yield dict(zip(KEY, (data, rows, noise, n, trial), strict=True))


def trial_of(data: str, rows: str, noise: float, constraints: int, trial: int) -> list[Cells]:
    X, y = rows_of(data, rows)
    found = measured(
        methods(data, rows, X, len(np.unique(y))), X, y,
        draws(y, constraints, trial, 1, "balanced", noise), ("nmi", "pair_f"),
    )  # fmt: skip
    return [dict.fromkeys(COLUMNS) | row for row in found]


def claims_of(task: Cells) -> str:
    if task["noise"]:
        return "B3"
    return "B2 B5" if task["rows"] == "all" else "B1 B2 B6 B7"


# -------------------------------------------------------------------- figure 3


def round_tasks(n_trials: int | None) -> Iterator[Cells]:
    for data, name, n, noise in product(SETS, BASES, (100, 800), (0.0, NOISE)):
        cells = {"data": data, "base": name, "constraints": n, "noise": noise}
        yield cells | {"trial": 0}


def rounds_of(data: str, base: str, constraints: int, noise: float, trial: int) -> Iterator[Cells]:
    """Loss and Theorem 1's bound after each round, as shares of the loss before the first."""
    X, y = rows_of(data, "part")
    known = Constraints.from_labels(y, constraints, "balanced", random_state=trial)
    known = known.flip(noise, random_state=trial) if noise else known
    model = BoostCluster(
        clusterer(base, len(np.unique(y)), X.shape[1]), ROUNDS,
        min(SETS[data], X.shape[1]), random_state=trial,
    ).fit(X, constraints=known)  # fmt: skip
    yield {"round": 0, "loss": 1.0, "bound": 1.0}
    first = 4.0 * known.n_must_link * known.n_cannot_link  # each pair counts both ways
    for number, r in enumerate(model.history_, start=1):
        yield {"round": number, "loss": r.loss / first, "bound": r.bound / first}


EXPERIMENTS = (
    Experiment("curves", KEY, tasks, trial_of, claims_of),
    Experiment(
        "rounds",
        ("data", "base", "constraints", "noise", "trial"),
        round_tasks,
        rounds_of,
        lambda task: "B4",
    ),
)
