"""The answers of a session: which of them count, what a fit knows of them, and import.

`AnswerLog` keeps active, accepted and disputed answers with the steps of undo; an `AnswerPrefix` is
the first answers of a session, to which a fit belongs.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from linkwise._errors import InputError
from linkwise.constraints import Constraints, as_constraints
from linkwise.constraints._diagnosis import Given

from ._corrections import Correction, overruled_by
from ._incremental_closure import IncrementalClosure, explain, fold, links
from ._questions import Answer, ClusterCountAnswer, Dispute, Question, Verdict
from ._store import Store

GIVEN_CONSTRAINTS = "known beforehand"  # who gave the constraints that a session began with

LogEntry = Answer | ClusterCountAnswer | Correction


def fold_with(
    active: Sequence[Answer], corrections: Sequence[Correction]
) -> tuple[IncrementalClosure, list[Answer], list[Answer]]:
    """`fold`, in which each correction takes the answers it overrules out of the closure."""
    known, accepted, disputed = fold(())
    left, overruled = list(corrections), set[int]()
    for answer in (*active, None):
        while left and (answer is None or left[0].after < answer.id):
            overruled |= set(left.pop(0).overruled)
            known = fold(a for a in accepted if a.id not in overruled)[0]
        if answer is not None:
            added = known.add(answer.i, answer.j, answer.said, answer.weight)
            (accepted if added else disputed).append(answer)
    return known, accepted, disputed


class Phase(NamedTuple):
    """A part of a session with a constant number of clusters."""

    base: int  # how many answers were there when it began; the first of its fits is made of these
    n_clusters: int | None
    correction: Correction | None = None  # what it began with, if that was no number of clusters

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for equal phases."""
        told = (self.base, self.n_clusters)
        return told if self.correction is None else (*told, self.correction.key)


@dataclass(frozen=True)
class AnswerPrefix:
    """The first answers of a session, to which a fit belongs."""

    answers: tuple[Answer, ...]  # in the order in which they count
    # numbers of clusters so far; the first begins with the given constraints
    phases: tuple[Phase, ...]
    every: int | None  # a fit is due after this number of further answers

    @cached_property
    def key(self) -> str:
        """Equal for equal answers and numbers of clusters."""
        told = [(a.i, a.j, a.said, a.weight) for a in self.answers]
        phases = [phase.key for phase in self.phases]
        return hashlib.sha256(repr((told, phases, self.every)).encode()).hexdigest()

    @property
    def base(self) -> int:
        """Number of answers of the first fit of this phase."""
        return self.phases[-1].base

    @property
    def n_clusters(self) -> int | None:
        """Number of clusters, if it is known."""
        return self.phases[-1].n_clusters

    @property
    def n_uncorrected(self) -> int | None:
        """Number of clusters that was set, without merges and splits by corrections.

        Corrections bind the rows of their clusters: the other rows need no more, or fewer, clusters
        than before.
        """
        last = max(p for p, phase in enumerate(self.phases) if phase.correction is None)
        k, changes = self.phases[last].n_clusters, self.phases[:last]
        if k is None:
            return None
        return max(1, k - sum(p.correction.change for p in changes if p.correction is not None))

    @property
    def corrections(self) -> list[Correction]:
        """Corrections so far, in order."""
        return [phase.correction for phase in self.phases if phase.correction is not None]

    @property
    def counted(self) -> list[Answer]:
        """Answers that no correction overrules."""
        overruled = overruled_by(self.corrections)
        return [answer for answer in self.answers if answer.id not in overruled]

    @property
    def new_correction(self) -> Correction | None:
        """The correction that the first fit of this phase takes in."""
        return self.phases[-1].correction if len(self.answers) <= self.base else None

    @property
    def before(self) -> AnswerPrefix | None:
        """The prefix whose fit is the warm start of this one."""
        more = len(self.answers) - self.base
        if more <= 0:
            return None if len(self.phases) == 1 else replace(self, phases=self.phases[:-1]).due
        rounds = 0 if self.every is None else (more - 1) // self.every
        return self._first(self.base + rounds * (self.every or 0))

    @property
    def due(self) -> AnswerPrefix:
        """The last prefix at which a fit is due."""
        more = max(0, len(self.answers) - self.base)
        rounds = 0 if self.every is None else more // self.every
        return self._first(self.base + rounds * (self.every or 0))

    @property
    def seen(self) -> AnswerPrefix | None:
        """The prefix whose fit the next question may depend on: the one before `due`.

        One round behind, the fit has had the time of a whole round to get ready. It is always that
        one, never another that happens to be ready, so that a replay chooses the same question.
        """
        return self.due.before

    def _first(self, n_answers: int) -> AnswerPrefix:
        return replace(self, answers=self.answers[:n_answers])


