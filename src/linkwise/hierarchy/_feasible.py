"""Constraints that a hierarchy satisfies: consistent relative constraints, groups, cannot-links.

Entry point: `settle`. A tree in which every must-linked group is a branch exists exactly when the
relative constraints inside each group can be met, and those between groups can be met with each
group as one item. Groups are closed under "once c is with a or b, all three are together", so that
no triplet has c in a group and b outside.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkwise.constraints import (
    ConstraintError,
    Constraints,
    bound_groups,
    color,
    consistent,
    consistent_subset,
    irreducible,
)

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class FeasibleConstraints:
    """Constraints that a hierarchy can keep all together.

    Attributes
    ----------
    kept : Constraints
        By row number; closed groups are must-linked.
    dropped : Constraints
        Relative constraints that were given up.
    group : ndarray of shape (n_rows,)
        Rows of one group must be together.
    """

    kept: Constraints
    dropped: Constraints
    group: Ints

    def colors(self, n_clusters: int | None) -> tuple[Ints, int]:
        """A color for each row that keeps cannot-linked rows apart, and the number of colors.

        Without a number of clusters, or where none was found in time: all -1, and 0.
        """
        found = np.full(len(self.group), -1, dtype=np.int64)
        closure = self.kept.closure()
        if n_clusters is None or not len(closure.cannot_link):
            return found, 0
        colored = color(closure.cannot_link, closure.n_components, n_clusters).colors
        if colored is None:
            return found, 0
        found[closure.nodes] = colored[closure.component]
        return found, n_clusters


def settle(
    known: Constraints,
    n_rows: int,
    n_clusters: int | None,
    on_conflict: str,
    ids: Sequence[Hashable] | None = None,
) -> FeasibleConstraints:
    """Check the constraints, or drop relative ones until the rest can be kept.

    Parameters
    ----------
    known : Constraints
        By row number.
    n_rows : int
    n_clusters : int or None
    on_conflict : {"raise", "drop"}
    ids : sequence of shape (n_rows,), default=None
        What the rows are called in errors.
    """
    mask = np.ones(known.n_relative, dtype=bool)
    if on_conflict == "drop":
        mask = consistent_subset(known.relative, known.relative_weight)
        mask = _without_clashes(known, mask)
    kept = _choose(known, mask)
    if kept.n_constraints:
        kept._by_id(ids).diagnose(n_clusters, n_rows=n_rows).raise_if_inconsistent()
    while not consistent(between := _between(kept, group := _groups(kept, n_rows))[0]):
        if on_conflict == "raise":
            raise ConstraintError(_explain(kept, group, ids), topic="triplets")
        positions = _between(kept, group)[1]
        weight = kept.relative_weight[positions]
        place = np.flatnonzero(mask)
        mask[place[positions[~consistent_subset(between, weight)]]] = False
        kept = _choose(known, mask)
    return FeasibleConstraints(_with_groups(kept, group), known - kept, group)


def _choose(known: Constraints, relative: Mask) -> Constraints:
    must, cannot = (np.ones(n, dtype=bool) for n in (known.n_must_link, known.n_cannot_link))
    return known._where(must, cannot, relative)


def _without_clashes(known: Constraints, mask: Mask) -> Mask:
    """Drop the lightest relative constraint of every contradiction with pairs."""
    mask = mask.copy()
    while True:
        kept = _choose(known, mask)
        found = [c for c in kept.diagnose().contradictions if c.kind == "mixed"]
        if not found:
            return mask
        for contradiction in found:
            proof = contradiction.proof
            lightest = proof.relative[np.argmin(proof.relative_weight)]
            mask &= (known.relative != lightest).any(axis=1)


def _groups(known: Constraints, n_rows: int) -> Ints:
    """The group of each row: the number of its first member."""
    nodes, part = bound_groups(known)
    group = np.arange(n_rows)
    if len(nodes):
        first = np.full(int(part.max()) + 1, n_rows)
        np.minimum.at(first, part, nodes)
        group[nodes] = first[part]
    return group


def _between(known: Constraints, group: Ints) -> tuple[Ints, Ints]:
    """Triplets between groups, each group as one item, and their positions."""
    triplets = group[known.relative]
    positions = np.flatnonzero(triplets[:, 0] != triplets[:, 1])
    return triplets[positions], positions


def _explain(known: Constraints, group: Ints, ids: Sequence[Hashable] | None) -> str:
    """Relative constraints that cannot be met when must-linked rows are merged first."""
    between, positions = _between(known, group)
    core, _ = irreducible(np.arange(len(between)), lambda part: consistent(between[part]))
    nothing = np.zeros(0, dtype=np.int64)
    proof = known._where(nothing, nothing, positions[core])._by_id(ids)
    claims = "; ".join(f"{link} ({link.where})" for link in proof._first(6))
    more = f"; and {len(core) - 6:,} more" if len(core) > 6 else ""
    return (
        "must-linked rows are merged first, and then no hierarchy keeps these relative "
        f"constraints together: {claims}{more}; drop some of them, or use on_conflict='drop'"
    )


def _with_groups(known: Constraints, group: Ints) -> Constraints:
    """Must-links from the first row of each group to the others join what is known."""
    rows = np.flatnonzero(group != np.arange(len(group)))
    if not len(rows):
        return known
    return known + Constraints(must_link=np.column_stack([group[rows], rows]))
