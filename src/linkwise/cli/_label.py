"""`linkwise label`: answer questions about a file's rows in the terminal."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich.markup import escape

from . import _options as opt
from . import _output as out
from ._options import METHOD, OUTPUT, option
from ._session_options import (
    DataChanged,
    Known,
    NClusters,
    Options,
    Seed,
    SessionFile,
    SessionInput,
    Shown,
    StrategyName,
    Who,
    kept_settings,
    open_session,
    read_session_input,
    session_file,
)
from ._write import check_target

if TYPE_CHECKING:
    from linkwise.active import Session


def label(
    data: opt.Data,
    id_column: opt.IdColumn = None,
    features: opt.FeatureNames = None,
    text_column: opt.TextColumn = None,
    embedding: opt.Embedding = None,
    no_scale: opt.NoScale = False,
    missing: opt.Missing = None,
    encoding: opt.Encoding = None,
    sheet: opt.Sheet = None,
    show: Shown = None,
    data_changed: DataChanged = None,
    constraints: Known = None,
    who: Who = None,
    clusters: NClusters = None,
    strategy: StrategyName = None,
    questions: Annotated[
        int | None, option(METHOD, about="Stop after so many answers.", min=1)
    ] = None,
    set_size: Annotated[
        int | None,
        option(
            METHOD,
            about="Show cards of so many records, to be put into groups: one answer, many links.",
            min=2,
            max=12,
        ),
    ] = None,
    seed: Seed = None,
    session: SessionFile = None,
    constraints_out: Annotated[
        Path | None,
        option(OUTPUT, about="File for the answers as constraints: .csv, .jsonl or .parquet."),
    ] = None,
    help_all: opt.HelpAll = False,
) -> None:
    """Say of two records whether they belong together; one key per answer.

    Keys: s same, d different, u unsure, z undo, q quit, and m for all fields where they do not fit
    on the screen. Fields that differ are marked with a star. With --set-size, letters of records
    that belong together are typed, with a space between groups.
    Every answer is on the disk before the next question appears; the same command goes on where
    you stopped, with the options it was begun with. Several people may label at once, each in a
    terminal of their own.

    Without a terminal, answers are read
    from standard input, one a line: a key, or its word.

    Examples:

        linkwise label beans.csv -k 3 --session work.db --id-column bean --show bean,notes

        linkwise label beans.csv --session work.db --constraints-out links.csv

        linkwise label tickets.xlsx --text-column text
    """
    if out.console.is_terminal:
        out.console.print("loading ...", style="dim")
    with out.plain_errors():
        session = session_file(data, session)
        kept = kept_settings(session)
        given = Options(
            id_column, features, text_column, embedding, no_scale or None, missing or None,
            encoding, sheet, show,
        ).filled(kept)  # fmt: skip
        check_target(constraints_out, "--constraints-out", [data, session, constraints])
        task = read_session_input(data, given)
        begun = {"n_clusters": clusters, "strategy": strategy, "random_state": seed}
        work = open_session(session, kept, task, begun, constraints, who, given, data_changed)
    with work:
        with out.plain_errors():
            _interview(work, task, questions, set_size)
            if constraints_out is not None:
                work.constraints.write(constraints_out)
        _tell(work, session, constraints_out)


def _interview(work: Session, task: SessionInput, n: int | None, set_size: int | None) -> None:
    from linkwise.active import SetQuestion, TerminalOracle

    warnings.simplefilter("ignore")  # a refit in the background must not write over a question
    oracle = TerminalOracle(
        task.record,
        name=work.name,
        progress=lambda: work.progress,
        reason=lambda rows: work.reason(rows if len(rows) == 2 else SetQuestion(tuple(rows))),
        console=out.console,
    )
    with oracle:
        work.run(oracle, n, set_size=set_size)


def _tell(work: Session, path: Path, written: Path | None) -> None:
    now = work.progress
    out.console.print(
        f"answers in [bold]{escape(str(path))}[/bold]: {now.n_answers} in all, {now.n_same} same, "
        f"{now.n_different} different, {now.n_unsure} unsure.",
        soft_wrap=True,
        highlight=False,
    )
    if now.n_covered < now.n_rows and work.ask() is None:
        out.console.print("nothing is left to ask", highlight=False)
    out.console.print(now.hint, soft_wrap=True, highlight=False)
    if written is not None:
        out.console.print(f"constraints: [bold]{escape(str(written))}[/bold]", soft_wrap=True)
    else:
        out.console.print(
            "the same command goes on from here; with --constraints-out FILE it also writes the "
            "answers for linkwise cluster",
            soft_wrap=True,
            highlight=False,
        )
