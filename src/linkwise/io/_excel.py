"""Excel workbooks, by way of openpyxl, which is loaded when the first one is opened."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Sequence
from datetime import date, datetime, time
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from linkwise._optional import optional

from ._formats import FileFormatError, quoted, repeated
from ._memory import half_of_memory
from ._numbers import DAYS_NOTE, days_since_epoch

_MOST_ROWS = 1_048_576  # of a sheet, the header line included


def read_sheet(path: Path, sheet: str | None = None) -> tuple[list[str], list[list[Any]], str]:
    """Names and cells of the columns of a sheet, and the name of the sheet.

    Parameters
    ----------
    path : Path
    sheet : str, default=None
        The first sheet with cells if not given.
    """
    excel = optional("openpyxl", extra="excel", need=f"Reading {path.name}")
    try:
        _check_size(path)
        book = excel.load_workbook(path, read_only=True, data_only=True)
        sheets = {own.title: own for own in book.worksheets}
        if sheet is not None and sheet not in sheets:
            raise FileFormatError(path, f"no sheet {sheet!r}; the sheets are {quoted(sheets)}")
        names = [sheet] if sheet is not None else list(sheets)
        found = ((n, r) for n in names if (r := _rows(path, sheets[n])))
        name, rows = next(found, (names[0], []))
        book.close()
    except (FileFormatError, MemoryError, FileNotFoundError, PermissionError):
        raise
    except Exception as error:  # openpyxl raises nearly anything on files that are no workbooks
        raise FileFormatError(path, f"not an Excel workbook that can be read ({error})") from error
    if len(rows) < 2:
        what = "is empty" if not rows else "has a header line but no rows below it"
        raise FileFormatError(path, f"sheet {name!r} {what}; the sheets are {quoted(sheets)}")
    return *_columns(path, rows), name


def _check_size(path: Path) -> None:
    """Refuse a small file that would unpack to more than the memory holds."""
    with zipfile.ZipFile(path) as archive:
        size = sum(part.file_size for part in archive.infolist())
    if size > half_of_memory():
        raise FileFormatError(
            path,
            f"unpacks to {size / 1e9:,.1f} GB, more than half of the memory; this is no table",
        )


def _rows(path: Path, sheet: Any) -> list[tuple[Any, ...]]:
    """Rows with at least one cell, cut or filled up to the width of the header line."""
    if (sheet.max_row or 0) > _MOST_ROWS:  # as declared at the head of the sheet
        raise _too_many_rows(path)
    given = islice(sheet.iter_rows(values_only=True), _MOST_ROWS + 1)
    filled = (row for row in given if any(cell is not None for cell in row))
    if (header := next(filled, None)) is None:
        return []
    width = max(place for place, cell in enumerate(header) if cell is not None) + 1
    # Cut at once: a format on whole rows makes each of them 16,384 cells wide.
    rows = [(*row[:width], *[None] * (width - len(row))) for row in chain([header], filled)]
    if len(rows) > _MOST_ROWS:
        raise _too_many_rows(path)
    return rows


def _too_many_rows(path: Path) -> FileFormatError:
    return FileFormatError(path, f"more than {_MOST_ROWS:,} rows, which no sheet of Excel has")


def _columns(path: Path, rows: list[tuple[Any, ...]]) -> tuple[list[str], list[list[Any]]]:
    names = ["" if cell is None else str(cell).strip() for cell in rows[0]]
    columns = [list(cells) for cells in zip(*rows[1:], strict=True)]
    kept = [(name, cells) for name, cells in zip(names, columns, strict=True) if name]
    nameless = [
        place + 1
        for place, (name, cells) in enumerate(zip(names, columns, strict=True))
        if not name and any(cell is not None for cell in cells)
    ]
    if nameless:
        raise FileFormatError(path, f"column {nameless[0]} has no name in the header line")
    if again := repeated(name for name, _ in kept):
        raise FileFormatError(path, f"more than one column is called {quoted(again)}; rename one")
    return [name for name, _ in kept], [cells for _, cells in kept]


def typed_cells(cells: Sequence[Any]) -> tuple[NDArray, str | None]:
    """Numbers (dates as days), or text with None where missing; and a note on dates."""
    given = [cell for cell in cells if cell is not None]
    if all(isinstance(cell, bool | int | float) for cell in given):
        return np.array([np.nan if c is None else float(c) for c in cells], dtype=np.float64), None
    if all(isinstance(cell, date) for cell in given):
        days = [np.nan if cell is None else days_since_epoch(cell) for cell in cells]
        return np.array(days), DAYS_NOTE
    return np.array([None if c is None else cell_text(c) for c in cells], dtype=object), None


def cell_text(cell: Any) -> str:
    """What a cell shows: whole numbers without ``.0``, midnight without the time."""
    if cell is None:
        return ""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, datetime) and cell.time() == time():
        return cell.date().isoformat()
    return cell.isoformat(sep=" ") if isinstance(cell, datetime) else str(cell)


def write_sheet(file: IO[bytes], names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write one sheet; text that begins like a formula stays text."""
    excel = optional("openpyxl", extra="excel", need="Writing Excel files")
    cell_of = optional("openpyxl.cell", extra="excel", need="Writing Excel files").WriteOnlyCell
    book = excel.Workbook(write_only=True)
    sheet = book.create_sheet("clusters")
    sheet.freeze_panes = "A2"
    for number, row in enumerate([names, *rows]):
        if number == _MOST_ROWS:
            raise ValueError(f"a sheet has at most {_MOST_ROWS:,} rows; write .csv or .parquet")
        sheet.append([_safe(cell_of, sheet, cell) for cell in row])
    book.save(file)


def _safe(cell_of: Any, sheet: Any, value: Any) -> Any:
    if isinstance(value, float) and not np.isfinite(value):
        return None
    if not isinstance(value, str):
        return value
    # Characters that XML does not have would make the file unreadable.
    text = "".join(char for char in value if char >= " " or char in "\t\n")
    if not text.startswith("="):
        return text
    cell = cell_of(sheet, text)
    cell.data_type = "s"
    return cell
