"""Read a table of named columns from a file, without pandas.

Entry points: `read_table` (CSV, TSV, Parquet, NPY, NPZ) and the `Table` it returns. Reading takes
time linear in the size of the file, about 7 s for a CSV file of 100 MB.
"""

from __future__ import annotations

import difflib
import struct
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwise._help import see

from ._delimited import read_delimited
from ._formats import (
    DELIMITED,
    NUMPY,
    PARQUET,
    FileFormatError,
    quoted,
    repeated,
    require_file,
    suffix_of,
)
from ._parquet import is_number_type, open_parquet

# What NumPy raises on damaged headers and archives.
_NUMPY_ERRORS = (
    ValueError, TypeError, KeyError, OSError, EOFError, SyntaxError, tokenize.TokenError,
    RecursionError, OverflowError, NotImplementedError, struct.error, zlib.error, MemoryError,
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Table:
    r"""Named columns of equal length, as read from a file.

    Attributes
    ----------
    columns : dict of str to ndarray of shape (n_rows,)
        float64 for columns of numbers (missing cells are NaN), objects otherwise (`str`, missing
        cells are None).
    path : Path
        The file they came from.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from linkwise.datasets import read_table
    >>> file = pathlib.Path(tempfile.mkdtemp(), "pets.csv")
    >>> _ = file.write_text("id,weight,kind\n007,4.5,cat\n012,,dog\n")
    >>> table = read_table(file)
    >>> table.n_rows, table.numeric_names
    (2, ['id', 'weight'])
    >>> table.text("id").tolist()
    ['007', '012']
    >>> table.matrix(["weight"])
    array([[4.5],
           [nan]])
    """

    columns: dict[str, NDArray]
    path: Path
    # What the cells looked like in the file, in whatever form the reader keeps them: "007" is an
    # id and must not come back as 7.0.
    _cells: Mapping[str, Any] = field(repr=False)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self.columns.values())))

    @property
    def numeric_names(self) -> list[str]:
        """Names of the columns that hold numbers."""
        return [name for name, column in self.columns.items() if column.dtype != object]

    def column(self, name: str) -> NDArray:
        """Return the column called `name`; ValueError if there is none.

        Parameters
        ----------
        name : str
            Name of the column.
        """
        try:
            return self.columns[name]
        except KeyError:
            raise ValueError(self._unknown(name)) from None

    def text(self, name: str) -> NDArray[np.object_]:
        """Return a column as text, exactly as in the file; missing is ''.

        Parameters
        ----------
        name : str
            Name of the column.
        """
        self.column(name)
        return _as_text(self._cells[name])

    def matrix(self, names: Sequence[str] | None = None) -> NDArray[np.float64]:
        """Columns side by side as an array of numbers.

        Parameters
        ----------
        names : sequence of str, default=None
            Columns to take; all columns of numbers if not given.

        Returns
        -------
        X : ndarray of shape (n_rows, n_columns)
        """
        chosen = self.numeric_names if names is None else list(names)
        if not chosen:
            raise ValueError(
                f"{self.path}: no columns of numbers; the columns are {quoted(self.columns)}"
            )
        for name in chosen:
            if self.column(name).dtype == object:
                raise ValueError(self._not_numbers(name))
        return np.column_stack([self.columns[name] for name in chosen])

    def _unknown(self, name: str) -> str:
        close = difflib.get_close_matches(str(name), list(self.columns), n=1, cutoff=0.5)
        hint = f"; did you mean {close[0]!r}?" if close else "."
        return (
            f"{self.path}: no column {name!r}{hint} The columns are {quoted(self.columns)}"
            + see("data")
        )

    def _not_numbers(self, name: str) -> str:
        first = next(
            (
                f"{cell[:40]!r} in row {row + 1}"
                for row, cell in enumerate(self.columns[name])
                if cell is not None and not is_number(cell)
            ),
            "its numbers are stored as text",  # a Parquet or NumPy file may do so
        )
        return (
            f"{self.path}: column {name!r} holds text, not numbers: {first}. Choose other columns, "
            "or correct this one; a cell whose value is missing should be empty. "
            f"Columns of numbers: {quoted(self.numeric_names)}"
        )


