"""Constraints of one kind as plain arrays, and where each of them was read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

USUAL_CONFIDENCE = 0.85  # of a link of weight 1: the share of right answers of annotators
_SUREST = 0.999  # caps log odds at 4 times the usual ones: nobody is right more often


def number_nodes(*ends: Rows) -> tuple[Rows, list[Rows]]:
    """The distinct rows in `ends`, ascending, and `ends` as positions among them.

    Positions may be the arrays that were given.
    """
    parts = [part.reshape(-1) for part in ends]
    flat = parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0, np.int64), *parts])
    if not len(flat):
        return np.zeros(0, np.int64), list(ends)
    low, high = int(flat.min()), int(flat.max())
    if high - low <= 16 * len(flat):  # a table is far faster than sorting
        seen = np.zeros(high - low + 1, dtype=bool)
        seen[flat - low if low else flat] = True
        if low == 0 and seen.all():  # rows are their own numbers
            return np.arange(high + 1), list(ends)
        place = np.cumsum(seen) - 1
        return np.flatnonzero(seen) + low, [place[part - low] for part in ends]
    nodes = np.unique(flat)
    return nodes, [np.searchsorted(nodes, part) for part in ends]


class Source(NamedTuple):
    """A place constraints come from: a file, or an argument of a call."""

    name: str
    is_file: bool = False

    def at(self, line: int) -> str:
        """Name one line of the source, as a user would look it up."""
        if line < 0:
            return self.name
        return f"line {line:,} of {self.name}" if self.is_file else f"{self.name}[{line}]"


@dataclass(frozen=True, eq=False)
class Links:
    """Constraints of one kind: pairs (i, j), or triplets (a, b, c) read as ab|c.

    The two ends that may be swapped are in ascending order, so that equal constraints are equal
    rows.
    """

    ends: Rows  # row numbers, or positions in the table of ids
    weight: NDArray[np.float64]  # positive weights
    source: NDArray[np.int32]
    line: NDArray[np.int64]

    def __post_init__(self) -> None:
        for array in (self.ends, self.weight, self.source, self.line):
            array.flags.writeable = False

    def __len__(self) -> int:
        return len(self.ends)

    @classmethod
    def make(
        cls,
        ends: ArrayLike,
        weight: ArrayLike = 1.0,
        source: ArrayLike = 0,
        line: ArrayLike = -1,
        *,
        arity: int = 2,
    ) -> Links:
        """Build links from ends in any order; a scalar is the value of all links."""
        ends = np.array(ends, dtype=np.int64).reshape(-1, arity)
        ends[:, :2].sort(axis=1)
        shape = len(ends)
        return cls(
            np.ascontiguousarray(ends),
            np.array(np.broadcast_to(weight, shape), dtype=np.float64),
            np.array(np.broadcast_to(source, shape), dtype=np.int32),
            np.array(np.broadcast_to(line, shape), dtype=np.int64),
        )

    def take(self, which: NDArray) -> Links:
        """The links chosen by a mask or by positions."""
        return Links(self.ends[which], self.weight[which], self.source[which], self.line[which])

    def with_ends(self, ends: Rows) -> Links:
        """The same links between other ends."""
        return Links.make(ends, self.weight, self.source, self.line, arity=self.ends.shape[1])

    def sorted(self) -> Links:
        """The same links in a fixed order."""
        return self.take(in_order(self.ends))


def in_order(ends: Rows) -> Rows:
    """Positions that sort rows by their first, then second, ... column; stable."""
    if not len(ends):
        return np.zeros(0, dtype=np.int64)
    low, high = ends.min(axis=0).tolist(), ends.max(axis=0).tolist()
    # A mixed-radix number per row, if the ranges of the columns allow one that int64 holds.
    size = 1
    for least, most in zip(low, high, strict=True):
        size *= most - least + 1
    if size >= 2**63:
        return np.lexsort(ends.T[::-1])
    key = np.zeros(len(ends), dtype=np.int64)  # one number per row sorts faster
    for column, least, most in zip(ends.T, low, high, strict=True):
        key = key * (most - least + 1) + (column - least)
    return np.argsort(key, kind="stable")


def concatenate(parts: Sequence[Links], arity: int) -> Links:
    """All links of `parts`, in order."""
    if not parts:
        return Links.make([], arity=arity)
    return Links(
        np.concatenate([part.ends for part in parts]),
        np.concatenate([part.weight for part in parts]),
        np.concatenate([part.source for part in parts]),
        np.concatenate([part.line for part in parts]),
    )


def merge_repeated(links: Links) -> Links:
    """Keep each link once, where it first stood, with the largest weight it was given."""
    if len(links) < 2:
        return links
    order = in_order(links.ends)  # stable: the first of equals stays first
    ends = links.ends[order]
    is_first = np.ones(len(links), dtype=bool)
    is_first[1:] = (ends[1:] != ends[:-1]).any(axis=1)
    if is_first.all():
        return links
    starts = np.flatnonzero(is_first)
    weight = np.empty(len(links))
    weight[order[starts]] = np.maximum.reduceat(links.weight[order], starts)
    kept = np.sort(order[starts])
    return Links(links.ends[kept], weight[kept], links.source[kept], links.line[kept])


def combined(must: Links, cannot: Links, named: set[tuple[int, int]]) -> tuple[Links, Links]:
    """One link per pair from the answers of several annotators, at the first answer that agrees.

    Weights are log odds of independent answers, so they add up; must- and cannot-links of a pair
    have opposite signs, and answers that cancel out give no link. `named` holds the source and
    line of each answer with an annotator; other links stay as they are.
    """
    both = concatenate([must, cannot], 2)
    is_must = np.arange(len(both)) < len(must)
    places = zip(both.source.tolist(), both.line.tolist(), strict=True)
    is_answer = np.array([place in named for place in places], dtype=bool)
    answers, sign = both.take(is_answer), np.where(is_must[is_answer], 1.0, -1.0)
    _, pair = np.unique(answers.ends, axis=0, return_inverse=True)
    pair = pair.reshape(-1)
    total = np.bincount(pair, sign * answers.weight)[pair]
    agrees = np.flatnonzero(np.abs(total) > 1e-9) if len(pair) else pair  # rounding of a tie
    agrees = agrees[sign[agrees] == np.sign(total[agrees])]
    order = agrees[np.lexsort((answers.line[agrees], answers.source[agrees]))]
    first = np.sort(order[np.unique(pair[order], return_index=True)[1]])
    kept = answers.take(first)
    kept = Links.make(kept.ends, np.abs(total[first]), kept.source, kept.line)
    rest = both.take(~is_answer)
    return (
        concatenate([rest.take(is_must[~is_answer]), kept.take(sign[first] > 0)], 2),
        concatenate([rest.take(~is_must[~is_answer]), kept.take(sign[first] < 0)], 2),
    )


def is_member(links: Links, others: Rows) -> NDArray[np.bool_]:
    """Which links have the same ends as some row of `others`."""
    both = np.concatenate([links.ends, others.reshape(-1, links.ends.shape[1])])
    _, group = np.unique(both, axis=0, return_inverse=True)
    group = group.reshape(-1)
    return np.isin(group[: len(links)], group[len(links) :])


def confidence_weight(confidence: ArrayLike) -> Floats:
    """The weight of links that are right with these probabilities: their log odds.

    A confidence of 0.85 has the weight 1, which is what links have without one; 0.5 would weigh
    nothing. Beyond 0.999 nothing is added.

    Parameters
    ----------
    confidence : array-like of floats above 0.5, at most 1

    Returns
    -------
    weight : ndarray

    Examples
    --------
    >>> from linkwise.constraints import confidence_weight
    >>> confidence_weight([0.6, 0.85, 0.95]).round(2).tolist()
    [0.23, 1.0, 1.7]
    """
    given = np.asarray(confidence, dtype=np.float64)
    if not ((given > 0.5) & (given <= 1)).all():
        wrong = given[~((given > 0.5) & (given <= 1))].flat[0]
        raise ValueError(
            f"confidence {wrong:g} must be above 0.5 and at most 1: a link that is right half of "
            "the time carries no information, and a less likely one is the opposite link"
        )
    return _log_odds(given) / _log_odds(USUAL_CONFIDENCE)


def _log_odds(confidence: ArrayLike) -> Floats:
    """Logarithm of the odds that a link is right, at most those of 0.999."""
    given = np.minimum(confidence, _SUREST)
    return np.asarray(np.log(given) - np.log1p(-given))
