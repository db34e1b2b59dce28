"""The decorator that compiles the loops of every `_kernels` module."""

from __future__ import annotations

from typing import Any

import numba

# Sums may be reordered (so that they vectorize); NaN and infinity keep their meaning.
_MATH = {"contract", "reassoc", "nsz", "arcp"}


def kernel(function: Any) -> Any:
    """Compile on first call; cache the result on disk if a folder is writable.

    The GIL is released, and numba's own threads are never used: its default layer aborts when two
    threads enter.
    """
    options: dict[str, Any] = {"nogil": True, "fastmath": _MATH, "error_model": "numpy"}
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # no folder for the cache can be written
        return numba.njit(**options)(function)
