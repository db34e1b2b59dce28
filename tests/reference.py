"""Slow and obvious versions of what the library does fast."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations


def components(n_rows: int, must: list) -> list[int]:
    """Component of each row, by relabelling until nothing changes."""
    label = list(range(n_rows))
    for i, j in must:
        old, new = label[i], label[j]
        label = [new if x == old else x for x in label]
    return label


def shortest_chain(n_rows: int, must: list, i: int, j: int) -> int | None:
    """Fewest must-links that put i and j together, by trying all subsets, small ones first."""
    for size in range(len(must) + 1):
        for chosen in combinations(must, size):
            label = components(n_rows, list(chosen))
            if label[i] == label[j]:
                return size
    return None


def colourable(n_vertices: int, edges: list, k: int) -> bool:
    """Whether k colours suffice, by trying all colourings."""

    def extend(colours: list[int]) -> bool:
        v = len(colours)
        if v == n_vertices:
            return True
        taken = {colours[u] for u in range(v) if (u, v) in edges or (v, u) in edges}
        return any(extend([*colours, c]) for c in range(k) if c not in taken)

    return extend([])


def binary_trees(leaves: list) -> Iterator:
    """All rooted binary trees over the leaves, as nested tuples."""
    if len(leaves) == 1:
        yield leaves[0]
        return
    first, rest = leaves[0], leaves[1:]
    for size in range(len(rest)):
        for chosen in combinations(rest, size):
            left = [first, *chosen]
            right = [leaf for leaf in rest if leaf not in chosen]
            for a in binary_trees(left):
                for b in binary_trees(right):
                    yield (a, b)


def clades(tree: object) -> list[frozenset]:
    """The leaf sets of all nodes of a tree of nested lists or tuples."""
    if not isinstance(tree, (list, tuple)):
        return [frozenset([tree])]
    below = [clade for child in tree for clade in clades(child)]
    return [frozenset().union(*below), *below]


def displays(tree: object, triplet: tuple) -> bool:
    """Whether some node has a and b below it but not c."""
    a, b, c = triplet
    return any(a in clade and b in clade and c not in clade for clade in clades(tree))
