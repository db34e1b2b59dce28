"""One experiment: methods, data and protocol; and any single point of it.

Entry points: `Experiment.of` checks what a user gave, `Experiment.measure` is one fit with its
scores. Files and other points are handled elsewhere.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from numbers import Integral
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from linkwise._adapters import check_base, fit, labels_of, seed_names
from linkwise._errors import InputError
from linkwise._fingerprint import data_arrays, digest, parameter_text
from linkwise._types import Estimator, JsonDict, Matrix, MatrixLike, Numbers, is_sparse
from linkwise._validation import check_number
from linkwise.evaluation import Scores, score

from ._protocol import Draw, Protocol, as_protocol

ON_ALL_ROWS = "_all"  # at the end of a score's name: taken on all rows, not on the test fold
_SATISFIED = (
    "satisfied",
    "satisfied_weight",
)  # of all constraints; none is among the rows of the test fold
_NAMES = tuple(field.name for field in fields(Scores) if field.name != "n_rows")

Record = Mapping[str, str | Callable[[Estimator], float]]

Estimators = Estimator | Iterable[Estimator | tuple[str, Estimator]] | Mapping[str, Estimator]


class Key(NamedTuple):
    """Identifies a point: one method, one draw."""

    method: str
    n_constraints: int
    trial: int
    fold: int


@dataclass(frozen=True)
class Point:
    """Result of one fit.

    Attributes
    ----------
    values : dict of str to float
        Scores and what else was recorded, by name; NaN where there is none.
    seconds : float
        Time of the fit.
    note : str
        The error, or the first warning, of the fit; empty if there was none.
    failed : bool
        Whether the note is an error.
    """

    values: dict[str, float]
    seconds: float
    note: str = ""

    @property
    def failed(self) -> bool:
        """Whether there was no fit."""
        return math.isnan(self.seconds)


@dataclass(frozen=True, eq=False)
class Experiment:
    """Everything that determines a learning curve.

    Attributes
    ----------
    estimators : dict of str to clusterer
    X : array-like or sparse matrix of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
        Classes as 0, 1, 2, ...
    n_constraints : tuple of int
    protocol : Protocol
    scoring : tuple of str
    record : mapping of str to attribute name or callable
    seed : int
    """

    estimators: dict[str, Estimator]
    X: Matrix
    y: NDArray[np.int64]
    n_constraints: tuple[int, ...]
    protocol: Protocol
    scoring: tuple[str, ...]
    record: Record
    seed: int

    @classmethod
    def of(
        cls, estimators: Estimators, X: MatrixLike, y: ArrayLike, n_constraints: Numbers,
        protocol: Protocol | str | None, scoring: str | Iterable[str], record: Record | None,
        seed: int,
    ) -> Experiment:  # fmt: skip
        """Check the arguments of the user."""
        check_number("random_state", seed, Integral, 0)  # None could not be drawn again
        if hasattr(X, "reset_index"):
            rows = X.reset_index(drop=True)  # constraints are by row number
        else:
            rows = X if is_sparse(X) else np.asarray(X)
        made = cls(
            _named(estimators), rows, _classes(y, rows.shape[0]), _numbers(n_constraints),
            as_protocol(protocol), _scoring(scoring), dict(record or {}), int(seed),
        )  # fmt: skip
        made._check()
        return made

    def _check(self) -> None:
        """Refuse what would fail only after hours."""
        n_rows, n_folds = len(self.y), self.protocol.n_folds
        if n_folds > n_rows // 2:
            raise ValueError(f"{n_folds} folds of {n_rows} rows leave fewer than two rows in each")
        for taken in set(self.record) & {*self.scoring, *Key._fields, "seconds", "note"}:
            raise ValueError(f"record: {taken!r} is a column already; use another name")
        if callable(self.protocol.kind):
            return
        most = max(self.n_constraints)
        for trial in range(self.protocol.n_trials):
            for fold in range(n_folds):
                try:
                    self.draw(most, trial, fold)
                except ValueError as error:
                    raise InputError(
                        f"{{n_constraints={most}}} are too many for trial {trial}, fold {fold}: "
                        f"{error}"
                    ) from None

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the values of a point."""
        return (*self.scoring, *self.record)

    def keys(self) -> Iterator[Key]:
        """All points, whole trials first."""
        for trial in range(self.protocol.n_trials):
            for n in self.n_constraints:
                for fold in range(self.protocol.n_folds):
                    for method in self.estimators:
                        yield Key(method, n, trial, fold)

    def draw(self, n_constraints: int, trial: int, fold: int) -> Draw:
        """Folds, constraints and seed of a point; the same for every method."""
        return self.protocol.draw(self.X, self.y, n_constraints, self.seed, trial, fold)

    def measure(self, key: Key, draw: Draw | None = None, *, strict: bool = False) -> Point:
        """Fit and score one point; an error becomes its note unless `strict`."""
        draw = draw or self.draw(*key[1:])
        estimator = self.estimators[key.method]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            started = time.perf_counter()
            try:
                model = fit(estimator, self.X, draw.constraints, np.random.RandomState(draw.seed))
                labels = labels_of(model, self.X)
            except Exception as error:
                if strict:
                    error.add_note(f"(in a learning curve: {key})")
                    raise
                lost = dict.fromkeys(self.columns, math.nan)
                note = f"{type(error).__name__}: {error}"
                return Point(lost, math.nan, " ".join(note.split()))
            seconds = time.perf_counter() - started
        values = {**self._scores(labels, draw), **self._recorded(model)}
        note = str(caught[0].message) if caught else ""
        return Point(values, round(seconds, 6), " ".join(note.split()))

    def _scores(self, labels: NDArray[np.int64], draw: Draw) -> dict[str, float]:
        found = score(self.y, labels, rows=draw.test).to_dict()
        if any(name.endswith(ON_ALL_ROWS) or name in _SATISFIED for name in self.scoring):
            every = score(self.y, labels, constraints=draw.constraints).to_dict()
            found |= {name: every[name] for name in _SATISFIED if name in every}
            found |= {name + ON_ALL_ROWS: value for name, value in every.items()}
        return {name: float(found.get(name, math.nan)) for name in self.scoring}

    def _recorded(self, model: Estimator) -> dict[str, float]:
        found = {}
        for name, what in self.record.items():
            value = what(model) if callable(what) else getattr(model, what, math.nan)
            found[name] = float(value)
        return found

    # ---------------------------------------------------------------- telling runs apart

    def fingerprint(self) -> JsonDict:
        """What must agree for points of two runs to belong together."""
        settings = {k: v for k, v in self.protocol.to_dict().items() if k != "n_trials"}
        data = digest(*data_arrays(self.X), self.y)
        return {"data": data, "protocol": settings, "random_state": self.seed}

    def described(self) -> dict[str, dict[str, str]]:
        """Each method with all its parameters, in words."""
        return {name: _described(estimator) for name, estimator in self.estimators.items()}


