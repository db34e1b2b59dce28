"""Constraints from and to files and frames.

Entry points: `parse_file` (CSV, JSON lines, Parquet, Excel), `parse_frame`, `write`, `to_frame`.
Files are read in blocks: ten million lines need no more memory than the constraints in them. One
error names every wrong line.
"""

from __future__ import annotations

import csv
import json
import os
import re
import warnings
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from linkwise._errors import InputError
from linkwise._optional import optional
from linkwise.tables import (
    DELIMITED,
    EXCEL,
    JSON_LINES,
    PARQUET,
    FileFormatError,
    Progress,
    is_gzip,
    open_parquet,
    quoted,
    read_sheet,
    require_file,
    suffix_of,
    text_blocks,
    write_table,
)

from ._builder import KINDS, Builder, Cells, IdMode, Kind, Parts, is_empty
from ._errors import ConstraintError
from ._links import USUAL_CONFIDENCE, confidence_weight

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow

    from ._constraints import Constraints

_BLOCK_ROWS = 65_536  # some 10 MB of cells; larger blocks are no faster
# What columns may be called. The first name of each is the one we write.
_NAMES: dict[str, tuple[str, ...]] = {
    "i": ("i", "id1", "id_1", "row1", "row_1", "first", "left", "source"),
    "j": ("j", "id2", "id_2", "row2", "row_2", "second", "right", "target"),
    "a": ("a",),
    "b": ("b",),
    "c": ("c",),
    "group": ("group", "group_id"),
    "row": ("row", "member", "row_id", "id"),  # the member of a group
    "link": ("link", "constraint", "kind", "type", "answer"),
    "weight": ("weight", "w"),
    "confidence": ("confidence", "probability"),
    "annotator": ("annotator", "annotator_id", "worker", "rater"),
}
_ROLES = {name: role for role, names in _NAMES.items() for name in names}
_WORDS: dict[str, Kind] = {
    **dict.fromkeys(("must", "must-link", "must_link", "ml", "same", "together"), "must"),
    **dict.fromkeys(("1", "+1", "1.0", "yes", "y", "ja", "true"), "must"),
    **dict.fromkeys(("cannot", "cannot-link", "cannot_link", "cl", "different"), "cannot"),
    **dict.fromkeys(("apart", "-1", "-1.0", "0", "0.0", "no", "n", "nein", "false"), "cannot"),
    **dict.fromkeys(("relative", "closer"), "relative"),
}
_EXPECTED_LINK = "expected must/cannot, same/different, yes/no, 1/-1 or 1/0"
_EXPECTED_COLUMNS = (
    "expected i, j, link[, weight or confidence][, annotator]; or a, b, c[, weight]; or group, "
    "row, kind"
)


@dataclass(frozen=True)
class _Layout:
    """Which column holds what: ends, the kind of link if it differs by row, the weight."""

    ends: tuple[int, ...]
    third: int | None
    link: int | None
    weight: int | None
    width: int
    group: int | None = None  # rows with a value here are members of a group
    confidence: int | None = None
    annotator: int | None = None


# -------------------------------------------------------------------- finding the columns


def _layout(header: Iterable[object], columns: dict[str, str] | None, where: str) -> _Layout:
    names = [str(name).strip() for name in header]
    role = _with_ends(_roles(names, columns, where))
    if not {"i", "j"} <= role.keys() or not {"link", "c"} & role.keys():
        raise ConstraintError(
            f"{where}: the columns {quoted(names)} do not define links; "
            f"{_EXPECTED_COLUMNS}, or name them with {{name_columns}}",
            topic="files",
        )
    unused = [name for p, name in enumerate(names) if name and p not in role.values()]
    if unused and columns is None:
        warnings.warn(f"{where}: columns {quoted(unused)} are ignored", UserWarning, stacklevel=2)
    return _Layout(
        (role["i"], role["j"]), role.get("c"), role.get("link"), role.get("weight"), len(names),
        group=role.get("group"),
        confidence=role.get("confidence"),
        annotator=role.get("annotator"),
    )  # fmt: skip


