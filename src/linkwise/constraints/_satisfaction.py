"""Which constraints a partition or a hierarchy satisfies."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from linkwise._types import LabelsLike, SampleIds

from ._arguments import label_codes
from ._builder import INTEGER
from ._cliques import Cliques
from ._links import Links, Rows
from ._tree import Tree, TreeLike, as_tree

if TYPE_CHECKING:
    from ._constraints import Constraints

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Satisfaction:
    """Which constraints are satisfied, constraint by constraint and in total.

    Attributes
    ----------
    constraints : Constraints
        The constraints that were judged.
    must_link, cannot_link, relative : ndarray of bool
        Whether each constraint is satisfied, in the order of the constraints' own arrays.
    apart : ndarray of bool
        Whether each apart group is satisfied: no two of its rows share a cluster.

    Examples
    --------
    >>> from linkwise import Constraints
    >>> found = Constraints(must_link=[(0, 1), (1, 2)]).satisfied([0, 0, 1])
    >>> found.must_link.tolist(), found.n_satisfied, found.violated.must_link.tolist()
    ([True, False], 1, [[1, 2]])
    """

    constraints: Constraints
    must_link: Mask
    cannot_link: Mask
    relative: Mask
    apart: Mask = field(default_factory=lambda: np.zeros(0, dtype=bool))

    @property
    def satisfied(self) -> Constraints:
        """The constraints that are satisfied."""
        return self.constraints._where(*self.masks)

    @property
    def violated(self) -> Constraints:
        """The constraints that are violated."""
        return self.constraints._where(*(~mask for mask in self.masks))

    @property
    def masks(self) -> tuple[Mask, Mask, Mask, Mask]:
        """Must-links, cannot-links, relative constraints and apart groups that are satisfied."""
        return self.must_link, self.cannot_link, self.relative, self.apart

    @property
    def n_satisfied(self) -> int:
        """Number of constraints satisfied."""
        return int(sum(mask.sum() for mask in self.masks))

    @property
    def n_violated(self) -> int:
        """Number of constraints violated."""
        return self.constraints.n_constraints - self.n_satisfied

    @property
    def share(self) -> float:
        """Share of constraints satisfied; 1 when there are none."""
        total = self.constraints.n_constraints
        return self.n_satisfied / total if total else 1.0

    @property
    def weight_share(self) -> float:
        """Share of the weight of the constraints satisfied; 1 when there are none."""
        total = self.constraints.total_weight
        return self.satisfied.total_weight / total if total else 1.0

    def __bool__(self) -> bool:
        """Whether every constraint is satisfied."""
        return self.n_violated == 0

    def __repr__(self) -> str:
        return (
            f"Satisfaction({self.n_satisfied} of {self.constraints.n_constraints} satisfied, "
            f"{self.weight_share:.1%} of the weight)"
        )


def judge(
    given: Constraints, labels: LabelsLike | None, hierarchy: TreeLike | None, sample_ids: SampleIds
) -> Satisfaction:
    """See `Constraints.satisfied`."""
    if labels is None and hierarchy is None:
        raise ValueError("give labels (a partition), a hierarchy, or both")
    if labels is None:
        if given.n_must_link or given.n_cannot_link or given.n_apart:
            raise ValueError(
                "must-links and cannot-links are judged by a partition: give labels as well, or "
                "judge only the relative constraints"
            )
        rows, cluster = given, np.zeros(0, dtype=np.int64)
    else:
        names, cluster = label_codes(labels, sample_ids)  # type: ignore[arg-type]
        rows = given.to_rows(len(cluster), names)
    if hierarchy is None:
        relative = _kept_by_partition(rows._relative, cluster)
    else:
        relative = _kept_by_hierarchy(given, as_tree(hierarchy), sample_ids)
    return Satisfaction(
        given,
        _together(rows._must, cluster),
        ~_together(rows._cannot, cluster),
        relative,
        _kept_groups(rows._apart, cluster),
    )


def _kept_groups(groups: Cliques, cluster: Rows) -> Mask:
    """Groups of which no two rows share a cluster; -1 is no cluster."""
    satisfied = np.ones(len(groups), dtype=bool)
    if len(groups):
        group, label = groups.group, cluster[groups.members]
        order = np.lexsort((label, group))
        group, label = group[order], label[order]
        shared = (group[1:] == group[:-1]) & (label[1:] == label[:-1]) & (label[1:] >= 0)
        satisfied[group[1:][shared]] = False
    return satisfied


def _together(links: Links, cluster: Rows) -> Mask:
    if not len(links):
        return np.zeros(0, dtype=bool)
    return _same(cluster[links.ends[:, 0]], cluster[links.ends[:, 1]])


def _same(a: Rows, b: Rows) -> Mask:
    """Equal clusters; -1 is no cluster, so two such rows are not together."""
    return (a == b) & (a >= 0)


def _kept_by_partition(links: Links, cluster: Rows) -> Mask:
    """ab|c is satisfied unless c is with one of a, b but not with both (Definition 4.2)."""
    if not len(links):
        return np.zeros(0, dtype=bool)
    a, b, c = cluster[links.ends.T]
    return _same(a, c) == _same(b, c)


def _kept_by_hierarchy(given: Constraints, tree: Tree, sample_ids: SampleIds) -> Mask:
    """ab|c is satisfied when the tree induces it (Definition 4.1)."""
    names = given._names(given._relative.ends.reshape(-1))
    if all(isinstance(leaf, int) for leaf in tree.leaves):  # a tree of row numbers
        row = {} if sample_ids is None else {name: k for k, name in enumerate(sample_ids)}
        names = [row.get(name, _as_number(name)) for name in names]
    return tree.displays(zip(*[iter(names)] * 3, strict=True))


def _as_number(name: Hashable) -> Hashable:
    """The number that a name from a text file stands for, if it does."""
    return int(name) if isinstance(name, str) and INTEGER.fullmatch(name) else name
