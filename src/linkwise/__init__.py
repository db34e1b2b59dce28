"""linkwise: clustering that uses what you already know.

Public names are loaded on first use, so that ``import linkwise`` stays fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._methods import METHODS
from ._version import __version__

if TYPE_CHECKING:
    from .active import Session
    from .constraints import Closure, ConstraintError, Constraints, Diagnosis, Tree, one_tree
    from .density import ConstrainedHDBSCAN
    from .engines import open_blocks
    from .ensemble import BoostCluster
    from .geometry import ITML, RCA, ComparisonMetric, XingMetric
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
    from .persistence import load_model, save_model
    from .report import plot_clusters
    from .selection import AutoCluster
    from .spectral import ConstrainedKernelKMeans, SpectralLearning
    from .studio import Studio
    from .tables import TextEmbedder, read_table, table_features

_MODULE_OF = {
    **{method.name: method.module for method in METHODS},
    "Closure": "linkwise.constraints",
    "ComparisonMetric": "linkwise.geometry",
    "ConstraintError": "linkwise.constraints",
    "Constraints": "linkwise.constraints",
    "Diagnosis": "linkwise.constraints",
    "ITML": "linkwise.geometry",
    "RCA": "linkwise.geometry",
    "Session": "linkwise.active",
    "Studio": "linkwise.studio",
    "TextEmbedder": "linkwise.tables",
    "Tree": "linkwise.constraints",
    "XingMetric": "linkwise.geometry",
    "load_model": "linkwise.persistence",
    "one_tree": "linkwise.constraints",
    "save_model": "linkwise.persistence",
    "open_blocks": "linkwise.engines",
    "plot_clusters": "linkwise.report",
    "propagate": "linkwise.kmeans",
    "read_table": "linkwise.tables",
    "table_features": "linkwise.tables",
}
_MODULES = (
    "active", "constraints", "datasets", "density", "engines", "ensemble", "evaluation",
    "geometry", "hierarchy", "integrations", "kmeans", "mixture", "persistence", "report",
    "selection", "spectral", "studio", "tables",
)  # fmt: skip

__all__ = [
    "ITML",
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
    "TextEmbedder",
    "Tree",
    "XingMetric",
    "__version__",
    "load_model",
    "one_tree",
    "open_blocks",
    "plot_clusters",
    "propagate",
    "read_table",
    "save_model",
    "table_features",
]


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        return getattr(importlib.import_module(_MODULE_OF[name]), name)
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES})