# -------------------------------------------------------------------- reading what was given


def _named(given: Estimators) -> dict[str, Estimator]:
    """Clusterers by name: a mapping, or a list of clusterers or of (name, clusterer)."""
    if isinstance(given, Mapping):
        pairs = [(str(name), estimator) for name, estimator in given.items()]
    elif isinstance(given, Iterable) and not isinstance(given, str):
        pairs = [
            (str(item[0]), item[1]) if isinstance(item, tuple) else (type(item).__name__, item)
            for item in given
        ]
    else:
        pairs = [(type(given).__name__, given)]
    if not pairs:
        raise ValueError("estimators is empty; give at least one clusterer")
    for name, estimator in pairs:
        check_base(estimator, f"estimators[{name!r}]")
    named = dict(pairs)
    if len(named) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"two estimators are called {twice!r}; give them as {{name: estimator}}")
    return named


def _classes(y: ArrayLike, n_rows: int) -> NDArray[np.int64]:
    """Classes as 0, 1, 2, ...; here -1 is a class like others."""
    values = np.asarray(y)
    if values.shape != (n_rows,):
        raise ValueError(f"y has shape {values.shape}; expected one class per row, ({n_rows},)")
    missing = [row for row, cell in enumerate(values.tolist()) if cell is None or cell != cell]
    if missing:
        raise ValueError(
            f"y: row {missing[0]} has no class (and {len(missing) - 1} more); leave such rows out"
        )
    codes = np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.int64)
    if not len(codes) or codes.max() == 0:
        raise ValueError("y has fewer than two classes; there is nothing to learn")
    return codes


def _numbers(given: Numbers) -> tuple[int, ...]:
    numbers = list(given) if isinstance(given, Iterable) else [given]
    if not numbers:
        raise ValueError("n_constraints is empty; give at least one number")
    for number in numbers:
        check_number("n_constraints", number, Integral, 0)
    return tuple(sorted({int(number) for number in numbers}))


def _scoring(given: str | Iterable[str]) -> tuple[str, ...]:
    names = (given,) if isinstance(given, str) else tuple(given)
    known = [*_NAMES, *(name + ON_ALL_ROWS for name in _NAMES)]
    for name in names:
        if name not in known:
            raise ValueError(f"scoring={name!r}: expected among {', '.join(known)}")
    if not names:
        raise ValueError("scoring is empty; give at least one score")
    return tuple(dict.fromkeys(names))


def _described(estimator: Estimator) -> dict[str, str]:
    plain = clone(estimator).set_params(**dict.fromkeys(seed_names(estimator)))
    found = {"": type(estimator).__name__}
    for name, value in sorted(plain.get_params(deep=True).items()):
        if name.rpartition("__")[2] not in ("steps", "memory", "verbose", "callback", "n_jobs"):
            found[name] = parameter_text(value)
    return found
