"""Columns to files: CSV, TSV, JSON lines, Parquet, Excel. A file is complete or not written."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from ._files import (
    EXCEL,
    JSON_LINES,
    PARQUET,
    FileFormatError,
    atomic_write,
    is_gzip,
    listed,
    suffix_of,
    to_json,
)

_MOST_ROWS = 1_048_576  # of a sheet of Excel, the header line included
# One block of rows, by columns: lists, NumPy arrays or Arrow arrays.
Block = Sequence[Any]


def check_output_format(path: Path, allowed: Sequence[str]) -> None:
    """Refuse a path whose suffix is not among those allowed, before any work is done."""
    suffix = suffix_of(path)
    if suffix not in allowed:
        raise FileFormatError(
            path,
            f"cannot write files of the kind {suffix or path.name!r}; use {listed(allowed)} (text "
            "also with .gz)",
        )
    if is_gzip(path) and suffix in (*PARQUET, *EXCEL, ".npy"):
        raise FileFormatError(path, "only text can be compressed; drop the .gz")


def write_table(path: Path, names: Sequence[str], blocks: Iterable[Block]) -> None:
    """Write columns; the suffix of `path` decides the format.

    Parameters
    ----------
    path : Path
    names : sequence of str
        The names of the columns.
    blocks : iterable of sequences of columns
        Blocks of rows that follow one another; a single block if everything is in memory. A cell
        that is None is left empty.
    """
    suffix = suffix_of(path)
    with atomic_write(path) as file:
        if suffix in PARQUET:
            _write_parquet(file, names, blocks)
            return
        rows = (row for block in blocks for row in zip(*map(_cells, block), strict=True))
        if suffix in EXCEL:
            _write_sheet(file, names, rows)
            return
        with _text(file, compressed=is_gzip(path)) as text:
            if suffix in JSON_LINES:
                text.writelines(_json_line(names, row) for row in rows)
            else:
                delimiter = "\t" if suffix in (".tsv", ".tab") else ","
                writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
                writer.writerow(names)
                writer.writerows(rows)


def _cells(column: Any) -> Sequence[Any]:
    """Python values of a column; NumPy's and Arrow's own types are not what a file should say."""
    return column.tolist() if hasattr(column, "tolist") else column


def _json_line(names: Sequence[str], row: Sequence[Any]) -> str:
    item = {name: cell for name, cell in zip(names, row, strict=True) if cell is not None}
    return to_json(item) + "\n"


@contextmanager
def _text(file: IO[bytes], *, compressed: bool) -> Iterator[IO[str]]:
    # Neither time nor name of the temporary file: the same rows give the same bytes.
    binary = gzip.GzipFile("", "wb", fileobj=file, mtime=0) if compressed else file
    text = io.TextIOWrapper(binary, encoding="utf-8", newline="")
    yield text
    text.flush()
    text.detach()
    if compressed:
        binary.close()


def _write_parquet(file: IO[bytes], names: Sequence[str], blocks: Iterable[Block]) -> None:
    import pyarrow as arrow
    from pyarrow import parquet

    writer = None
    for block in blocks:
        columns = [list(column) if isinstance(column, range) else column for column in block]
        table = arrow.table(dict(zip(names, columns, strict=True)))
        writer = writer or parquet.ParquetWriter(file, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def _write_sheet(file: IO[bytes], names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write one sheet; text that begins like a formula stays text."""
    import openpyxl

    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("clusters")
    sheet.freeze_panes = "A2"
    for number, row in enumerate([names, *rows]):
        if number == _MOST_ROWS:
            raise ValueError(f"a sheet has at most {_MOST_ROWS:,} rows; write .csv or .parquet")
        sheet.append([_safe(openpyxl.cell.WriteOnlyCell, sheet, cell) for cell in row])
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
