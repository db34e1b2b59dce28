"""Columns of wide files rearranged into blocks of rows, in a temporary file.

A Parquet reader holds pages of every column that it reads: of thousands of columns they take more
memory than a block of rows. `ColumnStore` is written column by column and read block by block.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from linkwise._types import Ints

_HEADROOM = 2**26  # bytes to leave on the disk


class ColumnStore:
    """A matrix in an anonymous file, which disappears with this object.

    Blocks of rows follow one another; within a block, columns do. So both a piece of a column and a
    block of rows are contiguous in the file.

    Parameters
    ----------
    starts : ndarray of shape (n_blocks + 1,)
        First row of each block, and the number of rows.
    n_columns : int
    dtype : dtype
    """

    def __init__(self, starts: Ints, n_columns: int, dtype: np.dtype):
        self._starts, self._n_columns, self._dtype = starts, n_columns, dtype
        need, folder = int(starts[-1]) * n_columns * dtype.itemsize, tempfile.gettempdir()
        free = shutil.disk_usage(folder).free
        if need + _HEADROOM > free:
            raise ValueError(
                f"{n_columns:,} columns are rearranged in a temporary file of {need / 1e6:,.0f} "
                f"MB, but {folder} has {free / 1e6:,.0f} MB free; set TMPDIR to a folder with more "
                "room, raise the memory limit, or write the file in smaller row groups"
            )
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (closed with this object)
        weakref.finalize(self, self._file.close)

    def write(self, column: int, row: int, cells: NDArray) -> None:
        """Write cells of a column, from a row on; they may reach over several blocks."""
        cells = np.ascontiguousarray(cells, dtype=self._dtype)
        while len(cells):
            block = int(np.searchsorted(self._starts, row, side="right")) - 1
            first, last = self._starts[block : block + 2].tolist()
            part = cells[: last - row]
            place = first * self._n_columns + column * (last - first) + (row - first)
            self._file.seek(place * self._dtype.itemsize)
            self._file.write(part.data.cast("B"))
            row, cells = row + len(part), cells[len(part) :]

    def read(self, blocks: Iterable[int]) -> Iterable[tuple[int, NDArray]]:
        """Numbers and rows of blocks."""
        for block in blocks:
            first, last = self._starts[block : block + 2].tolist()
            self._file.seek(first * self._n_columns * self._dtype.itemsize)
            columns = np.empty((self._n_columns, last - first), dtype=self._dtype)
            self._file.readinto(columns.data.cast("B"))
            yield block, np.ascontiguousarray(columns.T)
