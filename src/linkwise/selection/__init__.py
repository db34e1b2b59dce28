"""Model selection by constraints: number of clusters, algorithm, metric and preprocessing."""

from ._auto import AutoCluster
from ._expected import Expected
from ._report import ChoiceReport
from ._splits import can_hold_out
from ._table import Results

__all__ = ["AutoCluster", "ChoiceReport", "Expected", "Results", "can_hold_out"]
