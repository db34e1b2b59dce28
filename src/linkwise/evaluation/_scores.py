"""How good a clustering is: agreement with the truth, and with what was known."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from linkwise._types import JsonDict, SampleIds
from linkwise.constraints import as_constraints

if TYPE_CHECKING:
    from linkwise._validation import Knowable


@dataclass(frozen=True)
class Scores:
    """Scores of a clustering; see `score`.

    Attributes
    ----------
    n_rows : int
        Rows that were scored.
    pair_precision, pair_recall, pair_f : float
        Over pairs of rows.
    ari : float
        Adjusted Rand index.
    nmi : float
        Mutual information divided by the arithmetic mean of the entropies.
    rand : float
        Rand index.
    acc : float
        Accuracy: share of the rows in the cluster matched to their class, for the one-to-one
        matching of clusters and classes that maximizes it (Hungarian algorithm).
    satisfied : float or None
        Share of the constraints satisfied; None without constraints among the rows scored.
    satisfied_weight : float or None
        Share of the constraints' weight satisfied; None without constraints among the rows scored.

    Examples
    --------
    >>> from linkwise.evaluation import score
    >>> found = score([0, 0, 1, 1], [1, 1, 0, 0])
    >>> found.ari, found.n_rows
    (1.0, 4)
    """

    n_rows: int
    pair_precision: float
    pair_recall: float
    pair_f: float
    ari: float
    nmi: float
    rand: float
    acc: float
    satisfied: float | None = None
    satisfied_weight: float | None = None

    def to_dict(self) -> JsonDict:
        """The scores by name; those not asked for, or of no constraint at all, are left out."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def score(
    labels_true: ArrayLike,
    labels_pred: ArrayLike,
    *,
    rows: ArrayLike | None = None,
    constraints: Knowable = None,
    sample_ids: SampleIds = None,
) -> Scores:
    """Compare a clustering with the truth, and with constraints.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_rows,)
        The truth and the clustering. Names of clusters do not matter.
    rows : array-like of int or bool, default=None
        Score only these rows (a test fold), each given once. Constraints count when all their
        rows are among them.
    constraints : Constraints, DataFrame or path, default=None
        If given, the share of them that is satisfied is added, unless none counts.
    sample_ids : sequence of hashable, default=None
        Id of each row, if the constraints are on ids.

    Returns
    -------
    Scores

    Examples
    --------
    >>> from linkwise.evaluation import score
    >>> score([0, 0, 1, 1], [1, 1, 0, 0]).ari
    1.0
    """
    truth, found = _restricted(labels_true, labels_pred, rows)
    counts = _counts(truth, found)
    pairs = _pairs(counts)
    together = pairs[1, 1]
    precision = _share(together, together + pairs[0, 1])
    recall = _share(together, together + pairs[1, 0])
    satisfied = satisfied_weight = None
    if constraints is not None:
        clusters = np.asarray(labels_pred)
        known = as_constraints(constraints).to_rows(len(clusters), sample_ids)
        if rows is not None:
            known = known.restrict(_positions(rows, len(clusters)).tolist())
        if known:  # of no constraints there is no share; 1 would look like a success
            given = known.satisfied(clusters)
            satisfied, satisfied_weight = given.share, given.weight_share
    return Scores(
        n_rows=len(truth),
        pair_precision=precision,
        pair_recall=recall,
        pair_f=2 * precision * recall / (precision + recall) if precision + recall else 0.0,
        ari=_ari(pairs),
        nmi=_nmi(counts),
        rand=_share(pairs[0, 0] + pairs[1, 1], pairs.sum()),
        acc=float(counts[linear_sum_assignment(counts, maximize=True)].sum() / counts.sum()),
        satisfied=satisfied,
        satisfied_weight=satisfied_weight,
    )


def _restricted(
    labels_true: ArrayLike, labels_pred: ArrayLike, rows: ArrayLike | None
) -> tuple[NDArray, NDArray]:
    truth, found = np.asarray(labels_true), np.asarray(labels_pred)
    if truth.ndim != 1 or found.ndim != 1:
        raise ValueError(f"labels must be one-dimensional, not {truth.shape} and {found.shape}")
    if len(truth) != len(found):
        raise ValueError(
            f"{len(truth)} true labels but {len(found)} clusters; there must be one of each per row"
        )
    if rows is not None:
        chosen = _positions(rows, len(truth))
        truth, found = truth[chosen], found[chosen]
    if not len(truth):
        raise ValueError("no rows to score")
    return truth, found


