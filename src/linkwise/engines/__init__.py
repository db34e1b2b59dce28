"""Where blocks of rows are processed: threads, block by block from disk, or Dask workers."""

import numpy as np

from ._apply import map_blocks
from ._dask import DaskBlocks, Workers, current_client, is_dask
from ._engine import Block, Engine, States, Work, split
from ._serial import Serial
from ._source import (
    ArrayBlocks,
    Blocks,
    drop_pages,
    half_of_memory,
    open_blocks,
)
from ._threads import Threads

__all__ = [
    "Block",
    "Blocks",
    "Engine",
    "States",
    "Threads",
    "Work",
    "drop_pages",
    "engine_of",
    "is_out_of_memory",
    "map_blocks",
    "open_blocks",
    "split",
]


def is_out_of_memory(X: object) -> bool:
    """Whether rows are not in memory: blocks, Dask collections, very large memory maps."""
    if isinstance(X, Blocks) or is_dask(X):
        return True
    if not (isinstance(X, np.memmap) and X.ndim == 2 and X.dtype.kind in "fiub"):
        return False
    return X.nbytes > half_of_memory()


def engine_of(X: object) -> Engine:
    """The engine for rows that are not in memory."""
    if isinstance(X, Blocks):
        return Serial(X)
    if not is_dask(X):
        assert isinstance(X, np.ndarray)
        return Serial(ArrayBlocks(X))
    client = current_client()
    return Serial(DaskBlocks(X)) if client is None else Workers(X, client)