def _with_ends(role: dict[str, int]) -> dict[str, int]:
    """The roles with ends i and j: those of a triplet's a and b, or the row of a group twice."""
    if {"a", "b"} <= role.keys():
        role = {"i": role["a"], "j": role["b"], **role}
    if "group" in role and "row" in role:
        role = {"i": role["row"], **role}
    if "group" in role and "i" in role:
        role = {"j": role["i"], **role}
    return role


def _roles(names: list[str], columns: dict[str, str] | None, where: str) -> dict[str, int]:
    """Which position plays which role: those that `columns` names, then by the usual names."""
    role: dict[str, int] = {}
    for key, name in (columns or {}).items():
        if key not in _NAMES:
            raise InputError(f"{{columns}}: unknown role {key!r}; roles are {', '.join(_NAMES)}")
        if name not in names:
            raise ConstraintError(
                f"{where}: no column is called {name!r}; there are {quoted(names)}",
                topic="files",
            )
        role[key] = names.index(name)
    taken = set(role.values())
    for position, name in enumerate(names):
        known = _ROLES.get(name.lower())
        if known is None or position in taken:
            continue
        if columns is None and known in role:
            raise ConstraintError(
                f"{where}: columns {names[role[known]]!r} and {name!r} both mean {known!r}; "
                "drop one, or name the columns to use with {name_columns}",
                topic="files",
            )
        role.setdefault(known, position)
    return role


# -------------------------------------------------------------------- blocks of rows


