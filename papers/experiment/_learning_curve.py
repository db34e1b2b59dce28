"""`learning_curve`: every method on the same folds and constraints, in parallel, resumable."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from joblib import Parallel, delayed
from numpy.typing import ArrayLike

from linkwise._types import MatrixLike, Numbers, PathLike
from linkwise._validation import check_choice

from ._curve import LearningCurve
from ._experiment import Estimators, Experiment, Key, Point, Record
from ._journal import Journal
from ._protocol import Protocol

Tell = Callable[[int, int], None]

T = TypeVar("T")


def learning_curve(
    estimators: Estimators,
    X: MatrixLike,
    y: ArrayLike,
    n_constraints: Numbers = (0, 10, 25, 50, 100),
    protocol: Protocol | str | None = None,
    *,
    scoring: str | Sequence[str] = ("ari", "nmi", "pair_f"),
    record: Record | None = None,
    file: PathLike | None = None,
    on_error: str = "nan",
    random_state: int = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
    callback: Tell | None = None,
) -> LearningCurve:
    """Measure how well methods cluster, by the number of constraints they are given.

    Parameters
    ----------
    estimators : mapping of str to clusterer, list of clusterers, or clusterer
        All that follow scikit-learn, pipelines too. Those whose ``fit`` takes `constraints` are
        told them; others, such as `KMeans`, are the line to beat. Seeds are set by the experiment.
    X : array-like, DataFrame or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        The true class of every row.
    n_constraints : int or sequence of int, default=(0, 10, 25, 50, 100)
    protocol : Protocol or str, default=None
        Trials, folds, kind of constraints and noise; see `Protocol`. A name takes that of a paper:
        "eaton2005", "basu2006", "liu2007" or "liu2011". None is 10 trials of 5 folds.
    scoring : str or sequence of str, default=("ari", "nmi", "pair_f")
        Scores of the test fold, named as in `Scores`; with "_all" at the end, of all rows.
        "satisfied" is the share of the given constraints that hold.
    record : mapping of str to str or callable, default=None
        What else to note of each fitted model: the name of an attribute, or a function of the
        model, that gives a number.
    file : str or path, default=None
        A CSV file to which every point is appended as soon as it is measured. A run that was
        stopped goes on there, and one with more methods, trials or numbers of constraints takes
        what is there already. A file of another run is refused. Beside it, a JSON file says what
        the run is: data, protocol, seed, parameters, versions, time.
    on_error : {"nan", "raise"}
        What to do when a fit fails: go on with NaN as its scores and a warning at the end, or
        stop.
    random_state : int, default=0
        Every fold, draw and fit is seeded by this and its own numbers, so that any single point
        can be measured again (`LearningCurve.recompute`).
    n_jobs : int, default=None
        Processes to use, as in scikit-learn; -1 for all cores.
    verbose : int, default=0
        1 shows a bar on standard error.
    callback : callable, default=None
        Called with the number of points measured and of all points.

    Returns
    -------
    curve : LearningCurve
        With `frame`, `plot`, `compare`, `best`, `rank`, `recompute` and `summary`.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from linkwise import MPCKMeans, PCKMeans
    >>> from linkwise.datasets import load
    >>> from papers.experiment import Protocol, learning_curve
    >>> X, y = load("iris", return_X_y=True)
    >>> curve = learning_curve(
    ...     [KMeans(3, n_init=3), PCKMeans(3, penalty="distance"), MPCKMeans(3)], X, y,
    ...     n_constraints=[0, 20, 60], protocol=Protocol(n_trials=2, n_folds=3),
    ... )
    >>> curve.values("ari").shape  # methods, numbers, trials, folds
    (3, 3, 2, 3)
    >>> curve.best("ari")[-1]["method"]
    'MPCKMeans'
    >>> again = curve.recompute("MPCKMeans", n_constraints=60, trial=1, fold=2)
    >>> bool(again["ari"] == curve.values("ari")[2, 2, 1, 2])
    True
    """
    check_choice("on_error", on_error, ("nan", "raise"))
    experiment = Experiment.of(
        estimators, X, y, n_constraints, protocol, scoring, record, random_state
    )
    journal = Journal(file, experiment)
    every = list(experiment.keys())
    missing = _by_draw([key for key in every if key not in journal.points])
    n_done = sum(key in journal.points for key in every)
    strict = on_error == "raise"
    work = Parallel(n_jobs, return_as="generator_unordered")
    jobs = (delayed(_measure)(experiment, keys, strict) for keys in missing)
    try:
        with (
            _bar(verbose, n_done, len(every)) as show,
            _stopping_quietly(work(jobs)) as results,
        ):
            for measured in results:
                journal.add(measured)
                n_done += len(measured)
                show(n_done)
                if callback is not None:
                    callback(n_done, len(every))
    finally:
        journal.close()
    curve = LearningCurve.of(experiment, journal.points)
    _warn_of_notes(curve)
    return curve


def _by_draw(keys: Sequence[Key]) -> list[list[Key]]:
    """Points of one draw together, so that it is drawn once for all methods."""
    draws: dict[tuple[int, ...], list[Key]] = {}
    for key in keys:
        draws.setdefault(key[1:], []).append(key)
    return list(draws.values())


def _measure(experiment: Experiment, keys: list[Key], strict: bool) -> list[tuple[Key, Point]]:
    draw = experiment.draw(*keys[0][1:])
    return [(key, experiment.measure(key, draw, strict=strict)) for key in keys]


@contextmanager
def _stopping_quietly(results: Generator[T, None, None]) -> Iterator[Iterator[T]]:
    """End the workers when a run is stopped; joblib would warn that they were not done."""
    try:
        yield results
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results.close()


def _warn_of_notes(curve: LearningCurve) -> None:
    """One warning for each method whose fits failed or warned, with the first of the texts."""
    for method in curve.methods:
        own = [point for key, point in curve.points.items() if key.method == method]
        for failed in (True, False):
            notes = [point.note for point in own if point.note and point.failed is failed]
            if notes:
                what = "failed" if failed else "warned"
                warnings.warn(
                    f"{method}: {len(notes)} of {len(own)} fits {what}, first with: {notes[0]}",
                    UserWarning,
                    stacklevel=3,
                )


@contextmanager
def _bar(verbose: int, n_done: int, n_total: int) -> Iterator[Callable[[int], None]]:
    """A bar on standard error, if it is wanted."""
    if not verbose:
        yield lambda n_done: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("fits"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        TextColumn("left"), TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=n_total, completed=n_done)
        yield lambda n_done: bar.update(task, completed=n_done)
