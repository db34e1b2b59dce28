"""Trees: what is read and refused."""

from __future__ import annotations

import time

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage

from linkwise import ConstraintError, Constraints, Tree, one_tree
from linkwise.constraints import as_tree
from linkwise.constraints._triplets import build_tree


def test_newick_in_all_its_forms():
    plain = Tree.from_newick("((cat,dog),trout);")
    assert plain.leaves == ["cat", "dog", "trout"]
    for text in (
        "(trout, (dog, cat))",
        "((cat:0.1,dog:0.2)carnivores:1e-1,trout:3);",
        "[a comment]((cat,\n dog),[another]trout);",
        "(('cat','dog'),trout);",
        "(((cat,dog)));".replace("(((cat,dog)))", "(((cat,dog)),trout)"),
    ):
        assert Tree.from_newick(text) == plain
    assert Tree.from_newick("((0,1),12);").leaves == [0, 1, 12]
    assert Tree.from_newick("('it''s', 'a b');").leaves == ["it's", "a b"]
    assert Tree.from_newick("a;").leaves == ["a"]


def test_branch_lengths():
    tree = Tree.from_newick("((a:1,b:2):3,(c:4):5);")
    assert tree.lengths is not None
    # c has a single-child node above it: the two branches become one.
    expected = {"a": 1, "b": 2, "c": 9}
    for read in (tree, Tree.from_newick(tree.to_newick())):
        assert dict(zip(read.leaves, read.lengths[:3], strict=True)) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the tree ends where a name"),
        ("((a,b);", "unexpected ';' at character 7"),
        ("((a,b)", "a parenthesis is never closed at character 1"),
        ("(a,b));", r"unexpected '\)' at character 6"),
        ("(a,,b);", "unexpected ',' at character 4"),
        ("(a b,c);", "unexpected 'b' .quote names with blanks"),
        ("(a:x,b);", "unexpected ':' at character 3"),
        ("(a:1.2.3,b);", "'1.2.3' is not a branch length"),
        ("(:1,b);", "a branch length without a node"),
        ("(a,a);", "two leaves of the tree are called 'a'"),
        ("(a,'b);", 'unexpected "\'" at character 4'),
    ],
)
def test_broken_newick(text, message):
    with pytest.raises(ConstraintError, match=message):
        Tree.from_newick(text)


def test_other_forms(tmp_path):
    X = np.array([[0.0], [1.0], [5.0], [7.0]])
    merges = linkage(X, "average")
    tree = as_tree(merges)
    assert tree == Tree.from_nested([[0, 1], [2, 3]])
    assert Tree.from_linkage(merges[:, :2], list("abcd")) == as_tree([["a", "b"], ["c", "d"]])
    assert Tree.from_labels([0, 0, -1, 1, 1]) == as_tree([[0, 1], [3, 4]])
    path = tmp_path / "tree.nwk"
    path.write_text("((a,b),c);")
    assert as_tree(path) == as_tree(str(path)) == as_tree("((a,b),c);")
    assert as_tree(tree) is tree
    with pytest.raises(ConstraintError, match="no such file"):
        as_tree("nothing.nwk")
    with pytest.raises(ConstraintError, match="cannot read a int as a tree"):
        as_tree(5)
    with pytest.raises(ConstraintError, match="empty list"):
        as_tree([["a"], []])
    with pytest.raises(ConstraintError, match="not a leaf of the tree"):
        tree.displays([(0, 1, 99)])
    assert repr(tree) == "Tree(4 leaves, 3 inner nodes)"


@pytest.mark.parametrize("parent", [[2, 2, -1, -1], [1, -1], [2, 2, 3, -1], [3, 3, 3, 2]])
def test_not_a_tree(parent):
    with pytest.raises(ConstraintError, match="not a tree"):
        Tree(parent, range(max(1, len(parent) - 2)))


def test_deep_trees_need_no_recursion():
    n = 20_000
    nested = [n - 1]
    for leaf in range(n - 2, -1, -1):
        nested = [leaf, nested]
    tree = Tree.from_nested(nested)
    known = Constraints.from_tree(tree)
    assert known.n_relative == n - 2
    assert known.satisfied(hierarchy=tree)
    assert Tree.from_newick(tree.to_newick()) == tree


