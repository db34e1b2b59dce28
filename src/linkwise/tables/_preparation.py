"""How columns of a table became features, kept so that new rows are prepared the same way."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

import numpy as np

from linkwise._types import Floats, Ints, JsonDict

from ._cells import cell_text
from ._embedding import TextEmbedder
from ._files import FileFormatError, quoted
from ._read import Table

WORDS = "words"  # TF-IDF, the alternative to a model of `TextEmbedder`


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
        return self.scaled(block)

    def scaled(self, block: Floats) -> Floats:
        """Features on the scale of the fit."""
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
            value = cell_text(cell).strip()
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


@dataclass(frozen=True)
class TextPreparation:
    """How columns of texts, joined, became features.

    Attributes
    ----------
    columns : list of str
    model : str
        ``"words"`` for TF-IDF, or a model of `TextEmbedder`.
    words : list of str
    idf : list of float
        Weight of each word.
    components : list of list of float
        Latent dimensions that words are projected on.
    weight : float
        Factor of the rows, which have length one without it.
    """

    columns: list[str]
    model: str = WORDS
    words: list[str] = field(default_factory=list)
    idf: list[float] = field(default_factory=list)
    components: list[list[float]] = field(default_factory=list)
    weight: float = 1.0

    def joined(self, table: Table) -> list[str]:
        """The texts of each row of a table."""
        columns = [table.text(name) for name in self.columns]
        return [" ".join(cells) for cells in zip(*columns, strict=True)]

    def embed(self, texts: Sequence[str]) -> tuple[Floats, Ints]:
        """Features of texts, and the rows without a known word, which get the mean of the others.

        All zeros would be a direction of their own for methods that scale rows, and a cluster.
        """
        from sklearn.preprocessing import normalize

        X = self._rows(texts)
        known = X.any(axis=1)
        empty = np.flatnonzero(~known)
        if len(empty) and known.any():
            X[empty] = normalize(X[known].mean(axis=0, keepdims=True))
        return X * self.weight, empty

    def _rows(self, texts: Sequence[str]) -> Floats:
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.preprocessing import normalize

        if self.model != WORDS:
            return TextEmbedder(self.model).fit_transform(texts).astype(np.float64)
        vectorizer = TfidfVectorizer(
            sublinear_tf=True, strip_accents="unicode", vocabulary=self.words
        )
        vectorizer.idf_ = np.array(self.idf)
        X = vectorizer.transform(texts).tocsr()
        return normalize(X @ np.array(self.components).T)


@dataclass(frozen=True)
class Preparation:
    """How a table became features: one entry per column, and one for texts.

    Attributes
    ----------
    columns : list of ColumnPreparation
    text : TextPreparation or None

    Examples
    --------
    >>> from linkwise.tables import Preparation
    >>> from linkwise import table_features
    >>> made = table_features({"kg": [4.0, 20.0], "kind": ["cat", "dog"]}).preparation
    >>> Preparation.from_dict(made.to_dict()) == made
    True
    """

    columns: list[ColumnPreparation] = field(default_factory=list)
    text: TextPreparation | None = None

    def transform(self, table: Table) -> Floats:
        """Features of new rows; columns may come in another order, and others may be there.

        Parameters
        ----------
        table : Table

        Returns
        -------
        X : ndarray of shape (n_rows, n_features)
        """
        names = [column.name for column in self.columns]
        names += [] if self.text is None else self.text.columns
        missing = [name for name in names if name not in table.columns]
        if missing:
            raise FileFormatError(
                table.path,
                f"the model needs the columns {quoted(names)}; {quoted(missing)} "
                f"{'is' if len(missing) == 1 else 'are'} not there",
            )
        blocks = [column.transform(table) for column in self.columns]
        if self.text is None:
            return np.concatenate(blocks, axis=1)
        X, empty = self.text.embed(self.text.joined(table))
        if len(empty):
            warnings.warn(
                f"{len(empty):,} texts have no word that the model knows (the first in "
                f"{table.place_of(int(empty[0]))}); they count as average texts",
                UserWarning,
                stacklevel=2,
            )
        return np.concatenate([*blocks, X], axis=1) if blocks else X

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
        text = kept["text"]
        columns = [ColumnPreparation(**one) for one in kept["columns"]]
        return cls(columns, None if text is None else TextPreparation(**text))
