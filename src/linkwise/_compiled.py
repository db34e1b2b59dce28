"""The decorator that compiles the loops of every `_kernels` module."""

from __future__ import annotations

import os
import stat
import tempfile
import warnings
from functools import cache
from typing import Any

import numba

# Sums may be reordered (so that they vectorize); NaN and infinity keep their meaning.
_MATH = {"contract", "reassoc", "nsz", "arcp"}


def kernel(function: Any) -> Any:
    """Compile on first call; cache the result on disk.

    A function whose name starts with an underscore is called by other loops only: what Python
    would need to call it is not compiled, nor is for any of them what C would need.

    An array is copied element by element: numba compiles the message of a slice assignment whose
    shapes differ, which takes seconds.

    The cache is where numba puts it: beside the module, else in the user's folder for caches. If
    neither can be written, it is a temporary folder, and a warning says so once. The GIL is
    released, and numba's own threads are never used: its default layer aborts when two threads
    enter.
    """
    inner = function.__name__.startswith("_")
    options: dict[str, Any] = {"nogil": True, "fastmath": _MATH, "error_model": "numpy"}
    options |= {"no_cpython_wrapper": inner, "no_cfunc_wrapper": True}
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # no folder for the cache can be written
        pass
    config: Any = numba.config  # CACHE_DIR is read when a function is decorated
    before, config.CACHE_DIR = config.CACHE_DIR, _temporary_cache()
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:
        return numba.njit(**options)(function)
    finally:
        config.CACHE_DIR = before


@cache
def _temporary_cache() -> str:
    """A temporary folder of this user; numba unpickles what it finds, so nobody else may write."""
    user = os.getuid() if hasattr(os, "getuid") else "user"
    folder = os.path.join(tempfile.gettempdir(), f"linkwise-compiled-{user}")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if not _is_private(folder):
            folder = tempfile.mkdtemp(prefix="linkwise-compiled-")
    except OSError:
        warnings.warn(
            "no folder for compiled loops can be written, so that every run compiles them again; "
            "set NUMBA_CACHE_DIR to a folder that can be",
            stacklevel=4,
        )
        return ""
    warnings.warn(
        f"neither the installation nor the user's cache folder can be written: compiled loops are "
        f"kept in {folder}; set NUMBA_CACHE_DIR to keep them elsewhere",
        stacklevel=4,
    )
    return folder


def _is_private(folder: str) -> bool:
    if not hasattr(os, "getuid"):
        return True  # Windows has a temporary folder per user
    found = os.lstat(folder)
    others = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not others
