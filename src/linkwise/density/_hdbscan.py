"""`ConstrainedHDBSCAN`: density-based clusters that satisfy links."""

from __future__ import annotations

import time
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted

from linkwise._types import MatrixLike, SampleIds
from linkwise._validation import (
    ConstrainedClusterMixin,
    Knowable,
    check_number,
    read_labels,
    read_new_rows,
)
from linkwise.constraints import Constraints
from linkwise.report import Report

from ._tree import (
    Floats,
    Rows,
    cluster_of_rows,
    condense_tree,
    link_gains,
    order_by_value,
    select,
    spanning_tree,
)


class ConstrainedHDBSCAN(ConstrainedClusterMixin, BaseEstimator):
    """HDBSCAN* with must-links and cannot-links; finds the number of clusters and noise.

    Rows are merged by mutual reachability distance. Must-linked rows are merged first; a merge
    that would put cannot-linked rows together is refused, which cuts the hierarchy there. The
    chosen disjoint clusters satisfy the greatest weight of links; among equal choices, the most
    stable one is taken. Without links this is HDBSCAN*.

    No cluster violates a cannot-link, and no two clusters share must-linked rows; but rows may
    become noise (-1), and then a must-link counts as violated.

    Parameters
    ----------
    min_cluster_size : int, default=5
        The least number of rows of a cluster.
    min_samples : int, default=None
        A row's core distance is that to its `min_samples`-th nearest row, itself included. Larger
        values make more rows noise. None is `min_cluster_size`.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row, numbered by their first row; -1 for noise.
    probabilities_ : ndarray of shape (n_samples,)
        Density at which a row leaves its cluster, as a share of that at which the last rows leave;
        0 for noise.
    n_clusters_ : int
        Number of clusters found.
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
    cannot-linked to what lies between them stay apart. A part that was cut off keeps the rows it is
    merged with later, however far away; `probabilities_` is low for such rows.

    The order of the rows has no influence, unless two equal rows are cannot-linked. A row whose
    core distance makes it equally near to two clusters joins the nearer one; scikit-learn's choice
    there depends on the order of the rows. Without such ties, and without links, labels are those
    of scikit-learn.

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

    def __init__(self, min_cluster_size: int = 5, *, min_samples: int | None = None):
        self.min_cluster_size = min_cluster_size
        self.min_samples = min_samples

    # ---------------------------------------------------------------- fit

    def fit(
        self,
        X: MatrixLike,
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
            Partial labels, -1 for unknown. Rows with the same label are must-linked, rows with
            different labels are cannot-linked.
        constraints : Constraints, DataFrame or path, default=None
            Constraints by row number, or by id when `sample_ids` is given or X is a DataFrame with
            an index.
        sample_ids : array-like of shape (n_samples,), default=None
            Id of each row. Constraints on ids that no row has are ignored.

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
        if pairs:
            pairs._by_id(ids).diagnose().raise_if_inconsistent()
        self._cluster(X, pairs)
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

    def _cluster(self, X: Floats, pairs: Constraints) -> None:
        n = len(X)
        self._row = order_by_value(X, pairs)
        place = np.argsort(self._row)
        rows = np.ascontiguousarray(X[self._row], dtype=np.float64)
        self._neighbors = NearestNeighbors(n_neighbors=min(self._n_core, n)).fit(rows)
        neighbor = self._neighbors.kneighbors(rows, return_distance=False)[:, -1]
        spanning = spanning_tree(rows, neighbor.astype(np.int64))
        groups, closure = np.arange(n), pairs.closure()
        groups[place[closure.nodes]] = n + closure.component
        tree = condense_tree(spanning, groups, place[pairs.cannot_link], self.min_cluster_size)
        gain = link_gains(tree.parent, tree.row_cluster[place], pairs)
        node = cluster_of_rows(tree, select(tree.parent, tree.stability, gain))

        death = np.append(tree.death, np.inf)[node]  # that of noise, node -1, is infinite
        self.probabilities_ = (np.minimum(tree.row_density, death) / death)[place]
        self.labels_, clusters = _number_by_first_row(node[place])
        self.n_clusters_ = len(clusters)
        self._core = spanning.core
        # New rows join a cluster at the density at which it is born or its first row leaves.
        entry = np.append(tree.birth, np.inf)
        np.minimum.at(entry, node, tree.row_density)
        self._entry = np.append(entry[clusters], np.inf)

    @property
    def _n_core(self) -> int:
        """Number of neighbors, the row itself included, that define a core distance."""
        return self.min_cluster_size if self.min_samples is None else self.min_samples

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
        check_is_fitted(self)
        queries = read_new_rows(self, X, accept_sparse=False)
        wanted = self._n_core
        near = min(2 * wanted, len(self._row))
        distances, found = self._neighbors.kneighbors(queries, near)
        # The row itself counts as the first of the min_samples nearest.
        own = distances[:, min(wanted - 2, near - 1)] if wanted > 1 else np.zeros(len(distances))
        reach = np.maximum(np.maximum(distances, self._core[found]), own[:, None])
        best = np.arange(len(reach)), reach.argmin(axis=1)
        labels = self.labels_[self._row[found[best]]]
        with np.errstate(divide="ignore"):
            joins = 1.0 / reach[best] >= self._entry[labels]
        return np.where(joins, labels, -1).astype(np.int32)


def _number_by_first_row(node: Rows) -> tuple[NDArray[np.int32], Rows]:
    """Labels 0, 1, ... in the order in which nodes appear (-1 stays), and the node of each."""
    nodes, first, place = np.unique(node, return_index=True, return_inverse=True)
    inside = nodes >= 0
    order = np.argsort(np.where(inside, first, -1), kind="stable")
    labels = np.argsort(order) - int((~inside).sum())
    return labels[place].astype(np.int32), nodes[order[(~inside).sum() :]]
