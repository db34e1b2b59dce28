"""Records as people see them: fields, differences, images."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from linkwise._types import JsonDict, Matrix, PathLike
from linkwise.tables import Preparation

from ._columns import IMAGES
from ._passages import Part, Vocabulary, mark_words

_PASSAGE = 60  # letters of a line in the panel; longer fields are texts
_DATE = re.compile(r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}(?!\d)")


class Scale(NamedTuple):
    """The numbers of a column and the range they are in."""

    values: NDArray[np.float64]
    low: float
    high: float

    def place(self, row: int) -> float | None:
        """Position of a row between the minimum (0) and the maximum (1)."""
        value = self.values[row]
        if not np.isfinite(value):
            return None
        return float((value - self.low) / (self.high - self.low))


@dataclass(frozen=True, eq=False)
class Records:
    """The rows as people see them: fields and images.

    Parameters
    ----------
    columns : mapping of str to sequence
        The cells of each column that is shown. They are shown as text, never as markup.
    features : sequence of str, default=()
        Names of the columns of the data that is clustered.
    image_column : str, default=None
        Column with file names of images.
    image_folder : str or path, default=None
        Folder below which the images are. Nothing outside of it is ever shown.
    recipe : str, default=""
        Lines of Python that make ``X`` and ``ids``.
    units : ndarray or CSR matrix of shape (n_rows, n_features), default=None
        The data in units that people know, for words on clusters, where that which is clustered
        was standardized.
    others : mapping of str to sequence, default={}
        Columns that are not shown, for the file that is taken home.
    preparation : Preparation, default=None
        How columns become features, for the saved model.
    numbers : mapping of str to ndarray, default={}
        Columns that are numbers, though their cells may read "12 %" or "1.5.2024".

    Examples
    --------
    >>> from linkwise.studio import Records
    >>> records = Records({"kind": ["cat", "dog"], "legs": [4, 4]})
    >>> [field["name"] for field in records.compare(0, 1) if field["differs"]]
    ['kind']
    """

    columns: Mapping[str, Sequence[object] | NDArray]
    features: Sequence[str] = ()
    image_column: str | None = None
    image_folder: PathLike | None = None
    recipe: str = ""
    units: Matrix | None = None
    others: Mapping[str, Sequence[object] | NDArray] = field(default_factory=dict)
    preparation: Preparation | None = None
    numbers: Mapping[str, NDArray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if (self.image_column is None) != (self.image_folder is None):
            raise ValueError("images need both a column with file names and the folder they are in")
        if self.image_column is not None and self.image_column not in self.columns:
            raise ValueError(
                f"image column {self.image_column!r}: expected one of {', '.join(self.columns)}"
            )
        if self.image_folder is not None and not Path(self.image_folder).is_dir():
            raise ValueError(f"image folder {self.image_folder}: there is no such folder")

    @classmethod
    def of(
        cls,
        given: Records | Mapping[str, Sequence[object]] | None,
        X: Matrix,
        features: Sequence[str] | None = None,
    ) -> Records:
        """Records from Records, a DataFrame, columns, or the data itself.

        Parameters
        ----------
        given : Records, DataFrame, mapping of str to sequence, or None
        X : ndarray or CSR matrix of shape (n_rows, n_features)
        features : sequence of str, default=None
            Names of the columns of `X`.
        """
        if isinstance(given, Records):
            return given
        names = [f"x{place}" for place in range(X.shape[1])] if features is None else list(features)
        if len(names) != X.shape[1]:
            raise ValueError(f"{len(names)} names of features for {X.shape[1]} columns of data")
        if given is None:
            return cls(_columns_of(X, names), names)
        columns = {str(name): list(given[name]) for name in given}
        for name, cells in columns.items():
            if len(cells) != X.shape[0]:
                raise ValueError(f"records: {len(cells):,} cells in {name!r} for {X.shape[0]} rows")
        return cls(columns, names)

    @property
    def shown(self) -> list[str]:
        """Names of the columns that are shown as text."""
        return [name for name in self.columns if name != self.image_column]

    @property
    def all_columns(self) -> dict[str, Sequence[object] | NDArray]:
        """All columns of the data, hidden ones last."""
        return {**self.columns, **self.others}

    def fields(self, row: int) -> dict[str, str]:
        """The fields of a row as text.

        Parameters
        ----------
        row : int
            Row number.
        """
        return {name: str(self.columns[name][row]) for name in self.shown}

    def compare(self, i: int, j: int) -> list[JsonDict]:
        """The fields of two rows side by side, with what differs.

        Parameters
        ----------
        i, j : int
            Row numbers.
        """
        return [self.compare_field(name, i, j) for name in self.shown]

    def texts(self, name: str, *rows: int) -> list[str]:
        """Cells of a column as text.

        Parameters
        ----------
        name : str
            Name of the column.
        *rows : int
            Row numbers.
        """
        return [str(self.columns[name][row]) for row in rows]

    def compare_field(self, name: str, i: int, j: int) -> JsonDict:
        """A field of two rows, with what differs.

        Parameters
        ----------
        name : str
            Name of the column.
        i, j : int
            Row numbers.
        """
        one, two = self.texts(name, i, j)
        passage = max(len(one), len(two)) > _PASSAGE
        left: list[Part] = [(one, "")]
        right: list[Part] = [(two, "")]
        if passage:
            left, right = mark_words(one, two, self._vocabulary(name))
        scale = self._scales.get(name)
        places = None if scale is None else [scale.place(i), scale.place(j)]
        return {
            "name": name,
            "texts": [one, two],
            "differs": one != two,
            "far": one != two and _is_far(places),
            "passage": passage,
            "a": left,
            "b": right,
            "places": places,
        }

    def numbers_of(self, name: str) -> NDArray[np.float64] | None:
        """The cells of a column as numbers; None if they are none.

        Parameters
        ----------
        name : str
            Name of the column.
        """
        scale = self._scales.get(name)
        return None if scale is None else scale.values

    @cached_property
    def dates(self) -> frozenset[str]:
        """Columns of numbers whose cells are dates: days since 1970-01-01."""
        return frozenset(
            name
            for name in self.numbers
            if name in self.columns and _DATE.match(_first_given(self.columns[name]))
        )

    def _vocabulary(self, name: str) -> Vocabulary:
        if name not in self._vocabularies:
            self._vocabularies[name] = Vocabulary(self.columns[name])
        return self._vocabularies[name]

    @cached_property
    def _vocabularies(self) -> dict[str, Vocabulary]:
        return {}

    @cached_property
    def _scales(self) -> dict[str, Scale]:
        return {name: scale for name in self.shown if (scale := self._scale(name)) is not None}

    def _scale(self, name: str) -> Scale | None:
        cells = self.columns[name]
        values = self.numbers[name] if name in self.numbers else _numbers(cells)
        if values is None or not np.isfinite(values).any():
            return None
        low, high = float(np.nanmin(values)), float(np.nanmax(values))
        return Scale(values, low, high) if np.isfinite(high - low) and high > low else None

    @cached_property
    def passages(self) -> list[str] | None:
        """The words of each row, where there are columns of text; else None."""
        names = [name for name in self.shown if _is_prose(self.columns[name])]
        if not names:
            return None
        rows = zip(*(self.columns[name] for name in names), strict=True)
        return [" ".join(map(str, cells)) for cells in rows]

    def image(self, row: int) -> Path | None:
        """The image file of a row; None if there is none, or if it is not below the folder.

        Parameters
        ----------
        row : int
            Row number.
        """
        if self.image_column is None or self.image_folder is None:
            return None
        folder = Path(self.image_folder).resolve()
        try:
            path = (folder / str(self.columns[self.image_column][row])).resolve()
            allowed = path.is_relative_to(folder) and path.suffix.lower() in IMAGES
            return path if allowed and path.is_file() else None
        except (OSError, ValueError):  # a name that no file can have
            return None


def _columns_of(X: Matrix, names: Sequence[str]) -> dict[str, list[str]]:
    if not hasattr(X, "indptr"):
        return {name: [f"{cell:.6g}" for cell in X[:, k].tolist()] for k, name in enumerate(names)}
    return {"features": [_strongest(X[row], names) for row in range(X.shape[0])]}


def _strongest(row: sparse.csr_matrix, names: Sequence[str]) -> str:
    """The largest entries of a sparse row, as text."""
    order = np.argsort(-np.abs(row.data), kind="stable")[:12]
    return ", ".join(f"{names[row.indices[k]]} {row.data[k]:.3g}" for k in order.tolist())


def _is_far(places: list[float | None] | None) -> bool:
    """Whether a numerical difference is at least a fifth of the range of the column."""
    if places is None or places[0] is None or places[1] is None:
        return True
    return abs(places[0] - places[1]) >= 1 / 5


def _first_given(cells: Sequence[object] | NDArray) -> str:
    return next((text for cell in cells if (text := str(cell).strip())), "")


def _numbers(cells: Sequence[object] | NDArray) -> NDArray[np.float64] | None:
    with contextlib.suppress(TypeError, ValueError):  # fast, where no cell is empty
        return np.asarray(cells, dtype=object).astype(np.float64)
    try:
        return np.array([np.nan if str(cell).strip() == "" else float(str(cell)) for cell in cells])
    except (TypeError, ValueError):
        return None


def _is_prose(cells: Sequence[object] | NDArray, n_looked_at: int = 200) -> bool:
    """Whether cells have more than three words on average."""
    some = [str(cell) for cell in cells[:n_looked_at]]
    return sum(len(cell.split()) for cell in some) > 3 * len(some)
