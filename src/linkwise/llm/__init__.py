"""Language models in a session: answers with known error rates, names of clusters, agents.

`ChatOracle` is a model on a server, `answer_cards` lets it answer a session. Every reply is stored
in the file of the session before it counts.
"""

from ._answer_cards import answer_cards
from ._audit import audit_sample, disagreements, overrule, weighted_links
from ._chat import ChatError
from ._mcp import make_server
from ._names import ClusterName, cluster_names, name_clusters, tested_names
from ._oracle import ChatOracle, Estimate
from ._proposals import Proposal, decide, proposals, take_back
from ._rates import Count, ErrorRates, Evidence, Rate
from ._replies import Spending, spending

__all__ = [
    "ChatError",
    "ChatOracle",
    "ClusterName",
    "Count",
    "ErrorRates",
    "Estimate",
    "Evidence",
    "Proposal",
    "Rate",
    "Spending",
    "answer_cards",
    "audit_sample",
    "cluster_names",
    "decide",
    "disagreements",
    "make_server",
    "name_clusters",
    "overrule",
    "proposals",
    "spending",
    "take_back",
    "tested_names",
    "weighted_links",
]
