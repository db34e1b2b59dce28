"""ModelChoice for the user: k, algorithm, metric and preprocessing, from the constraints."""

from ._auto import AutoCluster
from ._report import ChoiceReport

__all__ = ["AutoCluster", "ChoiceReport"]
