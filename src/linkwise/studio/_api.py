"""JSON API, for other tools and language models.

Its description is at ``/api/openapi.json``. What the page itself fetches is below ``/view`` and
not part of it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

from fastapi import FastAPI, HTTPException, Query, Request
from fastapi.middleware.gzip import GZipMiddleware
from fastapi.responses import FileResponse, JSONResponse, Response
from pydantic import BaseModel, Field

from linkwise._types import JsonDict
from linkwise._version import __version__
from linkwise.active._refit import Fit

from ._controller import Controller, name_of
from ._exports import EXPORTS
from ._record_pages import Order
from ._replay import ReplayMiddleware

_LONGEST = 200  # letters of the name of a person
_MOST_FIELDS = 200  # sent of a pair at once
_OUT_OF_SPACE = 507  # HTTP: insufficient storage

# The controller of the session that is open; raises if there is none.
Current = Callable[[], Controller]


class Asking(BaseModel):
    """Who is asked."""

    who: str | None = Field(None, max_length=_LONGEST)


class AskingSet(Asking):
    """Who is asked, and about how many records."""

    size: int = Field(8, ge=2, le=12, description="The most records.")


class GivenAnswer(BaseModel):
    """An answer to a question, by row numbers."""

    i: int
    j: int
    said: Literal["same", "different", "unsure"]
    weight: float = Field(1.0, gt=0, le=1e6, description="How much it counts.")
    who: str | None = Field(None, max_length=_LONGEST, description="Who answers.")


class GivenGroups(BaseModel):
    """Which records of a card belong together, by row numbers; about the others nothing is said."""

    groups: list[Annotated[list[int], Field(max_length=12)]] = Field(max_length=12)
    weight: float = Field(1.0, gt=0, le=1e6, description="How much it counts.")
    who: str | None = Field(None, max_length=_LONGEST, description="Who answers.")


class GivenCount(BaseModel):
    """A number of clusters; null if unknown."""

    n_clusters: int | None
    who: str | None = Field(None, max_length=_LONGEST)


class Undo(BaseModel):
    """How many answers of a person to undo."""

    n: int = Field(1, ge=1, le=10_000)
    who: str | None = Field(None, max_length=_LONGEST)


class TakeBack(BaseModel):
    """The answer to retract."""

    id: int
    who: str | None = Field(None, max_length=_LONGEST)


def make_api(current: Current) -> FastAPI:
    """The web application: JSON API, exports, and the data of the page.

    Nothing that asks, computes a fit or writes is a GET, so that no other page can cause it by
    an image or a link.
    """
    app = FastAPI(
        title="linkwise studio",
        version=__version__,
        description="Questions about which records belong together, and what the answers give.",
        openapi_url="/api/openapi.json",
        docs_url=None,  # these pages load their scripts from another host
        redoc_url=None,
    )
    app.add_middleware(GZipMiddleware, minimum_size=2000)

    def file() -> Path | None:
        try:
            return current().session.path
        except ValueError:  # no session is open
            return None

    app.add_middleware(ReplayMiddleware, file=file)
    app.add_exception_handler(ValueError, _wrong)
    app.add_exception_handler(OSError, _not_stored)
    app.add_exception_handler(ImportError, _not_installed)
    _add_interview(app, current)
    _add_results(app, current)
    _add_view(app, current)
    return app


async def _wrong(_: Request, error: Exception) -> Response:
    return JSONResponse({"detail": str(error)}, status_code=422)


async def _not_stored(_: Request, error: Exception) -> Response:
    """A full disk, or a damaged file: nothing was recorded."""
    return JSONResponse({"detail": f"Nothing was recorded: {error}"}, status_code=_OUT_OF_SPACE)


async def _not_installed(_: Request, error: Exception) -> Response:
    return JSONResponse({"detail": str(error)}, status_code=501)


def _add_interview(app: FastAPI, current: Current) -> None:
    @app.post("/api/question")
    def next_question(given: Asking | None = None) -> JsonDict:
        """The next question with both records; null when nothing is left to ask."""
        return {"question": _ask(current(), None if given is None else given.who)}

    @app.post("/api/set-question")
    def next_set(given: AskingSet | None = None) -> JsonDict:
        """The next set question: records to be grouped; null when nothing is left to ask."""
        wanted = AskingSet(who=None, size=8) if given is None else given
        controller = current()
        asked = controller.session.ask_set(wanted.size, who=wanted.who)
        if asked is None:
            return {"set": None}
        return {
            "set": {
                "rows": list(asked.rows),
                "ids": [controller.name(row) for row in asked.rows],
                "records": [controller.records.fields(row) for row in asked.rows],
                "reason": controller.session.reason(asked),
            }
        }

    @app.post("/api/set-answer")
    def answer_set(given: GivenGroups) -> JsonDict:
        """Record which records belong together. It is on disk when this returns.

        What was known already is not stored again, so that a card counts once.
        """
        controller = current()
        clashes = controller.session.tell_set(given.groups, weight=given.weight, who=given.who)
        return {"disputes": [controller.dispute(clash) for clash in clashes]}

    @app.post("/api/answer")
    def answer(given: GivenAnswer) -> JsonDict:
        """Record an answer and return the next question. It is on disk when this returns.

        The same answer of the same person to the same pair counts once. Other requests count once
        if they carry the same ``Idempotency-Key`` header.
        """
        controller = current()
        pair = (given.i, given.j)
        clash = controller.tell(given.said, pair, given.who, given.weight)
        return {
            "dispute": None if clash is None else controller.dispute(clash),
            "question": _ask(controller, given.who),
            "version": controller.session.snapshot().version,
        }

    @app.post("/api/undo")
    def undo(given: Undo) -> JsonDict:
        """Undo the last answers of a person."""
        controller = current()
        undone = controller.session.undo(given.n, who=given.who)
        return {"undone": [controller.answer(one) for one in undone]}

    @app.post("/api/clusters")
    def clusters(given: GivenCount) -> JsonDict:
        """Set the number of clusters and refit; undo reverts it."""
        session = current().session
        session.set_n_clusters(given.n_clusters, who=given.who)
        return {"n_clusters": session.n_clusters}

    @app.post("/api/take-back")
    def retract(given: TakeBack) -> JsonDict:
        """Retract one answer of anybody."""
        current().session.retract(given.id, who=given.who)
        return {"taken_back": given.id}

    @app.get("/api/answers")
    def answers() -> JsonDict:
        """Active answers, and the disputes among them."""
        controller = current()
        now = controller.session.snapshot()
        return {
            "answers": [controller.answer(one) for one in now.answers if one.is_active],
            "disputes": [controller.dispute(one) for one in now.disputes],
        }


def _ask(controller: Controller, who: str | None) -> JsonDict | None:
    """The next question with both records; None when nothing is left to ask."""
    asked = controller.session.ask(who=who)
    if asked is None:
        return None
    return {
        "i": asked.i,
        "j": asked.j,
        "ids": controller.names(*asked),
        "records": [controller.records.fields(row) for row in asked],
        "reason": controller.session.reason(asked),
    }


def _add_results(app: FastAPI, current: Current) -> None:
    @app.get("/api/progress")
    def progress() -> JsonDict:
        """How far the session is, and whether to stop."""
        now = current().session.snapshot()
        n_violated = None if now.fit is None else len(now.violated)
        return {**now.progress.to_dict(), "n_violated": n_violated, "n_new": len(now.new)}

    @app.get("/api/labels")
    def labels() -> JsonDict:
        """The cluster of every row in the newest fit; 409 before the first (POST /api/refit)."""
        controller = current()
        fit = controller.session.latest
        if fit is None:
            raise HTTPException(409, "there is no fit yet; POST /api/refit makes one")
        return _labels(controller, fit)

    @app.post("/api/refit")
    def refit() -> JsonDict:
        """Refit with all answers so far; the cluster of every row."""
        controller = current()
        return _labels(controller, controller.session.refit())

    @app.post("/api/export/{name}")
    def export(name: str) -> Response:
        """Data with clusters, constraints, report, map, model, or Python code."""
        if name not in EXPORTS:
            raise HTTPException(404, f"no export {name!r}; there are {', '.join(EXPORTS)}")
        export = EXPORTS[name]
        told = {"content-disposition": f'attachment; filename="{name}"'}
        return Response(export.make(current()), media_type=export.media_type, headers=told)


def _labels(controller: Controller, fit: Fit) -> JsonDict:
    given = controller.session.snapshot().cluster_names
    names = {c: name_of(c, given) for c in sorted(set(fit.labels.tolist())) if c >= 0}
    return {
        "ids": [controller.name(row) for row in range(len(fit.labels))],
        "labels": fit.labels.tolist(),
        "names": names,
        "n_answers": fit.n_answers,
    }


def _add_view(app: FastAPI, current: Current) -> None:
    """Endpoints of the page: map, records, images."""

    @app.get("/view/points", include_in_schema=False)
    def points(kind: str = "PCA") -> JsonDict:
        return current().points(kind)

    @app.get("/view/picture", include_in_schema=False)
    def picture(kind: str = "PCA") -> JsonDict:
        return current().picture(kind)

    @app.get("/view/record/{row}", include_in_schema=False)
    def record(row: int) -> JsonDict:
        controller = current()
        _check_row(controller, row)
        return {"name": controller.name(row), "fields": controller.records.fields(row)}

    @app.get("/view/records", include_in_schema=False)
    def records(
        cluster: int | None = None,
        order: Order = "typical",
        search: Annotated[str, Query(max_length=_LONGEST)] = "",
        start: Annotated[int, Query(ge=0)] = 0,
    ) -> JsonDict:
        return current().pages.page(cluster, order, search, start)

    @app.get("/view/fields", include_in_schema=False)
    def fields(i: int, j: int, search: Annotated[str, Query(max_length=_LONGEST)] = "") -> JsonDict:
        controller = current()
        for row in (i, j):
            _check_row(controller, row)
        return {"fields": controller.fields(i, j, _MOST_FIELDS, search)}

    @app.get("/view/image/{row}", include_in_schema=False)
    def image(row: int) -> FileResponse:
        controller = current()
        _check_row(controller, row)
        path = controller.records.image(row)
        if path is None:
            raise HTTPException(404, "this record has no image below the folder")
        return FileResponse(path)


def _check_row(controller: Controller, row: int) -> None:
    if not 0 <= row < controller.session.X.shape[0]:
        raise HTTPException(404, f"there is no row {row}")
