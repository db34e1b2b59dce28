"""From raw cells to checked links.

Everything a person can hand over (arguments, frames, files) passes through one `Builder`: it
gathers blocks of cells, finds out whether they speak of row numbers or of ids, collects every
problem with its place, and makes links only when there is none.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ._errors import ConstraintError, complain
from ._links import Links, Rows, Source, concatenate, merge_repeated

Kind = Literal["must", "cannot", "relative"]
IdMode = Literal["auto", "rows", "text"]
KINDS: tuple[Kind, ...] = ("must", "cannot", "relative")
ARITY: dict[Kind, int] = {"must": 2, "cannot": 2, "relative": 3}

# An integer as Python would print it: "007" and "+7" are ids, not row numbers.
INTEGER = re.compile(r"-?(0|[1-9][0-9]*)")
_ROW_NUMBERS = re.compile(r"(?:(?:0|[1-9][0-9]{0,17}),)*+(?:0|[1-9][0-9]{0,17})")
_EXACT = 2**53  # integers up to here survive a float64
_LARGEST = 2**63 - 1
_MOST_PLACES = 1000
_MOST_CLASSES = 10_000


@dataclass
class Parts:
    """What a `Builder` makes: the fields of a `Constraints`."""

    links: dict[Kind, Links]
    ids: tuple[Hashable, ...] | None
    sources: tuple[Source, ...]
    n_merged: int


@dataclass
class _Block:
    kind: Kind
    columns: list[Rows]
    weight: NDArray[np.float64]
    source: int
    lines: NDArray[np.int64]


class Builder:
    """Gathers constraints block by block, checks all of them, and only then makes them.

    Parameters
    ----------
    what : str
        What is being read, for the error message.
    ids : {"auto", "rows", "text"}
        Whether integers written as text are row numbers ("rows"), parts of ids ("text"), or
        whichever all cells agree on ("auto").
    """

    def __init__(self, what: str, ids: IdMode = "auto"):
        if ids not in ("auto", "rows", "text"):
            raise ValueError(f"ids={ids!r}: expected 'auto', 'rows' or 'text'")
        self.what = what
        self.ids = ids
        self.sources: list[Source] = []
        self._blocks: list[_Block] = []
        self._problems: list[tuple[int, int, str]] = []
        self._table: dict[Hashable, int] = {}
        self._n_missing = 0
        # Where row numbers and ids stand, a few of each: a mixture of the two is refused.
        self._numbers = _Sightings()
        self._names = _Sightings()

    def source(self, name: str, *, is_file: bool = False) -> int:
        """Register a source and return its number."""
        self.sources.append(Source(name, is_file))
        return len(self.sources) - 1

    def problem(self, source: int, line: int, text: str) -> None:
        """Note that something is wrong at a line."""
        self._problems.append((source, line, text))

    def add(
        self,
        kind: Kind,
        columns: Sequence[Rows | Sequence[Any]],
        weight: NDArray[np.float64] | None,
        source: int,
        lines: NDArray[np.int64],
        *,
        from_text: bool = False,
    ) -> None:
        """Take a block of constraints: one column of cells per end.

        With `from_text` the cells come from a text file, where "12" may mean the number and
        blanks around a cell mean nothing.
        """
        if not len(lines):
            return
        ends = [self._column(column, source, lines, from_text) for column in columns]
        block = _Block(kind, ends, np.ones(len(lines)) if weight is None else weight, source, lines)
        self._check_ends(block, columns)
        self._check_weight(block)
        self._blocks.append(block)

    # ---------------------------------------------------------------- cells

    def _column(
        self, column: Rows | Sequence[Any], source: int, lines: Rows, from_text: bool
    ) -> Rows:
        """A column of cells as row numbers, or as positions in the table of ids."""
        rows: Rows | None = None
        cells: Sequence[Any] = ()
        if isinstance(column, np.ndarray) and column.dtype.kind in "iu" and self.ids != "text":
            rows = column.astype(np.int64)
        else:
            cells = column.tolist() if isinstance(column, np.ndarray) else column
            if self.ids != "text":
                rows = integers(cells, from_text=from_text)
            if rows is None and from_text:
                cells = list(map(str.strip, cells))
        if rows is None:
            return self._encode(cells, source, lines, from_text and self.ids != "text")
        self._numbers.add(len(rows), int(rows[0]), source, int(lines[0]))
        return rows

    def _encode(self, cells: Sequence[Any], source: int, lines: Rows, from_text: bool) -> Rows:
        ids: Sequence[Hashable] | None = self._plain_text(cells, from_text)
        if ids is not None:
            self._names.add(len(ids), ids[0], source, int(lines[0]))
        else:
            ids = [self._id(c, source, int(lines[i]), from_text) for i, c in enumerate(cells)]
            rows = integers([self._stand_in() if cell is None else cell for cell in ids])
            if rows is not None:
                self._numbers.add(len(rows), int(rows[0]), source, int(lines[0]))
                return rows
            for i, cell in enumerate(ids):
                number = is_integer(cell) and abs(cell) <= _LARGEST  # type: ignore[arg-type]
                if cell is not None:
                    seen = self._numbers if number else self._names
                    seen.add(1, cell, source, int(lines[i]))
        table = self._table  # setdefault numbers an id when it is first seen
        return np.array([table.setdefault(cell, len(table)) for cell in ids], dtype=np.int64)

    def _stand_in(self) -> int:
        """A number for a cell that is missing, unlike any other, so that checks can go on."""
        self._n_missing += 1
        return -_LARGEST + self._n_missing

    def _plain_text(self, cells: Sequence[Any], from_text: bool) -> Sequence[str] | None:
        """The cells as ids at once, when all are text that cannot be a row number."""
        if self.ids == "rows" or not all(type(cell) is str for cell in cells) or not all(cells):
            return None
        if from_text and any(c[0] in "-0123456789" and INTEGER.fullmatch(c) for c in cells):
            return None
        return cells

    def _id(self, cell: Any, source: int, line: int, from_text: bool) -> Hashable:
        """One cell as an id or row number; None, with a problem noted, when it is neither."""
        if isinstance(cell, np.generic):
            cell = cell.item()
        if isinstance(cell, str):
            if from_text and INTEGER.fullmatch(cell):
                return int(cell)
        elif isinstance(cell, float) and cell.is_integer():
            cell = int(cell)
        wrong = self._wrong(cell)
        if wrong:
            self.problem(source, line, wrong)
            return None
        return str(cell) if self.ids == "text" and is_integer(cell) else cell

    def _wrong(self, cell: Any) -> str | None:
        if is_missing(cell) or cell == "":
            return "a row number or id is missing"
        if isinstance(cell, (bool, float)):
            return f"{cell} is neither a row number nor an id"
        if self.ids == "rows" and not is_integer(cell):
            return f"expected a row number, found {cell!r}"
        try:
            hash(cell)
        except TypeError:
            return f"ids must be hashable, not {type(cell).__name__}"
        return None

    def _check_ends(self, block: _Block, cells: Sequence[Rows | Sequence[Any]]) -> None:
        # A column of row numbers and one of ids cannot repeat a row (and are refused later).
        ordered = np.sort(np.column_stack(block.columns), axis=1)
        for i in np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1)).tolist():
            shown = tuple(_shown(column[i]) for column in cells)
            if len(set(map(str, shown))) == len(shown) or any(is_missing(c) for c in shown):
                continue
            if block.kind == "relative":
                text = f"the triplet {shown} repeats a row; it needs three different ones"
            else:
                text = f"the pair {shown} links a row with itself"
            self.problem(block.source, int(block.lines[i]), text)

    def _check_weight(self, block: _Block) -> None:
        good = np.isfinite(block.weight) & (block.weight > 0)
        for i in np.flatnonzero(~good).tolist():
            text = f"weight {block.weight[i]:g} must be a positive, finite number"
            self.problem(block.source, int(block.lines[i]), text)

    # ---------------------------------------------------------------- making links

    def build(self) -> Parts:
        """Raise one error for all problems, or return the links."""
        if self._numbers.count and self._names.count:
            self._mixed()
        found = sorted(self._problems, key=lambda problem: problem[:2])
        problems = [f"{self.sources[s].at(line)}: {text}" for s, line, text in found]
        in_files = any(self.sources[s].is_file for s, _, _ in found)
        complain(self.what, problems, "files" if in_files else "knowledge")
        links: dict[Kind, Links] = {}
        n_merged = 0
        for kind in KINDS:
            parts = [
                Links.make(
                    np.column_stack(b.columns), b.weight, b.source, b.lines, arity=ARITY[kind]
                )
                for b in self._blocks
                if b.kind == kind
            ]
            given = concatenate(parts, ARITY[kind])
            links[kind] = merge_repeated(given)
            n_merged += len(given) - len(links[kind])
        ids = tuple(self._table) if self._names.count else None
        return Parts(links, ids, tuple(self.sources), n_merged)

    def _mixed(self) -> None:
        """Name the cells of the rarer sort: they are the likely slips."""
        rare, common = sorted((self._names, self._numbers), key=lambda seen: seen.count)
        value, source, line = common.places[0]
        other = f"{value!r} at {self.sources[source].at(line)}"
        for value, source, line in rare.places:
            advice = (
                'if all are ids, read them with ids="text" (on the command line: --ids text)'
                if self.sources[source].is_file
                else "use one or the other throughout"
            )
            self.problem(
                source,
                line,
                f"ids and row numbers are mixed: {value!r} here, but {other}; {advice}",
            )


class _Sightings:
    """How many cells of a sort there were, and where the first few stood."""

    def __init__(self) -> None:
        self.count = 0
        self.places: list[tuple[Any, int, int]] = []

    def add(self, count: int, value: Any, source: int, line: int) -> None:
        self.count += count
        if len(self.places) < _MOST_PLACES:
            self.places.append((value, source, line))


def _shown(cell: Any) -> Any:
    """A cell as it is shown in a message: numbers without quotes."""
    if isinstance(cell, np.generic):
        cell = cell.item()
    if isinstance(cell, str):
        cell = cell.strip()
        return int(cell) if INTEGER.fullmatch(cell) else cell
    return int(cell) if isinstance(cell, float) and cell.is_integer() else cell


def is_missing(cell: Any) -> bool:
    """Whether a cell is None, NaN, NaT or pandas' NA."""
    if cell is None:
        return True
    try:
        return bool(cell != cell)
    except TypeError:  # NA refuses to be true or false
        return True
    except ValueError:  # an array
        return False


