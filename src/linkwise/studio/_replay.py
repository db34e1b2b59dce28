"""Middleware that answers a repeated request with the first reply, so that it counts once.

A client that does not know whether its request arrived sends it again with the same
``Idempotency-Key``. The newest replies are in memory, and in the file of the session if it has
one: then a request also counts once after a restart. The file is written through a second
connection, because that of the session belongs to its thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import sqlite3
from base64 import b64decode, b64encode
from collections import OrderedDict
from collections.abc import Callable, MutableMapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ._security import LARGEST_BODY, App, Receive, Scope, Send

# Replies of a day at ten requests a minute; clients retry within minutes.
_MOST_KEYS = 10_000

Message = MutableMapping[str, Any]


@dataclass
class _Reply:
    """A request under way or answered: the hash of its body and the messages of its reply."""

    body: str
    done: asyncio.Event = field(default_factory=asyncio.Event)
    messages: list[Message] = field(default_factory=list)


class ReplayMiddleware:
    """ASGI middleware for POST requests with an ``Idempotency-Key``; `file` is the session's."""

    def __init__(self, app: App, file: Callable[[], Path | None] = lambda: None):
        self._app, self._file = app, file
        self._replies: OrderedDict[tuple[str, str], _Reply] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or repeat what it was answered."""
        key = _key_of(scope)
        if key is None:
            await self._app(scope, receive, send)
            return
        body = await _read(receive)
        digest = hashlib.sha256(body).hexdigest()
        known = self._replies.get((scope["path"], key))
        if known is None:
            kept = await self._kept(scope["path"], key)
            known = self._replies.get((scope["path"], key)) or kept  # another may have come first
        if known is None:
            await self._first((scope["path"], key), digest, scope, body, send)
        elif known.body != digest:
            await _refuse(send, f"Idempotency-Key {key!r} came with another request before.")
        else:
            await known.done.wait()
            for message in known.messages:
                await send(_as_replay(message))

    async def _kept(self, path: str, key: str) -> _Reply | None:
        """A reply that was given before the studio was started again."""
        file, found = self._file(), None
        if file is not None:
            with contextlib.suppress(sqlite3.Error):  # the request itself reports the error
                found = await asyncio.to_thread(_find, file, f"{path} {key}")
        if found is not None:
            found.done.set()
        return found

    async def _keep(self, key: tuple[str, str], reply: _Reply) -> None:
        file, size = self._file(), sum(len(m.get("body", b"")) for m in reply.messages)
        if file is not None and size <= LARGEST_BODY:
            with contextlib.suppress(sqlite3.Error):  # the reply stays in memory
                await asyncio.to_thread(_store, file, " ".join(key), reply)

    async def _first(
        self, key: tuple[str, str], digest: str, scope: Scope, body: bytes, send: Send
    ) -> None:
        reply = self._replies[key] = _Reply(digest)
        while len(self._replies) > _MOST_KEYS:
            self._replies.popitem(last=False)

        async def keep(message: Message) -> None:
            reply.messages.append(message)
            await send(message)

        try:
            await self._app(scope, _once(body), keep)
        finally:
            # What failed on the server's side (a full disk) may be tried again.
            if not reply.messages or reply.messages[0].get("status", 500) >= 500:
                self._replies.pop(key, None)
            else:
                await self._keep(key, reply)
            reply.done.set()


def _find(file: Path, key: str) -> _Reply | None:
    """The stored reply to an earlier request."""
    with closing(sqlite3.connect(file, timeout=10)) as db:
        row = db.execute("SELECT body, messages FROM replied WHERE key = ?", (key,)).fetchone()
    return None if row is None else _Reply(row[0], messages=_decoded(row[1]))


def _store(file: Path, key: str, reply: _Reply) -> None:
    """Store a reply; the oldest are deleted."""
    text = json.dumps(reply.messages, default=lambda raw: {"bytes": b64encode(raw).decode()})
    with closing(sqlite3.connect(file, timeout=10)) as db, db:
        db.execute("INSERT OR REPLACE INTO replied VALUES (?, ?, ?)", (key, reply.body, text))
        db.execute(
            "DELETE FROM replied WHERE rowid <= (SELECT max(rowid) FROM replied) - ?", (_MOST_KEYS,)
        )


def _decoded(text: str) -> list[Message]:
    def decode(found: dict[str, str]) -> object:
        return b64decode(found["bytes"]) if list(found) == ["bytes"] else found

    return list(json.loads(text, object_hook=decode))


def _key_of(scope: Scope) -> str | None:
    if scope["type"] != "http" or scope["method"] != "POST":
        return None
    keys = (value for name, value in scope["headers"] if name.lower() == b"idempotency-key")
    found = next(keys, b"")
    return found.decode("latin-1")[:200] or None


async def _read(receive: Receive) -> bytes:
    parts: list[bytes] = []
    while True:
        message: Message = await receive()
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)


def _once(body: bytes) -> Receive:
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> MutableMapping[str, object]:
        if messages:
            return messages.pop()
        return {"type": "http.disconnect"}

    return receive


def _as_replay(message: Message) -> Message:
    if message["type"] != "http.response.start":
        return message
    return {**message, "headers": [*message.get("headers", []), (b"idempotent-replayed", b"true")]}


async def _refuse(send: Send, why: str) -> None:
    body = json.dumps({"detail": why}).encode()
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": 422, "headers": headers})
    await send({"type": "http.response.body", "body": body})
