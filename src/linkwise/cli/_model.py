"""`linkwise label --model`: a language model answers; a person checks it. And `linkwise mcp`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from . import _output as out
from ._options import option
from ._session_options import (
    SessionInput,
    SessionRequest,
    kept_settings,
    open_session,
    read_session_input,
)

if TYPE_CHECKING:
    from linkwise._types import JsonDict
    from linkwise.active import Session, TerminalOracle
    from linkwise.llm import ChatOracle

_MODEL = "Language model"
_CARD = 8  # records on a card, if --set-size does not say
_AUTHORS = "models"  # in the metadata of a session: goal and address by model


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """The options of `linkwise label` that concern models and agents."""

    model: Annotated[
        str | None, option(_MODEL, about="Let this model answer, such as qwen3:8b.")
    ] = None
    base_url: Annotated[
        str | None,
        option(
            _MODEL,
            about="Its server, such as http://localhost:11434/v1.  [default: OPENAI_BASE_URL; the "
            "key is read from OPENAI_API_KEY]",
        ),
    ] = None
    goal: Annotated[
        str | None,
        option(_MODEL, about='When two records belong together: "report the same problem".'),
    ] = None
    max_cost: Annotated[
        float | None, option(_MODEL, about="The most that all calls may cost.", min=0)
    ] = None
    price: Annotated[
        str,
        option(
            _MODEL, about="Price of a million tokens read and written.", metavar="IN,OUT", rare=True
        ),
    ] = "0,0"
    names: Annotated[
        bool, option(_MODEL, "--name-clusters", about="Let the model name the clusters, too.")
    ] = False
    audit: Annotated[
        bool,
        option(
            _MODEL, "--audit", about="Check 30 answers of the model, then those that the features "
            "contradict most. What you answer overrules the model.",
        ),
    ] = False  # fmt: skip
    proposals: Annotated[
        bool,
        option(_MODEL, "--proposals", about="Decide about the proposals of agents.", rare=True),
    ] = False
    take_back: Annotated[
        str | None,
        option(_MODEL, about="Take back all that one author did: a model, agent or person."),
    ] = None

    def runs(self) -> bool:
        """Whether any of them is given, so that nobody is interviewed."""
        return bool(self.model or self.audit or self.proposals or self.take_back)


def run_model(
    work: Session, task: SessionInput, request: Any, path: Path, terminal: TerminalOracle
) -> None:
    """Do what the options about models and agents ask for."""
    from linkwise.llm import take_back

    if request.take_back:
        n = take_back(work, request.take_back)
        out.console.print(f"{n} answers of {escape(request.take_back)} taken back")
    if request.proposals:
        _decide(work, task)
    if request.model or request.audit:
        oracle = _oracle(work, task, request, path)
        try:
            if request.audit:
                _audit(work, oracle, terminal, request.questions)
            else:
                _answer(work, oracle, request)
        finally:
            oracle.close()


def _oracle(work: Session, task: SessionInput, request: Any, path: Path) -> ChatOracle:
    """The model as given, or as the session remembers it."""
    from linkwise.llm import ChatOracle

    kept: JsonDict = work.snapshot().metadata.get(_AUTHORS, {})
    model = request.model or (next(iter(kept)) if len(kept) == 1 else None)
    if model is None:
        raise ValueError(f"--audit: name one of the models with --model: {', '.join(kept)}")
    about = {**kept.get(model, {})}
    about |= {k: v for k in ("goal", "base_url") if (v := getattr(request, k)) is not None}
    if "goal" not in about:
        raise ValueError('--model needs --goal, such as --goal "report the same problem"')
    prices = tuple(float(part) for part in request.price.split(","))
    oracle = ChatOracle(
        model,
        records=_records(work, task, request.text_column),
        replies=path,
        max_cost=request.max_cost,
        price=prices,  # type: ignore[arg-type]
        **about,
    )
    work.set_metadata(**{_AUTHORS: {**kept, model: about}})
    return oracle


def _records(work: Session, task: SessionInput, text_column: str | None) -> list[str | JsonDict]:
    """What the model sees: the texts, or else all columns that are shown."""
    wanted = [name.strip() for name in (text_column or "").split(",")]
    found: list[str | JsonDict] = []
    for row in range(work.X.shape[0]):
        record = task.record(row)
        chosen = {name: record[name] for name in wanted if name in record} or record
        found.append(next(iter(chosen.values())) if len(chosen) == 1 else chosen)
    return found


def _answer(work: Session, oracle: ChatOracle, request: Any) -> None:
    from linkwise.llm import answer_cards, name_clusters

    size = request.set_size or _CARD
    # Without a number, as many cards as it takes to place every row once.
    n = request.questions or math.ceil((work.X.shape[0] - 1) / (size - 1))
    before = oracle.estimate(n, size)
    out.console.print(f"{n:,} cards of {size} records: {before}", highlight=False)
    may_ask = request.max_cost is None and before.cost > 0 and out.console.is_terminal
    if may_ask and not typer.confirm("Go on?"):
        return
    columns = (
        TextColumn("cards"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[now]}"),
    )
    with Progress(*columns, console=out.console) as bar:
        task = bar.add_task("cards", total=n, now="")

        def show(n_cards: int) -> None:
            meter = work.snapshot().progress.meter
            guessed = f", {meter.n_guessed} of {meter.n_asked} guessed" if meter.n_asked else ""
            bar.update(task, completed=n_cards, now=f"cost {oracle.spent:.2f}{guessed}")

        answer_cards(work, oracle, n, size=size, progress=show)
    out.console.print(str(oracle.error_rates(work)), highlight=False, markup=False)
    if request.names:
        for one in name_clusters(work, oracle):
            out.console.print(f"cluster {one.cluster + 1}: {one}", highlight=False, markup=False)
    out.console.print(f"{oracle.n_calls:,} calls, {oracle.spent:.2f} spent", highlight=False)


def _audit(work: Session, oracle: ChatOracle, terminal: TerminalOracle, n: int | None) -> None:
    """A person answers the drawn pairs, then those that model and distances disagree on."""
    from linkwise.llm import audit_sample, disagreements, overrule

    n_answered = 0
    with terminal:
        while n is None or n_answered < n:
            pairs = audit_sample(work, oracle.model) or disagreements(work, oracle.model)
            if not pairs:
                break
            reply = terminal(*pairs[0].question)
            if reply == "stop":
                break
            if reply == "undo":
                terminal.undone(work.undo())
            else:
                work.tell(reply, pairs[0].question)
                n_answered += 1
    gone = overrule(work, oracle.model)
    out.console.print(f"{len(gone)} answers of the model taken back", highlight=False)
    out.console.print(str(oracle.error_rates(work)), highlight=False, markup=False)


def _decide(work: Session, task: SessionInput) -> None:
    from linkwise.llm import decide, proposals

    for one in proposals(work):
        if one.state == "open":
            for row in one.rows:
                out.console.print(str(task.record(row)), highlight=False, markup=False)
            what = "put their clusters together" if one.kind == "merge" else "separate them"
            decide(work, one.id, typer.confirm(f"{one.who} proposes to {what}. Accept?"))


# -------------------------------------------------------------------- linkwise mcp


@dataclass(frozen=True, kw_only=True)
class Mcp:
    """The options of the command."""

    session: Annotated[Path, typer.Argument(help="File that `label` or `studio` made.")]


def mcp(request: Mcp) -> None:
    """Serve a session to agents by the Model Context Protocol, on standard input and output.

    Agents read clusters and records, answer questions with less weight than a person, and propose
    merges and splits, about which `linkwise label --proposals` asks you. Everything that one agent
    did is taken back by `linkwise label --take-back NAME`.

    Examples:

        linkwise mcp work.db
    """
    from linkwise.llm import make_server

    with out.plain_errors():
        settings = kept_settings(request.session)
        source = settings.get("data", {}).get("source")
        if not source:
            raise ValueError(f"{request.session}: no session of a file of data")
        options = SessionRequest(session=request.session).continued(settings)
        image_column = settings["about"].get("image_column")
        task = read_session_input(Path(source), options, image_column)
        work = open_session(request.session, settings, task, options)
        with work:
            make_server(work, task.record).run()
