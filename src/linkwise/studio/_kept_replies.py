"""Replies to requests with an ``Idempotency-Key``, kept in the file of the session.

A connection of its own: replies are written after the answers that they tell of, and the session's
own connection belongs to its thread.
"""

from __future__ import annotations

import base64
import json
import sqlite3
from collections.abc import MutableMapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

_MOST = 10_000  # the oldest are forgotten
_PATIENCE = 10.0  # seconds to wait for another writer

Message = MutableMapping[str, Any]


class KeptReply(NamedTuple):
    """The hash of a request's body, and the messages of its reply."""

    body: str
    messages: list[Message]


def find_reply(file: Path, key: str) -> KeptReply | None:
    """The reply to an earlier request; None if there was none."""
    with closing(sqlite3.connect(file, timeout=_PATIENCE)) as db:
        row = db.execute("SELECT body, messages FROM replied WHERE key = ?", (key,)).fetchone()
    return None if row is None else KeptReply(row[0], _read(row[1]))


def keep_reply(file: Path, key: str, body: str, messages: Sequence[Message]) -> None:
    """Keep a reply with the session."""
    with closing(sqlite3.connect(file, timeout=_PATIENCE)) as db, db:
        db.execute("INSERT OR REPLACE INTO replied VALUES (?, ?, ?)", (key, body, _write(messages)))
        db.execute(
            "DELETE FROM replied WHERE rowid <= (SELECT max(rowid) FROM replied) - ?", (_MOST,)
        )


def _write(messages: Sequence[Message]) -> str:
    return json.dumps(messages, default=lambda raw: {"bytes": base64.b64encode(raw).decode()})


def _read(text: str) -> list[Message]:
    def decode(found: dict[str, Any]) -> Any:
        return base64.b64decode(found["bytes"]) if list(found) == ["bytes"] else found

    return list(json.loads(text, object_hook=decode))
