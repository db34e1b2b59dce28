"""Columns of tables in memory: pandas, polars, Arrow, DuckDB, Hugging Face datasets, AnnData.

Entry points: `frame_columns` and `rows_of_lists`. None of these packages is imported: narwhals
knows the frames, the others are told by their attributes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from linkwise._optional import optional


@runtime_checkable
class AnnDataLike(Protocol):
    """What is used of an AnnData object."""

    obs: Any
    obsm: Any
    obs_names: Any


@runtime_checkable
class DatasetLike(Protocol):
    """What is used of a dataset of Hugging Face."""

    column_names: Any
    features: Any

    def with_format(self, kind: str | None) -> Any:
        """The same rows in another form."""


def frame_columns(frame: object) -> dict[str, Any]:
    """Columns of a table in memory by name: arrays of numbers, or lists of Python values."""
    if isinstance(frame, AnnDataLike):
        found = frame_columns(frame.obs)
        return {**found, **{name: np.asarray(frame.obsm[name]) for name in frame.obsm}}
    if isinstance(frame, DatasetLike):
        if isinstance(frame.column_names, Mapping):
            parts = ", ".join(map(repr, frame.column_names))
            raise TypeError(f"a dataset with several parts; give one of them: {parts}")
        return dict(frame.with_format(None)[:])
    if isinstance(frame, Mapping):
        return {str(name): _values(column) for name, column in frame.items()}
    narwhals = optional("narwhals", extra="frames", need=f"Reading a {type(frame).__name__}")
    known = narwhals.from_native(frame, pass_through=True)
    if known is frame:
        raise TypeError(
            f"expected a DataFrame, an Arrow table, a Hugging Face dataset, an AnnData object or a "
            f"dict of columns, not {type(frame).__name__}"
        )
    known = known.collect() if isinstance(known, narwhals.LazyFrame) else known
    return {str(name): _series(known[name]) for name in known.columns}


def _values(column: Any) -> Any:
    return column if isinstance(column, np.ndarray) else list(column)


def _series(series: Any) -> Any:
    """A column of narwhals: an array if it has numbers only, else Python values."""
    if series.dtype.is_numeric() and not series.dtype.is_decimal():
        return np.asarray(series.to_numpy())
    return [None if value is None else value for value in series.to_list()]


def rows_of_lists(values: Sequence[Any]) -> NDArray[np.float64]:
    """Lists of numbers of equal length as the rows of an array."""
    empty = sum(value is None for value in values)
    if empty:
        raise ValueError(f"has {empty:,} empty cells beside lists of numbers")
    sizes = {np.size(value) for value in values}
    if len(sizes) != 1:
        raise ValueError(f"has lists of {min(sizes):,} to {max(sizes):,} numbers")
    try:
        return np.array([np.ravel(value) for value in values], dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("has lists of something else than numbers") from None
