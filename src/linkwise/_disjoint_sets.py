"""Disjoint sets (union-find) in arrays, for compiled loops."""

from __future__ import annotations

from typing import Any

from linkwise._compiled import kernel


@kernel
def find(parent: Any, p: Any) -> Any:
    """Root of the set that p is in, with path halving; a root is its own parent."""
    while parent[p] != p:
        parent[p] = parent[parent[p]]
        p = parent[p]
    return p
