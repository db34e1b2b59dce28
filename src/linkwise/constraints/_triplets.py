"""Consistency of relative constraints: OneTree (Aho's algorithm), entailment, proofs, subsets.

Entry points: `build_tree` builds a tree that induces every triplet ab|c; `entails` decides whether
a triplet follows from others; `irreducible` shrinks an inconsistent set until dropping any one of
it makes the rest consistent; `consistent_subset` chooses a consistent subset of great weight.

References
----------
.. [1] E. Y. Liu, Z. Zhang, W. Wang. Clustering with relative constraints. KDD 2011, section 4.1.
.. [2] A. V. Aho, Y. Sagiv, T. G. Szymanski, J. D. Ullman. Inferring a tree from lowest common
   ancestors with an application to the optimization of relational expressions. SIAM J.
   Computing 10(3), 1981.
.. [3] D. Bryant, M. Steel. Extension operations on sets of leaf-labeled trees. Advances in Applied
   Mathematics 16(4), 1995.
.. [4] U. Junker. QuickXplain: preferred explanations and relaxations for over-constrained
   problems. AAAI 2004.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ._links import Floats, Mask, Rows, number_nodes
from ._tree import Tree


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


def entails(triplets: Rows, triplet: Rows) -> bool:
    """Whether every tree that induces `triplets` induces ab|c.

    A tree that leaves a, b and c unresolved can be refined to ac|b. So ab|c follows if and only if
    neither ac|b nor bc|a can be added [3]. No finite set of rules such as "ab|c and cd|a give ab|d"
    is complete (section 4.2 of [1]).
    """
    a, b, c = triplet.tolist()
    others = ((a, c, b), (b, c, a))
    return not any(consistent(np.vstack([triplets, np.array([other])])) for other in others)


def redundant(triplets: Rows, time_limit: float = 5.0) -> Mask:
    """Triplets that the others entail; later ones are left out first.

    Triplets that cannot be tested within the time limit count as needed.
    """
    deadline = time.monotonic() + time_limit
    left = np.ones(len(triplets), dtype=bool)
    if not consistent(triplets):  # from a contradiction everything follows
        return ~left
    for t in range(len(triplets) - 1, -1, -1):
        if time.monotonic() > deadline:
            break
        left[t] = False
        left[t] = not entails(triplets[left], triplets[t])
    return ~left


def consistent_subset(triplets: Rows, weight: Floats, time_limit: float = 5.0) -> Mask:
    """Mark triplets that can all be met together, of a large total weight.

    The largest such set is NP-hard to find (Maximum Triplet Consistency, section 6 of [1]). Here
    triplets are added if they fit, the heaviest first. They are added in blocks, which are halved
    where they do not fit: few tests are needed if few triplets are wrong. Seconds over the limit,
    only the triplets that the tree happens to induce are added.
    """
    deadline = time.monotonic() + time_limit
    chosen = np.zeros(0, dtype=np.int64)
    blocks = [np.argsort(-weight, kind="stable")]
    while blocks and time.monotonic() < deadline:
        block = blocks.pop()
        if consistent(triplets[np.concatenate([chosen, block])]):
            chosen = np.concatenate([chosen, block])
        elif len(block) > 1:
            half = len(block) // 2
            blocks += [block[half:], block[:half]]
    kept = np.zeros(len(triplets), dtype=bool)
    kept[chosen] = True
    if blocks:
        items, (ends,) = number_nodes(triplets)
        built = build_tree(ends[kept], len(items))
        assert built.parent is not None
        kept |= Tree(built.parent, range(len(items))).displays(ends.tolist())
    return kept


def irreducible(
    candidates: Rows, consistent: Callable[[Rows], bool], time_limit: float = np.inf
) -> tuple[Rows, bool]:
    """A subset of inconsistent `candidates` that becomes consistent when any one is dropped.

    QuickXplain [4]: O(m log(n / m)) tests for a result of size m out of n. When time runs out, the
    set is inconsistent still, but perhaps not irreducible; the second value tells.
    """
    deadline = time.monotonic() + time_limit

    def test(chosen: Rows) -> bool:
        # "Consistent" keeps all candidates that were not tested yet.
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
