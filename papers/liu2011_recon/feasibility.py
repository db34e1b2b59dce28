"""What claim R1 needs: ReCon, the naive guard, and all trees there are, on small random cases.

Cases: triplets of a random tree (consistent), triplets drawn freely (often not), and the paper's
own {ab|c, cd|a} with b next to d.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import combinations, product

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist

from linkwise import ConstraintError, Constraints, ReCon, Tree

from .._run import Cells

TRIALS = 100  # random cases of each kind and size
LISTED = 7  # up to so many rows all 10,395 binary trees are looked at
PAPER = (np.array([[0.0], [5.0], [10.0], [5.1]]), [(0, 1, 2), (2, 3, 0)])


def tasks(n_trials: int | None) -> Iterator[Cells]:
    yield {"case": "paper", "rows": 4, "constraints": 2, "trial": 0}
    for trial, rows, share in product(range(n_trials or TRIALS), (4, 5, 6, LISTED), (1, 2, 4)):
        for case in ("tree", "free"):
            yield {"case": case, "rows": rows, "constraints": share * rows, "trial": trial}
    for trial, rows, share in product(range((n_trials or TRIALS) // 4), (20, 40), (1, 2, 4)):
        yield {"case": "tree", "rows": rows, "constraints": share * rows, "trial": trial}


def check(case: str, rows: int, constraints: int, trial: int) -> Iterator[Cells]:
    """What ReCon and the naive guard made of one case."""
    X, triplets = _drawn(case, rows, constraints, trial)
    listed = rows <= LISTED
    consistent = _some_tree_keeps(rows, triplets) if listed else True
    try:
        model = ReCon().fit(X, constraints=Constraints(relative=triplets))
        built, kept = len(model.children_) == rows - 1, bool(model.report_.satisfaction)
    except ConstraintError:
        built, kept = False, None
    naive = naive_guard(X, triplets) if consistent else None
    yield {"consistent": consistent, "built": built, "kept": kept, "naive_left": naive}


def _drawn(case: str, rows: int, constraints: int, draw: int) -> tuple[np.ndarray, list]:
    if case == "paper":
        return PAPER
    rng = np.random.RandomState([rows, constraints, draw, case == "tree"])
    X = rng.normal(size=(rows, 2))
    if case == "tree":
        tree = Tree.from_linkage(linkage(pdist(rng.normal(size=(rows, 2))), "average"))
        most = min(constraints, len(list(combinations(range(rows), 3))))
        known = Constraints.from_tree(tree, how="sample", n=most, random_state=rng)
        return X, [tuple(t) for t in known.relative.tolist()]
    drawn = [tuple(rng.permutation(rows)[:3].tolist()) for _ in range(constraints)]
    return X, list(dict.fromkeys((min(a, b), max(a, b), c) for a, b, c in drawn))


def _some_tree_keeps(rows: int, triplets: list) -> bool:
    """Brute force: whether any of all binary trees has a clade with a and b, without c."""
    trees = _all_trees(rows)
    keeping = np.ones(len(trees), dtype=bool)
    for a, b, c in triplets:
        has = [(trees >> row) & 1 == 1 for row in (a, b, c)]
        keeping &= (has[0] & has[1] & ~has[2]).any(axis=1)
    return bool(keeping.any())


@cache
def _all_trees(rows: int) -> np.ndarray:
    """Every rooted binary tree as its clades, each a set of rows in the bits of a number."""
    trees = [(1,)]
    for row in range(1, rows):
        leaf = 1 << row
        trees = [
            (*((d | leaf if d & c == c and d != c else d) for d in tree), c | leaf, leaf)
            for tree in trees
            for c in tree  # the new leaf hangs from the edge above this clade
        ]
    return np.array(trees)


def naive_guard(X: np.ndarray, triplets: list) -> int:
    """Merge the closest clusters (centroids) that break nothing now; how many are left at last."""
    clusters = [[row] for row in range(len(X))]
    while len(clusters) > 1:
        owner = {row: number for number, rows in enumerate(clusters) for row in rows}
        barred = set()
        for a, b, c in triplets:
            i, j, k = owner[a], owner[b], owner[c]
            if i != j:
                barred |= {frozenset((i, k)), frozenset((j, k))}
        centers = [X[rows].mean(axis=0) for rows in clusters]
        free = [
            (float(np.sum((centers[i] - centers[j]) ** 2)), i, j)
            for i, j in combinations(range(len(clusters)), 2)
            if frozenset((i, j)) not in barred
        ]
        if not free:
            break
        _, i, j = min(free)
        clusters[i] += clusters.pop(j)
    return len(clusters)
