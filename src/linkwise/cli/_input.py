"""Reading of tables, ids, features and constraints, and the options for it."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from rich.markup import escape

from linkwise._help import see

from . import _output as out

if TYPE_CHECKING:
    from linkwise.constraints import Constraints
    from linkwise.datasets import Table

TREES = (".nwk", ".newick", ".tree", ".tre")
_TEXT = (".csv", ".tsv", ".tab", ".txt", ".jsonl", ".ndjson", ".gz")
_LARGE_FILE = 20_000_000  # bytes; above this, reading shows that it goes on


def clusters_option(about: str) -> Any:
    """The option -k."""
    return typer.Option("--clusters", "-k", help=about, parser=_whole_number, metavar="INTEGER")


def _whole_number(text: str) -> int:
    try:
        if (number := int(text)) >= 1:
            return number
    except ValueError:
        pass
    raise typer.BadParameter(f"{text!r}: expected a whole number, at least 1")


def counts_option(about: str) -> Any:
    """The option -k where a range is possible too."""
    return typer.Option("--clusters", "-k", help=about, parser=Counts.parse, metavar="K|FROM-TO")


class Counts(NamedTuple):
    """A number of clusters, or the least and the most."""

    least: int
    most: int

    @classmethod
    def parse(cls, text: str) -> Counts:
        """From 3 or 5-40."""
        first, dash, last = text.strip().partition("-")
        if not dash or not first:
            number = _whole_number(text)
            return cls(number, number)
        least, most = _whole_number(first), _whole_number(last)
        if least > most:
            raise typer.BadParameter(f"{text!r}: expected the smaller number first")
        return cls(least, most)

    @property
    def one(self) -> int | None:
        """The number, if it is one."""
        return self.least if self.least == self.most else None


# Options of all commands that read data to cluster.
Data = Annotated[Path, typer.Argument(help="The data: CSV, TSV (also .gz), Excel, Parquet or NPY.")]
Missing = Annotated[
    list[str] | None,
    typer.Option(help="A cell that stands for a missing value, such as '?' (repeat for others)."),
]
Encoding = Annotated[
    str | None, typer.Option(help="Encoding of text files: cp1252 for Windows; UTF-8 if absent.")
]
Sheet = Annotated[str | None, typer.Option(help="Sheet of an Excel file; the first if absent.")]
IdColumn = Annotated[
    str | None, typer.Option(help="Column with the ids; row numbers from 0 if absent.")
]
FeatureNames = Annotated[
    str | None, typer.Option(help="Columns to measure with, such as a,b,c; all if not given.")
]
TextColumn = Annotated[
    str | None,
    typer.Option(help="Column of texts to cluster by, see --text-embedding."),
]
TextEmbedding = Annotated[
    str | None,
    typer.Option(
        help="With --text-column: words (tfidf), meanings offline (wordllama), or "
        "sentence-transformers/NAME.  [default: tfidf]",
        metavar="tfidf|wordllama|...",
    ),
]
StopWords = Annotated[
    str | None,
    typer.Option(
        help="With --text-column: words left out since they say nothing, such as the and how.  "
        "[default: english]",
        metavar="english|none",
    ),
]
Standardize = Annotated[
    bool, typer.Option("--standardize", help="Scale every column to unit variance.")
]
Impute = Annotated[
    str | None,
    typer.Option(
        help="median: fill gaps with the median, or the most frequent category.",
        metavar="median",
    ),
]


@contextmanager
def busy(doing: str, path: Path) -> Iterator[None]:
    """Show a spinner while a large file is read."""
    if not path.is_file() or path.stat().st_size < _LARGE_FILE:
        yield
        return
    with out.errors.status(escape(doing)):
        yield


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
    if not path.is_file() or path.stat().st_size < _LARGE_FILE:
        return read()
    doing = f"reading {escape(path.name)}"
    from linkwise.tables import PARQUET

    if path.suffix.lower() in PARQUET:  # the reader does not tell how far it is
        with out.errors.status(doing):
            return read()
    from rich.progress import Progress

    with Progress(console=out.errors, transient=True) as bar:
        task = bar.add_task(doing, total=path.stat().st_size)

        def show(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        return read(progress=show)


def _role(text: str) -> tuple[str, str]:
    role, equals, name = text.partition("=")
    if not equals or not name:
        raise ValueError(f"--column {text!r}: expected ROLE=NAME, such as i=person_1")
    return role.strip(), name.strip()


def read_ids(table: Table, id_column: str | None) -> list[str] | None:
    """The ids of the rows as text; None when rows go by their number."""
    if id_column is None:
        return None
    from linkwise.datasets._features import place_of

    names = [name.strip() for name in table.text(id_column).tolist()]
    first: dict[str, int] = {}
    for row, name in enumerate(names):
        if not name:
            raise ValueError(
                f"{table.path}: {place_of(table, row)} has no {id_column!r}; ids must be given"
                + see("ids")
            )
        if first.setdefault(name, row) != row:
            places = f"{place_of(table, first[name])} and {place_of(table, row)}"
            raise ValueError(
                f"{table.path}: {places} have the same {id_column!r}, {name!r}; ids must differ"
                + see("ids")
            )
    return names


@dataclass(frozen=True)
class Reading:
    """How files are to be read."""

    missing: tuple[str, ...] = ()
    encoding: str | None = None
    sheet: str | None = None


def read_rows(
    data: Path, id_column: str | None, how: Reading | None = None
) -> tuple[Table, list[str] | None]:
    """The table in a file, and the ids of its rows."""
    from linkwise.datasets import read_table

    how = how or Reading()
    with busy(f"reading {data.name}", data):
        table = read_table(data, missing=how.missing, encoding=how.encoding, sheet=how.sheet)
    return table, read_ids(table, id_column)


def check_rows(
    known: Constraints, table: Table, ids: list[str] | None, columns: Iterable[str], *,
    ignore_unknown: bool = False,
) -> Constraints:  # fmt: skip
    """The constraints by row number; says which rows the data lacks, and if ids seem to be meant.

    Parameters
    ----------
    known : Constraints
    table : Table
    ids : list of str or None
        Ids of the rows, if a column of them is named.
    columns : iterable of str
        Where else ids might be.
    ignore_unknown : bool, default=False
        Leave out constraints on rows that the data lacks.
    """
    if ignore_unknown:
        return _without_unknown(known, table, ids)
    meant = None if ids is not None else _seeming_ids(known, table, columns)
    hint = f"{meant!r} looks like ids; constraints are taken as row numbers; " if meant else ""
    try:
        found = known.to_rows(table.n_rows, ids)
    except ValueError as error:
        if not meant:
            raise
        raise ValueError(f"{hint}use --id-column {meant}\n{out.in_words(error)}") from None
    if meant:
        out.print_note(f"{hint}if ids are meant, use --id-column {meant}")
    return found


def _without_unknown(known: Constraints, table: Table, ids: list[str] | None) -> Constraints:
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
    return found


def _seeming_ids(known: Constraints, table: Table, columns: Iterable[str]) -> str | None:
    """The first column of distinct whole numbers with every row that the constraints name."""
    import numpy as np

    if not known or known.has_ids:
        return None
    spoken = np.asarray(known.rows, dtype=np.float64)
    for name in columns:
        values = table.columns.get(name)
        if values is None or values.dtype == object or not (values == np.floor(values)).all():
            continue
        numbers = np.unique(values)
        counts_rows = np.array_equal(values, np.arange(table.n_rows))  # both readings are the same
        if len(numbers) == table.n_rows and np.isin(spoken, numbers).all() and not counts_rows:
            return name
    return None


def column_names(text: str, option: str = "--features") -> list[str]:
    """Names between commas; one with a comma in it stands in quotes."""
    names = [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]
    if not names or "" in names:
        raise ValueError(f"{option} {text!r}: expected names of columns, such as a,b,c")
    return names


def check_text_options(features: str | None, standardize: bool | None, impute: str | None) -> None:
    """Refuse options that make no sense beside --text-column."""
    if features is not None or standardize or impute is not None:
        raise ValueError(
            "--text-column takes the words of one column; leave out --features, --standardize "
            "and --impute"
        )


def find_stop_words(text: str | None, text_column: str | None) -> str | None:
    """What --stop-words stands for in Python."""
    if text not in (None, "english", "none"):
        raise ValueError(f"--stop-words {text}: expected english or none")
    if text is not None and text_column is None:
        raise ValueError("--stop-words is about the words of --text-column; give that too")
    return None if text == "none" else "english"


def find_embedding(text: str | None, text_column: str | None, stop_words: str | None) -> str:
    """How texts become numbers."""
    if text is not None and text_column is None:
        raise ValueError("--text-embedding is about --text-column; give that too")
    if text not in (None, "tfidf") and stop_words is not None:
        raise ValueError("--stop-words is for tfidf; leave it out with --text-embedding")
    return text or "tfidf"


def make_features(
    table: Table,
    chosen: list[str] | None,
    *,
    leave_out: Sequence[str],
    impute: str | None,
    standardize: bool,
) -> Any:
    """Features from the chosen columns, or from all but those to leave out."""
    from linkwise.datasets import prepare_features

    if impute not in (None, "median"):
        raise ValueError(f"--impute {impute}: expected median")
    made = prepare_features(
        table, chosen, leave_out=leave_out, impute=impute, standardize=standardize
    )
    for name, note in table.notes.items():
        if name in made.names:
            out.print_note(f"{name!r}: {note}")
    return made
