"""Panels to work with records and people: records of clusters, people, dialogs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from nicegui import events, ui

from ._clusters import Proposal
from ._controller import Controller
from ._elements import Keys, PeopleList, Preview, RecordList, SetCard, button, put
from ._panels import Person
from ._state import TabState


class RecordsPanel:
    """Records of a cluster as a table or gallery, with corrections of selected ones.

    Parameters
    ----------
    controller : Controller
    person : Person
    undo : callable
        Takes the last step of the person back.
    """

    def __init__(self, controller: Controller, person: Person, undo: Callable[[], Awaitable[str]]):
        self._controller, self._person, self._undo, self._turn = controller, person, undo, 0
        self._list = RecordList()
        put(self._list, clusters=[], version="", note="", turn=0, wanted=None)
        self._list.on("act", self._on_act)
        self._list.on("undo", self._on_undo)

    def update(self, state: TabState) -> None:
        """Show the records of the newest fit."""
        few = [{"number": c["number"], "name": c["name"]} for c in state.clusters]
        put(self._list, clusters=few, version=state.version)

    def open(self, cluster: int | None) -> None:
        """Show the records of a cluster; None: all."""
        self._turn += 1
        put(self._list, wanted={"cluster": cluster, "turn": self._turn})

    async def correct(self, given: dict[str, Any]) -> None:
        """Apply a correction and tell it."""
        rows = [int(row) for row in given["rows"]]
        cluster = None if given["cluster"] is None else int(given["cluster"])
        told = await self._person.call(
            self._controller.correct, str(given["kind"]), rows, cluster, self._person.who
        )
        self.tell("Nothing was changed." if told is None else f"{told}. Undo with Z.")

    def tell(self, note: str) -> None:
        """Show a note below the records."""
        self._turn += 1
        put(self._list, note=note, turn=self._turn)

    async def _on_act(self, event: events.GenericEventArguments) -> None:
        await self.correct(event.args)

    async def _on_undo(self) -> None:
        self.tell(await self._undo())


class SetPanel:
    """Set questions: several records at once, of which the person says which belong together.

    Parameters
    ----------
    controller : Controller
    person : Person
    """

    def __init__(self, controller: Controller, person: Person):
        self._controller, self._person, self._turn = controller, person, 0
        self._card = SetCard()
        put(self._card, card=None, turn=0, note="")
        self._card.on("ask", self._on_ask)
        self._card.on("tell", self._on_tell)

    async def _on_ask(self, event: events.GenericEventArguments) -> None:
        await self._ask(int(event.args["size"]))

    async def _ask(self, size: int, note: str = "") -> None:
        found = await self._person.call(lambda: (self._controller.card(self._person.who, size),))
        self._turn += 1
        put(self._card, card=found[0] if found else None, turn=self._turn, note=note)

    async def _on_tell(self, event: events.GenericEventArguments) -> None:
        groups = [[int(row) for row in group] for group in event.args["groups"]]
        n = await self._person.call(self._controller.tell_groups, groups, self._person.who)
        if n is None:
            self._turn += 1
            put(self._card, turn=self._turn, note="Nothing was saved. Try again.")
            return
        told = f"{n} of these contradict earlier answers." if n else "Saved. Undo with Z."
        await self._ask(int(event.args["size"]), told)


class People:
    """Guidelines, who is there, agreement, and what to review.

    Parameters
    ----------
    controller : Controller
    person : Person
    again : callable
        Shows a pair once more.
    """

    def __init__(
        self,
        controller: Controller,
        person: Person,
        again: Callable[[events.GenericEventArguments], Awaitable[None]],
    ):
        self._controller, self._person = controller, person
        self._list = PeopleList()
        nobody = {"n_shared": 0, "n_agreed": 0}
        put(self._list, guidelines="", people=[], agreement=nobody, review=[], me=person.who)
        self._list.on("guidelines", self._on_guidelines)
        self._list.on("again", again)

    def update(self, state: TabState) -> None:
        """Show who is there and what is to review."""
        put(
            self._list,
            guidelines=state.guidelines,
            people=state.people,
            agreement=state.agreement,
            review=state.review,
            me=self._person.who,
        )

    async def _on_guidelines(self, event: events.GenericEventArguments) -> None:
        await self._person.call(self._controller.notes.set_guidelines, str(event.args["text"]))


async def ask_whether(title: str, proposal: Proposal, parts: list[dict[str, Any]]) -> bool:
    """Show what a merge or split gives, and ask whether to do it."""
    with ui.dialog() as dialog, ui.card().classes("lw-dialog lw-broad"):
        ui.label(title).classes("lw-title").props('role="heading" aria-level="2"')
        ui.label(
            f"There will be {proposal.n_clusters} clusters. Later answers do not change this; "
            "Undo (Z) does."
        ).classes("lw-soft")
        put(Preview(), parts=parts)
        with ui.row():
            act = "Merge" if proposal.said == "same" else "Split"
            button(act, lambda: dialog.submit(True), "lw-main")
            button("Cancel", lambda: dialog.submit(False))
    dialog.props(f'aria-label="{act}"')
    said = await dialog
    if not dialog.is_deleted:  # as it is when the page was closed meanwhile
        dialog.delete()
    return bool(said)


def show_keys() -> None:
    """A dialog with the keys."""
    with ui.dialog(value=True) as dialog, ui.card().classes("lw-dialog"):
        ui.label("Keys").classes("lw-title").props('role="heading" aria-level="2"')
        Keys()
        button("Close", dialog.close)
    dialog.props("aria-label=Keys")
    dialog.on("hide", dialog.delete)
