"""Access control: middleware that every request passes.

On this machine alone (no token), the page must be asked for by a name of this machine, so that no
other site can reach it under a name of its own. With a token, everything needs it: page, assets,
websocket, JSON interface. Requests that a page of another site sends are refused in any case.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit

LARGEST_BODY = 64 * 1024  # bytes of a request
LARGEST_UPLOAD = 4 * 1024**3  # bytes of a file dropped on the start page
UPLOAD = "/start/upload"
LARGEST_MESSAGE = 256 * 1024  # bytes of a message on the websocket
_THIS_MACHINE = {"127.0.0.1", "localhost", "::1"}
_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; "
    "connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, object]]]
Send = Callable[[MutableMapping[str, object]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class SecurityMiddleware:
    """ASGI middleware that checks host, origin and token.

    Parameters
    ----------
    app : ASGI application
    token : str or None
        What everybody has to show; None if only this machine can connect.
    port : int
        Cookies are shared by all ports of a machine, so its name has the port in it.
    studio : object
        Put into the scope of every request as ``"linkwise.studio"``.
    """

    def __init__(self, app: App, token: str | None, port: int, studio: Any):
        self._app, self._token, self._studio = app, token, studio
        self._cookie = f"linkwise_{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass or refuse a request."""
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await _refuse(scope, send, *refusal)
        elif self._is_link(scope):
            await self._welcome(scope, send)
        else:
            scope["linkwise.studio"] = self._studio
            await self._app(scope, receive, _with_headers(send))

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str] | None:
        host = headers.get("host", "")
        if self._token is None and _split(f"//{host}").hostname not in _THIS_MACHINE:
            return 403, "The studio answers only under a name of this machine."
        if "origin" in headers and _split(headers["origin"]).netloc != host:
            return 403, "Requests from pages of other sites are refused."
        if _is_foreign(scope, headers):
            return 403, "Requests from pages of other sites are refused."
        if self._token is not None and not self._has_token(scope, headers):
            return 401, "The studio needs the token: open the whole link that it printed."
        largest = LARGEST_UPLOAD if scope.get("path") == UPLOAD else LARGEST_BODY
        return _too_large(headers, largest)

    def _has_token(self, scope: Scope, headers: dict[str, str]) -> bool:
        bearer = headers.get("authorization", "")
        shown = [
            bearer[7:] if bearer.lower().startswith("bearer ") else "",
            dict(_query(scope)).get("token", ""),
            self._cookie_of(headers),
        ]
        token = (self._token or "").encode()
        return any(secrets.compare_digest(one.encode(), token) for one in shown)

    def _cookie_of(self, headers: dict[str, str]) -> str:
        # Not by SimpleCookie, which gives up at the first odd cookie of somebody else.
        pairs = (part.strip().partition("=") for part in headers.get("cookie", "").split(";"))
        return next((value for name, _, value in pairs if name == self._cookie), "")

    def _is_link(self, scope: Scope) -> bool:
        """Whether the request opens the link with the token."""
        is_page = scope["type"] == "http" and scope["path"] == "/"
        return self._token is not None and is_page and "token" in dict(_query(scope))

    async def _welcome(self, scope: Scope, send: Send) -> None:
        """Move the token from the URL to a cookie."""
        rest = urlencode([(name, value) for name, value in _query(scope) if name != "token"])
        cookie = f"{self._cookie}={self._token}; HttpOnly; SameSite=Lax; Path=/"
        await _reply(
            send, 303, "", {"location": f"/?{rest}" if rest else "/", "set-cookie": cookie}
        )


def _is_foreign(scope: Scope, headers: dict[str, str]) -> bool:
    """Whether a page of another site asks for more than to open the studio in a tab.

    Images and scripts of other pages send no Origin, but browsers say where they come from.
    """
    if headers.get("sec-fetch-site", "none") in ("none", "same-origin"):
        return False
    opens = (headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest"))
    return opens != ("navigate", "document") or scope.get("path") != "/"


def _split(address: str) -> SplitResult:
    """Parts of a URL; empty for an invalid one."""
    try:
        return urlsplit(address)
    except ValueError:
        return urlsplit("")


def _query(scope: Scope) -> list[tuple[str, str]]:
    return parse_qsl(scope.get("query_string", b"").decode("latin-1"))


def _too_large(headers: dict[str, str], largest: int) -> tuple[int, str] | None:
    if "transfer-encoding" in headers:
        return 411, "Send the length of the request (Content-Length)."
    length = headers.get("content-length", "0")
    if not length.isdigit() or int(length) > largest:
        return 413, f"A request may have at most {largest:,} bytes."
    return None


async def _refuse(scope: Scope, send: Send, status: int, why: str) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": why})
    else:
        await _reply(send, status, why, {"connection": "close"})


async def _reply(send: Send, status: int, text: str, headers: dict[str, str]) -> None:
    headers = {**_HEADERS, "content-type": "text/plain; charset=utf-8", **headers}
    pairs = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": text.encode()})


def _with_headers(send: Send) -> Send:
    """Add security headers to a response."""

    async def sending(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            there = {name.lower() for name, _ in message.get("headers", [])}
            more = [
                (n.encode(), v.encode()) for n, v in _HEADERS.items() if n.encode() not in there
            ]
            message = {**message, "headers": [*message.get("headers", []), *more]}
        await send(message)

    return sending