class AnswerLog:
    """The answers in the store, with their closure; `sync` keeps it up to date."""

    def __init__(
        self,
        store: Store,
        n_clusters: int | None,
        ids: Sequence[Hashable] | None,
        weighs: bool = False,
    ):
        self._store, self._begun_with, self._ids, self._weighs = store, n_clusters, ids, weighs
        self.read()

    def read(self) -> None:
        """Read everything from the store again."""
        self._use(self._store.answers(), self._store.counts(), self._store.corrections())

    def _use(
        self,
        answers: list[Answer],
        counts: list[ClusterCountAnswer],
        corrections: list[Correction],
    ) -> None:
        self.answers, self.counts, self.corrections = answers, counts, corrections
        self.active = [answer for answer in self.answers if answer.is_active]
        self.known, self.accepted, self.disputed = fold_with(self.active, self.standing)
        self.phases = self._find_phases()
        self._overruled = overruled_by(self.standing)
        self._of_pair: dict[tuple[int, int], list[Answer]] = {}
        for answer in self.active:
            self._of_pair.setdefault(answer.question.pair, []).append(answer)

    def repeated(self, question: Question, said: Verdict, who: str | None = None) -> Answer | None:
        """The last active answer that says the same, of `who` or (None) of anybody.

        An answer that a correction overrules may be given again.
        """
        return next(
            (
                answer
                for answer in reversed(self._of_pair.get(question.pair, []))
                if answer.said == said
                and who in (None, answer.who)
                and answer.id not in self._overruled
            ),
            None,
        )

    def retract_others(self, question: Question, said: Verdict, who: str) -> bool:
        """Retract the other answers of a person to a pair; whether there were any."""
        others = [
            answer.id
            for answer in self._of_pair.get(question.pair, [])
            if answer.who == who and answer.said != said
        ]
        self._store.retract(others, who)
        return bool(others)

    @property
    def told(self) -> list[Answer]:
        """What the model uses: accepted answers; all active ones if it weighs them."""
        return self.active if self._weighs else self.accepted

    @property
    def standing(self) -> list[Correction]:
        """Corrections that were not taken back."""
        return [one for one in self.corrections if one.is_active]

    @property
    def counted(self) -> list[Answer]:
        """Accepted answers that no correction overrules."""
        return [answer for answer in self.accepted if answer.id not in self._overruled]

    def sync(self, own: Answer | None = None) -> bool:
        """Add what others wrote, or `own`, a new answer; return whether all was read again."""
        if self._store.changed():
            there = (self._store.answers(), self._store.counts(), self._store.corrections())
            if there != (self.answers, self.counts, self.corrections):
                self._use(*there)
                return True
        elif own is not None:
            self.answers.append(own)
            self.active.append(own)
            self._of_pair.setdefault(own.question.pair, []).append(own)
            added = self.known.add(own.i, own.j, own.said, own.weight)
            (self.accepted if added else self.disputed).append(own)
        return False

    def _find_phases(self) -> tuple[Phase, ...]:
        ids = [answer.id for answer in self.told]
        beforehand = sum(answer.who == GIVEN_CONSTRAINTS for answer in self.told)
        phases = [Phase(beforehand, self._begun_with)]
        said: list[ClusterCountAnswer | Correction] = [*self.counts, *self.corrections]
        for one in sorted(said, key=lambda one: (one.after, one.at)):
            base, last = max(beforehand, bisect_right(ids, one.after)), phases[-1].n_clusters
            if not one.is_active or (isinstance(one, Correction) and one.kind == "rename"):
                continue
            if isinstance(one, Correction):
                before = one.details["n_before"] if last is None else last
                phases.append(Phase(base, before + one.change, one))
            elif one.n_clusters != last:
                phases.append(Phase(base, one.n_clusters))
        return tuple(phases)

    def disputes(self, among: set[int] | None = None) -> list[Dispute]:
        """Answers that contradict earlier ones, with their proofs; `among` filters by id."""
        return [
            explain(answer, self.counted, self._ids)
            for answer in self.disputed
            if among is None or answer.id in among
        ]

    # ---------------------------------------------------------------- taking back

    def steps(self, who: str) -> list[list[LogEntry]]:
        """Active answers of a person in order; answers given together form one step."""
        mine = {answer.id: answer for answer in self.active if answer.who == who}
        steps: list[tuple[tuple[int, int], list[LogEntry]]] = []
        others: list[ClusterCountAnswer | Correction] = [*self.counts, *self.corrections]
        for place, one in enumerate(others):
            if one.is_active and one.who == who:
                numbers = one.answers if isinstance(one, ClusterCountAnswer) else ()
                with_it = [mine.pop(number) for number in numbers if number in mine]
                steps.append(((one.after, place + 1), [one, *with_it]))
        cards: dict[int, list[LogEntry]] = {}
        for number, answer in mine.items():
            cards.setdefault(number if answer.card is None else answer.card, []).append(answer)
        steps += [((number, 0), together) for number, together in cards.items()]
        return [step for _, step in sorted(steps, key=lambda step: step[0])]

    def find(self, said: LogEntry | int) -> LogEntry:
        """The active entry with this `id`; ValueError if there is none."""
        there: Sequence[LogEntry] = self.active
        if isinstance(said, ClusterCountAnswer | Correction):
            there = self.counts if isinstance(said, ClusterCountAnswer) else self.corrections
        number = said if isinstance(said, int) else said.id
        found = [one for one in there if one.id == number and one.is_active]
        if not found:
            raise ValueError(f"there is no answer {number} that stands")
        return found[0]

    def retract(self, said: LogEntry, who: str) -> None:
        """Mark an entry as undone; a cluster count takes the answers given with it along."""
        if isinstance(said, ClusterCountAnswer):
            self._store.retract_count(said, who)
        elif isinstance(said, Correction):
            self._store.retract_correction(said.id, who)
        else:
            self._store.retract([said.id], who)


# -------------------------------------------------------------------- import

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
    place: Mapping[Hashable, int] = {row: row for row in range(n_rows)}
    if ids is not None:
        place = {str(name): row for row, name in enumerate(ids)}
    given: list[tuple[int, int, Verdict, float]] = []
    dropped, n_repeated = list[str](), 0
    pairs = known.as_pairs()
    for one in (pairs.at(number) for number in range(pairs.n_constraints)):
        names = [row if ids is None else str(row) for row in one.rows]
        reason = _why_not(one, names, place)
        if reason:
            dropped.append(f"{one} ({reason})")
            continue
        i, j = (place[name] for name in names)
        said: Verdict = "same" if one.kind == "must" else "different"
        if repeated(Question(i, j), said) is None:
            given.append((i, j, said, one.weight))
        else:
            n_repeated += 1
    return given, ImportedAnswers(len(given), n_repeated, dropped)


def _why_not(one: Given, names: Sequence[Hashable], place: Mapping[Hashable, int]) -> str:
    """Why a constraint cannot be an answer; empty if it can."""
    if one.kind == "relative":
        return "relative; a session asks about pairs"
    missing = [str(name) for name in names if name not in place]
    return f"no row is called {missing[0]}" if missing else ""