class _Reader:
    """Turns blocks of cells into constraints of a builder."""

    def __init__(
        self,
        builder: Builder,
        source: int,
        layout: _Layout,
        *,
        from_text: bool,
        decimal_comma: bool = False,
    ):
        self.builder, self.source, self.layout = builder, source, layout
        self.from_text, self.decimal_comma = from_text, decimal_comma

    def rows(self, rows: Sequence[Cells], lines: Sequence[int]) -> None:
        """Add a block of rows, leaving out blank ones and noting those of a wrong width."""
        width = self.layout.width
        if any(len(row) != width for row in rows):
            rows, lines = self._of_right_width(rows, lines)
        if rows:
            self.columns(list(zip(*rows, strict=True)), np.array(lines, dtype=np.int64))

    def lines(self, lines: Sequence[str], number: int, delimiter: str) -> int:
        """Add lines without quotes; `number` lines came before. Returns the number of rows."""
        width = self.layout.width
        empty = delimiter * (width - 1)  # what a spreadsheet leaves of an empty row
        if all(line.count(delimiter) == width - 1 for line in lines) and not any(
            line.startswith(empty) for line in lines
        ):
            # Every line has all its cells: split the block at once and take every width-th cell.
            text = "".join(lines).replace("\r\n", "\n").rstrip("\n").replace("\n", delimiter)
            cells = text.split(delimiter)
            if width > 1 and len(cells) == width * len(lines):
                columns = [cells[k::width] for k in range(width)]
                self.columns(columns, np.arange(number + 1, number + len(lines) + 1))
                return len(lines)
        blank = delimiter + " \r\n"
        rows = [line.strip("\r\n").split(delimiter) if line.strip(blank) else [] for line in lines]
        self.rows(rows, range(number + 1, number + len(lines) + 1))
        return sum(map(bool, rows))

    def _of_right_width(
        self, rows: Sequence[Cells], lines: Sequence[int]
    ) -> tuple[list[Cells], list[int]]:
        kept: list[Cells] = []
        kept_lines = []
        for row, line in zip(rows, lines, strict=True):
            if len(row) == self.layout.width:
                kept.append(row)
                kept_lines.append(line)
            elif row:
                what = f"{len(row)} value{'s' * (len(row) != 1)} where the header has"
                self.builder.problem(self.source, line, f"{what} {self.layout.width}")
        return kept, kept_lines

    def columns(self, columns: Sequence[Cells | NDArray], lines: NDArray) -> None:
        """Add a block given by columns."""
        layout = self.layout
        kinds = self._kinds(columns, lines)
        weight = np.ones(len(lines))
        if layout.weight is not None:
            weight = self._weights(columns[layout.weight], lines)
        if layout.confidence is not None:
            weight = weight * self._confidences(columns[layout.confidence], lines)
        if layout.group is not None:
            kinds = self._take_members(columns, kinds, weight, lines)
        if layout.annotator is not None:
            pairs = np.flatnonzero(kinds >= 0)  # not members of groups
            self.builder.answers(self.source, lines[pairs])
        for kind in KINDS:
            chosen = np.flatnonzero(kinds == KINDS.index(kind))
            ends: tuple[int, ...] = layout.ends
            if kind == "relative" and layout.third is not None:
                ends = (*ends, layout.third)
            cells = [_pick(columns[position], chosen) for position in ends]
            self.builder.add(
                kind, cells, weight[chosen], self.source, lines[chosen], from_text=self.from_text
            )

    def _take_members(
        self, columns: Sequence[Cells | NDArray], kinds: NDArray, weight: NDArray, lines: NDArray
    ) -> NDArray:
        """Add the rows that are members of groups; returns the kinds without them."""
        assert self.layout.group is not None
        cells = columns[self.layout.group]
        groups = cells.tolist() if isinstance(cells, np.ndarray) else list(cells)
        if self.from_text:
            groups = [group.strip() for group in groups]
        has_group = np.array([not is_empty(group) for group in groups])
        if self.layout.ends[0] == self.layout.ends[1]:
            self._problems(lines[~has_group], "the group is missing")
            has_group[:] = True
        relative = has_group & (kinds == KINDS.index("relative"))
        self._problems(lines[relative], "a group is together or apart, not relative")
        for kind in KINDS[:2]:
            chosen = np.flatnonzero(has_group & (kinds == KINDS.index(kind)))
            self.builder.add_members(
                kind, [groups[p] for p in chosen.tolist()],
                _pick(columns[self.layout.ends[0]], chosen), weight[chosen], self.source,
                lines[chosen], from_text=self.from_text,
            )  # fmt: skip
        return np.where(has_group, -1, kinds)

    def _kinds(self, columns: Sequence[Cells | NDArray], lines: NDArray) -> NDArray:
        """Kind of each row as a position in KINDS, -1 if it is unknown."""
        if self.layout.link is None:
            return np.full(len(lines), KINDS.index("relative"))
        cells = columns[self.layout.link]
        words = cells if self.from_text else list(map(str, cells))
        meaning: dict[str, int] = {}
        for word in set(words):
            kind = _WORDS.get(word.strip().lower())
            meaning[word] = -1 if kind is None else KINDS.index(kind)
        kinds = np.fromiter((meaning[word] for word in words), np.int64, len(words))
        for p in np.flatnonzero(kinds < 0).tolist():
            self._problem(lines[p], f"link {words[p]!r}: {_EXPECTED_LINK}")
        if self.layout.third is None and self.layout.group is None:
            is_relative = kinds == KINDS.index("relative")
            self._problems(lines[is_relative], "a relative constraint needs a column c")
            kinds[is_relative] = -1
        return kinds

    def _weights(self, cells: Cells | NDArray, lines: NDArray) -> NDArray:
        if self.decimal_comma:
            cells = [cell.replace(",", ".") for cell in cells]
        try:
            weight = np.array(cells, dtype=np.float64)
        except (TypeError, ValueError):
            return np.array([self._weight(c, line) for c, line in zip(cells, lines, strict=True)])
        if not self.from_text and np.isnan(weight).any():  # a null, as a cell left empty
            weight[[cell is None for cell in cells]] = 1.0
        return weight

    def _confidences(self, cells: Cells | NDArray, lines: NDArray) -> NDArray:
        """Weights from confidences; an empty cell has the usual confidence."""
        is_given = np.array([not is_empty(cell) for cell in cells])
        given = np.where(is_given, self._weights(cells, lines), USUAL_CONFIDENCE)
        good = (given > 0.5) & (given <= 1)
        for p in np.flatnonzero(~good).tolist():
            self._problem(
                lines[p],
                f"confidence {given[p]:g} must be above 0.5 and at most 1 (0.5 carries no "
                "information; for weights of any size call the column weight)",
            )
        return confidence_weight(np.where(good, given, USUAL_CONFIDENCE))

    def _weight(self, cell: object, line: int) -> float:
        if cell is None or (isinstance(cell, str) and not cell.strip()):
            return 1.0  # left empty: as if there were no weight
        try:
            return float(cell)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            self._problem(line, f"weight {cell!r} is not a number")
            return 1.0

    def _problem(self, line: int, text: str) -> None:
        self.builder.problem(self.source, int(line), text)

    def _problems(self, lines: NDArray, text: str) -> None:
        for line in lines.tolist():
            self._problem(line, text)


