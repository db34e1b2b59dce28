"""`LearningCurve`: what came out, as a table, a picture, tests and words."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from linkwise._adapters import takes_constraints
from linkwise._optional import optional
from linkwise._types import Estimator, JsonDict, Numbers, PathLike
from linkwise._validation import check_number

from . import _summary as _words
from ._experiment import Experiment, Key, Point
from ._journal import read_points
from ._protocol import Draw
from ._ranking import Ranking
from ._significance import LEVELS, Comparison, adjusted, paired_p

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """Scores of several methods by number of constraints; see `learning_curve`.

    Attributes
    ----------
    points : dict of Key to Point
        What was measured: (method, n_constraints, trial, fold) to its scores.
    methods : tuple of str
    n_constraints : tuple of int
    n_trials, n_folds : int
    metrics : tuple of str
        Names of the scores and of what else was recorded; "seconds" is always there too.

    Examples
    --------
    >>> from linkwise import PCKMeans
    >>> from linkwise.datasets import load
    >>> from papers.experiment import Protocol, learning_curve
    >>> curve = learning_curve(
    ...     {"PCK": PCKMeans(3)}, *load("iris", return_X_y=True), n_constraints=[0, 40],
    ...     protocol=Protocol(n_trials=1, n_folds=3),
    ... )
    >>> curve.methods, curve.n_constraints, curve.mean("ari").shape
    (('PCK',), (0, 40), (1, 2))
    """

    points: Mapping[Key, Point] = field(repr=False)
    methods: tuple[str, ...]
    n_constraints: tuple[int, ...]
    n_trials: int
    n_folds: int
    metrics: tuple[str, ...]
    _experiment: Experiment | None = field(default=None, repr=False)

    # ---------------------------------------------------------------- where curves come from

    @classmethod
    def of(cls, experiment: Experiment, points: Mapping[Key, Point]) -> LearningCurve:
        """The curve of an experiment whose points are all measured.

        Parameters
        ----------
        experiment : Experiment
            Methods, numbers and protocol.
        points : mapping
            Scores by method, number, trial and fold.
        """
        wanted = {key: points[key] for key in experiment.keys()}  # noqa: SIM118
        return cls(
            wanted, tuple(experiment.estimators), experiment.n_constraints,
            experiment.protocol.n_trials, experiment.protocol.n_folds, experiment.columns,
            experiment,
        )  # fmt: skip

    @classmethod
    def read(cls, path: PathLike) -> LearningCurve:
        """The curve of a file that `learning_curve` has written, as far as it got.

        Methods and trials that are not complete are read too; what is missing is NaN.

        Parameters
        ----------
        path : str or path-like
            The file.
        """
        path = Path(path)
        points = dict(read_points(path))
        if not points:
            raise ValueError(f"{path} has no points yet")
        methods = tuple(dict.fromkeys(key.method for key in points))
        numbers = tuple(sorted({key.n_constraints for key in points}))
        beside, n_folds = path.with_suffix(".json"), max(key.fold for key in points) + 1
        if beside.is_file():
            kept = json.loads(beside.read_text(encoding="utf-8"))
            n_folds = kept["protocol"]["n_folds"]
        metrics = tuple(next(iter(points.values())).values)
        n_trials = max(key.trial for key in points) + 1
        return cls(points, methods, numbers, n_trials, n_folds, metrics)

    @classmethod
    def join(cls, curves: Mapping[str, LearningCurve]) -> LearningCurve:
        """Curves over the same folds side by side, such as those of several kinds of constraints.

        Parameters
        ----------
        curves : mapping of str to LearningCurve
            Methods are called "name: method" afterwards, or "name" where a curve has just one.
        """
        first = next(iter(curves.values()))
        points: dict[Key, Point] = {}
        for name, curve in curves.items():
            for what in ("n_constraints", "n_trials", "n_folds", "metrics"):
                if getattr(curve, what) != getattr(first, what):
                    raise ValueError(
                        f"curves cannot be joined: {what} is {getattr(curve, what)} in {name!r} "
                        f"and {getattr(first, what)} in the first"
                    )
            for key, point in curve.points.items():
                method = name if len(curve.methods) == 1 else f"{name}: {key.method}"
                points[key._replace(method=method)] = point
        methods = tuple(dict.fromkeys(key.method for key in points))
        shape = (first.n_constraints, first.n_trials, first.n_folds, first.metrics)
        return cls(points, methods, *shape)

    def only(self, methods: Sequence[str]) -> LearningCurve:
        """The curve of some of the methods, in this order.

        Parameters
        ----------
        methods : sequence of str
            Names of methods.
        """
        for method in methods:
            if method not in self.methods:
                raise ValueError(f"method={method!r}: there are {', '.join(self.methods)}")
        points = {key: point for key, point in self.points.items() if key.method in methods}
        return replace(self, points=points, methods=tuple(methods))

    def with_numbers(self, n_constraints: Numbers) -> LearningCurve:
        """The curve of some of the numbers of constraints.

        Parameters
        ----------
        n_constraints : int or sequence of int
            Numbers of constraints; all if None is given.
        """
        numbers = tuple(sorted(self._chosen(n_constraints)))
        points = {key: p for key, p in self.points.items() if key.n_constraints in numbers}
        return replace(self, points=points, n_constraints=numbers)

    def first(self, n_trials: int) -> LearningCurve:
        """The curve of the first trials only.

        Parameters
        ----------
        n_trials : int
            How many trials to keep.
        """
        check_number("n_trials", n_trials, Integral, 1)
        points = {key: point for key, point in self.points.items() if key.trial < n_trials}
        return replace(self, points=points, n_trials=min(n_trials, self.n_trials))

    # ---------------------------------------------------------------- figures

    def values(self, metric: str, n_constraints: Numbers | None = None) -> Floats:
        """Scores as an array.

        Parameters
        ----------
        metric : str
        n_constraints : int or sequence of int, default=None
            Only these numbers.

        Returns
        -------
        values : ndarray of shape (n_methods, n_numbers, n_trials, n_folds)
            NaN where a fit failed or is missing.
        """
        if metric not in (*self.metrics, "seconds"):
            raise ValueError(
                f"metric={metric!r}: there are {', '.join((*self.metrics, 'seconds'))}"
            )
        numbers = self._chosen(n_constraints)
        shape = (len(self.methods), len(numbers), self.n_trials, self.n_folds)
        found = np.full(shape, np.nan)
        row = {method: i for i, method in enumerate(self.methods)}
        column = {n: j for j, n in enumerate(numbers)}
        for key, point in self.points.items():
            if key.n_constraints in column:
                place = row[key.method], column[key.n_constraints], key.trial, key.fold
                found[place] = point.seconds if metric == "seconds" else point.values[metric]
        return found

    def by_trial(self, metric: str, n_constraints: Numbers | None = None) -> Floats:
        """Scores averaged over folds, shape (n_methods, n_numbers, n_trials).

        A trial with a missing fold is missing.

        Parameters
        ----------
        metric : str
            Name of a score, such as 'ari'.
        n_constraints : int or sequence of int
            Numbers of constraints; all if None is given.
        """
        return self.values(metric, n_constraints).mean(axis=3)

    def mean(self, metric: str) -> Floats:
        """Mean scores, shape (n_methods, n_numbers); missing trials are left out.

        Parameters
        ----------
        metric : str
            Name of a score, such as 'ari'.
        """
        return _mean(self.by_trial(metric))

    def _chosen(self, n_constraints: Numbers | None) -> tuple[int, ...]:
        if n_constraints is None:
            return self.n_constraints
        if not isinstance(n_constraints, Iterable):
            n_constraints = (n_constraints,)
        asked = tuple(n_constraints)
        for n in asked:
            if n not in self.n_constraints:
                raise ValueError(f"n_constraints={n}: the curve has {self.n_constraints}")
        return asked

    def rows(self) -> list[JsonDict]:
        """One row for each fit."""
        return [
            {**key._asdict(), **point.values, "seconds": point.seconds, "note": point.note}
            for key, point in self.points.items()
        ]

    @property
    def frame(self) -> pd.DataFrame:
        """The same as a pandas DataFrame."""
        pandas = optional("pandas", extra="parquet", need="LearningCurve.frame")
        return pandas.DataFrame(self.rows())

    # ---------------------------------------------------------------- tests

    def compare(
        self,
        baseline: str | None = None,
        metric: str | None = None,
        *,
        n_constraints: Numbers | None = None,
        pooled: bool = False,
        test: str = "t",
        correction: str | None = "holm",
    ) -> Comparison:
        """Paired tests of every method against one of them.

        Parameters
        ----------
        baseline : str, default=None
            The method to compare with; the first that takes no constraints, or the first.
        metric : str, default=None
            The first score if None.
        n_constraints : int or sequence of int, default=None
            Only these numbers.
        pooled : bool, default=False
            Whether to test the mean over these numbers (the area under the curve) at once,
            instead of each number by itself.
        test : {"t", "corrected_t", "wilcoxon"}
            Over the trials' means: Student's t or Wilcoxon's signed ranks. They tell whether the
            difference would be there with other draws of folds and constraints on *this* data.
            "corrected_t" (Nadeau and Bengio) goes over single folds and is far more careful: it
            asks about other data of the same kind.
        correction : {"holm", "fdr", None}
            For the number of tests, all methods and numbers together.

        Returns
        -------
        Comparison
        """
        baseline, metric = self.baseline_or(baseline), metric or self.metrics[0]
        folds = test == "corrected_t"
        values = self.values(metric, n_constraints)
        values = values.reshape(*values.shape[:2], -1) if folds else values.mean(axis=3)
        if pooled:
            values = values.mean(axis=1, keepdims=True)
        place = self.methods.index(baseline)
        others = tuple(name for name in self.methods if name != baseline)
        away = np.delete(values, place, axis=0) - values[place]
        ratio = 1 / (self.n_folds - 1) if self.n_folds > 1 else 0.0
        raw = np.array([[paired_p(cell, test, ratio) for cell in row] for row in away])
        raw = raw.reshape(away.shape[:2])
        return Comparison(
            metric, baseline, others, () if pooled else self._chosen(n_constraints),
            _mean(away), adjusted(raw, correction), raw, test, correction,
        )  # fmt: skip

    def baseline_or(self, given: str | None) -> str:
        """The method of this name; if None the first that takes no constraints, or the first.

        Parameters
        ----------
        given : str or None
            Name of a method.
        """
        if given is None:
            known = self._experiment.estimators if self._experiment else {}
            without = [
                name
                for name in self.methods
                if name in known and not _takes_constraints(known[name])
            ]
            return next(iter(without), self.methods[0])
        if given not in self.methods:
            raise ValueError(f"baseline={given!r}: there are {', '.join(self.methods)}")
        return given

    def best(self, metric: str | None = None, *, confidence: float = 0.95) -> list[JsonDict]:
        """The best method per number of constraints, and those not significantly worse.

        Parameters
        ----------
        metric : str, default=None
            The first score if None.
        confidence : float, default=0.95
            Of the paired t-tests against the best, corrected by Holm for each number.
        """
        metric = metric or self.metrics[0]
        mean, found = self.mean(metric), []
        for column, n in enumerate(self.n_constraints):
            place = int(np.nanargmax(mean[:, column]))
            against = self.compare(self.methods[place], metric, n_constraints=n)
            worse = against.p[:, 0] <= 1 - confidence
            ties = [m for m, lost in zip(against.methods, worse, strict=True) if not lost]
            found.append(
                {"n_constraints": n, "method": self.methods[place],
                 "mean": float(mean[place, column]), "not_worse": ties}
            )  # fmt: skip
        return found

    def rank(
        self,
        metric: str | None = None,
        *,
        n_constraints: Numbers | None = None,
        confidence: float = 0.95,
    ) -> Ranking:
        """Rank the methods over the trials on this data; for several data sets see `rank_methods`.

        Parameters
        ----------
        metric : str, default=None
            The first score if None.
        n_constraints : int or sequence of int, default=None
            Numbers of constraints to average over; all if None.
        confidence : float, default=0.95
        """
        metric = metric or self.metrics[0]
        scores = self.by_trial(metric, n_constraints).mean(axis=1).T
        return Ranking.of(scores, self.methods, confidence=confidence, metric=metric)

    # ---------------------------------------------------------------- one point again

    def draw(self, n_constraints: int, trial: int, fold: int) -> Draw:
        """Folds, constraints and seed of a point, the same for every method.

        Parameters
        ----------
        n_constraints : int or sequence of int
            Numbers of constraints; all if None is given.
        trial : int
            Number of the trial.
        fold : int
            Number of the fold.
        """
        return self._made_by().draw(n_constraints, trial, fold)

    def recompute(
        self, method: str, n_constraints: int, trial: int = 0, fold: int = 0
    ) -> dict[str, float]:
        """Fit one point again; all but the time comes out the same.

        Parameters
        ----------
        method : str
        n_constraints, trial, fold : int
            All, also those that the curve has not.

        Returns
        -------
        values : dict of str to float
        """
        experiment = self._made_by()
        if method not in experiment.estimators:
            raise ValueError(f"method={method!r}: there are {', '.join(self.methods)}")
        return experiment.measure(Key(method, n_constraints, trial, fold), strict=True).values

    def _made_by(self) -> Experiment:
        if self._experiment is None:
            raise ValueError(
                "this curve was read or joined and does not hold the data; call learning_curve "
                "with the data and the same file"
            )
        return self._experiment

    # ---------------------------------------------------------------- pictures and words

    def plot(
        self,
        metric: str | None = None,
        *,
        baseline: str | None = None,
        strip: bool = True,
        levels: Sequence[float] = LEVELS,
        band: str = "confidence",
        spacing: str = "linear",
        title: str = "",
        figure: Figure | None = None,
        test: str = "t",
        correction: str | None = "holm",
    ) -> Figure:
        """Draw the curves, and below them where each method differs from the baseline.

        Parameters
        ----------
        metric : str, default=None
            The first score if None.
        baseline : str, default=None
            As in `compare`; its line is dashed.
        strip : bool, default=True
            Whether to draw the strip of significance; it takes two methods and two trials.
        levels : sequence of float, default=(0.9, 0.95, 0.975, 0.99)
            Levels of confidence to distinguish.
        band : {"confidence", "deviation", "none"}
            95 % confidence of the mean over trials, or one standard deviation of the trials.
        spacing : {"linear", "even"}
            Numbers of constraints to scale, or side by side (for numbers that double each time).
        title : str, default=""
        figure : Figure or SubFigure, default=None
            Where to draw; a new one if None.
        test, correction : str
            As in `compare`.

        Returns
        -------
        figure : matplotlib Figure
        """
        from ._plot import draw_curve

        against = None
        if strip and len(self.methods) > 1 and self.n_trials > 1:
            against = self.compare(baseline, metric, test=test, correction=correction)
        metric = metric or self.metrics[0]
        baseline = self.baseline_or(baseline)
        return draw_curve(self, metric, against, baseline, levels, band, spacing, title, figure)

    def summary(self, metric: str | None = None, *, baseline: str | None = None) -> str:
        """Summary in words: which method is best, and from how many constraints on.

        Parameters
        ----------
        metric : str
            Name of a score, such as 'ari'.
        baseline : str, default=None
            Method to compare the others with.
        """
        return _words.summary(self, metric or self.metrics[0], self.baseline_or(baseline))

    def __str__(self) -> str:
        return _words.table(self, self.metrics[0])


def _takes_constraints(estimator: Estimator) -> bool:
    steps = [step for _, step in getattr(estimator, "steps", [("", estimator)])]
    return any(takes_constraints(step) for step in steps)


def _mean(values: Floats) -> Floats:
    """Mean over the last axis of what is there; NaN if nothing is."""
    there = np.isfinite(values)
    with np.errstate(invalid="ignore"):
        return np.where(there, values, 0).sum(axis=-1) / there.sum(axis=-1)
