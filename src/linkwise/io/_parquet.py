"""Parquet files, by way of pyarrow, which is loaded when the first one is opened."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from linkwise._errors import InputError
from linkwise._optional import optional

from ._formats import FileFormatError

if TYPE_CHECKING:
    from pyarrow import ChunkedArray, DataType
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


def is_date_type(kind: DataType) -> bool:
    """Whether a column of this type holds dates, with or without times."""
    types = optional("pyarrow.types", extra="parquet", need="Reading Parquet files")
    return types.is_date(kind) or types.is_timestamp(kind)


def is_list_type(kind: DataType) -> bool:
    """Whether the cells of a column of this type are lists of numbers."""
    types = optional("pyarrow.types", extra="parquet", need="Reading Parquet files")
    tests = (types.is_list, types.is_large_list, types.is_fixed_size_list)
    return any(test(kind) for test in tests) and is_number_type(kind.value_type)


def arrow_lists(column: ChunkedArray) -> NDArray[np.float64]:
    """Cells that are lists of numbers, as an array of shape (n_rows, length of the lists)."""
    compute = optional("pyarrow.compute", extra="parquet", need="Reading Parquet files")
    sizes = compute.list_value_length(column)
    if sizes.null_count:
        raise InputError(f"{sizes.null_count:,} cells are empty")
    least, most = compute.min(sizes).as_py(), compute.max(sizes).as_py()
    if least != most or most == 0:
        raise InputError(f"the lists have {least:,} to {most:,} numbers")
    flat = compute.list_flatten(column).cast("float64", safe=False).to_numpy()
    return flat.reshape(len(column), most)
