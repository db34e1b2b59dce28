"""One loop, many methods: the k-means family."""

from ._cop import COPKMeans
from ._gpk import GPKMeans
from ._hmrf import HMRFKMeans
from ._mpck import MPCKMeans
from ._pck import PCKMeans
from ._propagate import propagate
from ._seeded import ConstrainedKMeans, PreIdentifiedKMeans, SeededKMeans

__all__ = [
    "COPKMeans",
    "ConstrainedKMeans",
    "GPKMeans",
    "HMRFKMeans",
    "MPCKMeans",
    "PCKMeans",
    "PreIdentifiedKMeans",
    "SeededKMeans",
    "propagate",
]
