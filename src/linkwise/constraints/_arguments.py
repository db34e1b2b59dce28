"""Links and groups as arguments of a call, handed to the `Builder`."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import numpy as np
from numpy.typing import NDArray

from ._builder import (
    _EXACT,
    ARITY,
    Builder,
    Kind,
    LinksLike,
)


def add_rows(builder: Builder, kind: Kind, given: LinksLike, name: str) -> None:
    """Add rows ``(i, j)``, ``(i, j, weight)``, or those of triplets, given as an argument."""
    source, arity = builder.source(name), ARITY[kind]
    if hasattr(given, "to_numpy"):
        given = given.to_numpy()
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise TypeError(f"{name} must be rows of {arity} ids, not {type(given).__name__}")
    rows = given if isinstance(given, np.ndarray) else list(given)
    if len(rows) == 0:
        return
    table = _numeric_table(rows, arity)
    lines = np.arange(len(rows))
    if table is not None:
        weight = table[:, arity].astype(float) if table.shape[1] > arity else None
        builder.add(kind, list(table[:, :arity].astype(np.int64).T), weight, source, lines)
        return
    cells: list[list[object]] = []
    weights: list[float] = []
    kept: list[int] = []
    for line, row in enumerate(rows):
        values = _row(row)
        if values is None or len(values) not in (arity, arity + 1):
            builder.problem(source, line, f"expected {_form(arity)}, found {row!r}")
            continue
        weight_of_row = _weight(values[arity]) if len(values) > arity else 1.0
        if weight_of_row is None:
            builder.problem(source, line, f"weight {values[arity]!r} is not a number")
            continue
        cells.append(values[:arity])
        weights.append(weight_of_row)
        kept.append(line)
    columns = [list(column) for column in zip(*cells, strict=True)] or [[] for _ in range(arity)]
    builder.add(kind, columns, np.array(weights, dtype=float), source, np.array(kept, np.int64))


def _numeric_table(rows: object, arity: int) -> NDArray | None:
    """The rows as one array, if they hold integers, followed by at most a weight."""
    try:
        table = np.asarray(rows)
    except ValueError:  # rows of different lengths
        return None
    if table.ndim != 2 or table.dtype.kind not in "iuf" or table.shape[1] not in (arity, arity + 1):
        return None
    if isinstance(rows, list) and any(type(cell) is bool for row in rows for cell in row):
        return None  # NumPy takes True for 1
    ends = table[:, :arity]
    if table.dtype.kind == "f":
        with np.errstate(invalid="ignore"):
            exact = np.isfinite(ends) & (ends == np.floor(ends)) & (np.abs(ends) < _EXACT)
        if not exact.all():
            return None
    elif table.dtype.kind == "u" and ends.size and ends.max() > np.iinfo(np.int64).max:
        return None
    return table


def _row(row: object) -> list[object] | None:
    if isinstance(row, (str, bytes)) or not isinstance(row, Iterable):
        return None
    return list(row)


def _weight(cell: object) -> float | None:
    """A weight as a float; None if it is not a number."""
    try:
        return float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None


def _form(arity: int) -> str:
    ends = "i, j" if arity == 2 else "a, b, c"
    return f"({ends}) or ({ends}, weight)"


def add_groups(builder: Builder, groups: Iterable[Iterable[Hashable]]) -> None:
    """Add sets of rows that belong together, each as a star around its first member."""
    source = builder.source("groups")
    if isinstance(groups, dict):
        groups = groups.values()
    if isinstance(groups, (str, bytes)) or not isinstance(groups, Iterable):
        raise TypeError(f"groups must be sets of rows, not {type(groups).__name__}")
    for line, group in enumerate(groups):
        members = _row(group)
        if members is None:
            builder.problem(
                source, line, f"expected a group of row numbers or ids, found {group!r}"
            )
            continue
        if all(
            isinstance(member, Hashable) for member in members
        ):  # otherwise the check below reports it
            members = list(dict.fromkeys(members))
        if len(members) > 1:
            hub = [members[0]] * (len(members) - 1)
            lines = np.full(len(hub), line, dtype=np.int64)
            builder.add("must", [hub, members[1:]], None, source, lines)
