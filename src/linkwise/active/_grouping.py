"""Clusters that consist of several prototypes of the model.

After a merge the model keeps a prototype (its own cluster) for each of the merged clusters, since
one center in the middle would describe neither; `owner` tells which cluster a prototype belongs to.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwise._types import Floats, Ints, Labels, Matrix
from linkwise.constraints import Constraints
from linkwise.evaluation._matching import keep_numbers

from ._corrections import Correction


class Grouping(NamedTuple):
    """Prototypes of the rows, and the clusters they belong to."""

    prototypes: Labels  # positions in `owner`; -1 for none
    owner: Ints  # cluster number of each prototype

    @classmethod
    def of(cls, labels: Labels) -> Grouping:
        """One prototype per cluster."""
        owner = np.unique(labels[labels >= 0]).astype(np.int64)
        place = np.searchsorted(owner, labels)
        return cls(np.where(labels < 0, -1, place).astype(np.int32), owner)

    @property
    def extra(self) -> int:
        """Prototypes beyond one per cluster."""
        return len(self.owner) - len(np.unique(self.owner))

    @property
    def labels(self) -> Labels:
        """Clusters of the rows by their prototypes."""
        found = self.owner[self.prototypes] if len(self.owner) else self.prototypes
        return np.where(self.prototypes < 0, -1, found).astype(np.int32)

    def corrected(self, one: Correction) -> Grouping:
        """The grouping after a correction: prototypes follow the majority of their rows."""
        prototypes, owner = self.prototypes.copy(), self.owner.copy()
        for number, rows in one.bound.items():
            n_bound = np.bincount(prototypes[rows][prototypes[rows] >= 0], minlength=len(owner))
            n_all = np.bincount(prototypes[prototypes >= 0], minlength=len(owner))
            mine = (n_bound * 2 > n_all) & (n_bound > 0)
            taken = (owner == number) & ~mine
            if one.kind == "move":
                continue
            if taken.any() and number not in one.details["clusters"][:1]:
                owner[taken] = self._free(owner, one)  # another cluster's number in this replay
            owner[mine] = number
            if not mine.any():
                prototypes[rows] = len(owner)
                owner = np.append(owner, number)
        return Grouping(prototypes, owner)

    @staticmethod
    def _free(owner: Ints, one: Correction) -> int:
        return 1 + max(int(owner.max()), *one.details["clusters"])

    def centers(self, X: Matrix) -> Floats | None:
        """Means of the rows of each prototype; None if one has no rows."""
        rows = [np.flatnonzero(self.prototypes == p) for p in range(len(self.owner))]
        if min(map(len, rows), default=0) == 0:
            return None
        return np.array([np.asarray(X[mine].mean(axis=0)).ravel() for mine in rows])

    def for_model(self, known: Constraints) -> Constraints:
        """Constraints without must-links between two prototypes of one cluster.

        They hold already, and would pull the two prototypes together.
        """
        if not self.extra or not len(known.must_link):
            return known
        i, j = self.prototypes[known.must_link].T
        of_one = (i >= 0) & (j >= 0) & (i != j) & (self.owner[i] == self.owner[j])
        links = known.must_link[~of_one]
        kept = [
            (int(a), int(b), float(w))
            for (a, b), w in zip(links, known.must_link_weight[~of_one], strict=True)
        ]
        cannot = [
            (int(a), int(b), float(w))
            for (a, b), w in zip(known.cannot_link, known.cannot_link_weight, strict=True)
        ]
        return Constraints(must_link=kept, cannot_link=cannot)

    def continued(self, found: Labels, k: int) -> tuple[Grouping, Ints]:
        """The grouping of a new fit, whose prototypes continue these; and their order."""
        number = keep_numbers(found, self.prototypes, k)
        order = np.argsort(number)
        owner, next_free = np.empty(k, dtype=np.int64), int(self.owner.max(initial=-1)) + 1
        for place, old in enumerate(number[order].tolist()):
            if old < len(self.owner):
                owner[place] = self.owner[old]
            else:
                owner[place], next_free = next_free, next_free + 1
        place_of = np.argsort(order)
        prototypes = np.where(found < 0, -1, place_of[found]).astype(np.int32)
        return Grouping(prototypes, owner), order
