"""The words of the diagnosis, and the cases that properties do not reach."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

from linkwise import ConstraintError, Constraints
from linkwise.constraints._coloring import color, greedy_clique


def test_the_chain_is_named_as_a_person_would():
    known = Constraints(must_link=[(0, 4), (4, 7)], cannot_link=[(0, 7)])
    diagnosis = known.diagnose()
    assert not diagnosis.consistent
    assert str(diagnosis.contradictions[0]) == (
        "rows 0-4-7 must be together, but 0 and 7 must be apart "
        "(must_link[0], must_link[1] and cannot_link[0])"
    )
    with pytest.raises(ConstraintError, match="rows 0-4-7 must be together"):
        diagnosis.raise_if_inconsistent()


def test_lines_of_a_file_are_named(tmp_path):
    path = tmp_path / "links.csv"
    path.write_text("i,j,link\n" + "20,30,must\n" * 10 + "0,4,must\n4,7,must\n0,7,cannot\n")
    with pytest.raises(ConstraintError) as error:
        Constraints.read(path).diagnose().raise_if_inconsistent()
    assert "lines 12, 13 and 14 of links.csv" in str(error.value)


def test_direct_contradiction():
    found = Constraints(must_link=[("a", "b")], cannot_link=[("b", "a")]).diagnose()
    assert found.contradictions[0].rows in (("a", "b"), ("b", "a"))
    assert "rows a - b must be together" in str(found)


def test_many_contradictions_are_counted_and_the_culprit_is_named():
    # Two groups of ten, wrongly joined by one link.
    known = Constraints(
        together=[range(10), range(10, 20)],
        must_link=[(0, 10)],
        cannot_link=[(i, 10 + i) for i in range(10)],
    )
    diagnosis = known.diagnose(limit=6)
    assert diagnosis.n_contradictions == 10
    assert len(diagnosis.contradictions) == 6
    suspect, times = diagnosis.suspects[0]
    assert (suspect.rows, times) == ((0, 10), 6)
    text = str(diagnosis)
    assert "... and 4 more" in text
    assert "look first at: 0 and 10 must be together (must_link[0]), part of 6 of them" in text
    with pytest.raises(ConstraintError, match="and 4 more contradictions"):
        diagnosis.raise_if_inconsistent()


def test_relative_contradiction():
    known = Constraints(
        relative=[("a", "b", "c"), ("b", "c", "d"), ("c", "a", "b"), ("x", "y", "z")]
    )
    (found,) = known.diagnose().contradictions
    assert found.kind == "relative"
    assert {link.rows for link in found.links} == {("a", "b", "c"), ("a", "c", "b")}
    assert "these 2 cannot hold together" in str(found)


def test_pairs_against_relative():
    known = Constraints(
        must_link=[(0, 5), (5, 2)], cannot_link=[(1, 2)], relative=[(0, 1, 2), (2, 3, 4)]
    )
    diagnosis = known.diagnose()
    (found,) = diagnosis.contradictions
    assert found.kind == "mixed"
    assert [link.kind for link in found.links] == ["must", "must", "cannot", "relative"]
    # No partition keeps all four.
    for labels in np.ndindex(*[4] * 6):
        assert known.satisfied(labels).n_violated > 0
    assert Constraints(must_link=[(0, 2)], relative=[(0, 1, 2)]).diagnose().consistent


def test_number_of_clusters():
    triangle = Constraints(cannot_link=[(0, 1), (1, 2), (0, 2)])
    count = triangle.diagnose().clusters
    assert (count.least, count.status, count.n_clusters) == (3, None, None)
    small = triangle.diagnose(2)
    assert small.clusters.status == "too small"
    assert not small.consistent
    with pytest.raises(ConstraintError, match=r"n_clusters=2 is too small.*use at least 3"):
        small.raise_if_inconsistent()
    assert triangle.diagnose(3).clusters.example.keys() == {0, 1, 2}

    pentagon = Constraints(cannot_link=[(i, (i + 1) % 5) for i in range(5)])
    two = pentagon.diagnose(2)
    assert two.clusters.status == "infeasible"
    assert "an odd ring of cannot-links over the 5 groups" in str(two)
    assert pentagon.diagnose(3).consistent

    one = Constraints(cannot_link=[(0, 1)]).diagnose(1)
    assert one.clusters.status == "too small"
    assert Constraints().diagnose(1).consistent


def test_too_many_clusters_for_the_must_links():
    known = Constraints(together=[range(6)])
    found = known.diagnose(6, n_rows=10)
    assert found.clusters.status == "too large"
    assert found.clusters.most == 5
    assert "must-links leave only 5 groups of rows" in str(found)
    assert known.diagnose(5, n_rows=10).consistent


@pytest.mark.parametrize(
    ("k", "n_rows", "error", "message"),
    [
        (200, 150, ValueError, "n_clusters=200 is larger than the number of rows, 150"),
        (0, None, ValueError, "n_clusters=0 must be at least 1"),
        (2.5, None, TypeError, "n_clusters=2.5 must be an integer"),
        (True, None, TypeError, "n_clusters=True must be an integer"),
    ],
)
def test_wrong_numbers_of_clusters(k, n_rows, error, message):
    with pytest.raises(error, match=message):
        Constraints(cannot_link=[(0, 1)]).diagnose(k, n_rows=n_rows)


def mycielski(levels: int) -> tuple[int, np.ndarray]:
    """Triangle-free graphs whose chromatic number grows: cliques say nothing about them."""
    n, edges = 2, [(0, 1)]
    for _ in range(levels):
        edges = [*edges, *((u, n + v) for u, v in edges), *((v, n + u) for u, v in edges),
                 *((n + v, 2 * n) for v in range(n))]  # fmt: skip
        n = 2 * n + 1
    return n, np.array(edges)


def test_exhaustive_search_proves_what_cliques_cannot():
    n, edges = mycielski(2)  # the Groetzsch graph: 11 vertices, 4 colors
    assert len(greedy_clique(edges, n)) == 2
    assert color(edges, n, 3).status == "infeasible"
    found = color(edges, n, 4)
    assert found.status == "feasible"
    assert (found.colors[edges[:, 0]] != found.colors[edges[:, 1]]).all()


def test_a_hard_question_is_left_undecided_in_time():
    n, edges = mycielski(5)  # 95 vertices, 7 colors
    assert color(edges, n, 6, time_limit=0.05).status == "undecided"
    assert "could not be decided within the time limit" in str(
        Constraints(cannot_link=edges).diagnose(6, time_limit=0.05)
    )


def test_random_graphs_are_colored_properly():
    rng = np.random.default_rng(0)
    for k in (2, 3, 5, 9):
        group = rng.integers(0, k, 400)
        edges = rng.integers(0, 400, (2500, 2))
        edges = np.unique(np.sort(edges[group[edges[:, 0]] != group[edges[:, 1]]], axis=1), axis=0)
        found = color(edges, 400, k)
        assert found.status == "feasible"
        assert found.colors.max() < k
        assert (found.colors[edges[:, 0]] != found.colors[edges[:, 1]]).all()


def test_coverage_and_json():
    known = Constraints(
        together=[[0, 1, 2], [3, 4]], must_link=[(1, 2)], cannot_link=[(0, 3), (2, 4)]
    )
    diagnosis = known.diagnose(2, n_rows=9)
    assert diagnosis.component_sizes == (3, 2)
    assert (diagnosis.n_entailed_must_link, diagnosis.n_entailed_cannot_link) == (4, 6)
    assert diagnosis.redundant.n_constraints == 2
    found = json.loads(json.dumps(diagnosis.to_dict()))
    assert found["consistent"] is True
    assert found["rows"] == {"all": 9, "touched": 5, "groups": 2, "group_sizes": [3, 2]}
    assert found["clusters"]["status"] == "feasible"
    bad = Constraints(must_link=[((1, 2), "x")], cannot_link=[((1, 2), "x")]).diagnose()
    assert json.loads(json.dumps(bad.to_dict()))["contradictions"]["number"] == 1


def test_a_long_chain():
    n = 100_000
    rows = np.arange(n)
    known = Constraints(must_link=np.column_stack([rows[:-1], rows[1:]]), cannot_link=[(0, n - 1)])
    (found,) = known.diagnose().contradictions
    assert len(found.links) == n
    assert "rows 0-1-2-3-4-5-...-99999 must be together" in str(found)


def test_closure_limits():
    closure = Constraints(together=[range(100)], cannot_link=[(0, 200)]).closure()
    assert closure.n_must_link == 4950
    with pytest.raises(ConstraintError, match="the closure has 5,050 pairs, more than limit=10"):
        closure.expand(limit=10)
    assert closure.expand().n_cannot_link == 100
    assert closure.component_of(55) == 0
    assert closure.component_of(999) is None
    assert closure.component_of("x") is None
    assert closure.relation(3, 3) == "must"
    assert "101 rows in 2 components" in repr(closure)


def test_limits_and_pickling():
    known = Constraints(must_link=[(0, 9)], cannot_link=[(1, 2)])
    with pytest.raises(ConstraintError, match="row 9 is out of range"):
        known.diagnose(2, n_rows=5)
    named = Constraints(must_link=[("a", "b"), ("c", "d")])
    with pytest.raises(ValueError, match="name 4 different rows, but n_rows=2"):
        named.diagnose(2, n_rows=2)
    diagnosis = pickle.loads(pickle.dumps(known.diagnose(2)))
    assert diagnosis.clusters.example.keys() == {0, 1, 2, 9}


def test_shrinking_stops_in_time():
    n = 400
    tree = [n - 1]
    for leaf in range(n - 2, -1, -1):
        tree = [leaf, tree]
    given = Constraints.from_tree(tree).relative.tolist()
    known = Constraints(relative=[*given, (0, n - 1, 1)])
    (found,) = known.diagnose(time_limit=0.0).contradictions
    assert not found.minimal
    assert "perhaps not all are needed" in str(found)


def test_weights_of_entailed_pairs():
    known = Constraints(
        must_link=[(0, 1, 2.0), (1, 2, 0.5)], cannot_link=[(2, 9, 3.0)], relative=[(0, 5, 9)]
    )
    whole = known.closure().expand()
    weights = {
        tuple(p): w for p, w in zip(whole.must_link.tolist(), whole.must_link_weight, strict=True)
    }
    assert weights == {(0, 1): 2.0, (1, 2): 0.5, (0, 2): 0.5}
    assert whole.n_cannot_link == 3
