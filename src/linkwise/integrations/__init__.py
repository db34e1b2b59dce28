"""linkwise inside other tools: BERTopic, scanpy, notebooks.

`BoundConstraints` binds constraints to a clusterer, for tools that call ``fit(X)``;
`cluster_cells` clusters AnnData; `show_studio` shows the studio in a notebook cell; `ProgressBar`
shows the progress of a fit. None of the tools is imported before it is used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._anndata import cluster_cells
    from ._bound import BoundConstraints
    from ._notebook import show_studio
    from ._progress import ProgressBar

_MODULE_OF = {
    "BoundConstraints": "_bound",
    "ProgressBar": "_progress",
    "cluster_cells": "_anndata",
    "show_studio": "_notebook",
}

__all__ = ["BoundConstraints", "ProgressBar", "cluster_cells", "show_studio"]


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        return getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
