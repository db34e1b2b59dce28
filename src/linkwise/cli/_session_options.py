"""What `linkwise label` and `linkwise studio` share: their options, and opening a session."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import _output as out
from ._input import Reading, column_names, read_constraints, read_ids, recognized_ids
from ._options import DATA, KNOWLEDGE, METHOD, OUTPUT, count_option, option

if TYPE_CHECKING:
    from linkwise._types import JsonDict, Matrix
    from linkwise.active import Session
    from linkwise.constraints import Constraints
    from linkwise.tables import Preparation

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
SessionFile = Annotated[
    Path | None,
    option(
        OUTPUT,
        about="File that keeps the answers; made if it is not there.  [default: beside the data, "
        "such as beans.session.db]",
    ),
]
NClusters = Annotated[int | None, count_option("Number of clusters, if you know it.")]
Shown = Annotated[
    str | None, option(DATA, about="Columns to show, such as name,description; all if absent.")
]
StrategyName = Annotated[
    str | None,
    option(METHOD, about=f"Which question comes next: {', '.join(STRATEGIES)}.  [default: repair]"),
]
Known = Annotated[
    Path | None,
    option(
        KNOWLEDGE, "--constraints", about="File of constraints, or a session whose answers to use."
    ),
]
DataChanged = Annotated[
    str | None,
    option(
        DATA,
        about="If the data is not what the session was begun with: carry (answers follow their "
        "rows by id) or refuse.  [default: asked on a terminal, else refuse]",
        metavar="carry|refuse",
        rare=True,
    ),
]
Who = Annotated[
    str | None, option(KNOWLEDGE, about="Your name; the user's name if absent.", rare=True)
]
Seed = Annotated[
    int | None,
    option(METHOD, about="Seed of a new session.  [default: 0]", min=0, max=2**32 - 1, rare=True),
]


@dataclass(frozen=True)
class Options:
    """How the data is to be read and shown; a session remembers it."""

    id_column: str | None = None
    features: str | None = None
    text_column: str | None = None
    embedding: str | None = None
    no_scale: bool | None = None
    missing: list[str] | None = None
    encoding: str | None = None
    sheet: str | None = None
    show: str | None = None
    image_column: str | None = None  # of the studio; never a feature
    images: str | None = None

    @property
    def reading(self) -> Reading:
        """How the file is to be read."""
        return Reading(
            self.id_column, self.features, self.text_column, self.embedding, bool(self.no_scale),
            tuple(self.missing or ()), self.encoding, self.sheet,
        )  # fmt: skip

    def filled(self, kept: JsonDict) -> Options:
        """With what the session remembers in place of what is not given."""
        about = kept.get("about", {})
        return Options(**{n: about.get(n) if v is None else v for n, v in vars(self).items()})


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
    numbers: dict[str, Any] = field(default_factory=dict)


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
    how = given.reading
    table = how.table(data)
    id_column = given.id_column or recognized_ids(table)
    ids = read_ids(table, id_column)
    shown = list(table.columns) if given.show is None else column_names(given.show, "--show")
    for name in shown:
        table.column(name)  # says what is wrong
    leave_out = [name for name in (id_column, given.image_column) if name is not None]
    made = how.rows(table, leave_out)
    pictures = [] if given.image_column is None else [given.image_column]
    cells = {name: table.text(name).tolist() for name in [*shown, *pictures]}

    def record(row: int) -> dict[str, str]:
        return {name: str(cells[name][row]) for name in shown}

    return SessionInput(
        data, made.X, ids, record, cells, list(made.names),
        _recipe(data, how, id_column, leave_out), made.units,
        {name: table.text(name).tolist() for name in table.columns if name not in cells},
        made.preparation, {name: table.columns[name] for name in table.numeric_names},
    )  # fmt: skip


def _recipe(data: Path, how: Reading, id_column: str | None, leave_out: list[str]) -> str:
    """Python that reads the table, its ids and its features in the same way."""
    reading = {name: getattr(how, name) for name in ("missing", "encoding", "sheet")}
    made = {
        "columns": how.features and column_names(how.features),
        "texts": how.text_column and column_names(how.text_column),
        "leave_out": leave_out,
        "embedding": how.embedding,
    }
    scale = ", scale=False" if how.no_scale else ""
    ids = "None" if id_column is None else f"[name.strip() for name in table.text({id_column!r})]"
    return (
        "from linkwise import read_table, table_features\n\n"
        f"table = read_table({str(data.resolve())!r}{_written(reading)})\n"
        f"ids = {ids}\n"
        f"X = table_features(table{_written(made)}{scale}).X\n"
    )


def _written(how: JsonDict) -> str:
    return "".join(f", {name}={value!r}" for name, value in how.items() if value)


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
        about = dict(vars(given))
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
    for name, flag in options.items():
        if begun[name] is not None and begun[name] != there[name]:
            raise ValueError(
                f"{flag} {begun[name]}: {path} was begun with {there[name]}; leave it out, or "
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
