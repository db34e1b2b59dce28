"""Closure of the answers so far, updated per answer.

`IncrementalClosure` is the closure of `linkwise.constraints` that grows by one answer at a time:
components of rows that belong together, and which components are apart. One answer takes time
proportional to the smaller of the two components it joins.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Mapping, Sequence

from linkwise.constraints import Constraints

from ._questions import Answer, Dispute, Verdict

Names = Sequence[Hashable] | Mapping[int, Hashable]  # what rows are called


class IncrementalClosure:
    """Must-link components and the cannot-links between them."""

    def __init__(self) -> None:
        self.members: dict[int, list[int]] = {}
        self.apart: dict[int, set[int]] = {}
        self.unsure: dict[int, set[int]] = {}
        self.history: list[tuple[int, int, Verdict, float]] = []
        self.asked: set[tuple[int, int]] = set()
        self.version = 0  # increases with every answer; invalidates what is derived
        self._root: dict[int, int] = {}
        self._first: dict[int, int] = {}

    def root(self, row: int) -> int:
        """Root of the component of a row; the row itself if no answer names it."""
        return self._root.get(row, row)

    def roots(self) -> list[int]:
        """Roots in the order in which their rows were first compared."""
        return sorted(self.members, key=self._first.__getitem__)

    def relation(self, i: int, j: int) -> Verdict | None:
        """Relation of two rows by the closure; None if undecided."""
        a, b = self.root(i), self.root(j)
        if a == b:
            return "same"
        return "different" if b in self.apart.get(a, ()) else None

    def is_undecided(self, i: int, j: int) -> bool:
        """Whether the pair is not entailed and has no "unsure" answer."""
        return self.relation(i, j) is None and j not in self.unsure.get(i, ())

    def add(self, i: int, j: int, said: Verdict, weight: float = 1.0) -> bool:
        """Add an answer; return False and change nothing if it contradicts earlier ones."""
        self.history.append((i, j, said, weight))
        self.asked.add((min(i, j), max(i, j)))
        if said == "unsure":
            self.unsure.setdefault(i, set()).add(j)
            self.unsure.setdefault(j, set()).add(i)
        elif self.relation(i, j) not in (None, said):
            return False
        else:
            # The row compared with comes first: it stood in a neighborhood already.
            a, b = self._touch(j), self._touch(i)
            if said == "different":
                self.apart[a].add(b)
                self.apart[b].add(a)
            elif a != b:
                self._join(a, b)
        self.version += 1
        return True

    def _touch(self, row: int) -> int:
        if row not in self._root:
            self._root[row], self._first[row] = row, len(self._root)
            self.members[row], self.apart[row] = [row], set()
        return self._root[row]

    def _join(self, a: int, b: int) -> None:
        if len(self.members[a]) < len(self.members[b]):
            a, b = b, a
        for row in self.members[b]:
            self._root[row] = a
        self.members[a] += self.members.pop(b)
        self._first[a] = min(self._first[a], self._first.pop(b))
        for other in self.apart.pop(b):
            self.apart[other].discard(b)
            self.apart[other].add(a)
            self.apart[a].add(other)


def fold(answers: Iterable[Answer]) -> tuple[IncrementalClosure, list[Answer], list[Answer]]:
    """Closure of answers in order; return it with the accepted and the disputed answers.

    An answer that contradicts those before it is disputed and does not count.
    """
    known = IncrementalClosure()
    accepted: list[Answer] = []
    disputed: list[Answer] = []
    for answer in answers:
        added = known.add(answer.i, answer.j, answer.said, answer.weight)
        (accepted if added else disputed).append(answer)
    return known, accepted, disputed


def links(answers: Iterable[Answer], names: Names | None = None) -> Constraints:
    """Answers as constraints, by row number or by id."""
    rows: dict[str, list[tuple[Hashable, Hashable, float]]] = {"same": [], "different": []}
    for answer in answers:
        if answer.said != "unsure":
            i, j = answer.question if names is None else (names[answer.i], names[answer.j])
            rows[answer.said].append((i, j, answer.weight))
    return Constraints(must_link=rows["same"], cannot_link=rows["different"])


def explain(disputed: Answer, accepted: Sequence[Answer], names: Names | None = None) -> Dispute:
    """The shortest chain of answers that contradicts a disputed one.

    Breadth-first search over states (row, number of "different" on the way): "different" is
    contradicted by a chain of "same", and "same" by a chain with exactly one "different".
    """
    steps: dict[int, list[tuple[int, Answer]]] = {}
    for answer in accepted:
        if answer.said != "unsure":
            steps.setdefault(answer.i, []).append((answer.j, answer))
            steps.setdefault(answer.j, []).append((answer.i, answer))
    start, end = (disputed.i, 0), (disputed.j, int(disputed.said == "same"))
    before: dict[tuple[int, int], tuple[tuple[int, int], Answer] | None] = {start: None}
    queue = deque([start])
    while end not in before:
        at = queue.popleft()
        for row, answer in steps.get(at[0], ()):
            state = row, at[1] + (answer.said == "different")
            if state[1] <= end[1] and state not in before:
                before[state] = at, answer
                queue.append(state)
    rows, against, place = [disputed.j], list[Answer](), end
    while (step := before[place]) is not None:
        place, answer = step
        rows.append(place[0])
        against.append(answer)
    rows, against = rows[::-1], against[::-1]
    return Dispute(
        disputed, tuple(against), tuple(rows if names is None else [names[r] for r in rows])
    )
