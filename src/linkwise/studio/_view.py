"""Endpoints of the page, below ``/view``: its state, the map, records, and what people do there.

They are no part of the JSON API. A GET never changes the session; whoever asks or writes names
the person in the body.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Literal

from fastapi import FastAPI, HTTPException, Query
from fastapi.responses import FileResponse
from pydantic import BaseModel, Field

from linkwise._types import JsonDict

from ._controller import Controller
from ._record_pages import PAGE, Order
from ._state import look

LONGEST = 200  # characters of a person's name, an id or a search

# The controller of the session that is open; raises if there is none.
Current = Callable[[], Controller]
_Text = Annotated[str, Field(max_length=4_000)]
_Rows = list[int]


class Asking(BaseModel):
    """Name of the annotator."""

    who: str | None = Field(None, max_length=LONGEST)


class PageAnswer(Asking):
    """An answer to the question that the page showed; `again` replaces an earlier answer."""

    i: int
    j: int
    said: Literal["same", "different", "unsure"]
    again: bool = False


class CardSize(Asking):
    """Number of records of a card."""

    size: int = Field(8, ge=2, le=12)


class Wanted(BaseModel):
    """Which records are shown; `only_rows` returns the numbers of all of them."""

    cluster: int | None = None
    order: Order = "typical"
    search: str = Field("", max_length=LONGEST)
    like: int | None = None
    among: _Rows | None = None
    start: int = Field(0, ge=0)
    only_rows: bool = False


class Correcting(Asking):
    """What is done to selected rows."""

    kind: str
    rows: _Rows
    cluster: int | None = None


class Chosen(Asking):
    """Two clusters to merge, or one to split; `stamp` is that of the preview."""

    clusters: list[int] = Field(min_length=1, max_length=2)
    stamp: int = 0


class Named(BaseModel):
    """A cluster and its name."""

    number: int
    name: _Text


class Note(BaseModel):
    """A note on a cluster or a pair; the guidelines have no key."""

    kind: Literal["cluster", "pair", "guidelines"]
    key: str = Field("", max_length=LONGEST)
    text: _Text


class Retracted(Asking):
    """An entry of the history."""

    id: int
    count: bool = False


class Two(BaseModel):
    """The ids of two records."""

    names: list[str] = Field(min_length=2, max_length=2)


def add_view(app: FastAPI, current: Current, here: Callable[[], Sequence[str]]) -> None:
    """Add the endpoints; `here` lists the people with an open page."""
    _add_state(app, current, here)
    _add_records(app, current)
    _add_questions(app, current)
    _add_clusters(app, current)


def _add_state(app: FastAPI, current: Current, here: Callable[[], Sequence[str]]) -> None:
    @app.get("/view/state", include_in_schema=False)
    def state(who: Annotated[str, Query(max_length=LONGEST)] = "") -> JsonDict:
        return look(current(), who, here())

    @app.get("/view/points", include_in_schema=False)
    def points() -> JsonDict:
        return {"points": current().map.points()}

    @app.get("/view/picture", include_in_schema=False)
    def picture() -> JsonDict:
        controller = current()
        return controller.map.picture(controller.session.snapshot())


def _add_records(app: FastAPI, current: Current) -> None:
    @app.post("/view/records", include_in_schema=False)
    def records(wanted: Wanted) -> JsonDict:
        controller = current()
        controller.check_rows(*(wanted.among or ()))
        if wanted.like is not None:
            controller.check_rows(wanted.like)
        rows = controller.pages.rows(
            wanted.cluster, wanted.order, wanted.search, wanted.like, wanted.among
        )
        return {"rows": rows.tolist()} if wanted.only_rows else controller.pages.page(
            rows, wanted.start
        )  # fmt: skip

    @app.get("/view/record/{row}", include_in_schema=False)
    def record(row: int) -> JsonDict:
        controller = current()
        controller.check_rows(row)
        return controller.pages.record(row)

    @app.get("/view/image/{row}", include_in_schema=False)
    def image(row: int) -> FileResponse:
        controller = current()
        controller.check_rows(row)
        path = controller.records.image(row)
        if path is None:
            raise HTTPException(404, "this record has no image below the folder")
        return FileResponse(path, headers={"cache-control": "private, max-age=3600"})


def _add_questions(app: FastAPI, current: Current) -> None:
    def reply(controller: Controller, who: str | None) -> JsonDict:
        """The next question, and the version of the state that it belongs to."""
        question = controller.questions.next(who)
        return {"question": question, "version": controller.session.snapshot().version}

    @app.post("/view/question", include_in_schema=False)
    def question(asking: Asking) -> JsonDict:
        return reply(current(), asking.who)

    @app.post("/view/answer", include_in_schema=False)
    def answer(given: PageAnswer) -> JsonDict:
        controller, pair = current(), (given.i, given.j)
        controller.questions.answer(given.said, pair, given.who, replace=given.again)
        return reply(controller, given.who)

    @app.post("/view/card", include_in_schema=False)
    def card(asking: CardSize) -> JsonDict:
        return {"card": current().questions.card(asking.who, asking.size)}

    @app.post("/view/release", include_in_schema=False)
    def release(asking: Asking) -> JsonDict:
        current().session.ask(0, who=asking.who)
        return {}

    @app.post("/view/retract", include_in_schema=False)
    def retract(given: Retracted) -> JsonDict:
        current().questions.retract(given.id, given.count, given.who)
        return {}

    @app.post("/view/find", include_in_schema=False)
    def find(two: Two) -> JsonDict:
        i, j = (current().find_row(name) for name in two.names)
        if i == j:
            raise ValueError("Name two different records.")
        return {"pair": [i, j]}

    @app.get("/view/pair", include_in_schema=False)
    def pair(i: int, j: int) -> JsonDict:
        current().check_rows(i, j)
        return current().questions.pair(i, j)

    @app.get("/view/fields", include_in_schema=False)
    def fields(i: int, j: int, search: Annotated[str, Query(max_length=LONGEST)] = "") -> JsonDict:
        current().check_rows(i, j)
        return {"fields": current().questions.fields(i, j, PAGE, search)}


def _add_clusters(app: FastAPI, current: Current) -> None:
    @app.post("/view/rename", include_in_schema=False)
    def rename(named: Named) -> JsonDict:
        current().session.rename(named.number, named.name)
        return {}

    @app.post("/view/note", include_in_schema=False)
    def note(given: Note) -> JsonDict:
        notes = current().notes
        if given.kind == "guidelines":
            notes.set_guidelines(given.text)
        else:
            notes.write(given.kind, given.key, given.text)
        return {}

    @app.post("/view/correct", include_in_schema=False)
    def correct(given: Correcting) -> JsonDict:
        controller = current()
        controller.check_rows(*given.rows)
        done = controller.corrections.correct(given.kind, given.rows, given.cluster, given.who)
        return {"done": done}

    @app.post("/view/preview", include_in_schema=False)
    def preview(chosen: Chosen) -> JsonDict:
        return current().corrections.preview(chosen.clusters)

    @app.post("/view/apply", include_in_schema=False)
    def apply(chosen: Chosen) -> JsonDict:
        current().corrections.apply(chosen.clusters, chosen.stamp, chosen.who)
        return {}

    @app.post("/view/choose", include_in_schema=False)
    def choose() -> JsonDict:
        current().choice.start()
        return {}

    @app.post("/view/choose/stop", include_in_schema=False)
    def stop_choosing() -> JsonDict:
        current().choice.stop()
        return {}
