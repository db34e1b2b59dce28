"""Is this the same run? Digests of data and parameters, for every file that work resumes from.

Entry points: `digest` (of any arrays and values), `data_arrays` (the arrays that tell data apart),
`parameter_text`, and `another_run`, the error for a file that belongs to other work. Used by fits
(`kmeans/solver/_checkpoint.py`), searches, learning curves and labelling sessions.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import joblib
import numpy as np
from scipy import sparse


def digest(*parts: object) -> str:
    """Return a short text that changes when a part does; arrays count with type and shape."""
    # joblib's hash depends on the strides of an array.
    plain = [np.ascontiguousarray(p) if isinstance(p, np.ndarray) else p for p in parts]
    return str(joblib.hash(plain))


def data_arrays(X: Any) -> list[Any]:
    """Return arrays whose digest does not depend on the memory layout of `X`.

    A sparse matrix is summed and sorted first: the same values can be stored in many ways.
    """
    if not sparse.issparse(X):
        return [np.asarray(X)]
    X = X.tocsr(copy=True)
    X.sum_duplicates()
    return [X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64), X.shape]


def parameter_text(value: Any) -> str:
    """Return a parameter as text that is the same in the next process."""
    if hasattr(value, "get_params"):
        return type(value).__name__
    if isinstance(value, np.ndarray):
        return f"array {digest(value)}"
    return getattr(value, "__qualname__", None) or repr(value)


def another_run(path: Path | str, how: str, what: str = "run") -> ValueError:
    """Make the error for a file of other work: which file, and how that work differs."""
    return ValueError(
        f"{path} is of another {what}: {how}; name another file, or delete this one to start anew"
    )
