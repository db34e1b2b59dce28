"""Set questions: up to 12 records on one card, "put together what belongs together".

One answer to a card is many links: those within a group, as a chain, and one between each two
groups; the closure says the rest. They are stored as one step, and undone as one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, pairwise
from math import isfinite
from numbers import Integral, Real
from typing import NamedTuple

from linkwise._errors import InputError
from linkwise._validation import check_number

from ._incremental_closure import IncrementalClosure
from ._questions import Question, Verdict

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


def check_weights(weights: Weights) -> None:
    for weight in weights.values() if isinstance(weights, Mapping) else [weights]:
        check_number("weight", weight, Real, 0.0)
        if not weight > 0 or not isfinite(weight):
            raise InputError(f"weight={weight} must be a positive, finite number")
