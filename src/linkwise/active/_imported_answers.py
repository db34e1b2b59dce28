"""Import of the answers of another session, or of constraints; invalid answers are listed.

A file may be that of a session (SQLite) or of constraints; rows are matched by id if both have ids.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from linkwise._errors import InputError
from linkwise.constraints import Constraints, as_constraints

from ._corrections import overruled_by
from ._incremental_closure import links
from ._questions import Question, Verdict
from ._store import Store

_SQLITE = b"SQLite format 3\x00"
_MAX_SHOWN = 10


@dataclass(frozen=True)
class ImportedAnswers:
    """What an import took in, and what it did not.

    Attributes
    ----------
    n_taken : int
        Answers that were taken in.
    n_repeated : int
        Answers that the session had already.
    dropped : list of str
        Answers that are not imported, with reasons.

    Examples
    --------
    >>> from linkwise import Constraints, Session
    >>> with Session([[0.0], [1.0], [9.0]], sample_ids=["a", "b", "c"]) as session:
    ...     print(session.import_answers(Constraints(must_link=[("a", "b"), ("a", "x")])))
    1 answer taken in
    not taken: a and x must be together (no row is called x)
    """

    n_taken: int = 0
    n_repeated: int = 0
    dropped: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        text = f"{self.n_taken:,} answer{'' if self.n_taken == 1 else 's'} taken in"
        text += f", {self.n_repeated:,} known already" if self.n_repeated else ""
        lines = [f"not taken: {what}" for what in self.dropped[:_MAX_SHOWN]]
        more = len(self.dropped) - _MAX_SHOWN
        return "\n".join([text, *lines, *([f"... and {more:,} more"] if more > 0 else [])])


def read_source(source: Any) -> Constraints:
    """Constraints out of a session, a file of one, or whatever constraints are made of."""
    known = getattr(source, "constraints", None)
    if isinstance(known, Constraints):
        return known
    if isinstance(source, str | Path) and is_session(Path(source)):
        return _answers_in(Path(source))
    return as_constraints(source)


def is_session(path: Path) -> bool:
    """Whether a file is an SQLite database, as sessions are."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE


def _answers_in(path: Path) -> Constraints:
    """Answers in the file of a session that count, by id if rows have ids."""
    from ._answer_log import fold_with  # which needs the settings, which need this module

    store = Store(path)
    try:
        answers, names = store.answers(), store.names()
        corrections = [one for one in store.corrections() if one.is_active]
    finally:
        store.close()
    accepted = fold_with([one for one in answers if one.is_active], corrections)[1]
    overruled = overruled_by(corrections)
    rows = {row for answer in accepted for row in answer.question}
    called = names if rows <= names.keys() else None
    return links([answer for answer in accepted if answer.id not in overruled], called)


def sort_answers(
    known: Constraints,
    n_rows: int,
    ids: Sequence[Hashable] | None,
    repeated: Callable[[Question, Verdict], object] = lambda *_: None,
) -> tuple[list[tuple[int, int, Verdict, float]], ImportedAnswers]:
    """Answers that rows here can have: row, row, answer, weight; and the others."""
    if known.n_constraints and known.has_ids and ids is None:
        raise InputError(
            f"the answers name ids ({known.rows[0]!r}, ...) but the rows here have none; "
            "{give_ids}"
        )
    place: dict[Any, int] = dict(enumerate(range(n_rows)))
    if ids is not None:
        place = {str(name): row for row, name in enumerate(ids)}
    given: list[tuple[int, int, Verdict, float]] = []
    dropped, n_repeated = list[str](), 0
    pairs = known.as_pairs()
    for one in (pairs.at(number) for number in range(pairs.n_constraints)):
        names = [row if ids is None else str(row) for row in one.rows]
        missing = [str(name) for name in names if name not in place]
        if one.kind == "relative":
            dropped.append(f"{one} (relative; a session asks about pairs)")
        elif missing:
            dropped.append(f"{one} (no row is called {missing[0]})")
        else:
            said: Verdict = "same" if one.kind == "must" else "different"
            i, j = (place[name] for name in names)
            if repeated(Question(i, j), said) is not None:
                n_repeated += 1
            else:
                given.append((i, j, said, one.weight))
    return given, ImportedAnswers(len(given), n_repeated, dropped)
