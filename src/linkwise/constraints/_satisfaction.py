"""Which constraints a partition or a hierarchy keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from linkwise._types import LabelsLike, SampleIds

from ._builder import INTEGER
from ._labels import label_codes
from ._links import Links, Rows
from ._tree import Tree, TreeLike, as_tree

if TYPE_CHECKING:
    from ._constraints import Constraints

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Satisfaction:
    """Which constraints are kept, constraint by constraint and in total.

    Attributes
    ----------
    constraints : Constraints
        The constraints that were judged.
    must_link, cannot_link, relative : ndarray of bool
        Whether each constraint is kept, in the order of the constraints' own arrays.

    Examples
    --------
    >>> from linkwise import Constraints
    >>> found = Constraints(must_link=[(0, 1), (1, 2)]).satisfied([0, 0, 1])
    >>> found.must_link.tolist(), found.n_kept, found.violated.must_link.tolist()
    ([True, False], 1, [[1, 2]])
    """

    constraints: Constraints
    must_link: Mask
    cannot_link: Mask
    relative: Mask

    @property
    def kept(self) -> Constraints:
        """The constraints that are kept."""
        return self.constraints._where(self.must_link, self.cannot_link, self.relative)

    @property
    def violated(self) -> Constraints:
        """The constraints that are not kept."""
        return self.constraints._where(~self.must_link, ~self.cannot_link, ~self.relative)

    @property
    def n_kept(self) -> int:
        """Number of constraints kept."""
        return int(self.must_link.sum() + self.cannot_link.sum() + self.relative.sum())

    @property
    def n_violated(self) -> int:
        """Number of constraints not kept."""
        return self.constraints.n_constraints - self.n_kept

    @property
    def share(self) -> float:
        """Share of constraints kept; 1 when there are none."""
        total = self.constraints.n_constraints
        return self.n_kept / total if total else 1.0

    @property
    def weight_share(self) -> float:
        """Share of the weight of the constraints kept; 1 when there are none."""
        total = self.constraints.total_weight
        return self.kept.total_weight / total if total else 1.0

    @property
    def violated_weight(self) -> float:
        """Weight of the constraints not kept."""
        return self.violated.total_weight

    def __bool__(self) -> bool:
        """Whether every constraint is kept."""
        return self.n_violated == 0

    def __repr__(self) -> str:
        return (
            f"Satisfaction({self.n_kept} of {self.constraints.n_constraints} kept, "
            f"{self.weight_share:.1%} of the weight)"
        )


def judge(
    given: Constraints, labels: LabelsLike | None, hierarchy: TreeLike | None, sample_ids: SampleIds
) -> Satisfaction:
    """See `Constraints.satisfied`."""
    if labels is None and hierarchy is None:
        raise ValueError("give labels (a partition), a hierarchy, or both")
    if labels is None:
        if given.n_must_link or given.n_cannot_link:
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
    )


def _together(links: Links, cluster: Rows) -> Mask:
    if not len(links):
        return np.zeros(0, dtype=bool)
    return _same(cluster[links.ends[:, 0]], cluster[links.ends[:, 1]])


def _same(a: Rows, b: Rows) -> Mask:
    """Equal clusters; -1 is no cluster, so two such rows are not together."""
    return (a == b) & (a >= 0)


def _kept_by_partition(links: Links, cluster: Rows) -> Mask:
    """ab|c is kept unless c is with one of a, b but not with both (Definition 4.2)."""
    if not len(links):
        return np.zeros(0, dtype=bool)
    a, b, c = cluster[links.ends.T]
    return _same(a, c) == _same(b, c)


def _kept_by_hierarchy(given: Constraints, tree: Tree, sample_ids: SampleIds) -> Mask:
    """ab|c is kept when the tree induces it (Definition 4.1)."""
    names = given._names(given._relative.ends.reshape(-1))
    if sample_ids is not None and all(isinstance(leaf, int) for leaf in tree.leaves):
        row = {name: number for number, name in enumerate(sample_ids)}
        names = [row.get(name, name) for name in names]
    if names and isinstance(names[0], str) and all(isinstance(leaf, int) for leaf in tree.leaves):
        texts = [str(name) for name in names]
        names = [int(text) if INTEGER.fullmatch(text) else text for text in texts]
    return tree.displays(zip(*[iter(names)] * 3, strict=True))
