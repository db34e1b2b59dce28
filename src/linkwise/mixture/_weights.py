"""Weights of the components: the M-step under the normalizers of linked rows.

The labels of linked rows are conditioned on the links, so that the likelihood is divided by the
prior probability Z(w) that free draws keep them. The expected log likelihood in the weights is

    sum_c N_c log w_c  -  sum of log Z(w)  +  (a - 1) sum_c log w_c,

concave in log w, because log Z is a log-sum-exp of functions linear in log w. Without normalizers
the maximum is N / sum N. Else the weights move to (N - C + w sum C) / sum N, C being the counts
that the prior expects, as far as the value does not fall: a point at rest is the maximum.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from ._field import Field, distinct, sum_plan

Floats = NDArray[np.float64]

_STEPS, _HALVINGS = 5, 20
_LEAST = 1e-300


class Normalizer:
    """Log probability that labels drawn from the weights keep the links, and its counts.

    Parameters
    ----------
    field : Field
    """

    def __init__(self, field: Field):
        together = field.exponent[field.alone]
        self._power, self._times = np.unique(together[together > 1], return_counts=True)
        self._plan, self._exponent, self._count = distinct(field)

    @property
    def is_trivial(self) -> bool:
        """Whether it is 0 for all weights."""
        return not len(self._power) and not len(self._count)

    def at(self, weight: Floats) -> tuple[float, Floats]:
        """Log of the normalizer, and its derivative by the log weights."""
        log_weight = np.log(np.maximum(weight, _LEAST))
        powers = self._power[:, None] * log_weight
        single = logsumexp(powers, axis=1)
        share = np.exp(powers - single[:, None])
        value = float(self._times @ single)
        counts = (self._times * self._power) @ share
        if len(self._count):
            log_sum, marginal = sum_plan(self._plan, self._exponent[:, None] * log_weight)
            sizes = np.diff(self._plan.start)
            times = np.repeat(self._count, sizes) * self._exponent
            value += float(self._count @ log_sum)
            counts = counts + times @ marginal
        return value, counts


def best_weights(counts: Floats, weight: Floats, normalizer: Normalizer) -> Floats:
    """Weights that raise the expected log likelihood, or leave it.

    Parameters
    ----------
    counts : ndarray of shape (k,)
        Expected rows (chunklets) per component, the prior's included.
    weight : ndarray of shape (k,)
        Present weights.
    normalizer : Normalizer
    """
    total = float(counts.sum())
    if normalizer.is_trivial:
        return counts / total
    log_z, expected = normalizer.at(weight)
    value = _value(counts, weight, log_z)
    for _ in range(_STEPS):
        goal = np.maximum(counts - expected + expected.sum() * weight, _LEAST)
        goal /= goal.sum()
        step = 1.0
        for _ in range(_HALVINGS):
            trial = np.exp((1 - step) * np.log(np.maximum(weight, _LEAST)) + step * np.log(goal))
            trial /= trial.sum()
            log_z, wanted = normalizer.at(trial)
            reached = _value(counts, trial, log_z)
            if reached >= value:
                break
            step /= 2
        else:
            return weight
        settled = np.abs(trial - weight).max() < 1e-9
        weight, value, expected = trial, reached, wanted
        if settled:
            break
    return weight


def _value(counts: Floats, weight: Floats, log_z: float) -> float:
    return float(counts @ np.log(np.maximum(weight, _LEAST))) - log_z
