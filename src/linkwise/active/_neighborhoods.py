"""Neighborhoods: groups of rows in different clusters, and how far other rows are from them.

Everything here is derived from the answers alone, so that the same answers give the same
neighborhoods whatever way they were reached (answered, replayed, undone and answered again).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from linkwise._types import Matrix, is_sparse
from linkwise.constraints import Constraints

from ._incremental_closure import IncrementalClosure
from ._questions import Answer

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Neighborhoods:
    """Groups of rows that are all apart from each other."""

    roots: list[int]  # the component that each neighborhood grew from
    groups: list[list[int]]  # the rows of each, ascending
    # components (by root) that no answer puts into a neighborhood, but which are apart from all
    # others: with the number of clusters known, they belong to the one that is left
    inferred: list[tuple[int, int]]

    @property
    def rows(self) -> list[int]:
        """All rows that have a neighborhood."""
        return [row for group in self.groups for row in group]


def find_neighborhoods(known: IncrementalClosure, n_clusters: int | None) -> Neighborhoods:
    """Neighborhoods in the order in which they were found.

    A component that is apart from all neighborhoods is a new one (Basu et al. 2006, figure 3.4).
    When all K are found, one that is apart from K - 1 of them is in the last (section 3.4.2).
    """
    roots: list[int] = []
    others: list[int] = []
    for root in known.roots():
        apart = known.apart[root]
        is_new = all(chosen in apart for chosen in roots)
        (roots if is_new else others).append(root)
    groups = [list(known.members[root]) for root in roots]
    inferred: list[tuple[int, int]] = []
    if n_clusters is not None and len(roots) == n_clusters:
        joined: list[list[int]] = [[] for _ in roots]
        for root in others:
            apart = known.apart[root]
            left = [h for h, chosen in enumerate(roots) if chosen not in apart]
            # Two that are apart from each other cannot both be in the last one: K is too small.
            if len(left) == 1 and apart.isdisjoint(joined[left[0]]):
                joined[left[0]].append(root)
                groups[left[0]] += known.members[root]
                inferred.append((root, roots[left[0]]))
    return Neighborhoods(roots, [sorted(group) for group in groups], inferred)


def inferred_links(
    answers: Sequence[Answer],
    known: IncrementalClosure,
    found: Neighborhoods,
    names: Sequence[Hashable] | None = None,
) -> Constraints:
    """Inferred must-links; the weight is that of the lightest answer about the component."""
    weight: dict[int, float] = {}
    for answer in answers if found.inferred else ():
        for row in (answer.i, answer.j):
            root = known.root(row)
            weight[root] = min(weight.get(root, answer.weight), answer.weight)
    rows = [pair if names is None else (names[pair[0]], names[pair[1]]) for pair in found.inferred]
    weights = [weight[i] for i, _ in found.inferred]
    return Constraints(must_link=[(*pair, w) for pair, w in zip(rows, weights, strict=True)])


def squared_distances(X: Matrix, points: Matrix) -> Floats:
    """Squared distances of rows to points, each computed independently.

    No matrix product over pairs: a distance must not depend, in its last digits, on which other
    distances are computed with it, or a replay could choose another row.
    """
    if not (is_sparse(X) and is_sparse(points)):
        return cdist(X, points, "sqeuclidean")
    own = np.asarray(X.multiply(X).sum(axis=1)).reshape(-1, 1)
    theirs = np.asarray(points.multiply(points).sum(axis=1)).reshape(1, -1)
    found = own - 2 * (X @ points.T).toarray() + theirs
    return np.maximum(found, 0.0)


class Nearest:
    """Squared distance of every row to the nearest of a changing set of rows.

    Adding a row costs one pass over the data. So does taking one away: only rows that were
    nearest to it are looked at again.
    """

    def __init__(self, X: Matrix):
        self._X = X
        self._rows: set[int] = set()
        self._owner = np.full(X.shape[0], -1)
        self._distance = np.full(X.shape[0], np.inf)

    def to(self, rows: Sequence[int]) -> Floats:
        """Distances to the nearest of these rows; infinite when there are none."""
        wanted = set(rows)
        gone, new = self._rows - wanted, sorted(wanted - self._rows)
        self._rows = wanted
        if gone:
            lost = np.flatnonzero(np.isin(self._owner, list(gone)))
            self._distance[lost], self._owner[lost] = np.inf, -1
            self._look(lost, sorted(wanted - set(new)))
        self._look(slice(None), new)
        return self._distance

    def _look(self, where: Any, rows: Sequence[int], block: int = 64) -> None:
        X = self._X[where]
        for start in range(0, len(rows), block):
            part = np.array(rows[start : start + block])
            found = squared_distances(X, self._X[part])
            best = found.argmin(axis=1)
            least = found[np.arange(len(best)), best]
            closer = least < self._distance[where]
            self._distance[where] = np.where(closer, least, self._distance[where])
            self._owner[where] = np.where(closer, part[best], self._owner[where])
