"""Set questions: up to 12 records on one card, "put together what belongs together".

One answer to a card is many links: those within a group, as a chain, and one between each two
groups; the closure says the rest. They are stored as one step, and undone as one.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, pairwise
from math import isfinite
from numbers import Integral, Real
from typing import TYPE_CHECKING, NamedTuple

from linkwise._errors import InputError
from linkwise._validation import check_number

from ._incremental_closure import IncrementalClosure
from ._questions import Dispute, Question, Verdict

if TYPE_CHECKING:
    from ._answer_log import AnswerLog
    from ._refit import AnswerPrefix
    from ._store import Store
    from ._strategy import QueryContext, Strategy

MOST_RECORDS = 12  # on one card: more are not seen at a glance
PENDING_SECONDS = 15 * 60.0  # after which an unanswered question may go to another annotator
Groups = Sequence[Sequence[int]]
Weights = float | Mapping[tuple[int, int], float]


class SetQuestion(NamedTuple):
    """Which of these rows belong together?

    Examples
    --------
    >>> from linkwise.active import SetQuestion
    >>> SetQuestion((4, 7, 9)).pairs
    [Question(i=4, j=7), Question(i=4, j=9)]
    """

    rows: tuple[int, ...]

    @property
    def pairs(self) -> list[Question]:
        """The first row with each other one: the pairs that are pending until it is answered."""
        return [Question(self.rows[0], row) for row in self.rows[1:]]


def links_of_groups(
    groups: Groups, known: IncrementalClosure, weights: Weights = 1.0
) -> list[tuple[int, int, Verdict, float]]:
    """The links implied by groups of rows, without known ones."""
    pairs: list[tuple[int, int, Verdict]] = []
    pairs += [(i, j, "same") for group in groups for i, j in pairwise(group)]
    pairs += [(a[0], b[0], "different") for a, b in combinations(groups, 2)]
    found = []
    for i, j, said in pairs:
        if known.relation(i, j) == said:
            continue
        pair = Question(i, j).pair
        weight = weights.get(pair, 1.0) if isinstance(weights, Mapping) else weights
        found.append((i, j, said, float(weight)))
    return found


def check_groups(groups: object, n_rows: int) -> list[list[int]]:
    """Groups of different rows of the data; refuses anything else."""
    if not isinstance(groups, Iterable) or isinstance(groups, str | Mapping):
        raise InputError(f"groups={groups!r}: expected lists of row numbers")
    found: list[list[int]] = []
    for group in groups:
        if not isinstance(group, Iterable) or isinstance(group, str):
            raise InputError(f"groups: {group!r} is not a list of row numbers")
        found.append([_row(row, n_rows) for row in group])
    rows = [row for group in found for row in group]
    if len(set(rows)) < len(rows):
        twice = next(row for row in rows if rows.count(row) > 1)
        raise InputError(f"groups: row {twice} stands twice; each row belongs to one group")
    if len(rows) > MOST_RECORDS:
        raise InputError(f"groups: {len(rows)} rows; at most {MOST_RECORDS} fit on one card")
    return [group for group in found if group]


def _row(row: object, n_rows: int) -> int:
    if isinstance(row, bool) or not isinstance(row, Integral):
        raise InputError(f"groups: {row!r} is no row number")
    number = int(row)
    if not 0 <= number < n_rows:
        raise InputError(f"groups: there is no row {number}; rows are 0..{n_rows - 1}")
    return number


def _check_weights(weights: Weights) -> None:
    for weight in weights.values() if isinstance(weights, Mapping) else [weights]:
        check_number("weight", weight, Real, 0.0)
        if not weight > 0 or not isfinite(weight):
            raise InputError(f"weight={weight} must be a positive, finite number")


class SetQuestionsMixin:
    """The set questions of a `Session`."""

    if TYPE_CHECKING:
        who: str
        strategy: Strategy
        _lock: threading.RLock
        _store: Store
        _log: AnswerLog
        _context: QueryContext
        _view: object
        _prefix: AnswerPrefix

        @property
        def _n(self) -> int: ...

        def _person(self, who: str | None) -> str: ...

        def _sync(self) -> None: ...

        def _replay(self) -> None: ...

        def _notify(self) -> None: ...

        def _await_view(self) -> tuple[AnswerPrefix | None, object]: ...

    def ask_set(self, size: int = 8, *, who: str | None = None) -> SetQuestion | None:
        """Return rows to be grouped by an annotator; see `tell_set`.

        The card begins with the next question of the strategy; the other rows are those whose
        comparison with rows on the card has the largest value.

        Parameters
        ----------
        size : int, default=8
            The most rows, 2 to 12.
        who : str, default=None
            Name of the annotator; the session's `who` by default.

        Returns
        -------
        question : SetQuestion or None
            None when nothing is left to ask.

        Examples
        --------
        >>> from linkwise import Session
        >>> X = [[0.0], [0.2], [5.0], [5.2], [9.0]]
        >>> with Session(X) as session:
        ...     card = session.ask_set(5)
        ...     clashes = session.tell_set([[0, 1], [2, 3], [4]])
        ...     print(sorted(card.rows), session.constraints, session.ask())
        [0, 1, 2, 3, 4] Constraints(must_link=2, cannot_link=3) None
        """
        check_number("size", size, Integral, 2)
        if size > MOST_RECORDS:
            raise InputError(f"size={size}: a card has at most {MOST_RECORDS} records")
        who = self._person(who)
        while True:
            seen, view = self._await_view()
            with self._lock, self._store.writing():
                self._sync()
                if self.strategy.uses_model and seen != self._prefix.seen:
                    continue  # others answered meanwhile
                self._view = view
                pending = self._store.pending()
                pending.pop(who, None)
                self._context.pending = [q for asked in pending.values() for q in asked]
                rows = self.strategy.question_set(self._context, size)
                card = SetQuestion(rows) if len(rows) > 1 else None
                self._store.reserve(who, [] if card is None else card.pairs, PENDING_SECONDS)
                return card

    def tell_set(
        self, groups: Groups, *, weight: Weights = 1.0, who: str | None = None
    ) -> list[Dispute]:
        """Record which rows belong together. It is on disk when this returns.

        Parameters
        ----------
        groups : sequence of sequences of int
            Rows of one group belong together, rows of two groups do not. Rows of a card
            in no group remain open.
        weight : float or mapping from (i, j) to float, default=1.0
            How much it counts, for all links or for each pair with i < j.
        who : str, default=None
            Name of the annotator; the session's `who` by default.

        Returns
        -------
        disputes : list of Dispute
            What it contradicts. `undo` takes the whole card back.
        """
        found = check_groups(groups, self._n)
        _check_weights(weight)
        who = self._person(who)
        with self._lock, self._store.writing():
            self._sync()
            given = links_of_groups(found, self._context.known, weight)
            new = {answer.id for answer in self._store.add_all(given, who, together=True)}
            self._store.reserve(who, [], PENDING_SECONDS)
            if new:
                self._replay()
            clashes = self._log.disputes(new)
        self._notify()
        return clashes
