"""What is tried: algorithms, preprocessings and numbers of clusters.

Entry points: `default_candidates` and `given_candidates` make a list of `Candidate`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from linkwise._adapters import check_base, last_step, listens
from linkwise._types import Matrix
from linkwise.constraints import Constraints
from linkwise.ensemble import BoostCluster
from linkwise.geometry import RCA
from linkwise.hierarchy import ReCon
from linkwise.kmeans import COPKMeans, GPKMeans, HMRFKMeans, MPCKMeans, PCKMeans
from linkwise.spectral import ConstrainedKernelKMeans, SpectralLearning

KMEANS = "k-means"
_MOST_ROWS = 3000  # beyond, methods over all pairs of rows are left out
_MOST_FEATURES = 30  # beyond, full metrics are left out
_FEW_LINKS, _FEW_ROWS = 30, 500  # up to so many links are worth spreading, in so many rows
_RUNS = 2  # of each fit in an fold
_SAME_SCALE = 1.2


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
    """

    algorithm: str
    preprocessing: str
    n_clusters: int | None
    estimator: BaseEstimator
    rank: int
    n_runs: tuple[str, Any] | None = None

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


def default_candidates(X: Matrix, known: Constraints, ks: Sequence[int]) -> list[Candidate]:
    """Every method that fits the data, with the preprocessings that suit it, for every k.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
    known : Constraints
        By row number.
    ks : sequence of int
        Numbers of clusters.
    """
    kinds = _for_words() if sparse.issparse(X) else _for_numbers(X, known)
    return [with_clusters(kind, k) for k in ks for kind in kinds]


def _for_words() -> list[Candidate]:
    methods = {
        "PCK-Means, cosine": PCKMeans(distortion="cosine"),
        KMEANS: KMeans(n_init=10),
        "PCK-Means": PCKMeans(penalty="distance"),
        "HMRF-KMeans, cosine": HMRFKMeans(distortion="cosine"),
    }
    return [
        _kind(name, "as is", method, [], rank)
        for rank, (name, method) in enumerate(methods.items())
    ]


def _for_numbers(X: Matrix, known: Constraints) -> list[Candidate]:
    spaces = _spaces(X, known)
    n_rows, n_links = X.shape[0], known.n_must_link + known.n_cannot_link
    small, consistent = n_rows <= _MOST_ROWS, known.closure().consistent
    every, learnt, plain = tuple(spaces), ("standardized", "RCA"), ("standardized",)
    # The simplest that listens comes first: where all do alike, it keeps what was said. Without
    # links, what would be k-means again is left out.
    methods: list[tuple[str, Any, tuple[str, ...], bool]] = [
        ("PCK-Means", PCKMeans(penalty="distance"), every, n_links > 0),
        (KMEANS, KMeans(n_init=10), every, True),
        ("COP-KMeans", COPKMeans(n_init=5), learnt, consistent and n_links > 0),
        ("MPCK-Means", MPCKMeans(), plain, True),
        ("MPCK-Means, full metric", MPCKMeans(metric="full"), plain, X.shape[1] <= _MOST_FEATURES),
        ("HMRF-KMeans", HMRFKMeans(), plain, True),
        ("kernel k-means", ConstrainedKernelKMeans(), learnt, small),
        ("spectral learning", SpectralLearning(), plain, small),
        ("ReCon", ReCon(2, linkage="ward"), learnt, small and consistent),
        ("GPK-Means", GPKMeans(), plain, n_rows <= _FEW_ROWS and 0 < n_links <= _FEW_LINKS),
        ("BoostCluster", BoostCluster(KMeans(n_init=3)), plain, small and n_links > 0),
    ]
    fitting = [method[:3] for method in methods if method[3]]
    return [
        _kind(name, space, method, spaces[space], rank * len(every) + place)
        for rank, (name, method, suited) in enumerate(fitting)
        for place, space in enumerate(suited)
        if space in spaces
    ]


def _kind(
    name: str, space: str, method: BaseEstimator, steps: Iterable[Any], rank: int
) -> Candidate:
    """A default candidate, with few runs per fold; plain k-means needs one fit for all folds."""
    n_runs = method.get_params().get("n_init")
    estimator = in_space(steps, method)
    if n_runs is None or isinstance(method, KMeans):
        return Candidate(name, space, None, estimator, rank)
    key = _prefix(estimator) + "n_init"
    return Candidate(
        name, space, None, estimator.set_params(**{key: _RUNS}), rank, n_runs=(key, n_runs)
    )


def _spaces(X: Matrix, known: Constraints) -> dict[str, list[Any]]:
    """Preprocessings that make a difference here, the simplest first."""
    found: dict[str, list[Any]] = {"standardized": [StandardScaler()]}
    spread = X.std(axis=0, dtype=np.float64)
    spread = spread[spread > 0]
    if len(spread) and spread.max() > _SAME_SCALE * spread.min():
        found["as is"] = []
    wide = X.shape[1] >= 8 and X.shape[0] > 2
    if wide:
        found["PCA"] = [StandardScaler(), PCA(0.9, svd_solver="full")]
    if known.n_must_link >= 2:
        found["RCA"] = [*(found["PCA"] if wide else found["standardized"]), RCA()]
    return found


def in_space(steps: Iterable[Any], method: BaseEstimator) -> Any:
    """A clusterer behind preprocessing steps."""
    steps = [clone(step) for step in steps]
    return make_pipeline(*steps, clone(method)) if steps else clone(method)


# ------------------------------------------------------------------------ those of the user


def given_candidates(given: Any, ks: Sequence[int]) -> list[Candidate]:
    """Candidates given by the user: clusterers, or (name, clusterer) pairs, for every k.

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
    kinds = [
        replace(kind, algorithm=f"{kind.algorithm} ({place + 1})")
        if names.count(kind.algorithm) > 1
        else kind
        for place, kind in enumerate(kinds)
    ]
    fixed = [kind for kind in kinds if _cluster_parameter(kind.estimator) is None]
    free = [kind for kind in kinds if _cluster_parameter(kind.estimator) is not None]
    return fixed + [with_clusters(kind, k) for k in ks for kind in free]


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


def with_clusters(kind: Candidate, k: int) -> Candidate:
    """The same candidate with a number of clusters."""
    name = _cluster_parameter(kind.estimator)
    assert name is not None
    return replace(kind, n_clusters=int(k), estimator=clone(kind.estimator).set_params(**{name: k}))
