"""How far apart: distances to centres, between rows, and metrics that are learnt."""

from ._comparison import ComparisonMetric
from ._mahalanobis import Mahalanobis
from ._moments import Moments

__all__ = ["ComparisonMetric", "Mahalanobis", "Moments"]
