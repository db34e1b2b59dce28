"""linkwise inside other tools: BERTopic, scanpy, notebooks.

Entry points: `BoundConstraints` (a clusterer that brings its constraints, for tools that call
``fit(X)``), `cluster_cells` (AnnData), `LabelWidget` (questions in a notebook), `ProgressBar` (the
progress of a fit). None of the tools is imported before it is used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._anndata import cluster_cells
    from ._bound import BoundConstraints
    from ._progress import ProgressBar
    from ._widget import LabelWidget

_MODULE_OF = {
    "BoundConstraints": "_bound",
    "LabelWidget": "_widget",
    "ProgressBar": "_progress",
    "cluster_cells": "_anndata",
}

__all__ = ["BoundConstraints", "LabelWidget", "ProgressBar", "cluster_cells"]


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        return getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
