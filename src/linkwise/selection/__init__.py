"""AutoCluster: the number of clusters and the space they are found in, chosen by held-out links."""

from ._auto import AutoCluster
from ._folds import can_hold_out
from ._report import ChoiceReport
from ._score import Expected, LinkModel
from ._table import Results

__all__ = ["AutoCluster", "ChoiceReport", "Expected", "LinkModel", "Results", "can_hold_out"]
