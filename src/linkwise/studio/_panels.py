"""The panels of the page: clusters, progress, contradictions, take away."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from nicegui import events, ui

from . import _take_away as take_away
from ._clusters import Cluster
from ._state import State
from ._work import LONGEST_NAME, Work, colour

Call = Callable[..., Awaitable[Any]]
_MOST_SHOWN = 60  # clusters
_STOP_BELOW = 0.01  # share of labels that changes, below which one may stop


def button(
    text: str, on_click: Callable[..., Any] | None = None, look: str = "lw-button"
) -> ui.button:
    """A button in the studio's own colours."""
    return ui.button(text, on_click=on_click, color=None).classes(look).props("no-caps dense")


class Trend(ui.element, component="trend.js"):
    """A small chart of the labels changed."""


class Clusters:
    """Sizes, typical records, what sets clusters apart; rename, merge, split.

    Parameters
    ----------
    work : Work
    call : callable
        Runs a function in a thread.
    """

    def __init__(self, work: Work, call: Call):
        self._work, self._call = work, call
        self._shown: Any = ()
        self._editing = False
        self._box = ui.element("div")
        with self._box:
            ui.label("The first clusters are being looked for…").classes("lw-soft")

    def update(self, state: State) -> None:
        """Show the clusters, unless somebody is writing a name just now."""
        key = (state.clusters, state.names)
        if not state.clusters or key == self._shown or self._editing:
            return
        self._shown = key
        self._box.clear()
        total = sum(cluster.size for cluster in state.clusters)
        with self._box:
            for cluster in state.clusters[:_MOST_SHOWN]:
                self._row(cluster, total, state)
            if len(state.clusters) > _MOST_SHOWN:
                ui.label(f"… and {len(state.clusters) - _MOST_SHOWN} more").classes("lw-soft")

    def _row(self, cluster: Cluster, total: int, state: State) -> None:
        number = cluster.number
        with ui.element("div").classes("lw-cluster").mark(f"cluster-{number}"):
            ui.element("div").classes("lw-swatch").style(f"background: {colour(number)}")
            name = ui.input(value=self._work_name(number, state)).props(
                f'dense maxlength={LONGEST_NAME} aria-label="name of cluster {number + 1}"'
            )
            name.on("focus", lambda: self._edit(True))
            name.on("blur", lambda: self._rename(number, name.value))
            name.on("keydown.enter", lambda: self._rename(number, name.value))
            with ui.element("div").classes("lw-about"):
                share = cluster.size / total if total else 0.0
                ui.label(f"{cluster.size:,} records ({share:.0%})")
                for trait in cluster.traits:
                    ui.label(trait)
                typical = ", ".join(self._work.name(row) for row in cluster.typical)
                ui.label(f"typical: {typical}").classes("lw-soft")
            with ui.element("div").classes("lw-buttons"):
                self._buttons(cluster, state)

    def _work_name(self, number: int, state: State) -> str:
        return state.names.get(number, f"cluster {number + 1}")

    def _buttons(self, cluster: Cluster, state: State) -> None:
        others = [other for other in state.clusters if other is not cluster and other.size]
        if others:
            with button("Merge"), ui.menu():
                for other in others:
                    ui.menu_item(
                        f"with {self._work_name(other.number, state)}",
                        lambda o=other: self._propose(cluster.number, o.number),
                    )
        if cluster.size > 1:
            button("Split", lambda: self._propose(cluster.number, None))

    def _edit(self, editing: bool) -> None:
        self._editing = editing

    async def _rename(self, number: int, name: str | None) -> None:
        self._edit(False)
        name = (name or "").strip()
        if name != self._work.cluster_name(number):
            await self._call(self._work.rename, number, name)

    async def _propose(self, number: int, other: int | None) -> None:
        """Say what a merge or split means before it is done."""
        pairs = await self._call(self._work.proposal, number, other)
        if not pairs:
            ui.notify("All records of this cluster are alike.", position="top")
            return
        said = "different" if other is None else "same"
        title = (
            f"Split {self._work.cluster_name(number)}?"
            if other is None
            else f"Merge {self._work.cluster_name(number)} with {self._work.cluster_name(other)}?"
        )
        with ui.dialog() as dialog, ui.card().classes("lw-dialog"):
            ui.label(title).classes("lw-title")
            ui.label("This is what you say with it. You can undo each answer with Z.")
            for i, j in pairs:
                told = "belong together" if said == "same" else "are different"
                ui.label(f"{self._work.name(i)} and {self._work.name(j)} {told}")
            with ui.row():
                button("Yes, say so", lambda: dialog.submit(True), "lw-main")
                button("No", lambda: dialog.submit(False))
        if await dialog:
            await self._call(self._work.say, pairs, said)
        dialog.delete()


