"""Scores of clusterings, learning curves of methods, and differences between clusterings."""

from ._description_length import description_length
from ._learning_curve import LearningCurve, learning_curve
from ._links_scorer import LinksScorer
from ._matching import ClusteringChanges, compare_clusterings
from ._scores import Scores, score

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
