"""Constraints of one kind as plain arrays, and where each of them was read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._reliability import evidence, numbered

Rows = NDArray[np.int64]


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

    The two ends that may be swapped stand in ascending order, so that equal constraints are
    equal rows.

    Attributes
    ----------
    ends : ndarray of shape (n_links, 2 or 3)
        Row numbers, or positions in the table of ids.
    weight : ndarray of shape (n_links,)
        Positive weights.
    source, line : ndarrays of shape (n_links,)
        Where each link was given: position in the list of sources, and line in that source.
    """

    ends: Rows
    weight: NDArray[np.float64]
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
        """Build links from ends in any order; scalars stand for all links."""
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


def combined(
    must: Links, cannot: Links, annotators: Mapping[tuple[int, int], str]
) -> tuple[Links, Links]:
    """One link per pair out of all answers to it, where the first answer like it stood.

    Answers whose lines name no annotator are left as they are. Weights other than 1 count as they
    are, in place of the annotators' reliabilities.
    """
    both = concatenate([must, cannot], 2)
    said = np.arange(len(both)) < len(must)
    who = [
        annotators.get(place)
        for place in zip(both.source.tolist(), both.line.tolist(), strict=True)
    ]
    named = np.array([name is not None for name in who], dtype=bool)
    if not named.any():
        return must, cannot
    given, said_named = both.take(named), said[named]
    _, item = np.unique(given.ends, axis=0, return_inverse=True)
    item = item.reshape(-1)
    _, person = numbered([name for name in who if name is not None])
    own = given.weight if (given.weight != 1).any() else None
    total, _ = evidence(item, person, said_named, own)
    like_it = (total[item] != 0) & (said_named == (total[item] > 0))
    order = np.lexsort((given.line, given.source))
    order = order[like_it[order]]
    first = np.sort(order[np.unique(item[order], return_index=True)[1]])
    kept = given.take(first)
    kept = Links.make(kept.ends, np.abs(total[item[first]]), kept.source, kept.line)
    rest, together = both.take(~named), said_named[first]
    return (
        concatenate([rest.take(said[~named]), kept.take(together)], 2),
        concatenate([rest.take(~said[~named]), kept.take(~together)], 2),
    )


def is_member(links: Links, others: Rows) -> NDArray[np.bool_]:
    """Which links have the same ends as some row of `others`."""
    both = np.concatenate([links.ends, others.reshape(-1, links.ends.shape[1])])
    _, group = np.unique(both, axis=0, return_inverse=True)
    group = group.reshape(-1)
    return np.isin(group[: len(links)], group[len(links) :])
