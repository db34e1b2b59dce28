"""Fits that go on after a crash: the state of a run in a file, written whole or not at all.

What is noted is small: centers, metrics, the clusters of constrained rows and the seed. Clusters
of all other rows follow from the centers they were assigned by, and are made again.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwise._atomic import atomic_write

from ._problem import Problem

State = dict[str, Any]  # of arrays, numbers, and such states

_EVERY = 5  # iterations between two notes
_PATIENCE = 30.0  # seconds after which one is due all the same
_PROBES = 16  # rows by which data is recognized
_FREE = ("callback", "checkpoint", "max_iter", "verbose", "random_state")  # may differ
_META = "meta"


class Checkpoint:
    """The file of one fit.

    Parameters
    ----------
    path : path
    estimator : BaseEstimator
        Whose parameters must be the same when the fit goes on.
    problem : Problem
        Which must be the same, too.
    """

    def __init__(self, path: Any, estimator: Any, problem: Problem):
        self.path = Path(path)
        if not self.path.parent.is_dir():
            raise ValueError(f"checkpoint {self.path}: there is no folder {self.path.parent}")
        self._facts: dict[str, Any] = {
            "method": type(estimator).__name__,
            "parameters": _parameters(estimator),
            "shape": [problem.rows.n, problem.rows.d, str(problem.rows.dtype)],
            "constraints": _digest(
                problem.known.must_link, problem.known.cannot_link,
                problem.known.must_link_weight, problem.known.cannot_link_weight,
                np.zeros(0) if problem.seeds is None else problem.seeds,
            ),
        }  # fmt: skip
        probes = np.unique(np.linspace(0, problem.rows.n - 1, _PROBES).astype(np.int64))
        rows = problem.rows
        rows.gather(probes)
        self._looks = np.concatenate([rows.take(probes) + rows.shift, rows.total()[None]])
        self._last, self._since = time.monotonic(), 0

    def load(self) -> State | None:
        """What was noted, or None if nothing was; refuses notes of another fit."""
        if not self.path.exists():
            return None
        try:
            with np.load(self.path, allow_pickle=False) as file:
                arrays = dict(file)
            meta = json.loads(str(arrays.pop(_META)))
            facts, looks = meta.pop("facts"), arrays.pop("looks")
        except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile) as error:
            raise ValueError(
                f"checkpoint {self.path}: not a file that a fit wrote ({error}); remove it, or "
                "name another"
            ) from None
        self._check(facts, looks)
        return _unpacked(meta, arrays)

    def _check(self, facts: dict[str, Any], looks: NDArray) -> None:
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
        elif facts["constraints"] != self._facts["constraints"]:
            what = "with other constraints or labels"
        elif not np.allclose(looks, self._looks, rtol=1e-5, atol=1e-12 * np.abs(looks).max()):
            what = "of other rows"
        if what:
            raise ValueError(
                f"checkpoint {self.path} is of another fit: {what}; remove it to start anew, or "
                "name another file"
            )

    def due(self) -> bool:
        """Whether it is time to note the state; asked once an iteration."""
        self._since += 1
        return self._since >= _EVERY or time.monotonic() - self._last >= _PATIENCE

    def save(self, state: State) -> None:
        """Note the state."""
        meta, arrays = _packed(state)
        meta["facts"] = self._facts
        with atomic_write(self.path) as file:
            every: dict[str, Any] = {**arrays, _META: np.array(json.dumps(meta))}
            np.savez(file, **every, looks=self._looks)
            file.flush()
            os.fsync(file.fileno())
        self._last, self._since = time.monotonic(), 0

    def remove(self) -> None:
        """The fit is done."""
        self.path.unlink(missing_ok=True)


def _parameters(estimator: Any) -> dict[str, str]:
    return {
        name: _digest(value) if isinstance(value, (np.ndarray, list, tuple)) else _word(value)
        for name, value in estimator.get_params(deep=False).items()
        if name not in _FREE
    }


def _word(value: Any) -> str:
    return f"{value.__module__}.{value.__qualname__}" if callable(value) else repr(value)


def _digest(*arrays: Any) -> str:
    found = hashlib.sha256()
    for array in arrays:
        array = np.ascontiguousarray(array)
        found.update(f"{array.dtype}{array.shape}".encode())
        found.update(array.tobytes())
    return found.hexdigest()


def _packed(state: State, prefix: str = "") -> tuple[dict[str, Any], dict[str, NDArray]]:
    """Numbers and arrays of a state apart; states inside it by names with dots."""
    meta: dict[str, Any] = {}
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


def _unpacked(meta: dict[str, Any], arrays: dict[str, NDArray]) -> State:
    state: State = {}
    for name, value in {**meta, **arrays}.items():
        *outer, last = name.split(".")
        place = state
        for part in outer:
            place = place.setdefault(part, {})
        place[last] = value
    return state


def seed_state(rng: Any) -> State:
    """The state of a generator of random numbers."""
    state = rng.get_state(legacy=False)
    return {
        "generator": state["bit_generator"], "key": np.asarray(state["state"]["key"]),
        "pos": int(state["state"]["pos"]), "has_gauss": int(state["has_gauss"]),
        "gauss": float(state["gauss"]),
    }  # fmt: skip


def restore_seed(rng: Any, state: State) -> None:
    """Have a generator go on from there."""
    rng.set_state({
        "bit_generator": state["generator"],
        "state": {"key": state["key"], "pos": state["pos"]},
        "has_gauss": state["has_gauss"], "gauss": state["gauss"],
    })  # fmt: skip
