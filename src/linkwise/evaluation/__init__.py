"""How good a clustering is: `score` for everything at once, `pair_scores` for pairs of rows."""

from ._scores import PairScores, Scores, pair_scores, score

__all__ = ["PairScores", "Scores", "pair_scores", "score"]
