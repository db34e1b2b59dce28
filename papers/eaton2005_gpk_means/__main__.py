"""Eaton (2005): figures 4.1 to 4.7, and what claims E1 to E7 need.

``python -m papers.eaton2005_gpk_means --quick`` or ``--full``. The protocol is the thesis' (section
4.2): constraints are random pairs of four folds, all rows are clustered, the fifth fold is scored;
all methods see the same folds and constraints. Weights are one, the base is MPCK-Means with
diagonal metrics, started once from its neighborhoods. Data is used as it is; Digits389 and
LettersIJL are the tenth of the rows that the thesis has (317 and 227).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from linkwise import Constraints, GPKMeans, MPCKMeans, PCKMeans
from papers.experiment import PROTOCOLS, LearningCurve

from .._curves import Experiment, curves_of, data_of, grid, grow, trial_words
from .._run import Cells, Run
from .claims import (
    METRICS,
    PRINTED,
    PRINTED_REDUCED,
    SETS,
    THRESHOLDS,
    TWICE,
    experiment_name,
    findings,
    propagating,
)  # fmt: skip

NUMBERS = (10, 40, 160)
OTHERS = {"iris": (*NUMBERS, 320)}  # where full propagation is said to drop
QUICK = {"iris": (10, 40, 320)}
# Crabs-Gender spreads hundreds of links a source: a fit takes ten times as long as elsewhere.
TRIALS = {"crabs_gender": 10}
MOST_TRIALS = 20  # the thesis has 50


class Twice(MPCKMeans):
    """MPCK-Means, and once more from the centers it found: GPK-Means without propagation."""

    def fit(self, X: Any, y: Any = None, *, constraints: Any = None) -> Twice:
        """Fit twice."""
        start = self.get_params(deep=False)
        super().fit(X, y, constraints=constraints)
        self.set_params(init=self.cluster_centers_)
        super().fit(X, y, constraints=constraints)
        return self.set_params(**start)


START: dict[str, Any] = {"init": "neighborhoods", "n_init": 1}


def methods(data: str, metrics: str, k: int) -> dict[str, Any]:
    """Everything that is compared, by name."""
    metric = {"per_cluster": metrics == "many", **START}
    base = MPCKMeans(**metric)
    low, _ = THRESHOLDS[data]
    printed = GPKMeans(k, base, threshold=low, scale="thesis", radius="mahalanobis")
    drops = (data, metrics) == ("iris", "many")
    more = {PRINTED_REDUCED: clone(printed).set_params(reduced=True)} if drops else {}
    return {
        "PCK": PCKMeans(k, penalty="distance", **START),  # MPCK-Means without metric learning
        "MPCK": MPCKMeans(k, **metric),
        TWICE: Twice(k, **metric),
        **{
            name: GPKMeans(k, base, threshold=g, reduced="reduced" in name)
            for name, g in propagating(data)
        },
        PRINTED: printed,
        **more,
    }


def experiments(run: Run) -> Iterator[Experiment]:
    """One for each data set and number of metrics; those that take long come last."""
    sets = sorted(run.chosen(SETS), key=lambda data: data in TRIALS)
    for data in sets:
        for metrics in METRICS:
            numbers = OTHERS.get(data, NUMBERS) if run.full else QUICK.get(data, (10, 40))
            trials = TRIALS.get(data, MOST_TRIALS) if run.full else 2
            yield Experiment(
                experiment_name(data, metrics), partial(data_of, data),
                partial(methods, data, metrics), numbers,
                PROTOCOLS["eaton2005"].but(n_trials=trials), ("pair_f", "ari"),
                {"propagated": "n_propagated_"},
            )  # fmt: skip


def same_as_twice(data: str, metrics: str, draw: int) -> list[Cells]:
    """Claim E7: with g = 1, GPK-Means is MPCK-Means run twice."""
    X, y = data_of(data)
    different = np.unique(X, axis=0, return_index=True)[1]  # equal rows would be linked at g = 1
    X, y = X[different], y[different]
    k = len(np.unique(y))
    known = Constraints.from_labels(np.unique(y, return_inverse=True)[1], 40, random_state=draw)
    metric = {"per_cluster": metrics == "many", **START}
    gpk = GPKMeans(k, MPCKMeans(**metric), threshold=1.0, random_state=draw)
    gpk.fit(X, constraints=known)
    first = MPCKMeans(k, **metric, random_state=draw).fit(X, constraints=known)
    second = MPCKMeans(k, per_cluster=metrics == "many", n_init=1, init=first.cluster_centers_)
    second.set_params(random_state=draw).fit(X, constraints=known)
    same = np.array_equal(gpk.labels_, second.labels_)
    return [{"same": int(same), "propagated": gpk.n_propagated_}]


# -------------------------------------------------------------------- figures


def draw(run: Run) -> None:
    """All figures of chapter 4."""
    found = curves_of(run.folder, [experiment_name(d, m) for d in SETS for m in METRICS])
    trials = trial_words(found.values())
    note = f"{trials} (thesis: 50 of 5); strips: paired t-tests over trials, uncorrected"
    for kind, (f, ari, counts) in {"full": (1, 2, 3), "reduced": (4, 5, 6)}.items():
        own = {_title(name): _of_kind(curve, kind) for name, curve in found.items()}
        run.save(grid(own, "pair_f", baseline="MPCK"), f"figure_4_{f}", note)
        run.save(grid(own, "ari", baseline="MPCK"), f"figure_4_{ari}", note)
        inferred = {
            title: curve.only([m for m in curve.methods if m.startswith("GPK")])
            for title, curve in own.items()
        }
        figure = grid(inferred, "propagated", strip=False, log=True)
        run.save(figure, f"figure_4_{counts}", f"links inferred, without the sources; {note}")
    times = {_title(name): curve for name, curve in found.items() if name.startswith("iris")}
    if times:
        run.save(
            grid(times, "seconds", strip=False),
            "figure_4_7",
            f"seconds a fit on a busy machine; {trials}",
        )


def _title(name: str) -> str:
    data, _, metrics = name.rpartition("_")
    return f"{data}, {metrics} metric{'s' if metrics == 'many' else ''}"


def _of_kind(curve: LearningCurve, kind: str) -> LearningCurve:
    own = [m for m in curve.methods if not m.startswith("GPK") or kind in m]
    return curve.only([m for m in own if m not in (TWICE, PRINTED, PRINTED_REDUCED)])


def main(arguments: list[str] | None = None) -> None:
    with Run.from_command(__file__, __doc__, arguments) as run:
        run.about["seeds"] = "random_state 0 of learning_curve"
        exact = run.table("e7", key=("data", "metrics", "draw"))
        sets = [data for data in run.chosen(SETS) if data != "crabs_gender"]
        tasks = [
            {"data": d, "metrics": m, "draw": n} for d in sets for m in METRICS for n in (0, 1)
        ]
        run.fill(exact, tasks, same_as_twice)
        grow(run, experiments(run), (2, 3, 5, 10, MOST_TRIALS) if run.full else (2,))
        found = curves_of(run.folder, [experiment_name(d, m) for d in SETS for m in METRICS])
        run.about["trials"] = f"{trial_words(found.values())}; the thesis has 50 of 5"
        draw(run)
        run.print(findings(run.folder))


if __name__ == "__main__":
    main()
