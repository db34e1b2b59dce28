"""The command line: one file a command. Heavy imports happen inside the commands."""

from __future__ import annotations

from typing import Annotated

import typer

from linkwise._version import __version__

from ._algorithms import algorithms
from ._check import check
from ._demo import demo
from ._score import score

app = typer.Typer(
    help="Constrained clustering that listens: bring data and what you know about it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.command()(check)
app.command()(score)
app.command()(demo)
app.command()(algorithms)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"linkwise {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line."""
    app()
