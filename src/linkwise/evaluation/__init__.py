"""How good a clustering is, and how good methods are.

`score` compares a clustering with the truth, `pair_scores` over pairs of rows. `learning_curve`
measures methods by the number of constraints they get; `rank_methods` ranks them over data sets.
"""

from ._curve import LearningCurve
from ._learning_curve import learning_curve
from ._protocol import PROTOCOLS, Draw, Protocol
from ._ranking import Ranking, rank_methods
from ._scores import PairScores, Scores, pair_scores, score
from ._significance import LEVELS, Comparison, adjusted, paired_p

__all__ = [
    "LEVELS",
    "PROTOCOLS",
    "Comparison",
    "Draw",
    "LearningCurve",
    "PairScores",
    "Protocol",
    "Ranking",
    "Scores",
    "adjusted",
    "learning_curve",
    "pair_scores",
    "paired_p",
    "rank_methods",
    "score",
]
