"""Links, groups and labels as arguments of a call, handed to the `Builder`."""

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
    is_missing,
)
from ._errors import ConstraintError
from ._links import Rows

# One value per row, a mapping from id to group, or the groups themselves.
GroupsLike = LabelsLike | Iterable[Iterable[Hashable]] | Mapping[Hashable, object]
WeightsLike = float | Mapping[Hashable, float]
_MAX_CLASSES = 10_000  # every two classes get a cannot-link: 50 million links


def add_rows(builder: Builder, kind: Kind, given: LinksLike, name: str) -> None:
    """Add rows ``(i, j)``, ``(i, j, weight)``, or those of triplets, given as an argument."""
    source, arity = builder.source(name), ARITY[kind]
    if hasattr(given, "to_numpy"):
        given = given.to_numpy()
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise TypeError(f"{name} must be rows of {arity} ids, not {type(given).__name__}")
    rows = given if isinstance(given, np.ndarray) else list(given)
    table = _numeric_table(rows, arity)
    if table is None:
        _add_cells(builder, kind, rows, source)
        return
    weight = table[:, arity].astype(float) if table.shape[1] > arity else None
    columns = list(table[:, :arity].astype(np.int64).T)
    builder.add(kind, columns, weight, source, np.arange(len(rows)))


def _add_cells(builder: Builder, kind: Kind, rows: Iterable[object], source: int) -> None:
    """Add rows of any hashable cells, one by one."""
    arity = ARITY[kind]
    cells: list[list[object]] = []
    weights: list[float] = []
    lines: list[int] = []
    for line, row in enumerate(rows):
        values = _row(row)
        if values is None or len(values) not in (arity, arity + 1):
            builder.problem(source, line, f"expected {_form(arity)}, found {row!r}")
            continue
        weight = _weight(values[arity]) if len(values) > arity else 1.0
        if weight is None:
            builder.problem(source, line, f"weight {values[arity]!r} is not a number")
            continue
        cells.append(values[:arity])
        weights.append(weight)
        lines.append(line)
    columns = [list(column) for column in zip(*cells, strict=True)]
    builder.add(kind, columns, np.array(weights, dtype=float), source, np.array(lines, np.int64))


def _numeric_table(rows: NDArray | list[object], arity: int) -> NDArray | None:
    """The rows as one array, if they hold integers, followed by at most a weight."""
    try:
        table = np.asarray(rows)
    except ValueError:  # rows of different lengths
        return None
    if table.ndim != 2 or table.dtype.kind not in "iuf" or table.shape[1] not in (arity, arity + 1):
        return None
    if isinstance(rows, list) and any(isinstance(cell, bool) for row in rows for cell in row):  # type: ignore[attr-defined]
        return None  # NumPy takes True for 1
    return table if _are_row_numbers(table[:, :arity]) else None


def _are_row_numbers(ends: NDArray) -> bool:
    """Whether all entries are integers that int64 (and, of floats, float64) holds exactly."""
    if ends.dtype.kind == "f":
        return bool(((ends == np.floor(ends)) & (np.abs(ends) < _EXACT)).all())  # False for NaN
    return ends.dtype.kind == "i" or ends.max(initial=0) <= np.iinfo(np.int64).max


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


def add_group_argument(
    builder: Builder, kind: Kind, given: GroupsLike, weight: WeightsLike, name: str
) -> None:
    """Add the rows of groups that belong together ("must") or apart ("cannot").

    `given` is a column with one value per row (missing: no group), a mapping from id to group or
    from group to rows, or a list of groups.
    """
    source = builder.source(name)
    listed = _listed_groups(given, name)
    if listed is None:
        names, codes = label_codes(given)  # type: ignore[arg-type]
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
            f'{type(given).__name__}; for a column of a DataFrame: {name}=frame["..."]'
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


# -------------------------------------------------------------------- labels


