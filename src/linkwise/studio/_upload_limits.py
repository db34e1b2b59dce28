"""Limits of uploaded files after decompression, checked before they are read into memory."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path
from typing import Any

from linkwise._errors import InputError
from linkwise.tables import EXCEL, NUMPY, PARQUET, suffix_of

# A table needs about six times its text in memory: 500 MB stay below 4 GB.
MOST_BYTES = 500 * 1024**2
# A sheet is read cell by cell, about 3 MB of its XML per second: half a minute.
MOST_SHEET_BYTES = 100 * 1024**2
# 20,000 columns took 24 seconds to be listed on the start page.
MOST_COLUMNS = 5_000


def check_upload(path: Path) -> None:
    """Refuse a table that would take too much memory or time, naming the limit."""
    if path.is_dir():
        return
    most = MOST_SHEET_BYTES if suffix_of(path) in EXCEL else MOST_BYTES
    if _size(path, most) > most:
        raise InputError(
            f"{path.name}: more than {most // 1024**2:,} MB when decompressed, the most that can "
            "be uploaded; name the file by its path on this machine, or take a sample"
        )
    n_columns = _n_columns(path)
    if n_columns > MOST_COLUMNS:
        raise InputError(
            f"{path.name}: {n_columns:,} columns; at most {MOST_COLUMNS:,} can be uploaded"
        )


def _size(path: Path, most: int, block_size: int = 1024**2) -> int:
    """Bytes after decompression; counting stops beyond `most`."""
    if path.suffix.lower() == ".gz":
        size = 0
        with gzip.open(path) as file:
            while size <= most and (block := file.read(block_size)):
                size += len(block)
        return size
    if suffix_of(path) in PARQUET:
        return sum(group.total_byte_size for group in _row_groups(path))
    if zipfile.is_zipfile(path):  # Excel, NPZ
        with zipfile.ZipFile(path) as file:
            return sum(entry.file_size for entry in file.infolist())
    return path.stat().st_size


def _row_groups(path: Path) -> list[Any]:
    import pyarrow.parquet as pq

    about = pq.ParquetFile(path).metadata
    return [about.row_group(number) for number in range(about.num_row_groups)]


def _n_columns(path: Path) -> int:
    """Columns of a text file, by the commonest separator of its first line; 0 for other files."""
    if suffix_of(path) in (*PARQUET, *NUMPY, *EXCEL):
        return 0
    with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as file:
        line = file.readline(1024**2)
    return 1 + max(line.count(separator) for separator in (b",", b";", b"\t", b"|"))
