"""`linkwise studio`: answer questions about a file's rows on a page in the browser."""

from __future__ import annotations

import threading
import warnings
import webbrowser
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from linkwise._optional import optional

from . import _output as out
from ._input import Data, FeatureNames, IdColumn, Impute, Standardize, StopWords, TextColumn
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


def studio(
    data: Data,
    session: SessionFile = None,
    clusters: NClusters = None,
    show: Shown = None,
    strategy: StrategyName = None,
    id_column: IdColumn = None,
    features: FeatureNames = None,
    standardize: Standardize = False,
    impute: Impute = None,
    text_column: TextColumn = None,
    stop_words: StopWords = None,
    constraints: Known = None,
    image_column: Annotated[
        str | None, typer.Option(help="Column with file names of images, below --images.")
    ] = None,
    images: Annotated[
        Path | None, typer.Option(help="Folder with the images; nothing outside of it is shown.")
    ] = None,
    host: Annotated[
        str | None,
        typer.Option(
            help="Address to listen on, for others too; the link then has a secret token in it.  "
            "[default: this machine only]"
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(help="Port to listen on; 0 for any.  [default: 8765]", min=0, max=65535),
    ] = None,
    browser: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in the browser.")
    ] = True,
    who: Who = None,
    seed: Seed = None,
    data_changed: DataChanged = None,
) -> None:
    """Answer "same or different?" on a page in the browser, and watch the clusters change.

    Every answer is on the disk before the next question appears; the same command goes on where
    you stopped. Sessions are the same as those of `linkwise label`. Stop with Ctrl+C.

    Examples:

        linkwise studio beans.csv -k 3 --session work.db --id-column bean

        linkwise studio birds.csv --session birds.db --image-column file --images photos/
    """
    with out.plain_errors():
        optional("nicegui", extra="studio", need="The studio")  # before a session is begun
        from linkwise.studio import Records, Studio

        session = session_file(data, session)
        kept = kept_settings(session)
        given = Options(
            id_column,
            features,
            show,
            standardize or None,
            impute,
            text_column,
            image_column,
            None if images is None else str(images.resolve()),
            stop_words,
        ).filled(kept)
        if (given.image_column is None) != (given.images is None):
            raise ValueError("--image-column and --images belong together; give both")
        task = read_session_input(data, given)
        records = Records(
            task.cells,
            task.features,
            given.image_column,
            given.images,
            task.recipe,
            task.units,
        )
        begun = {"n_clusters": clusters, "strategy": strategy, "random_state": seed}
        work = open_session(session, kept, task, begun, constraints, who, given, data_changed)
    warnings.simplefilter("ignore")  # of refits in the background
    with work, out.plain_errors(), Studio(work, records, host=host, port=port) as running:
        _tell(running.url, session, browser)
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
