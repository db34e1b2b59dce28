"""One loop, many methods: the k-means family."""

from linkwise.kmeans.estimators._cop import COPKMeans
from linkwise.kmeans.estimators._hmrf import HMRFKMeans
from linkwise.kmeans.estimators._mpck import MPCKMeans
from linkwise.kmeans.estimators._pck import PCKMeans
from linkwise.kmeans.estimators._placing import UpdateChanges
from linkwise.kmeans.estimators._seeded import ConstrainedKMeans, PreIdentifiedKMeans, SeededKMeans
from linkwise.kmeans.propagation._gpk import GPKMeans
from linkwise.kmeans.propagation._propagate import propagate

__all__ = [
    "COPKMeans",
    "ConstrainedKMeans",
    "GPKMeans",
    "HMRFKMeans",
    "MPCKMeans",
    "PCKMeans",
    "PreIdentifiedKMeans",
    "SeededKMeans",
    "UpdateChanges",
    "propagate",
]
