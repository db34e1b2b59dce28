"""The page: question, map, clusters, progress, take away. One `View` a browser tab.

Whatever may take time (asking, answering, describing clusters) runs in threads; the event loop
only moves results to the browser. Every tab shows the same session, and learns from the studio
when something changed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import Request
from nicegui import Client, events, ui

from ._panels import Clusters, Contradictions, ProgressPanel, TakeAway, button
from ._state import State, look

if TYPE_CHECKING:
    from ._studio import Studio

_STYLE = (Path(__file__).parent / "style.css").read_text("utf-8")
_POLL = 2.0  # seconds between looks for answers that other processes wrote


class Card(ui.element, component="card.js"):
    """The question."""


class Map(ui.element, component="map.js"):
    """The map."""


@cache
def register() -> None:
    """Give NiceGUI the page, once a process."""

    @ui.page("/")
    async def page(request: Request, client: Client) -> None:
        view = View(request.scope["linkwise.studio"], client)
        view.build()
        await view.refresh()


def put(element: ui.element, **props: Any) -> None:
    """Change properties of an element, and send them only if they differ."""
    changed = {name: value for name, value in props.items() if element.props.get(name) != value}
    if changed:
        element.props.update(changed)
        element.update()


class View:
    """What one tab shows.

    Parameters
    ----------
    studio : Studio
    client : nicegui.Client
    """

    def __init__(self, studio: Studio, client: Client):
        self._studio, self._client, self.work = studio, client, studio.work
        self._turn = 0
        self._picked: list[int] = []
        self._own: tuple[int, int] | None = None
        self._question: dict[str, Any] | None = None
        self._refreshing = self._again = False

    # ---------------------------------------------------------------- building

    def build(self) -> None:
        """Lay the page out."""
        ui.add_head_html(f"<style>{_STYLE}</style>")
        self._dark = ui.dark_mode(None)
        with ui.element("main").classes("lw-page"):
            self._header()
            self._card = Card().props(":turn=0")
            put(self._card, thinking=True, own=False, guess="", note="", question=None)
            self._card.on("answer", self._on_answer)
            self._card.on("undo", self._on_undo)
            self._card.on("back", self._on_back)
            with ui.element("div").classes("lw-right"):
                with ui.element("div").classes("lw-map-box"):
                    self._map = Map()
                    put(self._map, version="", picked=[], asked=[])
                    self._map.on("pick", self._on_pick)
                    self._picking()
                self._tabs()
        self._contradictions = Contradictions(self.work, self.call)
        self._studio.add_view(self)
        self._client.on_delete(lambda: self._studio.remove_view(self))
        ui.timer(_POLL, self.refresh, immediate=False)

    def _header(self) -> None:
        with ui.element("header").classes("lw-header"):
            with ui.element("div").classes("lw-brand"):
                ui.label("linkwise studio")
            with ui.element("div").classes("lw-facts").props('role="status"'):
                self._facts = ui.label()
            self._clash = button("", lambda: self._contradictions.show(), "lw-warn-button")
            self._clash.set_visibility(False)
            self._hinted = ui.switch("Show the model's guess", on_change=self._show_question)
            self._hinted.tooltip("Off, so that the model does not sway your answer")
            button("Light / dark", self._change_theme)

    async def _change_theme(self) -> None:
        is_dark = await ui.run_javascript("document.body.classList.contains('body--dark')")
        self._dark.set_value(not is_dark)

    def _picking(self) -> None:
        """Two records by name, for those who do not use a pointer."""
        with ui.element("div").classes("lw-pick"):
            ui.label("Your own question: click two points or name")
            self._named = [
                ui.input(placeholder=f"record {letter}").props(
                    f'dense outlined maxlength=200 aria-label="record {letter}"'
                )
                for letter in "AB"
            ]
            for box in self._named:
                box.on("keydown.enter", self._on_named)
            button("Ask", self._on_named)

    def _tabs(self) -> None:
        with ui.element("div").classes("lw-panel"):
            with ui.tabs().props("dense align=left no-caps inline-label") as tabs:
                names = [ui.tab(name) for name in ("Clusters", "Progress", "Take away")]
            with ui.tab_panels(tabs, value=names[0], animated=False, keep_alive=True):
                with ui.tab_panel(names[0]):
                    self._clusters = Clusters(self.work, self.call)
                with ui.tab_panel(names[1]):
                    self._progress = ProgressPanel(self.work, self.call)
                with ui.tab_panel(names[2]):
                    TakeAway(self.work, self.call)

    # ---------------------------------------------------------------- what happens

    async def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run something that may take time in a thread; wrong input becomes a note."""
        try:
            return await self._studio.run(function, *arguments)
        except (ValueError, TypeError, OSError) as error:
            with self._client:
                ui.notify(str(error), type="negative", position="top")
            return None

    async def _on_answer(self, event: events.GenericEventArguments) -> None:
        given = event.args
        pair = (given["i"], given["j"])
        if self._own == pair:
            self._own, self._picked = None, []
        put(self._card, note="")
        await self.call(self._tell, given["said"], pair)
        await self._next()

    def _tell(self, said: str, pair: tuple[int, int]) -> None:
        self.work.session.tell(said, pair)

    async def _on_undo(self) -> None:
        undone = await self.call(self.work.session.undo)
        told = [f"{self.work.name(a.i)} and {self.work.name(a.j)}: {a.said}" for a in undone or ()]
        put(self._card, note=f"Taken back: {told[0]}" if told else "Nothing of yours to take back.")
        await self._next()

    async def _next(self) -> None:
        """The next question at once; everything else follows with the next refresh."""
        if self._own is None:
            self._question = await self.call(self.work.question)
        self._turn += 1
        self._show_question()

    def _show_question(self) -> None:
        question, hinted = self._question, self._hinted.value
        rows = [] if question is None or not hinted else [question["i"], question["j"]]
        put(
            self._card,
            question=question,
            turn=self._turn,
            own=self._own is not None,
            guess=question["guess"] if question is not None and hinted else "",
            thinking=False,
        )
        put(self._map, asked=rows, picked=list(self._picked))

    async def _on_pick(self, event: events.GenericEventArguments) -> None:
        row = int(event.args["row"])
        self._picked = [one for one in self._picked[-1:] if one != row] + [row]
        if len(self._picked) == 2:
            await self._ask_own(*self._picked)
        put(self._map, picked=list(self._picked))

    async def _on_named(self) -> None:
        rows = [await self.call(self.work.find_row, box.value or "") for box in self._named]
        if None in rows:
            return
        if rows[0] == rows[1]:
            ui.notify("Name two different records.", type="negative", position="top")
            return
        self._picked = rows
        await self._ask_own(*rows)

    async def _ask_own(self, i: int, j: int) -> None:
        self._own = (i, j)
        self._question = await self.call(self.work.pair, i, j)
        self._show_question()

    async def _on_back(self) -> None:
        self._own, self._picked = None, []
        await self._next()

    # ---------------------------------------------------------------- keeping up

    async def refresh(self) -> None:
        """Show what is new: one look at a time, and one more if something changed meanwhile."""
        if self._refreshing or not self._studio.is_open:
            self._again = True
            return
        self._refreshing = True
        try:
            state = await self._studio.run(look, self.work, self._own is None)
            if not self._client.is_deleted:
                with self._client:
                    self._show(state)
        finally:
            self._refreshing = False
        if self._again and self._studio.is_open:
            self._again = False
            await self.refresh()

    def _show(self, state: State) -> None:
        if self._own is None and state.asked:
            self._question = state.question
        self._show_question()
        put(self._map, version=state.version)
        self._facts.set_text(state.facts)
        self._clash.set_visibility(bool(state.disputes))
        self._clash.set_text(f"{len(state.disputes)} to settle")
        self._contradictions.update(state)
        self._clusters.update(state)
        self._progress.update(state)
