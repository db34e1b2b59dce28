"""What hierarchical estimators share: reading X, storing the merges, trees, plots, reports."""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from linkwise._errors import InputError
from linkwise._types import Floats, MatrixLike, Metric, SampleIds
from linkwise._validation import (
    ConstrainedClusterMixin,
    check_number,
    check_scale,
    read_data,
    read_labels,
    read_named,
)
from linkwise.constraints import Constraints, Tree, row_names
from linkwise.report import Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from linkwise._validation import Knowable


class BaseHierarchy(ConstrainedClusterMixin, BaseEstimator):
    """Base of the hierarchical estimators; see its subclasses.

    A subclass builds `children_` and `distances_` in `_build`, and cuts them in `_cut`.
    """

    metric: Metric
    n_clusters: int | None
    labels_: NDArray[np.int32]
    children_: NDArray[np.int64]
    distances_: Floats

    def _build(self, X: Floats, known: Constraints) -> None:
        raise NotImplementedError

    def _cut(self, n_clusters: int | None) -> NDArray[np.int32]:
        raise NotImplementedError

    _needs = "the distances of all pairs of rows, 4 n^2 bytes, and so all rows in memory"

    def fit(
        self, X: MatrixLike, y: ArrayLike | None = None, *, constraints: Knowable = None,
        sample_ids: SampleIds = None,
    ) -> Self:  # fmt: skip
        """Build the hierarchy of the rows of X under the constraints.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples, n_samples) if precomputed
            The data, or distances.
        y : array-like of shape (n_samples,), default=None
            Partial labels, -1 for unknown; rows of one class must be together, rows of two apart.
        constraints : Constraints, DataFrame or path, default=None
            What is known. By row number, or by id when `sample_ids` is given or X is a DataFrame
            with an index.
        sample_ids : array-like of shape (n_samples,), default=None
            Id of each row. Constraints on ids that no row has are left out.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        started = time.perf_counter()
        self._check_parameters()
        X, known = self._read(X, y, constraints, sample_ids)
        self._build(X, known)
        self._store(known, self._cut(self.n_clusters), started)
        return self

    def cut(self, n_clusters: int) -> NDArray[np.int32]:
        """Cut the hierarchy into clusters.

        Parameters
        ----------
        n_clusters : int

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Clusters are numbered by their first row.
        """
        check_is_fitted(self)
        check_number("n_clusters", n_clusters, Integral, 1)
        if n_clusters > self.n_leaves_:
            raise InputError(
                f"{{n_clusters={n_clusters}}} is larger than the {self.n_leaves_:,} rows"
            )
        return self._cut(n_clusters)

    # ---------------------------------------------------------------- reading

    def _check_parameters(self) -> None:
        if self.n_clusters is not None:
            check_number("n_clusters", self.n_clusters, Integral, 1)

    def _read(
        self, X: MatrixLike, y: ArrayLike | None, constraints: Knowable, sample_ids: SampleIds
    ) -> tuple[Floats, Constraints]:
        """The data and the constraints by row number."""
        given, X = X, read_data(self, X, accept_sparse=False)
        check_scale(X, dtype=np.float64)  # distances are computed in float64
        if self._precomputed:
            _check_distances(X)
        n_samples = X.shape[0]
        self._check_enough_rows(n_samples)
        found = read_named(constraints, n_samples, sample_ids, given)
        known, self._n_dropped, self._told_by = found
        labels = self._seeds(y, n_samples)
        if labels is not None and (labels >= 0).any():
            known = known + Constraints(labels=labels)
        self._ids = row_names(given) if sample_ids is None else list(sample_ids)
        return X, known

    def _seeds(self, y: ArrayLike | None, n_samples: int) -> NDArray[np.int64] | None:
        return read_labels(y, n_samples)

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.metric, str) and self.metric == "precomputed"

    def _store(self, known: Constraints, labels: NDArray[np.int32], started: float) -> None:
        """Store the result of a fit and the report on the constraints."""
        self.labels_ = labels
        self.n_leaves_ = len(labels)
        hierarchy = self._tree(None) if known.n_relative else None
        self.report_ = Report(
            algorithm=type(self).__name__,
            constraints=known,
            satisfaction=known.satisfied(labels, hierarchy=hierarchy),
            costs=np.zeros(known.n_constraints),
            cluster_sizes=np.bincount(labels),
            n_components=int((known.closure().sizes > 1).sum()),
            objective=None,
            n_iter=len(self.children_),
            converged=True,
            seconds=time.perf_counter() - started,
            n_dropped=self._n_dropped,
            ids=self._told_by,
        )

    # ---------------------------------------------------------------- the hierarchy

    @property
    def linkage_matrix_(self) -> Floats:
        """The merges as SciPy has them, shape (n_samples - 1, 4): two nodes, distance, rows.

        Distances may fall from one merge to the next: constraints make near clusters wait, and
        the centroid linkage does so by itself (inversions). SciPy's functions take that, but
        `fcluster` with a distance does not give the clusters one may expect; use `cut`.
        """
        check_is_fitted(self)
        n = len(self.children_) + 1
        size = np.ones(2 * n - 1)
        for node, (i, j) in enumerate(self.children_.tolist(), start=n):
            size[node] = size[i] + size[j]
        return np.column_stack([self.children_, self.distances_, size[n:]])

    def _tree(self, ids: Sequence[Hashable] | None) -> Tree:
        if not len(self.children_):
            return Tree([-1], [0] if ids is None else ids)
        return Tree.from_linkage(self.children_, ids)

    def to_tree(self, ids: Sequence[Hashable] | None = None) -> Tree:
        """The hierarchy as a `Tree`, with branch lengths.

        A branch is as long as the distances of the merges at its two ends differ, and 0 where
        the upper one is not the larger.

        Parameters
        ----------
        ids : sequence of hashable of shape (n_samples,), default=None
            Names of the leaves; by default the ids of the fit, or row numbers.
        """
        check_is_fitted(self)
        tree = self._tree(self._names(ids))
        height = np.append(np.zeros(tree.n_leaves), self.distances_)
        lengths = np.zeros(len(height))
        lengths[:-1] = np.maximum(height[tree.parent[:-1]] - height[:-1], 0.0)
        return Tree(tree.parent, tree.leaves, lengths)

    def to_newick(self, ids: Sequence[Hashable] | None = None) -> str:
        """The hierarchy in Newick format; parameters and branch lengths as in `to_tree`.

        Parameters
        ----------
        ids : sequence of hashable, default=None
            Name of each row; its number if not given.
        """
        return self.to_tree(ids).to_newick()

    def plot(
        self, ax: Axes | None = None, ids: Sequence[Hashable] | None = None, most: int = 100
    ) -> Axes:
        """Draw the dendrogram, clusters in colors, with the constraints below it.

        Merges that join the two sides of a relative constraint are marked. Needs matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if not given.
        ids : sequence of hashable of shape (n_samples,), default=None
            Names of the leaves; by default the ids of the fit, or row numbers.
        most : int, default=100
            The most constraints to draw; of more, the heaviest are drawn.

        Returns
        -------
        ax : matplotlib Axes
        """
        from ._plot import draw

        check_is_fitted(self)
        return draw(self, ax, self._names(ids), most)

    def _names(self, ids: Sequence[Hashable] | None) -> list[Hashable] | None:
        names = self._ids if ids is None else list(ids)
        if names is not None and len(names) != self.n_leaves_:
            raise ValueError(f"{len(names):,} ids for {self.n_leaves_:,} rows; give one id per row")
        return names

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        return tags


def _check_distances(X: Floats) -> None:
    """Refuse what is no matrix of distances."""
    if X.shape[0] != X.shape[1]:
        raise ValueError(
            f"metric='precomputed': X has shape {X.shape}; expected a square matrix of distances"
        )
    if (X < 0).any():
        i, j = np.argwhere(X < 0)[0].tolist()
        raise ValueError(
            f"metric='precomputed': the distance of rows {i} and {j} is {X[i, j]:g}; distances "
            "must not be negative"
        )
    if not np.allclose(X, X.T):
        i, j = np.argwhere(~np.isclose(X, X.T))[0].tolist()
        raise ValueError(
            f"metric='precomputed': rows {i} and {j} are {X[i, j]:g} apart one way and "
            f"{X[j, i]:g} the other; distances must be symmetric"
        )
