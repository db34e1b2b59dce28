"""What is tried: algorithms, preprocessings and numbers of clusters.

Entry points: `default_kinds` and `given_kinds` make candidates without a number of clusters,
`with_counts` and `with_clusters` give them one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import Normalizer

from linkwise._adapters import check_base, last_step, listens
from linkwise._types import Matrix
from linkwise.constraints import Constraints
from linkwise.ensemble import BoostCluster
from linkwise.geometry import ITML, RCA
from linkwise.hierarchy import ReCon
from linkwise.kmeans import COPKMeans, GPKMeans, HMRFKMeans, MPCKMeans, PCKMeans
from linkwise.mixture import ConstrainedMixture
from linkwise.spectral import ConstrainedKernelKMeans, SpectralLearning

from ._densities import Densities
from ._scaling import ColumnScaler

KMEANS = "k-means"
_MOST_ROWS = 3000  # beyond, methods over all pairs of rows are left out
_MOST_FEATURES = 30  # beyond, full metrics are learnt in a PCA space
_WIDE = 100  # features beyond which everything is clustered in a PCA space of so many dimensions
_SHAPES = 5  # features up to which clusters of any shape are looked for
_FEW_LINKS, _FEW_ROWS = 30, 500  # up to so many links are worth spreading, in so many rows
_BOOSTED = 200  # rows up to which boosting is cheap enough
_RUNS, _KMEANS_RUNS = 2, 4  # of each fit in a fold
_SAME_SCALE = 1.2
_LIKE_SCALES = 10.0


@dataclass(frozen=True, eq=False)
class Candidate:
    """One way to cluster.

    Attributes
    ----------
    algorithm, preprocessing : str
        In a few words.
    n_clusters : int or None
        None for a clusterer that finds it out by itself.
    estimator : clusterer or Pipeline
        Not fitted.
    rank : int
        0 for the simplest; decides between equals.
    n_runs : pair of str and value, or None
        The parameter that holds the number of runs, and its value in the last fit: folds are many,
        and do with fewer runs.
    is_scout : bool
        Whether it is cheap and simple enough to look for the number of clusters.
    """

    algorithm: str
    preprocessing: str
    n_clusters: int | None
    estimator: BaseEstimator
    rank: int
    n_runs: tuple[str, Any] | None = None
    is_scout: bool = False

    @property
    def final(self) -> Any:
        """The estimator of the fit with everything."""
        if self.n_runs is None:
            return self.estimator
        return clone(self.estimator).set_params(**dict([self.n_runs]))

    @property
    def kind(self) -> str:
        """Algorithm and preprocessing, without k."""
        if self.preprocessing in ("", "as is"):
            return self.algorithm
        return f"{self.algorithm}, {self.preprocessing}"

    @property
    def is_kmeans(self) -> bool:
        """Whether it is plain k-means, which ignores constraints."""
        return isinstance(last_step(self.estimator), KMeans)

    @property
    def listens(self) -> bool:
        """Whether any of its steps receives the constraints."""
        return listens(self.estimator)

    @property
    def is_soft(self) -> bool:
        """Whether the weights of constraints count in it, from the first step to the last."""
        methods = PCKMeans | MPCKMeans | HMRFKMeans | ConstrainedKernelKMeans
        soft = isinstance(last_step(self.estimator), methods)
        steps = [step for _, step in getattr(self.estimator, "steps", ())]
        return soft and not any(isinstance(step, RCA) for step in steps)

    def __str__(self) -> str:
        k = "" if self.n_clusters is None else f", k = {self.n_clusters}"
        return self.kind + k


# ------------------------------------------------------------------------ the default ones


def default_kinds(X: Matrix, known: Constraints, n_samples: int) -> list[Candidate]:
    """Every method that fits the data, with the preprocessings that suit it, without k.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_sampled, n_features)
        The data, or a sample of it.
    known : Constraints
        By row number.
    n_samples : int
        Rows that the choice is fitted to.
    """
    if sparse.issparse(X):
        return _for_words(X, known)
    return _for_numbers(X, known, n_samples)


def with_counts(kinds: Sequence[Candidate], ks: Sequence[int]) -> list[Candidate]:
    """Each kind with each number of clusters; those that find it by themselves once."""
    fixed = [kind for kind in kinds if not takes_clusters(kind)]
    free = [kind for kind in kinds if takes_clusters(kind)]
    return fixed + [with_clusters(kind, k) for k in ks for kind in free]


def _for_words(X: Matrix, known: Constraints) -> list[Candidate]:
    """Methods for directions, and the simplest others in the space of latent semantic analysis."""
    spaces: dict[str, list[Any]] = {"as is": []}
    n_links, reduced = known.n_must_link + known.n_cannot_link, min(_WIDE, min(X.shape) - 1)
    if reduced >= 2:
        spaces["LSA"] = [TruncatedSVD(reduced), Normalizer()]
        if known.n_must_link >= 2:
            spaces["RCA"] = [*spaces["LSA"], RCA()]
    dense, consistent = ("LSA", "RCA"), known.closure().consistent
    methods: list[tuple[str, Any, tuple[str, ...], bool]] = [
        ("PCK-Means, cosine", PCKMeans(distortion="cosine"), ("as is",), True),
        (KMEANS, KMeans(n_init=10), ("as is", *dense), True),
        ("PCK-Means", PCKMeans(penalty="distance"), dense, n_links > 0),
        ("COP-KMeans", COPKMeans(n_init=5), dense, consistent and n_links > 0),
        ("MPCK-Means", MPCKMeans(), ("LSA",), n_links > 0),
        ("HMRF-KMeans, cosine", HMRFKMeans(distortion="cosine"), ("as is",), True),
    ]
    scouts = {(KMEANS, "LSA"), ("PCK-Means", "LSA"), ("PCK-Means", "RCA")}
    if "LSA" not in spaces:
        scouts = {(KMEANS, "as is"), ("PCK-Means, cosine", "as is")}
    return _kinds(methods, spaces, scouts)


def _for_numbers(X: Matrix, known: Constraints, n_samples: int) -> list[Candidate]:
    spaces = _spaces(X, known)
    n_links, d = known.n_must_link + known.n_cannot_link, X.shape[1]
    small, consistent = n_samples <= _MOST_ROWS, known.closure().consistent
    both = known.n_must_link > 0 and known.n_cannot_link > 0
    every, plain = tuple(spaces), ("PCA",) if d > _WIDE else ("standardized",)
    learnt, narrow = (*plain, "RCA", "ITML"), plain if d <= _MOST_FEATURES else ("few PCA",)
    few = n_samples <= _FEW_ROWS and 0 < n_links <= _FEW_LINKS
    # The simplest that listens comes first: where all do alike, it keeps what was said. Without
    # links, what would be k-means again is left out.
    methods: list[tuple[str, Any, tuple[str, ...], bool]] = [
        ("PCK-Means", PCKMeans(penalty="distance"), every, n_links > 0),
        (KMEANS, KMeans(n_init=10), every, True),
        ("COP-KMeans", COPKMeans(n_init=5), learnt, consistent and n_links > 0),
        ("MPCK-Means", MPCKMeans(), plain, True),
        ("MPCK-Means, full metric", MPCKMeans(metric="full"), narrow, True),
        ("MPCK-Means, full metric per cluster", MPCKMeans(metric="full", per_cluster=True),
         narrow, d <= _SHAPES and n_links > 0),
        ("HMRF-KMeans", HMRFKMeans(), plain, True),
        ("mixture", ConstrainedMixture(max_iter=30), narrow, small and consistent and n_links > 0),
        ("kernel k-means", ConstrainedKernelKMeans(), (*plain, "RCA"), small),
        ("spectral learning", SpectralLearning(), learnt, small),
        ("ReCon", ReCon(2, linkage="ward"), (*plain, "RCA"), small and consistent),
        ("ReCon, single link", ReCon(2, linkage="single"), plain,
         small and consistent and d <= _SHAPES),
        ("densities", Densities(), plain, small and consistent and both and d <= _SHAPES),
        ("GPK-Means", GPKMeans(), plain, few),
        ("BoostCluster", BoostCluster(KMeans(n_init=3)), plain,
         n_samples <= _BOOSTED and n_links > 0),
    ]  # fmt: skip
    scouts = {(KMEANS, space) for space in plain} | {
        ("PCK-Means" if n_links else KMEANS, space) for space in (*plain, "RCA")
    }
    return _kinds(methods, spaces, scouts)


def _kinds(
    methods: Iterable[tuple[str, Any, tuple[str, ...], bool]],
    spaces: dict[str, list[Any]],
    scouts: set[tuple[str, str]],
) -> list[Candidate]:
    """Methods that fit, in the spaces that suit them and are there; the simplest first.

    Parameters
    ----------
    methods : iterable of (name, clusterer, names of spaces, whether it fits)
    spaces : dict
        Steps of each preprocessing.
    scouts : set of (name, space)
    """
    fitting = [method[:3] for method in methods if method[3]]
    return [
        _kind(
            name, space, method, spaces[space], rank * len(spaces) + place, (name, space) in scouts
        )
        for rank, (name, method, suited) in enumerate(fitting)
        for place, space in enumerate(suited)
        if space in spaces
    ]  # fmt: skip


def _kind(
    name: str, space: str, method: BaseEstimator, steps: Iterable[Any], rank: int, is_scout: bool
) -> Candidate:
    """A default candidate, with few runs per fold."""
    n_runs = method.get_params().get("n_init")
    estimator = in_space(steps, method)
    if n_runs is None or isinstance(method, ConstrainedMixture):
        return Candidate(name, space, None, estimator, rank, is_scout=is_scout)
    key = _prefix(estimator) + "n_init"
    # Plain k-means is fitted once for all folds, if no step before it listens.
    plain = isinstance(method, KMeans) and not listens(estimator)
    runs = _KMEANS_RUNS if plain else _RUNS
    return Candidate(
        name, space, None, estimator.set_params(**{key: runs}), rank, (key, n_runs), is_scout
    )


def _spaces(X: Matrix, known: Constraints) -> dict[str, list[Any]]:
    """Preprocessings that make a difference here, the simplest first.

    Rows of many features are seen in few dimensions throughout. Features of like scales, such as
    embeddings, are not standardized for that: their scales mean something.
    """
    spread = X.std(axis=0, dtype=np.float64)
    spread = spread[spread > 0]
    uneven = bool(len(spread)) and spread.max() > _SAME_SCALE * spread.min()
    alike = bool(len(spread)) and spread.max() < _LIKE_SCALES * spread.min()
    n, d = X.shape
    found: dict[str, list[Any]] = {}
    scaled = [] if d > _WIDE and alike else [ColumnScaler()]
    if d <= _WIDE:
        found["standardized"] = scaled
        if uneven:
            found["as is"] = []
    if d >= 8 and n > 2:
        found["PCA"] = [*scaled, *_reduced(n, d, _WIDE)]
    if d > _MOST_FEATURES and n > 2:
        found["few PCA"] = [*scaled, *_reduced(n, d, _MOST_FEATURES)]
    base = found.get("PCA") or found["standardized"]
    if known.n_must_link >= 2:
        found["RCA"] = [*base, RCA()]
    if known.n_must_link and known.n_cannot_link:
        found["ITML"] = [*(found.get("few PCA") or base), ITML()]
    return found


def _reduced(n: int, d: int, most: int) -> list[Any]:
    """PCA that keeps 90 % of the variance of few features, or a fixed number of dimensions."""
    if d <= most:
        return [PCA(0.9, svd_solver="full")]
    return [PCA(min(most, n - 1), svd_solver="randomized")]


def in_space(steps: Iterable[Any], method: BaseEstimator) -> Any:
    """A clusterer behind preprocessing steps."""
    steps = [clone(step) for step in steps]
    return make_pipeline(*steps, clone(method)) if steps else clone(method)


# ------------------------------------------------------------------------ those of the user


def given_kinds(given: Any) -> list[Candidate]:
    """Candidates given by the user, without k: clusterers, or (name, clusterer) pairs.

    k-means is added if it is not among them, for comparison.
    """
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise TypeError(f'candidates={given!r}: expected "default" or a list of clusterers')
    kinds = []
    for rank, item in enumerate(given):
        name, method = item if isinstance(item, tuple) else (_name(item), item)
        check_base(method, "candidate")
        kinds.append(Candidate(str(name), "", None, method, rank))
    if not any(kind.is_kmeans for kind in kinds):
        kinds.append(Candidate(KMEANS, "", None, KMeans(n_init=10), len(kinds)))
    names = [kind.algorithm for kind in kinds]
    return [
        replace(kind, algorithm=f"{kind.algorithm} ({place + 1})")
        if names.count(kind.algorithm) > 1
        else kind
        for place, kind in enumerate(kinds)
    ]


def _name(method: BaseEstimator) -> str:
    steps = [step for _, step in getattr(method, "steps", (("", method),))]
    return " of ".join(type(step).__name__ for step in reversed(steps))


def _prefix(method: BaseEstimator) -> str:
    """Prefix of the parameters of the last step."""
    return f"{method.steps[-1][0]}__" if isinstance(method, Pipeline) else ""


def _cluster_parameter(method: BaseEstimator) -> str | None:
    """The parameter that holds the number of clusters; None if there is none."""
    prefix = _prefix(method)
    names = method.get_params(deep=True)
    wanted = ["n_clusters", "base__n_clusters", "base__n_components"]
    if isinstance(last_step(method), GaussianMixture | BayesianGaussianMixture):
        wanted = ["n_components"]
    return next((prefix + name for name in wanted if prefix + name in names), None)


def takes_clusters(kind: Candidate) -> bool:
    """Whether a number of clusters can be given to it."""
    return _cluster_parameter(kind.estimator) is not None


def with_clusters(kind: Candidate, k: int) -> Candidate:
    """The same candidate with a number of clusters."""
    name = _cluster_parameter(kind.estimator)
    assert name is not None
    return replace(kind, n_clusters=int(k), estimator=clone(kind.estimator).set_params(**{name: k}))
