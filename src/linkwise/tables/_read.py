"""Read a table of named columns from a file or a frame; pandas holds the cells.

Entry points: `read_table`, `as_table` and the `Table` they return. Text files are split by
`csv.reader`, which knows the line of every mistake; Excel, Parquet and JSON lines by pandas.
"""

from __future__ import annotations

import csv
import difflib
import io
import re
import struct
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from linkwise._errors import InputError
from linkwise._help import see
from linkwise._optional import optional

from ._cells import (
    DAYS_NOTE,
    MISSING,
    cell_text,
    days_since_epoch,
    is_gap,
    is_number,
    numbers_of_text,
    thousands,
)
from ._files import (
    DELIMITED,
    EXCEL,
    JSON_LINES,
    NUMPY,
    PARQUET,
    FileFormatError,
    half_of_memory,
    listed,
    quoted,
    repeated,
    require_file,
    suffix_of,
)
from ._text import read_text

if TYPE_CHECKING:
    import pandas as pd
    from pyarrow import DataType
    from pyarrow.parquet import ParquetFile

_DELIMITERS = ",\t;|"
_MOST_ROWS = 1_048_576  # of a sheet of Excel
_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
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
    frame : DataFrame
        The cells as they are in the file: "007" is an id and must not come back as 7.0.
    path : Path
        The file they came from.
    columns : dict of str to ndarray of shape (n_rows,)
        float64 for columns of numbers (missing cells are NaN), objects otherwise (`str`, missing
        cells are None).
    notes : dict of str to str
        How columns of dates, percentages, currency, decimal commas or codes were read.
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
    >>> from linkwise import read_table
    >>> file = pathlib.Path(tempfile.mkdtemp(), "pets.csv")
    >>> _ = file.write_text("id,weight,kind\n007,4.5,cat\n012,,dog\n")
    >>> table = read_table(file)
    >>> table.n_rows, table.numeric_names
    (2, ['weight'])
    >>> table.text("id").tolist()
    ['007', '012']
    >>> table.matrix(["weight"])
    array([[4.5],
           [nan]])
    """

    frame: pd.DataFrame
    path: Path
    columns: dict[str, NDArray] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    lists: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unreadable: Mapping[str, str] = field(default_factory=dict)
    encoding: str | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.frame)

    @property
    def numeric_names(self) -> list[str]:
        """Names of the columns that hold numbers."""
        return [name for name, column in self.columns.items() if column.dtype != object]

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
        self.column(name)
        cells = self.frame[name].tolist() if name in self.frame else self.columns[name].tolist()
        return np.array([cell_text(cell) for cell in cells], dtype=object)

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

    def place_of(self, row: int) -> str:
        """Where a row is in its file: the line for text files, else the row number.

        Parameters
        ----------
        row : int
            Row number, from 0.
        """
        suffix = suffix_of(self.path)
        if suffix in DELIMITED:
            return f"line {_line_of_row(self.path, row, self.encoding):,}"
        if suffix in EXCEL:
            return f"row {row + 2:,} of the sheet"
        return f"row {row:,} (counted from 0)"

    def _unknown(self, name: str) -> str:
        there = [str(own) for own in self.frame]
        close = difflib.get_close_matches(str(name), there, n=1, cutoff=0.5)
        hint = f"; did you mean {close[0]!r}?" if close else "."
        what = f"{self.path}: no column {name!r}{hint} The columns are {quoted(there)}"
        return what + see("data")

    def _not_numbers(self, name: str) -> str:
        first = next(
            (
                f"{cell[:40]!r} in row {row + 1}"
                for row, cell in enumerate(self.columns[name])
                if cell is not None and not is_number(cell)
            ),
            "its numbers are codes, or stored as text",
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
    r"""Read a CSV, TSV, Excel, Parquet, JSON lines, NPY or NPZ file into named columns.

    Parameters
    ----------
    path : str or Path
        The suffix decides the format: ``.csv``, ``.tsv``, ``.tab``, ``.txt``, ``.jsonl`` (all may
        end in ``.gz``), ``.xlsx``, ``.parquet``, ``.pq``, ``.npy`` or ``.npz``.
    missing : sequence of str, default=()
        More cells that stand for a missing value, such as ``"-999"``.
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
    0, 1, 2 and so on, as pandas writes it for columns without names. Blanks after a delimiter do
    not count. Blank lines are read over.

    The cells that pandas takes for missing are missing (empty, ``NA``, ``N/A``, ``NaN``, ``None``,
    ``null``), and ``?`` is.

    The columns of a two-dimensional NumPy array are called x0, x1 and so on. An NPZ file may hold
    one such array, and one-dimensional arrays of the same length that become columns under their
    own names.

    A column of text is read as numbers if all its cells are dates (days since 1970-01-01),
    percentages, amounts of money, or numbers with decimal commas or groups of three digits;
    `Table.notes` tells so. Digits with leading zeros are codes and stay text. `Table.text` has the
    cells as they were.

    A column of lists of numbers of equal length, such as embeddings in a Parquet file, becomes one
    column per place, see `Table.lists`.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from linkwise import read_table
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
    if encoding is not None and suffix not in (*DELIMITED, *JSON_LINES):
        raise InputError(f"{{encoding={encoding}}} is for text files; {path.name} has its own")
    if sheet is not None and suffix not in EXCEL:
        raise InputError(f"{{sheet={sheet}}} is for Excel workbooks, not for {path.name}")
    if suffix in DELIMITED:
        frame, delimiter = _read_delimited(path, encoding)
        return _typed_table(frame, path, missing, encoding, text=True, comma=delimiter == ";")
    if suffix in EXCEL:
        names, columns, _ = read_sheet(path, sheet)
        return _typed_table(_frame(names, columns), path, missing)
    if suffix in PARQUET:
        return _typed_table(_read_parquet(path), path, missing)
    if suffix in JSON_LINES:
        return _typed_table(_read_json(path, encoding), path, missing, encoding)
    if suffix in NUMPY:
        return _typed_table(_read_numpy(path), path, missing)
    known = ", ".join((*DELIMITED, *JSON_LINES, *EXCEL, *PARQUET, *NUMPY))
    raise FileFormatError(
        path,
        f"cannot read files of the kind {suffix or path.name!r}; "
        f"save the data as one of {known} (text also as .gz)",
    )