def is_integer(cell: Any) -> bool:
    return isinstance(cell, (int, np.integer)) and not isinstance(cell, (bool, np.bool_))


def integers(cells: Sequence[Any], *, from_text: bool = False) -> Rows | None:
    """The cells as row numbers, or None when some cell is not an integer that fits.

    With `from_text`, text counts as an integer in the form Python prints it in.
    """
    try:
        if from_text:
            text = ",".join(cells)
            if _ROW_NUMBERS.fullmatch(text):  # the usual case, parsed in one go
                return np.fromstring(text, dtype=np.int64, sep=",")
            if not all(INTEGER.fullmatch(cell.strip()) for cell in cells):
                return None
            return np.fromiter(map(int, cells), np.int64, len(cells))
        if all(is_integer(cell) for cell in cells):
            return np.fromiter(cells, np.int64, len(cells))
    except (TypeError, AttributeError, OverflowError):
        pass
    return None


# -------------------------------------------------------------------- arguments of a call


def add_rows(builder: Builder, kind: Kind, given: Any, name: str) -> None:
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
    cells: list[list[Any]] = []
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


def _numeric_table(rows: Any, arity: int) -> NDArray[Any] | None:
    """The rows as one array, if they are whole numbers with at most a weight behind them."""
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


def _row(row: Any) -> list[Any] | None:
    if isinstance(row, (str, bytes)) or not isinstance(row, Iterable):
        return None
    return list(row)