def read_table(path: str | Path) -> Table:
    r"""Read a CSV, TSV, Parquet, NPY or NPZ file into named columns.

    Parameters
    ----------
    path : str or Path
        The suffix decides the format: ``.csv``, ``.tsv``, ``.tab``, ``.txt`` (all may end in
        ``.gz``), ``.parquet``, ``.pq``, ``.npy`` or ``.npz``.

    Returns
    -------
    table : Table

    Raises
    ------
    FileNotFoundError
        There is no such file.
    ValueError
        The file cannot be read; the message says where and what to do.

    Notes
    -----
    Delimited text is UTF-8 with a header line, which also tells the delimiter: comma, tab,
    semicolon or bar. A first line of numbers only is refused as data without a header, unless it is
    0, 1, 2 and so on, as pandas writes it for columns without names. In files with semicolons a
    decimal comma is understood. Cells that are empty, ``NA``, ``N/A``, ``NaN`` or ``null`` are
    missing. Blanks after a delimiter do not count. Blank lines are read over.

    The columns of a two-dimensional NumPy array are called x0, x1 and so on. An NPZ file may hold
    one such array, and one-dimensional arrays of the same length that become columns under their
    own names.

    Parquet needs pyarrow (``pip install 'linkwise[parquet]'``).

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from linkwise.datasets import read_table
    >>> file = pathlib.Path(tempfile.mkdtemp(), "points.csv")
    >>> _ = file.write_text("x;y;color\n1,5;2;red\n3;NA;blue\n")
    >>> read_table(file).matrix()
    array([[1.5, 2. ],
           [3. , nan]])
    """
    path = Path(path)
    require_file(path)
    if path.stat().st_size == 0:
        raise FileFormatError(path, f"the file is empty{see('data')}")
    suffix = suffix_of(path)
    if suffix in DELIMITED:
        columns, cells = read_delimited(path)
    elif suffix in PARQUET:
        columns, cells = _read_parquet(path)
    elif suffix in NUMPY:
        columns, cells = _read_numpy(path)
    else:
        known = ", ".join((*DELIMITED, *PARQUET, *NUMPY))
        raise FileFormatError(
            path,
            f"cannot read files of the kind {suffix or path.name!r}; "
            f"save the data as one of {known} (text also as .gz)",
        )
    return Table(columns, path, cells)


# -------------------------------------------------------------------- other formats


def _read_parquet(path: Path) -> tuple[dict[str, NDArray], dict[str, Any]]:
    with open_parquet(path) as file:
        try:
            table = file.read()
        except (ValueError, OSError) as error:
            raise FileFormatError(path, f"damaged Parquet file ({error})") from None
    again = repeated(table.column_names)
    if again:
        raise FileFormatError(
            path, f"more than one column is called {quoted(again)}; rename all but one"
        )
    if table.num_rows == 0 or table.num_columns == 0:
        raise FileFormatError(path, "there are no rows in it")
    columns: dict[str, NDArray] = {}
    cells: dict[str, Any] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        numeric = is_number_type(column.type) or str(column.type) == "null"
        if numeric and name.startswith("__index_level_"):
            continue  # pandas' row numbers: not data
        cells[name] = column
        if numeric:
            columns[name] = column.cast("float64", safe=False).to_numpy()
        else:
            columns[name] = _arrow_text(path, name, column)
    return columns, cells


def _arrow_text(path: Path, name: str, column: Any) -> NDArray[np.object_]:
    try:
        return np.array(column.cast("large_string").to_pylist(), dtype=object)
    except (ValueError, NotImplementedError):
        raise FileFormatError(
            path, f"column {name!r} is of type {column.type}; only numbers and text can be read"
        ) from None


def _read_numpy(path: Path) -> tuple[dict[str, NDArray], dict[str, Any]]:
    loaded = load_array(path)
    arrays = {"": loaded} if isinstance(loaded, np.ndarray) else loaded
    flat = {key: array for key, array in arrays.items() if array.ndim == 1 and key}
    wide = [array for array in arrays.values() if array.ndim == 2]
    shapes = ", ".join(f"{key or 'array'} {array.shape}" for key, array in arrays.items())
    lengths = {len(array) for array in (*flat.values(), *wide)}
    if len(wide) != 1 or len(flat) + 1 != len(arrays) or len(lengths) != 1:
        raise FileFormatError(
            path, f"expected one two-dimensional array, rows by columns; the file holds {shapes}"
        )
    if 0 in wide[0].shape:
        raise FileFormatError(path, f"there are no rows in it: {shapes}")
    cells = {f"x{place}": column for place, column in enumerate(wide[0].T)} | flat
    return {name: _array_column(path, name, cell) for name, cell in cells.items()}, cells


def load_array(path: Path) -> Any:
    """The array of an NPY file, memory-mapped, or the arrays of an NPZ file by name.

    A mapped file must be as long as its header claims, so that nothing is allocated for rows that
    are not there.
    """
    try:
        # np.load leaves a damaged archive open, and warns of headers written by Python 2.
        with path.open("rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            if not file.read(4).startswith(b"PK"):
                return np.load(path, mmap_mode="r", allow_pickle=False)
            file.seek(0)
            return dict(np.load(file, allow_pickle=False))
    except (*_NUMPY_ERRORS, zipfile.BadZipFile, RuntimeError) as error:  # also: encrypted
        raise FileFormatError(path, f"not an array that NumPy can read ({error})") from None


def _array_column(path: Path, name: str, cells: NDArray) -> NDArray:
    if cells.dtype.kind in "fiub":
        return cells.astype(np.float64)
    if cells.dtype.kind in "US":
        return _as_text(cells)
    raise FileFormatError(
        path, f"column {name!r} is of type {cells.dtype}; only numbers and text can be read"
    )


# -------------------------------------------------------------------- small helpers


def _as_text(cells: Any) -> NDArray[np.object_]:
    if not isinstance(cells, np.ndarray):  # a column of a Parquet file
        cells = np.array(cells.cast("large_string").to_pylist(), dtype=object)
    if cells.dtype.kind == "S":
        return np.char.decode(cells, "utf-8").astype(object)
    if cells.dtype == object:
        return np.array(["" if cell is None else cell for cell in cells], dtype=object)
    return cells.astype(str).astype(object)


def is_number(cell: str) -> bool:
    """Whether a cell of text is a number; 1_0, which Python reads as ten, is not."""
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell
