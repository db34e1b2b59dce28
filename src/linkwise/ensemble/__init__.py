"""BoostCluster: pairwise constraints for any clusterer."""

from ._boost import BoostCluster
from ._rounds import BoostRound
from ._single_link import PartitionalSingleLink

__all__ = ["BoostCluster", "BoostRound", "PartitionalSingleLink"]
