"""What answers bought: would the model have guessed them, and what may the next ones change?"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

WINDOW = 50  # answers that are looked back at
LEAST_ASKED = 30  # fewer say nothing
GOOD_GUESSES = 0.75  # the lower end of the interval must reach it
LITTLE = 0.01  # share of labels
ROUNDS = 3  # refits in a row that change so little
_Z = 1.645  # 90 % intervals


class Round(NamedTuple):
    """The answers between two refits.

    Attributes
    ----------
    n_asked : int
        Answers, unsure ones left out.
    n_guessed : int
        Of these, those that the refit before agreed with, which had not been told them.
    changed : float or None
        Share of labels that the refit after them changed.
    """

    n_asked: int
    n_guessed: int
    changed: float | None


class Meter(NamedTuple):
    """What the last answers say about the clustering.

    Attributes
    ----------
    n_asked, n_guessed : int
        The last answers, and how many of them the model would have guessed.
    low, high : float
        90 % interval of the share that is guessed (Wilson's).
    expected_change : float or None
        Share of labels that the next 50 answers are expected to change; None if not known yet, or
        if it is more than half: labels that change back and forth count each time, so that such
        an extrapolation says nothing but that they have not settled.
    doubled : float or None
        Share of labels that as many answers as so far are expected to change.
    misplaced : float or None
        Share of the rows that as many answers as so far are expected to find in a wrong cluster:
        by the guesses of the last half of the answers (Laplace's rule of succession), and never
        more than the rows that answers leave open.
    stable : bool
        Whether the last refits changed fewer than 1 % of the labels each.
    """

    n_asked: int
    n_guessed: int
    low: float
    high: float
    expected_change: float | None
    doubled: float | None
    misplaced: float | None
    stable: bool

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

    Parameters
    ----------
    rounds : sequence of Round
    n_rows, n_open : int
        All rows, and those whose cluster answers do not decide.

    Returns
    -------
    meter : Meter

    Examples
    --------
    >>> from linkwise.active._meter import Round, measure
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
    """The last rounds that have so many answers, the newest first."""
    found, n = list[Round](), 0
    for one in reversed(rounds):
        if n >= n_answers:
            break
        found.append(one)
        n += one.n_asked
    return found


def _guesses(rounds: Sequence[Round]) -> tuple[int, int]:
    """Answers, and those that were guessed."""
    return sum(one.n_asked for one in rounds), sum(one.n_guessed for one in rounds)


def wilson(hits: int, n: int) -> tuple[float, float]:
    """90 % interval of a share (Wilson 1927); 0 to 1 without any."""
    if n == 0:
        return 0.0, 1.0
    share, z2 = hits / n, _Z**2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = _Z / (1 + z2 / n) * sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)
