"""Confidences of links as weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

USUAL = 0.85  # the confidence of a link of weight 1
SUREST = 0.999


def confidence_weight(confidence: ArrayLike) -> Floats:
    """The weight of links that are right with these probabilities: their log odds.

    A confidence of 0.85 has the weight 1, which is what links have without one; 0.5 would weigh
    nothing. Beyond 0.999 nothing is added.

    Parameters
    ----------
    confidence : array-like of floats above 0.5, at most 1

    Returns
    -------
    weight : ndarray

    Examples
    --------
    >>> from linkwise.constraints import confidence_weight
    >>> confidence_weight([0.6, 0.85, 0.95]).round(2).tolist()
    [0.23, 1.0, 1.7]
    """
    given = np.asarray(confidence, dtype=np.float64)
    if not ((given > 0.5) & (given <= 1)).all():
        wrong = given[~((given > 0.5) & (given <= 1))].flat[0]
        raise ValueError(
            f"confidence {wrong:g} must be above 0.5 and at most 1: a link that is right half of "
            "the time says nothing, and below it is the opposite link"
        )
    return log_odds(given) / log_odds(USUAL)


def log_odds(confidence: ArrayLike) -> Floats:
    """Logarithm of the odds that a link is right, at most those of `SUREST`."""
    given = np.minimum(confidence, SUREST)
    return np.asarray(np.log(given) - np.log1p(-given))