def test_one_tree_is_fast_on_many_triplets():
    rng = np.random.default_rng(0)
    n = 2_000
    start = time.perf_counter()
    tree = as_tree(linkage(rng.normal(size=(n, 3)), "average"))
    known = Constraints.from_tree(tree, "sample", 20_000, random_state=0)
    built = build_tree(known.relative.astype(np.int64), n)
    assert built.parent is not None
    assert Tree(built.parent, range(n)).displays(known.relative.tolist()).all()
    assert time.perf_counter() - start < 20  # a hang, not a benchmark


def test_ids_that_are_tuples_and_text():
    tree = Tree.from_labels([0, 0, 1, 1], ids=[("a", 1), ("a", 2), ("b", 1), ("b", 2)])
    assert tree.n_leaves == 4
    assert tree.displays([(("a", 1), ("a", 2), ("b", 1))])[0]
    with pytest.raises(ConstraintError, match="more than one tree"):
        Tree.from_newick("(a,b);(c,d);")
    assert Constraints(relative=[("0", "1", "2")]).satisfied(hierarchy="((0,1),2);")


def test_taxonomies():
    ranks = {
        "class": ["mammal", "mammal", "mammal", "fish"],
        "order": ["carnivore", "carnivore", "", "bony"],
        "animal": ["cat", "dog", "ant bear", "trout"],
    }
    wanted = as_tree([[["cat", "dog"], "ant bear"], "trout"])
    assert Tree.from_taxonomy(ranks) == wanted == as_tree(ranks)
    rows = [list(row) for row in zip(*ranks.values(), strict=True)]
    assert Tree.from_taxonomy(rows) == wanted
    del ranks["animal"]
    assert Tree.from_taxonomy(ranks) == as_tree([[[0, 1], 2], 3])
    ids = [("a", 1), ("a", 2), ("b", 1), ("b", 2)]
    assert Tree.from_taxonomy(ranks, ids=ids).leaves == ids
    pd = pytest.importorskip("pandas")
    assert as_tree(pd.DataFrame(ranks)) == as_tree([[[0, 1], 2], 3])
    with pytest.raises(ConstraintError, match="2 ids for a taxonomy of 4 rows"):
        Tree.from_taxonomy(ranks, ids=["a", "b"])
    with pytest.raises(ConstraintError, match="columns of one length"):
        Tree.from_taxonomy({"a": [1, 2], "b": [1]})


def test_one_tree_names_what_cannot_be_met():
    known = Constraints(relative=[("a", "b", "c"), ("c", "d", "a")], must_link=[("a", "c")])
    assert one_tree(known) == as_tree([["a", "b"], ["c", "d"]])
    wrong = [("x", "y", "z"), ("a", "b", "c"), ("b", "c", "d"), ("c", "d", "a"), ("a", "d", "b")]
    with pytest.raises(ConstraintError, match="cannot hold together") as error:
        one_tree(wrong)
    assert "x and y" not in str(error.value)
    with pytest.raises(ConstraintError, match="no relative constraints"):
        one_tree([])


def test_deep_caterpillars_are_no_trouble():
    n = 3_000
    tree = [n - 1]
    for leaf in range(n - 2, -1, -1):
        tree = [leaf, tree]
    wanted = as_tree(tree)
    known = Constraints.from_tree(wanted) + Constraints.from_tree(
        wanted, "sample", 20_000, random_state=0
    )
    assert one_tree(known) == wanted


def test_a_tree_is_restricted_to_some_leaves():
    tree = Tree.from_newick("((a,b),((c,d),e),f);")
    some = tree.restrict(["e", "a", "c", "d"])
    assert sorted(some.leaves) == ["a", "c", "d", "e"]
    triplets = [("c", "d", "e"), ("c", "e", "a"), ("d", "e", "a")]
    assert (some.displays(triplets) == tree.displays(triplets)).all()
    with pytest.raises(ConstraintError, match="none of these ids"):
        tree.restrict(["x"])
