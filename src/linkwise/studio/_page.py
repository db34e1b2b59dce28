"""The page: question, map, clusters, progress, export. One `View` per browser tab.

Whatever may take time (asking, answering, describing clusters) runs in threads; the event loop
only moves results to the browser. Every tab shows the same session, and learns from the studio
when something changed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from errno import ENOSPC
from functools import cache
from time import monotonic
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from fastapi import Request
from nicegui import Client, events, ui

from linkwise._types import JsonDict

from ._clusters import Proposal
from ._elements import Card, Map, add_style, button, put
from ._panels import Clusters, Contradictions, History, ProgressPanel, TakeHome
from ._start_page import StartView
from ._state import TabState, look
from ._workbench import People, RecordsPanel, SetPanel, ask_whether, show_keys

if TYPE_CHECKING:
    from ._studio import Studio

_TABS = ("Clusters", "Progress", "History", "People", "Take home")
# A breakpoint of 0: on the left also where they are narrow.
_TABS_LOOK = "dense align=left no-caps inline-label breakpoint=0"
_POLL = 2.0  # seconds between looks for answers that other processes wrote
_SILENT = 20.0  # seconds in which the same problem is not shown again
_THEMES = {"system": None, "light": False, "dark": True}
# What a browser remembers, also when the studio is started again: who sits there, and the theme.
_NAME, _THEME = "linkwise_name", "linkwise_theme"
_YEAR = 365 * 24 * 60 * 60  # seconds
LONGEST_PERSON = 60


@cache
def register() -> None:
    """Register the page with NiceGUI, once per process."""

    # A busy machine takes longer than NiceGUI's three seconds; the page would be lost.
    @ui.page("/", response_timeout=30)
    async def page(request: Request, client: Client) -> None:
        studio = request.scope["linkwise.studio"]
        if not studio.has_session:
            StartView(studio, client).build()
            return
        # A GET only lays the page out; the first question is asked by the connected page.
        view = View(studio, client, request.cookies)
        view.build()
        ui.timer(0, view.begin, once=True)


def _remember(name: str, value: str) -> None:
    """Set a cookie."""
    cookie = f"{name}={quote(value)}; path=/; max-age={_YEAR}; samesite=lax"
    ui.run_javascript(f"document.cookie = {json.dumps(cookie)}")


def in_words(error: Exception) -> str:
    """What went wrong, without codes of the operating system."""
    if isinstance(error, OSError) and error.errno == ENOSPC:
        return "The disk is full. Nothing was saved: free some space, then try again."
    if isinstance(error, OSError) and error.strerror:
        where = f" ({error.filename})" if error.filename else ""
        return f"{error.strerror}{where}. Nothing was saved."
    return str(error)


def _tidy(name: str) -> str:
    return " ".join(name.split())[:LONGEST_PERSON]


class View:
    """What one tab shows.

    Parameters
    ----------
    studio : Studio
    client : nicegui.Client
    cookies : mapping of str to str
        What the browser remembers.

    Attributes
    ----------
    who : str
        Who answers here.
    """

    def __init__(self, studio: Studio, client: Client, cookies: Mapping[str, str]):
        self._studio, self._client, self.controller = studio, client, studio.controller
        name = _tidy(unquote(cookies.get(_NAME, "")))
        # Those who come by a link from elsewhere are not whoever started the studio.
        self._is_stranger = not name and studio.is_shared
        self.who = name or ("guest" if self._is_stranger else studio.controller.session.who)
        theme = cookies.get(_THEME, "")
        self._theme = theme if theme in _THEMES else "system"
        self._turn = 0  # of the question; only the answer to the newest question may change it
        self._version = 0  # of the newest state shown
        self._picked: list[int] = []
        self._own: tuple[int, int] | None = None
        self._question: JsonDict | None = None
        self._refreshing = self._again = False
        self._complained = ("", 0.0)
        self._earlier = ""
        self._done = -1  # version of the state in which nothing was left to ask

    # ---------------------------------------------------------------- building

    def build(self) -> None:
        """Lay the page out."""
        add_style()
        self._dark = ui.dark_mode(_THEMES[self._theme])
        with ui.element("div").classes("lw-page"):
            self._header()
            self._left()
            with ui.element("div").classes("lw-right"):
                with ui.element("div").classes("lw-map-box"):
                    self._map = Map()
                    put(self._map, version="", picked=[], asked=[])
                    self._map.on("pick", self._on_pick)
                    self._picking()
                self._tabs()
        self._contradictions = Contradictions(self.controller, self)
        self._studio.add_view(self)
        self._client.on_delete(lambda: self._studio.remove_view(self))
        ui.timer(_POLL, self.refresh, immediate=False)
        if self._is_stranger:
            self._welcome()

    def _left(self) -> None:
        """The question, or the records of a cluster."""
        with ui.element("div").classes("lw-left"):
            with ui.tabs().props(_TABS_LOOK) as self._views:
                self._asking, self._grouping = ui.tab("Question"), ui.tab("Several at once")
                self._listing = ui.tab("Records")
            panels = ui.tab_panels(self._views, value=self._asking, animated=False, keep_alive=True)
            with panels:
                with ui.tab_panel(self._asking):
                    self._card = Card()
                    put(self._card, turn=0, thinking=True, own=False, earlier="", guess="")
                    put(self._card, note="", others=[], question=None)
                    for name in ("answer", "undo", "back", "note"):
                        self._card.on(name, getattr(self, f"_on_{name}"))
                    self._card.on("keys", lambda: show_keys())
                with ui.tab_panel(self._grouping):
                    self._set = SetPanel(self.controller, self)
                with ui.tab_panel(self._listing):
                    self._records = RecordsPanel(self.controller, self, self._undo)

    def _asks(self) -> bool:
        """Whether the next question is wanted: not beside one's own, or a card of several."""
        return self._own is None and self._views.value != self._grouping.props["name"]

    def _needs_question(self, state: TabState) -> bool:
        """Whether none is shown, or others have decided the one that is."""
        shown = self._question
        is_open = shown is not None and (shown["i"], shown["j"]) in state.pending
        return self._asks() and not is_open and not (shown is None and self._done == state.version)

    def _show_records(self, cluster: int | None) -> None:
        self._views.set_value(self._listing)
        self._records.open(cluster)

    def _welcome(self) -> None:
        """Ask a new visitor for a name."""
        with ui.dialog().props("persistent") as dialog, ui.card().classes("lw-dialog"):
            ui.label("What is your name?").classes("lw-title")
            ui.label("It is kept with your answers, and others see it in the history.")
            name = ui.input().props(f'autofocus maxlength={LONGEST_PERSON} aria-label="your name"')

            async def enter() -> None:
                dialog.close()
                await self._rename(name.value)

            name.on("keydown.enter", enter)
            button("Begin", enter, "lw-main")
        dialog.open()

    def _header(self) -> None:
        with ui.element("header").classes("lw-header"):
            with ui.element("h1").classes("lw-brand"):
                ui.label("linkwise studio")
            with ui.element("div").classes("lw-facts").props('role="status"'):
                self._facts = ui.label()
            self._guide = ui.label().classes("lw-guidelines")
            self._guide.set_visibility(False)
            self._clash = button("", lambda: self._contradictions.show(), "lw-warn-button")
            self._clash.set_visibility(False)
            self._hinted = ui.switch("Show the model's guess", on_change=self._show_question)
            self._hinted.tooltip("Off, so that the model does not sway your answer")
            with ui.element("label").classes("lw-you"):
                ui.label("You")
                self._you = ui.input(value=self.who).props(
                    f'dense outlined maxlength={LONGEST_PERSON} aria-label="your name"'
                )
            # Enter gives the focus back, so that the next keys are answers again.
            self._you.on("keydown.enter", js_handler="(event) => event.target.blur()")
            self._you.on("blur", lambda: self._rename(self._you.value))
            self._theme_button = button(f"Theme: {self._theme}", self._change_theme)
            button("Keys (?)", lambda: show_keys()).classes("lw-key-hint")
            if self._studio.start is not None:
                button("Other data", lambda: self.call(self._studio.go_to_start))

    def _change_theme(self) -> None:
        order = list(_THEMES)
        self._theme = order[(order.index(self._theme) + 1) % len(order)]
        self._dark.set_value(_THEMES[self._theme])
        self._theme_button.set_text(f"Theme: {self._theme}")
        _remember(_THEME, self._theme)

    async def _rename(self, name: str | None) -> None:
        """Change the name of the person; pending questions are released first."""
        before, self.who = self.who, _tidy(name or "") or self.who
        self._you.set_value(self.who)
        if self.who != before:
            _remember(_NAME, self.who)
            await self._studio.leave(before)
            await self._on_back()

    def _picking(self) -> None:
        """Two records by name, for keyboard users."""
        with ui.element("div").classes("lw-pick"):
            ui.label("Compare two of your own: click two points, or name")
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
            with ui.tabs().props(_TABS_LOOK) as tabs:
                names = [ui.tab(name) for name in _TABS]
            with ui.tab_panels(tabs, value=names[0], animated=False, keep_alive=True):
                with ui.tab_panel(names[0]):
                    self._clusters = Clusters(
                        self.controller, self, self._show_records, self._on_dropped
                    )
                with ui.tab_panel(names[1]):
                    self._progress = ProgressPanel(self.controller, self)
                with ui.tab_panel(names[2]):
                    self._history = History(self.controller, self, self._on_again)
                with ui.tab_panel(names[3]):
                    self._people = People(self.controller, self, self._on_again)
                with ui.tab_panel(names[4]):
                    TakeHome()

    # ---------------------------------------------------------------- what happens

    async def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run a function in a thread; show wrong input as a notification."""
        try:
            return await self._studio.run(function, *arguments)
        except (ValueError, TypeError, OSError, ImportError) as error:
            self._complain(in_words(error))
            return None

    def _complain(self, problem: str) -> None:
        """Show what went wrong; the same again only after a while, for it may come every poll."""
        now = monotonic()
        if problem != self._complained[0] or now > self._complained[1] + _SILENT:
            self._complained = (problem, now)
            if not self._client.is_deleted:
                with self._client:
                    ui.notify(problem, type="negative", position="top", close_button="Close")

    def reload(self) -> None:
        """Begin anew: another session was opened."""
        with self._client:
            ui.run_javascript("window.location.reload()")

    async def confirm(self, title: str, proposal: Proposal, parts: list[JsonDict]) -> bool:
        """Show what a merge or split gives, and ask whether to do it."""
        return await ask_whether(title, proposal, parts)

    async def _on_answer(self, event: events.GenericEventArguments) -> None:
        given = event.args
        pair = (given["i"], given["j"])
        self._turn += 1  # a question that is being looked for now is out of date
        put(self._card, note="")
        tell = self.controller.answer_again if self._own == pair else self.controller.tell
        kept = await self.call(lambda: (tell(given["said"], pair, self.who),))
        if kept is None:  # the question stays, to be answered again
            self._unlock("Your answer was not saved. Try again.")
            return
        if self._own == pair:
            self._own, self._picked = None, []
        await self._next()

    async def _on_undo(self) -> None:
        told = await self._undo()
        put(self._card, note=told)
        self._records.tell(told)
        await self._next()

    async def _undo(self) -> str:
        """Undo the last step of the person; what was undone, in words."""
        undone = await self.call(lambda: self.controller.session.undo(who=self.who))
        if undone is None:
            return "Nothing was undone. Try again."
        told = "; ".join(self.controller.told(said) for said in undone)
        return f"Undone: {told}" if told else "Nothing of yours to undo."

    async def _on_note(self, event: events.GenericEventArguments) -> None:
        i, j, text = int(event.args["i"]), int(event.args["j"]), str(event.args["text"])
        await self.call(self.controller.notes.set_pair, i, j, text)

    async def _on_dropped(self, given: JsonDict) -> None:
        await self._records.correct(given)

    async def _on_again(self, event: events.GenericEventArguments) -> None:
        """Show a pair of the history once more, to be answered again."""
        i, j = (int(row) for row in event.args["pair"])
        self._picked = [i, j]
        await self._ask_own(i, j)

    def _unlock(self, note: str) -> None:
        """Take input again after something failed."""
        self._turn += 1
        put(self._card, note=note, turn=self._turn)

    async def _next(self) -> None:
        """Show the next question; everything else follows with the next refresh.

        The only place that asks: a question comes after an answer, or when none is shown. What
        was looked for before a later answer is dropped.
        """
        self._turn += 1
        turn = self._turn
        if self._own is None:
            found = await self.call(lambda: (self.controller.question(self.who),))
            if turn != self._turn or self._own is not None:
                return
            if found is None:
                self._unlock("The next question could not be saved. Try again.")
                return
            (self._question,) = found
            if self._question is None:
                self._done = self._version
        self._show_question()

    def _show_question(self) -> None:
        question, hinted = self._question, self._hinted.value
        rows = [] if question is None or not hinted else [question["i"], question["j"]]
        put(
            self._card,
            question=question,
            turn=self._turn,
            own=self._own is not None,
            earlier=self._earlier if self._own is not None else "",
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
        rows = [await self.call(self.controller.find_row, box.value or "") for box in self._named]
        if None in rows:
            return
        if rows[0] == rows[1]:
            ui.notify("Name two different records.", type="negative", position="top")
            return
        self._picked = rows
        await self._ask_own(*rows)

    async def _ask_own(self, i: int, j: int) -> None:
        self._own = (i, j)
        self._question = await self.call(self.controller.pair, i, j)
        self._earlier = await self.call(self.controller.earlier, i, j) or ""
        self._views.set_value(self._asking)
        self._show_question()

    async def _on_back(self) -> None:
        self._own, self._picked = None, []
        await self._next()

    # ---------------------------------------------------------------- keeping up

    async def begin(self) -> None:
        """Ask the first question, then show everything else."""
        await self._next()
        await self.refresh()

    async def refresh(self) -> None:
        """Update the tab; coalesce concurrent requests."""
        if self._refreshing or not self._studio.is_open:
            self._again = True
            return
        self._refreshing = True
        here = self._studio.people
        try:
            turn = self._turn
            state = await self.call(look, self.controller, self.who, here)
            if state is not None and not self._client.is_deleted:
                with self._client:
                    if state.version >= self._version:
                        self._show(state)
                        await self._contradictions.update(state)
                    if turn == self._turn and self._needs_question(state):
                        await self._next()
        finally:
            self._refreshing = False
        if self._again and self._studio.is_open:
            self._again = False
            await self.refresh()

    def _show(self, state: TabState) -> None:
        self._version = state.version
        put(self._card, others=state.others)
        put(self._map, version=state.version)
        self._facts.set_text(state.facts)
        self._clash.set_visibility(bool(state.disputes))
        self._clash.set_text(f"{len(state.disputes)} to settle")
        self._clusters.update(state)
        self._progress.update(state)
        self._history.update(state)
        self._people.update(state)
        self._records.update(state)
        self._guide.set_text(state.guidelines)
        self._guide.set_visibility(bool(state.guidelines))
