"""A column of a table as text, decoded when it is read: strings take ten times the memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

_AT_ONCE = 4096  # cells decoded together

# Cells as text, from whatever form the reader keeps them in.
Decode = Callable[[Any], NDArray[np.object_]]


class TextColumn(Sequence[str]):
    """Cells of a column as text.

    Parameters
    ----------
    cells : array or sequence
        The cells in the form that the reader keeps.
    decode : callable
        Makes text of a part of `cells`.
    numbers : ndarray, default=None
        The same cells as numbers, where they are numbers.
    """

    def __init__(self, cells: Any, decode: Decode, numbers: NDArray[np.float64] | None = None):
        self._cells, self._decode, self.numbers = cells, decode, numbers

    def __len__(self) -> int:
        return len(self._cells)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        if isinstance(at, slice):
            return list(self._decode(self._cells[at]).tolist())
        row = range(len(self))[at]
        cell = self._cells[row]
        if isinstance(cell, bytes):  # of a CSV file: a hundred times faster than by array
            return cell.decode("utf-8")
        return str(self._decode(self._cells[row : row + 1])[0])

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), _AT_ONCE):
            yield from self[start : start + _AT_ONCE]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self._decode(self._cells), dtype=dtype)
