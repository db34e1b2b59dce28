"""Parts that the presets of several methods share: counts of runs, labels as links, geometries."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwise._help import see
from linkwise._types import Floats, Init, Ints, RandomState
from linkwise._validation import check_choice
from linkwise.constraints import Constraints
from linkwise.geometry import (
    Cosine,
    Divergence,
    Eta,
    Geometry,
    Mahalanobis,
    Pearson,
    Rayleigh,
    variances,
)
from linkwise.kmeans.solver._penalties import DistancePenalty, PairPenalty, Penalty
from linkwise.kmeans.solver._problem import Problem
from linkwise.kmeans.solver._starts import SOFT_RUNS, Start, chosen_start, soft_start

FULL_NEEDS_DENSE = (
    'metric="full" needs dense data: a full matrix over sparse features would not fit; use '
    'metric="diagonal", or reduce the dimensions first (TruncatedSVD)'
) + see("methods")
N_STARTS = 3  # of different kinds, before centers are swapped
DISTORTIONS: dict[str, type[Geometry]] = {
    "cosine": Cosine,
    "pearson": Pearson,
    "divergence": Divergence,
}


def count_runs(n_init: int | Literal["auto"], auto: int) -> int:
    """Number of runs, `auto` if it is not given."""
    return auto if n_init == "auto" else int(n_init)


def soft_runs(n_init: int | Literal["auto"], init: Init, problem: Problem) -> int:
    """Number of runs of a soft method: from given centers or without links all are alike."""
    return count_runs(n_init, SOFT_RUNS if isinstance(init, str) and problem.known else 1)


def labels_as_links(problem: Problem, max_entailed: int) -> Problem:
    """Partial labels become constraints like the others, and entailed links take part."""
    known, seeds = problem.known, problem.seeds
    if problem.has_seeds:
        assert seeds is not None
        known = known + Constraints(labels=seeds)
        if (n_labels := excess_labels(seeds, problem.k)) is not None:
            warnings.warn(
                f"y has {n_labels} labels, more than n_clusters={problem.k}: not all of them can "
                "be kept apart, so some cannot-links will be violated; raise n_clusters, or merge "
                "classes",
                UserWarning,
                stacklevel=4,
            )
            seeds = None  # no start from their means
    return replace(problem, known=known, seeds=seeds, max_entailed=max_entailed)


def excess_labels(seeds: Ints, k: int) -> int | None:
    """Number of classes if there are more than clusters, else None."""
    return None if seeds.max(initial=-1) < k else len(np.unique(seeds[seeds >= 0]))


# -------------------------------------------------------------------- distortions


class Learning(NamedTuple):
    """How the metric is learned, if at all."""

    metric: Literal["identity", "diagonal", "full"] = "identity"
    prior: Rayleigh | None = None
    eta: Eta = None
    per_cluster: bool = False


FIXED = Learning()


def check_distortion(distortion: str | type[Geometry]) -> None:
    """Refuse what is neither a name nor a class of a distortion."""
    if not (isinstance(distortion, type) and issubclass(distortion, Geometry)):
        check_choice("distortion", distortion, ("euclidean", *DISTORTIONS))


def geometry_class(distortion: str | type[Geometry]) -> type[Geometry] | None:
    """The class of a distortion; None for the Euclidean one, whose rows need no validation."""
    if isinstance(distortion, str):
        return DISTORTIONS.get(distortion)
    return distortion


def euclidean(problem: Problem, learning: Learning = FIXED, **options: Any) -> Mahalanobis:
    """The Euclidean distance, or a learned metric."""
    rows, full = problem.rows, learning.metric == "full"
    if full and rows.is_sparse:
        raise ValueError(FULL_NEEDS_DENSE)
    per_cluster = learning.per_cluster and learning.metric != "identity"
    total = rows.total(full=full and not per_cluster)
    return Mahalanobis(
        problem.k, total, rows.total_weight, learning.metric, per_cluster,
        mean=rows.uncentered_mean(), prior=learning.prior, eta=learning.eta, **options,
    )  # fmt: skip


def distorted(
    problem: Problem, distortion: str | type[Geometry], learning: Learning = FIXED
) -> Geometry:
    """The geometry of any distortion."""
    kind, rows = geometry_class(distortion), problem.rows
    if kind is None:
        return euclidean(problem, learning)
    metric, prior, eta, per_cluster = learning
    options: dict[str, Any] = {"learns": metric != "identity", "prior": prior, "eta": eta}
    if per_cluster and metric != "identity":
        options["per_cluster"] = True
    if issubclass(kind, Divergence):
        options["smoothing"] = 1.0  # halved after every iteration; see HMRFKMeans
    geometry = kind(problem.k, rows.d, 0.0, **options)
    rows.scale(geometry)
    variance = variances(rows.total(), rows.total_weight, rows.uncentered_mean())
    geometry.mean_variance = float(variance.mean())
    rows.collect_stats(geometry)
    return geometry


def distance_penalty(
    problem: Problem, distortion: str | type[Geometry], *, published: bool = False
) -> Penalty:
    """Violated links cost distances under the geometry."""
    kind = DistancePenalty if geometry_class(distortion) is None else PairPenalty
    return kind(problem.links, problem.rows, published=published)


def distorted_start(init: Init, problem: Problem, distortion: str | type[Geometry]) -> Start:
    """The start of a soft method: given centers are rows of the distortion's kind."""
    start, kind = chosen_start(init, problem, soft_start(problem)), geometry_class(distortion)
    if kind is None or isinstance(init, str):
        return start
    validate = kind(problem.k, problem.rows.d, 0.0).validate_rows

    def validated(rng: RandomState, run: int) -> Floats:
        centers: ArrayLike = validate(start(rng, run))
        return np.asarray(centers)

    return validated
