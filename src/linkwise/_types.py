"""Types that several packages share.

SciPy and scikit-learn ship no type information, so a checker takes `csr_matrix` for an unknown
type; `is_sparse` tells it (and the reader) in which branch a matrix is sparse.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Protocol, Self, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

Matrix: TypeAlias = NDArray | sparse.csr_matrix  # validated rows: dense in C order, or CSR
MatrixLike: TypeAlias = ArrayLike | sparse.spmatrix  # also frames, Dask collections and `Blocks`
Labels = NDArray[np.int32]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
JsonDict = dict[str, Any]  # values that `json.dumps` takes
Seed: TypeAlias = int | np.random.RandomState | None  # `random_state` as users give it
PathLike = str | os.PathLike[str]
RandomState = np.random.RandomState
Names = Sequence[Hashable]
SampleIds = Names | NDArray | Mapping[Hashable, int] | None  # id of each row, or rows of some ids
Metric = str | Callable[[Floats, Floats], float]
Numbers = int | Iterable[int]
Init: TypeAlias = str | ArrayLike | Callable[[Matrix, int, RandomState], ArrayLike]
FitCallback = Callable[[int, int, float], None]  # run, iteration, objective
LabelsLike = ArrayLike | Mapping[Hashable, Hashable]  # one label per row, or per id


class Estimator(Protocol):
    """A scikit-learn estimator that is fitted to rows and constraints."""

    labels_: Labels

    def get_params(self, deep: bool = True) -> JsonDict:
        """Return the parameters by name."""

    def set_params(self, **params: object) -> Self:
        """Set parameters by name."""

    def fit(self, X: MatrixLike, y: object = None, **metadata: object) -> Self:
        """Fit to rows."""


def is_sparse(X: object) -> TypeGuard[sparse.csr_matrix]:
    """Whether X is a sparse matrix; tells mypy too."""
    return not isinstance(X, np.ndarray) and bool(sparse.issparse(X))  # SciPy's test is slow
