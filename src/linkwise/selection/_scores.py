"""Scores of candidates: held-out links, internal criteria, standard errors, ties.

All scores are functions of per-fold figures, so that leaving out one fold at a time (the jackknife)
gives the standard error of a score and of the difference of two scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._splits import ConstraintFold

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Estimate = tuple[float, float]  # and its standard error

_BASE_RATES = 1e-5, 0.9  # limits of the share of pairs that belong together
_RATE_ERROR = 0.2  # relative error of that share
_LEAST_VARIANCE = 1e-6
_GUESS_ERROR, _BEST = 0.7, 10  # relative error of the first guess of it, by one in so many
_STEP = 0.02  # of a share, for slopes: about one link
PRIOR = 50  # constraints that stability, silhouette and links kept are worth together
_CLEARLY, _SLIGHTLY = 2.0, 0.03  # standard errors, and a difference that is none by itself


@dataclass(frozen=True, eq=False)
class Figures:
    """What is known of a candidate, fold by fold.

    Attributes
    ----------
    counts : ndarray of shape (n_used, 4)
        Held-out links, as in `link_counts`.
    steady, index, kept : ndarrays of shape (n_used,)
        Agreement with the clusterings of the other folds, silhouette (or 0 if that is negative),
        and share of the constraints kept of those that were told.
    n_links : int
        Number of constraints that are held back in some fold.
    decided : float
        Share of all pairs of rows that the constraints decide, with what follows from them.
    base_rate : float
        Estimated share of pairs that belong together (see `base_rate`); NaN if unknown.
    together : float
        Share of all pairs that the candidate puts together; NaN if unknown.
    plausible : float, default=1
        How plausible its number of clusters is by all links, whatever the candidate does with
        them (see `Cuts.plausible`).
    saved : ndarray of shape (n_used,), default=None
        What its clusters save in description length; it is the score then.
    """

    counts: Floats
    steady: Floats
    index: Floats
    kept: Floats
    n_links: int
    decided: float = 0.0
    base_rate: float = float("nan")
    together: float = float("nan")
    plausible: float = 1.0
    saved: Floats | None = None

    @property
    def share(self) -> float:
        """Weight of the held-out links; it grows with their number."""
        must, cannot = (float(self.counts[:, part].sum()) for part in (slice(2), slice(2, 4)))
        n = self.n_links * balance(must, cannot)
        return n / (n + PRIOR)

    @property
    def held_out(self) -> float:
        """Quality over the held-out links of all folds; NaN if there are none."""
        return float(self._quality(self.counts.sum(axis=0))) if self.n_links else float("nan")

    def _quality(self, counts: Floats) -> Floats:
        if np.isnan(self.base_rate):
            return mean_f(counts)
        return expected_ari(counts, self.base_rate, self.together)

    @property
    def mean_f(self) -> float:
        """Mean F over the held-out links of all folds, whatever the base rate."""
        return float(mean_f(self.counts.sum(axis=0)))

    @property
    def slopes(self) -> tuple[float, float]:
        """How much `held_out` rises per share of must-links, and of cannot-links, that is right."""
        if np.isnan(self.base_rate):
            return 0.5, 0.5
        counts = self.counts.sum(axis=0)
        n_must, n_cannot = counts[:2].sum(), counts[2:].sum()
        fewer = counts - _STEP * n_must * np.array([1.0, -1.0, 0.0, 0.0])
        joined = counts + _STEP * n_cannot * np.array([0.0, 0.0, 1.0, -1.0])
        here = self._quality(counts)
        by_must, by_cannot = (abs(self._quality(there) - here) / _STEP for there in (fewer, joined))
        return float(by_must), float(by_cannot)

    @property
    def score(self) -> float:
        """Held-out links and internal criteria, weighted; decided pairs count by the share kept."""
        held_out = self._quality(self.counts.sum(axis=0))
        return float(self._mixed(held_out, self._by_itself.mean(), self.kept.mean()))

    @property
    def left_out(self) -> Floats:
        """Scores of shape (n_used,) with one fold left out at a time."""
        by_itself, kept = leave_one_out_means(self._by_itself), leave_one_out_means(self.kept)
        return self._mixed(self._quality(without_each(self.counts)), by_itself, kept)

    def _mixed(self, held_out: Any, by_itself: Any, kept: Any) -> Any:
        # Held-out links tell about pairs that nothing is known of. The last fit knows the decided
        # ones, and has them right as far as it keeps what it is told.
        open_pairs = self.share * held_out + (1 - self.share) * by_itself
        return (1 - self.decided) * open_pairs + self.decided * kept

    @property
    def _by_itself(self) -> Floats:
        if self.saved is not None:
            return self.saved
        return self.plausible * (self.steady + self.index + self.kept) / 3


def balance(must: float, cannot: float) -> float:
    """How much less links say than as many would, half of them must-links.

    Three must-links beside many cannot-links say as little as three of each do: both kinds count
    as if they were equally many, 4 m c / (m + c). With one kind only, the number counts as it is.
    """
    return 4 * must * cannot / (must + cannot) ** 2 if must and cannot else 1.0


def link_counts(fold: ConstraintFold, together: Bools) -> Floats:
    """Weights of must-links together and apart, and of cannot-links together and apart."""
    cell = 2 * ~fold.must + ~together
    return np.asarray(np.bincount(cell, fold.weight, minlength=4), dtype=np.float64)


def are_together(labels: NDArray, pairs: NDArray[np.int64]) -> Bools:
    """Whether the two rows of each pair are in one cluster; rows without a cluster are alone."""
    a, b = labels[pairs].T
    return np.asarray((a == b) & (a >= 0))


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


def base_rate(
    counts: Floats, together: Floats, n_cannot: float, finest: Estimate | None = None
) -> Estimate:
    """Share of all pairs of rows that belong together, from all candidates, and its error.

    A candidate puts a share s of all pairs together, which is known. If it keeps a share t of the
    must-links and breaks a share f of the cannot-links, s = pi t + (1 - pi) f, whatever pairs
    people chose to speak about. The share pi follows by least squares over the candidates; f of a
    candidate with many clusters is small and known better, and counts more. All candidates are
    asked about the same links and err together, so that few links leave pi open; then it is near
    the shares s of the candidates that separate must-links from cannot-links best.

    Parameters
    ----------
    counts : ndarray of shape (n_candidates, 4)
        As in `link_counts`, pooled over folds.
    together : ndarray of shape (n_candidates,)
        Share of all pairs that each puts together.
    n_cannot : float
        Number of cannot-links that were held out in all.
    finest : pair of float, default=None
        Another estimate and its error, from clusters so small that most of their pairs are right.
    """
    true, false = _rates(counts)
    lift = np.maximum(true - false, 0.0)
    variance = together * (1 - together) + _LEAST_VARIANCE
    weighted = lift / variance
    if not weighted @ lift > 0:
        return float("nan"), float("nan")
    found = weighted @ (together - false) / (weighted @ lift)
    error = weighted @ np.sqrt(variance / max(n_cannot, 1.0)) / (weighted @ lift)
    best = np.argsort(-lift, kind="stable")[: -(-len(lift) // _BEST)]
    guess = float(together[best].mean())
    estimates = [(found, error), (guess, _GUESS_ERROR * guess)] + [finest] * (finest is not None)
    values, errors = np.array(estimates).T
    precision = errors**-2.0
    pi = float(precision @ values / precision.sum())
    return float(np.clip(pi, *_BASE_RATES)), float(precision.sum() ** -0.5)


def expected_ari(counts: Floats, pi: float, together: float = float("nan")) -> Floats:
    """Adjusted Rand index of a clustering with such rates, if a share pi of pairs is together.

    Parameters
    ----------
    counts : ndarray of shape (..., 4)
        As in `link_counts`.
    pi : float
    together : float, default=NaN
        Share of all pairs that the clustering puts together, if known.
    """
    true, false = _rates(counts)
    own, implied, trust = joined_shares(counts, true, pi, together)
    return rand_index(
        true,
        np.where(np.isnan(implied), false, trust * own + (1 - trust) * implied),
        np.asarray(pi),
    )


def joined_shares(
    counts: Floats, true: Floats, pi: Floats | float, together: float
) -> tuple[Floats, Floats, Floats]:
    """Share f of different pairs that are together: counted, implied, and the weight of the former.

    With many clusters f is so small that hardly any cannot-link is broken, but s = pi t +
    (1 - pi) f implies it. Both estimates are weighted by their variances.
    """
    own, n_must, n_cannot = _rates(counts)[1], counts[..., :2].sum(-1), counts[..., 2:].sum(-1)
    implied = np.clip((together - pi * true) / (1 - np.asarray(pi)), 0.0, 1.0)
    of_own = (together * (1 - together) + _LEAST_VARIANCE) / np.maximum(n_cannot, 1.0)
    of_true = true * (1 - true) / np.maximum(n_must, 1.0) + (_RATE_ERROR * true) ** 2
    of_implied = np.asarray(pi) ** 2 * of_true
    return own, implied, np.asarray(of_implied / (of_own + of_implied))


def rand_index(true: Floats, false: Floats, pi: Floats) -> Floats:
    """Adjusted Rand index by shares: of equal pairs together, of different pairs together, equal.

    It is Cohen's kappa of the 2 x 2 table of pairs (Warrens 2008).
    """
    tp, fp, fn, tn = pi * true, (1 - pi) * false, pi * (1 - true), (1 - pi) * (1 - false)
    chance = (tp + fn) * (fn + tn) + (tp + fp) * (fp + tn)
    return np.asarray(2 * (tp * tn - fn * fp) / np.maximum(chance, 1e-300))


def _rates(counts: Floats) -> tuple[Floats, Floats]:
    """Share of must-links kept and of cannot-links broken."""
    must, broken, joined, apart = np.moveaxis(counts, -1, 0)
    return must / np.maximum(must + broken, 1e-300), joined / np.maximum(joined + apart, 1e-300)


def without_each(counts: Floats) -> Floats:
    """Counts of shape (n_used, 4), pooled with one fold left out at a time."""
    return counts if len(counts) < 2 else counts.sum(axis=0) - counts


def leave_one_out_means(values: Floats) -> Floats:
    """Means of shape (n,) with one value left out at a time."""
    if len(values) < 2:
        return values
    return (values.sum() - values) / (len(values) - 1)


def standard_error(left_out: Floats) -> float:
    """Jackknife standard error out of scores with one fold left out at a time."""
    n = len(left_out)
    if n < 2:
        return float("nan")
    return float(np.sqrt((n - 1) / n * ((left_out - left_out.mean()) ** 2).sum()))


def stability(answers: Sequence[Bools]) -> Floats:
    """Mean chance-corrected agreement (kappa) of each fold's answers with the other folds'."""
    together = np.array(answers, dtype=np.float64)
    n, share = len(together), together.mean(axis=1)
    agree = (together @ together.T + (1 - together) @ (1 - together).T) / together.shape[1]
    chance = np.outer(share, share) + np.outer(1 - share, 1 - share)
    # Without a choice kappa is 0 / 0: the same answers then are as steady as can be.
    certain = chance > 1 - 1e-12
    kappa = np.where(certain, 1.0, (agree - chance) / np.where(certain, 1.0, 1 - chance))
    return np.asarray((kappa.sum(axis=1) - np.diag(kappa)) / max(n - 1, 1))


def tied(scores: Floats, left_out: Floats, tolerance: float) -> Bools:
    """Which candidates are within some standard errors of the best.

    The standard error is that of the difference, fold by fold: an easy fold is easy for all.

    Parameters
    ----------
    scores : ndarray of shape (n_candidates,)
        NaN for those that failed.
    left_out : ndarray of shape (n_candidates, n_used)
    tolerance : float
        Number of standard errors.
    """
    best = int(np.nanargmax(scores))
    gap = scores[best] - scores
    error = np.array([standard_error(left_out[best] - other) for other in left_out])
    error = tolerance * np.where(np.isnan(error), 0.0, error)
    return np.where(np.isnan(gap), False, gap <= error)


# ------------------------------------------------------------------------ leaving the race


def right_answers(
    folds: Sequence[ConstraintFold],
    answers: Sequence[Sequence[Bools]],
    slopes: tuple[float, float],
) -> tuple[Bools, Floats]:
    """Which of the pairs asked so far each candidate has right, and what each adds to the score.

    Must-links together weigh as much as the first slope says, cannot-links as the second.

    Returns
    -------
    right : ndarray of shape (n_candidates, n_pairs)
    weight : ndarray of shape (n_pairs,)
    """
    folds = folds[: len(answers[0])]
    must = np.concatenate([fold.must for fold in folds])
    weight = np.concatenate([fold.weight for fold in folds])
    for kind, slope in zip((must, ~must), slopes, strict=True):
        weight[kind] *= slope / (weight[kind].sum() or 1.0)
    return np.array([np.concatenate(own) == must for own in answers]), weight


def clearly_worse(scores: Floats, right: Bools, weight: Floats, share: float) -> Bools:
    """Candidates that are worse than the best by more than chance explains.

    The standard error comes from the answers to the same links, pair by pair.

    Parameters
    ----------
    scores : ndarray of shape (n_candidates,)
        The best candidate first.
    right : ndarray of shape (n_candidates, n_pairs)
    weight : ndarray of shape (n_pairs,)
    share : float
        How much held-out links count in the score.
    """
    lag = (right[0].astype(float) - right) * weight
    # Two answers more that could have gone the other way: few links are no proof.
    error = share * np.sqrt((lag**2).sum(axis=1) + 2 * (weight**2).max(initial=0.0))
    return np.asarray(scores[0] - scores > _CLEARLY * error + _SLIGHTLY)
