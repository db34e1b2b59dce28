"""Read delimited text (CSV and its kin) column by column.

Entry points: `read_delimited`, and `line_of_row` for messages. Cells go from `csv.reader` into byte
arrays block by block, so that at most one block is held as Python strings; numbers are parsed
column by column.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwise._help import see

from ._formats import FileFormatError, listed, quoted, repeated
from ._text import read_text

MISSING = ("", "NA", "N/A", "NaN", "nan", "NAN", "null", "NULL")

_DELIMITERS = ",\t;|"
# Rows held as lists at once: fewer than the 700 new objects after which Python looks for garbage,
# which would take as long as reading.
_BLOCK_ROWS = 500
# A longer cell is text for certain; as fixed-width bytes a block of such cells would be huge.
_LONGEST_NUMBER = 64
_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")


def read_delimited(
    path: Path, encoding: str | None = None, missing: Sequence[str] = MISSING
) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
    """Read a text file with a header line.

    Parameters
    ----------
    path : Path
    encoding : str, default=None
        UTF-8 if not given.
    missing : sequence of str
        Cells that stand for a missing value.

    Returns
    -------
    columns : dict of str to ndarray
        float64, or objects (str, None where missing).
    cells : dict of str to ndarray
        The cells as in the file, as bytes or as objects.
    """
    text = _checked_text(path, encoding)
    delimiter = _delimiter(text)
    rows = filter(None, _rows(text, delimiter))  # a blank line is an empty row
    try:
        header = [name.strip() for name in next(rows)]
        _check_header(path, header)
        blocks: list[list[NDArray]] = [[] for _ in header]
        for block in _blocks(rows, len(header)):
            for parts, cells in zip(blocks, block, strict=True):
                parts.append(_packed(cells))
    except _RaggedError:
        raise _ragged(path, text, delimiter) from None
    except csv.Error as error:
        raise _unreadable(path, text, delimiter, error) from None
    if not blocks[0]:
        raise FileFormatError(path, "the file has a header line but no rows below it" + see("data"))
    columns: dict[str, NDArray] = {}
    raw: dict[str, NDArray] = {}
    for name, parts in zip(header, blocks, strict=True):
        columns[name], raw[name] = _typed(_joined(parts), missing, decimal_comma=delimiter == ";")
    return columns, raw


# -------------------------------------------------------------------- header and rows


def _checked_text(path: Path, encoding: str | None) -> str:
    text = read_text(path, encoding)
    if not text.strip():
        raise FileFormatError(path, "the file is empty" + see("data"))
    return text


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
    if "" in names:
        raise FileFormatError(
            path,
            f"line 1: column {list(names).index('') + 1} has no name; give it one in the header "
            "line, such as 'id' for row numbers, or remove the column",
        )
    # Without a header, decimal commas may pass for the delimiter: 5,1;3,5 is 5 and 1;3 and 5 then.
    parts = re.split(f"[{_DELIMITERS}]", ",".join(names))
    if all(_NUMBER.fullmatch(part.strip()) for part in parts) and not _counts_up(names):
        raise FileFormatError(path, _headless(names))


def _counts_up(names: Sequence[str]) -> bool:
    """Whether the names are 0, 1, 2, ..., as pandas writes them for a frame without names.

    A single 0 does not count: it is more likely the first of a column of labels.
    """
    return len(names) > 1 and list(names) == [str(place) for place in range(len(names))]


def _headless(names: Sequence[str]) -> str:
    shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
    what = (
        f"line 1 holds only numbers ({shown}), so it looks like data and the header line is "
        "missing; add a line of names above it"
    )
    if all(map(str.isdigit, names)):  # years, say
        what += f" (or, if these are the names, put a letter before each: x{names[0]})"
    return what


class _RaggedError(Exception):
    """Some line has too many or too few cells; a second pass finds out which."""


def _blocks(rows: Iterator[list[str]], width: int) -> Iterator[list[tuple[str, ...]]]:
    """Yield the cells of some hundred rows at a time, as columns."""
    while block := list(islice(rows, _BLOCK_ROWS)):
        try:
            columns = list(zip(*block, strict=True))
        except ValueError:
            raise _RaggedError from None
        if len(columns) != width:
            raise _RaggedError
        yield columns


# -------------------------------------------------------------------- cells to columns


def _packed(cells: Sequence[str]) -> NDArray:
    """Hold cells as bytes if they might be numbers (a fifth of the memory), else as objects."""
    if max(map(len, cells)) <= _LONGEST_NUMBER:
        try:
            return np.array(cells, dtype="S")
        except UnicodeEncodeError:
            pass
    return np.array(cells, dtype=object)


def _joined(parts: list[NDArray]) -> NDArray:
    if any(part.dtype == object for part in parts):
        parts = [_unpacked(part) for part in parts]
    return np.concatenate(parts)


def _unpacked(cells: NDArray) -> NDArray[np.object_]:
    return cells if cells.dtype == object else np.char.decode(cells, "ascii").astype(object)


def _typed(
    cells: NDArray, missing: Sequence[str], *, decimal_comma: bool
) -> tuple[NDArray, NDArray]:
    """Turn cells into numbers if all of them are, else into text; and keep the cells for `text`."""
    if cells.dtype != object:
        numbers = _numbers(cells, missing)
        if numbers is None and decimal_comma and b"." not in cells.tobytes():
            numbers = _numbers(np.char.replace(cells, b",", b"."), missing)
        if numbers is not None:
            return numbers, cells
    cells = _unpacked(cells)
    return without_missing(cells, missing), cells


def without_missing(cells: NDArray[np.object_], missing: Sequence[str]) -> NDArray[np.object_]:
    """Cells of text, None where one stands for a missing value."""
    gone = np.isin(np.array([(cell or "").strip() for cell in cells], dtype=object), missing)
    if not gone.any():
        return cells
    column = cells.copy()
    column[gone] = None
    return column


def _numbers(cells: NDArray[np.bytes_], missing: Sequence[str]) -> NDArray[np.float64] | None:
    if b"_" in cells.tobytes():  # Python reads 1_0 as ten, but in a table it is a name
        return None
    try:
        if not set(missing) - set(MISSING):  # -999 may be read as a number, but stand for a gap
            return cells.astype(np.float64)
    except ValueError:
        pass
    marks = [mark for mark in missing if mark.isascii()]
    gone = np.isin(np.char.strip(cells), np.array(marks, dtype="S"))
    try:
        return np.where(gone, b"nan", cells).astype(np.float64)
    except ValueError:
        return None


# -------------------------------------------------------------------- complaints


def _ragged(path: Path, text: str, delimiter: str) -> ValueError:
    bad: list[str] = []
    width, total, start, rows = 0, 0, 1, _rows(text, delimiter)
    for row in rows:
        width = width or len(row)
        if row and len(row) != width:
            bad.append(f"line {start} has {len(row)}")
        total += bool(row)
        start = rows.line_num + 1  # a quoted cell may run over several lines
    return FileFormatError(
        path,
        f"the header line has {width} cells, but {listed(bad)} "
        f"({len(bad):,} of {total - 1:,} rows). Put cells that contain {delimiter!r} in quotes, "
        "and fill up or remove the other lines",
    )


def _unreadable(path: Path, text: str, delimiter: str, error: csv.Error) -> ValueError:
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


def line_of_row(path: Path, row: int, encoding: str | None = None) -> int:
    """Find the line, counted from 1, in which a row of data begins (rows count from 0)."""
    text = read_text(path, encoding)
    cells, seen, start = _rows(text, _delimiter(text)), -2, 1
    for row_cells in cells:  # blank lines do not count, cells may run over several lines
        seen += bool(row_cells)
        if row_cells and seen == row:
            break
        start = cells.line_num + 1
    return start
