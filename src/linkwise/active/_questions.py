"""Questions, answers and disputes.

One answer to a set question is many links: those within a group, as a chain, and one between each
two groups; the closure implies the rest. They are stored as one step, and undone as one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations, pairwise
from math import isfinite
from numbers import Integral, Real
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from linkwise._errors import InputError
from linkwise._validation import check_number

if TYPE_CHECKING:
    from linkwise._types import Labels

    from ._incremental_closure import IncrementalClosure

MOST_RECORDS = 12  # on one card: more are not seen at a glance
PENDING_SECONDS = 15 * 60.0  # after which an unanswered question may go to another annotator
Groups = Sequence[Sequence[int]]
Weights = float | Mapping[tuple[int, int], float]
Verdict = Literal["same", "different", "unsure"]
ANSWERS: tuple[Verdict, ...] = get_args(Verdict)
_SHORT: dict[object, Verdict] = {"s": "same", "d": "different", "u": "unsure"}
_TRUTH: dict[object, Verdict] = {True: "same", False: "different", None: "unsure"}


class Question(NamedTuple):
    """Do these two rows belong together?

    Attributes
    ----------
    i : int
        The row the question is about.
    j : int
        The row it is compared with.

    Examples
    --------
    >>> from linkwise.active import Question
    >>> question = Question(7, 2)
    >>> question.pair
    (2, 7)
    """

    i: int
    j: int

    @property
    def pair(self) -> tuple[int, int]:
        """Both rows in ascending order."""
        return (self.i, self.j) if self.i < self.j else (self.j, self.i)


@dataclass(frozen=True)
class Answer:
    """A stored answer.

    Examples
    --------
    >>> from linkwise import Session
    >>> with Session([[0.0], [0.1], [5.0]], n_clusters=2, who="ana") as session:
    ...     _ = session.tell("same", (0, 1), weight=0.8)
    ...     answer = session.snapshot().answers[0]
    >>> answer.said, answer.weight, answer.who, answer.is_active
    ('same', 0.8, 'ana', True)
    """

    id: int  # its number in the session; answers count in this order
    i: int  # the rows, as in `Question`
    j: int  # the rows, as in `Question`
    said: Verdict
    weight: float  # how much it counts, such as the confidence of who gave it
    who: str  # the person, or what answered in their place
    at: datetime  # when it was given (UTC)
    undone_at: datetime | None = None  # when it was taken back; None while it stands
    undone_by: str | None = None
    # the `id` of the first answer of its card, if it was given with others as one answer to a set
    # question
    card: int | None = None

    @property
    def question(self) -> Question:
        """What was asked."""
        return Question(self.i, self.j)

    def is_kept(self, labels: Labels) -> bool:
        """Whether labels satisfy it; -1 is no cluster."""
        together = bool(labels[self.i] == labels[self.j] and labels[self.i] >= 0)
        return self.said == "unsure" or together == (self.said == "same")

    @property
    def is_active(self) -> bool:
        """Whether it was not retracted."""
        return self.undone_at is None


@dataclass(frozen=True)
class ClusterCountAnswer:
    """A number of clusters set during a session.

    Examples
    --------
    >>> from linkwise import Session
    >>> with Session([[0.0], [0.1], [5.0]], n_clusters=3) as session:
    ...     _ = session.set_n_clusters(2)
    ...     session.snapshot().cluster_counts[0].n_clusters
    2
    """

    id: int  # its number; the last one that stands counts
    n_clusters: int | None  # none: not known
    after: int  # the `id` of the last answer that was there already; 0 if there was none
    # the `id` of each answer that was given with it, and is undone with it
    answers: tuple[int, ...]
    who: str
    at: datetime  # when it was given (UTC)
    undone_at: datetime | None = None  # when it was taken back; None while it stands
    undone_by: str | None = None

    @property
    def is_active(self) -> bool:
        """Whether it was not retracted."""
        return self.undone_at is None

    def __str__(self) -> str:
        if self.n_clusters is None:
            return "number of clusters not known"
        return f"{self.n_clusters} cluster{'' if self.n_clusters == 1 else 's'}"


@dataclass(frozen=True)
class Dispute:
    """An answer that contradicts earlier ones; ignored until one of them is retracted.

    Examples
    --------
    >>> from linkwise import Session
    >>> with Session([[0.0], [0.1], [5.0]], n_clusters=2, who="ana") as session:
    ...     _ = session.tell("same", (0, 1)), session.tell("same", (1, 2))
    ...     [dispute] = session.tell("different", (0, 2))
    >>> print(dispute)
    0 and 2 are different, says ana; but earlier answers say the opposite: 0 = 1, 1 = 2
    """

    answer: Answer  # the answer that came last
    # the earlier answers that together say the opposite, in the order of the chain. Taking back
    # any one of them, or `answer`, resolves it (unless other answers say the same)
    against: tuple[Answer, ...]
    # the rows (or ids) along the chain, from one row of `answer` to the other
    rows: tuple[Hashable, ...]

    @property
    def choices(self) -> tuple[Answer, ...]:
        """The answers of which at least one must be retracted."""
        return (*self.against, self.answer)

    def __str__(self) -> str:
        claim = "the same" if self.answer.said == "same" else "different"
        steps = [f"{a} {'=' if s.said == 'same' else '≠'} {b}" for a, b, s in self._steps()]
        return (
            f"{self.rows[0]} and {self.rows[-1]} are {claim}, says {self.answer.who}; "
            f"but earlier answers say the opposite: {', '.join(steps)}"
        )

    def _steps(self) -> list[tuple[Hashable, Hashable, Answer]]:
        return list(zip(self.rows[:-1], self.rows[1:], self.against, strict=True))


def parse_answer(given: object) -> Verdict:
    """Parse an answer: same/s/True, different/d/False, unsure/u/None."""
    if given is None or isinstance(given, bool):
        return _TRUTH[given]
    word = given.strip().lower() if isinstance(given, str) else given
    if isinstance(word, str):
        word = _SHORT.get(word, word)
        if word in ANSWERS:
            return word
    raise ValueError(f"answer {given!r}: expected one of {', '.join(map(repr, ANSWERS))}")


def as_question(given: object, n_rows: int) -> Question:
    """A question about two different rows of the data, from a question or a pair."""
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) != 2:
        raise ValueError(f"question {given!r}: expected two row numbers (i, j)")
    try:
        i, j = (row.__index__() for row in given)
    except AttributeError:
        raise TypeError(f"question {given!r}: expected row numbers, which are integers") from None
    for row in (i, j):
        if not 0 <= row < n_rows:
            raise ValueError(f"question {(i, j)}: there is no row {row}; rows are 0..{n_rows - 1}")
    if i == j:
        raise ValueError(f"question {(i, j)}: a row is the same as itself; name two rows")
    return Question(i, j)


# -------------------------------------------------------------------- set questions


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
    """The links implied by groups of rows, without known ones.

    A link with a weight of its own is evidence also where it repeats what others imply, but not
    where the pair was asked before.
    """
    pairs: list[tuple[int, int, Verdict]] = []
    pairs += [(i, j, "same") for group in groups for i, j in pairwise(group)]
    pairs += [(a[0], b[0], "different") for a, b in combinations(groups, 2)]
    found = []
    for i, j, said in pairs:
        pair = Question(i, j).pair
        weight = weights.get(pair, 1.0) if isinstance(weights, Mapping) else weights
        if known.relation(i, j) == said and (weight == 1.0 or pair in known.asked):
            continue
        found.append((i, j, said, float(weight)))
    return found


def check_groups(groups: object, n_rows: int) -> list[list[int]]:
    """Groups of different rows of the data; refuses anything else."""
    if not isinstance(groups, Iterable) or isinstance(groups, str | Mapping):
        raise InputError(f"groups={groups!r}: expected lists of row numbers")
    checked = [_group(group, n_rows) for group in groups]
    rows = Counter(row for group in checked for row in group)
    twice = next((row for row, n in rows.items() if n > 1), None)
    if twice is not None:
        raise InputError(f"groups: row {twice} stands twice; each row belongs to one group")
    if len(rows) > MOST_RECORDS:
        raise InputError(f"groups: {len(rows)} rows; at most {MOST_RECORDS} fit on one card")
    return [group for group in checked if group]


def _group(group: object, n_rows: int) -> list[int]:
    if not isinstance(group, Iterable) or isinstance(group, str):
        raise InputError(f"groups: {group!r} is not a list of row numbers")
    return [_row(row, n_rows) for row in group]


def _row(row: object, n_rows: int) -> int:
    if isinstance(row, bool) or not isinstance(row, Integral):
        raise InputError(f"groups: {row!r} is no row number")
    number = int(row)
    if not 0 <= number < n_rows:
        raise InputError(f"groups: there is no row {number}; rows are 0..{n_rows - 1}")
    return number


def check_weights(weights: Weights) -> None:
    for weight in weights.values() if isinstance(weights, Mapping) else [weights]:
        check_number("weight", weight, Real, 0.0)
        if not weight > 0 or not isfinite(weight):
            raise InputError(f"weight={weight} must be a positive, finite number")
