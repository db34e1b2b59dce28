"""Model selection by constraints: number of clusters, algorithm, metric and preprocessing."""

from ._auto import AutoCluster
from ._report import ChoiceReport

__all__ = ["AutoCluster", "ChoiceReport"]
