"""What clusters are like: typical rows, what sets them apart, and how to join or part them.

Columns are compared in units of their standard deviation. The same formula serves words: a word
is a column that is 1 where the text of a row has it.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer

N_TYPICAL, N_TRAITS, N_PAIRS = 3, 3, 3
_LEAST_WORTH_SAYING = 0.2  # standard deviations
_MOST_ROWS = 5_000  # rows of a cluster that are looked at to find its two halves


Trait = tuple[str, str]


@dataclass(frozen=True)
class Cluster:
    """A cluster in words.

    Attributes
    ----------
    number, size : int
    typical : list of int
        The rows nearest to the middle.
    traits : list of (str, str)
        What sets it apart, the largest differences first: an arrow up or down, and the words.
    """

    number: int
    size: int
    typical: list[int]
    traits: list[Trait]


@dataclass(frozen=True)
class Proposal:
    """What is said by merging two clusters, or by splitting one.

    Attributes
    ----------
    said : {"same", "different"}
    pairs : list of (int, int)
        The rows it is said of.
    n_clusters : int
        How many clusters there are then.
    """

    said: Literal["same", "different"]
    pairs: list[tuple[int, int]]
    n_clusters: int


class Columns:
    """Columns of the data with their means and deviations; dense or CSR.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_rows, n_columns)
    names : sequence of str
    """

    def __init__(self, X: Any, names: Sequence[str]):
        self.X, self.names = X, list(names)
        # Categories, which are told in percent: 1 for the rows that have them, 0 for others.
        self.is_share = ((X == 0) | (X == 1)).all(axis=0) if isinstance(X, np.ndarray) else None
        self._squares = X.multiply(X).tocsr() if sparse.issparse(X) else X * X
        self.mean = np.asarray(X.mean(axis=0)).ravel()
        variance = np.asarray(self._squares.mean(axis=0)).ravel() - self.mean**2
        self.deviation = np.sqrt(np.maximum(variance, 0.0))
        varies = self.deviation > 1e-12 * np.maximum(1.0, np.abs(self.mean))
        self.precision = np.divide(
            1.0, self.deviation**2, out=np.zeros_like(self.mean), where=varies
        )

    def middle(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """The mean of some rows."""
        return np.asarray(self.X[rows].mean(axis=0)).ravel()

    def differences(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """How far the mean of some rows is from that of all, in standard deviations."""
        return (self.middle(rows) - self.mean) * np.sqrt(self.precision)

    def nearest(self, rows: NDArray[np.int64], n: int) -> list[int]:
        """The n of these rows that are nearest to their own middle."""
        middle = self.middle(rows)
        far = self._squares[rows] @ self.precision
        far = far - 2 * (self.X[rows] @ (middle * self.precision))
        return [int(row) for row in rows[np.argsort(far, kind="stable")[:n]]]


def word_columns(passages: Sequence[str] | None) -> Columns | None:
    """Words as columns that are 1 where a text has them; None where there is no text."""
    if passages is None:
        return None
    words = CountVectorizer(binary=True, min_df=2, max_features=2000, stop_words="english")
    try:
        found = words.fit_transform(passages)
    except ValueError:  # no word stands in two rows
        return None
    return Columns(found.astype(np.float64).tocsr(), words.get_feature_names_out().tolist())


def describe(
    labels: NDArray[np.int32], columns: Columns, words: Columns | None = None
) -> list[Cluster]:
    """All clusters, in the order of their numbers."""
    found = []
    for number in np.unique(labels[labels >= 0]).tolist():
        rows = np.flatnonzero(labels == number)
        said = [] if words is None else _words(words, rows)
        if words is None or not sparse.issparse(columns.X):  # else its columns are these words
            said += _traits(columns, rows)
        traits = [trait for _, trait in sorted(said, reverse=True)[:N_TRAITS]]
        found.append(Cluster(number, len(rows), columns.nearest(rows, N_TYPICAL), traits))
    return found


def _traits(columns: Columns, rows: NDArray[np.int64]) -> list[tuple[float, Trait]]:
    def tell(value: float, column: int) -> str:
        is_share = columns.is_share is not None and columns.is_share[column]
        return f"{value:.0%}" if is_share else f"{value:.3g}"

    apart, middle = columns.differences(rows), columns.middle(rows)
    strongest = np.argsort(-np.abs(apart), kind="stable")[:N_TRAITS]
    return [
        (
            abs(float(apart[k])),
            (
                "▲" if apart[k] > 0 else "▼",
                f"{columns.names[k]}: {tell(middle[k], k)} (all: {tell(columns.mean[k], k)})",
            ),
        )
        for k in strongest.tolist()
        if abs(apart[k]) >= _LEAST_WORTH_SAYING
    ]


def _words(words: Columns, rows: NDArray[np.int64]) -> list[tuple[float, Trait]]:
    apart, middle = words.differences(rows), words.middle(rows)
    strongest = np.argsort(-apart, kind="stable")[:N_TRAITS]
    return [
        (
            float(apart[k]),
            ("▲", f"says “{words.names[k]}”: {middle[k]:.0%} (all: {words.mean[k]:.0%})"),
        )
        for k in strongest.tolist()
        if apart[k] >= _LEAST_WORTH_SAYING
    ]


def pairs_to_merge(one: Cluster, two: Cluster) -> list[tuple[int, int]]:
    """Pairs of rows that are the same if two clusters are one: their typical rows as one group."""
    first, *others = [*one.typical[:N_PAIRS], *two.typical[:N_PAIRS]]
    return [(first, other) for other in others]


def pairs_to_split(
    labels: NDArray[np.int32], number: int, columns: Columns, seed: int
) -> list[tuple[int, int]]:
    """Pairs of rows that are different if a cluster is two: typical rows of its two halves."""
    rows = np.flatnonzero(labels == number)
    if len(rows) > _MOST_ROWS:
        rows = np.sort(np.random.default_rng(seed).choice(rows, _MOST_ROWS, replace=False))
    if len(rows) < 2:
        return []
    scale = np.sqrt(columns.precision)
    scaled = columns.X[rows]
    scaled = scaled.multiply(scale).tocsr() if sparse.issparse(scaled) else scaled * scale
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # all rows are equal: no halves
        half = KMeans(2, n_init=3, random_state=seed).fit(scaled).labels_
    halves = [rows[half == side] for side in (0, 1)]
    if min(map(len, halves)) == 0:
        return []
    one, two = (columns.nearest(side, N_PAIRS) for side in halves)
    return list(zip(one, two, strict=False))
