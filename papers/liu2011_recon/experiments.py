"""Liu, Zhang & Wang (KDD 2011): the runs that claims R1 to R6 need.

Five schemes on six data sets with random (figures 2 and 3) and informative (figure 4) relative
constraints, pairwise F over all rows, 50 draws. The paper leaves open whether features were scaled
(both are run where that is cheap) and how small an outlier is in the cut of section 4.2.1 (ten
rows: figure 3 fits that; a fifth of an average cluster is run beside it).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler

from linkwise import ComparisonMetric, Constraints, ReCon
from linkwise.evaluation import score

from .._run import Cells, Experiment
from .._trials import load
from . import feasibility

SMALL = ("iris", "wine", "ionosphere", "transfusion")
LARGE = ("digits389", "letters_ijlt")
TITLES = {
    "iris": "Iris", "wine": "Wine", "ionosphere": "Ionosphere", "transfusion": "Transfusion",
    "digits389": "Digits389", "letters_ijlt": "LettersIJLT",
}  # fmt: skip
SHARES = {"small": (0.1, 0.25, 0.5, 0.75, 1.0), "large": (0.1, 0.5, 1.0)}  # of |D|
TRIALS = 50
OUTLIER = 10  # rows
CUTS: dict[str, dict[str, Any]] = {
    "ReCon": {"outliers": "nearest", "min_branch": OUTLIER},
    "ReCon, a fifth": {"outliers": "nearest", "min_branch": 0.2},
    "ReCon, strict": {"outliers": "strict", "min_branch": 0.05},
}
KEY = ("data", "scaled", "kind", "constraints", "trial")
FIRST_SEED = 100  # lower ones were looked at while the cut was studied


def tasks(n_trials: int | None) -> Iterator[Cells]:
    """Random and informative constraints on scaled features; random ones on raw small sets."""
    runs = [("random", True), ("informative", True), ("random", False)]
    for trial, data in product(range(n_trials or TRIALS), (*SMALL, *LARGE)):
        for kind, scaled in runs if data in SMALL else runs[:2]:
            for n in numbers(data)[kind]:
                yield dict(zip(KEY, (data, scaled, kind, n, trial), strict=True))


@cache
def numbers(data: str) -> dict[str, list[int]]:
    """How many constraints: up to |D|; of informative ones, all of them too."""
    y = features(data, True)[1]
    shares = SHARES["small" if data in SMALL else "large"]
    random = [round(share * len(y)) for share in shares]
    total = (len(np.unique(y)) - 1) * (len(y) - len(np.unique(y)))
    return {
        "random": [0, *random],
        "informative": sorted({*(n for n in random if n < total), total}),
    }


@cache
def features(data: str, scaled: bool) -> tuple[Any, Any]:
    bunch = load(data)
    X, y = np.asarray(bunch.data, dtype=float), np.asarray(bunch.target)
    return (StandardScaler().fit_transform(X) if scaled else X), y


def cluster(data: str, scaled: bool, kind: str, constraints: int, trial: int) -> Iterator[Cells]:
    """F of all schemes with one draw of constraints."""
    X, y = features(data, scaled)
    k, seed = len(np.unique(y)), FIRST_SEED + trial
    # Another draw for each number, so that the points of a curve are independent.
    known = Constraints.from_labels(
        y, constraints, "triplets" if kind == "random" else "informative",
        random_state=np.random.RandomState([seed, constraints]),
    )  # fmt: skip
    learnt = ComparisonMetric(C=1.0).fit_transform(X, constraints=known)
    plain = KMeans(k, n_init=10, random_state=seed)
    recon = ReCon(k, **CUTS["ReCon"]).fit(X, constraints=known)
    labels = {"ReCon": recon.labels_, "K-Means + SVM": plain.fit_predict(learnt)}
    satisfied = recon.report_.satisfaction.share
    for cut in list(CUTS)[1:]:
        labels[cut] = recon.set_params(**CUTS[cut]).cut(k)
    labels["K-Means"] = _unconstrained(data, scaled, seed)
    with_metric = ReCon(k, **CUTS["ReCon"]).fit(learnt, constraints=known)
    labels["ReCon + SVM"] = with_metric.labels_
    f = {method: score(y, found).pair_f for method, found in labels.items()}
    yield {"score": "f", **f, "hierarchy satisfied": satisfied}


@cache
def _unconstrained(data: str, scaled: bool, seed: int) -> Any:
    X, y = features(data, scaled)
    return KMeans(len(np.unique(y)), n_init=10, random_state=seed).fit_predict(X)


def claims_of(task: Cells) -> str:
    if not task["scaled"]:
        return "R1 R3"
    return "R1 R3 R4 R5 R6" if task["kind"] == "random" else "R1 R2 R4 R6"


EXPERIMENTS = (
    Experiment(
        "feasibility",
        ("case", "rows", "constraints", "trial"),
        feasibility.tasks,
        feasibility.check,
        lambda task: "R1",
    ),
    Experiment("curves", KEY, tasks, cluster, claims_of),
)
