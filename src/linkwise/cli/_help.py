"""`linkwise help`: the pages of the guide, in the terminal."""

from __future__ import annotations

import re
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table as RichTable

from linkwise import _help
from linkwise._version import __version__

from . import _output as out

_EXTRAS = ("studio", "text", "dask", "parquet", "plot")


def show_help(
    topic: Annotated[
        str | None, typer.Argument(help="A page, a section, or any word that pages may have.")
    ] = None,
) -> None:
    """Show a page of the guide, or list what there is.

    Examples:

        linkwise help

        linkwise help consistency

        linkwise help outlier

        linkwise help versions
    """
    with out.plain_errors():
        if topic == "versions":
            _show_versions()
            return
        if topic is not None and (places := _help.find(topic)):
            _show_places(topic, places)
            return
        if topic is not None:
            _show(_help.text(topic))
            return
        table = RichTable("topic", "what it is about")
        for name, title in _help.topics().items():
            table.add_row(escape(name), escape(title))
        table.add_row("versions", "What is installed, for bug reports")
    out.console.print(table)


def _show_places(word: str, places: list[_help.Place]) -> None:
    table = RichTable("read", "section", "what it says", title=f"Pages on {escape(word)!r}")
    for place in places:
        table.add_row(f"linkwise help {place.topic}", escape(place.heading), escape(place.sentence))
    out.console.print(table)


def _show(page: str) -> None:
    if not out.console.is_terminal:
        typer.echo(page, nl=False)
        return
    from rich.markdown import Markdown

    with out.console.pager(styles=True):
        out.console.print(Markdown(page, hyperlinks=False))


def _show_versions() -> None:
    """Versions of linkwise, Python and the packages that it uses."""
    import platform
    from importlib import metadata

    lines = [f"linkwise {__version__}", f"Python {platform.python_version()}", platform.platform()]
    for text in metadata.requires("linkwise") or []:
        name = re.match(r"[\w.-]+", text)
        try:
            own = f"{name[0]} {metadata.version(name[0])}" if name else ""
        except metadata.PackageNotFoundError:
            own = f"{name[0]} is not installed" if name else ""
        extra = re.search(r"extra == ['\"](\w+)", text)
        if own not in lines and (extra is None or extra[1] in _EXTRAS):
            lines.append(own)
    typer.echo("\n".join(lines))
