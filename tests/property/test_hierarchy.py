"""ReCon against brute force over all trees: every merge it allows is right, and only those."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from linkwise import Constraints, ReCon, Tree, one_tree
from linkwise._core import split_down
from linkwise.constraints import consistent_subset
from tests import reference
from tests.property.test_trees import TREES, consistent
from tests.strategies import nested_trees, triplets

SIZES = st.integers(3, 6)
LINKAGES = ("single", "complete", "average", "centroid", "ward")


def drawn(max_size: int = 8):
    return SIZES.flatmap(lambda n: st.tuples(st.just(n), triplets(n, max_size)))


@settings(max_examples=150)
@given(
    drawn(),
    st.integers(0, 1000),
    st.sampled_from(("single", "complete", "average", "centroid", "ward")),
)
def test_the_closest_compatible_pair_is_merged_in_every_round(case, seed, linkage):
    n, relative = case
    assume(consistent(n, relative))
    X = np.random.default_rng(seed).normal(size=(n, 2))
    known = Constraints(relative=relative)
    model = ReCon(linkage=linkage).fit(X, constraints=known)
    children, heights = reference.recon(X, relative, linkage, TREES[n])
    assert [sorted(pair) for pair in model.children_.tolist()] == children
    np.testing.assert_allclose(model.distances_, heights, atol=1e-9)


@settings(max_examples=150)
@given(nested_trees(12), st.integers(0, 1000), st.data())
def test_consistent_constraints_are_always_kept(nested, seed, data):
    tree = Tree.from_nested(nested)
    n = tree.n_leaves
    every = Constraints.from_tree(tree)
    known = every.sample(data.draw(st.integers(0, every.n_constraints)), random_state=seed)
    X = np.random.default_rng(seed).normal(size=(n, 2)).round(data.draw(st.integers(0, 3)))
    model = ReCon(min_branch=data.draw(st.integers(1, 4))).fit(X, constraints=known)
    assert known.satisfied(hierarchy=model.to_tree())
    k = data.draw(st.integers(1, n))
    labels = model.cut(k)
    assert len(np.unique(labels)) == k
    assert known.satisfied(labels)


@given(nested_trees())
def test_a_tree_decomposed_and_rebuilt_is_the_same(nested):
    tree = Tree.from_nested(nested)
    known = Constraints.from_tree(tree)
    if known.n_relative:
        assert one_tree(known) == tree


@settings(max_examples=100)
@given(drawn(12), st.data())
def test_what_is_kept_is_consistent_and_cannot_grow(case, data):
    n, relative = case
    relative = list(dict.fromkeys((*sorted(t[:2]), t[2]) for t in relative))
    ends = np.array(relative, dtype=np.int64).reshape(-1, 3)
    weight = np.array([data.draw(st.sampled_from([0.5, 1.0, 4.0])) for _ in relative])
    kept = consistent_subset(ends, weight)
    chosen = [t for t, keep in zip(relative, kept, strict=True) if keep]
    assert consistent(n, chosen)
    left = [t for t, keep in zip(relative, kept, strict=True) if not keep]
    assert not any(consistent(n, [*chosen, t]) for t in left)
    best = max(
        sum(w for t, w in zip(relative, weight, strict=True) if reference.displays(tree, t))
        for tree in TREES[n]
    )
    assert weight[kept].sum() >= best / 2


def merged_slowly(X, relative):
    """Centroid linkage: in every round the closest pair that leaves a tree for the triplets."""
    n = len(X)
    members, name, children = {v: [v] for v in range(n)}, dict(enumerate(range(n))), []
    while len(members) > 1:
        center = {v: X[rows].mean(axis=0) for v, rows in members.items()}
        pairs = [(a, b) for a in members for b in members if a < b]
        for x, y in sorted(
            pairs, key=lambda pair: np.linalg.norm(center[pair[0]] - center[pair[1]])
        ):
            called = np.arange(n)
            for v, rows in members.items():
                called[rows] = y if v == x else v
            ends = called[relative]
            ends = ends[ends[:, 0] != ends[:, 1]]
            broken = (ends[:, 2] == ends[:, 0]) | (ends[:, 2] == ends[:, 1])
            if not broken.any() and len(split_down(ends, n)[0]):
                break
        children.append(sorted((name[x], name[y])))
        members[y] += members.pop(x)
        name[y] = n + len(children) - 1
    return children


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.integers(10, 60))
def test_former_refusals_change_nothing(seed, n_triplets):
    """Overlapping groups: many pairs are refused for the same reason."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 3, 24)
    X = rng.normal(size=(24, 2)) + 0.3 * group[:, None]
    known = Constraints.from_labels(group, n_triplets, "triplets", random_state=seed)
    model = ReCon().fit(X, constraints=known)
    assert model.children_.tolist() == merged_slowly(X, known.relative)
