"""What a set of constraints is worth: informativeness and coherence.

References
----------
.. [1] I. Davidson, K. L. Wagstaff, S. Basu. Measuring constraint-set utility for partitional
   clustering algorithms. PKDD 2006.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_array, check_random_state

from ._builder import row_names

if TYPE_CHECKING:
    from ._constraints import Constraints

_BLOCK = 65_536


def informativeness(given: Constraints, X: Any, clusterer: Any, sample_ids: Any) -> float:
    """See `Constraints.informativeness`."""
    if not hasattr(clusterer, "fit_predict"):
        raise TypeError(f"{type(clusterer).__name__} is not a clusterer: it has no fit_predict")
    ids = row_names(X) if sample_ids is None else sample_ids
    labels = np.asarray(clone(clusterer).fit_predict(X))
    return 1.0 - given.satisfied(labels, sample_ids=ids).share


def coherence(
    given: Constraints, X: Any, sample_ids: Any, max_pairs: int, random_state: Any
) -> float:
    """See `Constraints.coherence`."""
    ids = row_names(X) if sample_ids is None else sample_ids
    X = check_array(X, dtype=np.float64)
    rows = given.to_rows(len(X), ids)
    must, cannot = rows._must.ends, rows._cannot.ends
    n_pairs = len(must) * len(cannot)
    if not n_pairs:
        return float("nan")
    if n_pairs <= max_pairs:
        chosen = np.arange(n_pairs)
    else:
        chosen = check_random_state(random_state).randint(n_pairs, size=max_pairs)
    coherent = 0
    for start in range(0, len(chosen), _BLOCK):
        m, c = np.divmod(chosen[start : start + _BLOCK], len(cannot))
        a, b = X[must[m]].transpose(1, 0, 2), X[cannot[c]].transpose(1, 0, 2)
        coherent += int((~_overlap(a, b) & ~_overlap(b, a)).sum())
    return coherent / len(chosen)


def _overlap(first: NDArray, second: NDArray) -> NDArray[np.bool_]:
    """Whether segments `first`, projected on the lines of `second`, overlap those segments.

    Both are arrays of shape (2, n, n_features): start and end points. Touching in a point is no
    overlap, and neither is a projection of length zero (perpendicular segments).
    """
    origin, direction = second[0], second[1] - second[0]
    length = (direction**2).sum(axis=1)  # on the scale of the projections below
    ends = ((first - origin) * direction).sum(axis=2)
    low, high = ends.min(axis=0), ends.max(axis=0)
    shared = np.minimum(high, length) - np.maximum(low, 0.0)
    # Rounding must not turn perpendicular segments into overlapping ones.
    tiny = 1e-12 * np.maximum(length, np.abs(ends).max(axis=0))
    return shared > tiny
