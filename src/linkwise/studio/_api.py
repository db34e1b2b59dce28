"""JSON API, for other tools and language models.

Its description is at ``/api/openapi.json``. What the page itself fetches is below ``/view`` and
not part of it.
"""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import FastAPI, HTTPException, Query, Request
from fastapi.middleware.gzip import GZipMiddleware
from fastapi.responses import FileResponse, JSONResponse, Response
from pydantic import BaseModel, Field

from linkwise._types import JsonDict
from linkwise._version import __version__

from . import _exports as take_away
from ._controller import Controller

_LONGEST = 200  # letters of the name of a person
_Who = Annotated[str | None, Query(max_length=_LONGEST, description="Who is asked.")]
_EXPORTS = {
    "labels.csv": (take_away.labels_csv, "text/csv; charset=utf-8"),
    "constraints.csv": (take_away.constraints_csv, "text/csv; charset=utf-8"),
    "report.html": (take_away.report_html, "text/html; charset=utf-8"),
    "reproduce.py": (take_away.python_lines, "text/x-python; charset=utf-8"),
}


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


def make_api(controller: Controller) -> FastAPI:
    """The web application: JSON API, exports, and the data of the page."""
    app = FastAPI(
        title="linkwise studio",
        version=__version__,
        description="Questions about which records belong together, and what the answers give.",
        openapi_url="/api/openapi.json",
        docs_url=None,  # these pages load their scripts from another host
        redoc_url=None,
    )
    app.add_middleware(GZipMiddleware, minimum_size=2000)
    app.add_exception_handler(ValueError, _wrong)
    _add_interview(app, controller)
    _add_results(app, controller)
    _add_view(app, controller)
    return app


async def _wrong(_: Request, error: Exception) -> Response:
    return JSONResponse({"detail": str(error)}, status_code=422)


def _add_interview(app: FastAPI, controller: Controller) -> None:
    session = controller.session

    @app.get("/api/question")
    def next_question(who: _Who = None) -> JsonDict:
        """The next question with both records; null when nothing is left to ask."""
        asked = session.ask(who=who)
        if asked is None:
            return {"question": None}
        rows = list(asked)
        return {
            "question": {
                "i": asked.i,
                "j": asked.j,
                "ids": [controller.name(row) for row in rows],
                "records": [controller.records.fields(row) for row in rows],
                "reason": session.reason(asked),
            }
        }

    @app.get("/api/set")
    def next_set(
        size: Annotated[int, Query(ge=2, le=12, description="The most records.")] = 8,
        who: _Who = None,
    ) -> JsonDict:
        """The next set question: records to be grouped; null when nothing is left to ask."""
        asked = session.ask_set(size, who=who)
        if asked is None:
            return {"set": None}
        return {
            "set": {
                "rows": list(asked.rows),
                "ids": [controller.name(row) for row in asked.rows],
                "records": [controller.records.fields(row) for row in asked.rows],
                "reason": session.reason(asked),
            }
        }

    @app.post("/api/set")
    def answer_set(given: GivenGroups) -> JsonDict:
        """Record which records belong together. It is on disk when this returns."""
        clashes = session.tell_set(given.groups, weight=given.weight, who=given.who)
        return {"disputes": [controller.dispute(clash) for clash in clashes]}

    @app.post("/api/answer")
    def answer(given: GivenAnswer) -> JsonDict:
        """Record an answer. It is on disk when this returns."""
        pair = (given.i, given.j)
        clash = controller.tell(given.said, pair, given.who, given.weight)
        return {"dispute": None if clash is None else controller.dispute(clash)}

    @app.post("/api/undo")
    def undo(given: Undo) -> JsonDict:
        """Undo the last answers of a person."""
        return {"undone": [controller.answer(one) for one in session.undo(given.n, who=given.who)]}

    @app.post("/api/clusters")
    def clusters(given: GivenCount) -> JsonDict:
        """Set the number of clusters and refit; undo reverts it."""
        session.set_n_clusters(given.n_clusters, who=given.who)
        return {"n_clusters": session.n_clusters}

    @app.post("/api/take-back")
    def retract(given: TakeBack) -> JsonDict:
        """Retract one answer of anybody."""
        session.retract(given.id, who=given.who)
        return {"taken_back": given.id}

    @app.get("/api/answers")
    def answers() -> JsonDict:
        """Active answers, and the disputes among them."""
        standing = [controller.answer(one) for one in session.answers if one.is_active]
        return {"answers": standing, "disputes": controller.disputes()}


def _add_results(app: FastAPI, controller: Controller) -> None:
    session = controller.session

    @app.get("/api/progress")
    def progress() -> JsonDict:
        """How far the session is, and whether to stop."""
        return {**session.progress.to_dict(), "n_violated": controller.n_violated()}

    @app.get("/api/labels")
    def labels(refit: bool = False) -> JsonDict:
        """The cluster of every row in the newest fit, or (refit) with all answers so far."""
        fit = session.refit() if refit else session.latest or session.fit_
        ids = [controller.name(row) for row in range(len(fit.labels))]
        names = {c: controller.cluster_name(c) for c in sorted(set(fit.labels.tolist())) if c >= 0}
        return {
            "ids": ids,
            "labels": fit.labels.tolist(),
            "names": names,
            "n_answers": fit.n_answers,
        }

    @app.get("/api/export/{name}")
    def export(
        name: Literal["labels.csv", "constraints.csv", "report.html", "reproduce.py"],
    ) -> Response:
        """Labels, constraints, report, or Python code that reproduces the result."""
        make, kind = _EXPORTS[name]
        told = {"content-disposition": f'attachment; filename="{name}"'}
        return Response(make(controller).encode("utf-8", "replace"), media_type=kind, headers=told)


def _add_view(app: FastAPI, controller: Controller) -> None:
    """Endpoints of the page: map, records, images."""

    @app.get("/view/points", include_in_schema=False)
    def points(kind: str = "PCA") -> JsonDict:
        return controller.points(kind)

    @app.get("/view/picture", include_in_schema=False)
    def picture(kind: str = "PCA") -> JsonDict:
        return controller.picture(kind)

    @app.get("/view/record/{row}", include_in_schema=False)
    def record(row: int) -> JsonDict:
        _check_row(controller, row)
        return {"name": controller.name(row), "fields": controller.records.fields(row)}

    @app.get("/view/image/{row}", include_in_schema=False)
    def image(row: int) -> FileResponse:
        _check_row(controller, row)
        path = controller.records.image(row)
        if path is None:
            raise HTTPException(404, "this record has no image below the folder")
        return FileResponse(path)


def _check_row(controller: Controller, row: int) -> None:
    if not 0 <= row < controller.session.X.shape[0]:
        raise HTTPException(404, f"there is no row {row}")
