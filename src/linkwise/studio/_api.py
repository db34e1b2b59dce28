"""JSON API, for other tools and language models, described at ``/api/openapi.json``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from errno import ENOSPC
from pathlib import Path
from typing import Annotated, Literal

from fastapi import FastAPI, HTTPException, Request
from fastapi.middleware.gzip import GZipMiddleware
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

from linkwise._types import JsonDict
from linkwise._version import __version__

from ._clusters import name_of
from ._controller import Controller
from ._exports import EXPORTS
from ._replay import ReplayMiddleware
from ._view import LONGEST, Asking, Current, add_view


class NoSession(ValueError):
    """There is no open session."""


class AskingSet(Asking):
    """Name of the annotator, and how many records to ask about."""

    size: int = Field(8, ge=2, le=12, description="The most records.")


class GivenAnswer(BaseModel):
    """An answer to a question, by row numbers."""

    i: int
    j: int
    said: Literal["same", "different", "unsure"]
    weight: float = Field(1.0, gt=0, le=1e6, description="Weight of the answer.")
    who: str | None = Field(None, max_length=LONGEST, description="Name of the annotator.")


class GivenGroups(BaseModel):
    """Groups of records of a card, by row numbers; a record in no group stays open."""

    groups: list[Annotated[list[int], Field(max_length=12)]] = Field(max_length=12)
    weight: float = Field(1.0, gt=0, le=1e6, description="Weight of the answer.")
    who: str | None = Field(None, max_length=LONGEST, description="Name of the annotator.")


class GivenCount(BaseModel):
    """A number of clusters; null if unknown."""

    n_clusters: int | None
    who: str | None = Field(None, max_length=LONGEST)


class Undo(BaseModel):
    """How many answers of a person to undo."""

    n: int = Field(1, ge=1, le=10_000)
    who: str | None = Field(None, max_length=LONGEST)


class TakeBack(BaseModel):
    """The answer to retract."""

    id: int
    who: str | None = Field(None, max_length=LONGEST)


def make_api(current: Current, here: Callable[[], Sequence[str]]) -> FastAPI:
    """The web application: JSON API, exports, and the endpoints of the page.

    A GET never asks, fits or writes, so that no other page can cause that by an image or a link.
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
            return current().session.snapshot().path
        except NoSession:
            return None

    app.add_middleware(ReplayMiddleware, file=file)
    app.add_exception_handler(ValueError, _wrong)
    app.add_exception_handler(OSError, _not_stored)
    app.add_exception_handler(ImportError, _not_installed)
    _add_interview(app, current)
    _add_results(app, current)
    add_view(app, current, here)
    return app


async def _wrong(request: Request, error: Exception) -> Response:
    if isinstance(error, NoSession) and request.url.path.startswith("/view/"):
        return Response(status_code=204)  # the session was closed; the page reloads in a moment
    return JSONResponse({"detail": str(error)}, status_code=422)


async def _not_stored(_: Request, error: Exception) -> Response:
    """507: a full disk or a damaged file; nothing was recorded."""
    is_full = isinstance(error, OSError) and (error.errno == ENOSPC or "full" in str(error))
    hint = " The disk is full: free some space, then try again." if is_full else ""
    return JSONResponse({"detail": f"Nothing was recorded: {error}.{hint}"}, status_code=507)


async def _not_installed(_: Request, error: Exception) -> Response:
    return JSONResponse({"detail": str(error)}, status_code=501)


def _add_interview(app: FastAPI, current: Current) -> None:
    @app.post("/api/question")
    def next_question(given: Asking | None = None) -> JsonDict:
        """The next question with both records; null when nothing is left to ask."""
        who = None if given is None else given.who
        return {"question": current().questions.next_for_programs(who)}

    @app.post("/api/set-question")
    def next_set(given: AskingSet | None = None) -> JsonDict:
        """The next set question: records to be grouped; null when nothing is left to ask."""
        wanted = AskingSet(who=None, size=8) if given is None else given
        return {"set": current().questions.card(wanted.who, wanted.size)}

    @app.post("/api/set-answer")
    def answer_set(given: GivenGroups) -> JsonDict:
        """Record which records belong together. It is on disk when this returns.

        Entailed answers are not stored again, so that a card counts once.
        """
        controller = current()
        clashes = controller.session.tell(given.groups, weight=given.weight, who=given.who)
        return {"disputes": [controller.questions.dispute(clash) for clash in clashes]}

    @app.post("/api/answer")
    def answer(given: GivenAnswer) -> JsonDict:
        """Record an answer and return the next question. It is on disk when this returns.

        The same answer of the same person to the same pair counts once. Other requests count once
        if they carry the same ``Idempotency-Key`` header.
        """
        controller = current()
        pair = (given.i, given.j)
        clashes = controller.questions.answer(given.said, pair, given.who, given.weight)
        return {
            "disputes": [controller.questions.dispute(clash) for clash in clashes],
            "question": controller.questions.next_for_programs(given.who),
            "version": controller.session.snapshot().version,
        }

    @app.post("/api/undo")
    def undo(given: Undo) -> JsonDict:
        """Undo the last answers of a person."""
        controller = current()
        undone = controller.session.undo(given.n, who=given.who)
        return {
            "undone": [controller.questions.entry(one) for one in undone],
            "text": "; ".join(controller.questions.text(one) for one in undone),
        }

    @app.post("/api/clusters")
    def clusters(given: GivenCount) -> JsonDict:
        """Set the number of clusters and refit; undo reverts it."""
        session = current().session
        session.set_n_clusters(given.n_clusters, who=given.who)
        return {"n_clusters": session.snapshot().n_clusters}

    @app.post("/api/take-back")
    def retract(given: TakeBack) -> JsonDict:
        """Retract one answer of any annotator."""
        current().session.undo(entry=given.id, who=given.who)
        return {"taken_back": given.id}

    @app.get("/api/answers")
    def answers() -> JsonDict:
        """Active answers, and the disputes among them."""
        controller = current()
        now = controller.session.snapshot()
        return {
            "answers": [controller.questions.entry(one) for one in now.answers if one.is_active],
            "disputes": [controller.questions.dispute(one) for one in now.disputes],
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
        if controller.session.snapshot().fit is None:
            raise HTTPException(409, "there is no fit yet; POST /api/refit makes one")
        return _labels(controller)

    @app.post("/api/refit")
    def refit() -> JsonDict:
        """Refit with all answers so far; the cluster of every row."""
        current().session.refit()
        return _labels(current())

    @app.post("/api/export/{name}")
    def export(name: str) -> Response:
        """Data with clusters, constraints, report, map, model, or Python code."""
        if name not in EXPORTS:
            raise HTTPException(404, f"no export {name!r}; there are {', '.join(EXPORTS)}")
        export = EXPORTS[name]
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        return Response(export.make(current()), media_type=export.media_type, headers=headers)


def _labels(controller: Controller) -> JsonDict:
    now = controller.session.snapshot()
    view = controller.clusters.view(now)
    assert view is not None and now.fit is not None  # noqa: PT018 - there is a fit
    labels = view.labels.tolist()
    return {
        "ids": controller.names(*range(len(labels))),
        "labels": labels,
        "names": {c: name_of(c, now.cluster_names) for c in sorted(set(labels)) if c >= 0},
        "n_answers": now.fit.n_answers,
    }