def _pick(column: Cells | NDArray, chosen: NDArray) -> Cells | NDArray:
    if len(chosen) == len(column):
        return column
    if isinstance(column, np.ndarray):
        return column[chosen]
    return [column[p] for p in chosen.tolist()]


# -------------------------------------------------------------------- reading


def parse_file(
    path: str | os.PathLike[str],
    columns: dict[str, str] | None,
    ids: IdMode,
    progress: Progress | None,
    encoding: str | None = None,
) -> Parts:
    """Read a file of constraints; see `Constraints.read`."""
    path = Path(path)
    require_file(path)
    suffix = file_kind(path)
    builder = Builder(str(path), ids)
    source = builder.source(path.name, is_file=True)
    try:
        if suffix in PARQUET:
            _read_parquet(path, builder, source, columns)
        elif suffix in EXCEL:
            _read_excel(path, builder, source, columns)
        else:
            read = _read_json if suffix in JSON_LINES else _read_csv
            read(text_blocks(path, progress, encoding), path, builder, source, columns)
    except FileFormatError as error:
        raise ConstraintError(error.template, topic="files") from None
    return builder.build()


def file_kind(path: Path) -> str:
    """Return the suffix of a file of constraints; refuse those of other formats."""
    suffix, known = suffix_of(path), (*DELIMITED, *JSON_LINES, *PARQUET, *EXCEL)
    if suffix not in known:
        raise ConstraintError(
            f"{path}: cannot tell the format from {suffix!r}; use one of {', '.join(known)}"
        )
    return suffix


def _empty(path: Path | str, expected: str) -> ConstraintError:
    return ConstraintError(f"{path} is empty; {expected}", topic="files")


def _read_csv(
    blocks: Iterator[list[str]],
    path: Path,
    builder: Builder,
    source: int,
    columns: dict[str, str] | None,
) -> None:
    lines, n_before = _from_first_text(blocks)
    if not lines:
        raise _empty(path, f"{_EXPECTED_COLUMNS} in its first line")
    delimiter = max(",;\t", key=lines[0].count)
    header = next(csv.reader(lines[:1], delimiter=delimiter))
    layout = _headless(header, path) if columns is None else None
    skip = 0 if layout is not None else 1
    reader = _Reader(
        builder,
        source,
        layout or _layout(header, columns, str(path)),
        from_text=True,
        decimal_comma=delimiter == ";",
    )
    n_rows, number = 0, n_before + skip
    for block in chain([lines[skip:]], blocks):
        if any('"' in line for line in block):
            # A quoted cell may span lines and blocks, so that the rest is read line by line.
            rest = chain(block, chain.from_iterable(blocks))
            n_rows += _read_quoted(rest, number, delimiter, reader)
            break
        n_rows += reader.lines(block, number, delimiter)
        number += len(block)
    if not n_rows:
        raise ConstraintError(f"{path} has a header but no constraints below it", topic="files")


def _from_first_text(blocks: Iterator[list[str]]) -> tuple[list[str], int]:
    """The first block from its first line that is not blank, and how many lines came before."""
    n_before = 0
    for block in blocks:
        for place, line in enumerate(block):
            # Spreadsheets may write a first line "sep=;".
            if line.strip() and not re.fullmatch(r"sep=.", line.strip(), re.IGNORECASE):
                return block[place:], n_before + place
        n_before += len(block)
    return [], n_before


