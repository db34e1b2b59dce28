"""Which question next: strategies, sessions that lose nothing, and who may answer.

`Session` is the way in.
"""

from ._oracles import FunctionOracle, LabelOracle, LanguageModelOracle
from ._pairs import ClosestPairs, FarthestPairs, RandomPairs
from ._placing import ExploreConsolidate, MinMax, NormalizedPointUncertainty
from ._progress import Progress
from ._questions import Answer, ClusterCount, Dispute, Question
from ._session import Session
from ._task import Strategy, Task
from ._terminal import TerminalOracle

__all__ = [
    "Answer",
    "ClosestPairs",
    "ClusterCount",
    "Dispute",
    "ExploreConsolidate",
    "FarthestPairs",
    "FunctionOracle",
    "LabelOracle",
    "LanguageModelOracle",
    "MinMax",
    "NormalizedPointUncertainty",
    "Progress",
    "Question",
    "RandomPairs",
    "Session",
    "Strategy",
    "Task",
    "TerminalOracle",
]
