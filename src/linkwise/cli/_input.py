"""Reading of tables, ids, features and constraints, and the options for it."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from rich.markup import escape

from . import _output as out

if TYPE_CHECKING:
    from linkwise.constraints import Constraints
    from linkwise.datasets import Table

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
Data = Annotated[Path, typer.Argument(help="The data: CSV, TSV (also .gz), Parquet or NPY.")]
IdColumn = Annotated[
    str | None, typer.Option(help="Column with the ids; row numbers from 0 if absent.")
]
FeatureNames = Annotated[
    str | None, typer.Option(help="Columns to measure with, such as a,b,c; all if not given.")
]
TextColumn = Annotated[
    str | None,
    typer.Option(help="Column of texts; their words are the features (TF-IDF)."),
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


def read_constraints(path: Path, ids: str, columns: list[str]) -> Constraints:
    """Read constraints; for large files, show that it goes on."""
    from linkwise.constraints import Constraints

    roles = dict(_role(text) for text in columns) or None
    read = partial(Constraints.read, path, ids=ids, columns=roles)  # type: ignore[arg-type]
    if not path.is_file() or path.stat().st_size < _LARGE_FILE:
        return read()
    doing = f"reading {escape(path.name)}"
    from linkwise.io import PARQUET

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
    from linkwise._help import see
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


def read_rows(data: Path, id_column: str | None) -> tuple[Table, list[str] | None]:
    """The table in a file, and the ids of its rows."""
    from linkwise.datasets import read_table

    with busy(f"reading {data.name}", data):
        table = read_table(data)
    return table, read_ids(table, id_column)


def check_rows(
    known: Constraints, table: Table, ids: list[str] | None, columns: Iterable[str]
) -> Constraints:
    """The constraints by row number; says which rows the data lacks, and if ids seem to be meant.

    Parameters
    ----------
    known : Constraints
    table : Table
    ids : list of str or None
        Ids of the rows, if a column of them is named.
    columns : iterable of str
        Where else ids might be.
    """
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
    return prepare_features(
        table, chosen, leave_out=leave_out, impute=impute, standardize=standardize
    )
