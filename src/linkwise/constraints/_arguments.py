"""Links and groups as arguments of a call, handed to the `Builder`."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from linkwise._types import LabelsLike

from ._builder import (
    _EXACT,
    ARITY,
    Builder,
    Kind,
    LinksLike,
)
from ._labels import label_codes

# One value per row, a mapping from id to group, or the groups themselves.
GroupsLike = LabelsLike | Iterable[Iterable[Hashable]] | Mapping[Hashable, object]
WeightsLike = float | Mapping[Hashable, float]


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


def add_group_argument(
    builder: Builder, kind: Kind, given: GroupsLike, weight: WeightsLike, name: str,
    ids: Sequence[Hashable] | None = None,
) -> None:  # fmt: skip
    """Add the rows of groups that belong together ("must") or apart ("cannot").

    `given` is a column with one value per row (missing: no group), a mapping from id to group or
    from group to rows, or a list of groups.
    """
    source = builder.source(name)
    listed = _listed_groups(given, name)
    if listed is None:
        names, codes = label_codes(given, ids)  # type: ignore[arg-type]
        rows = np.flatnonzero(codes >= 0)
        values = list(given.values()) if isinstance(given, dict) else np.asarray(given).tolist()
        groups = [values[row] for row in rows.tolist()]
        members = rows if names is None else [names[row] for row in rows.tolist()]
        lines = rows
    else:
        groups, members, numbers = [], [], []
        for number, (label, group) in enumerate(listed.items()):
            found = _row(group)
            if found is None:
                wanted = "expected a group of row numbers or ids"
                builder.problem(source, number, f"{wanted}, found {group!r}")
                continue
            groups += [label] * len(found)
            members += found
            numbers += [number] * len(found)
        lines = np.array(numbers, dtype=np.int64)
    weights = _group_weights(groups, weight, name)
    builder.add_members(kind, groups, members, weights, source, lines)


def _listed_groups(given: GroupsLike, name: str) -> dict[Hashable, object] | None:
    """Groups by name; None if `given` has one value per row."""
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise TypeError(
            f"{name} must be a column with one value per row, or groups of rows, not "
            f"{type(given).__name__}; for a column of a DataFrame: "
            f'Constraints.from_columns(frame, {name}="...")'
        )
    if isinstance(given, Mapping):
        values = list(given.values())
        return dict(given) if any(_row(value) is not None for value in values) else None
    if isinstance(given, np.ndarray) or hasattr(given, "iloc"):
        return None
    listed = list(given)
    return dict(enumerate(listed)) if any(_row(value) is not None for value in listed) else None


def _group_weights(
    groups: Sequence[Hashable], weight: WeightsLike, name: str
) -> NDArray[np.float64]:
    """Weight of each membership."""
    if not isinstance(weight, Mapping):
        return np.full(len(groups), float(weight))
    unknown = next((group for group in weight if group not in set(groups)), None)
    if unknown is not None:
        raise ValueError(f"{name}_weight: no group of {name} is called {unknown!r}")
    return np.array([float(weight.get(group, 1.0)) for group in groups])
