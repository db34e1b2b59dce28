"""Active clustering: query strategies, durable sessions, and oracles.

`Session` is the way in.
"""

from ._answer_log import ImportedAnswers
from ._carry import DataChanges
from ._corrections import Correction
from ._merge_strategy import NextMerges
from ._neighborhood_strategies import ExploreConsolidate, MinMax, NormalizedPointUncertainty
from ._oracles import FunctionOracle, LabelOracle
from ._pair_strategies import ClosestPairs, FarthestPairs, RandomPairs
from ._progress import Progress
from ._questions import Answer, ClusterCountAnswer, Dispute, Question, SetQuestion
from ._repair import Repair
from ._repaired_clustering import RepairedClustering
from ._session import Session
from ._session_state import SessionSnapshot
from ._strategy import QueryContext, Strategy
from ._terminal import TerminalOracle

__all__ = [
    "Answer",
    "ClosestPairs",
    "ClusterCountAnswer",
    "Correction",
    "DataChanges",
    "Dispute",
    "ExploreConsolidate",
    "FarthestPairs",
    "FunctionOracle",
    "ImportedAnswers",
    "LabelOracle",
    "MinMax",
    "NextMerges",
    "NormalizedPointUncertainty",
    "Progress",
    "QueryContext",
    "Question",
    "RandomPairs",
    "Repair",
    "RepairedClustering",
    "Session",
    "SessionSnapshot",
    "SetQuestion",
    "Strategy",
    "TerminalOracle",
]