def _weight(cell: Any) -> float | None:
    """A weight as a float; None when it is no number."""
    try:
        return float(cell)
    except (TypeError, ValueError):
        return None


def _form(arity: int) -> str:
    ends = "i, j" if arity == 2 else "a, b, c"
    return f"({ends}) or ({ends}, weight)"


def add_groups(builder: Builder, groups: Any) -> None:
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
        if all(isinstance(member, Hashable) for member in members):  # else the check below says so
            members = list(dict.fromkeys(members))
        if len(members) > 1:
            hub = [members[0]] * (len(members) - 1)
            lines = np.full(len(hub), line, dtype=np.int64)
            builder.add("must", [hub, members[1:]], None, source, lines)


def add_labels(builder: Builder, labels: Any, ids: Sequence[Hashable] | None = None) -> None:
    """Add partial labels: rows of a class form a star, and the classes' hubs are kept apart."""
    source = builder.source("labels")
    names, codes = known_labels(labels, ids)
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    hub = np.repeat(order[starts], np.diff(starts, append=len(order)))
    inside = order != hub
    add = _adder(builder, names, source)
    add("must", hub[inside], order[inside])
    if len(starts) > _MOST_CLASSES:
        raise ConstraintError(
            f"labels with {len(starts):,} classes would need a cannot-link for every two of them; "
            f"the limit is {_MOST_CLASSES:,} classes: give groups (or must-links) instead"
        )
    first, second = np.triu_indices(len(starts), 1)
    add("cannot", order[starts][first], order[starts][second])


