"""Access control: middleware that every request passes.

Page, assets, websocket and JSON API require a random token, also on the loopback address, because
other users of the machine can connect to it. A studio on the loopback address answers only under a
name of this machine (DNS rebinding). Requests sent by pages of other sites are refused.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit

LARGEST_BODY = 1024**2  # bytes of a request: the numbers of 100,000 selected rows
LARGEST_UPLOAD = 4 * 1024**3  # bytes of a file dropped on the start page
UPLOAD = "/start/upload"
_THIS_MACHINE = {"127.0.0.1", "localhost", "::1"}
_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; "
    "connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; "
)
# Notebook servers on this machine may show an embedded studio in a frame.
_NOTEBOOKS = "http://127.0.0.1:* http://localhost:* https://127.0.0.1:* https://localhost:*"
_HEADERS = {
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, object]]]
Send = Callable[[MutableMapping[str, object]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class SecurityMiddleware:
    """ASGI middleware that checks host, origin and token."""

    def __init__(
        self, app: App, token: str, port: int, studio: Any, *, local: bool, embedded: bool
    ):
        self._app, self._token, self._studio = app, token, studio
        self._local, self._embedded = local, embedded
        self._cookie = f"linkwise_{port}"
        allowed = _NOTEBOOKS if embedded else "'none'"
        frames = f"frame-ancestors {allowed}"
        self._headers = {**_HEADERS, "content-security-policy": _POLICY + frames}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass or refuse a request."""
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await self._refuse(scope, send, *refusal)
        elif self._is_link(scope):
            await self._welcome(scope, send)
        else:
            scope["linkwise.studio"] = self._studio
            await self._app(scope, receive, self._with_headers(send))

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str] | None:
        host = headers.get("host", "")
        if self._local and _split(f"//{host}").hostname not in _THIS_MACHINE:
            return 403, "The studio answers only under a name of this machine."
        if "origin" in headers and _split(headers["origin"]).netloc != host:
            return 403, "Requests from pages of other sites are refused."
        if _is_foreign(scope, headers, self._embedded):
            return 403, "Requests from pages of other sites are refused."
        if not self._has_token(scope, headers):
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
        token = self._token.encode()
        return any(secrets.compare_digest(one.encode(), token) for one in shown)

    def _cookie_of(self, headers: dict[str, str]) -> str:
        # SimpleCookie stops at the first malformed cookie, which may be another program's.
        pairs = (part.strip().partition("=") for part in headers.get("cookie", "").split(";"))
        return next((value for name, _, value in pairs if name == self._cookie), "")

    def _is_link(self, scope: Scope) -> bool:
        """Whether the request opens the link with the token."""
        is_page = scope["type"] == "http" and scope["path"] == "/"
        return is_page and "token" in dict(_query(scope))

    async def _welcome(self, scope: Scope, send: Send) -> None:
        """Move the token from the URL to a cookie."""
        rest = urlencode([(name, value) for name, value in _query(scope) if name != "token"])
        # A notebook under another host name is another site: browsers send it no other cookie.
        site = "None; Secure; Partitioned" if self._embedded else "Lax"
        cookie = f"{self._cookie}={self._token}; HttpOnly; SameSite={site}; Path=/"
        location = f"/?{rest}" if rest else "/"
        await self._reply(send, 303, "", {"location": location, "set-cookie": cookie})

    async def _refuse(self, scope: Scope, send: Send, status: int, why: str) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": why})
        else:
            await self._reply(send, status, why, {"connection": "close"})

    async def _reply(self, send: Send, status: int, text: str, headers: dict[str, str]) -> None:
        headers = {**self._headers, "content-type": "text/plain; charset=utf-8", **headers}
        pairs = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": status, "headers": pairs})
        await send({"type": "http.response.body", "body": text.encode()})

    def _with_headers(self, send: Send) -> Send:
        """Add security headers to a response."""

        async def sending(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                there = {name.lower() for name, _ in message.get("headers", [])}
                more = [
                    (name.encode(), value.encode())
                    for name, value in self._headers.items()
                    if name.encode() not in there
                ]
                message = {**message, "headers": [*message.get("headers", []), *more]}
            await send(message)

        return sending


def _is_foreign(scope: Scope, headers: dict[str, str], embedded: bool) -> bool:
    """Whether a page of another site does more than open the studio in a tab, or in a frame.

    Images and scripts of other pages send no Origin, but browsers say where they come from.
    """
    if headers.get("sec-fetch-site", "none") in ("none", "same-origin"):
        return False
    targets = ("document", "iframe") if embedded else ("document",)
    opens = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") in targets
    return not opens or scope.get("path") != "/"


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
