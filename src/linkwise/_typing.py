"""Types that several packages share.

SciPy and scikit-learn ship no type information, so a checker takes `csr_matrix` for an unknown
type; `is_csr` tells it (and the reader) in which branch a matrix is sparse.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix, issparse

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Labels = NDArray[np.int32]
Bools = NDArray[np.bool_]

Matrix: TypeAlias = NDArray | csr_matrix  # validated rows: dense in C order, or CSR
MatrixLike: TypeAlias = ArrayLike | csr_matrix  # also Dask collections and `Blocks`

RandomState = np.random.RandomState
Seed: TypeAlias = int | RandomState | None
FilePath: TypeAlias = str | os.PathLike[str]
Init: TypeAlias = str | ArrayLike | Callable[[Matrix, int, RandomState], ArrayLike]
FitCallback = Callable[[int, int, float], None]  # run, iteration, objective


def is_csr(X: object) -> TypeGuard[csr_matrix]:
    """Whether rows are sparse."""
    return bool(issparse(X))
