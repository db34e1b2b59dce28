"""Calls of an OpenAI-compatible server (`/v1/chat/completions`) with the standard library.

The key is read from the environment for each request, sent, and kept nowhere: not in an attribute,
and not in a frame that an error could show, since errors are raised after the frames that held it
have returned. A text of the server that repeats the key is masked.
"""

from __future__ import annotations

import email.utils
import http.client
import json
import os
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence
from email.message import Message
from typing import NamedTuple

from linkwise._types import JsonDict

_OPENAI = "https://api.openai.com/v1"
_KEY = "OPENAI_API_KEY"
_BUSY = {408, 409, 429, 500, 502, 503, 504, 529}  # may pass; other errors will not
_LONGEST_WAIT = 90.0  # seconds; rate limits are per minute, a longer one is a quota or an outage
_CHARACTERS_PER_TOKEN = 4  # of English text, by OpenAI's documentation

Messages = Sequence[dict[str, str]]


class ChatError(RuntimeError):
    """A call that failed for good; the message says why and what to do."""


class Completion(NamedTuple):
    """A reply of the server."""

    text: str
    tokens_in: int
    tokens_out: int
    seconds: float


class _Response(NamedTuple):
    """Status, waiting time and body of a response; status 0 if there was none."""

    status: int
    wait: float | None
    body: str


class ChatServer:
    """A model on a server; may be called from several threads. See `ChatOracle`."""

    def __init__(
        self, model: str, base_url: str | None, timeout: float, retries: int, wait: float,
        max_tokens: int,
    ):  # fmt: skip
        self.model, self.max_tokens = model, max_tokens
        self.base_url = (base_url or os.environ.get("OPENAI_BASE_URL") or _OPENAI).rstrip("/")
        parts = urllib.parse.urlsplit(self.base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"base_url={base_url!r}: expected http://... or https://...")
        if parts.username or parts.query:
            raise ValueError(f"base_url: put the key into {_KEY}, not into the address")
        self.is_local = parts.hostname in ("localhost", "127.0.0.1", "::1")
        self._timeout, self._retries, self._wait = timeout, retries, wait
        self._refused = set[str]()  # optional fields that this server does not take
        self._lock = threading.Lock()
        self._closed_until = 0.0  # by a Retry-After, for all threads

    def complete(self, messages: Messages, schema: JsonDict, request: str) -> Completion:
        """Send messages until there is a reply; a gateway recognizes a repeated `request`."""
        attempt, reason = 0, ""
        while attempt <= self._retries:
            time.sleep(max(0.0, self._closed_until - time.monotonic()))
            started = time.perf_counter()
            body = self._body(messages, schema)
            response = self._post(body, request)
            if response.status == 200:
                found = _read(response.body, messages, time.perf_counter() - started)
                if found is not None:
                    return found
            if response.status in (400, 422) and self._leave_out(body, response.body):
                continue
            reason = f"{response.status or 'no response'}: {' '.join(response.body.split())[:300]}"
            if response.status not in (*_BUSY, 0, 200):
                raise ChatError(f"{self.base_url}: {reason}. {_remedy(response.status)}")
            pause = self._wait * 2**attempt if response.wait is None else response.wait
            if pause > _LONGEST_WAIT:
                raise ChatError(f"{self.base_url} asks to wait {pause:,.0f} s ({reason}). {_LATER}")
            with self._lock:
                self._closed_until = max(self._closed_until, time.monotonic() + pause)
            attempt += 1
        raise ChatError(f"{self.base_url} failed {attempt} times, at last by {reason}. {_LATER}")

    def _body(self, messages: Messages, schema: JsonDict) -> JsonDict:
        """The request, without what the server has refused."""
        form = {"name": "reply", "strict": True, "schema": schema}
        body = {
            "model": self.model,
            "messages": list(messages),
            "temperature": 0,
            "response_format": {"type": "json_schema", "json_schema": form},
            "max_tokens": self.max_tokens,
        }
        if "max_tokens" in self._refused:  # OpenAI's reasoning models
            body["max_completion_tokens"] = self.max_tokens
        return {name: value for name, value in body.items() if name not in self._refused}

    def _leave_out(self, body: JsonDict, complaint: str) -> bool:
        """Leave out an optional field that the server complains about; False if there is none."""
        optional = ("max_completion_tokens", "max_tokens", "temperature", "response_format")
        named = [name for name in optional if name in body and name in complaint]
        if not named and "response_format" in body and "schema" in complaint:
            named = ["response_format"]
        self._refused.update(named[:1])
        return bool(named)

    def _post(self, body: JsonDict, request: str) -> _Response:
        call = urllib.request.Request(
            f"{self.base_url}/chat/completions",
            json.dumps(body).encode(),
            {"Content-Type": "application/json", "Idempotency-Key": request},
        )
        if key := os.environ.get(_KEY):
            call.add_unredirected_header("Authorization", f"Bearer {key}")
        try:
            with urllib.request.urlopen(call, timeout=self._timeout) as stream:
                return _Response(stream.status, None, _masked(stream.read(), key))
        except urllib.error.HTTPError as error:
            with error:
                return _Response(
                    error.code, _retry_after(error.headers), _masked(error.read(), key)
                )
        except (OSError, http.client.HTTPException) as error:
            return _Response(0, None, _masked(str(error).encode(), key))


_LATER = "All replies so far are stored: the same command continues from here"


def _remedy(status: int) -> str:
    if status in (401, 403):
        return f"Check the key in {_KEY}"
    return "Check model and base_url" if status == 404 else _LATER


def _masked(body: bytes, key: str | None) -> str:
    text = body.decode("utf-8", "replace")
    return text.replace(key, "***") if key else text


def _retry_after(headers: Message) -> float | None:
    """Seconds by `Retry-After`, which is a number or a date."""
    given = headers.get("Retry-After", "")
    try:
        return max(0.0, float(given))
    except ValueError:
        date = email.utils.parsedate_tz(given)
        return max(0.0, email.utils.mktime_tz(date) - time.time()) if date else None


def _read(body: str, messages: Messages, seconds: float) -> Completion | None:
    """The text of a response; None if it is no chat completion, such as the page of a proxy."""
    try:
        item = json.loads(body)
        message, usage = item["choices"][0]["message"], item.get("usage") or {}
        text = message.get("content") or message.get("refusal") or ""
    except (ValueError, KeyError, IndexError, TypeError, AttributeError):
        return None
    sent = sum(len(one["content"]) for one in messages)
    tokens_in = usage.get("prompt_tokens") or n_tokens(sent)
    tokens_out = usage.get("completion_tokens") or n_tokens(len(text))
    return Completion(text, int(tokens_in), int(tokens_out), seconds)


def n_tokens(n_characters: int) -> int:
    """Estimated tokens of a text."""
    return -(-n_characters // _CHARACTERS_PER_TOKEN)
