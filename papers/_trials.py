"""Trials of the documents: folds, constraints from the training folds, scores of the test fold.

All methods of a trial see the same folds and constraints. A row of a table has one score of one
trial, the mean over its folds, with a column per method. The unit of every test is a trial: its
folds share rows and are not independent.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from linkwise import Constraints
from linkwise._adapters import fit, labels_of
from linkwise.evaluation import score
from papers.datasets import load

from ._run import Cells

Floats = NDArray[np.float64]
TENTHS = ("digits389", "letters_ijl")  # of these, the documents drew a tenth of the rows
# Streams of random numbers: no draw depends on how many there were before it.
_FOLDS, _CONSTRAINTS, _NOISE, _MODEL = range(4)


@cache
def data_of(name: str) -> tuple[Any, NDArray[np.int64]]:
    """Features as they are, and classes 0, 1, ..., of the rows that the documents used."""
    bunch = load(name, sample=0.1, random_state=0) if name in TENTHS else load(name)
    return bunch.data, np.unique(bunch.target, return_inverse=True)[1]


class Draw(NamedTuple):
    """The constraints of one fold, the rows that are scored, and the seed of the methods."""

    constraints: Constraints
    test: NDArray[np.int64]
    seed: int


def folds(y: NDArray[np.int64], n_folds: int, trial: int) -> list[NDArray[np.int64]]:
    """Rows of each fold, with about the same share of each class."""
    order = np.random.RandomState(_seed(_FOLDS, trial)).permutation(len(y))
    order = order[np.argsort(y[order], kind="stable")]
    return [np.sort(order[fold::n_folds]) for fold in range(n_folds)]


def draws(
    y: NDArray[np.int64], n: int, trial: int, n_folds: int, kind: Any = "pairs", noise: float = 0.0
) -> Iterator[Draw]:
    """One draw per fold; with a single fold, constraints and scores are on all rows."""
    for fold, test in enumerate(folds(y, n_folds, trial)):
        seen = y.copy()
        if n_folds > 1:
            seen[test] = -1
        rng = np.random.RandomState(_seed(_CONSTRAINTS, trial, fold, n))
        known = Constraints.from_labels(seen, n, kind, random_state=rng)
        if noise:
            known = known.flip(noise, random_state=_seed(_NOISE, trial, fold, n))
        yield Draw(known, test, _seed(_MODEL, trial, fold))


def measured(
    methods: Mapping[str, Any], X: Any, y: NDArray[np.int64], trial: Iterable[Draw],
    scores: Sequence[str], record: Mapping[str, Callable[[Any], float]] | None = None,
) -> list[Cells]:  # fmt: skip
    """A row per score (those that end in "_all" are of all rows) and per recorded number."""
    found: dict[str, dict[str, list[float]]] = {
        name: {method: [] for method in methods} for name in (*scores, *(record or {}))
    }
    for draw in trial:
        for method, estimator in methods.items():
            rng = np.random.RandomState(draw.seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # rounds that do not settle, graphs in parts
                model = fit(estimator, X, draw.constraints, rng)
                labels = labels_of(model, X)
            held_out = score(y, labels, rows=draw.test).to_dict()
            everywhere = score(y, labels).to_dict() if any(_all(s) for s in scores) else {}
            for name in scores:
                values = everywhere if _all(name) else held_out
                found[name][method].append(values[name.removesuffix("_all")])
            for name, value in (record or {}).items():
                found[name][method].append(float(value(model)))
    return [
        {"score": name, **{method: float(np.mean(values)) for method, values in columns.items()}}
        for name, columns in found.items()
    ]


def _all(score_name: str) -> bool:
    return score_name.endswith("_all")


def _seed(*key: int) -> int:
    """A seed made of several numbers, each of which matters."""
    return int(np.random.SeedSequence((0, *key)).generate_state(1)[0] >> 1)


# -------------------------------------------------------------------- reading tables


class Scores:
    """Rows of a table with one score, by number of constraints, cut to whole trials."""

    def __init__(self, table: Iterable[Cells], score_name: str, /, **where: Any):
        wanted = where | {"score": score_name}
        own = [r for r in table if all(r[name] == value for name, value in wanted.items())]
        self.numbers = sorted({row["constraints"] for row in own})
        by_place = {(row["constraints"], row["trial"]): row for row in own}
        trials = {row["trial"] for row in own}
        whole = [t for t in sorted(trials) if all((n, t) in by_place for n in self.numbers)]
        self.n_trials = len(whole)
        self._rows = {n: [by_place[n, t] for t in whole] for n in self.numbers}

    def of(self, method: str, numbers: Iterable[int] | None = None) -> Floats:
        """Scores of shape (n_numbers, n_trials)."""
        chosen = self.numbers if numbers is None else [n for n in self.numbers if n in numbers]
        return np.array([[row[method] for row in self._rows[n]] for n in chosen], dtype=float)

    def gain(self, ours: str, theirs: str, numbers: Iterable[int] | None = None) -> Gain:
        """Of one method over another, averaged over the numbers of constraints."""
        numbers = None if numbers is None else list(numbers)
        return Gain.of((self.of(ours, numbers) - self.of(theirs, numbers)).mean(axis=0))


# -------------------------------------------------------------------- tests

LEVEL = 0.05


class Gain(NamedTuple):
    """A mean difference with its two-sided p-value and the number of pairs."""

    mean: float
    p: float
    pairs: int = 0

    @classmethod
    def of(cls, differences: Any, test: str = "t") -> Gain:
        """Of the differences of pairs; NaN is a pair without a result."""
        away = np.asarray(differences, dtype=float)
        away = away[np.isfinite(away)]
        mean = float(away.mean()) if len(away) else float("nan")
        return cls(mean, paired_p(away, test), len(away))

    @property
    def above(self) -> bool:
        """Better, beyond chance."""
        return self.mean > 0 and self.p < LEVEL

    @property
    def below(self) -> bool:
        """Worse, beyond chance."""
        return self.mean < 0 and self.p < LEVEL

    def __str__(self) -> str:
        return f"{self.mean:+.3f} ({p_words(self.p)})"


def paired_p(away: Floats, test: str = "t") -> float:
    """Student's t or Wilcoxon's signed ranks; equal differences have the p-value of signs."""
    if len(away) < 2:
        return float("nan")
    if not away.any():
        return 1.0
    if np.allclose(away, away[0]):
        return float(2.0 ** (1 - len(away)))
    if test == "wilcoxon":
        return float(stats.wilcoxon(away[away != 0]).pvalue)
    return float(stats.ttest_1samp(away, 0.0).pvalue)


def holm(gains: Mapping[Any, Gain]) -> dict[Any, Gain]:
    """The same with p corrected for the number of comparisons (Holm)."""
    tested = [name for name in gains if np.isfinite(gains[name].p)]
    order = sorted(tested, key=lambda name: gains[name].p)
    found, least = dict(gains), 0.0
    for place, name in enumerate(order):
        least = max(least, min(gains[name].p * (len(order) - place), 1.0))
        found[name] = gains[name]._replace(p=least)
    return found


def p_words(p: float) -> str:
    """For tables."""
    if np.isnan(p):
        return "no test"
    return f"p = {p:.2g}" if p >= 0.001 else "p < .001"
