"""One loop, many methods: the k-means family."""

from ._cop import COPKMeans
from ._mpck import MPCKMeans
from ._pck import PCKMeans
from ._propagate import propagate
from ._seeded import ConstrainedKMeans, PreIdentifiedKMeans, SeededKMeans

__all__ = [
    "COPKMeans",
    "ConstrainedKMeans",
    "MPCKMeans",
    "PCKMeans",
    "PreIdentifiedKMeans",
    "SeededKMeans",
    "propagate",
]
