"""What can be read of the damaged file of a session."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

from linkwise._types import PathLike

from ._questions import Answer

_FIRST_COLUMNS = 9  # of answers in the first formats
_HEADER, _PAGE_SIZE, _N_PAGES = 100, slice(16, 18), slice(28, 32)  # bytes of SQLite's header


def salvage(path: PathLike) -> tuple[list[Answer], dict[int, str]]:
    """The answers that can still be read from a damaged file, in order, and names of rows.

    Parameters
    ----------
    path : str or path
    """
    with tempfile.TemporaryDirectory() as folder:
        return _salvaged(_completed(Path(path), Path(folder)))


def _completed(path: Path, folder: Path) -> Path:
    """The file, or a copy with empty pages for those that were cut off: SQLite asks for all."""
    data = path.read_bytes() if path.is_file() else b""
    page, n_pages = (int.from_bytes(data[at], "big") for at in (_PAGE_SIZE, _N_PAGES))
    if len(data) < _HEADER or len(data) >= page * n_pages or page * n_pages > 4 * len(data):
        return path
    copy = folder / "copy.db"
    copy.write_bytes(data.ljust(page * n_pages, b"\0"))
    if (log := path.with_name(f"{path.name}-wal")).is_file():  # it has the last answers
        copy.with_name(f"{copy.name}-wal").write_bytes(log.read_bytes())
    return copy


def _salvaged(path: Path) -> tuple[list[Answer], dict[int, str]]:
    found: dict[int, Answer] = {}
    names: dict[int, str] = {}
    for order in ("ASC", "DESC"):  # around a damaged page, from both ends
        for row in _readable(path, f"SELECT * FROM answer ORDER BY id {order}"):
            try:
                answer = answer_of(row if len(row) > _FIRST_COLUMNS else (*row, None))
            except (ValueError, TypeError):
                continue
            found[answer.id] = answer
        rows = _readable(path, f"SELECT row, name FROM row_name ORDER BY row {order}")
        names.update({int(row): str(name) for row, name in rows})
    return [found[number] for number in sorted(found)], names


def _readable(path: Path, query: str) -> Iterator[tuple[Any, ...]]:
    """Lines of a query up to the first that cannot be read."""
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
        try:
            yield from db.execute(query)
        except sqlite3.DatabaseError:
            return  # what was read before stands


def damage(path: Path | None, error: Exception, what: str) -> str:
    """What is wrong with a file, and what can be saved of it."""
    text = f"session {path or 'in memory'} {what}: {error}"
    n = 0 if path is None else len(salvage(path)[0])
    if n == 0:
        return f"{text}; no answer can be read from it: use a copy, or begin a new session"
    return (
        f"{text}; {n:,} answer{'s' * (n != 1)} can still be read: write them by `linkwise sessions "
        f"{path} --salvage links.csv`, and begin a new session with --constraints links.csv"
    )


def answer_of(row: Sequence[Any]) -> Answer:
    """The answer that a line of its table holds."""
    number, i, j, said, weight, who, at, undone_at, undone_by, card = row
    given = datetime.fromisoformat(at)
    return Answer(number, i, j, said, weight, who, given, time_of(undone_at), undone_by, card)


def time_of(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