def _adder(builder: Builder, names: Rows | list[Hashable], source: int) -> Any:
    def add(kind: Kind, i: Rows, j: Rows) -> None:
        if isinstance(names, np.ndarray):
            builder.add(kind, [names[i], names[j]], None, source, names[j])
        elif len(i):
            columns = [[names[k] for k in i.tolist()], [names[k] for k in j.tolist()]]
            builder.add(kind, columns, None, source, np.asarray(j, dtype=np.int64))

    return add


def known_labels(
    labels: Any, ids: Sequence[Hashable] | None = None
) -> tuple[Rows | list[Hashable], Rows]:
    """The labeled rows and their classes as codes 0..k-1.

    Parameters
    ----------
    labels : array-like, mapping or Series
        One label per row with -1, None, NaN or '' for unknown, or a mapping from id to label.
    ids : sequence of hashable, default=None
        Ids of the rows.

    Returns
    -------
    names : ndarray of row numbers, or list of ids
    codes : ndarray
    """
    ids, codes = label_codes(labels, ids)
    rows = np.flatnonzero(codes >= 0)
    names: Rows | list[Hashable] = rows if ids is None else [ids[row] for row in rows.tolist()]
    return names, codes[rows]


def label_codes(
    labels: Any, ids: Sequence[Hashable] | None = None
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
        values = np.array(list(labels), dtype=object)  # NumPy made text of -1, None and NaN
    if ids is not None and len(ids) != len(values):
        raise ValueError(f"{len(values)} labels but {len(ids)} ids; there must be one id a row")
    known = _is_known(values)
    codes = np.full(len(values), -1, dtype=np.int64)
    codes[known] = _number(values[known])
    return ids, codes


def _number(values: NDArray[Any]) -> Rows:
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


def _is_known(values: NDArray[Any]) -> NDArray[np.bool_]:
    if values.dtype.kind in "iuf":
        return (values != -1) & (values == values)  # NaN differs from itself
    if values.dtype.kind == "O":
        return np.array([not is_missing(v) and v not in (-1, "-1", "") for v in values], dtype=bool)
    if values.dtype.kind == "U":
        return (values != "-1") & (values != "")  # an empty cell of a file
    return np.ones(len(values), dtype=bool)


def row_names(X: Any) -> list[Hashable] | None:
    """The index of a frame or series as ids; None for arrays and for a plain 0, 1, 2, ... index."""
    index = getattr(X, "index", None)
    if index is None or not hasattr(X, "iloc"):
        return None
    names = index.tolist()
    return None if names == list(range(len(names))) else names
