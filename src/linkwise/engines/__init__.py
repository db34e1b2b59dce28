"""Where blocks of rows run: threads on this machine, block by block from disk, Dask workers."""

from typing import Any

import numpy as np

from ._apply import map_blocks
from ._dask import DaskBlocks, Workers, current_client, is_dask
from ._engine import Block, Engine, Work, split
from ._serial import Serial
from ._source import (
    ArrayBlocks,
    Blocks,
    drop_pages,
    half_of_memory,
    open_blocks,
)
from ._threads import Threads, single_blas_thread

__all__ = [
    "Block",
    "Blocks",
    "Engine",
    "Threads",
    "Work",
    "drop_pages",
    "engine_of",
    "is_elsewhere",
    "map_blocks",
    "open_blocks",
    "single_blas_thread",
    "split",
]


def is_elsewhere(X: Any) -> bool:
    """Whether rows are not in memory: blocks, Dask collections, very large mapped arrays."""
    if isinstance(X, Blocks) or is_dask(X):
        return True
    mapped = isinstance(X, np.memmap) and X.ndim == 2 and X.dtype.kind in "fiub"
    return mapped and X.nbytes > half_of_memory()


def engine_of(X: Any) -> Engine:
    """The engine that works on rows that are elsewhere."""
    if isinstance(X, Blocks):
        return Serial(X)
    if not is_dask(X):
        return Serial(ArrayBlocks(X))
    client = current_client()
    return Serial(DaskBlocks(X)) if client is None else Workers(X, client)
