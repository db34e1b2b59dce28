"""Any clusterer, made to listen: BoostCluster."""

from ._boost import BoostCluster
from ._rounds import Round

__all__ = ["BoostCluster", "Round"]
