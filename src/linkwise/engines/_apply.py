"""A function of rows applied to blocks: for `predict` and `transform`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import DTypeLike, NDArray

from linkwise._optional import optional
from linkwise._types import Matrix

from ._dask import DaskCollection, as_part, is_dask
from ._source import ArrayBlocks, Blocks, drop_pages, new_array

RowFunction = Callable[[Matrix], NDArray]


def map_blocks(
    X: Blocks | NDArray | DaskCollection, function: RowFunction, dtype: DTypeLike | None,
    width: int | None,
) -> NDArray:  # fmt: skip
    """Concatenated ``function(rows)`` of all blocks."""
    if is_dask(X):
        return _map_dask(X, function, dtype, width)
    source = X if isinstance(X, Blocks) else ArrayBlocks(X)
    shape = (source.shape[0],) if width is None else (source.shape[0], width)
    dtype = np.dtype(source.dtype if dtype is None else dtype)
    found = new_array(shape, dtype, source.spare / 4)  # on disk if it takes more than a quarter
    for number, rows in source.parts():
        found[source.starts[number] : source.starts[number + 1]] = function(rows)
        drop_pages(found)
    return found


class _OnChunk:
    """The function on a chunk of a Dask array or a partition of a dataframe."""

    def __init__(
        self, function: RowFunction, row_dtype: np.dtype, dtype: np.dtype, width: int | None
    ):
        self.function, self.row_dtype, self.dtype, self.width = function, row_dtype, dtype, width

    def __call__(self, chunk: object) -> NDArray:
        X = as_part(chunk, self.row_dtype).X
        if not X.shape[0]:  # a partition that a filter left without rows
            return np.empty((0,) if self.width is None else (0, self.width), dtype=self.dtype)
        return np.asarray(self.function(X), dtype=self.dtype)


def _map_dask(
    X: DaskCollection, function: RowFunction, dtype: DTypeLike | None, width: int | None
) -> DaskCollection:
    array = optional("dask.array", extra="dask", need="Dask arrays")
    is_frame = getattr(X, "columns", None) is not None
    kinds = set(X.dtypes) if is_frame else {X.dtype}
    rows = np.dtype(np.float32 if kinds == {np.dtype(np.float32)} else np.float64)
    dtype = np.dtype(rows if dtype is None else dtype)
    work = _OnChunk(function, rows, dtype, width)
    meta = np.empty((0,) * (1 if width is None else 2), dtype=dtype)
    if is_frame:
        delayed = optional("dask", extra="dask", need="Dask dataframes").delayed
        tail = () if width is None else (width,)
        return array.concatenate([
            array.from_delayed(delayed(work)(part), (np.nan, *tail), dtype=dtype, meta=meta)
            for part in X.to_delayed()
        ])  # fmt: skip
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    if width is None:
        return array.map_blocks(work, X, dtype=dtype, drop_axis=1, meta=meta)
    return array.map_blocks(work, X, dtype=dtype, chunks=(X.chunks[0], (width,)), meta=meta)
