"""`linkwise studio`: answer questions about a file's rows on a page in the browser."""

from __future__ import annotations

import gc
import threading
import warnings
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from linkwise._optional import optional

from . import _options as opt
from . import _output as out
from ._options import DATA, OUTPUT, option
from ._session_options import (
    DataChanged,
    Known,
    NClusters,
    Options,
    Seed,
    SessionFile,
    Shown,
    StrategyName,
    Who,
    kept_settings,
    open_session,
    read_session_input,
    session_file,
)

if TYPE_CHECKING:
    from linkwise._types import JsonDict
    from linkwise.active import DataChanges, Session
    from linkwise.studio import Records

    from ._session_options import SessionInput

MaybeData = Annotated[
    Path | None,
    typer.Argument(
        help="The data: CSV, TSV (also .gz), Parquet or NPY; without it, a page to choose it."
    ),
]


def studio(
    data: MaybeData = None,
    id_column: opt.IdColumn = None,
    features: opt.FeatureNames = None,
    text_column: opt.TextColumn = None,
    embedding: opt.Embedding = None,
    no_scale: opt.NoScale = False,
    missing: opt.Missing = None,
    encoding: opt.Encoding = None,
    sheet: opt.Sheet = None,
    show: Shown = None,
    image_column: Annotated[
        str | None, option(DATA, about="Column with file names of images, below --images.")
    ] = None,
    images: Annotated[
        Path | None, option(DATA, about="Folder with the images; nothing outside of it is shown.")
    ] = None,
    data_changed: DataChanged = None,
    constraints: Known = None,
    who: Who = None,
    clusters: NClusters = None,
    strategy: StrategyName = None,
    seed: Seed = None,
    session: SessionFile = None,
    host: Annotated[
        str | None,
        option(
            OUTPUT,
            about="Address to listen on, so that others can connect with the link.  "
            "[default: this machine only]",
        ),
    ] = None,
    port: Annotated[
        int | None,
        option(OUTPUT, about="Port to listen on; 0 for any.  [default: 8765]", min=0, max=65535),
    ] = None,
    browser: Annotated[
        bool, option(OUTPUT, "--open/--no-open", about="Open the page in the browser.")
    ] = True,
    help_all: opt.HelpAll = False,
) -> None:
    """Answer "same or different?" on a page in the browser, and watch the clusters change.

    Without DATA the page begins with the choice of a file, of a folder of images, or of a recent
    session. What is dropped there is kept in ~/linkwise, or where LINKWISE_HOME says.

    Every answer is on the disk before the next question appears; the same command goes on where
    you stopped. Sessions are the same as those of `linkwise label`. Stop with Ctrl+C.

    Examples:

        linkwise studio

        linkwise studio beans.csv -k 3 --session work.db --id-column bean

        linkwise studio birds.csv --session birds.db --image-column file --images photos/
    """
    with out.plain_errors():
        optional("nicegui", extra="studio", need="The studio")  # before a session is begun
        _import_everything()
        from linkwise.studio import Studio

        given = Options(
            id_column, features, text_column, embedding, no_scale or None, missing or None,
            encoding, sheet, show, image_column, None if images is None else str(images.resolve()),
        )  # fmt: skip
        begun: JsonDict = {"n_clusters": clusters, "strategy": strategy, "random_state": seed}
        if data is None:
            _check_no_options(session, constraints, given, begun)
            _serve_start(host, port, browser, who)
            return
        session = session_file(data, session)
        work, records = _open(data, session, given, begun, constraints, who, data_changed)
    warnings.simplefilter("ignore")  # of refits in the background
    with work, out.plain_errors(), Studio(work, records, host=host, port=port) as running:
        _tell(running.url, session, browser)
        threading.Event().wait()


def _import_everything() -> None:
    """Import what the page needs; looking for garbage meanwhile would take a tenth of the time."""
    gc.disable()
    try:
        import linkwise.studio._page  # noqa: F401
    finally:
        gc.freeze()  # modules stay: no need to look through them ever again
        gc.enable()


