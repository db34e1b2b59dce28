"""Read delimited text (CSV and its kin) column by column.

Entry point: `read_delimited`. Cells go from `csv.reader` into byte arrays a block at a time, so
that no more than one block is ever held as Python strings; numbers are parsed a column at a time.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwise._errors import InputError
from linkwise._help import see

MISSING = ("", "NA", "N/A", "NaN", "nan", "NAN", "null", "NULL")

_DELIMITERS = ",\t;|"
_BLOCK = 20_000
# A longer cell is text for certain; as fixed-width bytes a block of such cells would be huge.
_LONGEST_NUMBER = 64
_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
_SHOWN = 20


def spoil(path: Path, what: str) -> ValueError:
    """Make the error for a file that cannot be used: which one, and what is wrong with it."""
    return InputError(f"{path}: {what}", where=str(path))


def repeated(names: Iterable[str]) -> list[str]:
    """List the names that occur more than once."""
    return [name for name, times in Counter(names).items() if times > 1]


def read_delimited(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]]]:
    """Read a text file with a header line.

    Returns
    -------
    columns : dict of str to ndarray
        float64, or objects (str, None where missing).
    cells : dict of str to ndarray
        The cells as they stand in the file, as bytes or as objects.
    """
    text = _decoded(path)
    delimiter = _delimiter(text)
    rows = filter(None, _rows(text, delimiter))  # a blank line is an empty row
    try:
        header = [name.strip() for name in next(rows)]
        _check_header(path, header)
        blocks: list[list[NDArray[Any]]] = [[] for _ in header]
        for block in _blocks(rows, len(header)):
            for parts, cells in zip(blocks, block, strict=True):
                parts.append(_packed(cells))
    except _RaggedError:
        raise _ragged(path, text, delimiter) from None
    except csv.Error as error:
        raise _unreadable(path, text, delimiter, error) from None
    if not blocks[0]:
        raise spoil(path, "the file has a header line but no rows below it" + see("data"))
    columns: dict[str, NDArray[Any]] = {}
    raw: dict[str, NDArray[Any]] = {}
    for name, parts in zip(header, blocks, strict=True):
        columns[name], raw[name] = _typed(_joined(parts), decimal_comma=delimiter == ";")
    return columns, raw


# -------------------------------------------------------------------- bytes, header, rows


def _decoded(path: Path) -> str:
    data = path.read_bytes()
    if data.startswith(b"\x1f\x8b"):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise spoil(path, f"damaged gzip file ({error}); fetch it again") from None
    if b"\0" in data[:4096]:
        raise spoil(
            path, "binary data, not a text file; save the table as CSV in UTF-8 (not as UTF-16)"
        )
    try:
        text = data.decode("utf-8-sig")  # "-sig": spreadsheets put a byte order mark first
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise spoil(
            path,
            f"line {line} is not UTF-8 (byte 0x{data[error.start]:02x}); save the file as UTF-8 "
            "(in a spreadsheet: 'CSV UTF-8')",
        ) from None
    if not text.strip():
        raise spoil(path, "the file is empty" + see("data"))
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
        shown = ", ".join(map(repr, again[:_SHOWN]))
        raise spoil(
            path,
            f"line 1: more than one column is called {shown}; rename all but one "
            "(or add a header line, if line 1 is data)",
        )
    if "" in names:
        raise spoil(
            path,
            f"line 1: column {list(names).index('') + 1} has no name; give it one in the header "
            "line, such as 'id' for row numbers, or remove the column",
        )
    # Without a header, decimal commas may pass for the delimiter: 5,1;3,5 is 5 and 1;3 and 5 then.
    parts = re.split(f"[{_DELIMITERS}]", ",".join(names))
    if all(_NUMBER.fullmatch(part.strip()) for part in parts) and not _counts_up(names):
        raise spoil(path, _headless(names))


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
    """Some line has too many or too few cells; which ones is found out in a second pass."""


def _blocks(rows: Iterator[list[str]], width: int) -> Iterator[list[tuple[str, ...]]]:
    """Yield the cells of some thousand rows at a time, as columns."""
    while block := list(islice(rows, _BLOCK)):
        try:
            columns = list(zip(*block, strict=True))
        except ValueError:
            raise _RaggedError from None
        if len(columns) != width:
            raise _RaggedError
        yield columns


# -------------------------------------------------------------------- cells to columns


def _packed(cells: Sequence[str]) -> NDArray[Any]:
    """Hold cells as bytes if they might be numbers (a fifth of the memory), else as objects."""
    if max(map(len, cells)) <= _LONGEST_NUMBER:
        try:
            return np.array(cells, dtype="S")
        except UnicodeEncodeError:
            pass
    return np.array(cells, dtype=object)


def _joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    if any(part.dtype == object for part in parts):
        parts = [_unpacked(part) for part in parts]
    return np.concatenate(parts)


def _unpacked(cells: NDArray[Any]) -> NDArray[np.object_]:
    return cells if cells.dtype == object else np.char.decode(cells, "ascii").astype(object)


def _typed(cells: NDArray[Any], *, decimal_comma: bool) -> tuple[NDArray[Any], NDArray[Any]]:
    """Turn cells into numbers if all of them are, else into text; and keep the cells for `text`."""
    if cells.dtype != object:
        numbers = _numbers(cells)
        if numbers is None and decimal_comma and b"." not in cells.tobytes():
            numbers = _numbers(np.char.replace(cells, b",", b"."))
        if numbers is not None:
            return numbers, cells
    cells = _unpacked(cells)
    missing = np.isin(np.array([cell.strip() for cell in cells], dtype=object), MISSING)
    if not missing.any():
        return cells, cells
    column = cells.copy()
    column[missing] = None
    return column, cells


def _numbers(cells: NDArray[np.bytes_]) -> NDArray[np.float64] | None:
    if b"_" in cells.tobytes():  # Python reads 1_0 as ten, but in a table it is a name
        return None
    try:
        return cells.astype(np.float64)
    except ValueError:
        pass
    missing = np.isin(np.char.strip(cells), np.array(MISSING, dtype="S"))
    try:
        return np.where(missing, b"nan", cells).astype(np.float64)
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
    more = f", ... and {len(bad) - _SHOWN:,} more" if len(bad) > _SHOWN else ""
    return spoil(
        path,
        f"the header line has {width} cells, but {', '.join(bad[:_SHOWN])}{more} "
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
    return spoil(path, f"line {start}: cannot be read ({error}): {hint}")
