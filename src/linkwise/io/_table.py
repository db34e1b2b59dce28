"""Read a table of named columns from a file, without pandas.

Entry points: `read_table` (CSV, TSV, Excel, Parquet, NPY, NPZ), `as_table` (frames and other tables
in memory) and the `Table` they return. Reading takes time linear in the size of the file, about 7 s
for a CSV file of 100 MB.
"""

from __future__ import annotations

import difflib
import struct
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwise._errors import InputError
from linkwise._help import see

from ._delimited import MISSING, read_delimited, without_missing
from ._excel import cell_text, read_sheet, typed_cells
from ._formats import (
    DELIMITED,
    EXCEL,
    NUMPY,
    PARQUET,
    FileFormatError,
    listed,
    quoted,
    repeated,
    require_file,
    suffix_of,
)
from ._frames import frame_columns, rows_of_lists
from ._numbers import written_numbers
from ._parquet import arrow_lists, is_date_type, is_list_type, is_number_type, open_parquet
from ._text_column import TextColumn

# What NumPy raises on damaged headers and archives.
_NUMPY_ERRORS = (
    ValueError, TypeError, KeyError, OSError, EOFError, SyntaxError, tokenize.TokenError,
    RecursionError, OverflowError, NotImplementedError, struct.error, zlib.error, MemoryError,
)  # fmt: skip


Columns: TypeAlias = dict[str, NDArray]


@dataclass
class _Found:
    """What a reader found in a file or frame.

    Attributes
    ----------
    columns, cells : dict
        As in `Table`; columns of lists stand in `cells` once and in `columns` once per place.
    lists : dict of str to tuple of str
    notes, unreadable : dict of str to str
    """

    columns: Columns = field(default_factory=dict)
    cells: dict[str, Any] = field(default_factory=dict)
    lists: dict[str, tuple[str, ...]] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)

    def add_rows_of_lists(self, name: str, rows: NDArray[np.float64]) -> None:
        """Add a column whose cells are lists of numbers: one column per place."""
        places = tuple(f"{name}[{place}]" for place in range(rows.shape[1]))
        self.lists[name] = places
        self.columns.update(zip(places, np.ascontiguousarray(rows.T), strict=True))

    def add_values(self, name: str, values: Sequence[Any], missing: Sequence[str]) -> None:
        """Add a column of Python values: numbers, dates, text or lists of numbers."""
        self.cells[name] = values
        if any(isinstance(value, list | tuple | np.ndarray) for value in values):
            try:
                self.add_rows_of_lists(name, rows_of_lists(values))
            except ValueError as error:
                self.unreadable[name] = str(error)
            return
        gaps = [_is_gap(value, missing) for value in values]
        kept = [None if gap else value for value, gap in zip(values, gaps, strict=True)]
        self.columns[name], note = typed_cells(kept)
        if note is not None:
            self.notes[name] = note


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
    notes : dict of str to str
        How columns of dates, percentages, currency or decimal commas were read as numbers.
    lists : dict of str to tuple of str
        Columns whose cells are lists of numbers, such as embeddings, and the columns that they
        became: ``e`` is ``e[0]``, ``e[1]`` and so on.
    unreadable : dict of str to str
        Columns that cannot be used, and why.
    encoding : str or None
        Encoding of a text file, if it was given.

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

    columns: Columns
    path: Path
    # What the cells looked like in the file, in whatever form the reader keeps them: "007" is an
    # id and must not come back as 7.0.
    _cells: Mapping[str, Any] = field(repr=False)
    notes: Mapping[str, str] = field(default_factory=dict)
    lists: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unreadable: Mapping[str, str] = field(default_factory=dict)
    encoding: str | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self.columns.values())))

    @property
    def numeric_names(self) -> list[str]:
        """Names of the columns that hold numbers."""
        return [name for name, column in self.columns.items() if column.dtype != object]

    @property
    def original(self) -> dict[str, Any]:
        """The columns as they are in the file, with lists in one column, for writing."""
        return {name: _for_file(cells) for name, cells in self._cells.items()}

    def folded(self, names: Iterable[str]) -> list[str]:
        """The inverse of `expanded`: columns of lists by their own name, each once.

        Parameters
        ----------
        names : sequence of str
            Names of columns.
        """
        lists = {own: name for name, places in self.lists.items() for own in places}
        return list(dict.fromkeys(lists.get(name, name) for name in names))

    def expanded(self, names: Iterable[str]) -> list[str]:
        """Names of columns, with a column of lists replaced by those that it became.

        Parameters
        ----------
        names : sequence of str
            Names of columns.
        """
        return [own for name in names for own in self.lists.get(name, (name,))]

    def column(self, name: str) -> NDArray:
        """Return the column called `name`; ValueError if there is none.

        Parameters
        ----------
        name : str
            Name of the column.
        """
        if name in self.unreadable:
            raise FileFormatError(self.path, f"column {name!r} {self.unreadable[name]}")
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
        if name in self.lists:
            return np.array([str(list(row)) for row in self.matrix([name])], dtype=object)
        column = self.column(name)
        return _as_text(self._cells.get(name, column))

    def cells(self, name: str) -> Sequence[str]:
        """A column as text, like `text`, that is decoded only where it is read.

        Parameters
        ----------
        name : str
            Name of the column.
        """
        if name in self.lists:
            return list(self.text(name))
        column = self.column(name)
        numbers = None if column.dtype == object else column
        return TextColumn(self._cells.get(name, column), _as_text, numbers)

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
        chosen = self.numeric_names if names is None else self.expanded(names)
        if not chosen:
            raise ValueError(
                f"{self.path}: no columns of numbers; the columns are {quoted(self.columns)}"
            )
        for name in chosen:
            if self.column(name).dtype == object:
                raise ValueError(self._not_numbers(name))
        return np.column_stack([self.columns[name] for name in chosen])

    def _unknown(self, name: str) -> str:
        there = list(self._cells)
        close = difflib.get_close_matches(str(name), there, n=1, cutoff=0.5)
        hint = f"; did you mean {close[0]!r}?" if close else "."
        return f"{self.path}: no column {name!r}{hint} The columns are {quoted(there)}" + see(
            "data"
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
            f"Columns of numbers: {quoted(self.folded(self.numeric_names))}"
        )


