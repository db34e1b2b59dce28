"""linkwise: constrained clustering that listens.

Public names are loaded on first use, so that ``import linkwise`` stays fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from .constraints import Closure, ConstraintError, Constraints, Diagnosis, Tree, one_tree
    from .geometry import ComparisonMetric
    from .hierarchy import ConstrainedCompleteLink, ReCon
    from .kmeans import (
        ConstrainedKMeans,
        COPKMeans,
        MPCKMeans,
        PCKMeans,
        PreIdentifiedKMeans,
        SeededKMeans,
    )

_HOME = {
    "Closure": "constraints",
    "ConstraintError": "constraints",
    "Constraints": "constraints",
    "Diagnosis": "constraints",
    "COPKMeans": "kmeans",
    "ComparisonMetric": "geometry",
    "ConstrainedCompleteLink": "hierarchy",
    "ConstrainedKMeans": "kmeans",
    "MPCKMeans": "kmeans",
    "PCKMeans": "kmeans",
    "PreIdentifiedKMeans": "kmeans",
    "ReCon": "hierarchy",
    "SeededKMeans": "kmeans",
    "Tree": "constraints",
    "one_tree": "constraints",
}
_MODULES = ("constraints", "datasets", "evaluation", "geometry", "hierarchy", "kmeans")

__all__ = [
    "COPKMeans",
    "Closure",
    "ComparisonMetric",
    "ConstrainedCompleteLink",
    "ConstrainedKMeans",
    "ConstraintError",
    "Constraints",
    "Diagnosis",
    "MPCKMeans",
    "PCKMeans",
    "PreIdentifiedKMeans",
    "ReCon",
    "SeededKMeans",
    "Tree",
    "__version__",
    "one_tree",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES})
