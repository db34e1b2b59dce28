"""Parquet files, by way of pyarrow, which is loaded when the first one is opened."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from linkwise._optional import optional

from ._formats import FileFormatError

if TYPE_CHECKING:
    from pyarrow import DataType
    from pyarrow.parquet import ParquetFile


def open_parquet(path: Path, *, pre_buffer: bool = True, buffer_size: int = 0) -> ParquetFile:
    """Open a Parquet file; options as in pyarrow."""
    parquet = optional("pyarrow.parquet", extra="parquet", need=f"Reading {path.name}")
    try:
        return parquet.ParquetFile(path, pre_buffer=pre_buffer, buffer_size=buffer_size)
    except (ValueError, OSError) as error:  # pyarrow's own errors are subclasses of these
        raise FileFormatError(path, f"not a Parquet file that can be read ({error})") from None


def is_number_type(kind: DataType) -> bool:
    """Whether a column of this type holds numbers (or truth values)."""
    types = optional("pyarrow.types", extra="parquet", need="Reading Parquet files")
    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    return any(test(kind) for test in tests)
