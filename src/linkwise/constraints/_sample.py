"""Constraints for experiments: drawn from labels or trees, subsampled, or with noise.

Informative triplets: for an inner node with children v1..vr and each sibling w, the triplets
v1 vj | w. They are n - 2 for a binary tree and (k - 1)(n - k) for a two-level tree of k classes,
and they imply every triplet of the tree (tested against all trees of up to six leaves).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from linkwise._types import LabelsLike, RandomState, Seed

from ._arguments import add_labels, add_positions, known_labels
from ._builder import ARITY, KINDS, Builder, Kind, Parts
from ._errors import ConstraintError
from ._links import Links, Rows, concatenate, merge_repeated
from ._tree import Tree, TreeLike, as_tree

if TYPE_CHECKING:
    from ._constraints import Constraints


_MOST_TRIPLETS = 10_000_000  # 240 MB of row numbers


def _generator(seed: Seed) -> RandomState:
    from sklearn.utils import check_random_state  # here: files are read and checked without it

    return check_random_state(seed)


def from_labels(
    cls: type[Constraints],
    y: LabelsLike,
    n: int | None,
    kind: str,
    ids: Sequence[Hashable] | None,
    random_state: Seed,
) -> Constraints:
    """See `Constraints.from_labels`."""
    if kind not in ("pairs", "balanced", "triplets", "informative"):
        raise ValueError(
            f"kind={kind!r}: expected 'pairs', 'balanced', 'triplets' or 'informative'"
        )
    if n is not None and n < 0:
        raise ValueError(f"n={n} must not be negative")
    if n is None and kind in ("balanced", "triplets"):
        raise ValueError(f"kind={kind!r} draws a sample; give its size n")
    if n is None and kind == "pairs":
        builder = Builder("labels")
        add_labels(builder, y, ids)
        return cls._of(builder.build())
    names, codes = known_labels(y, ids)
    links = _drawn(codes, n, kind, _generator(random_state))
    return _named(cls, names, links, "labels")


def _drawn(codes: Rows, n: int | None, kind: str, rng: RandomState) -> dict[Kind, Rows]:
    """Random constraints of a kind between labeled rows."""
    classes = _Classes(codes)
    if kind == "informative":
        total = classes.n_informative
        ranks = np.arange(total) if n is None else _ranks(n, total, rng, "informative triplets")
        return {"relative": classes.informative(ranks)}
    assert n is not None
    if kind == "triplets":
        return {"relative": classes.triplets(_ranks(n, classes.n_triplets, rng, "triplets"))}
    if kind == "balanced":
        same = _ranks(n - n // 2, classes.n_inside, rng, "pairs of rows of one class")
        other = _ranks(n // 2, classes.n_across, rng, "pairs of rows of two classes")
        return {"must": classes.inside(same), "cannot": classes.across(other)}
    size = len(codes)
    ranks = _ranks(n, size * (size - 1) // 2, rng, "pairs")
    pairs = np.column_stack(_unrank_pair(ranks, size))
    together = codes[pairs[:, 0]] == codes[pairs[:, 1]]
    return {"must": pairs[together], "cannot": pairs[~together]}


def _named(
    cls: type[Constraints], names: Rows | list[Hashable], links: dict[Kind, Rows], source: str
) -> Constraints:
    """Constraints between positions of `names`."""
    builder = Builder(source)
    number = builder.source(source)
    for kind, ends in links.items():
        nowhere = np.full(len(ends), -1, dtype=np.int64)
        add_positions(builder, kind, names, ends, number, nowhere)
    return cls._of(builder.build())


# -------------------------------------------------------------------- the n-th pair or triplet
#
# All pairs (or triplets) of a kind are numbered; a draw is a draw of different numbers, which are
# then turned into rows. So every one is equally likely and nothing has to be listed.


def _ranks(n: int, total: int, rng: RandomState, what: str) -> Rows:
    """N different numbers below `total`."""
    if n > total:
        raise ValueError(f"asked for {n:,} {what}, but the labels allow only {total:,}")
    if total >= 2**62:
        raise ValueError(f"too many {what} to draw from ({total:.1e}); use fewer rows")
    from sklearn.utils.random import sample_without_replacement

    return sample_without_replacement(total, n, random_state=rng).astype(np.int64)


def _unrank_pair(rank: Rows, size: int | Rows) -> tuple[Rows, Rows]:
    """The pair i < j of 0..size-1 with that number, when pairs are numbered by j, then i."""
    # The pairs before those of j number j (j - 1) / 2: the largest j with j (j - 1) / 2 <= rank.
    j = ((1 + np.sqrt(1 + 8 * rank.astype(np.float64))) / 2).astype(np.int64)
    j -= j * (j - 1) // 2 > rank  # the root may be off by one for large numbers
    j += j * (j + 1) // 2 <= rank
    return rank - j * (j - 1) // 2, j


class _Classes:
    """Rows sorted by class, and how many pairs and triplets they make."""

    def __init__(self, codes: Rows):
        self.rows = np.argsort(codes, kind="stable")
        self.counts = np.bincount(codes, minlength=1).astype(np.int64)
        self.starts = np.cumsum(self.counts) - self.counts
        self.size = len(codes)
        self._pairs = self.counts * (self.counts - 1) // 2
        self.n_inside = int(self._pairs.sum())
        self.n_across = self.size * (self.size - 1) // 2 - self.n_inside
        counts = self.counts.tolist()
        self.n_triplets = sum(m * (m - 1) // 2 * (self.size - m) for m in counts)
        self._n_classes = int((self.counts > 0).sum())
        # A triplet for every row but the first of its class, and every other class.
        self.n_informative = (self._n_classes - 1) * (self.size - self._n_classes)

    def inside(self, rank: Rows) -> Rows:
        """Pairs of rows of one class."""
        label, left = _split(rank, self._pairs)
        i, j = _unrank_pair(left, self.counts[label])
        return np.column_stack([self.rows[self.starts[label] + k] for k in (i, j)])

    def across(self, rank: Rows) -> Rows:
        """Pairs of rows of two classes: each row with all rows of later classes."""
        ends = np.repeat(self.starts + self.counts, self.counts)
        position, left = _split(rank, self.size - ends)
        return np.column_stack([self.rows[position], self.rows[ends[position] + left]])

    def triplets(self, rank: Rows) -> Rows:
        """Two rows of one class and a row of another."""
        label, left = _split(rank, self._pairs * (self.size - self.counts))
        pair, third = np.divmod(left, np.maximum(self.size - self.counts[label], 1))
        i, j = _unrank_pair(pair, self.counts[label])
        third += np.where(third >= self.starts[label], self.counts[label], 0)
        start = self.starts[label]
        return np.column_stack([self.rows[start + i], self.rows[start + j], self.rows[third]])

    def informative(self, rank: Rows) -> Rows:
        """The first row of a class, another of it, and the first of another class [5.2]."""
        present = np.flatnonzero(self.counts)
        if not len(rank):
            return np.zeros((0, 3), dtype=np.int64)
        label, left = _split(rank, (self.counts[present] - 1) * (len(present) - 1))
        member, other = np.divmod(left, len(present) - 1)
        other += other >= label
        starts = self.starts[present]
        lead = self.rows[starts[label]]
        return np.column_stack(
            [lead, self.rows[starts[label] + 1 + member], self.rows[starts[other]]]
        )


def _split(rank: Rows, sizes: Rows) -> tuple[Rows, Rows]:
    """Which of several consecutive runs of numbers each number falls into, and where in it."""
    ends = np.cumsum(sizes)
    which = np.searchsorted(ends, rank, side="right")
    return which, rank - (ends - sizes)[which]


# -------------------------------------------------------------------- trees


def from_tree(
    cls: type[Constraints], tree: TreeLike, how: str, n: int | None, random_state: Seed
) -> Constraints:
    """See `Constraints.from_tree`."""
    tree = as_tree(tree)
    if how != "sample" and n is not None:
        raise ValueError(f"how={how!r} gives a fixed set; n goes with how='sample'")
    if how == "minimal":
        ends = _minimal(tree)
    elif how == "sample":
        if n is None or n < 0:
            raise ValueError(f"how='sample' needs the number of triplets n, not {n}")
        ends = _induced(tree, n, _generator(random_state))
    elif how == "all":
        ends = _all_induced(tree)
    else:
        raise ValueError(f"how={how!r}: expected 'minimal', 'sample' or 'all'")
    return _named(cls, list(tree.leaves), {"relative": ends}, "tree")


def _minimal(tree: Tree) -> Rows:
    """Triplets that determine the tree.

    For an inner node u with children v1..vr and a sibling w of u: v1 vj | w for j = 2..r, each
    node standing for its first leaf. They join what is below u and keep it apart from w, so that
    OneTree finds u again, and they imply every other triplet of the tree.
    """
    first, children = tree.first_leaf.tolist(), tree.children
    found: list[tuple[int, int, int]] = []
    for node in range(tree.n_leaves, len(tree.parent) - 1):
        lead, *others = (first[child] for child in children[node])
        siblings = [w for w in children[tree.parent[node]] if w != node]
        found.extend((lead, other, first[w]) for other in others for w in siblings)
    return np.array(found, dtype=np.int64).reshape(-1, 3)


def _induced(tree: Tree, n: int, rng: RandomState) -> Rows:
    """Different random triplets that the tree induces."""
    if n == 0:
        return np.zeros((0, 3), dtype=np.int64)
    found = np.zeros((0, 3), dtype=np.int64)
    idle = 0
    while len(found) < n and idle < 50:
        leaves = rng.randint(tree.n_leaves, size=(2 * n + 64, 3))
        leaves = leaves[(np.diff(np.sort(leaves, axis=1), axis=1) > 0).all(axis=1)]
        if len(leaves):
            leaves = _turn(tree, leaves)
        before = len(found)
        found = np.concatenate([found, leaves])
        _, position = np.unique(found, axis=0, return_index=True)
        found = found[np.sort(position)]
        idle = idle + 1 if len(found) == before else 0
    if len(found) < n:
        raise ConstraintError(
            f"asked for {n:,} triplets, but only {len(found):,} different ones were found in the "
            "tree"
        )
    return found[:n]


def _all_induced(tree: Tree) -> Rows:
    """The triplet of every three leaves that the tree resolves."""
    total = math.comb(tree.n_leaves, 3)
    if total > _MOST_TRIPLETS:
        raise ConstraintError(
            f"{tree.n_leaves:,} leaves have {total:,} triplets, more than {_MOST_TRIPLETS:,}; "
            "how='minimal' gives a few that imply all of them"
        )
    three = np.array(list(combinations(range(tree.n_leaves), 3)), dtype=np.int64)
    return _turn(tree, three.reshape(-1, 3)) if len(three) else three.reshape(-1, 3)


def _turn(tree: Tree, leaves: Rows) -> Rows:
    """Order each three leaves as the tree groups them, a < b; drop those it leaves open."""
    a, b, c = leaves.T
    meets = np.column_stack([tree.lca(a, b), tree.lca(a, c), tree.lca(b, c)])
    depth = tree.depth[meets]
    deepest = depth.argmax(axis=1)
    resolved = depth.max(axis=1) > depth.min(axis=1)
    order = np.array([[0, 1, 2], [0, 2, 1], [1, 2, 0]])[deepest]
    turned = np.take_along_axis(leaves, order, axis=1)[resolved]
    turned[:, :2].sort(axis=1)
    return turned


# -------------------------------------------------------------------- subsets and noise


def subset(given: Constraints, n: int, random_state: Seed) -> Constraints:
    """See `Constraints.sample`."""
    total = given.n_constraints
    if not 0 <= n <= total:
        raise ValueError(f"n={n} must be between 0 and the number of constraints, {total}")
    return given.take(_generator(random_state).choice(total, n, replace=False))


def by_kind(given: Constraints, mask: NDArray[np.bool_]) -> list[Rows]:
    """A mask over all constraints, cut into one for each kind."""
    numbers = [given.n_must_link, given.n_cannot_link, given.n_relative]
    return np.split(mask, np.cumsum(numbers))


def flip(given: Constraints, share: float, random_state: Seed) -> Constraints:
    """See `Constraints.flip`."""
    if not 0 <= share <= 1:
        raise ValueError(f"share={share} must be between 0 and 1")
    rng = _generator(random_state)
    total = given.n_constraints
    wrong = np.zeros(total, dtype=bool)
    wrong[rng.choice(total, round(share * total), replace=False)] = True
    must, cannot, relative, apart = by_kind(given, wrong)
    if apart.any():
        raise ConstraintError("apart groups cannot be flipped; write them out: as_pairs()")
    parts = {
        "must": [given._must.take(~must), given._cannot.take(cannot)],
        "cannot": [given._cannot.take(~cannot), given._must.take(must)],
        "relative": [
            given._relative.take(~relative),
            _turn_wrong(given._relative.take(relative), rng),
        ],
    }
    links = {kind: merge_repeated(concatenate(parts[kind], ARITY[kind])) for kind in KINDS}
    rest = (given._ids, given._sources, given._n_repeated, given._apart)
    return type(given)._of(Parts(links, *rest))


def _turn_wrong(links: Links, rng: RandomState) -> Links:
    """Let c change places with a or b."""
    ends = links.ends.copy()
    which = rng.randint(2, size=len(ends))
    rows = np.arange(len(ends))
    ends[rows, which], ends[:, 2] = links.ends[:, 2], links.ends[rows, which]
    return links.with_ends(ends)
