"""Any clusterer, made to listen: BoostCluster."""

from ._boost import BoostCluster
from ._rounds import BoostRound

__all__ = ["BoostCluster", "BoostRound"]
