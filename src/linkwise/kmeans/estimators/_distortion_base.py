"""Base of the soft methods with a parameter `distortion`: geometry, rows and penalty."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.utils import Tags

from linkwise._types import Floats, Matrix, RandomState
from linkwise._validation import check_choice
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

from ._soft_base import FULL_NEEDS_DENSE, SoftKMeans

DISTORTIONS: dict[str, type[Geometry]] = {
    "cosine": Cosine,
    "pearson": Pearson,
    "divergence": Divergence,
}


class Learning(NamedTuple):
    """How the metric is learnt, if at all."""

    metric: Literal["identity", "diagonal", "full"] = "identity"
    prior: Rayleigh | None = None
    eta: Eta = None
    smoothing: float = 1.0
    per_cluster: bool = False


class DistortionKMeans(SoftKMeans):
    """Base of the methods with a parameter `distortion`."""

    distortion: str | type[Geometry]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not (isinstance(self.distortion, type) and issubclass(self.distortion, Geometry)):
            check_choice("distortion", self.distortion, ("euclidean", *DISTORTIONS))

    @property
    def _is_euclidean(self) -> bool:
        return isinstance(self.distortion, str) and self.distortion == "euclidean"

    def _learning(self) -> Learning:
        return Learning()

    def _row_validator(self, n_features: int) -> Geometry | None:
        return None if self._is_euclidean else self._make_geometry(n_features, 0.0)

    def _make_geometry(self, n_features: int, mean_variance: float) -> Geometry:
        """A geometry other than Euclidean, without statistics of the rows."""
        kind = DISTORTIONS[self.distortion] if isinstance(self.distortion, str) else self.distortion
        metric, prior, eta, smoothing, per_cluster = self._learning()
        options: dict[str, Any] = {"learns": metric != "identity", "prior": prior, "eta": eta}
        if per_cluster and metric != "identity":
            options["per_cluster"] = True
        if issubclass(kind, Divergence):
            options["smoothing"] = smoothing
        return kind(self.n_clusters, n_features, mean_variance, **options)

    def _geometry(self, problem: Problem) -> Geometry:
        rows = problem.rows
        metric, prior, eta, _, per_cluster = self._learning()
        if self._is_euclidean:
            if metric == "full" and rows.is_sparse:
                raise ValueError(FULL_NEEDS_DENSE)
            return Mahalanobis(
                problem.k, rows.total(full=metric == "full" and not per_cluster),
                rows.total_weight, metric, per_cluster and metric != "identity",
                mean=rows.uncentered_mean(), prior=prior, eta=eta,
            )  # fmt: skip
        geometry = self._make_geometry(rows.d, 0.0)
        rows.scale(geometry)
        variance = variances(rows.total(), rows.total_weight, rows.uncentered_mean())
        geometry.mean_variance = float(variance.mean())
        rows.collect_stats(geometry)
        return geometry

    def _centers(self, problem: Problem, rng: RandomState, run: int) -> Floats:
        centers = super()._centers(problem, rng, run)
        if self._is_euclidean or isinstance(self._init(), str):
            return centers
        rows: Matrix = self._make_geometry(problem.rows.d, 0.0).validate_rows(centers)
        return np.asarray(rows)

    def _distance_penalty(self, problem: Problem, *, published: bool = False) -> Penalty:
        kind = DistancePenalty if self._is_euclidean else PairPenalty
        return kind(problem.links, problem.rows, published=published)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self.distortion == "divergence"
        tags.input_tags.sparse = self.distortion != "pearson"
        return tags
