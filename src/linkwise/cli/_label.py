"""`linkwise label`: answer questions about a file's rows in the terminal."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich.markup import escape

from . import _options as opt
from . import _output as out
from ._model import ModelOptions, run_model
from ._options import METHOD, OUTPUT, option
from ._session_options import (
    SessionInput,
    SessionRequest,
    kept_settings,
    open_session,
    read_session_input,
)
from ._write import check_target

if TYPE_CHECKING:
    from linkwise.active import Session


@dataclass(frozen=True, kw_only=True)
class Label(ModelOptions, SessionRequest):
    """The options of the command."""

    data: opt.Data
    questions: Annotated[
        int | None, option(METHOD, about="Stop after this number of answers.", min=1)
    ] = None
    set_size: Annotated[
        int | None,
        option(
            METHOD,
            about="Show cards of this many records, to be put into groups: one answer, many links.",
            min=2,
            max=12,
        ),
    ] = None
    constraints_out: Annotated[
        Path | None,
        option(OUTPUT, about="File for the answers as constraints: .csv, .jsonl or .parquet."),
    ] = None


def label(request: Label) -> None:
    """Decide for two records at a time whether they belong together; one key per answer.

    Keys: s same, d different, u unsure, z undo, q quit, and m for all fields where they do not fit
    on the screen. Fields that differ are marked with a star. With --set-size, letters of records
    that belong together are typed, with a space between groups.
    Every answer is on the disk before the next question appears; the same command continues where
    you stopped, with the options of the first time. Several people can label at the same time,
    each in another terminal.

    Without a terminal, answers are read
    from standard input, one a line: a key, or its word.

    Examples:

        linkwise label beans.csv -k 3 --session work.db --id-column bean --show bean,notes

        linkwise label beans.csv --session work.db --constraints-out links.csv

        linkwise label tickets.xlsx --text-column text

        linkwise label tickets.xlsx --text-column text --model qwen3:8b --goal "name the same fault"
    """
    if out.console.is_terminal:
        out.console.print("loading ...", style="dim")
    with out.plain_errors():
        session = request.session_file(request.data)
        settings = kept_settings(session)
        request = request.continued(settings)
        check_target(
            request.constraints_out, "--constraints-out",
            [request.data, session, request.constraints],
        )  # fmt: skip
        image_column = settings.get("about", {}).get("image_column")
        task = read_session_input(request.data, request, image_column)
        work = open_session(session, settings, task, request)
    with work:
        with out.plain_errors():
            _interview(work, task, request, session)
            if request.constraints_out is not None:
                work.constraints.write(request.constraints_out)
        _show_progress(work, session, request.constraints_out)


def _interview(work: Session, task: SessionInput, request: Label, path: Path) -> None:
    from linkwise.active import SetQuestion, TerminalOracle

    warnings.simplefilter("ignore")  # a refit in the background must not write over a question
    oracle = TerminalOracle(
        task.record,
        name=work.name,
        progress=lambda: work.snapshot().progress,
        reason=lambda rows: work.reason(rows if len(rows) == 2 else SetQuestion(tuple(rows))),
        console=out.console,
    )
    if request.runs():
        run_model(work, task, request, path, oracle)
        return
    with oracle:
        work.run(oracle, request.questions, set_size=request.set_size)


def _show_progress(work: Session, path: Path, written: Path | None) -> None:
    now = work.snapshot().progress
    lines = [
        f"answers in [bold]{escape(str(path))}[/bold]: {now.n_answers} in all, {now.n_same} same, "
        f"{now.n_different} different, {now.n_unsure} unsure."
    ]
    if now.n_covered < now.n_rows and work.ask() is None:
        lines.append("nothing is left to ask")
    lines.append(escape(now.hint))
    if written is not None:
        lines.append(f"constraints: [bold]{escape(str(written))}[/bold]")
    else:
        lines.append(
            "the same command continues here; with --constraints-out FILE it also writes the "
            "answers for linkwise cluster"
        )
    out.console.print("\n".join(lines), soft_wrap=True, highlight=False)
