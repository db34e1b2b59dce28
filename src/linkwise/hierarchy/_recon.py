"""ReCon: a hierarchy that satisfies every relative constraint."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from linkwise._types import Floats, Metric
from linkwise._validation import check_choice, check_number
from linkwise.constraints import Constraints

from ._base import BaseHierarchy
from ._cut import Nearer, cut, least_clusters, nearer_by_distances, nearer_by_means
from ._feasible import FeasibleConstraints, settle
from ._merge import LINKAGES, condensed, merge
from ._milp_feasibility import find_witness

_EUCLIDEAN_ONLY = ("centroid", "ward")


class ReCon(BaseHierarchy):
    """Hierarchical clustering that satisfies every relative constraint.

    In each round the closest pair of clusters is merged that leaves all constraints possible, so
    that the hierarchy is always complete and satisfies every ab|c: a and b meet before c joins
    them. Pairs may be given too: must-linked rows are merged before all others, and cannot-linked
    rows are never in one cluster of a cut. Without constraints it is SciPy's linkage.

    Parameters
    ----------
    n_clusters : int, default=None
        Number of clusters of `labels_`. None: as few as the cannot-links allow, which is one
        without any; the hierarchy is there all the same, see `cut`.
    linkage : {"centroid", "average", "complete", "single", "ward"}, default="centroid"
        How far apart two clusters are.
    metric : str or callable, default="euclidean"
        A metric of `scipy.spatial.distance.pdist`, or "precomputed": X is a square matrix of
        distances. Centroid and ward need Euclidean distances.
    min_branch : int or float, default=0.05
        Smaller branches of the hierarchy are outliers, which `cut` does not spend a cluster on as
        long as there are other merges to undo (section 4.2.1). A number of rows, or (a float
        below 1) a share of the rows of an average cluster.
    outliers : {"strict", "nearest"}, default="strict"
        What `cut` does with outliers that no side of a cut may take without breaking a relative
        constraint in the sense of Definition 4.2 (once c is with a or b, all three are together).
        "strict": they become separate clusters, and `labels_` satisfies every constraint.
        "nearest", as in the paper: they go to the nearer side. With constraints drawn at random
        that gives far better clusters (see ``papers/liu2011_recon``); take a larger `min_branch`
        with it, say 0.2. Pairs are kept either way.
    on_conflict : {"raise", "drop"}, default="raise"
        What to do when the relative constraints contradict each other: raise a `ConstraintError`
        that names a set which cannot hold, or keep a large consistent subset of great weight.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row, ``cut(n_clusters)``.
    children_ : ndarray of shape (n_samples - 1, 2)
        The two nodes of each merge; nodes below n_samples are rows, merge t makes node
        n_samples + t.
    distances_ : ndarray of shape (n_samples - 1,)
        Distance of the two clusters of each merge. Not always rising: constraints make near
        clusters wait, and the centroid linkage has inversions by itself.
    linkage_matrix_ : ndarray of shape (n_samples - 1, 4)
        The same for `scipy.cluster.hierarchy`.
    dropped_ : Constraints
        Relative constraints that ``on_conflict="drop"`` gave up.
    report_ : Report
        What became of the constraints. Relative ones are judged by the hierarchy.

    See Also
    --------
    ConstrainedCompleteLink : A hierarchy from pairs.
    ComparisonMetric : A metric from triplets.
    one_tree : A tree of triplets without data.

    Notes
    -----
    Undoing the last merges would spend clusters on outliers. `cut` undoes first the merges that
    join the two sides of some ab|c, the best supported first, then those of large branches, then
    any. Outliers that merge above them go to the nearer side where no constraint forbids it, so
    that clusters need not be branches of the tree.

    Memory: 4 n^2 bytes (8 bytes for each pair of rows, as SciPy). Time: O(n^2) as SciPy's, plus
    the tests of pairs that come close and may not merge.

    References
    ----------
    .. [1] E. Y. Liu, Z. Zhang, W. Wang. Clustering with relative constraints. KDD 2011: what is
       kept, definitions 4.1 and 4.2; merging and TestCompatibility, section 4.2; outliers, 4.2.1.

    Examples
    --------
    >>> from linkwise import Constraints, ReCon
    >>> X = [[0.0], [3.0], [4.0], [7.0]]
    >>> ReCon(n_clusters=2).fit(X).to_tree().to_nested()
    [3, [0, [1, 2]]]
    >>> known = Constraints(relative=[(0, 1, 2), (2, 3, 0)])
    >>> model = ReCon(n_clusters=2).fit(X, constraints=known)
    >>> model.to_tree().to_nested(), model.labels_.tolist()
    ([[0, 1], [2, 3]], [0, 0, 1, 1])
    """

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        linkage: Literal["centroid", "average", "complete", "single", "ward"] = "centroid",
        metric: Metric = "euclidean",
        min_branch: float = 0.05,
        outliers: Literal["strict", "nearest"] = "strict",
        on_conflict: Literal["raise", "drop"] = "raise",
    ):
        self.n_clusters = n_clusters
        self.linkage = linkage
        self.metric = metric
        self.min_branch = min_branch
        self.outliers = outliers
        self.on_conflict = on_conflict

    def _build(self, X: Floats, known: Constraints) -> None:
        settled = settle(known, X.shape[0], self.n_clusters, self.on_conflict, self._told_by)
        self.dropped_, self._kept, self._X = settled.dropped, settled.kept, X
        self._merge(settled, settled.colors(self.n_clusters))
        if self.n_clusters and least_clusters(self.children_, settled.kept) > self.n_clusters:
            witness = find_witness(settled, self._costs(self.n_clusters))
            if witness is not None:
                self._merge(settled, (witness, -1))

    def _merge(self, settled: FeasibleConstraints, colors: tuple[NDArray[np.int64], int]) -> None:
        distances = condensed(self._X, self.metric, self.linkage)
        self.children_, self.distances_ = merge(distances, settled, colors, self.linkage)

    def _costs(self, n_clusters: int) -> NDArray[np.float64]:
        """How far each row is from the clusters there would be without cannot-links."""
        known = self._kept._like(self._kept._must, relative=self._kept._relative)
        labels = cut(self.children_, known, self._nearer(), n_clusters, 1)
        member = np.eye(n_clusters)[labels] / np.bincount(labels)
        if self._precomputed:
            return self._X @ member
        return cdist(self._X, member.T @ self._X, self.metric)

    def _cut(self, n_clusters: int | None) -> NDArray[np.int32]:
        least, strict = self._least_rows(n_clusters), self.outliers == "strict"
        return cut(self.children_, self._kept, self._nearer(), n_clusters, least, strict=strict)

    def _least_rows(self, n_clusters: int | None) -> int:
        """`min_branch` as a number of rows."""
        if isinstance(self.min_branch, Integral):
            return int(self.min_branch)
        return max(1, int(np.ceil(self.min_branch * len(self._X) / (n_clusters or 1))))

    def _nearer(self) -> Nearer:
        if self._precomputed:
            return nearer_by_distances(self._X)
        return nearer_by_means(self._X, lambda a, b: cdist(a, b, self.metric))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("linkage", self.linkage, LINKAGES)
        check_choice("outliers", self.outliers, ("strict", "nearest"))
        check_choice("on_conflict", self.on_conflict, ("raise", "drop"))
        check_number("min_branch", self.min_branch, Real, 0)
        if not isinstance(self.min_branch, Integral) and self.min_branch >= 1:
            raise ValueError(
                f"min_branch={self.min_branch} is a share and must be below 1; give an integer for "
                "a number of rows"
            )
        if self.linkage in _EUCLIDEAN_ONLY and self.metric not in ("euclidean", "precomputed"):
            raise ValueError(
                f"linkage={self.linkage!r} needs Euclidean distances, not metric={self.metric!r}; "
                "use linkage='average', 'complete' or 'single'"
            )
