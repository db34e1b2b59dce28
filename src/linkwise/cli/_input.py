"""Reading of tables, ids, features and constraints, the same way in every command."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape

from linkwise._errors import fill
from linkwise._help import see

from . import _options as opt
from . import _output as out

if TYPE_CHECKING:
    from linkwise.constraints import Constraints
    from linkwise.tables import Features, Table

TREES = (".nwk", ".newick", ".tree", ".tre")
_TEXT = (".csv", ".tsv", ".tab", ".txt", ".jsonl", ".ndjson", ".gz")
_LARGE_FILE = 20_000_000  # bytes; reading more takes about a second, so a spinner is shown
_PAIR_COLUMNS = {"i", "j", "link"}


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How a file becomes a table: options of the panel "Data"."""

    id_column: opt.IdColumn = None
    missing: opt.Missing = None
    encoding: opt.Encoding = None
    sheet: opt.Sheet = None
    help_all: opt.HelpAll = False

    def table(self, path: Path) -> Table:
        """The table in a file."""
        from linkwise.tables import read_table

        with busy(f"reading {path.name}", path):
            table = read_table(
                path, missing=self.missing or (), encoding=self.encoding, sheet=self.sheet
            )
        if self.id_column is not None:
            table.column(self.id_column)  # raises if there is none
        return table


@dataclass(frozen=True, kw_only=True)
class Measuring(Reading):
    """How a table becomes rows of numbers: the other options of the panel "Data"."""

    features: opt.FeatureNames = None
    text_column: opt.TextColumn = None
    embedding: opt.Embedding = None
    no_scale: opt.NoScale = False

    def rows(self, table: Table, leave_out: Sequence[str] = ()) -> Features:
        """The columns of a table as numbers; notes report how."""
        from linkwise.tables import table_features

        columns, texts = self.columns, self.texts
        if columns is not None and texts is not None:
            columns = [*columns, *(name for name in texts if name not in columns)]
        names = (None, "auto", "words", "wordllama")
        if self.embedding not in names and "sentence-transformers/" not in str(self.embedding):
            raise ValueError(
                f"--embedding {self.embedding}: expected words, wordllama or "
                "sentence-transformers/NAME"
            )
        made = table_features(
            table, columns, texts=texts, leave_out=leave_out, scale=not self.no_scale,
            embedding=self.embedding or "auto",
        )  # fmt: skip
        for note in made.templates:
            out.print_note(fill(note, out.in_options))
        return made

    @property
    def columns(self) -> list[str] | None:
        """Names of the features."""
        return None if self.features is None else column_names(self.features)

    @property
    def texts(self) -> list[str] | None:
        """Names of the columns of texts."""
        text = self.text_column
        return None if text is None else column_names(text, "--text-column")


@contextmanager
def busy(doing: str, path: Path) -> Iterator[None]:
    """Show a spinner while a large file is read."""
    if not path.is_file() or path.stat().st_size < _LARGE_FILE:
        yield
        return
    with out.errors.status(escape(doing)):
        yield


def column_names(text: str, option: str = "--features") -> list[str]:
    """Names between commas; a name with a comma is in quotes."""
    names = [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]
    if not names or "" in names:
        raise ValueError(f"{option} {text!r}: expected names of columns, such as a,b,c")
    return names


# -------------------------------------------------------------------- ids


def read_ids(table: Table, id_column: str | None) -> list[str] | None:
    """The ids of the rows as text; None if rows are named by number."""
    if id_column is None:
        return None
    names = [name.strip() for name in table.text(id_column).tolist()]
    first: dict[str, int] = {}
    for row, name in enumerate(names):
        if not name:
            raise ValueError(
                f"{table.path}: {table.place_of(row)} has no {id_column!r}; ids must be given"
                + see("ids")
            )
        if first.setdefault(name, row) != row:
            places = f"{table.place_of(first[name])} and {table.place_of(row)}"
            raise ValueError(
                f"{table.path}: {places} have the same {id_column!r}, {name!r}; ids must differ"
                + see("ids")
            )
    return names


def id_columns(table: Table) -> list[str]:
    """Columns that hold ids, by the rule of `table_features`."""
    from linkwise.tables import column_kinds

    return [name for name, kind in column_kinds(table).items() if kind.kind == "id"]


def recognized_ids(table: Table) -> str | None:
    """The first column of ids."""
    return next(iter(id_columns(table)), None)


# -------------------------------------------------------------------- constraints


def read_constraints(
    path: Path, ids: str, columns: list[str], encoding: str | None = None
) -> Constraints:
    """Read constraints; for large files, with a spinner. Warnings become notes."""
    with out.warnings_as_notes():
        return _read_constraints(path, ids, columns, encoding)


