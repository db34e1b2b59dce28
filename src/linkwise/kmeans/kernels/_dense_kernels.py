"""Passes over dense rows (src/core/kmeans_dense.cpp)."""

from linkwise._core import (
    assign_dense,
    assign_mixed,
    costs_dense,
    costs_mixed,
    own_costs_dense,
    point_distances,
    undecided_dense,
)

__all__ = [
    "assign_dense", "assign_mixed", "costs_dense", "costs_mixed", "own_costs_dense",
    "point_distances", "undecided_dense",
]  # fmt: skip