def read_table(
    path: str | Path, *, missing: Sequence[str] = (), encoding: str | None = None,
    sheet: str | None = None,
) -> Table:  # fmt: skip
    r"""Read a CSV, TSV, Excel, Parquet, NPY or NPZ file into named columns.

    Parameters
    ----------
    path : str or Path
        The suffix decides the format: ``.csv``, ``.tsv``, ``.tab``, ``.txt`` (all may end in
        ``.gz``), ``.xlsx``, ``.parquet``, ``.pq``, ``.npy`` or ``.npz``.
    missing : sequence of str, default=()
        More cells that stand for a missing value, such as ``"?"`` or ``"-999"``.
    encoding : str, default=None
        Encoding of a text file, such as ``"cp1252"`` for files of Windows; UTF-8 if not given.
    sheet : str, default=None
        Sheet of an Excel workbook; the first one with cells if not given.

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

    A column of text is read as numbers if all its cells are dates (days since 1970-01-01),
    percentages, amounts of money, or numbers with decimal commas or groups of three digits;
    `Table.notes` tells so. `Table.text` has the cells as they were.

    A column of lists of numbers of equal length, such as embeddings in a Parquet file, becomes one
    column per place, see `Table.lists`.

    Parquet needs pyarrow (``pip install 'linkwise[parquet]'``), Excel openpyxl
    (``pip install 'linkwise[excel]'``).

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
    marks = (*MISSING, *missing)
    found = _read(path, marks, encoding, sheet)
    for name in found.cells:
        if name in found.columns and found.columns[name].dtype == object:
            _read_as_numbers(found, name, marks, plain=bool(missing))
    if not found.columns:
        told = [f"column {name!r} {why}" for name, why in found.unreadable.items()]
        raise FileFormatError(path, f"no column can be used: {listed(told)}")
    return Table(
        found.columns, path, found.cells, found.notes, found.lists, found.unreadable, encoding
    )


def _read(path: Path, marks: Sequence[str], encoding: str | None, sheet: str | None) -> _Found:
    suffix = suffix_of(path)
    if encoding is not None and suffix not in DELIMITED:
        raise InputError(f"{{encoding={encoding}}} is for text files; {path.name} has its own")
    if sheet is not None and suffix not in EXCEL:
        raise InputError(f"{{sheet={sheet}}} is for Excel workbooks, not for {path.name}")
    if suffix in DELIMITED:
        columns, cells = read_delimited(path, encoding, marks)
        return _Found(columns, dict(cells))
    if suffix in EXCEL:
        return _read_excel(path, sheet, marks)
    if suffix in PARQUET:
        return _read_parquet(path)
    if suffix in NUMPY:
        return _Found(*_read_numpy(path))
    known = ", ".join((*DELIMITED, *EXCEL, *PARQUET, *NUMPY))
    raise FileFormatError(
        path,
        f"cannot read files of the kind {suffix or path.name!r}; "
        f"save the data as one of {known} (text also as .gz)",
    )


def _read_as_numbers(found: _Found, name: str, marks: Sequence[str], *, plain: bool) -> None:
    """Replace a column of text by numbers if its cells are such to people."""
    cells = without_missing(found.columns[name], marks)
    found.columns[name] = cells
    numbers = written_numbers(cells.tolist(), plain=plain)
    if numbers is not None:
        found.columns[name] = numbers.values
        if numbers.note:
            found.notes[name] = numbers.note


# -------------------------------------------------------------------- tables in memory


def as_table(frame: object, *, missing: Sequence[str] = ()) -> Table:
    """Named columns of a table in memory, for `prepare_features` and `prepare_text`.

    Parameters
    ----------
    frame : object
        A DataFrame of pandas or polars (also lazy), an Arrow table, a DuckDB relation, a Hugging
        Face dataset, an AnnData object (the columns of ``obs``, and the arrays of ``obsm`` as
        columns of lists) or a dict of columns.
    missing : sequence of str, default=()
        Cells of text that stand for a missing value.

    Returns
    -------
    table : Table

    Examples
    --------
    >>> from linkwise.datasets import as_table
    >>> table = as_table({"when": ["2024-01-01", "2024-01-03"], "e": [[1, 2], [3, 4]]})
    >>> table.matrix(["e"])
    array([[1., 2.],
           [3., 4.]])
    >>> table.notes
    {'when': 'dates are read as days since 1970-01-01'}
    """
    marks = (*MISSING, *missing)
    found = _Found()
    for name, values in frame_columns(frame).items():
        if isinstance(values, np.ndarray) and values.ndim == 2:
            found.cells[name] = list(values)
            found.add_rows_of_lists(name, values.astype(np.float64))
        elif isinstance(values, np.ndarray) and values.dtype.kind in "fiub":
            found.cells[name] = values
            found.columns[name] = values.astype(np.float64)
        else:
            found.add_values(name, list(values), marks)
            if name in found.columns and found.columns[name].dtype == object:
                _read_as_numbers(found, name, marks, plain=bool(missing))
    if not found.columns or not len(next(iter(found.columns.values()))):
        raise InputError(f"the {type(frame).__name__} has no rows or no columns that can be used")
    path = Path(type(frame).__name__)
    return Table(found.columns, path, found.cells, found.notes, found.lists, found.unreadable)


# -------------------------------------------------------------------- other formats


def _read_excel(path: Path, sheet: str | None, marks: Sequence[str]) -> _Found:
    names, columns, _ = read_sheet(path, sheet)
    found = _Found()
    for name, values in zip(names, columns, strict=True):
        found.add_values(name, values, marks)
    return found


def _read_parquet(path: Path) -> _Found:
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
    found = _Found()
    for name, column in zip(table.column_names, table.columns, strict=True):
        numeric = is_number_type(column.type) or str(column.type) == "null"
        if numeric and name.startswith("__index_level_"):
            continue  # pandas' row numbers: not data
        found.cells[name] = column
        try:
            _add_arrow(found, name, column, numeric)
        except (ValueError, NotImplementedError) as error:
            what = f"({error})" if isinstance(error, InputError) else ""
            found.unreadable[name] = (
                f"is of type {column.type}; only numbers, text and lists of numbers of equal "
                f"length can be read {what}".strip()
            )
    return found


def _add_arrow(found: _Found, name: str, column: Any, numeric: bool) -> None:
    if numeric:
        found.columns[name] = column.cast("float64", safe=False).to_numpy()
    elif is_list_type(column.type):
        found.add_rows_of_lists(name, arrow_lists(column))
    elif is_date_type(column.type):
        found.columns[name], note = typed_cells(column.cast("timestamp[us]").to_pylist())
        found.notes[name] = note or ""
    else:
        texts = column.cast("large_string").to_pylist()
        found.columns[name] = np.array(texts, dtype=object)


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


def _is_gap(value: Any, missing: Sequence[str]) -> bool:
    if isinstance(value, str):
        return value.strip() in missing
    return value is None or value != value


def _for_file(cells: Any) -> Any:
    """Cells for writing: text of a CSV file as text, anything else as it is."""
    return _as_text(cells) if isinstance(cells, np.ndarray) and cells.dtype.kind == "S" else cells


def _as_text(cells: Any) -> NDArray[np.object_]:
    if isinstance(cells, list):  # Excel, frames
        return np.array([cell_text(cell) for cell in cells], dtype=object)
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
