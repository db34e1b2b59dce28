"""Reading of tables, ids, features and constraints, the same way in every command."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape

from linkwise._errors import fill
from linkwise._help import see

from . import _output as out

if TYPE_CHECKING:
    from linkwise.constraints import Constraints
    from linkwise.tables import Features, Table

TREES = (".nwk", ".newick", ".tree", ".tre")
_TEXT = (".csv", ".tsv", ".tab", ".txt", ".jsonl", ".ndjson", ".gz")
_LARGE_FILE = 20_000_000  # bytes; above this, reading shows that it goes on
_PAIR_COLUMNS = {"i", "j", "link"}


@dataclass(frozen=True)
class Reading:
    """How a table becomes rows: the options of the panel "Data"."""

    id_column: str | None = None
    features: str | None = None
    text_column: str | None = None
    embedding: str | None = None
    no_scale: bool = False
    missing: tuple[str, ...] = ()
    encoding: str | None = None
    sheet: str | None = None

    def table(self, path: Path) -> Table:
        """The table in a file."""
        from linkwise.tables import read_table

        with busy(f"reading {path.name}", path):
            found = read_table(path, missing=self.missing, encoding=self.encoding, sheet=self.sheet)
        if self.id_column is not None:
            found.column(self.id_column)  # says what is wrong
        return found

    def rows(self, table: Table, leave_out: Sequence[str] = ()) -> Features:
        """The columns of a table as numbers; notes say how."""
        from linkwise.tables import table_features

        named = None if self.features is None else column_names(self.features)
        texts = (
            None if self.text_column is None else column_names(self.text_column, "--text-column")
        )
        if named is not None and texts is not None:
            named = [*named, *(name for name in texts if name not in named)]
        known = (None, "auto", "words", "wordllama")
        if self.embedding not in known and "sentence-transformers/" not in str(self.embedding):
            raise ValueError(
                f"--embedding {self.embedding}: expected words, wordllama or "
                "sentence-transformers/NAME"
            )
        made = table_features(
            table, named, texts=texts, leave_out=leave_out, scale=not self.no_scale,
            embedding=self.embedding or "auto",
        )  # fmt: skip
        for note in made.templates:
            out.print_note(fill(note, out.in_options))
        return made


@contextmanager
def busy(doing: str, path: Path) -> Iterator[None]:
    """Show a spinner while a large file is read."""
    if not path.is_file() or path.stat().st_size < _LARGE_FILE:
        yield
        return
    with out.errors.status(escape(doing)):
        yield


def column_names(text: str, option: str = "--features") -> list[str]:
    """Names between commas; one with a comma in it stands in quotes."""
    names = [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]
    if not names or "" in names:
        raise ValueError(f"{option} {text!r}: expected names of columns, such as a,b,c")
    return names


# -------------------------------------------------------------------- ids


def read_ids(table: Table, id_column: str | None) -> list[str] | None:
    """The ids of the rows as text; None when rows go by their number."""
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


def recognized_ids(table: Table, spoken: set[str] | None = None) -> str | None:
    """A column of ids; with `spoken`, the first that has all of these ids."""
    from linkwise.tables import column_kinds

    found = [name for name, kind in column_kinds(table).items() if kind.kind == "id"]
    if spoken is None:
        return found[0] if found else None
    return next((own for own in found if spoken <= set(map(str.strip, table.text(own)))), None)


# -------------------------------------------------------------------- constraints


def read_constraints(
    path: Path, ids: str, columns: list[str], encoding: str | None = None
) -> Constraints:
    """Read constraints; for large files, show that it goes on."""
    from linkwise.constraints import Constraints

    if path.suffix.lower() in TREES:
        return Constraints.from_tree(path)
    roles = dict(_role(text) for text in columns) or None
    encoding = encoding if path.suffix.lower() in _TEXT else None
    read = partial(
        Constraints.read,
        path,
        ids=ids,  # type: ignore[arg-type]
        columns=roles,
        encoding=encoding,
    )
    with busy(f"reading {path.name}", path):
        return read()


def _role(text: str) -> tuple[str, str]:
    role, equals, name = text.partition("=")
    if not equals or not name:
        raise ValueError(f"--column {text!r}: expected ROLE=NAME, such as i=person_1")
    return role.strip(), name.strip()


def constraints_on(
    table: Table, path: Path, how: Reading, columns: list[str], *, ignore_unknown: bool = False
) -> tuple[Constraints, str | None]:
    """The constraints in a file on the rows of a table, and the column of ids that they name.

    Without --id-column, the column of ids is one that has every id in the constraints; if there is
    none, constraints name rows by number.
    """
    if how.id_column is not None:
        known = _read_or_explain(table, path, "text", columns, how)
        ids = read_ids(table, how.id_column)
        return _bound(known, table, ids, ignore_unknown), how.id_column
    known = _read_or_explain(table, path, "auto", columns, how)
    found = recognized_ids(table, {str(row) for row in known.rows}) if known else None
    if found is not None:
        known = read_constraints(path, "text", columns, how.encoding)
        out.print_note(f"rows are named by {found!r} (--id-column changes it)")
        return _bound(known, table, read_ids(table, found), ignore_unknown), found
    if known.has_ids:
        column = recognized_ids(table)
        if column is None:
            known.to_rows(table.n_rows)  # says what is wrong
        return _bound(known, table, read_ids(table, column), ignore_unknown), column
    return _bound(known, table, None, ignore_unknown), None


def _read_or_explain(
    table: Table, path: Path, ids: str, columns: list[str], how: Reading
) -> Constraints:
    """Read constraints; recognize files that were swapped, and labels."""
    from linkwise.tables import read_table

    try:
        return read_constraints(path, ids, columns, how.encoding)
    except ValueError:
        if {name.lower() for name in table.columns} >= _PAIR_COLUMNS:
            raise ValueError(
                f"the files seem to be swapped; type: linkwise cluster {path} "
                f"--constraints {table.path}"
            ) from None
        if columns or path.suffix.lower() in TREES:
            raise
        try:
            other = read_table(path, encoding=how.encoding)
        except ValueError:
            other = None
        shared = [] if other is None else [own for own in other.columns if own in table.columns]
        if other is not None and len(other.columns) == 2 and shared:
            label = next(own for own in other.columns if own != shared[0])
            raise ValueError(
                f"{path} has labels ({shared[0]!r} and {label!r}), not constraints; add the column "
                f"{label!r} to {table.path.name} and give --label-column {label}"
            ) from None
        raise


def _bound(
    known: Constraints, table: Table, ids: list[str] | None, ignore_unknown: bool
) -> Constraints:
    """Check that the data has the rows that constraints name; perhaps leave out the others."""
    if not ignore_unknown:
        try:
            known.to_rows(table.n_rows, ids)
        except ValueError as error:
            if hint := _near_misses(known, ids):
                raise ValueError(f"{out.in_words(error)}\n{hint}") from None
            raise
        return known
    names = list(range(table.n_rows)) if ids is None else ids
    found = known.to_rows(table.n_rows, names, missing="drop")
    n_left_out = known.n_constraints - found.n_constraints
    if known and not found:
        raise ValueError(
            f"no constraint is left: the data has none of the rows that they name{see('ids')}"
        )
    if n_left_out:
        out.print_note(
            f"{n_left_out:,} of {known.n_constraints:,} constraints are left out: the data lacks "
            "rows that they name"
        )
    return found._by_id(ids)


def _near_misses(known: Constraints, ids: list[str] | None) -> str | None:
    """What to say if ids are the same but for case, leading zeros or ``.0``."""
    if ids is None:
        return None
    there = set(ids)
    spoken = [str(row) for row in known.rows if str(row) not in there]
    plain = {_plain_id(own) for own in ids}
    alike = [own for own in spoken if _plain_id(own) in plain]
    if not alike:
        return None
    of_data = ", ".join(map(repr, ids[:3]))
    of_links = ", ".join(map(repr, spoken[:3]))
    return (
        f"{len(alike):,} of these ids are in the data but for case, leading zeros or '.0': the "
        f"data has {of_data}, the constraints {of_links}; write them alike in both files"
    )


def _plain_id(name: str) -> str:
    name = name.strip().lower()
    return name.removesuffix(".0").lstrip("0") or "0"
