"""Fits that can be resumed after a crash: the state of a run in a file, written atomically.

The file has centers, metrics, the clusters of constrained rows and the seed after the last
iteration. A fit starts again from these; the clusters of all other rows follow from the centers.
"""

from __future__ import annotations

import json
import os
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from linkwise._fingerprint import another_run, digest, parameter_text
from linkwise._types import PathLike, RandomState
from linkwise.tables import atomic_write

from ._problem import Problem, RunState

_PROBES = 16  # rows that identify the data, beside the variance of each feature
_FREE = ("callback", "checkpoint", "max_iter", "random_state")  # may differ on resuming
_META = "meta"


class FitCheckpoint:
    """The checkpoint file of one fit.

    Parameters
    ----------
    path : path
    estimator : BaseEstimator
        Its parameters must be the same when the fit is resumed.
    problem : Problem
        Must be the same, too.
    """

    def __init__(self, path: PathLike, estimator: BaseEstimator, problem: Problem):
        self.path = Path(path)
        if not self.path.parent.is_dir():
            raise ValueError(f"checkpoint {self.path}: no folder {self.path.parent}")
        self._facts: RunState = {
            "method": type(estimator).__name__,
            "parameters": _parameters(estimator),
            "seed": _seed_text(estimator.random_state),
            "shape": [problem.rows.n, problem.rows.d, str(problem.rows.dtype)],
            "constraints": digest(
                problem.known.must_link, problem.known.cannot_link,
                problem.known.must_link_weight, problem.known.cannot_link_weight,
                np.zeros(0) if problem.seeds is None else problem.seeds,
            ),
        }  # fmt: skip
        probes = np.unique(np.linspace(0, problem.rows.n - 1, _PROBES).astype(np.int64))
        rows = problem.rows
        rows.prefetch(probes)
        self._probes = np.concatenate([rows.take(probes) + rows.shift, rows.total()[None]])
        self._failed = False

    def load(self) -> RunState | None:
        """The saved state, or None if there is none; raises if it is of another fit."""
        if not self.path.exists():
            return None
        try:
            with np.load(self.path, allow_pickle=False) as file:
                arrays = dict(file)
            meta = json.loads(str(arrays.pop(_META)))
            facts, probes = meta.pop("facts"), arrays.pop("probes")
        except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile) as error:
            raise ValueError(
                f"checkpoint {self.path}: not a checkpoint file ({error}); remove it, or choose "
                "another path"
            ) from None
        self._check(facts, probes)
        return _unpacked(meta, arrays)

    def _check(self, facts: RunState, probes: NDArray) -> None:
        what = ""
        if facts["method"] != self._facts["method"]:
            what = f"by {facts['method']}"
        elif facts["shape"] != self._facts["shape"]:
            n, d, dtype = facts["shape"]
            what = f"of {n:,} x {d:,} {dtype} rows"
        elif facts["parameters"] != self._facts["parameters"]:
            theirs, ours = facts["parameters"], self._facts["parameters"]
            differ = [name for name in {**theirs, **ours} if theirs.get(name) != ours.get(name)]
            what = f"with other parameters ({', '.join(sorted(differ))})"
        elif None not in (facts.get("seed"), self._facts["seed"]) and (
            facts["seed"] != self._facts["seed"]
        ):
            what = f"with the seed {facts['seed']}, not {self._facts['seed']}"
        elif facts["constraints"] != self._facts["constraints"]:
            what = "with other constraints or labels"
        elif not np.allclose(probes, self._probes, rtol=1e-5, atol=1e-12 * np.abs(probes).max()):
            what = "of other rows"
        if what:
            raise another_run(f"checkpoint {self.path}", what, "fit")

    def save(self, state: RunState) -> None:
        """Save the state; if that fails, the fit continues with one warning."""
        try:
            self._write(state)
        except OSError as error:
            if not self._failed:
                what = f"{error.strerror or error}; the fit continues, but cannot be resumed"
                warnings.warn(f"checkpoint {self.path}: {what}", UserWarning, stacklevel=2)
            self._failed = True

    def _write(self, state: RunState) -> None:
        meta, arrays = _packed(state)
        meta["facts"] = self._facts
        with atomic_write(self.path) as file:
            every: dict[str, Any] = {**arrays, _META: np.array(json.dumps(meta))}
            np.savez(file, **every, probes=self._probes)
            file.flush()
            os.fsync(file.fileno())

    def remove(self) -> None:
        """Delete the file: the fit is complete. Within `kept_until_end`, at its end."""
        waiting = _waiting.get()
        if waiting is None:
            self.path.unlink(missing_ok=True)
        else:
            waiting.append(self.path)


# Files that are deleted when `kept_until_end` ends.
_waiting: ContextVar[list[Path] | None] = ContextVar("waiting", default=None)


@contextmanager
def kept_until_end() -> Iterator[None]:
    """Keep checkpoints of complete fits until the block ends; if it fails, they stay.

    For callers that write the result to a disk, which may be full.
    """
    waiting: list[Path] = []
    token = _waiting.set(waiting)
    try:
        yield
        for path in waiting:
            path.unlink(missing_ok=True)
    finally:
        _waiting.reset(token)


def _seed_text(seed: object) -> str | None:
    """A seed that can be compared; None for generators and for no seed."""
    return str(seed) if isinstance(seed, Integral) else None


def _parameters(estimator: BaseEstimator) -> dict[str, str]:
    return {
        name: parameter_text(value)
        for name, value in estimator.get_params(deep=False).items()
        if name not in _FREE
    }


def _packed(state: RunState, prefix: str = "") -> tuple[RunState, dict[str, NDArray]]:
    """A state as numbers and arrays; names of nested states are joined by dots."""
    meta: RunState = {}
    arrays: dict[str, NDArray] = {}
    for name, value in state.items():
        if isinstance(value, dict):
            more, inside = _packed(value, f"{prefix}{name}.")
            meta.update(more)
            arrays.update(inside)
        elif isinstance(value, np.ndarray):
            arrays[prefix + name] = value
        else:
            meta[prefix + name] = value
    return meta, arrays


def _unpacked(meta: RunState, arrays: dict[str, NDArray]) -> RunState:
    state: RunState = {}
    for name, value in {**meta, **arrays}.items():
        *outer, last = name.split(".")
        place = state
        for part in outer:
            place = place.setdefault(part, {})
        place[last] = value
    return state


def seed_state(rng: RandomState) -> RunState:
    """The state of a random number generator."""
    state = rng.get_state(legacy=False)
    return {
        "generator": state["bit_generator"], "key": np.asarray(state["state"]["key"]),
        "pos": int(state["state"]["pos"]), "has_gauss": int(state["has_gauss"]),
        "gauss": float(state["gauss"]),
    }  # fmt: skip


def restore_seed(rng: RandomState, state: RunState) -> None:
    """Set the state of a random number generator."""
    rng.set_state({
        "bit_generator": state["generator"],
        "state": {"key": state["key"], "pos": state["pos"]},
        "has_gauss": state["has_gauss"], "gauss": state["gauss"],
    })  # fmt: skip
