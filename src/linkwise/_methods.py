"""The registry of clustering methods: everything else that lists methods derives from it.

`linkwise cluster` takes its options from here, `linkwise algorithms` its table, README and guide
theirs (`python -m tests.tables` writes them), `linkwise` its lazy names, the refusals their lists
and the tests their parameters. Nothing here imports numpy or an estimator.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sklearn.base import BaseEstimator


class Option(NamedTuple):
    """One option of `linkwise cluster` that only some methods have."""

    name: str  # parameter of the estimator; the option is ``--name`` with dashes
    help: str
    kind: Literal["text", "integer", "number", "flag", "path"] = "text"
    choices: tuple[str, ...] = ()  # what a text may be; empty for any
    least: int | None = None  # the lowest number allowed

    @property
    def flag(self) -> str:
        """How it is spelled on the command line."""
        return "--" + self.name.replace("_", "-")


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
    options: tuple[Option, ...] = ()  # options of `linkwise cluster` that are for this method
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

    def option(self, name: str) -> Option | None:
        """Its option of this name."""
        return next((option for option in self.options if option.name == name), None)


_METRIC = Option("metric", "shape of the learnt metric", choices=("diagonal", "full"))
_NOISE = (
    Option("noise", "links may be wrong, with this probability (below 0.5), auto, or none"),
    Option("suspects", "write links that are probably wrong to this CSV file", "path"),
)
_SIZES = (
    Option("min_size", "fewest rows per cluster: a number, a share such as 0.2, or one per "
           "cluster, separated by commas"),
    Option("max_size", "most rows per cluster, given likewise"),
    Option("outliers", "rows that may stay without a cluster: a share such as 0.02, a number of "
           'rows, or "auto"'),
)  # fmt: skip
_PER_CLUSTER = Option("per_cluster", "one metric per cluster", "flag")
_DISTORTION = Option(
    "distortion",
    "distance between rows; cosine and divergence are for text and counts, pearson for profiles",
    choices=("euclidean", "cosine", "pearson", "divergence"),
)
_GAMMA = Option("gamma", "of exp(-gamma * squared distance); from data", "number", least=0)
_TREE_FILES = (
    Option("newick", "write the hierarchy to this file, in Newick format", "path"),
    Option("dendrogram", "draw the hierarchy to this file (.png, .svg, .pdf)", "path"),
)

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
        options=(Option("tag", "label of the known cluster"),),
    ),
    Method(
        "COPKMeans", "cop", "linkwise.kmeans",
        "pairs", "always", "Euclidean", "Wagstaff et al. 2001", blocks=True,
        cost="2.5 x k-means", rows="millions, few of them in pairs",
        options=(
            Option("assignment", "how rows find their clusters",
                   choices=("auto", "greedy", "exact")),
            Option("on_infeasible", "if not all constraints can be satisfied: stop, or drop the "
                   "lightest", choices=("raise", "relax")),
            *_SIZES,
        ),
    ),
    Method(
        "PCKMeans", "pck", "linkwise.kmeans",
        "weighted pairs", "at a cost", "Euclidean, cosine, Pearson, divergence", "Basu et al. 2004",
        blocks=True, options=(_DISTORTION, *_NOISE, *_SIZES),
    ),
    Method(
        "MPCKMeans", "mpck", "linkwise.kmeans",
        "weighted pairs", "at a cost", "learnt: diagonal or full, one or per cluster",
        "Bilenko et al. 2004", sparse="diagonal", blocks=True, cost="1.4-2.6 x k-means",
        options=(_METRIC, _PER_CLUSTER),
    ),
    Method(
        "HMRFKMeans", "hmrf", "linkwise.kmeans",
        "weighted pairs", "at a cost", "learnt: Euclidean, cosine, Pearson, divergence, your own",
        "Basu et al. 2006", blocks=True, cost="2-3 x k-means",
        options=(
            _METRIC, _PER_CLUSTER, _DISTORTION,
            Option("inference", "how constrained rows get their clusters",
                   choices=("icm", "belief_propagation", "mean_field", "linear_program")),
        ),
    ),
    Method(
        "GPKMeans", "gpk", "linkwise.kmeans",
        "few pairs, spread", "at a cost", "as its base", "Eaton 2005", family="wrapper",
        sparse="as its base", cost="a few x its base", rows="100,000",
        options=(
            Option("base", "method inside", choices=("mpck", "pck", "cop", "hmrf")),
            _METRIC, _PER_CLUSTER, _DISTORTION,
            Option("threshold", "least weight of an inferred link, above 0, at most 1", "number"),
            Option("reduced", "only the heaviest link per pair of rows", "flag"),
        ),
    ),
    Method(
        "ReCon", "recon", "linkwise.hierarchy",
        "triplets, trees, pairs", "always", "any, or a matrix", "Liu et al. 2011",
        family="hierarchy", sparse="no", cost="2-9 x SciPy's linkage", rows="20,000 (1.6 GB)",
        options=(
            Option("linkage", "distance between two clusters",
                   choices=("centroid", "average", "complete", "single", "ward")),
            Option("min_branch", "no cluster is cut off for a branch of fewer rows than this, its "
                   "rows count as outliers, as long as a larger branch can be cut; 5 % of an "
                   "average cluster if not given", "integer", least=1),
            Option("on_conflict", "if triplets contradict each other: stop, or drop the lightest",
                   choices=("raise", "drop")),
            *_TREE_FILES,
        ),
    ),
    Method(
        "ConstrainedCompleteLink", "complete-link", "linkwise.hierarchy",
        "pairs", "mostly", "any, or a matrix", "Klein et al. 2002",
        family="hierarchy", sparse="no", cost="2-4 x SciPy's linkage", rows="10,000",
        options=_TREE_FILES,
    ),
    Method(
        "BoostCluster", "boost", "linkwise.ensemble",
        "weighted pairs", "mostly", "as its base", "Liu et al. 2007", family="wrapper",
        cost="25 x its base", rows="as its base",
        options=(
            Option("base", "clusterer inside",
                   choices=("kmeans", "single", "partitional", "average", "ward", "spectral",
                            "mixture")),
            Option("n_rounds", "maximum number of rounds; 25", "integer", least=1),
        ),
    ),
    Method(
        "SpectralLearning", "spectral", "linkwise.spectral",
        "pairs", "mostly", "neighbors, kernel", "Kamvar et al. 2003", family="spectral",
        cost="spectral clustering", rows="100,000; kernel 30,000",
        options=(
            Option("affinity", "which rows are compared; nearest_neighbors",
                   choices=("nearest_neighbors", "rbf")),
            Option("n_neighbors", "neighbors per row; 10", "integer", least=1),
            _GAMMA,
        ),
    ),
    Method(
        "ConstrainedKernelKMeans", "kernel", "linkwise.spectral",
        "weighted pairs", "at a cost", "kernel", "Kulis et al. 2005", family="spectral",
        cost="n^2 per iteration", rows="20,000",
        options=(Option("kernel", "rbf or linear; rbf", choices=("rbf", "linear")), _GAMMA),
    ),
    Method(
        "ConstrainedMixture", "mixture", "linkwise.mixture",
        "pairs", "always", "Gaussians", "Shental et al. 2003", family="mixture", sparse="no",
        cost="1-2 x GaussianMixture",
        options=(
            Option("covariance_type", "shape of the clusters",
                   choices=("full", "tied", "diag", "spherical")),
            Option("sampling", "whether a group of must-linked rows counts once, or each row",
                   choices=("chunklets", "points")),
            Option("strength", "cost of a violated link; if not given, none is violated",
                   "number", least=0),
        ),
    ),
    Method(
        "ConstrainedHDBSCAN", "hdbscan", "linkwise.density",
        "pairs", "or noise", "Euclidean", "Campello et al. 2013", family="density", sparse="no",
        cost="0.6 x HDBSCAN", rows="100,000",
        options=(
            Option("min_cluster_size", "least number of rows of a cluster; 5", "integer", least=2),
            Option("min_samples", "neighbors that make a row dense; as min_cluster_size",
                   "integer", least=1),
        ),
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


def options() -> dict[str, list[tuple[Method, Option]]]:
    """Every option by name, with the methods that have it."""
    found: dict[str, list[tuple[Method, Option]]] = {}
    for method in METHODS:
        for option in method.options:
            found.setdefault(option.name, []).append((method, option))
    return found


def listed(names: Iterable[str]) -> str:
    """A list in a sentence: a, b and c."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
