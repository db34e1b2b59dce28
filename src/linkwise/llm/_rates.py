"""How often a model answers wrong, of two kinds, from three sources at once.

The model calls a pair that differs "same" with probability a, and a pair that is the same
"different" with probability b; a share q of the pairs it was asked about are the same. All three
are below what a coin would do (a, b < 1/2) and otherwise unknown: the posterior is computed on a
grid, with a uniform prior. What is observed:

- the number of its "same", of probability s = q (1 - b) + (1 - q) a;
- an audit: of its "same", e = (1 - q) a / s are wrong, of its "different" f = q b / (1 - s);
- both orders: of the decisions, d differ between the orders, and in each of these one order is
  wrong. Errors that both orders share are not seen, and their share is unknown: the likeliest one
  counts (profile likelihood), so that d / 2 is a lower bound of the error rate q b + (1 - q) a;
- triangles: if i = j and j = k, then i = k is true with probability t = (1 - e)^2, and if i = j and
  j != k, with t = f (1 - e) + q e. The third answer is "same" with t (1 - b) + (1 - t) a. Only
  triangles that share no answer are counted: these are independent.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import xlogy

from linkwise._types import Floats
from linkwise.constraints import confidence_weight

_STEPS = 50  # of the grid, per dimension: cells of 1 % for both rates
_LEVEL = 0.9  # of the intervals

Verdict = Literal["same", "different"]
Link = tuple[str, str, Verdict, int]  # two records, the answer, the card it is from


class Count(NamedTuple):
    """So many of so many."""

    k: int = 0
    n: int = 0


NOTHING = Count()


@dataclass(frozen=True)
class Evidence:
    """What is observed; see the module.

    Attributes
    ----------
    said_same : Count
        "same" among all answers.
    audit_same, audit_different : Count
        Wrong ones among the audited answers of each kind.
    orders : Count
        Decisions that differ between the two orders.
    after_same : Count
        Third answers "same" after two "same".
    after_different : Count
        Third answers "same" after one "same" and one "different".
    """

    said_same: Count = NOTHING
    audit_same: Count = NOTHING
    audit_different: Count = NOTHING
    orders: Count = NOTHING
    after_same: Count = NOTHING
    after_different: Count = NOTHING


@dataclass(frozen=True)
class Rate:
    """A share with its interval of 90 %.

    Attributes
    ----------
    mean, low, high : float
    """

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        mean, low, high = (f"{100 * part:.0f}" for part in (self.mean, self.low, self.high))
        return f"{mean} % ({low} to {high})"


@dataclass(frozen=True)
class ErrorRates:
    """How often a model is wrong.

    Attributes
    ----------
    false_same : Rate
        Share of the pairs that differ which it calls "same".
    false_different : Rate
        Share of the pairs that are the same which it calls "different".
    wrong_same, wrong_different : Rate
        Share of its "same", and of its "different", that are wrong.
    evidence : Evidence
        What this is estimated from.

    Examples
    --------
    >>> from linkwise.llm import Count, ErrorRates, Evidence
    >>> seen = Evidence(Count(100, 400), audit_same=Count(1, 15), audit_different=Count(3, 15))
    >>> print(ErrorRates.estimate(seen))
    the model errs on 11 % (1 to 25) of its "same" and 19 % (8 to 30) of its "different"
    """

    false_same: Rate
    false_different: Rate
    wrong_same: Rate
    wrong_different: Rate
    evidence: Evidence

    @classmethod
    def estimate(cls, evidence: Evidence) -> ErrorRates:
        """The posterior under all evidence.

        Parameters
        ----------
        evidence : Evidence
        """
        rates = (np.arange(_STEPS) + 0.5) / _STEPS
        a, b, q = np.meshgrid(rates / 2, rates / 2, rates, indexing="ij")
        s = q * (1 - b) + (1 - q) * a
        e, f = (1 - q) * a / s, q * b / (1 - s)
        third = ((1 - e) ** 2, f * (1 - e) + q * e)
        log_likelihood = (
            _binomial(evidence.said_same, s)
            + _binomial(evidence.audit_same, e)
            + _binomial(evidence.audit_different, f)
            + _orders(evidence.orders, q * b + (1 - q) * a)
            + _binomial(evidence.after_same, third[0] * (1 - b) + (1 - third[0]) * a)
            + _binomial(evidence.after_different, third[1] * (1 - b) + (1 - third[1]) * a)
        )
        weight = np.exp(log_likelihood - log_likelihood.max())
        return cls(_rate(a, weight), _rate(b, weight), _rate(e, weight), _rate(f, weight), evidence)

    def weight(self, said: Verdict) -> float:
        """Log odds by which an answer changes the odds of a link, in the unit of link weights.

        Parameters
        ----------
        said : {"same", "different"}
        """
        a, b = self.false_same.mean, self.false_different.mean
        odds = (1 - b) / a if said == "same" else (1 - a) / b
        return float(confidence_weight(odds / (1 + odds)))

    def __str__(self) -> str:
        return (
            f'the model errs on {self.wrong_same} of its "same" and {self.wrong_different} of its '
            '"different"'
        )


def _binomial(count: Count, p: Floats) -> Floats:
    """Log likelihood, without its constant."""
    return xlogy(count.k, p) + xlogy(count.n - count.k, 1 - p)


def _orders(count: Count, wrong: Floats) -> Floats:
    """Log likelihood of differing decisions if the likeliest share of errors depends on order."""
    return _binomial(count, np.minimum(2 * wrong, count.k / max(count.n, 1)))


def _rate(values: Floats, weight: Floats) -> Rate:
    """Posterior mean and equal-tailed interval."""
    order = np.argsort(values, axis=None)
    values, share = values.flat[order], np.cumsum(weight.flat[order])
    share /= share[-1]
    low, high = values[np.searchsorted(share, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])]
    return Rate(
        float(np.average(values, weights=np.diff(share, prepend=0))), float(low), float(high)
    )


# -------------------------------------------------------------------- what the replies show


def triangles(links: Iterable[Link]) -> tuple[Count, Count]:
    """Third answers after two "same", and after one; no answer is counted twice."""
    free: dict[str, dict[str, tuple[Verdict, int]]] = {}
    counts = {"same": [0, 0], "different": [0, 0]}
    for i, j, said, card in links:
        near, far = free.setdefault(i, {}), free.setdefault(j, {})
        for k in near.keys() & far.keys():
            (one, card_one), (two, card_two) = near[k], far[k]
            if (one, two) != ("different", "different") and {card_one, card_two} != {card}:
                seen = counts["same" if one == two else "different"]
                seen[0] += said == "same"
                seen[1] += 1
                for a, b in ((i, k), (j, k)):
                    del free[a][b], free[b][a]
                break
        else:
            near[j] = far[i] = said, card
    return Count(*counts["same"]), Count(*counts["different"])
