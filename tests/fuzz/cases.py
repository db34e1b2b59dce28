"""Random cases for the fuzzer: models, data, constraints and mutated files, all from one seed."""

from __future__ import annotations

import inspect
from functools import cache

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from linkwise import Constraints, _methods
from tests.methods import instances

SCALES = (1e-6, 1.0, 1.0, 1.0, 1e6)
_PIECES = [b'"', b",", b"\n", b"\0", b"\xff", b"[", b"(", b":", b"nan", b"1e999", b"-1"]
# Options that every method of some kind has, beside the variants of `tests.methods`.
_OPTIONS = {
    "noise": {"noise": "auto"},
    "min_size": {"min_size": 2},
    "max_size": {"max_size": 0.7},
    "outliers": {"outliers": 2},
    "on_infeasible": {"on_infeasible": "relax"},
    "on_conflict": {"on_conflict": "drop"},
    "inference": {"inference": "belief_propagation"},
    "sampling": {"sampling": "points", "covariance_type": "diag"},
    "strength": {"strength": 2.0},
    "min_cluster_size": {"min_cluster_size": 3, "min_samples": 1},
}


@cache
def models() -> list[BaseEstimator]:
    """Every clusterer of the registry, with its variants and with options that it has."""
    found = [model for model in instances() if hasattr(model, "fit_predict")]
    for method in _methods.METHODS:
        known = inspect.signature(method.estimator).parameters
        for name, given in _OPTIONS.items():
            if name in known and method.family != "wrapper":
                found.append(method.estimator(**given))
    return found


def rows(rng: np.random.Generator):
    """Rows in groups, constant or repeated now and then, of either precision."""
    n, d, k = int(rng.integers(6, 40)), int(rng.integers(1, 6)), int(rng.integers(1, 5))
    group = rng.integers(0, k, n)
    X = rng.normal(size=(n, d)) + 4 * rng.normal(size=(k, d))[group]
    if rng.random() < 0.15:
        X[:, 0] = 1.0
    if rng.random() < 0.15:
        X = X[rng.integers(0, max(2, n // 3), n)]
    X = np.abs(X) * rng.choice(SCALES)  # divergences need positive numbers
    if rng.random() < 0.3:
        X = X.astype(np.float32)
    return X, group, min(k, n)


def links(rng: np.random.Generator, group: np.ndarray) -> Constraints:
    """Links from the groups, some of them wrong, with weights now and then."""
    pairs = rng.integers(0, len(group), (int(rng.integers(0, 25)), 2))
    pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0).reshape(-1, 2)
    same = (group[pairs[:, 0]] == group[pairs[:, 1]]) ^ (rng.random(len(pairs)) < 0.05)
    if rng.random() < 0.7:
        return Constraints(must_link=pairs[same], cannot_link=pairs[~same])
    weight = 10 ** rng.uniform(-2, 2, len(pairs))
    weighted = [(i, j, float(w)) for (i, j), w in zip(pairs.tolist(), weight, strict=True)]
    return Constraints(
        must_link=[pair for pair, kind in zip(weighted, same, strict=True) if kind],
        cannot_link=[pair for pair, kind in zip(weighted, same, strict=True) if not kind],
    )


def as_container(rng: np.random.Generator, X: np.ndarray, takes_sparse: bool):
    """The same rows as another container."""
    kind = rng.choice(["array", "fortran", "frame", "csr"])
    if kind == "csr" and takes_sparse:
        return sparse.csr_matrix(X)
    if kind == "frame":
        import pandas as pd

        return pd.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])])
    return np.asfortranarray(X) if kind == "fortran" else X


def mutated(rng: np.random.Generator, content: bytes) -> bytes:
    """Bytes of a file with some cut out, repeated, changed or inserted, or its end cut off."""
    data = bytearray(content)
    if rng.random() < 0.1:
        return bytes(data[: int(rng.integers(0, len(data) + 1))])
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(0, len(data) + 1))
        span = int(rng.integers(1, 20))
        what = rng.integers(4)
        if what == 0:
            del data[at : at + span]
        elif what == 1:
            data[at:at] = data[at : at + span]
        elif what == 2:
            data[at:at] = _PIECES[int(rng.integers(len(_PIECES)))]
        else:
            data[at : at + 1] = bytes([int(rng.integers(256))])
    return bytes(data)
