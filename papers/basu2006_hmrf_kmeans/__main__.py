"""Basu, Bilenko, Banerjee, Mooney (2006): figures 3.6 to 3.17, and one on chosen questions.

``python -m papers.basu2006_hmrf_kmeans --quick`` or ``--full``. The protocol is the chapter's
(section 3.5): constraints are random pairs of one half of the rows, all rows are clustered, NMI is
taken on the other half; all methods see the same folds and constraints, which have unit weight.
Low-dimensional data is clustered with Euclidean distance, as it is and standardized (the chapter
does not say which), the newsgroups with cosine and I-divergence. Each method starts once from its
neighborhoods. For section 3.4, questions are asked about one half of the rows and all rows are
clustered with the answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from linkwise import HMRFKMeans, MPCKMeans, PCKMeans
from papers.experiment import PROTOCOLS, rank_methods

from .._curves import Experiment, curves_of, data_of, grid, grow, trial_words
from .._run import Cells, Run
from .claims import (
    ASKED,
    DISTORTIONS,
    LOW,
    NEWS,
    SCALES,
    STRATEGIES,
    asked_curve,
    asked_name,
    experiment_name,
    findings,
)  # fmt: skip
from .questions import Asked, ask

NUMBERS = (0, 50, 200, 400)
QUICK = (0, 50, 200)
BUDGETS = (10, 20, 40, 60, 80, 100)
PROTOCOL = PROTOCOLS["basu2006"]  # 20 trials of 2 folds
FEWER = 10  # trials of what is not the chapter's own experiment
START: dict[str, Any] = {"init": "neighborhoods", "n_init": 1, "max_iter": 100}


class Untold(HMRFKMeans):
    """Takes no constraints: unsupervised k-means with any of the distortions."""

    def fit(self, X: Any, y: Any = None) -> Untold:
        """Fit."""
        return super().fit(X)


def ablations(distortion: str, k: int) -> dict[str, Any]:
    """The methods of section 3.5.3."""
    given = {"distortion": distortion, **START}
    return {
        "k-means": Untold(k, learn=False, **given),
        "C": HMRFKMeans(k, learn=False, **given),
        "C-D": HMRFKMeans(k, prior=False, **given),
        "C-D-R": HMRFKMeans(k, **given),
    }


def models(k: int) -> dict[str, Any]:
    """Those that are fitted to the answers."""
    return {
        "PCK": PCKMeans(k, penalty="weight", init="neighborhoods", n_init=1),
        "MPCK": MPCKMeans(k),
        "C-D": HMRFKMeans(k, prior=False, **START),
    }


def rise(model: Any) -> float:
    """The largest rise of the objective, as a share of it."""
    return float(np.diff(model.objective_path_).max(initial=0.0) / abs(model.objective_))


def scaled(data: str, scale: str) -> tuple[Any, np.ndarray]:
    """The data, as it is or standardized."""
    X, y = data_of(data)
    if not sparse.issparse(X):
        X = np.asarray(X, dtype=float)
    return (StandardScaler().fit_transform(X) if scale == "standardized" else X), y


def experiments(run: Run) -> Iterator[Experiment]:
    """The ablations, one for each figure and reading."""
    numbers = NUMBERS if run.full else QUICK
    for data in run.chosen((*LOW, *NEWS)):
        for variant in SCALES if data in LOW else DISTORTIONS:
            distortion = "euclidean" if data in LOW else variant
            yield Experiment(
                experiment_name(data, variant), partial(scaled, data, variant),
                partial(ablations, distortion), numbers,
                PROTOCOL.but(n_trials=FEWER) if variant == "standardized" else PROTOCOL,
                ("nmi",), {"rise": rise},
            )  # fmt: skip


def questions(run: Run) -> Iterator[Experiment]:
    """The same models with answers to questions, one for each strategy."""
    budgets = BUDGETS if run.full else (20, 60)
    for data in run.chosen(ASKED):
        for strategy in STRATEGIES:
            yield Experiment(
                asked_name(data, strategy), partial(scaled, data, "raw"), models, budgets,
                PROTOCOL.but(n_trials=FEWER, kind=Asked(strategy, budgets)), ("nmi", "nmi_all"),
            )  # fmt: skip


def counted(data: str, strategy: str, trial: int) -> list[Cells]:
    """How many questions it took to find all neighborhoods, and the most about one row."""
    X, y = scaled(data, "raw")
    y = np.unique(y, return_inverse=True)[1]
    rows = PROTOCOL.folds(y, 0, trial)[1]  # what fold 0 does not hold back
    answers = ask(strategy, X, y, rows, (100,))
    return [{"n_classes": y.max() + 1, "to_find_all": answers.to_find_all, "most": answers.most}]


# -------------------------------------------------------------------- figures


def draw(run: Run) -> None:
    """Figures 3.6 to 3.17, and chosen questions."""
    low = curves_of(run.folder, [experiment_name(d, s) for d in LOW for s in SCALES])
    news = curves_of(run.folder, [experiment_name(d, v) for d in NEWS for v in DISTORTIONS])
    note = "chapter: 20 of 2; strips: paired t over trials against C, uncorrected"
    for name, curves in (("figures_3_6_to_3_11", low), ("figures_3_12_to_3_17", news)):
        if curves:
            run.save(
                grid(curves, "nmi", baseline="C"), name, f"{trial_words(curves.values())} ({note})"
            )
    own = {name: curve for name, curve in (low | news).items() if not name.endswith(SCALES[1])}
    if len(own) > 1:
        ranks = rank_methods(own, "nmi").plot().figure
        run.save(ranks, "ranks", f"mean NMI over all numbers of constraints, {len(own)} curves")
    for metric, where in (("nmi", "the other half of the rows"), ("nmi_all", "all rows")):
        asked = {
            f"{data}, {model}": asked_curve(run.folder, data, model)
            for data in run.chosen(ASKED)
            for model in ("PCK", "MPCK", "C-D")
        }
        if asked:
            words = f"NMI on {where}; strips: paired t over trials against random pairs"
            figure = grid(asked, metric, columns=3, baseline=STRATEGIES[0])
            run.save(
                figure,
                f"questions_{metric}",
                f"{trial_words(asked.values())}; {words}, uncorrected",
            )


def main(arguments: list[str] | None = None) -> None:
    with Run.from_command(__file__, __doc__, arguments) as run:
        run.about["seeds"] = "random_state 0 of learning_curve"
        stages = (2, 3, 5, FEWER, PROTOCOL.n_trials) if run.full else (2,)
        grow(run, experiments(run), stages)
        table = run.table("questions", key=("data", "strategy", "trial"))
        tasks = [
            {"data": data, "strategy": strategy, "trial": trial}
            for data in run.chosen(ASKED)
            for strategy in STRATEGIES[1:]
            for trial in range(FEWER if run.full else 2)
        ]
        run.fill(table, tasks, counted)
        grow(run, questions(run), stages)
        found = curves_of(run.folder, [experiment_name(d, s) for d in LOW for s in SCALES])
        run.about["trials"] = f"{trial_words(found.values())}, as in the chapter" if found else ""
        draw(run)
        if not run.sets:
            run.print(findings(run.folder))


if __name__ == "__main__":
    main()
