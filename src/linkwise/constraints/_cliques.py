"""Groups of rows of which no two may share a cluster, held as lists of members, never as pairs."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ._links import Rows


@dataclass(frozen=True, eq=False)
class Cliques:
    """Groups of rows that must all be apart from each other.

    Members of a group are in ascending order without repetitions; a group has at least two.
    """

    starts: Rows  # members of group g are ``members[starts[g]:starts[g + 1]]``
    members: Rows  # row numbers, or positions in the table of ids
    weight: NDArray[np.float64]  # what each violated pair of a group weighs
    source: NDArray[np.int32]  # position in the list of sources
    line: NDArray[np.int64]  # where the membership was given
    names: tuple[Hashable, ...]  # what each group is called

    def __post_init__(self) -> None:
        for array in (self.starts, self.members, self.weight, self.source, self.line):
            array.flags.writeable = False

    def __len__(self) -> int:
        return len(self.weight)

    @classmethod
    def none(cls) -> Cliques:
        """No groups."""
        return cls.of_members(*(np.zeros(0, np.int64),) * 3, np.zeros(0), np.zeros(0, np.int32), ())

    @classmethod
    def of_members(
        cls,
        group: Rows,
        members: Rows,
        line: Rows,
        weight: NDArray[np.float64],
        source: NDArray[np.int32],
        names: Sequence[Hashable],
    ) -> Cliques:
        """Sort memberships; repeated members count once, and groups of one row are left out."""
        order = np.lexsort((members, group))
        group, members, line = group[order], members[order], line[order]
        fresh = np.ones(len(group), dtype=bool)
        fresh[1:] = (np.diff(group) != 0) | (np.diff(members) != 0)
        group, members, line = group[fresh], members[fresh], line[fresh]
        sizes = np.bincount(group, minlength=len(weight))
        large = np.flatnonzero(sizes > 1)
        inside = sizes[group] > 1
        return cls(
            np.concatenate([[0], np.cumsum(sizes[large])]).astype(np.int64),
            members[inside],
            np.array(weight, dtype=np.float64)[large],
            np.array(source, dtype=np.int32)[large],
            line[inside],
            tuple(names[g] for g in large.tolist()),
        )

    @property
    def sizes(self) -> Rows:
        """Number of members of each group."""
        return np.diff(self.starts)

    @property
    def group(self) -> Rows:
        """Group of each membership."""
        return np.repeat(np.arange(len(self)), self.sizes)

    @property
    def n_pairs(self) -> int:
        """How many pairs `pairs` writes out; a pair in two groups counts twice."""
        return int((self.sizes * (self.sizes - 1) // 2).sum())

    def pairs(self) -> tuple[Rows, Rows]:
        """All pairs of members, shape (n_pairs, 2), and the group of each."""
        ends, which = clique_pairs(self.starts)
        return self.members[ends], which

    def take(self, chosen: NDArray) -> Cliques:
        """The groups chosen by a mask or by positions."""
        chosen = np.asarray(chosen)
        chosen = np.flatnonzero(chosen) if chosen.dtype == bool else chosen.astype(np.int64)
        place = np.full(len(self), -1)
        place[chosen] = np.arange(len(chosen))
        group = place[self.group]
        inside = group >= 0
        return Cliques.of_members(
            group[inside], self.members[inside], self.line[inside], self.weight[chosen],
            self.source[chosen], [self.names[g] for g in chosen.tolist()],
        )  # fmt: skip

    def among(self, wanted: NDArray[np.bool_]) -> Cliques:
        """The groups with only those memberships that a mask chooses."""
        return Cliques.of_members(
            self.group[wanted], self.members[wanted], self.line[wanted], self.weight, self.source,
            self.names,
        )  # fmt: skip

    def with_members(self, members: Rows, first_source: int = 0) -> Cliques:
        """The same groups of other rows; -1 is no row. Sources are counted from `first_source`."""
        known = members >= 0
        return Cliques.of_members(
            self.group[known], members[known], self.line[known], self.weight,
            self.source + np.int32(first_source), self.names,
        )  # fmt: skip

    def member_keys(self) -> list[bytes]:
        """One value per group, equal for groups of the same members."""
        return [self.members[a:b].tobytes() for a, b in pairwise(self.starts.tolist())]

    def weight_of_members(self) -> dict[bytes, float]:
        """Weight of each group by its members."""
        return dict(zip(self.member_keys(), self.weight.tolist(), strict=True))

    def merged(self) -> Cliques:
        """Each group once, where it first stood, with the largest weight it was given."""
        first: dict[bytes, int] = {}
        weight = self.weight.copy()
        for place, key in enumerate(self.member_keys()):
            at = first.setdefault(key, place)
            weight[at] = max(weight[at], weight[place])
        if len(first) == len(self):
            return self
        whole = Cliques(self.starts, self.members, weight, self.source, self.line, self.names)
        return whole.take(np.array(list(first.values()), dtype=np.int64))


def concatenate_cliques(first: Cliques, second: Cliques) -> Cliques:
    """The groups of both, in order."""
    return Cliques(
        np.concatenate([first.starts, second.starts[1:] + first.starts[-1]]),
        np.concatenate([first.members, second.members]),
        np.concatenate([first.weight, second.weight]),
        np.concatenate([first.source, second.source]),
        np.concatenate([first.line, second.line]),
        first.names + second.names,
    )


def clique_pairs(starts: Rows) -> tuple[Rows, Rows]:
    """All pairs of positions a < b inside each stretch, and the stretch of each pair."""
    sizes = np.diff(starts)
    size_of = np.repeat(sizes, sizes)
    inside = np.arange(len(size_of)) - np.repeat(starts[:-1], sizes)
    after = size_of - 1 - inside  # members of the same group that come later
    first = np.repeat(np.arange(len(size_of)), after)
    # Counted from 1 again for each `first`: its place among all pairs less where its pairs begin.
    second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(after) - after, after)
    which = np.repeat(np.repeat(np.arange(len(sizes)), sizes), after)
    return np.column_stack([first, second]), which
