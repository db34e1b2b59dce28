"""`ConstrainedHDBSCAN`: density-based clusters that satisfy links."""

from __future__ import annotations

import time
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted

from linkwise._types import SampleIds
from linkwise._validation import (
    ConstrainedClusterMixin,
    Knowable,
    check_choice,
    check_number,
    read_labels,
    read_new_rows,
)
from linkwise.constraints import Constraints
from linkwise.report import Report

from ._tree import (
    CondensedTree,
    Floats,
    condense_tree,
    is_eligible,
    label_rows,
    link_gains,
    outlier_scores,
    select,
    spanning_tree,
)


class ConstrainedHDBSCAN(ConstrainedClusterMixin, BaseEstimator):
    """HDBSCAN* with must-links and cannot-links; finds the number of clusters and noise.

    Rows are merged by mutual reachability distance. Must-linked rows are one leaf of the hierarchy
    from the start; a merge that would put cannot-linked rows together is refused, so that the
    hierarchy is cut there. Of all disjoint clusters in it, those of the greatest stability and
    weight of satisfied links are taken. Without links this is HDBSCAN*.

    No cluster violates a cannot-link, and no two clusters share must-linked rows; but rows may
    become noise (-1), and then a must-link counts as violated.

    Parameters
    ----------
    min_cluster_size : int, default=5
        The least number of rows of a cluster.
    min_samples : int, default=None
        A row's core distance is that to its `min_samples`-th nearest row, itself included. Larger
        values make more rows noise. None is `min_cluster_size`.
    hard : bool, default=True
        Whether links shape the hierarchy, as described above. If not, it is that of HDBSCAN*, and
        links count only in the choice of clusters; contradictory links are then allowed.
    link_share : float, default=1.0
        Share of the links in the quality of clusters, between 0 (stability alone) and 1 (links
        first; stability decides among choices that satisfy the same weight of links).
    cluster_selection_method : {"eom", "leaf"}, default="eom"
        Take the best clusters of all sizes, or only the finest.
    allow_single_cluster : bool, default=False
        Whether all rows may be one cluster.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row, numbered by their first row; -1 for noise.
    probabilities_ : ndarray of shape (n_samples,)
        How firmly a row belongs to its cluster: the density at which it leaves, as a share of that
        at which the cluster's last rows leave; 0 for noise.
    outlier_scores_ : ndarray of shape (n_samples,)
        GLOSH [1]_, between 0 and 1; large for rows in thinner regions than the clusters nearby.
    n_clusters_ : int
        Number of clusters found.
    core_distances_ : ndarray of shape (n_samples,)
        Core distance of each row.
    stabilities_ : ndarray of shape (n_clusters,)
        Excess of mass of each cluster.
    report_ : Report
        Satisfied and violated constraints; noise is together with no other row.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    sklearn.cluster.HDBSCAN : The same without links.

    Notes
    -----
    Distances are Euclidean: scale the columns first. The spanning tree takes O(n^2) time and O(n)
    memory. Merges are refused along the minimum spanning tree: two parts that are both
    cannot-linked to what lies between them stay apart. An edge refused at a distance w counts as
    a split at w in stabilities. A part that was cut off keeps the rows it is merged with later,
    however far away; `probabilities_` is low for such rows.

    The order of the rows has no influence. A row whose core distance makes it equally near to two
    clusters goes with the nearer one; scikit-learn's choice there depends on the order of the
    rows. Without such ties, and without links, labels are those of scikit-learn.

    References
    ----------
    .. [1] R. J. G. B. Campello, D. Moulavi, A. Zimek, J. Sander. Hierarchical density estimates
       for data clustering, visualization, and outlier detection. ACM TKDD 10(1), 2015.
    .. [2] R. J. G. B. Campello, D. Moulavi, A. Zimek, J. Sander. A framework for semi-supervised
       and unsupervised optimal extraction of clusters from hierarchies. Data Mining and Knowledge
       Discovery 27, 2013.
    .. [3] J. Castro Gertrudes, A. Zimek, J. Sander, R. J. G. B. Campello. A unified view of
       density-based methods for semi-supervised clustering and classification. Data Mining and
       Knowledge Discovery 33, 2019.

    Examples
    --------
    >>> from linkwise import ConstrainedHDBSCAN, Constraints
    >>> X = [[0.0], [0.1], [0.2], [0.32], [0.42], [0.52], [9.0], [9.1], [9.2], [30.0]]
    >>> ConstrainedHDBSCAN(3, min_samples=2).fit_predict(X).tolist()
    [0, 0, 0, 0, 0, 0, 1, 1, 1, -1]
    >>> known = Constraints(cannot_link=[(1, 4)])
    >>> ConstrainedHDBSCAN(3, min_samples=2).fit_predict(X, constraints=known).tolist()
    [0, 0, 0, 1, 1, 1, 2, 2, 2, -1]
    """

    _needs = "distances between all rows, and so all rows in memory"

    _predicts_by_rows = True  # a model file keeps the labels of the rows in any case

    def __init__(
        self,
        min_cluster_size: int = 5,
        *,
        min_samples: int | None = None,
        hard: bool = True,
        link_share: float = 1.0,
        cluster_selection_method: Literal["eom", "leaf"] = "eom",
        allow_single_cluster: bool = False,
    ):
        self.min_cluster_size = min_cluster_size
        self.min_samples = min_samples
        self.hard = hard
        self.link_share = link_share
        self.cluster_selection_method = cluster_selection_method
        self.allow_single_cluster = allow_single_cluster

    # ---------------------------------------------------------------- fit

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        *,
        constraints: Knowable = None,
        sample_ids: SampleIds = None,
    ) -> ConstrainedHDBSCAN:
        """Cluster the rows of X under the constraints.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data.
        y : array-like of shape (n_samples,), default=None
            Partial labels, -1 for unknown; rows of one class must be together, rows of two apart.
        constraints : Constraints, DataFrame or path, default=None
            Constraints by row number, or by id when `sample_ids` is given or X is a DataFrame with
            an index.
        sample_ids : array-like of shape (n_samples,), default=None
            Id of each row. Constraints on ids that no row has are left out.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        started = time.perf_counter()
        self._check_parameters()
        X, (known, n_dropped, ids) = self._read_rows(
            X, constraints, sample_ids, accept_sparse=False
        )
        n = X.shape[0]
        labels = read_labels(y, n)
        if labels is not None and (labels >= 0).any():
            known = known + Constraints(labels=labels)
        pairs = known._like(known._must, known._cannot)
        if self.hard and pairs:
            pairs._by_id(ids).diagnose().raise_if_inconsistent()
        tree = self._grow(X, pairs)
        self._choose(tree, pairs)
        self._name_clusters(y)
        self.report_ = Report.of(
            known,
            self.labels_,
            algorithm=type(self).__name__,
            costs=np.zeros(0),
            objective=None,
            n_iter=n - 1,
            converged=True,
            seconds=time.perf_counter() - started,
            n_dropped=n_dropped,
            ids=ids,
        )
        return self

    def _check_parameters(self) -> None:
        check_number("min_cluster_size", self.min_cluster_size, Integral, 2)
        if self.min_samples is not None:
            check_number("min_samples", self.min_samples, Integral, 1)
        check_choice("cluster_selection_method", self.cluster_selection_method, ("eom", "leaf"))
        check_number("link_share", self.link_share, Real, 0)
        if self.link_share > 1:
            raise ValueError(f"link_share={self.link_share} must be at most 1")

    def _grow(self, X: Floats, pairs: Constraints) -> CondensedTree:
        """The condensed tree; the index of the rows is kept for `predict`."""
        n = len(X)
        # Rows are put in the order of their values: equal distances are then resolved alike,
        # whatever the order in which the rows are given. Repeated rows differ by their links.
        degree = np.bincount(np.concatenate([pairs.must_link, pairs.cannot_link]).ravel(), None, n)
        order = np.lexsort((degree, *X.T[::-1]))
        place = np.argsort(order)
        rows = np.ascontiguousarray(X[order], dtype=np.float64)
        groups, cannot = np.arange(n), np.zeros((0, 2), dtype=np.int64)
        if self.hard and pairs:
            closure = pairs.closure()
            groups[place[closure.nodes]] = n + closure.component
            cannot = place[pairs.cannot_link]
        self._neighbors = NearestNeighbors(n_neighbors=min(self._n_core, n)).fit(rows)
        neighbor = self._neighbors.kneighbors(rows, return_distance=False)[:, -1]
        spanning = spanning_tree(rows, neighbor.astype(np.int64), groups)
        tree = condense_tree(spanning, cannot, self.min_cluster_size)
        self._row = order
        self.core_distances_ = spanning.core[place]
        return tree._replace(
            row_cluster=tree.row_cluster[place], row_density=tree.row_density[place]
        )

    @property
    def _n_core(self) -> int:
        """Number of neighbors, the row itself included, that define a core distance."""
        return self.min_cluster_size if self.min_samples is None else self.min_samples

    def _choose(self, tree: CondensedTree, pairs: Constraints) -> None:
        """Choose clusters of the tree and store the attributes of the fit."""
        eligible = is_eligible(
            tree,
            leaves_only=self.cluster_selection_method == "leaf",
            allow_single=self.allow_single_cluster,
        )
        stability = tree.stability
        chosen = select(tree.parent, eligible, stability, link_gains(tree, pairs), self.link_share)
        found = label_rows(tree, chosen)
        self.labels_, self.probabilities_ = found.labels, found.probabilities
        self.outlier_scores_ = outlier_scores(tree)
        self.n_clusters_ = len(found.chosen)
        self.stabilities_ = stability[found.chosen]
        self._death = tree.death[found.chosen]
        self._entry = tree.birth[found.chosen]
        inside = self.labels_ >= 0
        np.minimum.at(self._entry, self.labels_[inside], tree.row_density[inside])

    # ---------------------------------------------------------------- new rows

    def predict(self, X: ArrayLike) -> NDArray[np.int32]:
        """The cluster that each row would fall into; the hierarchy stays as it is.

        A row goes with the nearest row of the fit by mutual reachability distance, among its
        nearest by distance, if it reaches it while that cluster exists. Rows of the fit may get
        another label than in `labels_`, and links have no part in it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            -1 for noise.
        """
        return self._place(X)[0]

    def predict_strength(self, X: ArrayLike) -> Floats:
        """How firmly each row belongs to the cluster that `predict` gives it; 0 for noise.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples,)
        """
        labels, density = self._place(X)
        death = np.append(self._death, 1.0)[labels]
        return np.where(labels < 0, 0.0, np.minimum(density, death) / death)

    def _place(self, X: ArrayLike) -> tuple[NDArray[np.int32], Floats]:
        """Label and density of each row among those of the fit."""
        check_is_fitted(self)
        queries = read_new_rows(self, X, accept_sparse=False)
        wanted, n = self._n_core, len(self._row)
        near = min(2 * wanted, n)
        distances, found = self._neighbors.kneighbors(queries, near)
        rows = self._row[found]
        # The row itself counts as the first of the min_samples nearest.
        own = distances[:, min(wanted - 2, near - 1)] if wanted > 1 else np.zeros(len(distances))
        reach = np.maximum(np.maximum(distances, self.core_distances_[rows]), own[:, None])
        best = reach.argmin(axis=1)
        pick = np.arange(len(best)), best
        labels = self.labels_[rows[pick]]
        with np.errstate(divide="ignore"):
            density = 1.0 / reach[pick]
        joins = density >= np.append(self._entry, np.inf)[labels]
        return np.where(joins, labels, -1).astype(np.int32), density
