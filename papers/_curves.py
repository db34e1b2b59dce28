"""What documents with learning curves share: curves that grow by trials, grids of them, words.

A document lists `Experiment`s; `grow` measures them with `linkwise.evaluation.learning_curve`, all
of them with few trials first, so that a run that is stopped has something of each.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from papers.datasets import load
from papers.experiment import LearningCurve, Protocol, learning_curve

from ._claims import Gain, MissingResults
from ._run import Run

_FEW = 5  # trials below which a t-test can tell next to nothing
TENTHS = ("digits389", "letters_ijl")  # the documents drew a tenth of the rows


def data_of(name: str) -> tuple[Any, np.ndarray]:
    """Features as they are, and classes, of the rows that the documents used."""
    found = load(name, sample=0.1, random_state=0) if name in TENTHS else load(name)
    return found.data, found.target


@dataclass(frozen=True)
class Experiment:
    """One learning curve: a file of the results.

    Attributes
    ----------
    name : str
        Of the file.
    data : callable
        Gives X and y.
    methods : callable
        From the number of classes to clusterers by name.
    n_constraints : tuple of int
    protocol : Protocol
        The number of trials is the most there will be.
    scoring : tuple of str
    record : dict
    """

    name: str
    data: Callable[[], tuple[Any, np.ndarray]]
    methods: Callable[[int], dict[str, Any]]
    n_constraints: tuple[int, ...]
    protocol: Protocol
    scoring: tuple[str, ...]
    record: dict[str, Any] = field(default_factory=dict)

    def measure(self, folder: Path, n_trials: int, jobs: int) -> None:
        """Go on to that many trials."""
        X, y = self.data()
        learning_curve(
            self.methods(len(np.unique(y))), X, y, self.n_constraints,
            self.protocol.but(n_trials=n_trials), scoring=self.scoring, record=self.record,
            file=folder / f"{self.name}.csv", n_jobs=jobs,
        )  # fmt: skip


def grow(run: Run, experiments: Iterable[Experiment], stages: Sequence[int]) -> None:
    """Measure all with few trials, then with more, up to what each one's protocol says."""
    experiments = [] if run.frozen else list(experiments)
    for stage, n_trials in enumerate(stages):
        for experiment in experiments:
            most = experiment.protocol.n_trials
            if stage and most <= stages[stage - 1]:
                continue
            with warnings.catch_warnings(), threadpool_limits(1):
                warnings.simplefilter("ignore")  # rounds that do not settle: noted in the file
                experiment.measure(run.folder, min(n_trials, most), run.jobs)
            run.keep_time()
            print(f"{experiment.name}: {min(n_trials, most)} trials", flush=True)


def curve_of(results: Path, name: str) -> LearningCurve:
    """The curve of a results file: whole trials, and numbers of constraints that have two."""
    path = results / f"{name}.csv"
    if not path.exists():
        raise MissingResults(f"{path.name} is missing")
    curve = LearningCurve.read(path)
    there = np.isfinite(curve.values("seconds")).all(axis=(0, 3))
    whole = np.cumprod(there, axis=1).sum(axis=1)  # trials without a gap, by number
    numbers = [n for n, trials in zip(curve.n_constraints, whole, strict=True) if trials >= 2]
    if not numbers:
        raise MissingResults(f"{path.name} has fewer than two whole trials")
    return curve.with_numbers(numbers).first(int(whole[whole >= 2].min()))


def curves_of(results: Path, names: Iterable[str]) -> dict[str, LearningCurve]:
    """Those that are there."""
    found = {}
    for name in names:
        try:
            found[name] = curve_of(results, name)
        except MissingResults:
            continue
    return found


# -------------------------------------------------------------------- words and tests


def gains(
    curve: LearningCurve, rival: str, metric: str, numbers: Sequence[int] | None = None
) -> dict[str, Gain]:
    """Every method against a rival, averaged over these numbers of constraints.

    Paired t-tests over trials, corrected (Holm) for the number of methods.
    """
    chosen = None if numbers is None else [n for n in curve.n_constraints if n in numbers]
    found = curve.compare(rival, metric, n_constraints=chosen, pooled=True)
    return {
        method: Gain(float(found.difference[i, 0]), float(found.p[i, 0]))
        for i, method in enumerate(found.methods)
    }


def trial_words(curves: Iterable[LearningCurve]) -> str:
    """How many trials there are, and what few of them cannot tell."""
    curves = list(curves)
    numbers = sorted({curve.n_trials for curve in curves})
    folds = sorted({curve.n_folds for curve in curves})
    shown = f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
    return f"{shown} trials of {folds[0]} folds"


def power_words(curves: Iterable[LearningCurve]) -> str:
    """The number of trials, for the words on a test."""
    curves = list(curves)
    few = any(curve.n_trials < _FEW for curve in curves)
    more = "; with so few, only large differences can be told from chance" if few else ""
    return trial_words(curves) + more


# -------------------------------------------------------------------- figures


def grid(
    curves: Mapping[str, LearningCurve],
    metric: str,
    *,
    columns: int = 2,
    baseline: str | None = None,
    strip: bool = True,
    log: bool = False,
) -> Any:
    """One panel for each curve, under its title."""
    from matplotlib import pyplot

    rows = -(-len(curves) // columns)
    figure = pyplot.figure(figsize=(5.2 * columns, 3.6 * rows + 0.8), layout="constrained")
    panels = figure.subfigures(rows, columns, squeeze=False).ravel()
    for panel, (title, curve) in zip(panels, curves.items(), strict=False):
        few = curve.n_trials < 4  # a band would be wider than the picture
        curve.plot(
            metric, baseline=baseline, strip=strip, figure=panel, correction=None,
            title=f"{title} ({curve.n_trials} x {curve.n_folds} folds)",
            band="none" if few else "confidence", spacing="even",
        )  # fmt: skip
        for ax in panel.axes[1:]:
            ax.set_title(f"confidence (%) of a difference to {baseline}", fontsize=7)
        if log:
            panel.axes[0].set_yscale("symlog", linthresh=1)
            panel.axes[0].set_ylim(bottom=0)
    _one_legend(figure, panels)
    return figure


def _one_legend(figure: Any, panels: Iterable[Any]) -> None:
    """One legend above the grid in place of one beside each panel."""
    found = {}
    for panel in panels:
        for ax in panel.axes:
            handles, labels = ax.get_legend_handles_labels()
            found.update(zip(labels, handles, strict=True))
            if ax.get_legend():
                ax.get_legend().remove()
    figure.legend(
        found.values(), found.keys(), loc="outside upper center", ncols=min(len(found), 6),
        fontsize="small",
    )  # fmt: skip
