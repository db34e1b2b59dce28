"""linkwise: constrained clustering that listens.

Public names are loaded on first use, so that ``import linkwise`` stays fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from .active import Session
    from .constraints import Closure, ConstraintError, Constraints, Diagnosis, Tree
    from .kmeans import (
        ConstrainedKMeans,
        COPKMeans,
        MPCKMeans,
        PCKMeans,
        PreIdentifiedKMeans,
        SeededKMeans,
    )
    from .studio import Studio

_HOME = {
    "Closure": "constraints",
    "ConstraintError": "constraints",
    "Constraints": "constraints",
    "Diagnosis": "constraints",
    "COPKMeans": "kmeans",
    "ConstrainedKMeans": "kmeans",
    "MPCKMeans": "kmeans",
    "PCKMeans": "kmeans",
    "PreIdentifiedKMeans": "kmeans",
    "SeededKMeans": "kmeans",
    "Session": "active",
    "Studio": "studio",
    "Tree": "constraints",
}
_MODULES = ("active", "constraints", "datasets", "evaluation", "kmeans", "studio")

__all__ = [
    "COPKMeans",
    "Closure",
    "ConstrainedKMeans",
    "ConstraintError",
    "Constraints",
    "Diagnosis",
    "MPCKMeans",
    "PCKMeans",
    "PreIdentifiedKMeans",
    "SeededKMeans",
    "Session",
    "Studio",
    "Tree",
    "__version__",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES})
