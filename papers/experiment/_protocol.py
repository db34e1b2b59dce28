"""Protocol of an experiment: folds, and constraints that use no row of the scored fold.

Entry points: `Protocol`, `PROTOCOLS` (those of the papers by name) and `as_protocol`.

Every draw has a seed of its own, made of the experiment's seed and the numbers of trial, fold and
constraints. So a single point can be drawn again without those before it, and adding trials,
methods or numbers of constraints leaves all others as they were.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwise._types import JsonDict, Matrix, RandomState
from linkwise._validation import check_number
from linkwise.constraints import Constraints

Rows = NDArray[np.int64]
KINDS = ("pairs", "balanced", "triplets", "informative")
_FOLDS, _CONSTRAINTS, _NOISE, _MODEL = range(4)  # what a seed is for


@dataclass(frozen=True)
class Protocol:
    """Trials of cross-validation: constraints from the training folds, scores on the test fold.

    In each trial the rows are dealt into folds. For each fold, constraints are drawn among the
    rows of all *other* folds, all rows are clustered, and the rows of the fold are scored. All
    methods see the same folds and constraints.

    Parameters
    ----------
    n_trials : int, default=10
        Number of trials.
    n_folds : int, default=5
        Number of folds. 1 holds nothing back: constraints come from all rows, and all rows are
        scored.
    kind : {"pairs", "balanced", "triplets", "informative"} or callable, default="pairs"
        What is drawn: random pairs; half must-links and half cannot-links; random triplets;
        informative triplets (see `Constraints.from_labels`). A callable
        ``kind(X, y, rows, n, random_state)`` returns constraints between some of `rows` by row
        number; those about other rows are refused, because they would leak.
    noise : float, default=0.0
        Share of the constraints that are made wrong (see `Constraints.flip`).
    stratified : bool, default=True
        Whether folds have about the same share of each class.

    Examples
    --------
    >>> from papers.experiment import Protocol
    >>> Protocol(n_trials=3, n_folds=2, noise=0.2)
    Protocol(n_trials=3, n_folds=2, kind='pairs', noise=0.2, stratified=True)
    """

    n_trials: int = 10
    n_folds: int = 5
    kind: str | Callable[..., Constraints] = "pairs"
    noise: float = 0.0
    stratified: bool = True

    def __post_init__(self) -> None:
        check_number("n_trials", self.n_trials, Integral, 1)
        check_number("n_folds", self.n_folds, Integral, 1)
        check_number("noise", self.noise, Real, 0)
        if self.noise > 1:
            raise ValueError(f"noise={self.noise} must be a share, from 0 to 1")
        if not callable(self.kind) and self.kind not in KINDS:
            raise ValueError(
                f"kind={self.kind!r}: expected one of {', '.join(map(repr, KINDS))}, or a callable"
            )

    def but(self, **changes: Any) -> Protocol:
        """The same protocol with some fields changed.

        Examples
        --------
        >>> from papers.experiment import PROTOCOLS
        >>> PROTOCOLS["eaton2005"].but(n_trials=5).n_folds
        5
        """
        return replace(self, **changes)

    def to_dict(self) -> JsonDict:
        """The protocol as plain values."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        if callable(self.kind):
            found["kind"] = getattr(self.kind, "__qualname__", None) or repr(self.kind)
        return found

    # ---------------------------------------------------------------- draws

    def folds(self, y: Rows, seed: int, trial: int) -> list[Rows]:
        """The rows of each fold of a trial.

        Parameters
        ----------
        y : ndarray of shape (n_samples,)
            Class of each row.
        seed : int
            Seed of the experiment.
        trial : int
            Number of the trial.
        """
        order = _random(seed, _FOLDS, trial).permutation(len(y))
        if self.stratified:
            order = order[np.argsort(y[order], kind="stable")]
        return [np.sort(order[fold :: self.n_folds]) for fold in range(self.n_folds)]

    def draw(self, X: Matrix, y: Rows, n: int, seed: int, trial: int, fold: int) -> Draw:
        """What one fit sees, and which rows it is scored on.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            The rows.
        y : ndarray of shape (n_samples,)
            Class of each row.
        n : int
            Number of constraints.
        seed : int
            Seed of the experiment.
        trial : int
            Number of the trial.
        fold : int
            Number of the fold.
        """
        folds = self.folds(y, seed, trial)
        others = [rows for number, rows in enumerate(folds) if number != fold]
        train = np.sort(np.concatenate(others)) if others else np.arange(len(y))
        rng = _random(seed, _CONSTRAINTS, trial, fold, n)
        known = self._constraints(X, y, train, n, rng)
        if self.noise:
            known = known.flip(self.noise, random_state=_random(seed, _NOISE, trial, fold, n))
        return Draw(train, folds[fold], known, _number(seed, _MODEL, trial, fold))

    def _constraints(
        self, X: Matrix, y: Rows, train: Rows, n: int, rng: RandomState
    ) -> Constraints:
        if callable(self.kind):
            known = self.kind(X, y, train, n, rng)
            _refuse_leaks(known, train)
            return known
        seen = np.full(len(y), -1, dtype=np.int64)
        seen[train] = y[train]
        kind: Any = self.kind
        return Constraints.from_labels(seen, n, kind, random_state=rng)


@dataclass(frozen=True, eq=False)
class Draw:
    """What every method sees at one point of a learning curve.

    Attributes
    ----------
    train, test : ndarray of int
        Rows that constraints may mention, and rows that are scored.
    constraints : Constraints
        By row number.
    seed : int
        Seeds the methods.
    """

    train: Rows
    test: Rows
    constraints: Constraints
    seed: int


def _refuse_leaks(known: Constraints, train: Rows) -> None:
    ends = [known.must_link, known.cannot_link, known.relative]
    outside = np.setdiff1d(np.concatenate([rows.ravel() for rows in ends]), train)
    if len(outside):
        raise ValueError(
            f"the protocol's `kind` made constraints about row {outside[0]} (and "
            f"{len(outside) - 1} more), which is held back for the score; use only `rows`"
        )


def _number(*key: int) -> int:
    """A seed made of several numbers, each of which matters."""
    return int(np.random.SeedSequence(key).generate_state(1)[0] >> 1)


def _random(*key: int) -> np.random.RandomState:
    return np.random.RandomState(_number(*key))


# -------------------------------------------------------------------- by name

PROTOCOLS = {
    "eaton2005": Protocol(n_trials=50, n_folds=5),
    "basu2006": Protocol(n_trials=20, n_folds=2),
    "liu2007": Protocol(n_trials=5, n_folds=1, kind="balanced"),
    "liu2011": Protocol(n_trials=50, n_folds=1, kind="triplets"),
}


def as_protocol(given: Protocol | str | None) -> Protocol:
    """A protocol, the paper's of that name, or the default if None."""
    if given is None:
        return Protocol()
    if isinstance(given, Protocol):
        return given
    if isinstance(given, str) and given in PROTOCOLS:
        return PROTOCOLS[given]
    names = ", ".join(map(repr, PROTOCOLS))
    raise ValueError(f"protocol={given!r}: expected a Protocol, or one of {names}")
