"""Panels of the page: clusters, history, progress, contradictions, export."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any, Protocol

from nicegui import events, ui

from linkwise._types import JsonDict
from linkwise.active import Progress

from ._clusters import Proposal
from ._controller import LONGEST_NAME, Controller
from ._elements import ClusterList, FileList, HistoryList, MeterBar, Pair, Trend, button, put
from ._exports import EXPORTS
from ._model_choice import Choice
from ._state import TabState

_STOP_BELOW = 0.01  # share of labels that changes, below which one may stop


class Person(Protocol):
    """The person at a tab."""

    who: str

    async def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run a function in a thread; None after an error, which is shown."""

    async def confirm(self, title: str, proposal: Proposal, parts: list[JsonDict]) -> bool:
        """Show what a merge or split gives, and ask whether to do it."""


class Clusters:
    """Number, sizes, typical records and traits of clusters; rename, merge, split.

    Parameters
    ----------
    controller : Controller
    person : Person
    show : callable
        Shows the records of a cluster.
    move : callable
        Moves rows that were dropped on a cluster.
    """

    def __init__(
        self,
        controller: Controller,
        person: Person,
        show: Callable[[int], None],
        move: Callable[[JsonDict], Awaitable[None]],
    ):
        self._controller, self._person = controller, person
        self._list = ClusterList()
        put(self._list, clusters=[], count=None, groups=0, choice=asdict(Choice()))
        put(self._list, most=controller.session.X.shape[0], longest=LONGEST_NAME)
        for name in ("rename", "merge", "split", "count", "choose", "stop", "use", "note"):
            self._list.on(name, getattr(self, f"_on_{name}"))
        self._list.on("records", lambda event: show(int(event.args["number"])))
        self._list.on("move", lambda event: move(event.args))

    def update(self, state: TabState) -> None:
        """Show the clusters."""
        put(
            self._list,
            clusters=state.clusters,
            count=state.progress.n_clusters,
            groups=state.progress.n_groups,
            choice=asdict(state.choice),
        )

    async def _on_rename(self, event: events.GenericEventArguments) -> None:
        await self._person.call(
            self._controller.rename, int(event.args["number"]), str(event.args["name"])
        )

    async def _on_note(self, event: events.GenericEventArguments) -> None:
        number, text = int(event.args["number"]), str(event.args["text"])
        await self._person.call(self._controller.notes.set_cluster, number, text)

    async def _on_count(self, event: events.GenericEventArguments) -> None:
        await self._set_count(event.args["n"])

    async def _on_use(self, event: events.GenericEventArguments) -> None:
        await self._set_count(event.args["n"])
        await self._on_stop()

    async def _set_count(self, n: Any) -> None:
        tell = self._controller.session.set_n_clusters
        await self._person.call(lambda: tell(n, who=self._person.who))

    async def _on_choose(self) -> None:
        await self._person.call(self._controller.model_choice.start)

    async def _on_stop(self) -> None:
        await self._person.call(self._controller.model_choice.stop)

    async def _on_split(self, event: events.GenericEventArguments) -> None:
        await self._propose(int(event.args["number"]), None)

    async def _on_merge(self, event: events.GenericEventArguments) -> None:
        await self._propose(int(event.args["number"]), int(event.args["other"]))

    async def _propose(self, number: int, other: int | None) -> None:
        """Preview a merge or split."""
        proposal = await self._person.call(self._controller.proposal, number, other)
        if proposal is None:
            return
        if not proposal.pairs:
            ui.notify("All records of this cluster are alike.", position="top")
            return
        shown = await self._person.call(
            lambda: (self._title(proposal), self._controller.preview(proposal))
        )
        if shown is not None and await self._person.confirm(shown[0], proposal, shown[1]):
            await self._person.call(self._controller.say, proposal, self._person.who)

    def _title(self, proposal: Proposal) -> str:
        names = [self._controller.cluster_name(number) for number in proposal.clusters]
        return f"Merge {names[0]} with {names[1]}?" if len(names) > 1 else f"Split {names[0]}?"


