"""The start page of a tab: choose data or a recent session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import Client, ui

from ._elements import StartForm, add_style

if TYPE_CHECKING:
    from ._studio import Studio


class StartView:
    """What a tab shows before there is a session.

    Parameters
    ----------
    studio : Studio
    client : nicegui.Client
    """

    who = ""

    def __init__(self, studio: Studio, client: Client):
        self._studio, self._client = studio, client

    def build(self) -> None:
        """Lay the page out."""
        add_style()
        ui.dark_mode(None)
        with ui.element("div").classes("lw-page lw-start-page"):
            with ui.element("header").classes("lw-header"), ui.element("div").classes("lw-brand"):
                ui.label("linkwise studio")
            StartForm()
        self._studio.add_view(self)
        self._client.on_delete(lambda: self._studio.remove_view(self))

    async def refresh(self) -> None:
        """Nothing of a session is shown here."""

    def reload(self) -> None:
        """Begin anew: a session was opened, perhaps in another tab."""
        with self._client:
            ui.run_javascript("window.location.reload()")
