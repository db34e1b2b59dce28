"""Blocks one after another on this machine: memory holds one of them at a time."""

from __future__ import annotations

import pickle
import shutil
import tempfile
import weakref
from collections.abc import Callable, Hashable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._engine import Block, Work, check_block, check_weight
from ._source import Blocks, drop_pages, new_array

_STATE = 4  # of the spare memory, states may take one part in so many before they go to disk
_BYTES = 20  # of state for each row, at most


class Serial:
    """Works on the blocks of a source one after another; see `Engine`."""

    remembers = False

    def __init__(self, source: Blocks):
        self.source, self.starts, self.is_sparse = source, source.starts, source.is_sparse
        self.d, self.dtype = source.shape[1], source.dtype
        self._weight: Any = None
        self.has_weight = False
        self._prepare: Callable[[Any], Any] | None = None
        self._checked = False

    def weighted(self, weight: Any) -> Serial:
        """The same rows with a weight each."""
        self._weight = check_weight(weight, int(self.starts[-1]))
        self.has_weight = True
        return self

    def prepared(self, prepare: Callable[[Any], Any]) -> Serial:
        """The same rows, each block as `prepare` returns it."""
        self._prepare = prepare
        return self

    def run(
        self, work: Work, common: Any = None, *, states: Any = None,
        own: Sequence[Any] | None = None, which: Sequence[int] | None = None, read: bool = True,
    ) -> list[Any]:  # fmt: skip
        """What `work` says about the blocks."""
        return [
            work(block, None if states is None else states[number], common, extra)
            for number, block, extra in self._each(own, which, read)
        ]

    def begin(self, work: Work, own: Sequence[Any]) -> Any:
        """First states."""
        kept = self._shelf()
        for number, extra in enumerate(own):
            kept[number], _ = work(None, None, None, extra)
        return kept

    def advance(
        self, work: Work, states: Any, common: Any = None, *,
        own: Sequence[Any] | None = None, which: Sequence[int] | None = None,
    ) -> tuple[Any, list[Any]]:  # fmt: skip
        """New states, and the results."""
        kept = self._shelf() if states is None else states
        results = []
        for number, block, extra in self._each(own, which, True):
            state = None if states is None else states[number]
            kept[number], result = work(block, state, common, extra)
            results.append(result)
        return kept, results

    def _each(
        self, own: Sequence[Any] | None, which: Sequence[int] | None, read: bool
    ) -> Iterator[tuple[int, Any, Any]]:
        numbers = list(range(len(self.starts) - 1)) if which is None else list(which)
        extras = [None] * len(numbers) if own is None else own
        parts = self.source.parts(numbers) if read else ((number, None) for number in numbers)
        for (number, X), extra in zip(parts, extras, strict=True):
            yield number, None if X is None else self._block(number, X), extra
        self._checked = self._checked or (read and which is None)

    def _block(self, number: int, X: Any) -> Block:
        first, last = self.starts[number : number + 2]
        weight = np.zeros(0) if self._weight is None else np.asarray(self._weight[first:last])
        if not self._checked:
            check_block(X, weight, int(first))
        if self._prepare is not None:
            X = self._prepare(X)
        return Block(X, np.asarray(weight, dtype=np.float64), None)

    def _shelf(self) -> Any:
        n_blocks = len(self.starts) - 1
        if _STATE * _BYTES * int(self.starts[-1]) <= self.source.spare:
            return [None] * n_blocks
        return _Shelf()

    def column(self, work: Work, states: Any, own: Sequence[Any]) -> NDArray[np.int32]:
        """One int32 for each row: an array, or a mapped one if it would take too much memory."""
        found = new_array((int(self.starts[-1]),), np.int32, self.source.spare / _STATE)
        for number, extra in enumerate(own):
            first, last = self.starts[number : number + 2]
            found[first:last] = work(None, states[number], None, extra)
            drop_pages(found)
        return found

    def locate(self, names: Sequence[Hashable]) -> dict[Hashable, int] | None:
        """Numbers of the rows that have these ids; None if rows have no ids."""
        return self.source.locate(names)

    def close(self) -> None:
        """Nothing is held."""


class _Shelf:
    """States in files of a folder that goes with this object."""

    def __init__(self) -> None:
        self._folder = tempfile.mkdtemp(prefix="linkwise-")
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)

    def _path(self, number: int) -> Path:
        return Path(self._folder, str(number))

    def __getitem__(self, number: int) -> Any:
        with self._path(number).open("rb") as file:
            return pickle.load(file)  # written by this very object

    def __setitem__(self, number: int, state: Any) -> None:
        with self._path(number).open("wb") as file:
            pickle.dump(state, file, protocol=5)
