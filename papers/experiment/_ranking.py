"""Methods ranked over several data sets: Friedman's test, Nemenyi's critical difference.

Entry points: `rank_methods` over learning curves of several data sets, `Ranking.of` over a table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from linkwise._types import Numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._curve import LearningCurve

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Ranking:
    """Mean ranks of methods, and how far apart they must be to differ.

    Attributes
    ----------
    methods : tuple of str
        The best first.
    ranks : ndarray of shape (n_methods,)
        Mean rank of each; 1 is the best.
    n_blocks : int
        Number of data sets (or trials) over which they were ranked.
    p : float
        Of Friedman's test that all methods are alike.
    critical_difference : float
        Nemenyi's: methods whose mean ranks are farther apart than this differ.
    confidence : float
    metric : str

    References
    ----------
    J. Demšar. Statistical comparisons of classifiers over multiple data sets. JMLR 7, 2006.

    Examples
    --------
    >>> from papers.experiment import Ranking
    >>> scores = [[0.9, 0.8, 0.5], [0.7, 0.6, 0.5], [0.8, 0.9, 0.4], [0.9, 0.7, 0.6]]
    >>> ranking = Ranking.of(scores, ["MPCK", "PCK", "k-means"])
    >>> ranking.ranks
    array([1.25, 1.75, 3.  ])
    >>> round(ranking.critical_difference, 3)
    1.657
    >>> ranking.groups()
    [('MPCK', 'PCK'), ('PCK', 'k-means')]
    """

    methods: tuple[str, ...]
    ranks: Floats
    n_blocks: int
    p: float
    critical_difference: float
    confidence: float
    metric: str

    @classmethod
    def of(
        cls,
        scores: ArrayLike,
        methods: Sequence[str],
        *,
        confidence: float = 0.95,
        metric: str = "",
    ) -> Ranking:
        """Rank methods by a table of scores, higher is better.

        Parameters
        ----------
        scores : array-like of shape (n_blocks, n_methods)
            One row for each data set.
        methods : sequence of str
        confidence : float, default=0.95
        metric : str, default=""
            A name for the plot.
        """
        table = np.asarray(scores, dtype=np.float64)
        _check(table, methods)
        n_blocks, k = table.shape
        ranks = stats.rankdata(-table, axis=1).mean(axis=0)
        alike = (table == table[:, :1]).all()
        p = 1.0 if alike else float(stats.friedmanchisquare(*table.T).pvalue)
        q = stats.studentized_range.isf(1 - confidence, k, np.inf) / np.sqrt(2)
        order = np.argsort(ranks, kind="stable")
        return cls(
            tuple(methods[i] for i in order), ranks[order], n_blocks, p,
            float(q * np.sqrt(k * (k + 1) / (6 * n_blocks))), confidence, metric,
        )  # fmt: skip

    def groups(self) -> list[tuple[str, ...]]:
        """The largest sets of methods that do not differ from each other."""
        return [self.methods[start:end] for start, end in self._groups()]

    def _groups(self) -> Iterator[tuple[int, int]]:
        """Runs of methods, the best first, whose ends are no farther apart than allowed."""
        reached = 0
        for start in range(len(self.methods)):
            far = self.ranks[start] + self.critical_difference
            end = int(np.searchsorted(self.ranks, far, side="right"))
            if end - start > 1 and end > reached:
                yield start, end
            reached = max(reached, end)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the mean ranks on a line; bars join methods that do not differ.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if not given.
        """
        from ._plot import draw_ranking

        return draw_ranking(self, list(self._groups()), ax)

    def __str__(self) -> str:
        ranked = ", ".join(f"{m} {r:.2f}" for m, r in zip(self.methods, self.ranks, strict=True))
        return (
            f"Mean ranks over {self.n_blocks}: {ranked}; critical difference "
            f"{self.critical_difference:.2f} at {self.confidence:.0%}; Friedman p = {self.p:.2g}"
        )


def _check(table: Floats, methods: Sequence[str]) -> None:
    if table.ndim != 2 or table.shape[1] != len(methods):
        raise ValueError(
            f"scores has shape {table.shape}; expected (n_blocks, {len(methods)}), a column for "
            "each method"
        )
    if table.shape[0] < 2 or table.shape[1] < 3:
        raise ValueError(
            f"ranks need at least 2 data sets (or trials) and 3 methods, not {table.shape[0]} and "
            f"{table.shape[1]}; with two methods use LearningCurve.compare"
        )
    if not np.isfinite(table).all():
        raise ValueError("some scores are missing (NaN); leave out those methods or data sets")


def rank_methods(
    curves: Mapping[str, LearningCurve],
    metric: str = "ari",
    *,
    n_constraints: Numbers | None = None,
    confidence: float = 0.95,
) -> Ranking:
    """Rank methods over several data sets by their mean score on each.

    Parameters
    ----------
    curves : mapping of str to LearningCurve
        One for each data set, with the same methods.
    metric : str, default="ari"
    n_constraints : int or list of int, default=None
        Numbers of constraints to average over; all if None.
    confidence : float, default=0.95

    Returns
    -------
    Ranking

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from linkwise import MPCKMeans, PCKMeans
    >>> from linkwise.datasets import load
    >>> from papers.experiment import Protocol, learning_curve, rank_methods
    >>> methods = [KMeans(3, n_init=3), PCKMeans(3), MPCKMeans(3)]
    >>> curves = {
    ...     name: learning_curve(
    ...         methods, *load(name, return_X_y=True), n_constraints=[20], protocol=Protocol(2, 2)
    ...     )
    ...     for name in ["iris", "wine"]
    ... }
    >>> rank_methods(curves).n_blocks
    2
    """
    if not curves:
        raise ValueError("no curves given")
    first = next(iter(curves.values())).methods
    for name, curve in curves.items():
        if curve.methods != first:
            raise ValueError(f"{name} has the methods {curve.methods}, others {first}")
    table = [
        np.nanmean(curve.values(metric, n_constraints), axis=(1, 2, 3)) for curve in curves.values()
    ]
    return Ranking.of(table, first, confidence=confidence, metric=metric)
