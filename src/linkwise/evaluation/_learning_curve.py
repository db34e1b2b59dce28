"""`learning_curve`: scores of several methods by the number of constraints they get."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from sklearn.model_selection import StratifiedKFold

from linkwise._adapters import check_base, fit, labels_of
from linkwise._optional import optional
from linkwise._types import Estimator, Floats, Ints, MatrixLike
from linkwise._validation import check_number
from linkwise.constraints import Constraints

from ._scores import score

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

KINDS = ("pairs", "balanced", "triplets", "informative")


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """Scores of several methods by number of constraints; see `learning_curve`.

    Attributes
    ----------
    methods : tuple of str
        Names of the methods.
    n_constraints : tuple of int
        Numbers of constraints.
    scores : dict of str to ndarray of shape (n_methods, n_numbers, n_repetitions)
        Each score averaged over the folds of a repetition, and "seconds" per fit; NaN where a fit
        failed.

    Examples
    --------
    >>> import numpy as np
    >>> from linkwise.evaluation import LearningCurve
    >>> curve = LearningCurve(("k-means",), (0, 10), {"ari": np.array([[[0.4, 0.6], [0.5, 0.7]]])})
    >>> curve.mean("ari").round(1).tolist()
    [[0.5, 0.6]]
    """

    methods: tuple[str, ...]
    n_constraints: tuple[int, ...]
    scores: Mapping[str, Floats]

    def mean(self, metric: str) -> Floats:
        """Mean over the repetitions, of shape (n_methods, n_numbers).

        Parameters
        ----------
        metric : str
            Name of a score, such as "ari".
        """
        return np.nanmean(self._values(metric), axis=2)

    def standard_error(self, metric: str) -> Floats:
        """Standard error of the mean over the repetitions.

        Parameters
        ----------
        metric : str
            Name of a score, such as "ari".
        """
        return stats.sem(self._values(metric), axis=2, nan_policy="omit")

    def compare(self, baseline: str, metric: str = "ari") -> dict[str, Floats]:
        """Paired t-tests of every method against one of them.

        The unit of a test is a repetition: folds of one repetition share rows and are not
        independent. p-values are corrected by Holm for the number of tests.

        Parameters
        ----------
        baseline : str
            Name of the method to compare with.
        metric : str, default="ari"
            Name of a score.

        Returns
        -------
        p_values : dict of str to ndarray of shape (n_numbers,)
            By method.
        """
        if baseline not in self.methods:
            raise ValueError(f"baseline={baseline!r}: expected one of {', '.join(self.methods)}")
        values, place = self._values(metric), self.methods.index(baseline)
        others = [name for name in self.methods if name != baseline]
        away = np.delete(values, place, axis=0) - values[place]
        with warnings.catch_warnings(), np.errstate(invalid="ignore", divide="ignore"):
            warnings.simplefilter("ignore", RuntimeWarning)  # differences that are all equal
            raw = stats.ttest_1samp(away, 0.0, axis=2, nan_policy="omit").pvalue
        raw = np.where(np.ptp(away, axis=2) == 0, np.where(away[:, :, 0] == 0, 1.0, np.nan), raw)
        return dict(zip(others, holm(raw), strict=True))

    @property
    def frame(self) -> pd.DataFrame:
        """One row per method, number of constraints and repetition."""
        pandas = optional("pandas", extra="parquet", need="LearningCurve.frame")
        shape = next(iter(self.scores.values())).shape
        index = pandas.MultiIndex.from_product(
            [self.methods, self.n_constraints, range(shape[2])],
            names=["method", "n_constraints", "repetition"],
        )
        table = {name: values.ravel() for name, values in self.scores.items()}
        return pandas.DataFrame(table, index=index).reset_index()

    def plot(self, metric: str = "ari", ax: Axes | None = None) -> Axes:
        """Draw the means with bands of one standard error.

        Parameters
        ----------
        metric : str, default="ari"
            Name of a score.
        ax : matplotlib axes, default=None
            Axes to draw on; new ones if None.

        Returns
        -------
        ax : matplotlib axes
        """
        pyplot = optional("matplotlib.pyplot", extra="plot", need="The plot")
        if ax is None:
            ax = pyplot.subplots(layout="constrained")[1]
        for name, mean, error in zip(
            self.methods, self.mean(metric), self.standard_error(metric), strict=True
        ):
            (line,) = ax.plot(self.n_constraints, mean, marker="o", label=name)
            ax.fill_between(
                self.n_constraints, mean - error, mean + error, color=line.get_color(), alpha=0.2
            )
        ax.set_xlabel("number of constraints")
        ax.set_ylabel(metric)
        ax.legend()
        return ax

    def __str__(self) -> str:
        metric = next(iter(self.scores))
        width = max(len(metric), *map(len, self.methods))
        head = f"{metric:<{width}}" + "".join(f"{n:>14,}" for n in self.n_constraints)
        lines = [head]
        for name, mean, error in zip(
            self.methods, self.mean(metric), self.standard_error(metric), strict=True
        ):
            cells = zip(mean, error, strict=True)
            lines.append(f"{name:<{width}}" + "".join(f"{m:7.3f} ± {e:.3f}" for m, e in cells))
        return "\n".join(lines)

    def _values(self, metric: str) -> Floats:
        if metric not in self.scores:
            raise ValueError(f"metric={metric!r}: expected one of {', '.join(self.scores)}")
        return self.scores[metric]


def learning_curve(
    estimators: Mapping[str, Estimator],
    X: MatrixLike,
    y: ArrayLike,
    n_constraints: Sequence[int] = (0, 10, 25, 50, 100),
    *,
    kind: str = "pairs",
    n_repetitions: int = 10,
    n_folds: int = 5,
    scoring: Sequence[str] = ("ari", "nmi"),
    random_state: int = 0,
    n_jobs: int | None = None,
) -> LearningCurve:
    """Measure how well methods cluster, by the number of constraints they get.

    In each repetition the rows are split into folds. For each fold, constraints are drawn among
    the rows of the other folds, all rows are clustered, and the rows of the fold are scored. All
    methods get the same folds and constraints.

    Parameters
    ----------
    estimators : dict of str to clusterer
        All that follow scikit-learn, pipelines too. Clusterers whose ``fit`` has no parameter
        `constraints`, such as `KMeans`, are fitted without them.
    X : array-like, DataFrame or sparse matrix of shape (n_samples, n_features)
        The data.
    y : array-like of shape (n_samples,)
        The true class of every row.
    n_constraints : sequence of int, default=(0, 10, 25, 50, 100)
        Numbers of constraints.
    kind : {"pairs", "balanced", "triplets", "informative"}, default="pairs"
        Constraints to draw, as in `Constraints.from_labels`.
    n_repetitions : int, default=10
        Number of repetitions.
    n_folds : int, default=5
        Number of folds.
    scoring : sequence of str, default=("ari", "nmi")
        Scores of the held-out fold, named as in `Scores`.
    random_state : int, default=0
        Seeds folds, constraints and methods.
    n_jobs : int, default=None
        Processes to use, as in scikit-learn.

    Returns
    -------
    curve : LearningCurve

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import load_iris
    >>> from linkwise import MPCKMeans
    >>> from linkwise.evaluation import learning_curve
    >>> curve = learning_curve(
    ...     {"k-means": KMeans(3), "MPCK": MPCKMeans(3)}, *load_iris(return_X_y=True),
    ...     n_constraints=[0, 60], n_repetitions=2, n_folds=3,
    ... )
    >>> curve.mean("ari").shape
    (2, 2)
    """
    numbers = _check(estimators, n_constraints, kind, n_repetitions, n_folds)
    rows = X.reset_index(drop=True) if hasattr(X, "reset_index") else X
    classes = np.unique(np.asarray(y), return_inverse=True)[1]
    work = Parallel(n_jobs)(
        delayed(_measure)(estimators, rows, classes, n, kind, fold, scoring, seed)
        for n, fold, seed in _draws(classes, numbers, n_repetitions, n_folds, random_state)
    )
    names = (*scoring, "seconds")
    # (number, repetition, fold, method, score) -> per score (method, number, repetition)
    shape = (len(numbers), n_repetitions, n_folds, len(estimators), len(names))
    values = np.array(work).reshape(shape).mean(axis=2).transpose(3, 2, 0, 1)
    return LearningCurve(tuple(estimators), numbers, dict(zip(names, values, strict=True)))


def holm(p: Floats) -> Floats:
    """p-values corrected for their number by Holm's step-down procedure."""
    flat = np.where(np.isnan(p), 1.0, p).ravel()
    order = np.argsort(flat)
    steps = flat[order] * np.arange(len(flat), 0, -1)
    found = np.empty_like(flat)
    found[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return found.reshape(p.shape)


def _check(
    estimators: Mapping[str, Estimator], n_constraints: Sequence[int], kind: str,
    n_repetitions: int, n_folds: int,
) -> tuple[int, ...]:  # fmt: skip
    if not isinstance(estimators, Mapping) or not estimators:
        raise ValueError("estimators: expected a dict from names to clusterers, not an empty one")
    for name, estimator in estimators.items():
        check_base(estimator, f"estimators[{name!r}]")
    if kind not in KINDS:
        raise ValueError(f"kind={kind!r}: expected one of {', '.join(map(repr, KINDS))}")
    check_number("n_repetitions", n_repetitions, Integral, 1)
    check_number("n_folds", n_folds, Integral, 2)
    for number in n_constraints:
        check_number("n_constraints", number, Integral, 0)
    return tuple(sorted({int(number) for number in n_constraints}))


def _draws(
    y: Ints, numbers: Sequence[int], n_repetitions: int, n_folds: int, seed: int
) -> Iterator[tuple[int, NDArray[np.int64], int]]:
    """Number of constraints, held-out rows and seed of every fit."""
    for n in numbers:
        for repetition in range(n_repetitions):
            folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed + repetition)
            for fold, (_, held_out) in enumerate(folds.split(y, y)):
                # One seed per draw: adding numbers or repetitions leaves the others as they are.
                key = np.random.SeedSequence([seed, repetition, fold, n])
                yield n, held_out, int(key.generate_state(1)[0] >> 1)


def _measure(
    estimators: Mapping[str, Estimator], X: MatrixLike, y: Ints, n: int, kind: str,
    held_out: NDArray[np.int64], scoring: Sequence[str], seed: int,
) -> list[list[float]]:  # fmt: skip
    """Scores and seconds of every method on one draw; NaN where a fit fails."""
    known = y.copy()
    known[held_out] = -1
    constraints = Constraints.from_labels(known, n, kind, random_state=seed)  # type: ignore[arg-type]
    found = []
    for name, estimator in estimators.items():
        started = time.perf_counter()
        try:
            model = fit(estimator, X, constraints, np.random.RandomState(seed))
        except Exception as error:
            warnings.warn(
                f"{name} with {n} constraints failed: {type(error).__name__}: {error}",
                UserWarning,
                stacklevel=2,
            )
            found.append([np.nan] * (len(scoring) + 1))
            continue
        seconds = time.perf_counter() - started
        scores = score(y, labels_of(model, X), rows=held_out)
        found.append([*(float(getattr(scores, name)) for name in scoring), seconds])
    return found
