"""What `linkwise label` and `linkwise studio` share: their options, and opening a session."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import _output as out
from ._input import (
    Reading,
    check_text_options,
    clusters_option,
    column_names,
    find_embedding,
    find_stop_words,
    make_features,
    read_constraints,
    read_rows,
)

if TYPE_CHECKING:
    from linkwise._types import JsonDict, Matrix
    from linkwise.active import Session
    from linkwise.constraints import Constraints
    from linkwise.datasets import Features, Preparation, Table

# How --strategy calls them, and what they are called in Python.
STRATEGIES = {
    "repair": "Repair",
    "explore": "ExploreConsolidate",
    "minmax": "MinMax",
    "uncertainty": "NormalizedPointUncertainty",
    "random": "RandomPairs",
    "closest": "ClosestPairs",
    "farthest": "FarthestPairs",
    "merges": "NextMerges",
}
# Options that a session remembers, so that they need not be given again.
_REMEMBERED = (
    "id_column",
    "features",
    "show",
    "standardize",
    "impute",
    "text_column",
    "text_embedding",
    "stop_words",
    "image_column",
    "images",
    "missing",
    "encoding",
    "sheet",
)

SessionFile = Annotated[
    Path | None,
    typer.Option(
        help="File that keeps the answers; made if it is not there.  [default: beside the data, "
        "such as beans.session.db]"
    ),
]
NClusters = Annotated[int | None, clusters_option("Number of clusters, if you know it.")]
Shown = Annotated[
    str | None, typer.Option(help="Columns to show, such as name,description; all if absent.")
]
StrategyName = Annotated[
    str | None,
    typer.Option(
        help=f"Which question comes next: {', '.join(STRATEGIES)}.  [default: repair]",
    ),
]
Known = Annotated[
    Path | None, typer.Option(help="What is known already: CSV, JSON lines, Parquet, Excel.")
]
DataChanged = Annotated[
    str | None,
    typer.Option(
        help="If the data is not what the session was begun with: carry (answers follow their "
        "rows by id) or refuse.  [default: asked on a terminal, else refuse]",
        metavar="carry|refuse",
    ),
]
Who = Annotated[str | None, typer.Option(help="Your name; the user's name if absent.")]
Seed = Annotated[
    int | None,
    typer.Option(help="Seed of a new session.  [default: 0]", min=0, max=2**32 - 1),
]


@dataclass(frozen=True)
class Options:
    """How the data is to be read and shown."""

    id_column: str | None
    features: str | None
    show: str | None
    standardize: bool | None
    impute: str | None
    text_column: str | None = None
    image_column: str | None = None  # of the studio; never measured with
    images: str | None = None
    stop_words: str | None = None
    text_embedding: str | None = None
    missing: list[str] | None = None
    encoding: str | None = None
    sheet: str | None = None

    @property
    def reading(self) -> Reading:
        """How the file is to be read."""
        return Reading(tuple(self.missing or ()), self.encoding, self.sheet)

    def filled(self, kept: JsonDict) -> Options:
        """With what the session remembers in place of what is not given."""
        about = kept.get("about", {})
        # A session that knows nothing of stop words was begun when they were kept.
        if about.get("text_column") and not about.get("text_embedding"):
            about = {"stop_words": "none"} | about
        given = {name: getattr(self, name) for name in _REMEMBERED}
        return Options(**{n: about.get(n) if v is None else v for n, v in given.items()})


@dataclass(frozen=True)
class SessionInput:
    """The rows to ask about, and what is shown of them."""

    path: Path
    X: Matrix  # ndarray, or CSR matrix of words
    ids: list[str] | None
    record: Callable[[int], dict[str, str]]
    cells: dict[str, Sequence[str]]
    features: list[str]
    recipe: str  # lines of Python that make X and ids
    units: Any = None  # X before it was standardized, for people to read
    others: dict[str, Sequence[str]] = field(default_factory=dict)  # not shown
    preparation: Preparation | None = None


def session_file(data: Path, session: Path | None) -> Path:
    """The file of a session: the one named, or one beside the data."""
    name = Path(data.name.removesuffix(".gz")).stem
    return data.with_name(f"{name}.session.db") if session is None else session


def kept_settings(session: Path) -> JsonDict:
    """What a session was begun with; empty for a new one."""
    from linkwise.active._settings import stored_settings

    return stored_settings(session) if session.exists() else {}


def _find_strategy(name: str | None) -> str | None:
    """What a strategy is called in Python."""
    if name is not None and name not in STRATEGIES:
        raise ValueError(f"--strategy {name}: expected one of {', '.join(STRATEGIES)}")
    return None if name is None else STRATEGIES[name]


def read_session_input(data: Path, given: Options) -> SessionInput:
    """The rows of a file, with what is shown of them."""
    table, ids = read_rows(data, given.id_column, given.reading)
    find_stop_words(given.stop_words, given.text_column)  # says what is wrong
    find_embedding(given.text_embedding, given.text_column, given.stop_words)
    if given.text_column is not None:
        check_text_options(given.features, given.standardize, given.impute)
    shown = list(table.columns) if given.show is None else column_names(given.show, "--show")
    for name in shown:
        table.column(name)  # says what is wrong
    made, recipe = _features(table, given, shown)
    pictures = [] if given.image_column is None else [given.image_column]
    cells = {name: table.cells(name) for name in [*shown, *pictures]}

    def record(row: int) -> dict[str, str]:
        return {name: cells[name][row] for name in shown}

    head = _recipe(data, given)
    others = {name: table.cells(name) for name in table.columns if name not in cells}
    return SessionInput(
        data, made.X, ids, record, cells, list(made.names), head + recipe, made.units, others,
        made.preparation,
    )  # fmt: skip


def _features(table: Table, given: Options, shown: list[str]) -> tuple[Features, str]:
    """The rows as numbers, and the line of Python that makes them."""
    if given.text_column is not None:
        from linkwise.datasets import prepare_text

        how: JsonDict = {"stop_words": find_stop_words(given.stop_words, given.text_column)}
        if given.text_embedding not in (None, "tfidf"):
            how = {"embedding": given.text_embedding}
        made = prepare_text(table, given.text_column, **how)
        return made, f"X = prepare_text(table, {given.text_column!r}, {_written(how)}).X\n"
    leave_out = [name for name in (given.id_column, given.image_column) if name is not None]
    chosen = None if given.features is None else column_names(given.features)
    if chosen is None and given.show is not None:
        leave_out += [name for name in shown if name not in leave_out and _is_prose(table, name)]
    how = {
        "leave_out": leave_out,
        "impute": given.impute,
        "standardize": bool(given.standardize),
    }
    made = make_features(table, chosen, **how)
    return made, f"X = prepare_features(table, {chosen!r}, {_written(how)}).X\n"


def _written(how: JsonDict) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in how.items())


def _recipe(data: Path, given: Options) -> str:
    """Python that reads the table and its ids in the same way."""
    names = given.id_column
    ids = "None" if names is None else f"[name.strip() for name in table.text({names!r})]"
    how = {name: value for name, value in vars(given.reading).items() if value}
    arguments = ", ".join(filter(None, [repr(str(data.resolve())), _written(how)]))
    return (
        "from linkwise.datasets import prepare_features, prepare_text, read_table\n\n"
        f"table = read_table({arguments})\n"
        f"ids = {ids}\n"
    )


def _is_prose(table: Table, name: str) -> bool:
    """Whether a column is text that hardly repeats: names, descriptions."""
    column = table.column(name)
    return column.dtype == object and len(set(column)) > len(column) / 2


def open_session(
    path: Path,
    kept: JsonDict,
    task: SessionInput,
    begun: JsonDict,
    constraints: Path | None,
    who: str | None,
    given: Options,
    data_changed: str | None = None,
) -> Session:
    """Begin a session, or go on with one; what is given must be what it was begun with."""
    from linkwise.active import Session

    begun = {**begun, "strategy": _find_strategy(begun["strategy"])}
    known = None
    if constraints is not None:
        known = _read_known(constraints, task)
    if not kept:
        about = {name: getattr(given, name) for name in _REMEMBERED}
        with out.warnings_as_notes():
            return Session(
                task.X,
                begun["strategy"] or "auto",
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
    how = _when_changed(path, kept, task, data_changed)
    work = Session.open(path, task.X, sample_ids=task.ids, who=who, data_changed=how)
    if work.data_changes is not None and data_changed is not None:
        out.print_note(f"the data changed: {work.data_changes}")
    return work


def _read_known(path: Path, task: SessionInput) -> Constraints:
    """Constraints out of a file of them, or the answers of another session."""
    from linkwise.active._imported_answers import is_session, read_source

    if is_session(path):
        return read_source(path)
    return read_constraints(path, "text" if task.ids else "auto", [])


def _when_changed(path: Path, kept: JsonDict, task: SessionInput, wanted: str | None) -> str:
    """What to do about data that changed: as wanted, as somebody at the terminal says, or no."""
    from linkwise.active._carry import CARRY, REFUSE, preview

    if wanted is not None and wanted not in (CARRY, REFUSE):
        raise ValueError(f"--data-changed {wanted}: expected carry or refuse")
    if wanted is not None or not sys.stdin.isatty():
        return wanted or REFUSE
    changes = preview(path, kept, task.X, task.ids)
    if changes is None:
        return REFUSE
    out.print_note(f"the data is not what {path} was begun with: {changes}")
    return CARRY if typer.confirm("Carry the answers over?", err=True) else REFUSE
