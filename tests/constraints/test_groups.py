"""Groups of rows that belong together or apart, against written-out pairs."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwise import ConstraintError, Constraints

N = 9
groups = st.lists(
    st.lists(st.integers(0, N - 1), min_size=2, max_size=5, unique=True), min_size=1, max_size=4
)
pairs = st.lists(
    st.tuples(st.integers(0, N - 1), st.integers(0, N - 1)).filter(lambda p: p[0] != p[1]),
    max_size=4,
)


def written_out(apart, must):
    links = [pair for group in apart for pair in combinations(group, 2)]
    return Constraints(must_link=must, cannot_link=links)


@settings(max_examples=60, deadline=None)
@given(apart=groups, must=pairs, labels=st.lists(st.integers(-1, 3), min_size=N, max_size=N))
def test_groups_mean_what_their_pairs_mean(apart, must, labels):
    known, written = Constraints(must_link=must, apart=apart), written_out(apart, must)
    assert known.as_pairs() == written
    assert known.closure() == written.closure()
    assert known.closure().consistent == written.closure().consistent
    assert known.closure().n_cannot_link == written.closure().n_cannot_link
    for i, j in combinations(range(N), 2):
        assert known.closure().relation(i, j) == written.closure().relation(i, j)
    kept = known.satisfied(np.array(labels)).apart
    for group, good in zip(known.apart.values(), kept, strict=True):
        seen = [labels[row] for row in group if labels[row] >= 0]
        assert good == (len(set(seen)) == len(seen))
    for k in (2, 4):
        one, other = (c.diagnose(k).clusters for c in (known, written))
        assert one.possible == other.possible
    if written.closure().consistent:
        assert known.closure().expand() == written.closure().expand()


@settings(max_examples=40, deadline=None)
@given(first=groups, second=groups, rows=st.lists(st.integers(0, N - 1), max_size=N))
def test_sums_differences_and_parts(first, second, rows):
    a, b = Constraints(apart=first), Constraints(apart=second)
    assert (a + b).as_pairs() == a.as_pairs() + b.as_pairs()
    assert a + b == b + a
    assert a - a == Constraints()
    assert a.restrict(rows).as_pairs() == a.as_pairs().restrict(rows)
    assert a.take(np.arange(a.n_apart)) == a
    assert a.sample(a.n_apart, random_state=0) == a


def test_columns_lists_and_mappings_say_the_same():
    column = ["x", "x", None, "y", "y", "z"]
    by_list = Constraints(apart=[(0, 1), (3, 4)])
    series = pd.Series(column)
    assert Constraints(apart=column) == by_list
    assert Constraints(apart=np.array([0, 0, -1, 1, 1, 2])) == by_list
    assert Constraints(apart=series) == by_list
    assert Constraints(apart={"x": [0, 1], "y": [3, 4]}) == by_list
    assert Constraints(apart=series).apart == {"x": [0, 1], "y": [3, 4]}
    assert Constraints(together=column) == Constraints(must_link=[(0, 1), (3, 4)])
    by_id = Constraints(apart=series.set_axis(list("abcdef")))
    assert by_id.apart == {"x": ["a", "b"], "y": ["d", "e"]}
    assert by_id.to_rows(6, list("abcdef")) == by_list
    assert Constraints(apart={"a": 1, "b": 1, "c": 2}).apart == {1: ["a", "b"]}


def test_weights_of_groups():
    known = Constraints(apart={"x": [0, 1], "y": [2, 3]}, apart_weight={"x": 2.5})
    assert known.apart_weight.tolist() == [2.5, 1.0]
    assert Constraints(together=[(0, 1)], together_weight=3).must_link_weight.tolist() == [3]
    assert (known + Constraints(apart=[(0, 1)], apart_weight=4.0)).apart_weight[0] == 4.0
    with pytest.raises(ValueError, match="no group of apart is called 'q'"):
        Constraints(apart={"x": [0, 1]}, apart_weight={"q": 1.0})


def test_a_group_of_twelve_needs_twelve_clusters():
    diagnosis = Constraints(apart=[range(12)]).diagnose(10)
    assert diagnosis.clusters.status == "too small"
    assert diagnosis.clusters.least == 12
    assert len(diagnosis.clusters.proof) == 12


def test_must_linked_rows_of_one_group_contradict():
    known = Constraints(must_link=[(0, 5), (5, 1)], apart={"photo 7": [0, 1, 2]})
    found = known.diagnose().contradictions
    assert len(found) == 1
    assert found[0].rows == (0, 5, 1)
    text = str(found[0])
    assert "photo 7" in text
    assert "must_link[0]" in text
    assert "apart[0]" in text
    both = Constraints(together=[0, 0, 1], apart=["p", "p", "q"])
    assert both.diagnose().n_contradictions == 1


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_files_keep_groups(tmp_path, suffix):
    only = Constraints(apart={"x": [0, 1, 2], "y": [3, 4]}, apart_weight={"y": 2.0})
    mixed = only + Constraints(must_link=[(0, 3)], relative=[(5, 6, 7)])
    for number, known in enumerate((only, mixed)):
        path = tmp_path / f"links{number}{suffix}"
        known.write(path)
        assert Constraints.read(path) == known


def test_group_files_as_people_write_them(tmp_path):
    path = tmp_path / "groups.csv"
    path.write_text("group,row,kind\np1,ana,apart\np1,bo,apart\nh,ana,together\nh,cy,together\n")
    known = Constraints.read(path)
    assert known == Constraints(must_link=[("ana", "cy")], apart=[("ana", "bo")])
    path.write_text("i,j,link\n0,1,1\n0,2,0\n3,4,yes\n3,5,no\n")
    assert Constraints.read(path) == Constraints([(0, 1), (3, 4)], [(0, 2), (3, 5)])
    path.write_text("group,row,kind\n,1,apart\np,2,maybe\n")
    with pytest.raises(ConstraintError) as error:
        Constraints.read(path)
    assert len(error.value.problems) == 2
    path.write_text("group,row,kind\np,ana,apart\np,bo,apart\nq,ana,together\nq,bo,together\n")
    text = str(Constraints.read(path).diagnose().contradictions[0])
    assert "lines 2, 3 and 5 of groups.csv" in text


def test_rows_out_of_range_and_unknown_ids():
    with pytest.raises(ConstraintError, match=r"apart\[0\]: row 9 is out of range"):
        Constraints(apart=[(0, 9)]).to_rows(5)
    with pytest.raises(ConstraintError, match="no row has the id 'q'"):
        Constraints(apart=[("a", "q")]).to_rows(2, ["a", "b"])
    dropped = Constraints(apart=[("a", "b", "q")]).to_rows(2, ["a", "b"], missing="drop")
    assert dropped == Constraints(apart=[(0, 1)])
