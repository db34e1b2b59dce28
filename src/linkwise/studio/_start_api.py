"""Endpoints of the start page: upload, columns, begin, recent sessions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Annotated

from fastapi import FastAPI, Query, Request
from pydantic import BaseModel, Field

from linkwise._types import JsonDict
from linkwise.active import DataChanges, Session

from ._records import Records
from ._security import UPLOAD
from ._start import Start

Show = Callable[[Session, Records], None]
_Name = Annotated[str, Query(max_length=1000)]


class Named(BaseModel):
    """A project, a path, or a name for a new project."""

    name: str = Field(max_length=4000)


class Recent(Named):
    """A session to continue; `carry`: its answers follow data that changed."""

    carry: bool = False


class Begin(BaseModel):
    """What a session begins with."""

    project: str = Field(max_length=200)
    roles: dict[str, str]
    n_clusters: int | None = Field(None, ge=1)
    who: str | None = Field(None, max_length=200)


def add_start(app: FastAPI, start: Start, show: Show, go_to_start: Callable[[], None]) -> None:
    """Add the endpoints; `show` puts a session on the page, `go_to_start` takes it away."""

    @app.get("/start/recent", include_in_schema=False)
    def recent() -> JsonDict:
        return {"recent": start.recent(), "may_read": start.may_read}

    @app.post("/start/project", include_in_schema=False)
    def project(given: Named) -> JsonDict:
        return {"project": start.new_project(given.name)}

    @app.post(UPLOAD, include_in_schema=False)
    async def upload(request: Request, project: _Name, name: _Name) -> JsonDict:
        path = await asyncio.to_thread(start.place, project, name)
        with path.open("wb") as file:
            async for chunk in request.stream():
                await asyncio.to_thread(file.write, chunk)
        return {"size": path.stat().st_size}

    @app.post("/start/adopt", include_in_schema=False)
    def adopt(given: Named) -> JsonDict:
        return start.look(start.adopt(given.name))

    @app.post("/start/example", include_in_schema=False)
    def example() -> JsonDict:
        return start.look(start.example())

    @app.post("/start/look", include_in_schema=False)
    def look(given: Named) -> JsonDict:
        return start.look(given.name)

    @app.post("/start/begin", include_in_schema=False)
    def begin(given: Begin) -> JsonDict:
        show(*start.begin(given.project, given.roles, given.n_clusters, given.who))
        return {"open": True}

    @app.post("/start/leave", include_in_schema=False)
    def leave() -> JsonDict:
        go_to_start()
        return {"open": False}

    @app.post("/start/open", include_in_schema=False)
    def reopen(given: Recent) -> JsonDict:
        opened = start.open(given.name, given.carry)
        if isinstance(opened, DataChanges):
            return {"open": False, "changes": opened.to_dict()}
        show(*opened)
        return {"open": True, "changes": None}
