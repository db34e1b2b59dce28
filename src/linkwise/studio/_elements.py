"""Elements of the page: one component of JavaScript each, and small helpers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from nicegui import ui

_WEB = Path(__file__).parent / "web"
_STYLE = (_WEB / "style.css").read_text("utf-8")
_MODULES = {"linkwise": str(_WEB)}  # import ... from "linkwise/lib/..."


def add_style() -> None:
    """Add the studio's looks to the page."""
    ui.add_head_html(f"<style>{_STYLE}</style>")


def put(element: ui.element, **props: object) -> None:
    """Update properties of an element; send only what differs."""
    changed = {name: value for name, value in props.items() if element.props.get(name) != value}
    if changed:
        element.props.update(changed)
        element.update()


def button(
    text: str, on_click: Callable[..., Any] | None = None, look: str = "lw-button"
) -> ui.button:
    """A button in the studio's own colors."""
    return ui.button(text, on_click=on_click, color=None).classes(look).props("no-caps dense")


class Card(ui.element, component="web/card.js", esm=_MODULES):
    """The question."""


class Map(ui.element, component="web/map.js"):
    """The map."""


class Trend(ui.element, component="web/trend.js"):
    """Small charts over the refits."""


class ClusterList(ui.element, component="web/clusters.js", esm=_MODULES):
    """The clusters."""


class HistoryList(ui.element, component="web/history.js"):
    """Log entries."""


class RecordList(ui.element, component="web/records.js", esm=_MODULES):
    """Records of a cluster."""


class MeterBar(ui.element, component="web/meter.js", esm=_MODULES):
    """How many of the last answers would have been guessed."""


class SetCard(ui.element, component="web/set.js", esm=_MODULES):
    """A set question."""


class Pair(ui.element, component="web/pair.js", esm=_MODULES):
    """Two records in a dialog."""


class Preview(ui.element, component="web/preview.js", esm=_MODULES):
    """What will be together."""


class Keys(ui.element, component="web/keys.js", esm=_MODULES):
    """The keys."""


class PeopleList(ui.element, component="web/people.js", esm=_MODULES):
    """Several people."""


class FileList(ui.element, component="web/files.js", esm=_MODULES):
    """Files to take home."""


class StartForm(ui.element, component="web/start.js", esm=_MODULES):
    """The choice of data, roles of columns, number of clusters."""
