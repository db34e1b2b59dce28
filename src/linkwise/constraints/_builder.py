"""From raw cells to checked links.

All input (arguments, frames, files) passes through one `Builder`: it collects blocks of cells,
finds out whether they are row numbers or ids, records every problem with its line, and makes links
only if there is no problem.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from linkwise._errors import InputError
from linkwise.tables import MAX_LISTED

from ._cliques import Cliques
from ._errors import complain
from ._links import Links, Rows, Source, combined, concatenate, merge_repeated

Kind = Literal["must", "cannot", "relative"]
IdMode = Literal["auto", "text"]
KINDS: tuple[Kind, ...] = ("must", "cannot", "relative")
ARITY: dict[Kind, int] = {"must": 2, "cannot": 2, "relative": 3}

Cells = Sequence[Any]  # of a column, as a file or a user gives them
LinksLike = Iterable[Iterable[Hashable]] | NDArray  # rows (i, j), (i, j, weight) or (a, b, c)

# An integer as Python would print it: "007" and "+7" are ids, not row numbers.
INTEGER = re.compile(r"-?(0|[1-9][0-9]*)")
_ROW_NUMBERS = re.compile(r"(?:(?:0|[1-9][0-9]{0,17}),)*+(?:0|[1-9][0-9]{0,17})")
_EXACT = 2**53  # larger integers are rounded in float64
_LARGEST = 2**63 - 1  # of int64


@dataclass
class Parts:
    """What a `Builder` makes: the fields of a `Constraints`."""

    links: dict[Kind, Links]
    ids: tuple[Hashable, ...] | None
    sources: tuple[Source, ...]
    n_merged: int
    apart: Cliques = field(default_factory=Cliques.none)


@dataclass
class _Block:
    kind: Kind
    columns: list[Rows]
    weight: NDArray[np.float64]
    source: int
    lines: NDArray[np.int64]


@dataclass
class _Memberships:
    kind: Kind  # "must" together, "cannot" apart
    groups: Sequence[Hashable]
    members: Rows
    weight: NDArray[np.float64]
    source: int
    lines: NDArray[np.int64]


class Builder:
    """Collects constraints block by block, checks all of them, then builds the links."""

    def __init__(self, what: str, ids: IdMode = "auto"):
        if ids not in ("auto", "text"):
            raise InputError(f"{{ids={ids!r}}}: expected 'auto' or 'text'")
        self.what = what
        self.ids = ids
        self.sources: list[Source] = []
        self._blocks: list[_Block] = []
        self._memberships: list[_Memberships] = []
        self._answers: set[tuple[int, int]] = set()  # source and line
        self._problems: list[tuple[int, int, str]] = []
        self._table: dict[Hashable, int] = {}
        self._n_missing = 0
        # Where row numbers and ids were seen, a few of each: a mixture of the two is refused.
        self._numbers = _Sightings()
        self._names = _Sightings()

    def source(self, name: str, *, is_file: bool = False) -> int:
        """Register a source and return its number."""
        self.sources.append(Source(name, is_file))
        return len(self.sources) - 1

    def problem(self, source: int, line: int, text: str) -> None:
        """Record a problem at a line."""
        self._problems.append((source, line, text))

    def answers(self, source: int, lines: NDArray[np.int64]) -> None:
        """Mark lines as answers of annotators: several answers to a pair become one link."""
        self._answers.update((source, line) for line in lines.tolist())

    def add(
        self,
        kind: Kind,
        columns: Sequence[Rows | Cells],
        weight: NDArray[np.float64] | None,
        source: int,
        lines: NDArray[np.int64],
        *,
        from_text: bool = False,
    ) -> None:
        """Take a block of constraints: one column of cells per end.

        With `from_text` the cells come from a text file, where "12" may mean the number and
        blanks around a cell are ignored.
        """
        if not len(lines):
            return
        ends = [self._column(column, source, lines, from_text) for column in columns]
        block = _Block(kind, ends, np.ones(len(lines)) if weight is None else weight, source, lines)
        self._check_ends(block, columns)
        self._check_weight(block)
        self._blocks.append(block)

    def add_members(
        self,
        kind: Kind,
        groups: Sequence[Hashable],
        members: Rows | Cells,
        weight: NDArray[np.float64] | None,
        source: int,
        lines: NDArray[np.int64],
        *,
        from_text: bool = False,
    ) -> None:
        """Take memberships: rows of a group belong together ("must") or apart ("cannot").

        Groups of one source and kind with the same name are one group, also across calls.
        """
        if not len(lines):
            return
        weight = np.ones(len(lines)) if weight is None else weight
        found = self._column(members, source, lines, from_text)
        self._check_weight(_Block(kind, [found], weight, source, lines))
        self._memberships.append(_Memberships(kind, groups, found, weight, source, lines))

    # ---------------------------------------------------------------- cells

    def _column(self, column: Rows | Cells, source: int, lines: Rows, from_text: bool) -> Rows:
        """A column of cells as row numbers, or as positions in the table of ids."""
        rows: Rows | None = None
        cells: Cells = ()
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

    def _encode(self, cells: Cells, source: int, lines: Rows, from_text: bool) -> Rows:
        ids: Sequence[Hashable] | None = self._plain_text(cells, from_text)
        if ids is not None:
            self._names.add(len(ids), ids[0], source, int(lines[0]))
        else:
            ids = [self._id(c, source, int(lines[i]), from_text) for i, c in enumerate(cells)]
            self._note_kinds(ids, source, lines)
            rows = integers([self._stand_in() if cell is None else cell for cell in ids])
            if rows is not None:
                return rows
        table = self._table  # setdefault numbers an id when it is first seen
        return np.array([table.setdefault(cell, len(table)) for cell in ids], dtype=np.int64)

    def _note_kinds(self, ids: Sequence[Hashable], source: int, lines: Rows) -> None:
        """Note which cells are row numbers and which are ids."""
        for cell, line in zip(ids, lines.tolist(), strict=True):
            if cell is not None:
                fits = is_integer(cell) and abs(cell) <= _LARGEST  # type: ignore[arg-type]
                (self._numbers if fits else self._names).add(1, cell, source, line)

    def _stand_in(self) -> int:
        """A unique number for a missing cell, so that the other checks can run."""
        self._n_missing += 1
        return -_LARGEST + self._n_missing

    def _plain_text(self, cells: Cells, from_text: bool) -> Sequence[str] | None:
        """The cells as ids, if all are text that cannot be a row number (the fast path)."""
        if not all(type(cell) is str for cell in cells) or not all(cells):
            return None
        if from_text and any(c[0] in "-0123456789" and INTEGER.fullmatch(c) for c in cells):
            return None
        return cells

    def _id(self, cell: object, source: int, line: int, from_text: bool) -> Hashable:
        """One cell as an id or row number; None, with a problem recorded, if it is neither."""
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

    def _wrong(self, cell: object) -> str | None:
        if is_missing(cell) or cell == "":
            return "a row number or id is missing"
        if isinstance(cell, (bool, float)):
            return f"{cell} is neither a row number nor an id"
        try:
            hash(cell)
        except TypeError:
            return f"ids must be hashable, not {type(cell).__name__}"
        return None

    def _check_ends(self, block: _Block, cells: Sequence[Rows | Cells]) -> None:
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
        self._raise_problems()
        apart, stars = self._groups()
        given = {
            kind: concatenate((stars if kind == "must" else []) + self._given(kind), ARITY[kind])
            for kind in KINDS
        }
        links = given
        if self._answers:
            must, cannot = combined(given["must"], given["cannot"], self._answers)
            links = {**given, "must": must, "cannot": cannot}
        links = {kind: merge_repeated(part) for kind, part in links.items()}
        n_merged = sum(len(given[kind]) - len(links[kind]) for kind in KINDS)
        ids = tuple(self._table) if self._names.count else None
        merged = apart.merged()
        n_merged += len(apart) - len(merged)
        return Parts(links, ids, tuple(self.sources), n_merged, merged)

    def _raise_problems(self) -> None:
        if self._numbers.count and self._names.count:
            self._mixed()
        found = sorted(self._problems, key=lambda problem: problem[:2])
        problems = [f"{self.sources[s].at(line)}: {text}" for s, line, text in found]
        in_files = any(self.sources[s].is_file for s, _, _ in found)
        complain(self.what, problems, "files" if in_files else "knowledge")

    def _given(self, kind: Kind) -> list[Links]:
        return [
            Links.make(np.column_stack(b.columns), b.weight, b.source, b.lines, arity=ARITY[kind])
            for b in self._blocks
            if b.kind == kind
        ]

    def _groups(self) -> tuple[Cliques, list[Links]]:
        """Apart groups as cliques, and the must-links of the other groups."""
        table: dict[tuple[int, Kind, Hashable], int] = {}
        if not self._memberships:
            return Cliques.none(), []
        codes = [
            np.array(
                [table.setdefault((part.source, part.kind, name), len(table)) for name in
                 part.groups], dtype=np.int64,
            )
            for part in self._memberships
        ]  # fmt: skip
        group = np.concatenate(codes)
        members = np.concatenate([part.members for part in self._memberships])
        lines = np.concatenate([part.lines for part in self._memberships])
        each = np.concatenate([part.weight for part in self._memberships])
        weight = np.zeros(len(table))
        np.maximum.at(weight, group, each)
        source = np.array([key[0] for key in table], dtype=np.int32)
        every = Cliques.of_members(group, members, lines, weight, source, list(table))
        kinds = [key[1] == "cannot" for key in every.names]  # type: ignore[index]
        is_apart = np.array(kinds, dtype=np.bool_)
        apart, together = every.take(is_apart), every.take(~is_apart)
        apart = replace(apart, names=tuple(name[2] for name in apart.names))  # type: ignore[index]
        hub = np.repeat(together.members[together.starts[:-1]], together.sizes)
        rest, of = hub != together.members, together.group
        ends = np.column_stack([hub, together.members])[rest]
        what = (together.weight[of][rest], together.source[of][rest], together.line[rest])
        return apart, [Links.make(ends, *what)]

    def _mixed(self) -> None:
        """Report the cells of the rarer kind: they are the likely mistakes."""
        rare, common = sorted((self._names, self._numbers), key=lambda seen: seen.count)
        value, source, line = common.places[0]
        other = f"{value!r} at {self.sources[source].at(line)}"
        for value, source, line in rare.places:
            advice = (
                "if all are ids, read them with {ids_as_text}"
                if self.sources[source].is_file
                else "use one or the other throughout"
            )
            self.problem(
                source,
                line,
                f"ids and row numbers are mixed: {value!r} here, but {other}; {advice}",
            )


class _Sightings:
    """Number of cells of one kind, and where the first few were found."""

    def __init__(self) -> None:
        self.count = 0
        self.places: list[tuple[object, int, int]] = []

    def add(self, count: int, value: object, source: int, line: int) -> None:
        self.count += count
        if len(self.places) < MAX_LISTED:
            self.places.append((value, source, line))


def _shown(cell: object) -> object:
    """A cell as it is shown in a message: numbers without quotes."""
    if isinstance(cell, np.generic):
        cell = cell.item()
    if isinstance(cell, str):
        cell = cell.strip()
        return int(cell) if INTEGER.fullmatch(cell) else cell
    return int(cell) if isinstance(cell, float) and cell.is_integer() else cell


def is_missing(cell: object) -> bool:
    """Whether a cell is None, NaN, NaT or pandas' NA."""
    if cell is None:
        return True
    try:
        return bool(cell != cell)
    except TypeError:  # NA refuses to be true or false
        return True
    except ValueError:  # an array
        return False


def is_empty(cell: object) -> bool:
    """Whether a cell is missing, or text without a letter."""
    return is_missing(cell) or (isinstance(cell, str) and not cell.strip())


def is_integer(cell: object) -> bool:
    return isinstance(cell, (int, np.integer)) and not isinstance(cell, (bool, np.bool_))


def integers(cells: Cells, *, from_text: bool = False) -> Rows | None:
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
