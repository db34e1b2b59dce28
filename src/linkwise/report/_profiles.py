"""Profiles of clusters: typical rows, and the features that set them apart.

Columns are compared in units of their standard deviation. The same formula serves words: a word
is a column that is 1 where the text of a row has it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

N_TYPICAL = N_TRAITS = 3  # shown of a cluster; each fits on a line
_LEAST_TRAIT = 0.2  # standard deviations: Cohen's (1988) small effect
_PLACE = re.compile(r"(.*)\[\d+\]")  # in a column of lists


class Trait(NamedTuple):
    """What sets a cluster apart: a column or word, whether it is high or low, and how much."""

    name: str
    is_high: bool
    value: str
    is_word: bool = False

    def __str__(self) -> str:
        level = "" if self.is_word else " high" if self.is_high else " low"
        return f"{self.name}{level}: {self.value}"

    @property
    def arrow(self) -> str:
        """Up or down."""
        return "▲" if self.is_high else "▼"

    @property
    def words(self) -> str:
        """The trait without its direction."""
        return f"{self.name}: {self.value}"


@dataclass(frozen=True)
class Profile:
    """Typical rows of a cluster, and the traits that separate it.

    Attributes
    ----------
    number, size : int
    typical : list of int
        The rows nearest to the middle.
    traits : list of Trait
        What sets it apart, the largest differences first.

    Examples
    --------
    >>> from linkwise import PCKMeans
    >>> X = [[0.0], [0.2], [0.4], [9.0]]
    >>> model = PCKMeans(n_clusters=2, random_state=0).fit(X)
    >>> print(model.report_.describe(X, model.labels_, ["age"]).profiles[0])
    cluster 0, 3 rows: age low: 0.2 (all: 2.4); such as 1, 0, 2
    """

    number: int
    size: int
    typical: list[int]
    traits: list[Trait]

    def __str__(self) -> str:
        rows, traits = ", ".join(map(str, self.typical)), "; ".join(self.descriptions)
        return f"cluster {self.number}, {self.size:,} rows: {traits}; such as {rows}"

    @property
    def descriptions(self) -> list[str]:
        """The traits, or that there are none."""
        return [str(trait) for trait in self.traits] or ["no single column sets it apart"]


class Columns:
    """Columns of the data with their means and deviations; dense or CSR."""

    def __init__(self, X: Any, names: Sequence[str], dates: Collection[str] = ()):
        self.X, self.names = X, [str(name) for name in names]  # those of a DataFrame may be numbers
        self._says = np.array([not place for place in _places(self.names)] or 1.0, dtype=float)
        self._dates = dates  # columns of days since 1970-01-01
        # Categories, shown in percent: 1 for the rows that have them, 0 for others.
        self.is_share = ((X == 0) | (X == 1)).all(axis=0) if isinstance(X, np.ndarray) else None
        self._squares = X.multiply(X).tocsr() if sparse.issparse(X) else X * X
        self.mean = np.asarray(X.mean(axis=0)).ravel()
        variance = np.asarray(self._squares.mean(axis=0)).ravel() - self.mean**2
        self.deviation = np.sqrt(np.maximum(variance, 0.0))
        varies = self.deviation > 1e-12 * np.maximum(1.0, np.abs(self.mean))
        self.precision = np.divide(
            1.0, self.deviation**2, out=np.zeros_like(self.mean), where=varies
        )

    def text(self, column: int, value: float) -> str:
        """A value of a column: a date, a share in percent or a number."""
        if self.names[column] in self._dates:
            return str(date(1970, 1, 1) + timedelta(days=round(value)))
        if abs(value) < 1e-9 * self.deviation[column]:  # rounding of a mean of standardized values
            value = 0.0
        is_share = self.is_share is not None and self.is_share[column]
        return f"{value:.0%}" if is_share else f"{value:.3g}"

    def middle(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """The mean of some rows."""
        return np.asarray(self.X[rows].mean(axis=0)).ravel()

    def differences(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """How far the mean of some rows is from that of all, in standard deviations.

        0 for constant columns and places in lists.
        """
        return (self.middle(rows) - self.mean) * np.sqrt(self.precision) * self._says

    def nearest(self, rows: NDArray[np.int64], n: int) -> list[int]:
        """The n of these rows that are nearest to their own middle."""
        middle = self.middle(rows)
        far = self._squares[rows] @ self.precision
        far = far - 2 * (self.X[rows] @ (middle * self.precision))
        return [int(row) for row in rows[np.argsort(far, kind="stable")[:n]]]


def _places(names: Sequence[str]) -> list[bool]:
    """Which columns are places in a column of lists; those are counted from 0."""
    found = [_PLACE.fullmatch(name) for name in names]
    there = set(names)
    return [place is not None and f"{place[1]}[0]" in there for place in found]


def word_columns(passages: Sequence[str] | None) -> Columns | None:
    """Words as columns that are 1 where a text has them; None where there is no text."""
    if passages is None:
        return None
    from sklearn.feature_extraction.text import CountVectorizer

    words = CountVectorizer(binary=True, min_df=2, max_features=2000, stop_words="english")
    try:
        found = words.fit_transform(passages)
    except ValueError:  # no word occurs in two rows
        return None
    return Columns(found.astype(np.float64).tocsr(), words.get_feature_names_out().tolist())


def describe(
    labels: NDArray[np.int32], columns: Columns, words: Columns | None = None
) -> list[Profile]:
    """All clusters, in the order of their numbers."""
    found = []
    for number in range(int(labels.max(initial=-1)) + 1):
        rows = np.flatnonzero(labels == number)
        if len(rows) == 0:
            found.append(Profile(number, 0, [], []))
            continue
        said = [] if words is None else _words(words, rows)
        if words is None or not sparse.issparse(columns.X):  # else its columns are these words
            said += _traits(columns, rows)
        traits = [trait for _, trait in sorted(said, reverse=True)[:N_TRAITS]]
        found.append(Profile(number, len(rows), columns.nearest(rows, N_TYPICAL), traits))
    return found


def _traits(columns: Columns, rows: NDArray[np.int64]) -> list[tuple[float, Trait]]:
    if not columns.names:
        return []
    apart, middle = columns.differences(rows), columns.middle(rows)
    strongest = np.argsort(-np.abs(apart), kind="stable")[:N_TRAITS]

    def trait(k: int) -> Trait:
        value = f"{columns.text(k, middle[k])} (all: {columns.text(k, columns.mean[k])})"
        return Trait(columns.names[k], bool(apart[k] > 0), value)

    return [
        (abs(float(apart[k])), trait(k))
        for k in strongest.tolist()
        if abs(apart[k]) >= _LEAST_TRAIT
    ]


def _words(words: Columns, rows: NDArray[np.int64]) -> list[tuple[float, Trait]]:
    apart, middle = words.differences(rows), words.middle(rows)
    strongest = np.argsort(-apart, kind="stable")[:N_TRAITS]
    return [
        (
            float(apart[k]),
            Trait(
                f"says “{words.names[k]}”", True,
                f"{middle[k]:.0%} (all: {words.mean[k]:.0%})", is_word=True,
            ),
        )
        for k in strongest.tolist()
        if apart[k] >= _LEAST_TRAIT
    ]  # fmt: skip
