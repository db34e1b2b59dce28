"""Background server: one thread and event loop per process, one port per studio.

NiceGUI keeps its pages and its websocket in one place per process. It is started once, in an
application to which every studio passes the requests that its API does not answer.
`SecurityMiddleware` puts the studio of a request into its scope.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from concurrent.futures import Future
from typing import Any

import uvicorn
from fastapi import FastAPI
from nicegui import app as nicegui_app
from nicegui import ui

from ._security import LARGEST_BODY, App

_PATIENCE = 60.0  # seconds to start or stop, also on a busy machine
_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_pages = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)


def event_loop() -> asyncio.AbstractEventLoop:
    """Event loop of all studios; started by the first."""
    global _loop
    with _lock:
        if _loop is None:
            loop = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="linkwise-studio", daemon=True).start()
            asyncio.run_coroutine_threadsafe(_start_nicegui(), loop).result(_PATIENCE)
            _loop = loop
        return _loop


async def _start_nicegui() -> None:
    ui.run_with(
        _pages,
        title="linkwise studio",
        dark=None,
        language="en-US",
        tailwind=False,
        show_welcome_message=False,
        reconnect_timeout=10.0,
    )
    # The components show themselves that they work; Quasar's bar has no name for screen readers.
    nicegui_app.config.quasar_config["loadingBar"] = {"skipHijack": True}
    # Held open as long as the process lives: studios come and go.
    await _pages.router.lifespan_context(_pages).__aenter__()


def mount_pages(app: FastAPI) -> None:
    """Serve NiceGUI's pages from an application."""
    app.mount("/", _pages)


class Server:
    """A web server on a bound socket."""

    def __init__(self, bound: socket.socket, app: App):
        config = uvicorn.Config(
            app,
            lifespan="off",
            log_level="warning",
            access_log=False,
            server_header=False,
            ws_max_size=LARGEST_BODY,
            timeout_graceful_shutdown=2,
        )
        self._server = uvicorn.Server(config)
        self._done: Future[Any] = asyncio.run_coroutine_threadsafe(
            self._server.serve(sockets=[bound]), event_loop()
        )

    def close(self) -> None:
        """Stop listening."""
        self._server.should_exit = True
        self._done.result(_PATIENCE)


def listen_on(host: str, port: int) -> socket.socket:
    """A socket bound to a port; 0 for any that is free."""
    try:
        kind = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        bound = socket.socket(kind[0], socket.SOCK_STREAM)
    except OSError as error:
        raise ValueError(f"host {host}: {error.strerror or error}") from None
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind(kind[4])
        bound.listen(128)  # so that the link works as soon as it is known
    except (OSError, OverflowError) as error:
        bound.close()
        raise OSError(f"cannot listen on {host}, port {port}: {error}; try another port") from None
    return bound
