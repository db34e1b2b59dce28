"""Where blocks of rows are processed: threads, block by block from disk, or Dask workers."""

import numpy as np

from linkwise.tables import half_of_memory

from ._apply import map_blocks
from ._dask import DaskBlocks, Workers, current_client, is_dask
from ._engine import Block, Serial, Work, split
from ._source import (
    ArrayBlocks,
    Blocks,
    drop_pages,
    open_blocks,
)
from ._threads import Threads, single_blas_thread

Engine = Serial | Workers

__all__ = [
    "Block",
    "Blocks",
    "Engine",
    "Threads",
    "Work",
    "as_blocks",
    "drop_pages",
    "engine_of",
    "is_dask",
    "is_out_of_memory",
    "map_blocks",
    "open_blocks",
    "single_blas_thread",
    "split",
]


def is_out_of_memory(X: object) -> bool:
    """Whether rows are not in memory: blocks, Dask collections, very large memory maps."""
    if isinstance(X, Blocks) or is_dask(X):
        return True
    if not (isinstance(X, np.memmap) and X.ndim == 2 and X.dtype.kind in "fiub"):
        return False
    return X.nbytes > half_of_memory()


def as_blocks(X: object) -> Blocks:
    """Rows that are not in memory, to be read block by block in this process."""
    if isinstance(X, Blocks):
        return X
    if is_dask(X):
        return DaskBlocks(X)
    assert isinstance(X, np.ndarray)
    return ArrayBlocks(X)


def engine_of(X: object) -> Engine:
    """The engine for rows that are not in memory."""
    if isinstance(X, Blocks):
        return Serial(X)
    if not is_dask(X):
        assert isinstance(X, np.ndarray)
        return Serial(ArrayBlocks(X))
    client = current_client()
    return Serial(DaskBlocks(X)) if client is None else Workers(X, client)
