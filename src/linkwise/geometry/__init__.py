"""Distances to centers and between rows, and metrics that are learned."""

from ._bregman import Bregman, Divergence
from ._comparison import ComparisonMetric
from ._cosine import Cosine, Pearson
from ._geometry import Eta, Geometry, Rayleigh, RowSlices
from ._indicators import one_hot_groups
from ._itml import ITML
from ._mahalanobis import Mahalanobis, variances
from ._moments import Moments
from ._rca import RCA
from ._xing import XingMetric

__all__ = [
    "ITML",
    "RCA",
    "Bregman",
    "ComparisonMetric",
    "Cosine",
    "Divergence",
    "Eta",
    "Geometry",
    "Mahalanobis",
    "Moments",
    "Pearson",
    "Rayleigh",
    "RowSlices",
    "XingMetric",
    "one_hot_groups",
    "variances",
]
