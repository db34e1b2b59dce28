"""How good a clustering is, and how good methods are.

`score` compares a clustering with the truth, `pair_scores` over pairs of rows. `learning_curve`
measures methods by the number of constraints they get; `rank_methods` ranks them over data sets.
`LinksScorer` scores by constraints on held-out rows, for scikit-learn's searches.
`description_length` compares clusterings without the truth, and `compare_clusterings` tells what
became of the clusters of an earlier one.
"""

from ._curve import LearningCurve
from ._description_length import description_length
from ._learning_curve import learning_curve
from ._links_scorer import LinksScorer
from ._matching import ClusteringChanges, compare_clusterings
from ._protocol import PROTOCOLS, Draw, Protocol
from ._ranking import Ranking, rank_methods
from ._scores import PairScores, Scores, pair_scores, score
from ._significance import LEVELS, Comparison, adjusted, paired_p

__all__ = [
    "LEVELS",
    "PROTOCOLS",
    "ClusteringChanges",
    "Comparison",
    "Draw",
    "LearningCurve",
    "LinksScorer",
    "PairScores",
    "Protocol",
    "Ranking",
    "Scores",
    "adjusted",
    "compare_clusterings",
    "description_length",
    "learning_curve",
    "pair_scores",
    "paired_p",
    "rank_methods",
    "score",
]
