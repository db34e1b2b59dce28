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

from linkwise.datasets import load
from linkwise.evaluation import LearningCurve, Protocol, learning_curve, paired_p

from ._claims import LEVEL, MissingResults, p_words
from ._run import Run

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
    experiments = list(experiments)
    for stage, n_trials in enumerate(stages):
        for experiment in experiments:
            most = experiment.protocol.n_trials
            if stage and most <= stages[stage - 1]:
                continue
            with warnings.catch_warnings(), threadpool_limits(1):
                warnings.simplefilter("ignore")  # rounds that do not settle: noted in the file
                experiment.measure(run.folder, min(n_trials, most), run.jobs)
            print(f"{experiment.name}: {min(n_trials, most)} trials", flush=True)


def curve_of(results: Path, name: str) -> LearningCurve:
    """The curve of a results file, whole trials only."""
    path = results / f"{name}.csv"
    if not path.exists():
        raise MissingResults(f"{path.name} is missing")
    curve = LearningCurve.read(path)
    whole = np.isfinite(curve.values("seconds")).all(axis=(0, 1, 3))
    n_trials = int(np.cumprod(whole).sum())
    if not n_trials:
        raise MissingResults(f"{path.name} has no whole trial")
    return curve.first(n_trials)


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


@dataclass(frozen=True)
class Gain:
    """A mean difference and its p-value, corrected."""

    mean: float
    p: float

    @classmethod
    def of(cls, differences: np.ndarray) -> Gain:
        """Of the differences of trials."""
        return cls(float(np.nanmean(differences)), paired_p(differences))

    @property
    def above(self) -> bool:
        """Surely better."""
        return self.mean > 0 and self.p < LEVEL

    @property
    def below(self) -> bool:
        """Surely worse."""
        return self.mean < 0 and self.p < LEVEL

    def __str__(self) -> str:
        return f"{self.mean:+.3f} ({p_words(self.p)})"


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


def trial_words(curves: Mapping[str, LearningCurve]) -> str:
    """How many trials there are."""
    numbers = sorted({curve.n_trials for curve in curves.values()})
    shown = f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
    folds = sorted({curve.n_folds for curve in curves.values()})
    return f"{shown} trials of {folds[0]} folds"


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