def _frame(names: Sequence[str], columns: Sequence[Any]) -> pd.DataFrame:
    import pandas as pd

    objects = (pd.Series(cells, dtype=object) for cells in columns)
    return pd.DataFrame(dict(zip(names, objects, strict=True)))


# -------------------------------------------------------------------- types of columns


def _typed_table(
    frame: pd.DataFrame, path: Path, missing: Sequence[str] = (), encoding: str | None = None, *,
    text: bool = False, comma: bool = False,
) -> Table:  # fmt: skip
    """The table of a frame of cells.

    `text` says that the file has text only, so that plain numbers are numbers; `comma` that a
    comma is more likely a decimal comma than a separator of thousands.
    """
    marks = frozenset((*MISSING, *missing))
    columns: dict[str, NDArray] = {}
    notes: dict[str, str] = {}
    lists: dict[str, tuple[str, ...]] = {}
    unreadable: dict[str, str] = {}
    for name in map(str, frame):
        try:
            found, note = _typed(frame[name], marks, text or bool(missing), comma)
        except InputError as error:
            unreadable[name] = str(error)
            continue
        if note:
            notes[name] = note
        if found.ndim == 2:
            lists[name] = tuple(f"{name}[{place}]" for place in range(found.shape[1]))
            columns.update(zip(lists[name], np.ascontiguousarray(found.T), strict=True))
        else:
            columns[name] = found
    if not columns:
        told = [f"column {name!r} {why}" for name, why in unreadable.items()]
        raise FileFormatError(path, f"no column can be used: {listed(told)}")
    if text:
        thousands(frame, columns, notes)
    return Table(frame, path, columns, notes, lists, unreadable, encoding)


def _typed(
    cells: pd.Series, marks: frozenset[str], plain: bool, comma: bool
) -> tuple[NDArray, str]:
    """Numbers, text with None where missing, or rows of lists; and how they were read."""
    kind = cells.dtype.kind
    if kind in "fiub":
        return cells.to_numpy(dtype=np.float64, na_value=np.nan), ""
    if kind == "c":
        raise InputError("is of type complex; only numbers, text and lists of numbers can be read")
    values = cells.tolist()
    if any(isinstance(value, list | tuple | np.ndarray) for value in values):
        return _rows_of_lists(values), ""
    kept = [None if is_gap(value, marks) else value for value in values]
    given = [value for value in kept if value is not None]
    if wrong := next((value for value in given if isinstance(value, dict | set | bytes)), None):
        what = type(wrong).__name__
        raise InputError(f"is of type {what}; only numbers, text and lists of numbers can be read")
    if all(_is_numeric(value) for value in given):
        return np.array([np.nan if v is None else float(v) for v in kept], dtype=np.float64), ""
    if all(hasattr(value, "toordinal") for value in given):
        days = [np.nan if v is None else days_since_epoch(v) for v in kept]
        return np.array(days), DAYS_NOTE
    texts = [None if value is None else cell_text(value) for value in kept]
    found = numbers_of_text(texts, plain=plain, comma=comma)
    if found is None:
        return np.array(texts, dtype=object), ""
    return found


