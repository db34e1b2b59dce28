"""Blocks one after another on this machine; memory holds one at a time."""

from __future__ import annotations

import pickle
import shutil
import tempfile
import weakref
from collections.abc import Hashable, Iterator, Sequence
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwise._types import Floats, Labels, Matrix

from ._engine import Block, PerBlock, Prepare, States, Work, check_block, check_weight
from ._source import Blocks, drop_pages, new_array

_STATE_SHARE = 4  # states are kept on disk if they take more than 1/4 of the spare memory
_STATE_BYTES = 20  # most bytes of state per row


class Serial:
    """Runs tasks on the blocks of a source one after another; implements `Engine`."""

    keeps_history = False

    def __init__(self, source: Blocks):
        self.source, self.starts, self.is_sparse = source, source.starts, source.is_sparse
        self.d, self.dtype = source.shape[1], source.dtype
        self._weight: Floats | None = None
        self.has_weight = False
        self._prepare: Prepare | None = None
        self._checked = False

    def weighted(self, weight: ArrayLike) -> Serial:
        """Another engine on the same rows with weights."""
        twin = copy(self)
        twin._weight = check_weight(weight, int(self.starts[-1]))
        twin.has_weight = True
        return twin

    def prepared(self, prepare: Prepare) -> Serial:
        """Another engine on the same rows, each block replaced by `prepare(rows)`."""
        twin = copy(self)
        twin._prepare = prepare
        return twin

    def run(
        self, work: Work, shared: object = None, *, states: States | None = None,
        per_block: PerBlock = None, which: Sequence[int] | None = None, read: bool = True,
    ) -> list[Any]:  # fmt: skip
        """Results of `work` on the blocks."""
        return [
            work(block, None if states is None else states[number], shared, extra)
            for number, block, extra in self._each(per_block, which, read)
        ]

    def begin(self, work: Work, per_block: Sequence[object]) -> States:
        """First states."""
        kept = self._new_states()
        for number, extra in enumerate(per_block):
            kept[number], _ = work(None, None, None, extra)
        return kept

    def advance(
        self, work: Work, states: States | None, shared: object = None, *,
        per_block: PerBlock = None, which: Sequence[int] | None = None,
    ) -> tuple[States, list[Any]]:  # fmt: skip
        """New states and results."""
        kept = self._new_states() if states is None else states
        results = []
        for number, block, extra in self._each(per_block, which, True):
            state = None if states is None else states[number]
            kept[number], result = work(block, state, shared, extra)
            results.append(result)
        return kept, results

    def _each(
        self, per_block: PerBlock, which: Sequence[int] | None, read: bool
    ) -> Iterator[tuple[int, Block | None, object]]:
        numbers = list(range(len(self.starts) - 1)) if which is None else list(which)
        extras = [None] * len(numbers) if per_block is None else per_block
        parts: Iterator[tuple[int, Matrix | None]] = (
            self.source.parts(numbers) if read else ((number, None) for number in numbers)
        )
        for (number, X), extra in zip(parts, extras, strict=True):
            yield number, None if X is None else self._block(number, X), extra
        self._checked = self._checked or (read and which is None)

    def _block(self, number: int, X: Matrix) -> Block:
        first, last = self.starts[number : number + 2]
        weight = np.zeros(0) if self._weight is None else np.asarray(self._weight[first:last])
        if not self._checked:
            check_block(X, weight, int(first))
        if self._prepare is not None:
            X = self._prepare(X)
        return Block(X, np.asarray(weight, dtype=np.float64), None)

    def _new_states(self) -> States:
        n_blocks = len(self.starts) - 1
        if _STATE_SHARE * _STATE_BYTES * int(self.starts[-1]) <= self.source.spare:
            return [None] * n_blocks
        return _DiskStates()

    def column(self, work: Work, states: States, per_block: Sequence[object]) -> Labels:
        """One int32 per row: an array, or a memory-mapped one if it is large."""
        found = new_array((int(self.starts[-1]),), np.int32, self.source.spare / _STATE_SHARE)
        for number, extra in enumerate(per_block):
            first, last = self.starts[number : number + 2]
            found[first:last] = work(None, states[number], None, extra)
            drop_pages(found)
        return found

    def locate(self, names: Sequence[Hashable]) -> dict[Hashable, int] | None:
        """Row numbers of these ids; None if rows have no ids."""
        return self.source.locate(names)

    def close(self) -> None:
        """Nothing to release."""


class _DiskStates:
    """States in files of a folder that is removed with this object."""

    def __init__(self) -> None:
        self._folder = tempfile.mkdtemp(prefix="linkwise-")
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)

    def _path(self, number: int) -> Path:
        return Path(self._folder, str(number))

    def __getitem__(self, number: int) -> Any:
        with self._path(number).open("rb") as file:
            return pickle.load(file)  # written by this object

    def __setitem__(self, number: int, state: object) -> None:
        with self._path(number).open("wb") as file:
            pickle.dump(state, file, protocol=5)
