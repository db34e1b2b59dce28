"""Options that commands share: the same word has the same meaning in every command.

Options are shown in panels. Rare ones are hidden from ``--help`` and shown by ``--help-all``. The
options of a command are the fields of a dataclass, see `as_command`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar, get_type_hints

import typer

from . import _output as out

Request = TypeVar("Request")

DATA, KNOWLEDGE, METHOD, OUTPUT = "Data", "Knowledge", "Method", "Output"


def option(panel: str, *flags: str, about: str, rare: bool = False, **more: Any) -> Any:
    """An option in one of the panels."""
    return typer.Option(*flags, help=about, rich_help_panel=panel, hidden=rare, **more)


def as_command(run: Callable[[Request], None]) -> Callable[..., None]:
    """A function for typer, with one parameter per field of the dataclass that `run` takes."""
    hints = get_type_hints(run)
    (request,) = (hints[name] for name in inspect.signature(run).parameters)

    def command(**options: Any) -> None:
        run(request(**options))

    types = get_type_hints(request, include_extras=True)
    fields = [
        field.replace(annotation=types[name])
        for name, field in inspect.signature(request).parameters.items()
    ]
    command.__signature__ = inspect.Signature(fields)  # type: ignore[attr-defined]
    command.__annotations__ = {field.name: field.annotation for field in fields}
    command.__doc__, command.__name__ = run.__doc__, run.__name__
    return command


def _show_all(context: typer.Context, wanted: bool) -> None:
    if not wanted:
        return
    for parameter in context.command.params:
        parameter.hidden = False  # type: ignore[attr-defined]
    typer.echo(context.get_help())
    raise typer.Exit


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


def _whole_number(text: str) -> int:
    try:
        if (number := int(text)) >= 1:
            return number
    except ValueError:
        pass
    raise typer.BadParameter(
        f"{text!r}: expected a whole number, at least 1 (chosen if -k is left out)"
    )


def count_option(about: str, *, ranges: bool = False) -> Any:
    """The option -k."""
    parser, metavar = (Counts.parse, "K|FROM-TO") if ranges else (_whole_number, "K")
    return option(METHOD, "--clusters", "-k", about=about, parser=parser, metavar=metavar)


HelpAll = Annotated[
    bool,
    typer.Option("--help-all", is_eager=True, callback=_show_all, help="Show rare options too."),
]
Data = Annotated[
    Path, typer.Argument(help="The data: CSV, TSV (also .gz), Excel, Parquet, JSON lines or NPY.")
]
ConstraintsFile = Annotated[
    Path | None,
    option(
        KNOWLEDGE,
        about="File of constraints: pairs i,j,link, triplets a,b,c or groups (CSV, JSON lines, "
        "Parquet, Excel); .nwk is a tree.",
    ),
]
ColumnRoles = Annotated[
    list[str] | None,
    option(
        KNOWLEDGE,
        about="Own column names in the file of constraints: i=person_1 (repeat for j, link).",
        rare=True,
    ),
]
IdColumn = Annotated[
    str | None, option(DATA, about="Column with the ids of rows; recognized if not given.")
]
Missing = Annotated[
    list[str] | None,
    option(DATA, about="One more cell that stands for a missing value, such as -999 (repeat)."),
]
Encoding = Annotated[
    str | None, option(DATA, about="Encoding of text files: cp1252 for Windows; UTF-8 if absent.")
]
Sheet = Annotated[
    str | None, option(DATA, about="Sheet of an Excel file; the first if absent.", rare=True)
]
FeatureNames = Annotated[
    str | None,
    option(DATA, about="Columns to compute distances with: a,b,c; recognized if not given."),
]
TextColumn = Annotated[
    str | None, option(DATA, about="Columns of texts to cluster by; recognized if not given.")
]
Embedding = Annotated[
    str | None,
    option(
        DATA,
        about="How texts become numbers: words, wordllama or sentence-transformers/NAME.  "
        "[default: wordllama if installed, else words]",
        metavar="MODEL",
    ),
]
NoScale = Annotated[
    bool, option(DATA, "--no-scale", about="Use numbers as they are, not scaled to unit variance.")
]
Output = Annotated[
    Path | None,
    option(
        OUTPUT, "--output", "-o", about="File for the clusters: .csv, .tsv, .xlsx, .parquet, .npy."
    ),
]
Append = Annotated[bool, option(OUTPUT, "--append", about="-o has the columns of the data too.")]
Json = Annotated[
    bool,
    option(OUTPUT, "--json", about="Print JSON for machines.", callback=out.print_as_json),
]
