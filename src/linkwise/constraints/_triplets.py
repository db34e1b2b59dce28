"""Are relative constraints consistent? OneTree (Aho's algorithm), and proofs when they are not.

Entry points: `build_tree` builds a tree that induces every triplet ab|c, `irreducible` shrinks an
inconsistent set until dropping any one of it makes the rest consistent.

References
----------
.. [1] E. Y. Liu, Z. Zhang, W. Wang. Clustering with relative constraints. KDD 2011, section 4.1.
.. [2] A. V. Aho, Y. Sagiv, T. G. Szymanski, J. D. Ullman. Inferring a tree from lowest common
   ancestors with an application to the optimization of relational expressions. SIAM J.
   Computing 10(3), 1981.
.. [3] U. Junker. QuickXplain: preferred explanations and relaxations for over-constrained
   problems. AAAI 2004.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ._closure import number_nodes
from ._links import Rows


@dataclass(frozen=True)
class TreeBuilt:
    """Result of OneTree over items 0..n-1."""

    parent: Rows | None
    conflict: Rows


def build_tree(triplets: Rows, n_items: int) -> TreeBuilt:
    """Build the least resolved tree over 0..n_items-1 that induces every triplet ab|c.

    From the root downwards: joining a and b of the triplets that lie wholly in a set must leave
    at least two parts of it, which become its children. Near-linear for trees of any depth.
    """
    from linkwise._core import split_down

    above, alive = split_down(np.ascontiguousarray(triplets), n_items)
    if not len(above) and n_items > 1:
        return TreeBuilt(None, np.flatnonzero(alive))
    # Sets are numbered downwards from the root, trees upwards to it.
    parent = len(above) - 1 - above
    parent[n_items:] = parent[n_items:][::-1].copy()
    parent[-1] = -1
    return TreeBuilt(parent, np.zeros(0, dtype=np.int64))


def consistent(triplets: Rows) -> bool:
    """Whether some tree induces all the triplets."""
    items, (ends,) = number_nodes(triplets)
    return not len(triplets) or build_tree(ends, len(items)).parent is not None


def irreducible(
    candidates: Rows, consistent: Callable[[Rows], bool], time_limit: float = np.inf
) -> tuple[Rows, bool]:
    """A subset of inconsistent `candidates` that becomes consistent when any one is dropped.

    QuickXplain: O(m log(n / m)) tests for a result of size m out of n. When time runs out, the
    set is inconsistent still, but perhaps not irreducible; the second value tells.
    """
    deadline = time.monotonic() + time_limit

    def test(chosen: Rows) -> bool:
        # Saying "consistent" keeps everything that has not been looked at yet.
        return time.monotonic() > deadline or consistent(chosen)

    core = np.sort(_explain(np.zeros(0, np.int64), candidates, False, test))
    return core, time.monotonic() <= deadline


def _explain(
    background: Rows, candidates: Rows, grown: bool, consistent: Callable[[Rows], bool]
) -> Rows:
    if grown and not consistent(background):
        return candidates[:0]
    if len(candidates) == 1:
        return candidates
    half = len(candidates) // 2
    first, second = candidates[:half], candidates[half:]
    needed_second = _explain(
        np.concatenate([background, first]), second, len(first) > 0, consistent
    )
    needed_first = _explain(
        np.concatenate([background, needed_second]), first, len(needed_second) > 0, consistent
    )
    return np.concatenate([needed_first, needed_second])
