"""Spectral Learning: links written into the affinities, then any clusterer on the eigenvectors."""

from __future__ import annotations

import time
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.cluster import KMeans
from sklearn.preprocessing import normalize
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from linkwise._adapters import check_base, cluster, seeded
from linkwise._types import (
    Labels,
    Matrix,
    MatrixLike,
    RandomState,
    SampleIds,
    Seed,
    is_sparse,
)
from linkwise._validation import (
    ConstrainedClusterMixin,
    Knowable,
    check_choice,
    check_number,
    read_labels,
    read_links,
    read_new_rows,
)
from linkwise.geometry._affinity import Gamma, linked_graph
from linkwise.geometry._eigen import Normalization, embedded
from linkwise.report import Report


class SpectralLearning(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ConstrainedClusterMixin, BaseEstimator
):
    """Spectral clustering whose affinities obey the constraints.

    Must-linked rows get affinity 1, cannot-linked rows affinity 0; rows are then represented by
    the leading eigenvectors of the normalized affinities and clustered there. Without constraints
    it is spectral clustering. Also a transformer: `transform` gives that representation.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    n_components : int, default=None
        Number of eigenvectors; None for as many as clusters.
    affinity : {"nearest_neighbors", "rbf", "precomputed"}, default="nearest_neighbors"
        Gaussian affinities between nearest neighbors only (sparse), between all rows ("rbf",
        n x n numbers, up to 30,000 rows), or X itself.
    normalization : {"symmetric", "additive"}, default="symmetric"
        "symmetric": D^(-1/2) A D^(-1/2), as in spectral clustering [2]_. "additive":
        (A + d_max I - D) / d_max, that of the paper [1]_. It does not equalize degrees, so that
        outliers easily become clusters.
    gamma : float, "local" or "median", default="local"
        Affinity is ``exp(-gamma * squared distance)``. "median" is 1 / (2 m), m the median of the
        squared distances in question. "local" gives each row a bandwidth s, its distance to the
        seventh neighbor [3]_ (at least 0.3 times the median of these), and the affinity
        ``exp(-squared distance / max(s_i, s_j)**2)``: so clusters may differ in density, and no
        row is without neighbors.
    n_neighbors : int, default=10
        Neighbors of a row in "nearest_neighbors".
    clusterer : clusterer, default=None
        What clusters the representation; None is k-means with `n_clusters`.
    entailed : bool, default=True
        Whether links that follow from the given ones count too, unless the constraints contradict
        or more than a million would. The paper's affinities are those of the given links alone.
    n_init : int, default=10
        Initializations of k-means, when `clusterer` is None.
    random_state : int, RandomState instance or None, default=None
        Seed of the eigensolver's start and of the clusterer.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row.
    embedding_ : ndarray of shape (n_samples, n_components)
        The representation.
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of the normalized affinities, the largest (1) first.
    affinity_ : Affinity
        The kind of affinity, with the gamma that was used.
    clusterer_ : object
        The clusterer, fitted.
    n_iter_ : int
        Iterations of the clusterer; 1 if it does not have them.
    report_ : Report
        Every constraint satisfied or violated; violations have no cost here.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    ConstrainedKernelKMeans : Links in a kernel.
    ConstrainedHDBSCAN : Dense regions; finds the number of clusters.

    Notes
    -----
    Eigenvectors u of the symmetric normalization enter as D^(-1/2) u, which solve the generalized
    problem A v = lambda D v; rows of the representation have length 1, as in [1]_ and [2]_. Weights
    of constraints do not count; of two opposite links between the same rows, the cannot-link does.

    Affinities below 1e-10 times the largest are no edges. Where more parts than clusters are left
    unconnected, each part is tied to the nearest rows outside it.

    New rows are placed by the eigenvector equation itself, from their affinities to the rows of
    the fit (Nystroem's extension).

    References
    ----------
    .. [1] S. D. Kamvar, D. Klein, C. D. Manning. Spectral learning. IJCAI 2003.
    .. [2] A. Y. Ng, M. I. Jordan, Y. Weiss. On spectral clustering. NIPS 2001.
    .. [3] L. Zelnik-Manor, P. Perona. Self-tuning spectral clustering. NIPS 2004.

    Examples
    --------
    >>> from linkwise import Constraints, SpectralLearning
    >>> X = [[0.0], [0.4], [1.0], [3.0], [3.4], [4.0]]
    >>> known = Constraints(must_link=[(2, 3)], cannot_link=[(0, 2), (0, 3)])
    >>> model = SpectralLearning(n_clusters=2, gamma=2.0, random_state=0)
    >>> labels = model.fit(X, constraints=known).labels_
    >>> bool(labels[2] == labels[3] != labels[0])
    True
    >>> model.transform([[3.9]]).shape
    (1, 2)
    """

    _predicts_by_rows = True  # a model file keeps the labels of the rows in any case

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_components: int | None = None,
        affinity: Literal["nearest_neighbors", "rbf", "precomputed"] = "nearest_neighbors",
        normalization: Normalization = "symmetric",
        gamma: Gamma = "local",
        n_neighbors: int = 10,
        clusterer: BaseEstimator | None = None,
        entailed: bool = True,
        n_init: int = 10,
        random_state: Seed = None,
    ):
        self.n_clusters = n_clusters
        self.n_components = n_components
        self.affinity = affinity
        self.normalization = normalization
        self.gamma = gamma
        self.n_neighbors = n_neighbors
        self.clusterer = clusterer
        self.entailed = entailed
        self.n_init = n_init
        self.random_state = random_state

    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        *,
        constraints: Knowable = None,
        sample_ids: SampleIds = None,
    ) -> SpectralLearning:
        """Cluster the rows of X under the constraints.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The data; with ``affinity="precomputed"`` the affinities, (n_samples, n_samples).
        y : array-like of shape (n_samples,), default=None
            Partial labels, -1 for unknown; they count as must-links and cannot-links.
        constraints : Constraints, DataFrame or path, default=None
            What is known about pairs of rows. By row number, or by id when `sample_ids` is given
            or X is a DataFrame with an index.
        sample_ids : array-like of shape (n_samples,), default=None
            Id of each row. Constraints on ids that no row has are left out.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        started = time.perf_counter()
        self._check_parameters()
        X, (known, n_dropped, ids) = self._read_rows(X, constraints, sample_ids)
        n = X.shape[0]
        k = self._n_components(n)
        known, links = read_links(known, read_labels(y, n), entailed=self.entailed)
        rng = check_random_state(self.random_state)
        A, self.affinity_ = linked_graph(X, links, k, self.affinity, self.gamma, self.n_neighbors)
        self._embed(A, k, rng)
        self.clusterer_ = seeded(self._clusterer(), rng)
        labels, self._answerer = cluster(self.clusterer_, self.embedding_)
        self.labels_ = labels.astype(np.int32)
        self.n_iter_ = int(getattr(self.clusterer_, "n_iter_", 1))
        self._name_clusters(y)
        self.report_ = Report.of(
            known,
            self.labels_,
            algorithm=type(self).__name__,
            costs=np.zeros(0),
            objective=float((1.0 - self.eigenvalues_).sum()),
            n_iter=self.n_iter_,
            converged=True,
            seconds=time.perf_counter() - started,
            n_dropped=n_dropped,
            ids=ids,
        )
        return self

    def _check_parameters(self) -> None:
        check_number("n_clusters", self.n_clusters, Integral, 1)
        check_choice("affinity", self.affinity, ("nearest_neighbors", "rbf", "precomputed"))
        check_choice("normalization", self.normalization, ("symmetric", "additive"))
        check_number("n_neighbors", self.n_neighbors, Integral, 1)
        check_number("n_init", self.n_init, Integral, 1)
        if isinstance(self.gamma, str):
            check_choice("gamma", self.gamma, ("local", "median"))
        else:
            check_number("gamma", self.gamma, Real, 0)
        if self.n_components is not None:
            check_number("n_components", self.n_components, Integral, 1)
        if self.clusterer is not None:
            check_base(self.clusterer)

    def _n_components(self, n: int) -> int:
        self._check_enough_rows(n)
        if n == 1:
            raise ValueError(
                "n_samples=1: a graph of one row has no neighbors; give at least two rows"
            )
        k = self.n_clusters if self.n_components is None else self.n_components
        if k > n:
            raise ValueError(f"n_components={k} is more than the {n} rows of X; lower it")
        return int(k)

    def _clusterer(self) -> BaseEstimator:
        if self.clusterer is not None:
            return self.clusterer
        return KMeans(self.n_clusters, n_init=self.n_init)

    def _embed(self, A: Matrix, k: int, rng: RandomState) -> None:
        self.eigenvalues_, self._vectors = embedded(A, k, rng, self.normalization)
        degree = np.asarray(A.sum(axis=1), dtype=np.float64).ravel()
        self._top = max(float(degree.max(initial=0.0)), 1e-300)
        self.embedding_ = normalize(self._vectors)
        self._n_features_out = k

    def fit_transform(self, X: MatrixLike, y: ArrayLike | None = None, **params: Any) -> NDArray:
        """Fit and return the representation of the rows.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,), default=None
            Partial labels, -1 for unknown.
        **params
            Other parameters of `fit`, such as `constraints`.
        """
        return self.fit(X, y, **params).embedding_

    # ---------------------------------------------------------------- new rows

    def transform(self, X: MatrixLike) -> NDArray:
        """The representation of new rows, from their affinities to the rows of the fit.

        No links are known about new rows, so rows that were linked in the fit come out elsewhere
        than in `embedding_`.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            With ``affinity="precomputed"``, affinities to the rows of the fit.

        Returns
        -------
        embedding : ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        A, nearest = self.affinity_.to(read_new_rows(self, X))
        degree = np.asarray(A.sum(axis=1), dtype=np.float64).reshape(-1, 1)
        # Solved for the row's own entry: A v = lambda D v, or (D - A) v = (1 - lambda) d_max v.
        # Far from all rows the latter could exceed the degree, and the weighted mean takes over.
        lost_degree = degree if self.normalization == "symmetric" else self._top
        below = np.maximum(degree - (1.0 - self.eigenvalues_) * lost_degree, degree / 2)
        product = A @ self._vectors
        product = product.toarray() if is_sparse(product) else np.asarray(product)
        vectors = product / np.where(below > 0, below, 1.0)
        lost = np.flatnonzero(degree.ravel() <= 0)
        if len(lost) and nearest is not None:
            vectors[lost] = self._vectors[nearest[lost]]
        return normalize(vectors)

    def predict(self, X: MatrixLike) -> Labels:
        """The cluster of each row, from its place in the representation.

        A clusterer without ``predict`` gives a row the cluster of the nearest row of the fit.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        places = self.transform(X)
        places = getattr(places, "to_numpy", lambda: places)()  # set_output may have made a frame
        found = self._answerer.predict(places, self.labels_, lambda: self.embedding_)
        return found.astype(np.int32)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.affinity == "precomputed"
        tags.input_tags.positive_only = self.affinity == "precomputed"
        return tags
