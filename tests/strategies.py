"""What hypothesis draws: constraints, labelings, trees."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from linkwise import Constraints


def pairs(n_rows: int, max_size: int = 12) -> st.SearchStrategy:
    row = st.integers(0, n_rows - 1)
    return st.lists(st.tuples(row, row).filter(lambda p: p[0] != p[1]), max_size=max_size)


def triplets(n_rows: int, max_size: int = 8) -> st.SearchStrategy:
    return st.lists(
        st.permutations(range(n_rows)).map(lambda order: tuple(order[:3])), max_size=max_size
    )


@st.composite
def pairwise(draw: st.DrawFn, n_rows: int = 8) -> Constraints:
    return Constraints(must_link=draw(pairs(n_rows)), cannot_link=draw(pairs(n_rows)))


@st.composite
def constraints(draw: st.DrawFn, n_rows: int = 8) -> Constraints:
    """Constraints of all kinds with weights, on row numbers or on ids."""
    weights = st.sampled_from([0.5, 1.0, 2.0])
    rows = draw(st.sampled_from([list(range(n_rows)), [f"r{i}" for i in range(n_rows)]]))

    def named(drawn: list) -> list:
        return [(*(rows[end] for end in ends), draw(weights)) for ends in drawn]

    return Constraints(
        must_link=named(draw(pairs(n_rows))),
        cannot_link=named(draw(pairs(n_rows))),
        relative=named(draw(triplets(n_rows))),
    )


labelings = st.lists(st.integers(-1, 3), min_size=1, max_size=12)


@st.composite
def nested_trees(draw: st.DrawFn, max_leaves: int = 8) -> list:
    """Random trees as nested lists over 0..n-1, every inner node with two or more children."""
    n_leaves = draw(st.integers(2, max_leaves))
    nodes: list = list(draw(st.permutations(range(n_leaves))))
    while len(nodes) > 1:
        size = draw(st.integers(2, min(len(nodes), 4)))
        start = draw(st.integers(0, len(nodes) - size))
        nodes[start : start + size] = [nodes[start : start + size]]
    return nodes[0]


@st.composite
def clusterings(draw: st.DrawFn, max_rows: int = 24) -> tuple:
    """Data, a number of clusters and weighted pairwise constraints that may contradict."""
    n_rows = draw(st.integers(4, max_rows))
    k = draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.normal(size=(n_rows, draw(st.integers(1, 4))))
    if draw(st.booleans()):
        X = X.round()  # repeated rows and ties
    weights = st.sampled_from([1e-3, 0.5, 1.0, 1.0, 7.0, 1e3])
    must, cannot = (
        [(i, j, draw(weights)) for i, j in draw(pairs(n_rows, max_size))] for max_size in (10, 10)
    )
    return X, k, Constraints(must_link=must, cannot_link=cannot)
