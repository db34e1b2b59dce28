"""Strategies that choose pairs of rows: at random, the closest first, the farthest first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from ._neighborhoods import squared_distances
from ._questions import Question
from ._strategy import QueryContext, Questions, Rows, Strategy

_DRAWN_AT_ONCE = 4096  # pairs
_MOST_DRAWS = 2**15  # if all of these are decided, few pairs are open: list them


def _ask_in_order(context: QueryContext, pairs: Iterator[tuple[int, int]]) -> Questions:
    """Yield each pair that may be asked until it is decided.

    A pending pair is skipped and asked about later.
    """
    waiting: list[tuple[int, int]] = []
    rest = True
    while rest:
        found = next(((i, j) for i, j in waiting if context.can_ask(i, j)), None)
        while found is None and rest:
            pair = next(pairs, None)
            rest = pair is not None
            if pair is not None and context.known.is_undecided(*pair):
                waiting.append(pair)
                found = pair if context.can_ask(*pair) else None
        if found is not None:
            yield Question(*found)
            rest = True
        waiting = [pair for pair in waiting if context.known.is_undecided(*pair)]


@dataclass(frozen=True)
class RandomPairs(Strategy):
    """Random pairs; the baseline of active clustering.

    Examples
    --------
    >>> from linkwise.active import RandomPairs, Session
    >>> session = Session([[0.0], [0.1], [5.0]], RandomPairs(), n_clusters=2)
    >>> sorted(session.ask())
    [0, 1]
    """

    def reason(self, context: QueryContext, question: Question) -> str:
        """See `Strategy.reason`.

        Parameters
        ----------
        context : QueryContext
            What is known so far: rows, answers, labels of the last fit.
        question : Question
            A question of `questions`.
        """
        return "these two records were drawn at random"

    def questions(self, context: QueryContext) -> Questions:
        """See `Strategy.questions`.

        Parameters
        ----------
        context : QueryContext
            What is known so far: rows, answers, labels of the last fit.
        """
        while context.n_rows > 1:
            yield from _ask_in_order(context, _draws(context))
            rest = next((pair for pair in remaining_pairs(context) if context.can_ask(*pair)), None)
            if rest is None:
                return
            yield Question(*rest)


def _draws(context: QueryContext) -> Iterator[tuple[int, int]]:
    for block in range(_MOST_DRAWS // _DRAWN_AT_ONCE):
        rng = np.random.RandomState([context.seed, block])
        i = rng.randint(context.n_rows, size=_DRAWN_AT_ONCE)
        j = rng.randint(context.n_rows - 1, size=_DRAWN_AT_ONCE)
        yield from zip(i.tolist(), (j + (j >= i)).tolist(), strict=True)


def remaining_pairs(context: QueryContext) -> Iterator[tuple[int, int]]:
    """All pairs but those that are decided component by component."""
    known = context.known
    roots = dict.fromkeys(known.root(row) for row in context.order.tolist())
    for a, b in combinations(roots, 2):
        if b not in known.apart.get(a, ()):
            yield from product(known.members.get(a, (a,)), known.members.get(b, (b,)))


@dataclass(frozen=True)
class _ByDistance(Strategy):
    """Pairs in the order of their distance, block by block of rows."""

    max_rows: int = 1000

    def __post_init__(self) -> None:
        if self.max_rows < 2:
            raise ValueError(f"max_rows={self.max_rows} must be at least 2")

    def questions(self, context: QueryContext) -> Questions:
        """See `Strategy.questions`.

        Parameters
        ----------
        context : QueryContext
            What is known so far: rows, answers, labels of the last fit.
        """
        return _ask_in_order(context, self._pairs(context))

    def _pairs(self, context: QueryContext) -> Iterator[tuple[int, int]]:
        if context.n_rows < 2:
            return
        n_parts = -(-context.n_rows // self.max_rows)
        parts = [np.sort(part) for part in np.array_split(context.order, n_parts)]
        for last in range(n_parts):
            for first in range(last + 1):
                yield from self._block(context, parts[first], parts[last])

    def _block(self, context: QueryContext, a: Rows, b: Rows) -> Iterator[tuple[int, int]]:
        key = self._key(squared_distances(context.X[a], context.X[b]))
        if a is b:
            key[np.tril_indices(len(a))] = np.inf  # every pair once, and no row with itself
        flat = key.ravel()
        # Sorting all at once would keep people waiting for the first.
        early = (
            np.partition(flat, _DRAWN_AT_ONCE)[_DRAWN_AT_ONCE]
            if key.size > _DRAWN_AT_ONCE
            else np.inf
        )
        for part in ((flat <= early) & (flat < np.inf), (flat > early) & (flat < np.inf)):
            some = np.flatnonzero(part)
            some = some[np.argsort(flat[some], kind="stable")]
            yield from zip(a[some // len(b)].tolist(), b[some % len(b)].tolist(), strict=True)

    def _key(self, distance: np.ndarray) -> np.ndarray:
        raise NotImplementedError


@dataclass(frozen=True)
class ClosestPairs(_ByDistance):
    """The closest pairs first: where a boundary may run, or what may be a duplicate.

    Parameters
    ----------
    max_rows : int, default=1000
        Larger data are taken in random parts of so many rows: first all pairs of the first part,
        in order, then the next.

    Examples
    --------
    >>> from linkwise.active import ClosestPairs, Session
    >>> session = Session([[0.0], [5.0], [5.1]], ClosestPairs(), n_clusters=2)
    >>> session.ask()
    Question(i=1, j=2)
    """

    def reason(self, context: QueryContext, question: Question) -> str:
        """See `Strategy.reason`.

        Parameters
        ----------
        context : QueryContext
            What is known so far: rows, answers, labels of the last fit.
        question : Question
            A question of `questions`.
        """
        return "these two records are the closest that nobody has compared"

    def _key(self, distance: np.ndarray) -> np.ndarray:
        return distance


@dataclass(frozen=True)
class FarthestPairs(_ByDistance):
    """The farthest pairs first: most likely different, and informative if they are not.

    Parameters
    ----------
    max_rows : int, default=1000
        As in `ClosestPairs`.

    Examples
    --------
    >>> from linkwise.active import FarthestPairs, Session
    >>> session = Session([[0.0], [5.0], [5.1]], FarthestPairs(), n_clusters=2)
    >>> session.ask()
    Question(i=0, j=2)
    """

    def reason(self, context: QueryContext, question: Question) -> str:
        """See `Strategy.reason`.

        Parameters
        ----------
        context : QueryContext
            What is known so far: rows, answers, labels of the last fit.
        question : Question
            A question of `questions`.
        """
        return "these two records are the farthest apart that nobody has compared"

    def _key(self, distance: np.ndarray) -> np.ndarray:
        return -distance