def add_labels(builder: Builder, labels: LabelsLike, ids: Sequence[Hashable] | None = None) -> None:
    """Add partial labels: must-links from the first row of each class to the others.

    One cannot-link between the first rows of every two classes is enough: the closure implies the
    rest, and proofs stay short.
    """
    source = builder.source("labels")
    names, codes = known_labels(labels, ids)
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    hub = np.repeat(order[starts], np.diff(starts, append=len(order)))
    must = np.column_stack([hub, order])[order != hub]
    line = names if isinstance(names, np.ndarray) else np.arange(len(names))
    add_positions(builder, "must", names, must, source, line[must[:, 1]])
    if len(starts) > _MAX_CLASSES:
        raise ConstraintError(
            f"labels with {len(starts):,} classes would need a cannot-link for every two of them; "
            f"the limit is {_MAX_CLASSES:,} classes: give groups (or must-links) instead"
        )
    first, second = np.triu_indices(len(starts), 1)
    cannot = order[starts][np.column_stack([first, second])]
    add_positions(builder, "cannot", names, cannot, source, line[cannot[:, 1]])


def add_positions(
    builder: Builder, kind: Kind, names: Rows | list[Hashable], ends: Rows, source: int, lines: Rows
) -> None:
    """Add constraints between positions of `names`, which are row numbers or ids."""
    columns: list[Rows | list[Hashable]] = [
        names[column] if isinstance(names, np.ndarray) else [names[k] for k in column.tolist()]
        for column in ends.T
    ]
    builder.add(kind, columns, None, source, lines)


def known_labels(
    labels: LabelsLike, ids: Sequence[Hashable] | None = None
) -> tuple[Rows | list[Hashable], Rows]:
    """The labeled rows and their classes as codes 0..k-1."""
    ids, codes = label_codes(labels, ids)
    rows = np.flatnonzero(codes >= 0)
    names: Rows | list[Hashable] = rows if ids is None else [ids[row] for row in rows.tolist()]
    return names, codes[rows]


def label_codes(
    labels: LabelsLike, ids: Sequence[Hashable] | None = None
) -> tuple[Sequence[Hashable] | None, Rows]:
    """Ids of the rows, if they have any, and their labels as codes 0..k-1; unknown is -1."""
    if isinstance(labels, dict):
        ids, labels = list(labels), list(labels.values())
    elif ids is None:
        ids = row_names(labels)
    values = np.asarray(labels)
    if values.ndim != 1:
        raise ValueError(f"labels must be one-dimensional, not of shape {values.shape}")
    if values.dtype.kind in "US" and not isinstance(labels, np.ndarray):
        # NumPy made text of -1, None and NaN.
        values = np.array(list(labels), dtype=object)  # type: ignore[arg-type]
    if ids is not None and len(ids) != len(values):
        raise ValueError(f"{len(values)} labels but {len(ids)} ids; there must be one id per row")
    known = _is_known(values)
    codes = np.full(len(values), -1, dtype=np.int64)
    codes[known] = _number(values[known])
    return ids, codes


def _number(values: NDArray) -> Rows:
    """Number values by sorted order; objects that cannot be sorted by first appearance."""
    if values.dtype.kind == "O":
        table: dict[Hashable, int] = {}
        return np.array([table.setdefault(v, len(table)) for v in values.tolist()], np.int64)
    if values.dtype.kind in "iu" and len(values):
        low, high = int(values.min()), int(values.max())
        if high - low <= len(values):  # a table is far faster than sorting
            place = (values - values.dtype.type(low)).astype(np.int64)
            seen = np.zeros(high - low + 1, dtype=bool)
            seen[place] = True
            return (np.cumsum(seen) - 1)[place]
    return np.unique(values, return_inverse=True)[1].reshape(-1)


def _is_known(values: NDArray) -> NDArray[np.bool_]:
    if values.dtype.kind in "iuf":
        return (values != -1) & (values == values)  # NaN differs from itself
    if values.dtype.kind == "O":
        return np.array([not is_missing(v) and v not in (-1, "-1", "") for v in values], dtype=bool)
    if values.dtype.kind == "U":
        return (values != "-1") & (values != "")  # an empty cell of a file
    return np.ones(len(values), dtype=bool)


def row_names(X: object) -> list[Hashable] | None:
    """The index of a frame or series as ids; None for arrays and for a plain 0, 1, 2, ... index."""
    index = getattr(X, "index", None)
    if index is None or not hasattr(X, "iloc"):
        return None
    names = index.tolist()
    return None if names == list(range(len(names))) else names
