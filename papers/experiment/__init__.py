"""Experiments of the papers: protocols, resumable learning curves, paired tests and ranks.

`linkwise.evaluation.learning_curve` is the lean version for users. This one follows the protocols
of the papers, appends every point to a file and continues after an interruption.
"""

from ._curve import LearningCurve
from ._learning_curve import learning_curve
from ._protocol import PROTOCOLS, Draw, Protocol
from ._ranking import Ranking, rank_methods
from ._significance import LEVELS, Comparison, adjusted, paired_p

__all__ = [
    "LEVELS",
    "PROTOCOLS",
    "Comparison",
    "Draw",
    "LearningCurve",
    "Protocol",
    "Ranking",
    "adjusted",
    "learning_curve",
    "paired_p",
    "rank_methods",
]
