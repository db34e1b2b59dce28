"""A progress bar for the search, in terminals and notebooks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ._search import Tell


@contextmanager
def progress_bar(shown: bool) -> Iterator[Tell | None]:
    """A function that moves a bar, or None if none is wanted; rich draws it in notebooks too."""
    if not shown:
        yield None
        return
    from rich.markup import escape
    from rich.progress import Progress

    with Progress(transient=True) as bar:
        task = bar.add_task("choosing", total=None)

        def move(n_done: int, n_total: int, candidate: str) -> None:
            bar.update(task, completed=n_done, total=n_total, description=escape(candidate))

        yield move