def _read_quoted(lines: Iterator[str], number: int, delimiter: str, block: _Reader) -> int:
    """Read lines with quoted cells; `number` lines came before. Returns the number of rows."""
    reader = csv.reader(lines, delimiter=delimiter)
    n_rows = 0
    while True:
        rows: list[list[str]] = []
        numbers: list[int] = []
        begun = reader.line_num
        try:
            for row in islice(reader, _BLOCK_ROWS):
                rows.append(row if any(cell.strip() for cell in row) else [])
                numbers.append(number + begun + 1)  # where the row begins, if it spans lines
                begun = reader.line_num
        except csv.Error as error:
            block.builder.problem(block.source, number + reader.line_num, f"not CSV: {error}")
            return max(n_rows, 1)
        if not rows:
            return n_rows
        block.rows(rows, numbers)
        n_rows += sum(map(bool, rows))


def _headless(header: list[str], path: Path) -> _Layout | None:
    """The layout of a file whose first line is a constraint already, else None.

    Only words tell a link from a third row: 1 and -1 in the third place would be ambiguous.
    """
    cells = [cell.strip().lower() for cell in header]
    if len(cells) not in (3, 4):
        return None
    if cells[2] in _WORDS and not re.fullmatch(r"[-+]?[0-9.]+", cells[2]):
        return _Layout((0, 1), None, 2, 3 if len(cells) == 4 else None, len(cells))
    # A third cell that is a number names no column, whatever the ids before it look like.
    if re.fullmatch(r"[-+]?[0-9.]+", cells[2]):
        raise ConstraintError(
            f"{path}: the first line is not a header; add one: i,j,link for pairs or a,b,c for "
            "relative constraints"
        )
    return None


def _read_json(
    blocks: Iterator[list[str]],
    path: Path,
    builder: Builder,
    source: int,
    columns: dict[str, str] | None,
) -> None:
    """One object per line; objects with the same keys are handled together."""
    waiting: dict[tuple[str, ...], tuple[list[list[object]], list[int]]] = {}
    n_seen = 0
    for number, line in enumerate(chain.from_iterable(blocks), 1):
        if not line.strip():
            continue
        n_seen += 1
        try:
            item = json.loads(line)
        except (ValueError, RecursionError) as error:
            what = "nested too deep" if isinstance(error, RecursionError) else error
            builder.problem(source, number, f"not JSON: {what}")
            continue
        if not isinstance(item, dict):
            found = type(item).__name__
            builder.problem(source, number, f"expected an object such as {_EXAMPLE}, not {found}")
            continue
        rows, numbers = waiting.setdefault(tuple(item), ([], []))
        rows.append(list(item.values()))
        numbers.append(number)
        if len(rows) == _BLOCK_ROWS:
            _add_json(waiting, builder, source, columns)
    if not n_seen:
        raise _empty(path, f"expected lines such as {_EXAMPLE}")
    _add_json(waiting, builder, source, columns)


_EXAMPLE = '{"i": 0, "j": 4, "link": "must"}'


def _add_json(
    waiting: dict[tuple[str, ...], tuple[list[list[object]], list[int]]],
    builder: Builder,
    source: int,
    columns: dict[str, str] | None,
) -> None:
    for keys, (rows, numbers) in waiting.items():
        try:
            layout = _layout(keys, columns, "")
        except ConstraintError as error:
            for number in numbers:
                builder.problem(source, number, str(error).removeprefix(": "))
            continue
        flat = [[_hashable(cell) for cell in row] for row in rows]
        _Reader(builder, source, layout, from_text=False).rows(flat, numbers)
    waiting.clear()


def _hashable(cell: object) -> object:
    return json.dumps(cell) if isinstance(cell, (list, dict)) else cell


def _read_parquet(
    path: Path, builder: Builder, source: int, columns: dict[str, str] | None
) -> None:
    with open_parquet(path) as file:
        layout = _layout(file.schema_arrow.names, columns, str(path))
        reader, line = _Reader(builder, source, layout, from_text=False), 1
        for batch in file.iter_batches(_BLOCK_ROWS):
            cells = [_arrow_column(column) for column in batch.columns]
            reader.columns(cells, np.arange(line, line + batch.num_rows))
            line += batch.num_rows
    if line == 1:
        raise ConstraintError(f"{path} has columns but no constraints")


def _read_excel(path: Path, builder: Builder, source: int, columns: dict[str, str] | None) -> None:
    names, cells, _ = read_sheet(path)
    reader = _Reader(builder, source, _layout(names, columns, str(path)), from_text=False)
    whole = [[_whole(cell) for cell in column] for column in cells]
    reader.columns(whole, np.arange(2, 2 + len(cells[0])))


