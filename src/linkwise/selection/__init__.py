"""AutoCluster: the number of clusters and the space they are found in, chosen by held-out links."""

from ._auto import AutoCluster
from ._report import ChoiceReport
from ._score import Expected
from ._table import Results

__all__ = ["AutoCluster", "ChoiceReport", "Expected", "Results"]