class History:
    """Log entries with person and time; everybody may undo any of them.

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
        self._list = HistoryList()
        put(self._list, said=[], more=0)
        self._list.on("again", again)
        self._list.on("back", self._on_back)

    def update(self, state: TabState) -> None:
        """Show the log entries."""
        put(self._list, said=state.history, more=state.n_said - len(state.history))

    async def _on_back(self, event: events.GenericEventArguments) -> None:
        number, count = int(event.args["id"]), bool(event.args["count"])
        await self._person.call(self._controller.retract, number, count, self._person.who)


class ProgressPanel:
    """Answers, violations, stability, the hint when to stop, and a small chart."""

    def __init__(self, controller: Controller, person: Person):
        self._controller, self._person = controller, person
        with ui.element("div").classes("lw-progress"):
            with ui.element("div"):
                self._hint = ui.label().classes("lw-hint")
                self._rest = ui.label().classes("lw-soft")
            self._button = button("Update the clusters now", self._refit)
        self._meter = MeterBar()
        with ui.element("div").classes("lw-numbers"):
            self._numbers = {name: self._number(name) for name in _NUMBERS}
        self._trend = Trend()
        put(self._trend, rounds=[], limit=_STOP_BELOW)

    def _number(self, name: str) -> ui.label:
        with ui.element("div").classes("lw-number"):
            with ui.element("b"):
                number = ui.label("0")
            ui.label(name).classes("lw-soft")
        return number

    async def _refit(self) -> None:
        self._button.props("loading")
        await self._person.call(self._controller.session.refit)
        self._button.props(remove="loading")

    def update(self, state: TabState) -> None:
        """Show the progress."""
        now = state.progress
        # The meter below says how many were guessed; the headline is what follows from it.
        follows = now.hint.removeprefix(str(now.meter)).lstrip(":, ")
        self._hint.set_text(_sentence(follows or now.hint))
        self._hint.classes(remove="lw-stop lw-warn")
        self._hint.classes("lw-warn" if now.n_disputed else "lw-stop" if now.stop else "")
        self._rest.set_text(_remaining(now))
        put(self._meter, meter=now.meter._asdict(), pace=_pace(state, self._person.who))
        violated = "…" if state.n_violated is None else f"{state.n_violated:,}"
        values = (now.n_same, now.n_different, now.n_unsure, violated, now.n_undone)
        for label, value in zip(self._numbers.values(), values, strict=True):
            label.set_text(str(value))
        put(self._trend, rounds=state.rounds)


_NUMBERS = ("same", "different", "unsure", "violated", "undone")


def _remaining(now: Progress) -> str:
    """Coverage in words."""
    return f"{now.n_covered:,} of {now.n_rows:,} records are decided by answers."


def _pace(state: TabState, who: str) -> float | None:
    """Answers per minute of a person."""
    return next((one["per_minute"] for one in state.people if one["name"] == who), None)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."


class Contradictions:
    """Contradicting answers with their chain; the person retracts one."""

    def __init__(self, controller: Controller, person: Person):
        self._controller, self._person = controller, person
        self._later: set[int] = set()
        self._state: TabState | None = None
        self._shown: int | None = None
        with ui.dialog() as self._dialog, ui.card().classes("lw-dialog lw-broad") as self._card:
            pass
        self._dialog.props("aria-label='Contradiction'")
        self._dialog.on("hide", self._hidden)

    async def update(self, state: TabState) -> None:
        """Open for a new contradiction; close when it is resolved elsewhere."""
        self._state = state
        ids = [dispute["answers"][-1]["id"] for dispute in state.disputes]
        if self._shown is not None and self._shown not in ids:
            self._dialog.close()
            self._shown = None
        fresh = [place for place, number in enumerate(ids) if number not in self._later]
        if self._shown is None and fresh:
            await self._open(state.disputes[fresh[0]])

    async def show(self) -> None:
        """Open the first contradiction, including postponed ones."""
        self._later.clear()
        if self._state is not None and self._state.disputes:
            await self._open(self._state.disputes[0])

    async def _open(self, dispute: JsonDict) -> None:
        self._shown = number = dispute["answers"][-1]["id"]
        claims = _by_pair(dispute["answers"])
        pairs = await self._person.call(lambda: [self._controller.pair(*rows) for rows in claims])
        if self._shown != number or pairs is None:  # resolved meanwhile, or shown as a problem
            self._shown = None if pairs is None else self._shown
            return
        self._card.clear()
        with self._card:
            title = ui.label("These answers cannot all be right").classes("lw-title")
            title.props('role="heading" aria-level="2"')
            ui.label("Look at the records and undo the answer that is wrong.").classes("lw-soft")
            for answers, pair in zip(claims.values(), pairs, strict=True):
                for answer in answers:
                    self._claim(answer, last=answer is dispute["answers"][-1])
                put(Pair(), pair=pair)
            button("Decide later", self._dialog.close)
        self._dialog.open()

    def _claim(self, answer: JsonDict, last: bool) -> None:
        a, b = answer["names"]
        told = "are the same" if answer["said"] == "same" else "are different"
        with ui.element("div").classes("lw-claim"):
            with ui.element("div"):
                ui.label(f"{a} and {b} {told}").style("font-weight: 600")
                newest = "the newest answer, " if last else ""
                ui.label(f"{newest}by {answer['who']}").classes("lw-soft")
            button("Undo this answer", lambda: self._take_back(answer["id"]), "lw-warn-button")

    async def _take_back(self, number: int) -> None:
        self._dialog.close()
        await self._person.call(self._controller.retract, number, False, self._person.who)

    def _hidden(self, _: events.GenericEventArguments) -> None:
        if self._shown is not None:
            self._later.add(self._shown)
        self._shown = None


def _by_pair(answers: list[JsonDict]) -> dict[tuple[int, int], list[JsonDict]]:
    """Answers of a chain by the records that they are about."""
    found: dict[tuple[int, int], list[JsonDict]] = {}
    for answer in answers:
        i, j = sorted((answer["i"], answer["j"]))
        found.setdefault((i, j), []).append(answer)
    return found


class TakeHome:
    """Files to download, and Python code that reproduces the clusters."""

    def __init__(self) -> None:
        files = [
            {"name": name, "group": one.group, "title": one.title, "about": one.about}
            for name, one in EXPORTS.items()
        ]
        put(FileList(), files=files)
