"""`linkwise algorithms`: the registry of methods as a table."""

from __future__ import annotations

import difflib

from rich.table import Table as RichTable

from linkwise import _methods
from linkwise._methods import Method

from . import _output as out


def find_algorithm(name: str) -> Method:
    """The method of this short or full name, as given to --algorithm."""
    try:
        return _methods.find_method(name)
    except KeyError:
        known = [method.short for method in _methods.METHODS]
        close = difflib.get_close_matches(name.lower(), known, n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise ValueError(f"--algorithm {name}: expected one of {', '.join(known)}{hint}") from None


def algorithms(
    as_json: out.Json = False,
) -> None:
    """List the algorithms: which constraints each takes, and how it treats them.

    The short name is what `linkwise cluster --algorithm` takes.

    Examples:

        linkwise algorithms

        linkwise algorithms --json
    """
    if as_json:
        out.print_json([_as_dict(method) for method in _methods.METHODS])
        return
    table = RichTable(title="Algorithms")
    for head in ("name, and in short", "takes", "satisfied", "distance", "from"):
        table.add_column(head, no_wrap=head.startswith("name"))
    for m in _methods.METHODS:
        table.add_row(
            f"{m.name}\n[green]{m.short}[/green]", m.takes, m.satisfied, m.metric, m.source
        )
    out.console.print(table)


def _as_dict(method: Method) -> dict[str, object]:
    names = [option.name for option in method.options]
    return {**method._asdict(), "options": names, "merges": method.merges, "ready": True}
