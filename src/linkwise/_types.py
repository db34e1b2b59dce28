"""Types that several packages share."""

from __future__ import annotations

import os
from typing import Any, Protocol, Self, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

# Rows as algorithms take them, and as users give them (a DataFrame is array-like).
Matrix: TypeAlias = NDArray[np.float64] | sparse.csr_matrix
MatrixLike: TypeAlias = ArrayLike | sparse.spmatrix
Labels = NDArray[np.int32]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
JsonDict = dict[str, Any]  # values that `json.dumps` takes
PathLike = str | os.PathLike[str]


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
    return sparse.issparse(X)
