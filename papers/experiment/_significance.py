"""Whether a difference is more than chance: paired tests, corrected for their number.

Entry points: `paired_p` (one test), `adjusted` (many), `Comparison` (a method against others). The
unit of a test is a trial, the mean over its folds: folds of one trial share constraints and are not
independent draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from linkwise._types import JsonDict
from linkwise._validation import check_choice

Floats = NDArray[np.float64]

LEVELS = (0.90, 0.95, 0.975, 0.99)  # those of Eaton (2005), section 4.2
TESTS = ("t", "corrected_t", "wilcoxon")
CORRECTIONS = ("holm", "fdr", None)


def paired_p(difference: Floats, test: str = "t", ratio: float = 0.0) -> float:
    """Two-sided p-value of "the differences are nothing but chance".

    Parameters
    ----------
    difference : ndarray of shape (n_pairs,)
        NaN where a pair is missing.
    test : {"t", "corrected_t", "wilcoxon"}
        "corrected_t" widens the variance by `ratio`, rows scored by rows trained on, because
        trials share rows (Nadeau and Bengio 2003).
    ratio : float, default=0.0

    Returns
    -------
    p : float
        NaN with fewer than two pairs. Differences that are all the same and not 0 have no
        variance; they get the p-value of the sign test.

    Examples
    --------
    >>> import numpy as np
    >>> from papers.experiment import paired_p
    >>> paired_p(np.array([0.1, 0.2, 0.15, 0.12])) < 0.01
    True
    """
    check_choice("test", test, TESTS)
    away = difference[np.isfinite(difference)]
    if len(away) < 2:
        return float("nan")
    if not away.any():
        return 1.0
    if np.allclose(away, away[0]):
        return float(2.0 ** (1 - len(away)))
    if test == "wilcoxon":
        return float(stats.wilcoxon(away[away != 0]).pvalue)  # zeros say nothing either way
    share = 1 / len(away) + (ratio if test == "corrected_t" else 0.0)
    t = away.mean() / np.sqrt(share * away.var(ddof=1))
    return float(2 * stats.t.sf(abs(t), len(away) - 1))


def adjusted(p: Floats, correction: str | None = "holm") -> Floats:
    """p-values corrected for multiple tests; NaN counts as no test.

    Parameters
    ----------
    p : ndarray
    correction : {"holm", "fdr", None}
        Holm (the chance of any false alarm) or Benjamini and Hochberg (the share of false ones).

    Examples
    --------
    >>> import numpy as np
    >>> from papers.experiment import adjusted
    >>> adjusted(np.array([0.01, 0.04, 0.5])).tolist()
    [0.03, 0.08, 0.5]
    """
    check_choice("correction", correction, CORRECTIONS)
    found = p.astype(np.float64).copy()
    asked = np.isfinite(found)
    values = found[asked]
    if correction is None or not len(values):
        return found
    if correction == "fdr":
        found[asked] = stats.false_discovery_control(values)
        return found
    order = np.argsort(values, kind="stable")
    left = len(values) - np.arange(len(values))
    stepped = np.minimum(np.maximum.accumulate(values[order] * left), 1.0)
    values[order] = stepped
    found[asked] = values
    return found


@dataclass(frozen=True, eq=False)
class Comparison:
    """Methods against one of them, number of constraints by number of constraints.

    Attributes
    ----------
    metric, baseline : str
        What is compared, and with which method.
    methods : tuple of str
        The others.
    n_constraints : tuple of int
        Empty where all numbers were pooled.
    difference : ndarray of shape (n_methods, n_numbers)
        Mean score less that of the baseline.
    p : ndarray of shape (n_methods, n_numbers)
        Two-sided p-values, corrected.
    raw_p : ndarray of shape (n_methods, n_numbers)
        The same before the correction.
    test, correction : str
        How.

    Examples
    --------
    >>> from linkwise import COPKMeans, PCKMeans
    >>> from linkwise.datasets import load
    >>> from papers.experiment import Protocol, learning_curve
    >>> curve = learning_curve(
    ...     {"PCK": PCKMeans(3), "COP": COPKMeans(3)}, *load("iris", return_X_y=True),
    ...     n_constraints=[20, 40], protocol=Protocol(n_trials=2, n_folds=2),
    ... )
    >>> curve.compare("PCK", "ari").difference.shape
    (1, 2)
    """

    metric: str
    baseline: str
    methods: tuple[str, ...]
    n_constraints: tuple[int, ...]
    difference: Floats
    p: Floats
    raw_p: Floats
    test: str
    correction: str | None

    def level(self, levels: Sequence[float] = LEVELS) -> Floats:
        """The highest level of confidence reached; negative where the method is worse, 0 if none.

        Parameters
        ----------
        levels : sequence of float
            Levels of confidence to try.

        Examples
        --------
        >>> import numpy as np
        >>> from papers.experiment import Comparison
        >>> one = np.array([[0.02]])
        >>> Comparison("ari", "PCK", ("MPCK",), (10,), -one, one, one, "t", "holm").level()
        array([[-0.975]])
        """
        reached = np.zeros(self.p.shape)
        for level in sorted(levels):
            reached[self.p <= 1 - level + 1e-12] = level
        return reached * np.sign(self.difference)

    def rows(self) -> list[JsonDict]:
        """One row for each test."""
        numbers = self.n_constraints or (None,)
        return [
            {
                "method": method, "baseline": self.baseline, "metric": self.metric,
                "n_constraints": n, "difference": float(self.difference[i, j]),
                "p": float(self.p[i, j]), "raw_p": float(self.raw_p[i, j]),
                "level": float(self.level()[i, j]),
            }
            for i, method in enumerate(self.methods)
            for j, n in enumerate(numbers)
        ]  # fmt: skip
