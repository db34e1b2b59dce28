"""Progress of a session: guessed answers, expected changes, and when to stop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from math import sqrt
from typing import NamedTuple

from linkwise._types import JsonDict

WINDOW = 50  # number of last answers that are compared
LEAST_ASKED = 30  # fewer give an interval too wide to decide
GOOD_GUESSES = 0.75  # the lower end of the interval must reach it
LITTLE = 0.01  # share of labels
ROUNDS = 3  # refits in a row that change so little
_Z = 1.645  # 90 % intervals


class Round(NamedTuple):
    """The answers between two refits."""

    n_asked: int  # answers, unsure ones left out
    # answers that the refit before agreed with, which did not have them
    n_guessed: int
    changed: float | None  # share of labels that the refit after them changed


class Meter(NamedTuple):
    """How well the clustering predicts the last answers."""

    n_asked: int  # the last answers, and how many of them the model would have guessed
    n_guessed: int  # the last answers, and how many of them the model would have guessed
    low: float  # 90 % interval of the share that is guessed (Wilson's)
    high: float  # 90 % interval of the share that is guessed (Wilson's)
    # share of labels that the next 50 answers are expected to change; None if not known yet, or
    # if it is more than half: labels that change back and forth count each time, so that such an
    # extrapolation would be meaningless
    expected_change: float | None
    doubled: float | None  # share of labels that as many answers as so far are expected to change
    # share of the rows that as many answers as so far are expected to find in a wrong cluster: by
    # the guesses of the last half of the answers (Laplace's rule of succession), and never more
    # than the rows that answers leave open
    misplaced: float | None
    stable: bool  # whether the last refits changed fewer than 1 % of the labels each

    @property
    def stop(self) -> bool:
        """Whether guesses are good, and labels would hardly change with twice the answers.

        Stable labels alone do not say this: many answers that change little each change much, and
        a few that happened to change nothing say little about as many more.
        """
        is_settled = self.stable and max(self.doubled or 0.0, self.misplaced or 0.0) <= LITTLE
        return is_settled and self.n_asked >= LEAST_ASKED and self.low >= GOOD_GUESSES

    @property
    def is_blind(self) -> bool:
        """Whether at most half of the answers are guessed, and labels do not settle either."""
        few = self.n_guessed <= self.n_asked / 2
        return self.n_asked >= LEAST_ASKED and few and not self.stop

    def __str__(self) -> str:
        if self.n_asked == 0:
            return "too early to tell when to stop"
        told = (
            f"{self.n_guessed} of the last {self.n_asked} answers would have been guessed "
            f"({self.low:.0%} to {self.high:.0%})"
        )
        if self.expected_change is not None:
            told += f"; the next {WINDOW} may change {self.expected_change:.1%} of the labels"
        return told


def measure(rounds: Sequence[Round], n_rows: int, n_open: int) -> Meter:
    """The meter after some refits, the oldest first.

    Examples
    --------
    >>> from linkwise.active._progress import Round, measure
    >>> meter = measure([Round(10, 9, 0.02)] * 5, n_rows=400, n_open=350)
    >>> meter.n_guessed, meter.n_asked, round(meter.low, 2), meter.stop
    (45, 50, 0.81, False)
    """
    recent = _latest(rounds, WINDOW)
    n_asked, n_guessed = _guesses(recent)
    low, high = wilson(n_guessed, n_asked)
    changes = [one.changed for one in recent if one.changed is not None]
    asked = sum(one.n_asked for one in recent if one.changed is not None)
    expected = sum(changes) * WINDOW / asked if asked else None
    if expected is not None and expected > 0.5:
        expected = None
    n_so_far = sum(one.n_asked for one in rounds)
    doubled = min(1.0, sum(changes) * n_so_far / asked) if asked else None
    n_late, n_right = _guesses(_latest(rounds, max(WINDOW, n_so_far // 2)))
    rate = (n_late - n_right + 1) / (n_late + 2)
    misplaced = rate * min(n_so_far, n_open) / n_rows if n_late else None
    stable = len(changes) >= ROUNDS and max(changes[:ROUNDS]) < LITTLE
    return Meter(n_asked, n_guessed, low, high, expected, doubled, misplaced, stable)


def _latest(rounds: Sequence[Round], n_answers: int) -> list[Round]:
    """The last rounds with this number of answers, the newest first."""
    found, n = list[Round](), 0
    for one in reversed(rounds):
        if n >= n_answers:
            break
        found.append(one)
        n += one.n_asked
    return found


def _guesses(rounds: Sequence[Round]) -> tuple[int, int]:
    """Numbers of answers and of guessed ones."""
    return sum(one.n_asked for one in rounds), sum(one.n_guessed for one in rounds)


def wilson(hits: int, n: int) -> tuple[float, float]:
    """90 % interval of a share (Wilson 1927); 0 to 1 without any."""
    if n == 0:
        return 0.0, 1.0
    share, z2 = hits / n, _Z**2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = _Z / (1 + z2 / n) * sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)


@dataclass(frozen=True)
class Progress:
    """Progress of a session.

    Attributes
    ----------
    n_rows : int
    n_clusters : int or None
    n_answers : int
        Answers that stand, disputed ones included.
    n_same, n_different, n_unsure, n_disputed, n_undone : int
    n_groups : int
        Groups of rows that are known to be in different clusters.
    n_covered : int
        Rows that are known to be in one of them.
    changed : tuple of float
        Share of labels that changed in the last refits, the newest last.
    meter : Meter
        How many of the last answers the model would have guessed, and what the next may change.

    Examples
    --------
    >>> from linkwise import Session
    >>> with Session([[0.0], [0.1], [5.0]], n_clusters=2) as session:
    ...     _ = session.tell("different", (0, 2))
    ...     progress = session.snapshot().progress
    >>> progress.n_answers, progress.n_groups, progress.n_covered
    (1, 2, 2)
    """

    n_rows: int
    n_clusters: int | None
    n_answers: int
    n_same: int
    n_different: int
    n_unsure: int
    n_disputed: int
    n_undone: int
    n_groups: int
    n_covered: int
    changed: tuple[float, ...]
    meter: Meter = field(default_factory=lambda: measure((), 0, 0))

    @property
    def stop(self) -> bool:
        """Whether answers are guessed and twice as many would change little, or all is known."""
        if self.n_covered == self.n_rows:
            return True
        return self.n_groups >= (self.n_clusters or 2) and self.meter.stop

    @property
    def hint(self) -> str:
        """Whether to stop, as a sentence."""
        if self.n_disputed:
            return "answers contradict each other: take one of them back"
        if self.n_clusters is not None and self.n_groups > self.n_clusters:
            return (
                f"the answers name {self.n_groups} groups that are all different, more than the "
                f"{self.n_clusters} clusters asked for"
            )
        if self.n_covered == self.n_rows:
            return "every row has its group: nothing is left to ask"
        if self.stop:
            return f"{self.meter}: you may stop"
        if self.n_clusters is not None and self.n_groups < self.n_clusters:
            return f"{self.n_groups} of {self.n_clusters} groups found so far: continue"
        if self.meter.is_blind:
            return (
                f"{self.meter}, at most half: the features hardly reflect the answers; try others"
            )
        return f"{self.meter}: continue" if self.meter.n_asked else str(self.meter)

    def to_dict(self) -> JsonDict:
        """Plain values, for JSON."""
        derived = {name: getattr(self, name) for name in ("stop", "hint")}
        told = {"meter": self.meter._asdict(), "changed": list(self.changed)}
        return {**asdict(self), **told, **derived}
