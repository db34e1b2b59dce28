"""What `linkwise label` and `linkwise studio` share: their options, and opening a session."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self

import typer

from . import _output as out
from ._input import Measuring, column_names, read_constraints, read_ids, recognized_ids
from ._options import DATA, KNOWLEDGE, METHOD, OUTPUT, count_option, option

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from linkwise._types import JsonDict, Matrix
    from linkwise.active import Session
    from linkwise.constraints import Constraints
    from linkwise.tables import Preparation

# Values of --strategy, and the names in Python.
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
# Options that a session remembers.
_REMEMBERED = (
    "id_column", "features", "text_column", "embedding", "no_scale", "missing", "encoding", "sheet",
    "show", "image_column", "images",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class SessionRequest(Measuring):
    """The options of both commands."""

    show: Annotated[
        str | None, option(DATA, about="Columns to show, such as name,description; all if absent.")
    ] = None
    data_changed: Annotated[
        str | None,
        option(
            DATA,
            about="If the data changed since the session began: carry (answers follow their rows "
            "by id) or refuse.  [default: asked on a terminal, else refuse]",
            metavar="carry|refuse",
            rare=True,
        ),
    ] = None
    constraints: Annotated[
        Path | None,
        option(
            KNOWLEDGE, about="File of constraints, or a session whose answers to use."
        ),
    ] = None  # fmt: skip
    who: Annotated[
        str | None, option(KNOWLEDGE, about="Your name; the user's name if absent.", rare=True)
    ] = None
    clusters: Annotated[int | None, count_option("Number of clusters, if you know it.")] = None
    strategy: Annotated[
        str | None,
        option(
            METHOD, about=f"How questions are chosen: {', '.join(STRATEGIES)}.  [default: repair]"
        ),
    ] = None
    seed: Annotated[
        int | None,
        option(
            METHOD, about="Seed of a new session.  [default: 0]", min=0, max=2**32 - 1, rare=True
        ),
    ] = None
    session: Annotated[
        Path | None,
        option(
            OUTPUT,
            about="File that keeps the answers; made if it is not there.  [default: beside the "
            "data, such as beans.session.db]",
        ),
    ] = None

    def continued(self, settings: JsonDict) -> Self:
        """With the remembered options of a session in place of those that are absent."""
        about = settings.get("about", {})
        names = [name for name in _REMEMBERED if hasattr(self, name) and not getattr(self, name)]
        return replace(self, **{name: about[name] for name in names if about.get(name)})

    def about(self) -> JsonDict:
        """The options that the session remembers."""
        return {name: getattr(self, name) for name in _REMEMBERED if hasattr(self, name)}

    def session_file(self, data: Path) -> Path:
        """The file of the session, by default beside the data."""
        name = Path(data.name.removesuffix(".gz")).stem
        return self.session or data.with_name(f"{name}.session.db")


@dataclass(frozen=True)
class SessionInput:
    """The rows to ask about, and what is shown of them."""

    path: Path
    X: Matrix
    ids: list[str] | None
    record: Callable[[int], dict[str, str]]
    cells: dict[str, Sequence[str]]
    features: list[str]
    recipe: str  # lines of Python that make X and ids
    units: Matrix | None = None  # X before it was scaled, for display
    others: dict[str, Sequence[str]] = field(default_factory=dict)  # not shown
    preparation: Preparation | None = None
    numbers: dict[str, NDArray[np.float64]] = field(default_factory=dict)


def kept_settings(session: Path) -> JsonDict:
    """The settings of a session; empty for a new one."""
    from linkwise.active._settings import stored_settings

    return stored_settings(session) if session.exists() else {}


def read_session_input(
    data: Path, how: SessionRequest, image_column: str | None = None
) -> SessionInput:
    """The rows of a file, with what is shown of them."""
    table = how.table(data)
    id_column = how.id_column or recognized_ids(table)
    shown = list(table.columns) if how.show is None else column_names(how.show, "--show")
    for name in shown:
        table.column(name)  # raises if there is none
    leave_out = [name for name in (id_column, image_column) if name is not None]
    made = how.rows(table, leave_out)
    pictures = [] if image_column is None else [image_column]
    cells = {name: table.text(name).tolist() for name in [*shown, *pictures]}

    def record(row: int) -> dict[str, str]:
        return {name: str(cells[name][row]) for name in shown}

    return SessionInput(
        data, made.X, read_ids(table, id_column), record, cells, list(made.names),
        _recipe(data, how, id_column, leave_out), made.units,
        {name: table.text(name).tolist() for name in table.columns if name not in cells},
        made.preparation, {name: table.columns[name] for name in table.numeric_names},
    )  # fmt: skip


def _recipe(data: Path, how: Measuring, id_column: str | None, leave_out: list[str]) -> str:
    """Python that reads the table, its ids and its features in the same way."""
    reading = {name: getattr(how, name) for name in ("missing", "encoding", "sheet")}
    made = {
        "columns": how.columns, "texts": how.texts, "leave_out": leave_out,
        "embedding": how.embedding,
    }  # fmt: skip
    scale = ", scale=False" if how.no_scale else ""
    ids = "None" if id_column is None else f"[name.strip() for name in table.text({id_column!r})]"
    return (
        "from linkwise import read_table, table_features\n\n"
        f"table = read_table({str(data.resolve())!r}{_arguments(reading)})\n"
        f"ids = {ids}\n"
        f"X = table_features(table{_arguments(made)}{scale}).X\n"
    )


def _arguments(values: JsonDict) -> str:
    return "".join(f", {name}={value!r}" for name, value in values.items() if value)


def open_session(
    path: Path, settings: JsonDict, task: SessionInput, request: SessionRequest
) -> Session:
    """Begin a session, or continue one with the settings it was begun with."""
    from linkwise.active import Session

    if request.strategy is not None and request.strategy not in STRATEGIES:
        raise ValueError(f"--strategy {request.strategy}: expected one of {', '.join(STRATEGIES)}")
    strategy = None if request.strategy is None else STRATEGIES[request.strategy]
    if settings:
        return _continue_session(path, settings, task, request, strategy)
    known = None if request.constraints is None else _read_known(request.constraints, task)
    with out.warnings_as_notes():
        return Session(
            task.X,
            strategy or "auto",
            n_clusters=request.clusters,
            path=path,
            sample_ids=task.ids,
            constraints=known,
            random_state=request.seed or 0,
            who=request.who,
            about={**request.about(), "source": str(task.path)},
        )


def _continue_session(
    path: Path, settings: JsonDict, task: SessionInput, request: SessionRequest,
    strategy: str | None,
) -> Session:  # fmt: skip
    """Open a session; options that it was begun with cannot change."""
    from linkwise.active import Session

    if request.constraints is not None:
        raise ValueError(f"--constraints: {path} is there already; they are only for a new session")
    changed = {
        "-k": (request.clusters, settings["n_clusters"]),
        "--strategy": (strategy, settings["strategy"]["name"]),
        "--seed": (request.seed, settings["random_state"]),
    }
    for flag, (wanted, there) in changed.items():
        if wanted is not None and wanted != there:
            raise ValueError(
                f"{flag} {wanted}: {path} was begun with {there}; leave it out, or "
                "begin a new session with its answers (--constraints-out, then --constraints)"
            )
    how = _when_changed(path, settings, task, request.data_changed)
    work = Session.open(path, task.X, sample_ids=task.ids, who=request.who, data_changed=how)
    changes = work.snapshot().data_changes
    if changes is not None and request.data_changed is not None:
        out.print_note(f"the data changed: {changes}")
    return work


def _read_known(path: Path, task: SessionInput) -> Constraints:
    """Constraints out of a file of them, or the answers of another session."""
    from linkwise.active._answer_log import is_session, read_source

    if is_session(path):
        return read_source(path)
    return read_constraints(path, "text" if task.ids else "auto", [])


def _when_changed(path: Path, settings: JsonDict, task: SessionInput, wanted: str | None) -> str:
    """Whether answers are carried over if the data changed; asked at a terminal."""
    from linkwise.active._carry import CARRY, REFUSE, preview

    if wanted is not None and wanted not in (CARRY, REFUSE):
        raise ValueError(f"--data-changed {wanted}: expected carry or refuse")
    if wanted is not None or not sys.stdin.isatty():
        return wanted or REFUSE
    changes = preview(path, settings, task.X, task.ids)
    if changes is None:
        return REFUSE
    out.print_note(f"the data changed since {path} was begun: {changes}")
    return CARRY if typer.confirm("Carry the answers over?", err=True) else REFUSE
