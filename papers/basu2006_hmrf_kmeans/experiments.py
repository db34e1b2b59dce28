"""Basu, Bilenko, Banerjee & Mooney (2006): the runs that claims H1 to H7 need.

The protocol is that of section 3.5.3: 20 trials of 2 folds; constraints are random pairs of one
half, all rows are clustered, NMI is taken on the other half. Unit weights; one start from the
neighborhoods. The chapter does not say whether features were scaled: both are run.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from linkwise import HMRFKMeans, MPCKMeans, PCKMeans
from linkwise.active import LabelOracle, Session

from .._run import Cells, Experiment
from .._trials import Draw, data_of, draws, folds, measured

LOW = ("iris", "wine", "protein", "ionosphere", "digits389", "letters_ijl")
NEWS = ("news_different_3", "news_related_3", "news_similar_3")
SCALES = ("raw", "standardized")
DISTORTIONS = ("cosine", "divergence")
NUMBERS = {"low": (0, 10, 25, 50, 100, 200, 400), "news": (0, 50, 200, 400)}
TRIALS = 20
START: dict[str, Any] = {"init": "neighborhoods", "n_init": 1, "max_iter": 100}
AUTHORS_PRIOR = 0.001  # weight of the logarithm of the prior in the authors' code
ASKED = ("iris", "wine", "digits389", "letters_ijl")
BUDGETS = (10, 20, 40, 60, 80, 100)
ASKED_TRIALS = 50  # not an experiment of the chapter; as many as it takes to decide


class Unconstrained(HMRFKMeans):
    """Takes no constraints: k-means with any of the distortions."""

    def fit(self, X: Any, y: Any = None) -> Unconstrained:
        """Fit."""
        return super().fit(X)


def ablations(variant: str, k: int) -> dict[str, Any]:
    """The methods of section 3.5.3; matrices are full where distances are Euclidean (3.3.7.2)."""
    distortion = variant if variant in DISTORTIONS else "euclidean"
    how = {"distortion": distortion, **START}
    found = {
        "k-means": Unconstrained(k, learn=False, **how),
        "C": HMRFKMeans(k, learn=False, **how),
    }
    if distortion == "euclidean":
        found |= {
            "C-D": HMRFKMeans(k, metric="full", prior=False, **how),
            "C-D-R": HMRFKMeans(k, metric="full", prior=AUTHORS_PRIOR, **how),
            "C-D-R, printed": HMRFKMeans(k, metric="full", **how),
            "C-D, diagonal": HMRFKMeans(k, prior=False, **how),
            "C-D-R, diagonal": HMRFKMeans(k, prior=AUTHORS_PRIOR, **how),
        }
    else:
        found |= {"C-D": HMRFKMeans(k, prior=False, **how), "C-D-R": HMRFKMeans(k, **how)}
    return found


COLUMNS = (
    "score", "k-means", "C", "C-D", "C-D-R", "C-D-R, printed", "C-D, diagonal", "C-D-R, diagonal",
)  # fmt: skip


def rise(model: Any) -> float:
    """The largest rise of the objective, as a share of it."""
    return float(np.diff(model.objective_path_).max(initial=0.0) / abs(model.objective_))


def tasks(n_trials: int | None) -> Iterator[Cells]:
    for trial in range(n_trials or TRIALS):
        for kind, sets, variants in (("low", LOW, SCALES), ("news", NEWS, DISTORTIONS)):
            for data, variant, n in product(sets, variants, NUMBERS[kind]):
                yield {"data": data, "variant": variant, "constraints": n, "trial": trial}


def trial_of(data: str, variant: str, constraints: int, trial: int) -> list[Cells]:
    """NMI of all ablations, and the largest rise of an objective."""
    X, y = data_of(data)
    X = X if sparse.issparse(X) else np.asarray(X, dtype=float)
    X = StandardScaler().fit_transform(X) if variant == "standardized" else X
    compared = ablations(variant, len(np.unique(y)))
    trials = draws(y, constraints, trial, 2)
    rows = measured(compared, X, y, trials, ("nmi",), {"rise": rise})
    return [dict.fromkeys(COLUMNS) | row for row in rows]


def claims_of(task: Cells) -> str:
    if task["data"] in NEWS:
        return "H3 H4 H7"
    return "H1 H2 H4 H6" if task["constraints"] == 0 else "H1 H4 H6"


# -------------------------------------------------------------------- questions (section 3.4)


def asked_tasks(n_trials: int | None) -> Iterator[Cells]:
    for trial, data in product(range(n_trials or ASKED_TRIALS), ASKED):
        yield {"data": data, "trial": trial}


def asked_trial(data: str, trial: int) -> Iterator[Cells]:
    """Explore and Consolidate against random pairs of the same half, by number of questions."""
    X, y = data_of(data)
    X, k = np.asarray(X, dtype=float), len(np.unique(y))
    models = {
        "PCK": PCKMeans(k, penalty="weight", init="neighborhoods", n_init=1),
        "MPCK": MPCKMeans(k, init="neighborhoods", n_init=1),
        "C-D": HMRFKMeans(k, metric="full", prior=False, **START),
    }
    halves = folds(y, 2, trial)
    answers = [ask(X, y, np.setdiff1d(np.arange(len(y)), half), trial) for half in halves]
    for n in BUDGETS:
        chosen = [
            Draw(known[n], half, trial) for (known, *_), half in zip(answers, halves, strict=True)
        ]
        random = measured(models, X, y, draws(y, n, trial, 2), ("nmi", "nmi_all"))
        explored = measured(models, X, y, chosen, ("nmi", "nmi_all"))
        for ours, theirs in zip(explored, random, strict=True):
            yield {
                "constraints": n, "score": ours["score"], "classes": k,
                "to find all": max(found for _, found, _ in answers),
                "most": max(most for _, _, most in answers),
                **{f"{name}, asked": ours[name] for name in models},
                **{f"{name}, random": theirs[name] for name in models},
            }  # fmt: skip


def ask(X: Any, y: Any, rows: Any, seed: int) -> tuple[dict[int, Any], int, int]:
    """Answers by number of questions, questions until all classes, the most about one row."""
    k, found_all, known = len(np.unique(y)), 0, {}
    oracle = LabelOracle(y[rows])
    with Session(
        X[rows], "ExploreConsolidate", n_clusters=k, sample_ids=rows.tolist(), random_state=seed,
        refit_every=None, background=False,
    ) as session:  # fmt: skip
        for budget in BUDGETS:
            while len(session.snapshot().answers) < budget and session.run(oracle, 1):
                if not found_all and len(session.snapshot().neighborhoods) == k:
                    found_all = len(session.snapshot().answers)
            known[budget] = session.constraints + session.snapshot().inferred
        most = int(np.bincount([answer.i for answer in session.snapshot().answers]).max())
    return known, found_all or BUDGETS[-1] + 1, most


EXPERIMENTS = (
    Experiment("curves", ("data", "variant", "constraints", "trial"), tasks, trial_of, claims_of),
    Experiment("questions", ("data", "trial"), asked_tasks, asked_trial, lambda task: "H5"),
)