def _read_constraints(
    path: Path, ids: str, columns: list[str], encoding: str | None
) -> Constraints:
    from linkwise.constraints import Constraints

    if path.suffix.lower() in TREES:
        return Constraints.from_tree(path)
    roles = dict(_role(text) for text in columns) or None
    encoding = encoding if path.suffix.lower() in _TEXT else None
    with busy(f"reading {path.name}", path):
        return Constraints.read(path, ids=ids, columns=roles, encoding=encoding)  # type: ignore[arg-type]


def _role(text: str) -> tuple[str, str]:
    role, equals, name = text.partition("=")
    if not equals or not name:
        raise ValueError(f"--column {text!r}: expected ROLE=NAME, such as i=person_1")
    return role.strip(), name.strip()


def constraints_on(
    table: Table, path: Path, how: Reading, columns: list[str]
) -> tuple[Constraints, str | None]:
    """The constraints in a file on the rows of a table, and the column of ids that they name.

    Without --id-column, it is the first column of ids that has every id in the constraints; if
    there is none, numbers in the constraints are row numbers.
    """
    ids_are = "auto" if how.id_column is None else "text"
    known = _read_or_explain(table, path, ids_are, columns, how)
    column = how.id_column
    if column is None:
        names = {str(row) for row in known.rows}
        candidates = id_columns(table)
        texts = {own: set(map(str.strip, table.text(own).tolist())) for own in candidates}
        column = next((own for own in candidates if names and names <= texts[own]), None)
        if column is not None:
            with warnings.catch_warnings(action="ignore"):  # shown by the first reading
                known = _read_constraints(path, "text", columns, how.encoding)
            out.print_note(f"rows are named by {column!r} (--id-column changes it)")
        elif known.has_ids and candidates:
            column = candidates[0]
        elif candidates and names:
            out.print_note(
                f"rows are named by their number, from 0: column {candidates[0]!r} does not have "
                f"all ids of {path.name}; if they are ids, give --id-column {candidates[0]}"
            )
    _check_rows(known, table, read_ids(table, column))
    return known, column


def _read_or_explain(
    table: Table, path: Path, ids: str, columns: list[str], how: Reading
) -> Constraints:
    """Read constraints; recognize files that were swapped, and labels."""
    try:
        return read_constraints(path, ids, columns, how.encoding)
    except ValueError:
        if {name.lower() for name in table.columns} >= _PAIR_COLUMNS:
            raise ValueError(
                f"the files seem to be swapped; type: linkwise cluster {path} "
                f"--constraints {table.path}"
            ) from None
        if not columns and path.suffix.lower() not in TREES and (hint := _labels_in(path, table)):
            raise ValueError(hint) from None
        raise


def _labels_in(path: Path, table: Table) -> str | None:
    """What to do with a file of an id and a label per row."""
    from linkwise.tables import read_table

    try:
        other = read_table(path)
    except ValueError:
        return None
    names = list(other.columns)
    shared = [name for name in names if name in table.columns]
    if len(names) != 2 or not shared:
        return None
    label = next(name for name in names if name != shared[0])
    return (
        f"{path} has labels ({shared[0]!r} and {label!r}), not constraints; add the column "
        f"{label!r} to {table.path.name} and give --label-column {label}"
    )


def _check_rows(known: Constraints, table: Table, ids: list[str] | None) -> None:
    """Refuse constraints on rows that the data does not have."""
    try:
        known.to_rows(table.n_rows, ids)
    except ValueError:
        if ids is not None and (hint := _near_misses(known, ids)):
            raise ValueError(hint) from None
        raise


def _near_misses(known: Constraints, ids: list[str]) -> str | None:
    """The error if ids are equal but for case, zeros or ``.0``."""
    there = set(ids)
    unknown = [str(row) for row in known.rows if str(row) not in there]
    plain = {_plain_id(name) for name in ids}
    n_alike = sum(_plain_id(name) in plain for name in unknown)
    if not n_alike:
        return None
    of_data, of_links = (", ".join(map(repr, names[:3])) for names in (ids, unknown))
    return (
        f"{n_alike:,} of {len(unknown):,} ids in the constraints that the data does not have are "
        f"there but for case, leading zeros or '.0': the data has {of_data}, the constraints "
        f"{of_links}; write them the same way in both files{see('ids')}"
    )


def _plain_id(name: str) -> str:
    """An id without what spreadsheets change: case, ``.0``, zeros before a number."""
    head, digits = _split_digits(name.strip().lower().removesuffix(".0"))
    return head + (digits.lstrip("0") or "0")


def _split_digits(name: str) -> tuple[str, str]:
    head = name.rstrip("0123456789")
    return head, name[len(head) :]
