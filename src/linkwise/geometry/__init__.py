"""How far apart: distances to centres, between rows, and metrics that are learnt."""

from ._mahalanobis import Mahalanobis
from ._moments import Moments
from ._rca import RCA

__all__ = ["RCA", "Mahalanobis", "Moments"]
