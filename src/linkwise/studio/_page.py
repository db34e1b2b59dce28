"""The page: one element of NiceGUI per browser tab, and who is there.

The element is a component of JavaScript that gets everything by HTTP (`_view`, `_api`). Over the
websocket goes one number, which changes with the session: the page then fetches its state.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from fastapi import Request
from nicegui import Client, events, ui

from ._exports import EXPORTS

if TYPE_CHECKING:
    from ._studio import Studio

_POLL = 2.0  # seconds between looks for answers that other processes wrote
_THEMES = {"system": None, "light": False, "dark": True}
_WEB = Path(__file__).parent / "web"
_STYLE = (_WEB / "style.css").read_text("utf-8")
_MODULES = {"linkwise": str(_WEB)}  # import ... from "linkwise/lib/..."


class StudioPage(ui.element, component="web/studio.js", esm=_MODULES):
    """The page of a session."""


class StartPage(ui.element, component="web/start.js", esm=_MODULES):
    """The choice of data."""


@cache
def register() -> None:
    """Register the page with NiceGUI, once per process."""

    # A busy machine takes longer than NiceGUI's three seconds; the page would be lost.
    @ui.page("/", response_timeout=30)
    async def page(request: Request, client: Client) -> None:
        # A GET only lays the page out; the connected page asks the first question.
        View(request.scope["linkwise.studio"], client).build(request.cookies)


class View:
    """One tab; `who` is the name of the person at it, empty on the start page."""

    def __init__(self, studio: Studio, client: Client):
        self._studio, self._client = studio, client
        self.who = ""
        self._page: ui.element | None = None
        self._version = -1  # of the session, at the last look for changes of other processes

    def build(self, cookies: Mapping[str, str]) -> None:
        """Lay the page out."""
        ui.add_head_html(f"<style>{_STYLE}</style>")
        theme = cookies.get("linkwise_theme", "system")
        dark = ui.dark_mode(_THEMES.get(theme))
        self._studio.add_view(self)
        self._client.on_delete(lambda: self._studio.remove_view(self))
        if not self._studio.has_session:
            StartPage()
            return
        name = unquote(cookies.get("linkwise_name", "")).strip()
        # Whoever comes by a link from elsewhere is not the person who started the studio.
        is_stranger = not name and self._studio.is_shared
        self.who = "" if is_stranger else name or self._studio.controller.session.snapshot().who
        self._page = StudioPage()
        self._page.props["stamp"] = 0
        self._page.props["me"] = self.who
        self._page.props["theme"] = theme if theme in _THEMES else "system"
        self._page.props["other"] = self._studio.start is not None
        self._page.props["files"] = [
            {"name": file, "group": one.group, "title": one.title, "about": one.about}
            for file, one in EXPORTS.items()
        ]
        self._page.on("theme", lambda event: dark.set_value(_THEMES[event.args]))
        self._page.on("who", self._rename)
        ui.timer(_POLL, self._poll)

    def _rename(self, event: events.GenericEventArguments) -> None:
        self.who = str(event.args)
        self._studio.refresh()

    async def _poll(self) -> None:
        """Refresh the page if another process has changed the session."""
        if self._studio.is_open and self._studio.has_session:
            version = await self._studio.version()
            if version != self._version:
                self._version = version
                self.refresh()

    def refresh(self) -> None:
        """Let the page fetch its state."""
        if self._page is not None and not self._client.is_deleted:
            self._page.props["stamp"] += 1
            self._page.update()

    def reload(self) -> None:
        """Begin anew: a session was opened or closed, perhaps in another tab."""
        with self._client:
            ui.run_javascript("window.location.reload()")