def _is_numeric(value: Any) -> bool:
    from decimal import Decimal

    return isinstance(value, bool | int | float | Decimal | np.number | np.bool_)


def _rows_of_lists(values: Sequence[Any]) -> NDArray[np.float64]:
    """Lists of numbers of equal length as the rows of an array."""
    empty = sum(value is None for value in values)
    if empty:
        raise InputError(f"has {empty:,} empty cells beside lists of numbers")
    sizes = {np.size(value) for value in values}
    if len(sizes) != 1:
        raise InputError(f"has lists of {min(sizes):,} to {max(sizes):,} numbers")
    try:
        return np.array([np.ravel(value) for value in values], dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("has lists of something else than numbers") from None


# -------------------------------------------------------------------- tables in memory


@runtime_checkable
class AnnDataLike(Protocol):
    """What is used of an AnnData object."""

    obs: Any
    obsm: Any
    obs_names: Any


@runtime_checkable
class DatasetLike(Protocol):
    """What is used of a dataset of Hugging Face."""

    column_names: Any
    features: Any

    def with_format(self, kind: str | None) -> Any:
        """The same rows in another form."""


def as_table(frame: object, *, missing: Sequence[str] = ()) -> Table:
    """Named columns of a table in memory, for `table_features`.

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
    >>> from linkwise.tables import as_table
    >>> table = as_table({"when": ["2024-01-01", "2024-01-03"], "e": [[1, 2], [3, 4]]})
    >>> table.matrix(["e"])
    array([[1., 2.],
           [3., 4.]])
    >>> table.notes
    {'when': 'dates are read as days since 1970-01-01'}
    """
    found = _as_frame(frame)
    if not len(found) or not len(found.columns):
        raise InputError(f"the {type(frame).__name__} has no rows or no columns that can be used")
    return _typed_table(found, Path(type(frame).__name__), missing)


def _as_frame(frame: Any) -> pd.DataFrame:
    import pandas as pd

    if isinstance(frame, AnnDataLike):
        lists = {name: list(np.asarray(frame.obsm[name])) for name in frame.obsm}
        return frame.obs.reset_index(drop=True).assign(**lists)
    if isinstance(frame, DatasetLike):
        if isinstance(frame.column_names, Mapping):
            parts = ", ".join(map(repr, frame.column_names))
            raise TypeError(f"a dataset with several parts; give one of them: {parts}")
        frame = dict(frame.with_format(None)[:])
    if isinstance(frame, Mapping):
        return _frame(list(map(str, frame)), [list(cells) for cells in frame.values()])
    frame = frame.collect() if hasattr(frame, "collect") else frame  # polars, lazy
    if hasattr(frame, "to_dict") and hasattr(frame, "get_columns"):  # polars
        return _as_frame(frame.to_dict(as_series=False))
    for convert in ("to_pandas", "df"):  # Arrow; DuckDB
        if hasattr(frame, convert):
            frame = getattr(frame, convert)()
    if not isinstance(frame, pd.DataFrame):
        raise TypeError(
            f"expected a DataFrame, an Arrow table, a Hugging Face dataset, an AnnData object or a "
            f"dict of columns, not {type(frame).__name__}"
        )
    return frame.reset_index(drop=True).rename(columns=str)


# -------------------------------------------------------------------- text


def _read_delimited(path: Path, encoding: str | None) -> tuple[pd.DataFrame, str]:
    text = read_text(path, encoding)
    if not text.strip():
        raise FileFormatError(path, "the file is empty" + see("data"))
    delimiter = _delimiter(text)
    try:
        rows = [row for row in _rows(text, delimiter) if row]  # a blank line is an empty row
    except csv.Error as error:
        raise _unreadable(path, text, delimiter, error) from None
    header = [name.strip() for name in rows[0]]
    _check_header(path, header)
    if len(rows) == 1:
        raise FileFormatError(path, "the file has a header line but no rows below it" + see("data"))
    if any(len(row) != len(header) for row in rows):
        raise _ragged(path, text, delimiter)
    return _frame(header, list(zip(*rows[1:], strict=True))), delimiter


def _rows(text: str, delimiter: str) -> Any:
    return csv.reader(
        io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True, strict=True
    )


def _delimiter(text: str) -> str:
    line = re.search(r"[^\r\n]+", text)
    header = re.sub(r'"[^"]*"', "", line[0] if line else "")  # what is in quotes does not count
    return max(_DELIMITERS, key=header.count)


def _check_header(path: Path, names: Sequence[str]) -> None:
    again = repeated(name for name in names if name)
    if again:
        raise FileFormatError(
            path,
            f"line 1: more than one column is called {quoted(again)}; rename all but one "
            "(or add a header line, if line 1 is data)",
        )
    if "" in names and len(names) > 2 and sum(map(bool, names)) == 1:
        what = f"line 1 has one cell ({max(names)!r}) and looks like a title"
        raise FileFormatError(path, f"{what}; remove it if the names of columns are in line 2")
    if "" in names:
        raise FileFormatError(
            path,
            f"line 1: column {list(names).index('') + 1} has no name; give it one in the header "
            "line, such as 'id' for row numbers, or remove the column",
        )
    # Without a header, decimal commas may pass for the delimiter: 5,1;3,5 is 5 and 1;3 and 5 then.
    parts = re.split(f"[{_DELIMITERS}]", ",".join(names))
    # 0, 1, 2, ... are written by pandas; a single 0 is more likely the first of a column of labels.
    counts_up = len(names) > 1 and list(names) == [str(place) for place in range(len(names))]
    if all(_NUMBER.fullmatch(part.strip()) for part in parts) and not counts_up:
        raise FileFormatError(path, _headless(names))


def _headless(names: Sequence[str]) -> str:
    shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
    what = (
        f"line 1 holds only numbers ({shown}), so it looks like data and the header line is "
        "missing; add a line of names above it"
    )
    if all(map(str.isdigit, names)):  # years, say
        what += f" (or, if these are the names, put a letter before each: x{names[0]})"
    return what


def _ragged(path: Path, text: str, delimiter: str) -> FileFormatError:
    bad: list[str] = []
    widths: list[int] = []
    start, rows = 1, _rows(text, delimiter)
    for row in rows:
        if row and widths and len(row) != widths[0]:
            bad.append(f"line {start} has {len(row)}")
        widths += [len(row)] if row else []
        start = rows.line_num + 1  # a quoted cell may run over several lines
    advice = (
        f"Put cells that contain {delimiter!r} in quotes, and fill up or remove the other lines"
    )
    if len(widths) > 2 and widths[0] < widths[1] and len(set(widths[1:])) == 1:
        advice = "Line 1 looks like a title: remove it if the names of columns are in line 2"
    return FileFormatError(
        path,
        f"the header line has {widths[0]} cells, but {listed(bad)} "
        f"({len(bad):,} of {len(widths) - 1:,} rows). {advice}",
    )


def _unreadable(path: Path, text: str, delimiter: str, error: csv.Error) -> FileFormatError:
    start, rows = 1, _rows(text, delimiter)
    try:
        for _ in rows:
            start = rows.line_num + 1
    except csv.Error:
        pass
    hint = "a quote is opened there and never closed, or text follows a closed one"
    if "field limit" in str(error):
        hint += f"; cells above {csv.field_size_limit():,} characters need Parquet"
    return FileFormatError(path, f"line {start}: cannot be read ({error}): {hint}")


def _line_of_row(path: Path, row: int, encoding: str | None = None) -> int:
    """Find the line, counted from 1, in which a row of data begins (rows count from 0)."""
    text = read_text(path, encoding)
    cells, seen, start = _rows(text, _delimiter(text)), -2, 1
    for row_cells in cells:  # blank lines do not count, cells may run over several lines
        seen += bool(row_cells)
        if row_cells and seen == row:
            break
        start = cells.line_num + 1
    return start


def _read_json(path: Path, encoding: str | None) -> pd.DataFrame:
    import pandas as pd

    text = read_text(path, encoding)
    try:
        frame = pd.read_json(io.StringIO(text), lines=True, dtype=False, convert_dates=False)
    except (ValueError, RecursionError) as error:
        what = f"not a file of JSON lines, one object per line ({error})"
        raise FileFormatError(path, what) from None
    if not len(frame) or not len(frame.columns):
        raise FileFormatError(path, "there are no rows in it")
    return frame.rename(columns=str)


# -------------------------------------------------------------------- Excel


def read_sheet(path: Path, sheet: str | None = None) -> tuple[list[str], list[list[Any]], str]:
    """Names and cells of the columns of a sheet, and the name of the sheet.

    Parameters
    ----------
    path : Path
    sheet : str, default=None
        The first sheet with cells if not given.
    """
    import pandas as pd

    try:
        _check_size(path)
        with pd.ExcelFile(path, engine="openpyxl") as book:
            sheets = [str(name) for name in book.sheet_names]
            if sheet is not None and sheet not in sheets:
                raise FileFormatError(path, f"no sheet {sheet!r}; the sheets are {quoted(sheets)}")
            for name in sheets if sheet is None else [sheet]:
                if (book.book[name].max_row or 0) > _MOST_ROWS:  # as declared in the file
                    what = f"more than {_MOST_ROWS:,} rows, which no sheet of Excel has"
                    raise FileFormatError(path, what)
                cells = pd.read_excel(
                    book, sheet_name=name, header=None, dtype=object, na_filter=False
                )
                cells = cells[(cells != "").any(axis=1)]
                if len(cells):
                    break
    except (FileFormatError, MemoryError, FileNotFoundError, PermissionError):
        raise
    except Exception as error:  # openpyxl raises nearly anything on files that are no workbooks
        raise FileFormatError(path, f"not an Excel workbook that can be read ({error})") from error
    if len(cells) < 2:
        what = "is empty" if not len(cells) else "has a header line but no rows below it"
        raise FileFormatError(path, f"sheet {name!r} {what}; the sheets are {quoted(sheets)}")
    return *_sheet_columns(path, cells), name


def _check_size(path: Path) -> None:
    """Refuse a small file that would unpack to more than the memory holds."""
    with zipfile.ZipFile(path) as archive:
        size = sum(part.file_size for part in archive.infolist())
    if size > half_of_memory():
        raise FileFormatError(
            path,
            f"unpacks to {size / 1e9:,.1f} GB, more than half of the memory; this is no table",
        )


def _sheet_columns(path: Path, cells: pd.DataFrame) -> tuple[list[str], list[list[Any]]]:
    names: list[str] = []
    columns: list[list[Any]] = []
    for place, (name, *column) in enumerate(cells.to_numpy().T.tolist(), 1):
        column = [None if isinstance(cell, str) and cell == "" else cell for cell in column]
        if str(name).strip():
            names.append(str(name).strip())
            columns.append(column)
        elif any(cell is not None for cell in column):
            raise FileFormatError(path, f"column {place} has no name in the header line")
    if again := repeated(names):
        raise FileFormatError(path, f"more than one column is called {quoted(again)}; rename one")
    return names, columns


# -------------------------------------------------------------------- Parquet and NumPy


def open_parquet(path: Path, *, pre_buffer: bool = True, buffer_size: int = 0) -> ParquetFile:
    """Open a Parquet file; options as in pyarrow."""
    parquet = optional("pyarrow.parquet", extra="parquet", need=f"Reading {path.name}")
    try:
        return parquet.ParquetFile(path, pre_buffer=pre_buffer, buffer_size=buffer_size)
    except (ValueError, OSError) as error:  # pyarrow's own errors are subclasses of these
        raise FileFormatError(path, f"not a Parquet file that can be read ({error})") from None


def is_number_type(kind: DataType) -> bool:
    """Whether a column of this Arrow type holds numbers (or truth values)."""
    from pyarrow import types

    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    return any(test(kind) for test in tests)


def _read_parquet(path: Path) -> pd.DataFrame:
    with open_parquet(path) as file:
        try:
            table = file.read()
        except (ValueError, OSError) as error:
            raise FileFormatError(path, f"damaged Parquet file ({error})") from None
    if again := repeated(table.column_names):
        raise FileFormatError(
            path, f"more than one column is called {quoted(again)}; rename all but one"
        )
    if table.num_rows == 0 or table.num_columns == 0:
        raise FileFormatError(path, "there are no rows in it")
    # pandas' own row numbers are not data.
    kept = [name for name in table.column_names if not name.startswith("__index_level_")]
    return table.select(kept).to_pandas(ignore_metadata=True, integer_object_nulls=True)


def _read_numpy(path: Path) -> pd.DataFrame:
    loaded = load_array(path)
    arrays = loaded if isinstance(loaded, dict) else {"": loaded}
    flat = {name: array for name, array in arrays.items() if array.ndim == 1}
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
    for name, column in cells.items():
        if column.dtype.kind not in "fiubUS":
            raise FileFormatError(
                path, f"column {name!r} is of type {column.dtype}; expected numbers or text"
            )
    import pandas as pd

    bytes_ = [name for name, column in cells.items() if column.dtype.kind == "S"]
    return pd.DataFrame(cells | {name: np.char.decode(cells[name], "utf-8") for name in bytes_})


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
