"""Informativeness and coherence of a set of constraints.

References
----------
.. [1] I. Davidson, K. L. Wagstaff, S. Basu. Measuring constraint-set utility for partitional
   clustering algorithms. PKDD 2006.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from linkwise._types import Estimator, Matrix, MatrixLike, SampleIds, is_sparse

from ._arguments import row_names
from ._links import Rows

if TYPE_CHECKING:
    from ._constraints import Constraints

_CELLS = 4_000_000  # numbers of a block of differences: 32 MB
_MOST_PAIRS = 1_000_000  # the standard error of a share in so many draws is at most 0.0005


def informativeness(
    given: Constraints, X: MatrixLike, clusterer: Estimator, sample_ids: SampleIds
) -> float:
    """See `Constraints.informativeness`."""
    if not hasattr(clusterer, "fit_predict"):
        raise TypeError(f"{type(clusterer).__name__} is not a clusterer: it has no fit_predict")
    ids = row_names(X) if sample_ids is None else sample_ids
    from sklearn.base import clone  # here: files are read and checked without it

    labels = np.asarray(clone(clusterer).fit_predict(X))
    return 1.0 - given.satisfied(labels, sample_ids=ids).share


def coherence(given: Constraints, X: MatrixLike, sample_ids: SampleIds) -> float:
    """See `Constraints.coherence`."""
    ids = row_names(X) if sample_ids is None else sample_ids
    from sklearn.utils import check_array

    X = check_array(X, dtype=np.float64, accept_sparse="csr")
    rows = given.to_rows(X.shape[0], ids)
    n_must, n_cannot = rows.n_must_link, rows.n_cannot_link
    n_pairs = n_must * n_cannot
    if not n_pairs:
        return float("nan")
    if n_pairs <= _MOST_PAIRS:
        chosen = np.arange(n_pairs)
    else:
        chosen = np.random.RandomState(0).randint(n_pairs, size=_MOST_PAIRS)
    coherent, size = 0, max(1, _CELLS // X.shape[1])
    for start in range(0, len(chosen), size):
        m, c = np.divmod(chosen[start : start + size], n_cannot)
        must, cannot = rows._must.ends[m], rows._cannot.ends[c]
        lengths, on_cannot, on_must = _products(X, must, cannot)
        at_odds = _overlap(lengths[0], on_cannot) | _overlap(lengths[1], on_must)
        coherent += int((~at_odds).sum())
    return coherent / len(chosen)


def _products(X: Matrix, must: Rows, cannot: Rows) -> tuple[NDArray, NDArray, NDArray]:
    """Squared lengths of cannot- and must-links, and where the other's ends project on each."""
    p, q = (X[ends] for ends in must.T)
    o, e = (X[ends] for ends in cannot.T)
    u, v = q - p, e - o
    lengths = np.stack([_rowwise(v, v), _rowwise(u, u)])
    on_cannot = np.stack([_rowwise(p - o, v), _rowwise(q - o, v)])
    on_must = np.stack([_rowwise(o - p, u), _rowwise(e - p, u)])
    return lengths, on_cannot, on_must


def _rowwise(a: Matrix, b: Matrix) -> NDArray:
    """Inner product of each row of a with the same row of b."""
    if is_sparse(a):
        return np.asarray(a.multiply(b).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", a, b)


def _overlap(length: NDArray, ends: NDArray) -> NDArray[np.bool_]:
    """Whether projected ends, on a scale where the segment is [0, length], overlap it.

    Touching in a point is no overlap, and neither is a projection of length zero (perpendicular
    segments).
    """
    low, high = ends.min(axis=0), ends.max(axis=0)
    shared = np.minimum(high, length) - np.maximum(low, 0.0)
    # Rounding must not turn perpendicular segments into overlapping ones.
    tiny = 1e-10 * np.maximum(length, np.abs(ends).max(axis=0))
    return shared > tiny
