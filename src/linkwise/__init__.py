"""linkwise: constrained clustering that listens.

Public names are loaded on first use, so that ``import linkwise`` stays fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from .active import Session
    from .constraints import Closure, ConstraintError, Constraints, Diagnosis, Tree, one_tree
    from .density import ConstrainedHDBSCAN
    from .engines import open_blocks
    from .ensemble import BoostCluster
    from .geometry import RCA, ComparisonMetric
    from .hierarchy import ConstrainedCompleteLink, ReCon
    from .kmeans import (
        ConstrainedKMeans,
        COPKMeans,
        GPKMeans,
        HMRFKMeans,
        MPCKMeans,
        PCKMeans,
        PreIdentifiedKMeans,
        SeededKMeans,
        propagate,
    )
    from .mixture import ConstrainedMixture
    from .report import plot_clusters
    from .selection import AutoCluster
    from .spectral import ConstrainedKernelKMeans, SpectralLearning
    from .studio import Studio

_HOME = {
    "AutoCluster": "selection",
    "BoostCluster": "ensemble",
    "ConstrainedKernelKMeans": "spectral",
    "SpectralLearning": "spectral",
    "Closure": "constraints",
    "ConstraintError": "constraints",
    "Constraints": "constraints",
    "Diagnosis": "constraints",
    "COPKMeans": "kmeans",
    "ComparisonMetric": "geometry",
    "open_blocks": "engines",
    "ConstrainedCompleteLink": "hierarchy",
    "ConstrainedHDBSCAN": "density",
    "ConstrainedKMeans": "kmeans",
    "ConstrainedMixture": "mixture",
    "HMRFKMeans": "kmeans",
    "GPKMeans": "kmeans",
    "MPCKMeans": "kmeans",
    "PCKMeans": "kmeans",
    "PreIdentifiedKMeans": "kmeans",
    "RCA": "geometry",
    "ReCon": "hierarchy",
    "SeededKMeans": "kmeans",
    "Session": "active",
    "Studio": "studio",
    "Tree": "constraints",
    "one_tree": "constraints",
    "plot_clusters": "report",
    "propagate": "kmeans",
}
_MODULES = (
    "active",
    "constraints",
    "datasets",
    "density",
    "ensemble",
    "evaluation",
    "geometry",
    "hierarchy",
    "kmeans",
    "mixture",
    "selection",
    "spectral",
    "studio",
)

__all__ = [
    "RCA",
    "AutoCluster",
    "BoostCluster",
    "COPKMeans",
    "Closure",
    "ComparisonMetric",
    "ConstrainedCompleteLink",
    "ConstrainedHDBSCAN",
    "ConstrainedKMeans",
    "ConstrainedKernelKMeans",
    "ConstrainedMixture",
    "ConstraintError",
    "Constraints",
    "Diagnosis",
    "GPKMeans",
    "HMRFKMeans",
    "MPCKMeans",
    "PCKMeans",
    "PreIdentifiedKMeans",
    "ReCon",
    "SeededKMeans",
    "Session",
    "SpectralLearning",
    "Studio",
    "Tree",
    "__version__",
    "one_tree",
    "open_blocks",
    "plot_clusters",
    "propagate",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES})
