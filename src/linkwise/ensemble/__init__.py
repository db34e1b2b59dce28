"""BoostCluster: pairwise constraints for any clusterer."""

from ._boost import BoostCluster
from ._rounds import BoostRound

__all__ = ["BoostCluster", "BoostRound"]
