"""OneTree, trees and triplets against brute force over all small trees."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwise import Constraints, Tree
from linkwise.constraints._triplets import build_tree
from tests import reference
from tests.strategies import nested_trees, triplets

TREES = {n: list(reference.binary_trees(list(range(n)))) for n in range(1, 7)}


def consistent(n: int, relative: list) -> bool:
    return any(all(reference.displays(tree, t) for t in relative) for tree in TREES[n])


@settings(max_examples=300)
@given(st.integers(3, 6).flatmap(lambda n: st.tuples(st.just(n), triplets(n))))
def test_one_tree_agrees_with_brute_force(case):
    n, relative = case
    ends = np.array(relative, dtype=np.int64).reshape(-1, 3)
    built = build_tree(ends, n)
    assert (built.parent is not None) == consistent(n, relative)
    if built.parent is not None:
        tree = Tree(built.parent, range(n))
        assert tree.displays(relative).all()
        assert all(reference.displays(tree.to_nested(), t) for t in relative)
    else:
        assert not consistent(n, [relative[i] for i in built.conflict])


@settings(max_examples=300)
@given(st.integers(3, 6).flatmap(lambda n: st.tuples(st.just(n), triplets(n, 10))))
def test_the_reported_set_is_irreducible(case):
    n, relative = case
    known = Constraints(relative=relative)
    found = known.diagnose().contradictions
    assert bool(found) != consistent(n, relative)
    for contradiction in found:
        core = [link.rows for link in contradiction.links]
        assert not consistent(n, core)
        for left_out in range(len(core)):
            assert consistent(n, core[:left_out] + core[left_out + 1 :])


@given(nested_trees())
def test_displays_and_newick(nested):
    tree = Tree.from_nested(nested)
    every = list(permutations(range(tree.n_leaves), 3))
    expected = [reference.displays(nested, t) for t in every]
    assert tree.displays(every).tolist() == expected
    again = Tree.from_newick(tree.to_newick())
    assert again == tree
    assert Tree.from_nested(tree.to_nested()) == tree


@given(nested_trees(), nested_trees())
def test_equality_of_trees(a, b):
    same = set(reference.clades(a)) == set(reference.clades(b))
    assert (Tree.from_nested(a) == Tree.from_nested(b)) == same


@given(nested_trees(7))
def test_minimal_triplets_determine_the_tree(nested):
    tree = Tree.from_nested(nested)
    known = Constraints.from_tree(tree)
    n = tree.n_leaves
    binary = len(tree.parent) == 2 * n - 1
    assert known.n_relative == max(n - 2, 0) if binary else known.n_relative <= n * n
    rebuilt = build_tree(known.relative.astype(np.int64), n)
    assert Tree(rebuilt.parent, range(n)) == tree
    if n <= 6:  # every tree that meets them induces all triplets of the original
        wanted = [t for t in permutations(range(n), 3) if reference.displays(nested, t)]
        for other in TREES[n]:
            if all(reference.displays(other, t) for t in known.relative.tolist()):
                assert all(reference.displays(other, t) for t in wanted)


@given(nested_trees(), st.integers(0, 10))
def test_sampled_triplets_are_induced(nested, seed):
    tree = Tree.from_nested(nested)
    total = sum(
        reference.displays(nested, t)
        for three in combinations(range(tree.n_leaves), 3)
        for t in (
            (three[0], three[1], three[2]),
            (three[0], three[2], three[1]),
            (three[1], three[2], three[0]),
        )
    )
    n = min(total, 4)
    known = Constraints.from_tree(tree, how="sample", n=n, random_state=seed)
    assert known.n_relative == n
    assert known.satisfied(hierarchy=tree).share == 1


@given(nested_trees(7), st.data())
def test_all_triplets_and_cuts(nested, data):
    tree = Tree.from_nested(nested)
    n = tree.n_leaves
    every = Constraints.from_tree(tree, "all")
    wanted = [t for t in permutations(range(n), 3) if t[0] < t[1] and reference.displays(nested, t)]
    assert sorted(map(tuple, every.relative.tolist())) == sorted(wanted)
    k = data.draw(st.integers(1, n))
    labels = tree.cut(k)
    assert len(set(labels.tolist())) == k
    assert every.satisfied(labels, sample_ids=tree.leaves)


@settings(max_examples=200)
@given(st.integers(3, 6).flatmap(lambda n: st.tuples(st.just(n), triplets(n, 6))))
def test_what_follows_from_triplets(case):
    n, relative = case
    known = Constraints(relative=relative)
    trees = [t for t in TREES[n] if all(reference.displays(t, one) for one in relative)]
    closure = known.closure()
    for t in permutations(sorted(set(known.rows)), 3):
        assert closure.entails(*t) == all(reference.displays(tree, t) for tree in trees)
    if trees:
        left = (known - known.diagnose().redundant).relative.tolist()
        assert trees == [t for t in TREES[n] if all(reference.displays(t, one) for one in left)]
        for one in left:
            rest = Constraints(relative=[other for other in left if other != one])
            assert not rest or not rest.closure().entails(*one)
