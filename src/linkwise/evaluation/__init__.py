"""Scores of clusterings, learning curves of methods, and differences between clusterings."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._description_length import description_length
    from ._learning_curve import LearningCurve, learning_curve
    from ._links_scorer import LinksScorer
    from ._matching import ClusteringChanges, compare_clusterings
    from ._scores import Scores, score

# Loaded on first use: `linkwise score` needs no estimator, and scikit-learn takes a second.
_MODULE_OF = {
    "ClusteringChanges": "_matching",
    "LearningCurve": "_learning_curve",
    "LinksScorer": "_links_scorer",
    "Scores": "_scores",
    "compare_clusterings": "_matching",
    "description_length": "_description_length",
    "learning_curve": "_learning_curve",
    "score": "_scores",
}

__all__ = [
    "ClusteringChanges",
    "LearningCurve",
    "LinksScorer",
    "Scores",
    "compare_clusterings",
    "description_length",
    "learning_curve",
    "score",
]


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        return getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
