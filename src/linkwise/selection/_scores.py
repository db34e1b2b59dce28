"""How candidates did: held-out links, stability, standard errors, and who is tied with the best.

All scores are functions of per-exam figures, so that leaving out one exam at a time (the jackknife)
gives the standard error of a score and of the difference of two scores.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import cohen_kappa_score

from ._exams import Exam

Floats = NDArray[np.float64]

CLEARLY = 2.5  # standard errors; pairs share rows, so that they are fewer than they look


def link_counts(exam: Exam, together: NDArray[np.bool_]) -> Floats:
    """Weights of must-links together and apart, and of cannot-links together and apart."""
    assert exam.must is not None
    cell = 2 * ~exam.must + ~together
    return np.asarray(np.bincount(cell, exam.weight, minlength=4), dtype=np.float64)


def right_answers(
    exams: Sequence[Exam], answers: Sequence[Sequence[NDArray[np.bool_]]]
) -> tuple[NDArray[np.bool_], Floats]:
    """Which of the pairs asked so far each candidate has right, and what each pair weighs.

    Must-links together weigh as much as cannot-links together.

    Returns
    -------
    right : ndarray of shape (n_candidates, n_pairs)
    weight : ndarray of shape (n_pairs,)
    """
    exams = exams[: len(answers[0])]
    must = np.concatenate([exam.must for exam in exams])
    weight = np.concatenate([exam.weight for exam in exams])
    for kind in (must, ~must):
        weight[kind] /= weight[kind].sum() or 1.0
    return np.array([np.concatenate(own) == must for own in answers]), weight


def clearly_worse(right: NDArray[np.bool_], weight: Floats) -> NDArray[np.bool_]:
    """Whose answers lag behind those of the first by more than some standard errors, pair by pair.

    Parameters
    ----------
    right : ndarray of shape (n_candidates, n_pairs)
        The best candidate first.
    weight : ndarray of shape (n_pairs,)
    """
    lag = (right[0].astype(float) - right) * weight
    return lag.sum(axis=1) > CLEARLY * np.sqrt((lag**2).sum(axis=1))


def mean_f(counts: Floats) -> Floats:
    """Mean of the F of must-links and the F of cannot-links.

    Parameters
    ----------
    counts : ndarray of shape (..., 4)
        As in `link_counts`. A kind that does not occur and is not answered counts as right.
    """
    must, broken, joined, apart = np.moveaxis(counts, -1, 0)
    wrong = broken + joined
    return (_f(must, wrong) + _f(apart, wrong)) / 2


def _f(right: Floats, wrong: Floats) -> Floats:
    whole = 2 * right + wrong
    return np.where(whole > 0, 2 * right / np.where(whole > 0, whole, 1.0), 1.0)


def without_each(counts: Floats) -> Floats:
    """Scores of shape (n_exams,) with one exam left out at a time; counts are pooled."""
    if len(counts) < 2:
        return mean_f(counts)
    return mean_f(counts.sum(axis=0) - counts)


def standard_error(left_out: Floats) -> float:
    """Jackknife standard error out of scores with one exam left out at a time."""
    n = len(left_out)
    if n < 2:
        return float("nan")
    return float(np.sqrt((n - 1) / n * ((left_out - left_out.mean()) ** 2).sum()))


def stability(answers: Sequence[NDArray[np.bool_]]) -> Floats:
    """Mean chance-corrected agreement (kappa) of each round's answers with the other rounds'."""
    n = len(answers)
    agree = np.ones((n, n))
    for a in range(n):
        for b in range(a):
            agree[a, b] = agree[b, a] = _kappa(answers[a], answers[b])
    return (agree.sum(axis=1) - 1) / max(n - 1, 1)


def _kappa(a: NDArray[np.bool_], b: NDArray[np.bool_]) -> float:
    if (a.all() and b.all()) or not (a.any() or b.any()):
        return 1.0  # the same, but without a choice kappa is 0 / 0
    return float(cohen_kappa_score(a, b))


def leave_one_out_means(values: Floats) -> Floats:
    """Means of shape (n,) with one value left out at a time."""
    if len(values) < 2:
        return values
    return (values.sum() - values) / (len(values) - 1)


def tied(scores: Floats, left_out: Floats) -> NDArray[np.bool_]:
    """Which candidates are within one standard error of the best.

    The standard error is that of the difference, exam by exam: an easy fold is easy for all.

    Parameters
    ----------
    scores : ndarray of shape (n_candidates,)
        NaN for those that failed.
    left_out : ndarray of shape (n_candidates, n_exams)
    """
    best = int(np.nanargmax(scores))
    gap = scores[best] - scores
    error = np.array([standard_error(left_out[best] - other) for other in left_out])
    return np.where(np.isnan(gap), False, gap <= np.where(np.isnan(error), 0.0, error))
