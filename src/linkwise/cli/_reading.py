"""How commands read a person's files: tables, ids, features, constraints; the options for it."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from . import _output as out

if TYPE_CHECKING:
    from linkwise.constraints import Constraints
    from linkwise.datasets import Table

_LARGE_FILE = 20_000_000  # bytes; above this, reading shows that it goes on
_PARQUET = (".parquet", ".pq")

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
    """Show that work on a large file goes on."""
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
    if path.suffix.lower() in _PARQUET:  # the reader does not tell how far it is
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
    names = table.text(id_column).tolist()
    for row, name in enumerate(names):
        if not name.strip():
            raise ValueError(f"{table.path}: row {row + 1} has no {id_column!r}; ids must be given")
    return [name.strip() for name in names]


def read_rows(data: Path, id_column: str | None) -> tuple[Table, list[str] | None]:
    """The table in a file, and the ids of its rows."""
    from linkwise.datasets import read_table

    with busy(f"reading {data.name}", data):
        table = read_table(data)
    return table, read_ids(table, id_column)


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


def make_features(
    table: Table,
    chosen: list[str] | None,
    *,
    leave_out: Sequence[str],
    impute: str | None,
    standardize: bool,
) -> Any:
    """Numbers to cluster by, out of the chosen columns, or all but those to leave out."""
    from linkwise.datasets import prepare_features

    if impute not in (None, "median"):
        raise ValueError(f"--impute {impute}: expected median")
    return prepare_features(
        table, chosen, leave_out=leave_out, impute=impute, standardize=standardize
    )