def _positions(rows: ArrayLike, n_rows: int) -> NDArray[np.int64]:
    """Row numbers out of row numbers or a mask."""
    chosen = np.asarray(rows)
    if chosen.ndim != 1:
        raise ValueError(f"`rows` must be one-dimensional, not of shape {chosen.shape}")
    if chosen.dtype == bool:
        if len(chosen) != n_rows:
            raise ValueError(f"the mask `rows` has {len(chosen)} entries for {n_rows} rows")
        return np.flatnonzero(chosen)
    if not len(chosen):
        return np.zeros(0, dtype=np.int64)
    if chosen.dtype.kind not in "iu":
        raise ValueError(
            f"`rows` must hold row numbers or be a mask of True and False, not {chosen.dtype}"
        )
    _check_positions(chosen, n_rows)
    return chosen.astype(np.int64)


def _check_positions(chosen: NDArray, n_rows: int) -> None:
    """Refuse row numbers that no row has, and those given twice, which would count twice."""
    outside = chosen[(chosen < 0) | (chosen >= n_rows)]
    if len(outside):
        more = f" (and {len(outside) - 1:,} more)" if len(outside) > 1 else ""
        raise ValueError(
            f"`rows`: row {outside[0]} is out of range{more}; there are rows 0 to {n_rows - 1}"
        )
    values, times = np.unique(chosen, return_counts=True)
    again = values[times > 1]
    if len(again):
        more = f" (and {len(again) - 1:,} more)" if len(again) > 1 else ""
        raise ValueError(
            f"`rows`: row {again[0]} is given more than once{more}; give each row once"
        )


# All scores follow from how many rows of each class are in each cluster. scikit-learn counts
# again for each and checks its input each time, which takes longer than clustering a few hundred
# rows.


def _counts(truth: NDArray, found: NDArray) -> NDArray[np.int64]:
    """Rows of each class in each cluster."""
    _, classes = np.unique(truth, return_inverse=True)
    _, clusters = np.unique(found, return_inverse=True)
    shape = (int(classes.max()) + 1, int(clusters.max()) + 1)
    flat = classes.reshape(-1) * shape[1] + clusters.reshape(-1)
    return np.bincount(flat, minlength=shape[0] * shape[1]).reshape(shape).astype(np.int64)


def _pairs(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Ordered pairs of rows: apart/together in the truth by apart/together in the clustering."""
    n = counts.sum()
    both = (counts**2).sum()
    truth, found = (counts.sum(axis=1) ** 2).sum(), (counts.sum(axis=0) ** 2).sum()
    return np.array([[n**2 - truth - found + both, found - both], [truth - both, both - n]])


def _ari(pairs: NDArray[np.int64]) -> float:
    """Adjusted Rand index [Hubert and Arabie 1985]; in Python's integers, which do not overflow."""
    (tn, fp), (fn, tp) = pairs.tolist()
    if fn == 0 and fp == 0:
        return 1.0
    return 2.0 * (tp * tn - fn * fp) / ((tp + fn) * (fn + tn) + (tp + fp) * (fp + tn))


def _nmi(counts: NDArray[np.int64]) -> float:
    """Mutual information by the mean of the entropies; 1 where both have a single group."""
    if counts.shape == (1, 1):
        return 1.0
    joint = counts / counts.sum()
    truth, found = joint.sum(axis=1), joint.sum(axis=0)
    there = joint > 0
    expected = np.outer(truth, found)[there]
    shared = float((joint[there] * np.log(joint[there] / expected)).sum())
    entropies = -float((truth * np.log(truth)).sum() + (found * np.log(found)).sum())
    return min(max(2.0 * shared / entropies, 0.0), 1.0)


def _share(part: float, whole: float) -> float:
    """A share; 1 if there is nothing to count."""
    return float(part / whole) if whole else 1.0
