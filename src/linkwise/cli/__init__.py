"""The command line: one file per command. Heavy imports happen inside the commands."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from linkwise._version import __version__

from . import _output as out
from ._check import check
from ._cluster import cluster
from ._demo import demo
from ._help import show_help
from ._label import label
from ._mistakes import Command
from ._model import mcp
from ._options import as_command
from ._predict import predict
from ._score import score
from ._sessions import sessions
from ._studio import studio
from ._update import update


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"linkwise {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    out.print_as_json(False)


def build() -> typer.Typer:
    """The command line, with the options of the methods that are in the registry now."""
    app = typer.Typer(
        help="Clustering that uses what you already know.",
        no_args_is_help=True,
        add_completion=True,  # --install-completion
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
    )
    app.callback()(_root)
    for run in (cluster, predict, update, check, score, label, studio, sessions, mcp, demo):
        app.command(cls=Command)(as_command(run))
    app.command("help")(show_help)
    return app


app = build()


def main() -> None:
    """Run the command line and exit with one of the codes that `_output` lists."""
    out.remember(sys.argv[1:])
    try:
        app()
    except (KeyboardInterrupt, SystemExit) as end:
        raise SystemExit(_exit_code(end)) from None
    except Exception as fault:
        out.print_fault(fault)
        raise SystemExit(out.FAULT) from None


def _exit_code(end: BaseException) -> int | str | None:
    """The exit code, also where typer or rich chose 1, which means a contradiction here."""
    if _led_to(end, KeyboardInterrupt):
        out.errors.print("interrupted")
        return out.INTERRUPTED
    if _led_to(end, BrokenPipeError):
        return out.BROKEN_PIPE
    return end.code if isinstance(end, SystemExit) else out.FAULT


def _led_to(end: BaseException | None, kind: type[BaseException]) -> bool:
    """Whether an exception of this kind was being handled when `end` was raised."""
    while end is not None and not isinstance(end, kind):
        end = end.__context__
    return end is not None
