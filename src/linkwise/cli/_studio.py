"""`linkwise studio`: answer questions about a file's rows on a page in the browser."""

from __future__ import annotations

import threading
import warnings
import webbrowser
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from linkwise._optional import optional

from . import _output as out
from ._options import DATA, OUTPUT, option
from ._session_options import SessionRequest, kept_settings, open_session, read_session_input

if TYPE_CHECKING:
    from linkwise._types import JsonDict
    from linkwise.active import DataChanges, Session
    from linkwise.studio import Records

    from ._session_options import SessionInput

_WITHOUT_DATA = ("who", "host", "port", "browser")


@dataclass(frozen=True, kw_only=True)
class StudioRequest(SessionRequest):
    """The options of the command."""

    data: Annotated[
        Path | None,
        typer.Argument(
            help="The data: CSV, TSV (also .gz), Parquet or NPY; without it, a page to choose it."
        ),
    ] = None
    image_column: Annotated[
        str | None, option(DATA, about="Column with file names of images, below --images.")
    ] = None
    images: Annotated[
        Path | None, option(DATA, about="Folder with the images; nothing outside of it is shown.")
    ] = None
    host: Annotated[
        str | None,
        option(
            OUTPUT,
            about="Address to listen on, so that others can connect with the link.  "
            "[default: this machine only]",
        ),
    ] = None
    port: Annotated[
        int | None,
        option(OUTPUT, about="Port to listen on; 0 for any.  [default: 8765]", min=0, max=65535),
    ] = None
    browser: Annotated[
        bool, option(OUTPUT, "--open/--no-open", about="Open the page in the browser.")
    ] = True

    def about(self) -> JsonDict:
        """The options that the session remembers."""
        return {**super().about(), "images": self.images and str(self.images.resolve())}


def studio(request: StudioRequest) -> None:
    """Answer "same or different?" on a page in the browser, and watch the clusters change.

    Without DATA, the page begins with the choice of a file, of a folder of images, or of a recent
    session. Files that are dropped there are kept in ~/linkwise, or in the folder LINKWISE_HOME.

    Every answer is on the disk before the next question appears; the same command continues where
    you stopped. Sessions are the same as those of `linkwise label`. Stop with Ctrl+C.

    Examples:

        linkwise studio

        linkwise studio beans.csv -k 3 --session work.db --id-column bean

        linkwise studio birds.csv --session birds.db --image-column file --images photos/
    """
    with out.plain_errors():
        optional("nicegui", extra="studio", need="The studio")  # before a session is begun
        from linkwise.studio import Studio

        if request.data is None:
            _check_no_options(request)
            _serve_start(request)
            return
        session = request.session_file(request.data)
        work, records = _open(request.data, session, request)
    warnings.simplefilter("ignore")  # of refits in the background
    with work, out.plain_errors(), Studio(
        work, records, host=request.host, port=request.port
    ) as running:  # fmt: skip
        _announce(running.url, session, request.browser)
        threading.Event().wait()


def _open(data: Path, session: Path, request: StudioRequest) -> tuple[Session, Records]:
    """The session of a file, new or continued, and its records."""
    from linkwise.studio._plan import load_again, reopen_session

    settings = kept_settings(session)
    if "roles" in settings.get("about", {}):  # begun on the start page
        loaded = load_again(settings)
        how = request.data_changed or "refuse"
        return reopen_session(session, loaded, request.who, how), loaded.records
    request = request.continued(settings)
    task, records = _read(data, request)
    return open_session(session, settings, task, request), records


def _read(data: Path, request: StudioRequest) -> tuple[SessionInput, Records]:
    """The rows of a file, and what is shown of them."""
    from linkwise.studio import Records

    if (request.image_column is None) != (request.images is None):
        raise ValueError("--image-column and --images belong together; give both")
    task = read_session_input(data, request, request.image_column)
    records = Records(
        task.cells, task.features, request.image_column, request.images, task.recipe, task.units,
        task.others, task.preparation, task.numbers,
    )  # fmt: skip
    return task, records


def _check_no_options(request: StudioRequest) -> None:
    """Refuse options about a file if there is none."""
    absent = replace(StudioRequest(), **{name: getattr(request, name) for name in _WITHOUT_DATA})
    if any(getattr(request, own.name) != getattr(absent, own.name) for own in fields(request)):
        raise ValueError(
            "these options are about a file: linkwise studio FILE ...; `linkwise studio` alone "
            "opens a page where all of this is chosen"
        )


def _serve_start(request: StudioRequest) -> None:
    """The start page, until Ctrl+C."""
    from linkwise.active._carry import preview
    from linkwise.studio import Studio
    from linkwise.studio._start import Start

    def reopen(
        path: Path, settings: JsonDict, carry: bool
    ) -> tuple[Session, Records] | DataChanges:
        how = StudioRequest(who=request.who, data_changed="carry" if carry else "refuse")
        how = how.continued(settings)
        task, records = _read(Path(settings["data"]["source"]), how)
        changes = None if carry else preview(path, settings, task.X, task.ids)
        return (open_session(path, settings, task, how), records) if changes is None else changes

    warnings.simplefilter("ignore")  # of refits in the background
    start = Start(elsewhere=(Path.cwd(),), reopen=reopen)
    with Studio(host=request.host, port=request.port, start=start) as running:
        _announce(running.url, start.folder, request.browser)
        threading.Event().wait()


def _announce(url: str, session: Path, browser: bool) -> None:
    out.console.print(
        f"the studio: [bold]{escape(url)}[/bold]\n"
        f"answers in [bold]{escape(str(session))}[/bold]; stop with Ctrl+C",
        soft_wrap=True,
        highlight=False,
    )
    if browser:
        webbrowser.open(url)
