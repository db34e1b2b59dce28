"""What all commands share: how they print, fail, and read a person's files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

if TYPE_CHECKING:
    from linkwise.constraints import Constraints
    from linkwise.datasets import Table

CONSISTENT, CONTRADICTION, WRONG_USAGE = 0, 1, 2
_LARGE_FILE = 20_000_000  # bytes; above this, reading shows a progress bar

console = Console()
errors = Console(stderr=True)


def print_json(value: Any) -> None:
    """One JSON document on standard output, with nothing else around it."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turn wrong input into a message and exit code 2."""
    try:
        yield
    except (ValueError, OSError, ImportError, TypeError) as error:
        errors.print(f"error: {error}", style="red", markup=False, highlight=False, soft_wrap=True)
        raise typer.Exit(WRONG_USAGE) from None


def read_constraints(path: Path, ids: str, columns: list[str]) -> Constraints:
    """Read constraints, with a progress bar for large files."""
    from linkwise.constraints import Constraints

    roles = dict(_role(text) for text in columns) or None
    if not path.is_file() or path.stat().st_size < _LARGE_FILE:
        return Constraints.read(path, ids=ids, columns=roles)  # type: ignore[arg-type]
    from rich.progress import Progress

    with Progress(console=errors, transient=True) as bar:
        task = bar.add_task(f"reading {path.name}", total=path.stat().st_size)

        def show(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        return Constraints.read(path, ids=ids, columns=roles, progress=show)  # type: ignore[arg-type]


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
