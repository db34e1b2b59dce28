"""Replies of language models, one table in the file of a session: each is paid for once."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from linkwise._types import PathLike

_SECONDS_TO_WAIT = 30.0  # for a transaction of the session, which chooses a question inside one
_TABLE = """
CREATE TABLE IF NOT EXISTS reply (
    request TEXT PRIMARY KEY,
    records TEXT NOT NULL,
    model TEXT NOT NULL,
    prompt TEXT NOT NULL,
    text TEXT NOT NULL,
    tokens_in INTEGER NOT NULL,
    tokens_out INTEGER NOT NULL,
    cost REAL NOT NULL,
    seconds REAL NOT NULL,
    at TEXT NOT NULL
)
"""


@dataclass(frozen=True)
class Reply:
    """A stored reply, by the hash of model and messages.

    `records` are hashes of the records of a card in the order sent, empty for other questions.
    """

    request: str
    records: tuple[str, ...]
    model: str
    prompt: str
    text: str
    tokens_in: int
    tokens_out: int
    cost: float
    seconds: float


class Spending(NamedTuple):
    """What the stored replies of a model cost.

    Attributes
    ----------
    calls, tokens_in, tokens_out : int
    cost : float
    seconds : float
        Sum over all calls, also those that ran at the same time.
    """

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    seconds: float = 0.0


class Replies:
    """The table of replies in a file, made at the first use; in memory if `path` is None.

    Safe to use from several threads and processes.
    """

    def __init__(self, path: PathLike | None = None):
        self.path = None if path is None else Path(path)
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            if self._db is None:
                if self.path is not None and not self.path.exists():
                    raise FileNotFoundError(f"replies: {self.path} is missing; begin a session")
                self._db = sqlite3.connect(
                    self.path or ":memory:", timeout=_SECONDS_TO_WAIT,
                    isolation_level=None, check_same_thread=False,
                )  # fmt: skip
                self._db.execute("PRAGMA synchronous = FULL")  # on the disk before it counts
                self._db.execute(_TABLE)
            yield self._db

    def get(self, request: str) -> Reply | None:
        """The reply to a request, if it was paid for before."""
        with self._open() as db:
            rows = db.execute("SELECT * FROM reply WHERE request = ?", (request,)).fetchall()
        return _reply_of(rows[0]) if rows else None

    def add(self, reply: Reply) -> None:
        """Store a reply. It is on the disk when this returns."""
        with self._open() as db:
            request, records, *rest = astuple(reply)
            values = (request, json.dumps(records), *rest, datetime.now(UTC).isoformat())
            places = ", ".join("?" * len(values))
            db.execute(f"INSERT OR IGNORE INTO reply VALUES ({places})", values)

    def cards(self, model: str, prompt: str) -> list[Reply]:
        """Replies of a model to cards, in order."""
        with self._open() as db:
            rows = db.execute(
                "SELECT * FROM reply WHERE model = ? AND prompt = ? AND records <> '[]' "
                "ORDER BY rowid",
                (model, prompt),
            ).fetchall()
        return [_reply_of(row) for row in rows]

    def spending(self) -> dict[str, Spending]:
        """Calls, tokens and money by model."""
        with self._open() as db:
            rows = db.execute(
                "SELECT model, count(*), sum(tokens_in), sum(tokens_out), sum(cost), sum(seconds) "
                "FROM reply GROUP BY model ORDER BY model"
            ).fetchall()
        return {row[0]: Spending(*row[1:]) for row in rows}

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._db is not None:
                self._db.close()
                self._db = None


def spending(path: PathLike) -> dict[str, Spending]:
    """What the file of a session has paid for, by model; empty if no model was asked."""
    with sqlite3.connect(f"file:{Path(path).absolute().as_posix()}?mode=ro", uri=True) as db:
        found = db.execute("SELECT 1 FROM sqlite_master WHERE name = 'reply'").fetchall()
    db.close()
    if not found:
        return {}
    replies = Replies(path)
    try:
        return replies.spending()
    finally:
        replies.close()


def _reply_of(row: Sequence[Any]) -> Reply:
    return Reply(row[0], tuple(json.loads(row[1])), *row[2:9])
