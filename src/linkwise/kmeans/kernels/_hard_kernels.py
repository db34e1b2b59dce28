"""Assignment under hard constraints (src/core/kmeans_hard.cpp)."""

from linkwise._core import assign_cliques, greedy_hard, group_costs, improve_hard

__all__ = ["assign_cliques", "greedy_hard", "group_costs", "improve_hard"]
