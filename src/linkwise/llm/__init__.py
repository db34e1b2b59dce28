"""Language models in a session: answers with known error rates, names of clusters, agents.

`ChatOracle` is a model on a server, `answer_cards` lets it answer a session. Every reply is stored
in the file of the session before it counts.
"""

from ._answer_cards import answer_cards
from ._audit import audit_sample, disagreements, overrule, weighted_links
from ._chat import ChatError
from ._names import ClusterName, cluster_names, name_clusters
from ._oracle import ChatOracle, Estimate
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
    "Rate",
    "Spending",
    "answer_cards",
    "audit_sample",
    "cluster_names",
    "disagreements",
    "name_clusters",
    "overrule",
    "spending",
    "weighted_links",
]
