"""`Studio`: a session as a page in the browser."""

from __future__ import annotations

import asyncio
import secrets
import threading
from collections.abc import Callable, Coroutine, Sequence
from html import escape
from socket import socket
from typing import TYPE_CHECKING, Any

from linkwise._optional import optional
from linkwise.active import Session

from ._controller import Controller
from ._records import Records
from ._start import Start

if TYPE_CHECKING:
    from ._page import View

PORT = 8765  # of the links in the documentation
LOOPBACK = "127.0.0.1"


class Studio:
    """A session as a page in the browser; it runs in the background until it is closed.

    Parameters
    ----------
    session : Session, default=None
        Stays yours: closing the studio does not close it. None: the page begins with the choice
        of a file, or of a recent session.
    records : Records, DataFrame or mapping of str to sequence, default=None
        What is shown of the rows; the data itself if not given.
    features : sequence of str, default=None
        Names of the columns of the data, where they are not in `records`.
    host : str, default=None
        Address to listen on; anyone who can reach it and has the link, which contains a
        random token, can answer. None: this machine only.
    port : int, default=None
        Port to listen on, 0 for any; if not given, 8765 or another one that is free.
    start : Start, default=None
        Where the start page keeps projects; ``~/linkwise`` if not given.
    embedded : bool, default=False
        Whether pages on this machine, such as notebooks, may show the studio in a frame.

    Attributes
    ----------
    url : str
        The link to open.
    controller : Controller
        What page and JSON interface show; ValueError while no session is open.

    See Also
    --------
    Session : What the studio shows.

    Notes
    -----
    The JSON API is described at ``/api/openapi.json``. It requires the token of the link as
    ``Authorization: Bearer``.

    Examples
    --------
    >>> from linkwise import Session, Studio
    >>> session = Session([[0.0], [0.2], [5.0], [5.2]], n_clusters=2)
    >>> with Studio(session, port=0) as studio:  # in a notebook: Studio(session) shows the link
    ...     print(studio.url.rpartition(":")[0])
    http://127.0.0.1
    >>> session.close()
    """

    def __init__(
        self,
        session: Session | None = None,
        records: Any = None,
        *,
        features: Sequence[str] | None = None,
        host: str | None = None,
        port: int | None = None,
        start: Start | None = None,
        embedded: bool = False,
    ):
        optional("nicegui", extra="studio", need="The studio")
        from . import _page
        from . import _server as _host
        from ._api import make_api
        from ._security import SecurityMiddleware
        from ._start_api import add_start

        self._controller: Controller | None = None
        self._owned: Session | None = None  # begun on the start page, closed by the studio
        self._token, self.is_shared = secrets.token_urlsafe(24), host is not None
        self._loop = _host.event_loop()
        self._views: set[View] = set()
        self._tasks: set[asyncio.Future[Any]] = set()
        self._stop_listening: Callable[[], None] = lambda: None
        self._show_lock = threading.Lock()
        self.start = None
        if session is None:
            self.start = start or Start()
            if host is not None:
                self.start.may_read = False
        bound = _bind(host or LOOPBACK, port)
        self._host, self.port = host or LOOPBACK, int(bound.getsockname()[1])
        app = make_api(lambda: self.controller, lambda: self.people)
        if self.start is not None:
            add_start(app, self.start, self._show_owned, self.go_to_start)
        _page.register()
        _host.mount_pages(app)
        self._open = True
        if session is not None:
            self.show(session, records, features)
        guarded = SecurityMiddleware(
            app, self._token, self.port, self, local=host is None, embedded=embedded
        )
        self._server = _host.Server(bound, guarded)

    @property
    def controller(self) -> Controller:
        """What page and JSON interface show; ValueError while no session is open."""
        if self._controller is None:
            from ._api import NoSession

            raise NoSession("no session is open yet; choose the data on the start page")
        return self._controller

    @property
    def has_session(self) -> bool:
        """Whether a session is open."""
        return self._controller is not None

    def show(
        self, session: Session, records: Any = None, features: Sequence[str] | None = None
    ) -> None:
        """Put a session on the page, in place of the one before.

        Parameters
        ----------
        session, records, features
            As in `Studio`.
        """
        controller = Controller(session, Records.of(records, session.X, features))
        with self._show_lock:
            self._drop()
            self._controller = controller
            self._stop_listening = session.listen(self._note)
            controller.choice.changed = controller.map.changed = self._note
        self._reload()

    def _show_owned(self, session: Session, records: Records) -> None:
        self.show(session, records)
        self._owned = session

    def go_to_start(self) -> None:
        """Close the session and show the start page, if the studio began with it."""
        if self.start is None:
            raise ValueError("this studio was started with a session; start another one")
        with self._show_lock:
            self._drop()
        self._reload()

    def _drop(self) -> None:
        self._stop_listening()
        self._stop_listening = lambda: None
        if self._controller is not None:
            self._controller.choice.stop()
        self._controller = None
        if self._owned is not None:
            self._owned.close()
            self._owned = None

    def _reload(self) -> None:
        """Reload all pages."""
        if self._open:
            self._loop.call_soon_threadsafe(self._reload_all)

    def _reload_all(self) -> None:
        for view in list(self._views):
            view.reload()

    @property
    def url(self) -> str:
        """The link to open."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self.port}/?token={self._token}"

    @property
    def is_open(self) -> bool:
        """Whether it is open."""
        return self._open

    @property
    def token(self) -> str:
        """Access token."""
        return self._token

    def close(self) -> None:
        """Close the page; the session stays open."""
        if self._open:
            self._open = False
            self._server.close()
            asyncio.run_coroutine_threadsafe(self._finish(), self._loop).result()
            with self._show_lock:
                self._drop()

    async def _finish(self) -> None:
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def __enter__(self) -> Studio:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Studio at {self.url}" if self._open else "Studio, closed"

    def _repr_html_(self) -> str:
        if not self._open:
            return "<p>The studio is closed.</p>"
        link = escape(self.url, quote=True)
        return f'<p>The studio: <a href="{link}" target="_blank" rel="noopener">{link}</a></p>'

    # ---------------------------------------------------------------- pages that are open

    def add_view(self, view: View) -> None:
        """Register an open page.

        Parameters
        ----------
        view : View
            One tab of a browser.
        """
        self._views.add(view)
        self.refresh()

    def remove_view(self, view: View) -> None:
        """Remove a closed page; the pending questions of its person are released.

        Parameters
        ----------
        view : View
            As in `add_view`.
        """
        self._views.discard(view)
        if self._open and self.has_session and view.who not in self.people:
            self._start(self.run(lambda: self.controller.session.ask(0, who=view.who)))
        self.refresh()

    @property
    def people(self) -> list[str]:
        """Names of the people with an open page."""
        return sorted({view.who for view in list(self._views) if view.who})

    def _note(self) -> None:
        """Notify the pages, in their thread, that the session changed."""
        if self._open:
            self._loop.call_soon_threadsafe(self.refresh)

    def refresh(self) -> None:
        """Let all pages fetch their state; call it in the event loop."""
        for view in list(self._views):
            view.refresh()

    async def version(self) -> int:
        """Version of the session, with the answers of other processes."""
        return int(await self.run(lambda: self.controller.session.snapshot().version))

    async def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run a function in a thread; `close` waits for it.

        Parameters
        ----------
        function : callable
            What to run; further arguments are passed on to it.
        """
        if not self._open:
            raise ValueError("the studio is closed")
        return await self._start(asyncio.to_thread(function, *arguments))

    def _start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Future[Any]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)  # the loop itself holds tasks only weakly
        task.add_done_callback(self._tasks.discard)
        return task


def _bind(host: str, port: int | None) -> socket:
    from ._server import listen_on

    if port is not None:
        return listen_on(host, port)
    try:
        return listen_on(host, PORT)
    except OSError:
        return listen_on(host, 0)