class ProgressPanel:
    """Answers, violations, stability, the hint when to stop, and a small chart."""

    def __init__(self, work: Work, call: Call):
        self._work, self._call = work, call
        with ui.element("div").classes("lw-progress"):
            with ui.element("div"):
                self._hint = ui.label().classes("lw-hint")
                self._rest = ui.label().classes("lw-soft")
                with ui.element("div").classes("lw-numbers"):
                    self._numbers = {name: self._number(name) for name in _NUMBERS}
                self._button = button("Update the clusters now", self._refit)
                self._button.style("margin-top: 8px")
            self._trend = Trend()
            self._trend.props["changes"] = []
            self._trend.props["limit"] = _STOP_BELOW

    def _number(self, name: str) -> ui.label:
        with ui.element("div").classes("lw-number"):
            with ui.element("b"):
                number = ui.label("0")
            ui.label(name).classes("lw-soft")
        return number

    async def _refit(self) -> None:
        self._button.props("loading")
        await self._call(self._work.session.refit)
        self._button.props(remove="loading")

    def update(self, state: State) -> None:
        """Show how far the session is."""
        now = state.progress
        self._hint.set_text(_sentence(now.hint))
        self._hint.classes(remove="lw-stop lw-warn")
        self._hint.classes("lw-warn" if now.n_disputed else "lw-stop" if now.stop else "")
        self._rest.set_text(
            f"{now.n_placed:,} of {now.n_rows:,} records are placed by answers; about "
            f"{now.expected_remaining:,} questions would place all. It is good long before."
        )
        violated = "…" if state.n_violated is None else f"{state.n_violated:,}"
        values = (now.n_same, now.n_different, now.n_unsure, violated, now.n_undone)
        for label, value in zip(self._numbers.values(), values, strict=True):
            label.set_text(str(value))
        if self._trend.props["changes"] != state.changes:
            self._trend.props["changes"] = list(state.changes)
            self._trend.update()


_NUMBERS = ("same", "different", "unsure", "not kept", "taken back")


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."


class Contradictions:
    """Answers that cannot all be right, with their chain; the person takes one back."""

    def __init__(self, work: Work, call: Call):
        self._work, self._call = work, call
        self._later: set[int] = set()
        self._state: State | None = None
        self._shown: int | None = None
        with ui.dialog() as self._dialog, ui.card().classes("lw-dialog") as self._card:
            pass
        self._dialog.props("aria-label='Contradiction'")
        self._dialog.on("hide", self._hidden)

    def update(self, state: State) -> None:
        """Open for a new contradiction, and close when it is settled elsewhere."""
        self._state = state
        ids = [dispute["answers"][-1]["id"] for dispute in state.disputes]
        if self._shown is not None and self._shown not in ids:
            self._dialog.close()
            self._shown = None
        fresh = [place for place, number in enumerate(ids) if number not in self._later]
        if self._shown is None and fresh:
            self._open(state.disputes[fresh[0]])

    def show(self) -> None:
        """Open the first contradiction, also one that was put off."""
        self._later.clear()
        if self._state is not None and self._state.disputes:
            self._open(self._state.disputes[0])

    def _open(self, dispute: dict[str, Any]) -> None:
        self._shown = dispute["answers"][-1]["id"]
        self._card.clear()
        with self._card:
            ui.label("These answers cannot all be right").classes("lw-title")
            ui.label("Follow the chain and take back the answer that is wrong.").classes("lw-soft")
            for answer in dispute["answers"]:
                self._claim(answer, last=answer is dispute["answers"][-1])
            button("Later", self._dialog.close)
        self._dialog.open()

    def _claim(self, answer: dict[str, Any], last: bool) -> None:
        a, b = answer["names"]
        told = "are the same" if answer["said"] == "same" else "are different"
        with ui.element("div").classes("lw-claim"):
            with ui.element("div"):
                ui.label(f"{a} and {b} {told}").style("font-weight: 600")
                when = answer["at"].replace("T", " ")[:16]
                newest = ", the newest" if last else ""
                ui.label(f"{answer['who']}, {when} UTC{newest}").classes("lw-soft")
            button("Take back", lambda: self._take_back(answer["id"]), "lw-warn-button")

    async def _take_back(self, number: int) -> None:
        self._dialog.close()
        await self._call(self._work.session.take_back, number)

    def _hidden(self, _: events.GenericEventArguments) -> None:
        if self._shown is not None:
            self._later.add(self._shown)
        self._shown = None


class TakeAway:
    """Files to keep, and the lines of Python that give the same clusters again."""

    def __init__(self, work: Work, call: Call):
        self._work, self._call = work, call
        with ui.element("div").classes("lw-buttons"):
            for text, name in _FILES.items():
                link = ui.link(text, f"/api/export/{name}").classes("lw-button")
                link.props(f'download="{name}"')
            button("Show the Python lines", self._show)
        ui.label("Files are made with all answers so far.").classes("lw-soft")
        self._code = ui.label().classes("lw-code")
        self._code.set_visibility(False)

    async def _show(self) -> None:
        lines = await self._call(take_away.python_lines, self._work)
        if lines is not None:
            self._code.set_text(lines)
            self._code.set_visibility(True)


_FILES = {
    "Labels (CSV)": "labels.csv",
    "Constraints (CSV)": "constraints.csv",
    "Report (HTML)": "report.html",
    "Python file": "reproduce.py",
}
