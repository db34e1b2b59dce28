"""Two clusterings beside each other."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkwise.evaluation import compare_clusterings


def test_a_clustering_beside_itself_changes_nothing():
    changes = compare_clusterings([0, 1, 2, -1], [2, 0, 1, -1])
    assert (changes.moved, changes.opened, changes.retired) == ([], [], [])
    assert changes.matched == {0: 2, 1: 0, 2: 1}


def test_splits_merges_new_and_retired_clusters_are_named():
    old = [0] * 4 + [1] * 3 + [2] * 3 + [-1] * 2
    new = [0, 0, 3, 3] + [1] * 6 + [4] * 2
    changes = compare_clusterings(old, new)
    assert changes.split == {0: [0, 3]}
    assert changes.merged == {1: [1, 2]}
    assert changes.opened == [3, 4]
    assert changes.retired == [2]
    assert set(changes.moved) == {2, 3, 7, 8, 9, 10, 11}
    assert "4 is new" in str(changes)


def test_rows_are_matched_by_id():
    changes = compare_clusterings({"a": 0, "b": 0, "c": 1}, {"c": 7, "b": 8, "d": 7})
    assert (changes.moved, changes.added, changes.removed) == ([], ["d"], ["a"])
    with pytest.raises(ValueError, match="old_ids and new_ids"):
        compare_clusterings([0, 1], [0])
    with pytest.raises(ValueError, match="1 different ids for 2 rows"):
        compare_clusterings([0, 1], [0, 1], old_ids=["a", "a"], new_ids=["a", "b"])


@given(st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 3)), max_size=12))
def test_no_other_pairing_keeps_more_rows(pairs):
    old, new = [a for a, _ in pairs], [b for _, b in pairs]
    changes = compare_clusterings(old, new)
    most = 0
    for order in permutations(range(4)):
        most = max(most, sum(a >= 0 and order[a] == b for a, b in pairs))
    kept = sum(a >= 0 and changes.matched.get(a, -2) == b for a, b in pairs)
    assert kept == most
    assert changes.n_moved == len(pairs) - kept - sum(a == b == -1 for a, b in pairs)
