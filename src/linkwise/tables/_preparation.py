"""How columns of a table became features, kept so that new rows are prepared the same way."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass, field

import numpy as np

from linkwise._types import Floats, JsonDict, Matrix
from linkwise.io import FileFormatError, Table, quoted

from ._embedding import TextEmbedder


@dataclass(frozen=True)
class ColumnPreparation:
    """How one column became features.

    Attributes
    ----------
    name : str
    categories : list of str or None
        The values of a category, one feature each; None for a column of numbers.
    fill : float, str or None
        What gaps are filled with; None if gaps are refused.
    size, deviation : float
        Features are divided by `size`, then centered by `mean`, then divided by `deviation`; a
        deviation of 0 stands for a constant column, which becomes zero.
    mean : list of float or None
        None if the column is not standardized.
    """

    name: str
    categories: list[str] | None = None
    fill: float | str | None = None
    mean: list[float] | None = None
    size: float = 1.0
    deviation: float = 1.0

    @property
    def features(self) -> list[str]:
        """Names of the features."""
        values = self.categories
        return [self.name] if values is None else [f"{self.name}={value}" for value in values]

    def transform(self, table: Table) -> Floats:
        """Features of the rows of a table, which has this column."""
        column = table.column(self.name)
        block = self._numbers(table) if self.categories is None else self._one_hot(column)
        if self.mean is None:
            return block
        if self.deviation == 0:
            return np.zeros_like(block)
        return (block / self.size - np.array(self.mean)) / self.deviation

    def _numbers(self, table: Table) -> Floats:
        column = table.column(self.name)
        if column.dtype == object:
            raise FileFormatError(
                table.path,
                f"column {self.name!r} holds text, but numbers when the model was fitted; correct "
                "these cells",
            )
        found = np.array(column, dtype=np.float64)
        self._check_gaps(table, int(np.isnan(found).sum()))
        if self.fill is not None:
            found[np.isnan(found)] = float(self.fill)
        return found[:, None]

    def _check_gaps(self, table: Table, n_gaps: int) -> None:
        if n_gaps and self.fill is None:
            raise FileFormatError(
                table.path,
                f"column {self.name!r} has {n_gaps:,} missing values, and the model was fitted "
                "without; fill them, or fit the model with {impute_median}",
            )

    def _one_hot(self, column: np.ndarray) -> Floats:
        assert self.categories is not None
        place = {value: at for at, value in enumerate(self.categories)}
        block = np.zeros((len(column), len(place)))
        unknown: dict[str, int] = {}
        for row, cell in enumerate(column.tolist()):
            value = _text(cell)
            value = str(self.fill) if value == "" and self.fill is not None else value
            if value in place:
                block[row, place[value]] = 1.0
            else:
                unknown[value] = unknown.get(value, 0) + 1
        if unknown:
            n_rows = sum(unknown.values())
            rows = "1 row has" if n_rows == 1 else f"{n_rows:,} rows have"
            warnings.warn(
                f"column {self.name!r}: {rows} a category that the model has not seen "
                f"({quoted(list(unknown)[:3])}), which counts as none of the {len(place)} known "
                "ones",
                UserWarning,
                stacklevel=4,
            )
        return block


def _text(cell: object) -> str:
    if cell is None or (isinstance(cell, float) and np.isnan(cell)):
        return ""
    if isinstance(cell, float) and cell == int(cell):
        return str(int(cell))
    return str(cell).strip()


@dataclass(frozen=True)
class Preparation:
    """How a table became features: one entry per column, or the words of a column of texts.

    Attributes
    ----------
    columns : list of ColumnPreparation
    text_column : str or None
    words : list of str
    idf : list of float
        Weight of each word.
    embedding : str
        ``"tfidf"`` for words, or a model of `TextEmbedder`.

    Examples
    --------
    >>> from linkwise.datasets import Preparation
    >>> Preparation.from_dict(Preparation(text_column="note").to_dict()).text_column
    'note'
    """

    columns: list[ColumnPreparation] = field(default_factory=list)
    text_column: str | None = None
    words: list[str] = field(default_factory=list)
    idf: list[float] = field(default_factory=list)
    embedding: str = "tfidf"

    def transform(self, table: Table) -> Matrix:
        """Features of new rows; columns may come in another order, and others may be there.

        Parameters
        ----------
        table : Table

        Returns
        -------
        X : ndarray or CSR matrix of shape (n_rows, n_features)
        """
        names = [column.name for column in self.columns]
        names += [] if self.text_column is None else [self.text_column]
        missing = [name for name in names if name not in table.columns]
        if missing:
            raise FileFormatError(
                table.path,
                f"the model needs the columns {quoted(names)}; {quoted(missing)} "
                f"{'is' if len(missing) == 1 else 'are'} not there",
            )
        if self.text_column is not None:
            return self._text_features(table)
        return np.concatenate([column.transform(table) for column in self.columns], axis=1)

    def _text_features(self, table: Table) -> Matrix:
        from sklearn.feature_extraction.text import TfidfVectorizer

        assert self.text_column is not None
        if self.embedding != "tfidf":
            return TextEmbedder(self.embedding).fit_transform(table.text(self.text_column))
        vectorizer = TfidfVectorizer(
            sublinear_tf=True, strip_accents="unicode", vocabulary=self.words
        )
        vectorizer.idf_ = np.array(self.idf)
        X = vectorizer.transform(table.text(self.text_column)).tocsr()
        empty = np.flatnonzero(np.diff(X.indptr) == 0)
        if len(empty):
            raise FileFormatError(
                table.path,
                f"column {self.text_column!r} has {len(empty):,} texts without a word that the "
                f"model knows (the first in row {int(empty[0]):,}, counted from 0); leave these "
                "rows out",
            )
        return X

    def to_dict(self) -> JsonDict:
        """Plain values, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, kept: JsonDict) -> Preparation:
        """A preparation from such values.

        Parameters
        ----------
        kept : dict
            What `to_dict` returned.
        """
        return cls(**{**kept, "columns": [ColumnPreparation(**one) for one in kept["columns"]]})
