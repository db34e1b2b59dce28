"""Constraints for experiments: drawn out of labels or trees, thinned out, or made wrong."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from ._builder import ARITY, KINDS, Builder, Kind, Parts, add_labels, known_labels
from ._errors import ConstraintError
from ._links import Links, Rows, concatenate, merge_repeated
from ._tree import Tree, as_tree

if TYPE_CHECKING:
    from ._constraints import Constraints

# Up to so many candidates are listed and drawn from; beyond, they are drawn and repeats redrawn.
_LISTED = 2_000_000


def from_labels(
    cls: type[Constraints],
    y: Any,
    n: int | None,
    kind: str,
    ids: Sequence[Hashable] | None,
    random_state: Any,
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
    if kind == "informative":
        found = _informative(cls, names, codes)
        return found if n is None else found.sample(n, random_state=random_state)
    assert n is not None
    rng = check_random_state(random_state)
    links: dict[Kind, Rows] = {}
    if kind == "triplets":
        links["relative"] = _triplets(codes, n, rng)
    elif kind == "balanced":
        links["must"] = _pairs(codes, n - n // 2, rng, same=True)
        links["cannot"] = _pairs(codes, n // 2, rng, same=False)
    else:
        pairs = _pairs(codes, n, rng, same=None)
        together = codes[pairs[:, 0]] == codes[pairs[:, 1]]
        links["must"], links["cannot"] = pairs[together], pairs[~together]
    return _named(cls, names, links, "labels")


def _named(
    cls: type[Constraints], names: Rows | list[Hashable], links: dict[Kind, Rows], source: str
) -> Constraints:
    """Constraints between positions of `names`."""
    builder = Builder(source)
    number = builder.source(source)
    for kind, ends in links.items():
        columns: list[Any] = [
            names[column] if isinstance(names, np.ndarray) else [names[k] for k in column.tolist()]
            for column in ends.T
        ]
        builder.add(kind, columns, None, number, np.full(len(ends), -1, dtype=np.int64))
    return cls._of(builder.build())


def _draw(
    n: int, total: int, listed: Callable[[], Rows], draw: Callable[[int], Rows], rng: Any, what: str
) -> Rows:
    """Draw n different rows: out of the list when it is short, else with repeats redrawn."""
    if n > total:
        raise ValueError(f"asked for {n:,} {what}, but the labels allow only {total:,}")
    if total <= _LISTED or n > total // 2:
        rows = listed()
        return rows[rng.choice(len(rows), n, replace=False)]
    found = draw(0)
    while len(found) < n:
        found = np.concatenate([found, draw(n - len(found) + 16)])
        _, first = np.unique(found, axis=0, return_index=True)
        found = found[np.sort(first)]
    return found[:n]


def _pairs(codes: Rows, n: int, rng: Any, *, same: bool | None) -> Rows:
    """Different pairs of rows: of one class, of two classes, or any."""
    size = len(codes)
    total = size * (size - 1) // 2
    counts = np.bincount(codes, minlength=1)
    n_same = int((counts * (counts - 1) // 2).sum())
    what = "pairs" if same is None else f"pairs of rows of {'one class' if same else 'two classes'}"

    def fits(pairs: Rows) -> Rows:
        if same is None:
            return pairs
        return pairs[(codes[pairs[:, 0]] == codes[pairs[:, 1]]) == same]

    def listed() -> Rows:
        return fits(np.column_stack(np.triu_indices(size, 1)))

    def draw(m: int) -> Rows:
        first = rng.randint(size, size=m)
        second = _partner_in_class(first, codes, rng) if same else rng.randint(size, size=m)
        pairs = np.sort(np.column_stack([first, second]), axis=1)
        return fits(pairs[pairs[:, 0] < pairs[:, 1]])

    allowed = total if same is None else (n_same if same else total - n_same)
    return _draw(n, allowed, listed, draw, rng, what)


def _partner_in_class(rows: Rows, codes: Rows, rng: Any) -> Rows:
    """A random row of the same class for each of `rows`.

    Rows are drawn with probability n_c / n and partners with 1 / n_c, so that after dropping
    rows paired with themselves every pair inside a class is equally likely only if small classes
    are not favoured: accept with probability n_c / n_max.
    """
    order = np.argsort(codes, kind="stable")
    counts = np.bincount(codes)
    starts = np.cumsum(counts) - counts
    label = codes[rows]
    partner = order[starts[label] + (rng.random_sample(len(rows)) * counts[label]).astype(int)]
    accepted = rng.random_sample(len(rows)) * counts.max() < counts[label]
    return np.where(accepted, partner, rows)


def _triplets(codes: Rows, n: int, rng: Any) -> Rows:
    """Different triplets (a, b, c) with a, b of one class and c of another."""
    size, counts = len(codes), np.bincount(codes, minlength=1)
    total = int((counts * (counts - 1) // 2 * (size - counts)).sum())

    def listed() -> Rows:
        blocks = []
        for label in range(len(counts)):
            inside, outside = np.flatnonzero(codes == label), np.flatnonzero(codes != label)
            i, j = np.triu_indices(len(inside), 1)
            pairs = np.repeat(np.column_stack([inside[i], inside[j]]), len(outside), axis=0)
            blocks.append(np.column_stack([pairs, np.tile(outside, len(i))]))
        return np.concatenate(blocks)

    def draw(m: int) -> Rows:
        # Any two rows of a class are as likely as any others, and so is any third.
        first = rng.randint(size, size=m)
        second, third = _partner_in_class(first, codes, rng), rng.randint(size, size=m)
        pairs = np.sort(np.column_stack([first, second]), axis=1)
        fits = (pairs[:, 0] < pairs[:, 1]) & (codes[third] != codes[first])
        return np.column_stack([pairs, third])[fits]

    return _draw(n, total, listed, draw, rng, "triplets")


def _informative(cls: type[Constraints], names: Rows | list[Hashable], codes: Rows) -> Constraints:
    if not len(codes):
        return cls()
    positions = Tree.from_labels(codes)
    return _named(cls, names, {"relative": _minimal(positions)}, "labels")


# -------------------------------------------------------------------- trees


def from_tree(
    cls: type[Constraints], tree: Any, how: str, n: int | None, random_state: Any
) -> Constraints:
    """See `Constraints.from_tree`."""
    tree = as_tree(tree)
    if how == "minimal":
        if n is not None:
            raise ValueError("how='minimal' gives a fixed set; n goes with how='sample'")
        ends = _minimal(tree)
    elif how == "sample":
        if n is None or n < 0:
            raise ValueError(f"how='sample' needs the number of triplets n, not {n}")
        ends = _induced(tree, n, check_random_state(random_state))
    else:
        raise ValueError(f"how={how!r}: expected 'minimal' or 'sample'")
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


def _induced(tree: Tree, n: int, rng: Any) -> Rows:
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


def subset(given: Constraints, n: int, random_state: Any) -> Constraints:
    """See `Constraints.sample`."""
    total = given.n_constraints
    if not 0 <= n <= total:
        raise ValueError(f"n={n} must be between 0 and the number of constraints, {total}")
    chosen = np.zeros(total, dtype=bool)
    chosen[check_random_state(random_state).choice(total, n, replace=False)] = True
    return given._where(*_by_kind(given, chosen))


def _by_kind(given: Constraints, mask: Any) -> list[Any]:
    return np.split(mask, np.cumsum([given.n_must_link, given.n_cannot_link]))


def flip(given: Constraints, share: float, random_state: Any) -> Constraints:
    """See `Constraints.flip`."""
    if not 0 <= share <= 1:
        raise ValueError(f"share={share} must be between 0 and 1")
    rng = check_random_state(random_state)
    total = given.n_constraints
    wrong = np.zeros(total, dtype=bool)
    wrong[rng.choice(total, round(share * total), replace=False)] = True
    must, cannot, relative = _by_kind(given, wrong)
    parts = {
        "must": [given._must.take(~must), given._cannot.take(cannot)],
        "cannot": [given._cannot.take(~cannot), given._must.take(must)],
        "relative": [
            given._relative.take(~relative),
            _turn_wrong(given._relative.take(relative), rng),
        ],
    }
    links = {kind: merge_repeated(concatenate(parts[kind], ARITY[kind])) for kind in KINDS}
    return type(given)._of(Parts(links, given._ids, given._sources, given._n_repeated))


def _turn_wrong(links: Links, rng: Any) -> Links:
    """Let c change places with a or b."""
    ends = links.ends.copy()
    which = rng.randint(2, size=len(ends))
    rows = np.arange(len(ends))
    ends[rows, which], ends[:, 2] = links.ends[:, 2], links.ends[rows, which]
    return links.with_ends(ends)