def _open(
    data: Path,
    session: Path,
    given: Options,
    begun: JsonDict,
    constraints: Path | None,
    who: str | None,
    data_changed: str | None,
) -> tuple[Session, Records]:
    """The session of a file, begun or gone on with, and its records."""
    from linkwise.studio._plan import load_again, reopen_session

    kept = kept_settings(session)
    if "roles" in kept.get("about", {}):  # begun on the start page
        loaded = load_again(kept)
        return reopen_session(session, loaded, who, data_changed or "refuse"), loaded.records
    given = given.filled(kept)
    try:
        task, records = _read(data, given)
    except ValueError:
        wanted = (constraints, *vars(given).values(), begun["strategy"], begun["random_state"])
        if kept or any(value is not None for value in wanted):
            raise
        return _begin_as_guessed(data, session, begun["n_clusters"], who)
    work = open_session(session, kept, task, begun, constraints, who, given, data_changed)
    return work, records


def _begin_as_guessed(
    data: Path, session: Path, n_clusters: int | None, who: str | None
) -> tuple[Session, Records]:
    """A session with the roles of columns that the start page would suggest."""
    from linkwise.studio._columns import guess_roles
    from linkwise.studio._plan import begin_session, read_source

    table = read_source(data)
    roles = {guess.name: guess.role for guess in guess_roles(table)}
    told = ", ".join(f"{name}: {role}" for name, role in roles.items())
    out.console.print(f"columns as guessed: {escape(told)}", soft_wrap=True, highlight=False)
    return begin_session(session, data, roles, n_clusters, who, table)


def _read(data: Path, given: Options) -> tuple[SessionInput, Records]:
    """The rows of a file, and what is shown of them."""
    from linkwise.studio import Records

    if (given.image_column is None) != (given.images is None):
        raise ValueError("--image-column and --images belong together; give both")
    task = read_session_input(data, given)
    records = Records(
        task.cells, task.features, given.image_column, given.images, task.recipe, task.units,
        task.others, task.preparation, task.numbers,
    )  # fmt: skip
    return task, records


def _check_no_options(
    session: Path | None, constraints: Path | None, given: Options, begun: JsonDict
) -> None:
    """Without a file there is nothing that options about it could mean."""
    if any(value is not None for value in (session, constraints, *vars(given).values())) or any(
        value is not None for value in begun.values()
    ):
        raise ValueError(
            "these options are about a file: linkwise studio FILE ...; `linkwise studio` alone "
            "opens a page where all of this is chosen"
        )


def _serve_start(host: str | None, port: int | None, browser: bool, who: str | None) -> None:
    """The start page, until Ctrl+C."""
    from linkwise.active._carry import preview
    from linkwise.studio import Studio
    from linkwise.studio._start import Start

    def reopen(path: Path, kept: JsonDict, carry: bool) -> tuple[Session, Records] | DataChanges:
        given = Options().filled(kept)
        task, records = _read(Path(kept["data"]["source"]), given)
        changes = None if carry else preview(path, kept, task.X, task.ids)
        if changes is not None:
            return changes
        begun = {"n_clusters": None, "strategy": None, "random_state": None}
        how = "carry" if carry else "refuse"
        return open_session(path, kept, task, begun, None, who, given, how), records

    warnings.simplefilter("ignore")  # of refits in the background
    start = Start(elsewhere=(Path.cwd(),), reopen=reopen)
    with Studio(host=host, port=port, start=start) as running:
        _tell(running.url, start.folder, browser)
        threading.Event().wait()


def _tell(url: str, session: Path, browser: bool) -> None:
    out.console.print(
        f"the studio: [bold]{escape(url)}[/bold]\n"
        f"answers in [bold]{escape(str(session))}[/bold]; stop with Ctrl+C",
        soft_wrap=True,
        highlight=False,
    )
    if browser:
        webbrowser.open(url)
