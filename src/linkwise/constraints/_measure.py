"""What a set of constraints is worth: informativeness and coherence.

References
----------
.. [1] I. Davidson, K. L. Wagstaff, S. Basu. Measuring constraint-set utility for partitional
   clustering algorithms. PKDD 2006.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_array, check_random_state

from linkwise._types import Estimator, Matrix, MatrixLike, SampleIds, Seed, is_sparse

from ._labels import row_names
from ._links import Rows, number_nodes

if TYPE_CHECKING:
    from ._constraints import Constraints

_BLOCK = 65_536
_GRAM_ROWS = 2000
_CELLS = 4_000_000


def informativeness(
    given: Constraints, X: MatrixLike, clusterer: Estimator, sample_ids: SampleIds
) -> float:
    """See `Constraints.informativeness`."""
    if not hasattr(clusterer, "fit_predict"):
        raise TypeError(f"{type(clusterer).__name__} is not a clusterer: it has no fit_predict")
    ids = row_names(X) if sample_ids is None else sample_ids
    labels = np.asarray(clone(clusterer).fit_predict(X))
    return 1.0 - given.satisfied(labels, sample_ids=ids).share


def coherence(
    given: Constraints, X: MatrixLike, sample_ids: SampleIds, max_pairs: int, random_state: Seed
) -> float:
    """See `Constraints.coherence`."""
    ids = row_names(X) if sample_ids is None else sample_ids
    X = check_array(X, dtype=np.float64, accept_sparse="csr")
    rows = given.to_rows(X.shape[0], ids)
    n_must, n_cannot = rows.n_must_link, rows.n_cannot_link
    n_pairs = n_must * n_cannot
    if not n_pairs:
        return float("nan")
    if n_pairs <= max_pairs:
        chosen = np.arange(n_pairs)
    else:
        chosen = check_random_state(random_state).randint(n_pairs, size=max_pairs)
    coherent = 0
    for start in range(0, len(chosen), _BLOCK):
        m, c = np.divmod(chosen[start : start + _BLOCK], n_cannot)
        must, cannot = rows._must.ends[m], rows._cannot.ends[c]
        lengths, on_cannot, on_must = _products(X, must, cannot)
        at_odds = _overlap(lengths[0], on_cannot) | _overlap(lengths[1], on_must)
        coherent += int((~at_odds).sum())
    return coherent / len(chosen)


def _products(X: Matrix, must: Rows, cannot: Rows) -> tuple[NDArray, NDArray, NDArray]:
    """Squared lengths of cannot- and must-links, and where the other's ends project on each.

    With segments (p, q) and (o, e): (p - o).(e - o) and the like, from the inner products of the
    rows involved. Those are few, so that neither many features nor sparse data cost much.
    """
    nodes, (must, cannot) = number_nodes(must, cannot)
    touched = X[nodes]
    if not is_sparse(touched):
        touched = touched - touched.mean(axis=0)  # keeps products small; projections stay
    (p, q), (o, e) = must.T, cannot.T
    if len(nodes) <= _GRAM_ROWS:
        gram = touched @ touched.T
        gram = gram.toarray() if is_sparse(gram) else gram

        def inner(a: Rows, b: Rows) -> NDArray:
            return gram[a, b]
    else:

        def inner(a: Rows, b: Rows) -> NDArray:
            return _rowwise(touched, a, b)

    po, pe, qo, qe = inner(p, o), inner(p, e), inner(q, o), inner(q, e)
    pp, qq, oo, ee, pq, oe = (
        inner(a, b) for a, b in ((p, p), (q, q), (o, o), (e, e), (p, q), (o, e))
    )
    on_cannot = np.stack([pe - po - oe + oo, qe - qo - oe + oo])
    on_must = np.stack([qo - po - pq + pp, qe - pe - pq + pp])
    lengths = np.stack([ee - 2 * oe + oo, qq - 2 * pq + pp])
    return lengths, on_cannot, on_must


def _rowwise(X: Matrix, a: Rows, b: Rows) -> NDArray:
    """Inner products of rows a[t] and b[t], some at a time."""
    size = max(1, _CELLS // X.shape[1])
    parts = []
    for start in range(0, len(a), size):
        left, right = X[a[start : start + size]], X[b[start : start + size]]
        if is_sparse(left):
            parts.append(np.asarray(left.multiply(right).sum(axis=1)).ravel())
        else:
            parts.append(np.einsum("ij,ij->i", left, right))
    return np.concatenate(parts)


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
