"""The registry of clustering methods: everything else that lists methods derives from it.

`linkwise cluster` takes its methods from here, the guide its tables (`python -m tests.tables`
writes them), `linkwise` its lazy names, the refusals their lists and the tests their parameters.
Nothing here imports NumPy or an estimator.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sklearn.base import BaseEstimator


class Method(NamedTuple):
    """One clustering method."""

    name: str  # name of the class
    short: str  # name on the command line
    module: str  # where the class is imported from
    takes: str  # the kind of constraints
    satisfied: str  # "always" (hard), "at a cost" (soft), or what else holds
    metric: str  # distances it works with
    source: str  # the paper
    family: Literal[
        "k-means", "hierarchy", "wrapper", "spectral", "mixture", "density", "search"
    ] = "k-means"
    sparse: str = "yes"  # whether CSR matrices are accepted: "yes", "no", or for which parameters
    blocks: bool = False  # whether rows may be on disk (`open_blocks`) or on Dask workers
    cost: str = "k-means"
    rows: str = "millions"

    @property
    def estimator(self) -> type[BaseEstimator]:
        """The class; imported on first use."""
        return getattr(importlib.import_module(self.module), self.name)

    @property
    def is_hard(self) -> bool:
        """Whether every constraint holds in the result."""
        return self.satisfied == "always"

    @property
    def starts_from_labels(self) -> bool:
        """Whether its clusters are named by the labels they start from."""
        return self.takes in ("labels", "one tagged group")

    @property
    def merges(self) -> bool:
        """Whether it builds a hierarchy instead of iterating."""
        return self.family == "hierarchy"

    @property
    def finds_clusters(self) -> bool:
        """Whether it finds the number of clusters by itself, and takes none."""
        return self.family == "density"


METHODS: list[Method] = [
    Method(
        "SeededKMeans", "seeded", "linkwise.kmeans",
        "labels", "as a start", "Euclidean", "Basu et al. 2002", blocks=True,
    ),
    Method(
        "ConstrainedKMeans", "constrained", "linkwise.kmeans",
        "labels", "always", "Euclidean", "Basu et al. 2002", blocks=True,
    ),
    Method(
        "PreIdentifiedKMeans", "preidentified", "linkwise.kmeans",
        "one tagged group", "always", "Euclidean", "Teja", blocks=True,
    ),
    Method(
        "COPKMeans", "cop", "linkwise.kmeans",
        "pairs", "always", "Euclidean", "Wagstaff et al. 2001", blocks=True,
        cost="2.5 x k-means", rows="millions, few of them in pairs",
    ),
    Method(
        "PCKMeans", "pck", "linkwise.kmeans",
        "weighted pairs", "at a cost", "Euclidean, cosine, Pearson, divergence", "Basu et al. 2004",
        blocks=True,
    ),
    Method(
        "MPCKMeans", "mpck", "linkwise.kmeans",
        "weighted pairs", "at a cost", "learned: diagonal or full, one or per cluster",
        "Bilenko et al. 2004", sparse="diagonal", blocks=True, cost="1.4-2.6 x k-means",
    ),
    Method(
        "HMRFKMeans", "hmrf", "linkwise.kmeans",
        "weighted pairs", "at a cost", "learned: Euclidean, cosine, Pearson, divergence, your own",
        "Basu et al. 2006", blocks=True, cost="2-3 x k-means",
    ),
    Method(
        "GPKMeans", "gpk", "linkwise.kmeans",
        "few pairs, spread", "at a cost", "as its base", "Eaton 2005", family="wrapper",
        sparse="as its base", cost="a few x its base", rows="100,000",
    ),
    Method(
        "ReCon", "recon", "linkwise.hierarchy",
        "triplets, trees, pairs", "always", "any, or a matrix", "Liu et al. 2011",
        family="hierarchy", sparse="no", cost="2-9 x SciPy's linkage", rows="20,000 (1.6 GB)",
    ),
    Method(
        "ConstrainedCompleteLink", "complete-link", "linkwise.hierarchy",
        "pairs", "mostly", "any, or a matrix", "Klein et al. 2002",
        family="hierarchy", sparse="no", cost="2-4 x SciPy's linkage", rows="10,000",
    ),
    Method(
        "BoostCluster", "boost", "linkwise.ensemble",
        "weighted pairs", "mostly", "as its base", "Liu et al. 2007", family="wrapper",
        cost="25 x its base", rows="as its base",
    ),
    Method(
        "SpectralLearning", "spectral", "linkwise.spectral",
        "pairs", "mostly", "neighbors, kernel", "Kamvar et al. 2003", family="spectral",
        cost="spectral clustering", rows="100,000; kernel 30,000",
    ),
    Method(
        "ConstrainedKernelKMeans", "kernel", "linkwise.spectral",
        "weighted pairs", "at a cost", "kernel", "Kulis et al. 2005", family="spectral",
        cost="n^2 per iteration", rows="20,000",
    ),
    Method(
        "ConstrainedMixture", "mixture", "linkwise.mixture",
        "pairs", "always", "Gaussians", "Shental et al. 2003", family="mixture", sparse="no",
        cost="1-2 x GaussianMixture",
    ),
    Method(
        "ConstrainedHDBSCAN", "hdbscan", "linkwise.density",
        "pairs", "or noise", "Euclidean", "Campello et al. 2013", family="density", sparse="no",
        cost="0.6 x HDBSCAN", rows="100,000",
    ),
    Method(
        "AutoCluster", "auto", "linkwise.selection",
        "pairs, labels", "as chosen", "chosen", "Pourrajabi et al. 2014", family="search",
        cost="a few seconds", rows="1,000,000",
    ),
]  # fmt: skip


def _bare(name: str) -> str:
    """A name without hyphens: papers write PCK-Means, the class is PCKMeans."""
    return name.lower().replace("-", "")


def find_method(name: str) -> Method:
    """The method of this short or full name."""
    for method in METHODS:
        if _bare(name) in (_bare(method.short), _bare(method.name)):
            return method
    raise KeyError(name)


def on_blocks() -> list[Method]:
    """Methods that accept rows on disk or on Dask workers."""
    return [method for method in METHODS if method.blocks]


def listed(names: Iterable[str]) -> str:
    """A list in a sentence: a, b and c."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
