"""A function of rows on rows that are elsewhere: what `predict` and `transform` need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from linkwise._optional import optional

from ._dask import as_part, is_dask
from ._source import ArrayBlocks, Blocks, drop_pages, new_array

_SHARE = 4  # results may take one part in so many of the spare memory before they go to disk


def map_blocks(X: Any, function: Callable[[Any], Any], dtype: Any, width: int | None) -> Any:
    """``function(rows)`` for all blocks, put together.

    Parameters
    ----------
    X : Blocks, memmap or Dask collection
    function : callable
        From rows to as many results.
    dtype : dtype or None
        Of the results; None for that of the rows.
    width : int or None
        Number of columns of the results; None if they are one-dimensional.

    Returns
    -------
    results : array
        A Dask array, still to be computed, for Dask collections; else an array, mapped to a file
        if it would take too much memory.
    """
    if is_dask(X):
        return _lazily(X, function, dtype, width)
    source = X if isinstance(X, Blocks) else ArrayBlocks(X)
    shape = (source.shape[0],) if width is None else (source.shape[0], width)
    dtype = np.dtype(source.dtype if dtype is None else dtype)
    found = new_array(shape, dtype, source.spare / _SHARE)
    for number, rows in source.parts():
        found[source.starts[number] : source.starts[number + 1]] = function(rows)
        drop_pages(found)
    return found


class _OnChunk:
    """The function on a chunk or partition, whatever it is."""

    def __init__(self, function: Callable[[Any], Any], rows: Any, dtype: Any):
        self.function, self.rows, self.dtype = function, rows, dtype

    def __call__(self, chunk: Any) -> Any:
        X = as_part(chunk, self.rows).X
        if not X.shape[0]:
            width = getattr(self.function, "width", None)
            return np.empty((0,) if width is None else (0, width), dtype=self.dtype)
        return np.asarray(self.function(X), dtype=self.dtype)


def _lazily(X: Any, function: Callable[[Any], Any], dtype: Any, width: int | None) -> Any:
    array = optional("dask.array", extra="dask", need="Dask arrays")
    is_frame = getattr(X, "columns", None) is not None
    kinds = set(X.dtypes) if is_frame else {X.dtype}
    rows = np.dtype(np.float32 if kinds == {np.dtype(np.float32)} else np.float64)
    dtype = np.dtype(rows if dtype is None else dtype)
    work = _OnChunk(function, rows, dtype)
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