def _whole(cell: object) -> object:
    return int(cell) if isinstance(cell, float) and cell.is_integer() else cell


def _arrow_column(column: pyarrow.Array) -> Cells | NDArray:
    if column.null_count == 0 and str(column.type).startswith(("int", "uint", "float", "double")):
        return column.to_numpy()
    return column.to_pylist()


def parse_frame(frame: pd.DataFrame, columns: dict[str, str] | None, ids: IdMode) -> Parts:
    """Convert a frame; see `Constraints.from_frame`."""
    if not hasattr(frame, "columns"):
        raise TypeError(f"expected a DataFrame, not {type(frame).__name__}")
    builder = Builder("frame", ids)
    source = builder.source("row")
    names = list(frame.columns)
    layout = _layout(names, columns, "frame")
    arrays = [np.asarray(frame[name]) for name in names]
    cells: list[Cells | NDArray] = [a if a.dtype.kind in "iuf" else a.tolist() for a in arrays]
    reader = _Reader(builder, source, layout, from_text=False)
    reader.columns(cells, np.arange(len(frame)))
    return builder.build()


# -------------------------------------------------------------------- writing


def _table(given: Constraints) -> dict[str, Sequence[object]]:
    """Columns that describe the constraints, without those that are the same in every row."""
    if given and given.n_constraints == given.n_relative:
        table = dict(zip("abc", given.relative.T.tolist(), strict=True))
    elif given and given.n_constraints == given.n_apart:
        groups, members = _members(given)
        table = {"group": groups, "row": members, "kind": ["apart"] * len(members)}
    else:
        table = _mixed_table(given)
    weights = [given._links(kind).weight for kind in KINDS]
    weight = np.concatenate([*weights, given._apart.weight[given._apart.group]])
    if (weight != 1).any():
        table["weight"] = weight.tolist()
    return table


def _mixed_table(given: Constraints) -> dict[str, Sequence[object]]:
    """A row per pair, triplet and member of a group, with the columns that any of them needs."""
    groups, members = _members(given)
    ends = [*given.must_link.tolist(), *given.cannot_link.tolist(), *given.relative.tolist()]
    numbers = (given.n_must_link, given.n_cannot_link, given.n_relative)
    gaps = [None] * len(members)
    table: dict[str, Sequence[object]] = {
        "i": [end[0] for end in ends] + members,
        "j": [end[1] for end in ends] + gaps,
    }
    if given.n_relative:
        table["c"] = [end[2] if len(end) > 2 else None for end in ends] + gaps
    table["link"] = [*np.repeat(KINDS, numbers).tolist(), *["apart"] * len(members)]
    if members:
        table["group"] = [*[None] * len(ends), *groups]
    return table


def _members(given: Constraints) -> tuple[list[Hashable], list[Hashable]]:
    """The group and the row of each membership of an apart group."""
    groups = [name for name, rows in given.apart.items() for _ in rows]
    return groups, given._names(given._apart.members)


def to_frame(given: Constraints) -> pd.DataFrame:
    """See `Constraints.to_frame`."""
    pandas = optional("pandas", extra="parquet", need="A DataFrame of constraints")
    table = pandas.DataFrame(_table(given))
    if "c" in table and given.n_constraints > given.n_relative and not given.has_ids:
        table["c"] = table["c"].astype("Int64")  # integers with gaps
    return table


def write(given: Constraints, path: str | os.PathLike[str]) -> None:
    """See `Constraints.write`."""
    path = Path(path)
    suffix = file_kind(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"no such folder: {path.parent}")
    odd = next((name for name in given._ids or () if not isinstance(name, (str, int))), None)
    if odd is not None:
        raise ConstraintError(
            f"{path}: the id {odd!r} is a {type(odd).__name__}; files hold ids that are text or "
            "numbers, so turn the ids into text first"
        )
    if is_gzip(path) and suffix in PARQUET:
        raise ConstraintError(f"{path}: Parquet is compressed already; drop the .gz")
    table = _table(given)
    write_table(path, list(table), [list(table.values())])
