"""`linkwise label`: answer questions about a file's rows in the terminal."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from . import _output as out
from ._cluster import column_names
from ._write import check_target

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from linkwise.active import Session
    from linkwise.datasets import Table

# How --strategy calls them, and what they are called in Python.
STRATEGIES = {
    "explore": "ExploreConsolidate",
    "minmax": "MinMax",
    "uncertainty": "NormalizedPointUncertainty",
    "random": "RandomPairs",
    "closest": "ClosestPairs",
    "farthest": "FarthestPairs",
}
# Options that a session remembers, so that they need not be given again.
_REMEMBERED = (
    "id_column",
    "features",
    "show",
    "standardize",
    "impute",
    "image_column",
    "images",
)


# Options that the studio has too.
Data = Annotated[Path, typer.Argument(help="The data: CSV, TSV (also .gz), Parquet or NPY.")]
SessionFile = Annotated[
    Path, typer.Option(help="File that keeps the answers; made if it is not there.")
]
NClusters = Annotated[
    int | None,
    typer.Option("--clusters", "-k", help="Number of clusters, if you know it.", min=1),
]
Shown = Annotated[
    str | None, typer.Option(help="Columns to show, such as name,description; all if absent.")
]
StrategyName = Annotated[
    str | None,
    typer.Option(
        help=f"Which question comes next: {', '.join(STRATEGIES)}.  [default: explore]",
    ),
]
IdColumn = Annotated[
    str | None, typer.Option(help="Column with the ids; row numbers from 0 if absent.")
]
FeatureNames = Annotated[
    str | None, typer.Option(help="Columns to measure with, such as a,b,c; all if not given.")
]
Standardize = Annotated[
    bool, typer.Option("--standardize", help="Scale every column to unit variance.")
]
Impute = Annotated[
    str | None,
    typer.Option(
        help="median: fill gaps with the median, or the most frequent category.",
        metavar="median",
    ),
]
Known = Annotated[
    Path | None, typer.Option(help="What is known already: CSV, JSON lines or Parquet.")
]
Who = Annotated[str | None, typer.Option(help="Your name; the user's name if absent.")]
Seed = Annotated[
    int | None,
    typer.Option(help="Seed of a new session.  [default: 0]", min=0, max=2**32 - 1),
]


def label(
    data: Data,
    session: SessionFile,
    clusters: NClusters = None,
    show: Shown = None,
    strategy: StrategyName = None,
    id_column: IdColumn = None,
    features: FeatureNames = None,
    standardize: Standardize = False,
    impute: Impute = None,
    constraints: Known = None,
    constraints_out: Annotated[
        Path | None,
        typer.Option(help="Write the answers there as constraints: .csv, .jsonl or .parquet."),
    ] = None,
    who: Who = None,
    questions: Annotated[
        int | None, typer.Option(help="Stop after so many answers.", min=1)
    ] = None,
    seed: Seed = None,
) -> None:
    """Say of two records whether they belong together; one key an answer.

    Keys: s same, d different, u unsure, z undo, q quit. Fields that differ are marked with a star.
    Every answer is on the disk before the next question appears; the same command goes on where
    you stopped, with the options it was begun with. Several people may label at once, each in a
    terminal of their own.

    Columns of free text that are shown are not measured with. Without a terminal, answers are read
    from standard input, one a line.

    Examples:

        linkwise label beans.csv -k 3 --session work.db --id-column bean --show bean,notes

        linkwise label beans.csv --session work.db --constraints-out links.csv
    """
    with out.plain_errors():
        kept = _kept(session)
        given = _Options(id_column, features, show, standardize or None, impute).filled(kept)
        check_target(constraints_out, "--constraints-out", [data, session, constraints])
        with out.busy(f"reading {data.name}", data):
            task = _read(data, given)
        known = None
        if constraints is not None:
            known = out.read_constraints(constraints, "text" if task.ids else "auto", [])
        begun = {"n_clusters": clusters, "strategy": _strategy(strategy), "random_state": seed}
        work = _open(session, kept, task, begun, known, who, given)
    with work:
        _interview(work, task, questions)
        with out.plain_errors():
            if constraints_out is not None:
                work.constraints.write(constraints_out)
        _tell(work, session, constraints_out)


@dataclass(frozen=True)
class _Options:
    """How the data is to be read and shown."""

    id_column: str | None
    features: str | None
    show: str | None
    standardize: bool | None
    impute: str | None
    image_column: str | None = None  # of the studio; never measured with
    images: str | None = None

    def filled(self, kept: dict[str, Any]) -> _Options:
        """With what the session remembers in place of what is not given."""
        about = kept.get("about", {})
        given = {name: getattr(self, name) for name in _REMEMBERED}
        return _Options(**{n: about.get(n) if v is None else v for n, v in given.items()})


@dataclass(frozen=True)
class _Task:
    """The rows to ask about, and what is shown of them."""

    path: Path
    X: NDArray[np.float64]
    ids: list[str] | None
    record: Callable[[int], dict[str, str]]
    cells: dict[str, NDArray[np.object_]]
    features: list[str]
    recipe: str  # lines of Python that make X and ids


def _kept(session: Path) -> dict[str, Any]:
    from linkwise.active._settings import stored_settings

    return stored_settings(session) if session.exists() else {}


def _strategy(name: str | None) -> str | None:
    if name is not None and name not in STRATEGIES:
        raise ValueError(f"--strategy {name}: expected one of {', '.join(STRATEGIES)}")
    return None if name is None else STRATEGIES[name]


def _read(data: Path, given: _Options) -> _Task:
    from linkwise.datasets import prepare_features, read_table

    if given.impute not in (None, "median"):
        raise ValueError(f"--impute {given.impute}: expected median")
    table = read_table(data)
    ids = out.read_ids(table, given.id_column)
    shown = list(table.columns) if given.show is None else column_names(given.show, "--show")
    for name in shown:
        table.column(name)  # says what is wrong
    leave_out = [name for name in (given.id_column, given.image_column) if name is not None]
    chosen = None if given.features is None else column_names(given.features)
    if chosen is None and given.show is not None:
        leave_out += [name for name in shown if name not in leave_out and _is_prose(table, name)]
    how = {
        "leave_out": leave_out,
        "impute": given.impute,
        "standardize": bool(given.standardize),
    }
    made = prepare_features(table, chosen, **how)  # type: ignore[arg-type]
    pictures = [] if given.image_column is None else [given.image_column]
    cells = {name: table.text(name) for name in [*shown, *pictures]}

    def record(row: int) -> dict[str, str]:
        return {name: cells[name][row] for name in shown}

    recipe = _recipe(data, given.id_column, chosen, how)
    return _Task(data, made.X, ids, record, cells, list(made.names), recipe)


def _recipe(
    data: Path, id_column: str | None, chosen: list[str] | None, how: dict[str, Any]
) -> str:
    """Python that reads the data in the same way."""
    options = ", ".join(f"{name}={value!r}" for name, value in how.items())
    ids = "None" if id_column is None else f"[name.strip() for name in table.text({id_column!r})]"
    return (
        "from linkwise.datasets import prepare_features, read_table\n\n"
        f"table = read_table({str(data.resolve())!r})\n"
        f"X = prepare_features(table, {chosen!r}, {options}).X\n"
        f"ids = {ids}\n"
    )


def _is_prose(table: Table, name: str) -> bool:
    """Whether a column is text that hardly repeats: names, descriptions."""
    column = table.column(name)
    return column.dtype == object and len(set(column)) > len(column) / 2


def _open(
    path: Path,
    kept: dict[str, Any],
    task: _Task,
    begun: dict[str, Any],
    known: Any,
    who: str | None,
    given: _Options,
) -> Session:
    """Begin a session, or go on with one; what is given must be what it was begun with."""
    from linkwise.active import Session

    if not kept:
        about = {name: getattr(given, name) for name in _REMEMBERED}
        return Session(
            task.X,
            begun["strategy"] or "ExploreConsolidate",
            n_clusters=begun["n_clusters"],
            path=path,
            sample_ids=task.ids,
            constraints=known,
            random_state=begun["random_state"] or 0,
            who=who,
            about={**about, "source": str(task.path)},
        )
    if known is not None:
        raise ValueError(f"--constraints: {path} is there already; they are only for a new session")
    there = {**kept, "strategy": kept["strategy"]["name"]}
    options = {"n_clusters": "-k", "strategy": "--strategy", "random_state": "--seed"}
    for name, option in options.items():
        if begun[name] is not None and begun[name] != there[name]:
            raise ValueError(
                f"{option} {begun[name]}: {path} was begun with {there[name]}; leave it out, or "
                "begin a new session with its answers (--constraints-out, then --constraints)"
            )
    return Session.open(path, task.X, sample_ids=task.ids, who=who)


def _interview(work: Session, task: _Task, n: int | None) -> None:
    from linkwise.active import TerminalOracle

    warnings.simplefilter("ignore")  # a refit in the background must not write over a question
    oracle = TerminalOracle(
        task.record, name=work.name, progress=lambda: work.progress, console=out.console
    )
    with oracle:
        work.run(oracle, n)


def _tell(work: Session, path: Path, written: Path | None) -> None:
    now = work.progress
    out.console.print(
        f"answers in [bold]{escape(str(path))}[/bold]: {now.n_answers} in all, {now.n_same} same, "
        f"{now.n_different} different, {now.n_unsure} unsure.",
        soft_wrap=True,
        highlight=False,
    )
    if now.n_placed < now.n_rows and work.ask() is None:
        out.console.print("nothing is left to ask", highlight=False)
    out.console.print(now.hint, soft_wrap=True, highlight=False)
    if written is not None:
        out.console.print(f"constraints: [bold]{escape(str(written))}[/bold]", soft_wrap=True)
