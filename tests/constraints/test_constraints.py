"""What `Constraints` accepts, holds and refuses."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

from linkwise import ConstraintError, Constraints
from linkwise.constraints import as_constraints


def test_all_ways_to_say_it():
    known = Constraints(
        must_link=[(4, 0), (1, 2, 0.5)],
        cannot_link=np.array([[0, 9]]),
        relative=[(2, 1, 7), (3, 4, 5, 2.0)],
    )
    assert known.must_link.tolist() == [[0, 4], [1, 2]]
    assert known.must_link_weight.tolist() == [1.0, 0.5]
    assert known.cannot_link.tolist() == [[0, 9]]
    assert known.relative.tolist() == [[1, 2, 7], [3, 4, 5]]  # ab|c is ba|c
    assert known.relative_weight.tolist() == [1.0, 2.0]
    assert (known.n_must_link, known.n_cannot_link, known.n_relative) == (2, 1, 2)
    assert known.n_constraints == 5
    assert known.total_weight == 5.5
    assert known.n_touched == 8
    assert repr(known) == "Constraints(must_link=2, cannot_link=1, relative=2)"


def test_groups_and_labels():
    known = Constraints(together=[{1, 2, 3}, [7, 8], [9]])
    assert sorted(map(sorted, known.closure().components)) == [[1, 2, 3], [7, 8]]
    known = Constraints(labels=[0, -1, 0, 1, 1])
    assert known.closure().relation(2, 4) == "cannot"
    assert known.closure().relation(0, 2) == "must"
    assert known.closure().relation(0, 1) is None
    named = Constraints(labels={"a": "x", "b": "x", "c": "y", "d": None})
    assert named.closure().relation("b", "c") == "cannot"
    assert Constraints(labels=["x", None, "x"]).n_must_link == 1
    assert Constraints(labels=np.array([1.0, np.nan, 1.0])).n_must_link == 1
    series = pd.Series([0, 0, 1], index=["p", "q", "r"])
    assert Constraints(labels=series).closure().relation("p", "r") == "cannot"


def test_ids_of_any_hashable_type():
    when = pd.Timestamp("2026-01-01")
    known = Constraints(must_link=[(("x", 1), when)])
    assert known.rows == [("x", 1), when]
    assert known.has_ids
    assert known.must_link[0, 0] == ("x", 1)
    large = Constraints(must_link=[(2**70, 2**71)])
    assert large.rows == [2**70, 2**71]
    # Exact even where a float64 would not be.
    assert Constraints(must_link=[(2**53 + 1, 2**53 + 3, 0.5)]).rows == [2**53 + 1, 2**53 + 3]
    assert Constraints(must_link=[("1", "2")]).rows == ["1", "2"]
    assert Constraints(must_link=[(1.0, 2.0)]).rows == [1, 2]


def test_repeated_pairs_are_merged_and_reported():
    known = Constraints(must_link=[(0, 1, 0.5), (1, 0, 3.0), (0, 1)])
    assert known.n_must_link == 1
    assert known.must_link_weight.tolist() == [3.0]
    assert known.n_repeated == 2
    assert "2 repetitions merged" in str(known.diagnose())


def test_immutable():
    known = Constraints(must_link=[(0, 1)])
    with pytest.raises(AttributeError, match="immutable"):
        known.must_link = []
    with pytest.raises(AttributeError, match="immutable"):
        known.extra = 1
    with pytest.raises(AttributeError, match="immutable"):
        del known._must
    with pytest.raises(ValueError, match="read-only"):
        known.must_link[0, 0] = 5
    for twin in (pickle.loads(pickle.dumps(known)), copy.deepcopy(known), copy.copy(known)):
        assert twin == known
        with pytest.raises(ValueError, match="read-only"):
            twin.must_link[0, 0] = 5


def test_not_array_like():
    known = Constraints(must_link=[(0, 1)])
    for name in ("__len__", "shape", "__array__", "__iter__"):
        assert not hasattr(known, name)
    from sklearn.utils.metadata_routing import process_routing  # noqa: F401
    from sklearn.utils.validation import _check_method_params

    passed = _check_method_params(np.zeros((4, 1)), {"constraints": known}, indices=[0, 1])
    assert passed["constraints"] is known


def test_truth_and_equality():
    assert not Constraints()
    assert Constraints(must_link=[(0, 1)])
    assert Constraints() == Constraints(must_link=[])
    assert Constraints(must_link=[(0, 1)]) != Constraints(cannot_link=[(0, 1)])
    assert Constraints(must_link=[(0, 1)]) != Constraints(must_link=[(0, 1, 2.0)])
    assert Constraints(must_link=[(0, 1)]) != Constraints(must_link=[("a", "b")])
    assert Constraints(must_link=[("a", "b"), ("c", "d")]) == Constraints(
        must_link=[("d", "c"), ("b", "a")]
    )
    assert Constraints(must_link=[(0, 1)]) != 7


def test_union_and_difference():
    a = Constraints(must_link=[("x", "y")], cannot_link=[("x", "z")])
    b = Constraints(must_link=[("y", "x", 2.0)], relative=[("q", "x", "y")])
    both = a + b
    assert both.must_link_weight.tolist() == [2.0]
    assert both.n_constraints == 3
    assert both.n_repeated == 1
    assert (both - a) == Constraints(relative=[("x", "q", "y")])
    assert a + Constraints() == a == Constraints() + a
    with pytest.raises(ConstraintError, match="ids and row numbers are mixed"):
        a + Constraints(must_link=[(0, 1)])
    with pytest.raises(TypeError):
        a + [("x", "y")]
    with pytest.raises(TypeError):
        a - 3


def test_flip():
    labels = np.repeat([0, 1, 2], 20)
    known = Constraints.from_labels(labels, 100, random_state=0)
    noisy = known.flip(0.2, random_state=1)
    assert noisy.n_constraints == 100
    assert noisy.satisfied(labels).n_violated == 20
    assert known.flip(0) == known
    assert noisy == known.flip(0.2, random_state=1)
    triplets = Constraints.from_labels(labels, 50, "triplets", random_state=0)
    assert triplets.flip(0.2, random_state=0).satisfied(labels).n_violated == 10
    with pytest.raises(ValueError, match="share=1.5 must be between 0 and 1"):
        known.flip(1.5)


def test_take_by_position_or_mask():
    known = Constraints(
        must_link=[("a", "b", 0.5), ("c", "d")],
        cannot_link=[("a", "c")],
        relative=[("a", "b", "e")],
    )
    some = known.take([0, 3])
    assert (some.n_must_link, some.n_cannot_link, some.n_relative) == (1, 0, 1)
    assert some.must_link_weight.tolist() == [0.5]
    assert some == known.take([True, False, False, True])
    assert known.take(np.ones(4, dtype=bool)) == known
    assert not known.take([])
    with pytest.raises(IndexError):
        known.take([4])
    with pytest.raises(IndexError):
        known.take([True])


# -------------------------------------------------------------------- speaking of data


def test_to_rows():
    known = Constraints(
        must_link=[("a", "c")], cannot_link=[("c", "b")], relative=[("a", "c", "b")]
    )
    rows = known.to_rows(3, ["c", "b", "a"])
    assert rows.must_link.tolist() == [[0, 2]]
    assert rows.cannot_link.tolist() == [[0, 1]]
    assert rows.relative.tolist() == [[0, 2, 1]]
    part = known.to_rows(2, ["c", "a"], missing="drop")
    assert part == Constraints(must_link=[(0, 1)])
    numbers = Constraints(must_link=[(1001, 1002)])
    assert numbers.to_rows(2, [1002, 1001]).must_link.tolist() == [[0, 1]]
    # Read from a file as numbers, in the data as text, or the other way round.
    assert numbers.to_rows(2, ["1002", "1001"]).must_link.tolist() == [[0, 1]]
    assert Constraints(must_link=[("7", "8")]).to_rows(2, [7, 8]).must_link.tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("known", "n_rows", "ids", "message"),
    [
        (Constraints(must_link=[(0, 150)]), 150, None,
         r"must_link\[0\]: row 150 is out of range; there are rows 0 to 149"),
        (Constraints(cannot_link=[(-1, 3)]), 150, None, "row -1 is out of range"),
        (Constraints(cannot_link=[(-1, 3)]), None, None, "row -1 .* must not be negative"),
        (Constraints(must_link=[("a", "z")]), 2, ["a", "b"], "no row has the id 'z'"),
        (Constraints(must_link=[("a", "z")]), 2, None, "use ids .* give sample_ids"),
        (Constraints(must_link=[("a", "b")]), 3, ["a", "b", "a"],
         "rows 0 and 2 have the same id 'a'"),
        (Constraints(must_link=[("a", "b")]), 3, ["a", "b"], "2 sample_ids for 3 rows"),
    ],
)  # fmt: skip
def test_rows_the_data_does_not_have(known, n_rows, ids, message):
    with pytest.raises(ConstraintError, match=message):
        known.to_rows(n_rows, ids)


def test_every_wrong_row_is_named():
    with pytest.raises(ConstraintError) as error:
        Constraints(must_link=[(i, i + 100) for i in range(50)]).to_rows(100)
    assert len(error.value.problems) == 50
    assert "50 problems" in str(error.value)
    assert "... and 30 more" in str(error.value)
    assert pickle.loads(pickle.dumps(error.value)).problems == error.value.problems


# -------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"must_link": [(3, 3)]}, r"must_link\[0\]: the pair \(3, 3\) links a row with itself"),
        ({"cannot_link": [("a", "a")]}, r"the pair \('a', 'a'\) links a row with itself"),
        ({"relative": [(1, 2, 1)]}, r"relative\[0\]: the triplet \(1, 2, 1\) repeats a row"),
        ({"must_link": [(0, 1, 0)]}, "weight 0 must be a positive, finite number"),
        ({"must_link": [(0, 1, -2)]}, "weight -2 must be a positive"),
        ({"must_link": [(0, 1, np.nan)]}, "weight nan must be a positive"),
        ({"must_link": [(0, 1, np.inf)]}, "weight inf must be a positive"),
        ({"must_link": [("a", "b", "heavy")]}, "weight 'heavy' is not a number"),
        ({"must_link": [(0, "a")]}, "ids and row numbers are mixed: 'a' here, but 0 at"),
        ({"must_link": [(0, 1)], "cannot_link": [("a", "b")]},
         r"ids and row numbers are mixed: 'a' here, but 0 at must_link\[0\]"),
        ({"must_link": [(0, 1.5)]}, "1.5 is neither a row number nor an id"),
        ({"must_link": [(0, None)]}, "a row number or id is missing"),
        ({"must_link": [("a", "")]}, "a row number or id is missing"),
        ({"must_link": [(0, True)]}, "True is neither a row number nor an id"),
        ({"must_link": [(0, np.nan)]}, "a row number or id is missing"),
        ({"must_link": [([1], [2])]}, "ids must be hashable, not list"),
        ({"must_link": [(0, 1, 2, 3)]}, r"expected \(i, j\) or \(i, j, weight\), found \(0, 1, 2"),
        ({"must_link": [5]}, r"expected \(i, j\) or \(i, j, weight\), found 5"),
        ({"relative": [(0, 1)]}, r"expected \(a, b, c\) or \(a, b, c, weight\)"),
        ({"together": [[0, 1], 5]}, r"together\[1\]: expected a group of row numbers or ids, f"),
        ({"together": [[0, 1], "ab"]}, "expected a group of row numbers or ids, found 'ab'"),
    ],
)  # fmt: skip
def test_bad_input(given, message):
    with pytest.raises(ConstraintError, match=message):
        Constraints(**given)


def test_all_problems_at_once():
    with pytest.raises(ConstraintError) as error:
        Constraints(must_link=[(0, 0), (1, 2), (3, 4, -1.0)], relative=[(5, 5, 6)])
    assert len(error.value.problems) == 3
    assert "3 problems" in str(error.value)


def test_wrong_types():
    with pytest.raises(TypeError, match="must_link must be rows of 2 ids, not str"):
        Constraints(must_link="links.csv")
    with pytest.raises(TypeError, match="must_link must be rows of 2 ids, not int"):
        Constraints(must_link=5)
    with pytest.raises(ValueError, match="labels must be one-dimensional"):
        Constraints(labels=[[0, 1]])
    with pytest.raises(TypeError, match="must be a Constraints, a DataFrame or a path, not list"):
        as_constraints([(0, 1)])
    assert as_constraints(None) == Constraints()


@pytest.mark.parametrize(
    "labels",
    [
        ["a", "a", -1, "b", -1],
        ["a", "a", None, "b", None],
        ["a", "a", float("nan"), "b", float("nan")],
        np.array(["a", "a", "-1", "b", "-1"]),
        pd.Series(["a", "a", None, "b", None], dtype="string"),
        {0: "a", 1: "a", 2: -1, 3: "b", 4: -1},
    ],
)
def test_unknown_labels_among_text(labels):
    assert Constraints(labels=labels) == Constraints(must_link=[(0, 1)], cannot_link=[(0, 3)])


def test_missing_ids_of_pandas_are_missing():
    frame = pd.DataFrame({"i": pd.array(["a", None], dtype="string"), "j": ["b", "c"]})
    with pytest.raises(ConstraintError, match=r"row\[1\]: a row number or id is missing"):
        Constraints.from_frame(frame.assign(link="must"))
    with pytest.raises(ConstraintError, match="link 'nan': expected must/cannot"):
        Constraints.from_frame(pd.DataFrame({"i": [0], "j": [1], "link": [np.nan]}))


def test_ids_of_arguments_are_taken_as_they_are():
    known = Constraints(must_link=[(" a", "b")])
    assert known.rows == [" a", "b"]
    assert known.to_rows(2, [" a", "b"]).must_link.tolist() == [[0, 1]]


def test_empty_sets_have_neither_ids_nor_rows():
    nothing = Constraints(must_link=[("a", "b")]).restrict([])
    assert nothing.to_rows(5) == Constraints()
    assert nothing + Constraints(must_link=[(0, 1)]) == Constraints(must_link=[(0, 1)])
    assert nothing == Constraints()


def test_every_odd_cell_of_a_mixture_is_named():
    with pytest.raises(ConstraintError) as error:
        Constraints(must_link=[(0, 1), (2, "x"), (3, 3), (4, 5), ("y", 6)])
    text = "\n".join(error.value.problems)
    assert "must_link[1]: ids and row numbers are mixed: 'x' here" in text
    assert "must_link[4]: ids and row numbers are mixed: 'y' here" in text
    assert "must_link[2]: the pair (3, 3) links a row with itself" in text


def test_too_many_classes():
    with pytest.raises(ConstraintError, match="labels with 20,000 classes would need"):
        Constraints(labels=np.arange(20_000))


@pytest.mark.parametrize("labels", [["x", "", "y", ""], np.array(["x", "", "y", ""])])
def test_empty_labels_are_unknown(labels):
    known = Constraints(labels=labels)
    assert known.rows == [0, 2]
    assert known.cannot_link.tolist() == [[0, 2]]


def test_whether_entailed_pairs_can_be_written_out():
    chain = Constraints(must_link=[(0, 1), (1, 2)], cannot_link=[(2, 3)]).closure()
    assert chain.n_pairs == chain.expand().n_constraints == 6
    assert chain.can_expand(6)
    assert not chain.can_expand(5)
    torn = Constraints(must_link=[(0, 1)], cannot_link=[(0, 1)]).closure()
    assert not torn.can_expand(100)


@pytest.mark.parametrize("missing", ["", None, float("nan")])
def test_a_missing_end_is_one_problem(missing):
    with pytest.raises(ConstraintError, match="a row number or id is missing") as caught:
        Constraints(must_link=[(missing, "a")])
    assert len(caught.value.problems) == 1


def _weights(found: Constraints) -> dict[tuple[int, ...], float]:
    pairs = zip(found.cannot_link.tolist(), found.cannot_link_weight.tolist(), strict=True)
    return {tuple(sorted(ends)): weight for ends, weight in pairs}


def test_a_light_link_takes_nothing_from_what_others_imply():
    """(0, 1) and (1, 3) imply (0, 3) with weight 2, whether or not it is given as well."""
    must, cannot = [(0, 1, 5), (1, 2, 4)], [(1, 3, 2)]
    without = Constraints(must_link=must, cannot_link=cannot).closure().expand()
    light = Constraints(must_link=must, cannot_link=[*cannot, (3, 0, 0.5)]).closure().expand()
    heavy = Constraints(must_link=must, cannot_link=[*cannot, (3, 0, 9)]).closure().expand()
    assert _weights(without) == _weights(light) == {(0, 3): 2.0, (1, 3): 2.0, (2, 3): 2.0}
    assert _weights(heavy) == {(0, 3): 9.0, (1, 3): 4.0, (2, 3): 4.0}
