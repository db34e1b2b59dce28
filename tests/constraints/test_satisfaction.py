"""Which constraints partitions and hierarchies keep."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.cluster.hierarchy import linkage

from linkwise import Constraints

KNOWN = Constraints(
    must_link=[(0, 1, 2.0), (2, 3)], cannot_link=[(0, 2), (1, 4, 3.0)], relative=[(0, 1, 2)]
)


def test_totals_and_weights():
    found = KNOWN.satisfied([0, 0, 1, 2, 0])
    assert found.must_link.tolist() == [True, False]
    assert found.cannot_link.tolist() == [True, False]
    assert found.relative.tolist() == [True]
    assert (found.n_satisfied, found.n_violated) == (3, 2)
    assert found.share == 0.6
    assert found.weight_share == 0.5
    assert not found
    assert found.violated == Constraints(must_link=[(2, 3)], cannot_link=[(1, 4, 3.0)])
    assert found.satisfied + found.violated == KNOWN
    assert repr(found) == "Satisfaction(3 of 5 satisfied, 50.0% of the weight)"
    assert KNOWN.satisfied([0, 0, 1, 1, 1])
    assert Constraints().satisfied([0, 1]).share == 1.0


@pytest.mark.parametrize(
    ("labels", "satisfied"),
    [
        ([0, 0, 1], True),
        ([0, 0, 0], True),
        ([0, 1, 2], True),
        ([0, 1, 0], False),
        ([0, 1, 1], False),
    ],
)
def test_relative_against_a_partition(labels, satisfied):
    """Definition 4.2: if c is with a or b, all three must be together."""
    assert Constraints(relative=[(0, 1, 2)]).satisfied(labels).relative.tolist() == [satisfied]


def test_noise_is_no_cluster():
    known = Constraints(must_link=[(0, 1)], cannot_link=[(1, 2)], relative=[(0, 3, 1)])
    found = known.satisfied([-1, -1, -1, 0])
    assert not found.must_link[0]
    assert found.cannot_link[0]
    assert found.relative[0]


def test_relative_against_a_hierarchy():
    X = np.array([[0.0], [1.0], [5.0], [7.0]])
    known = Constraints(relative=[(0, 1, 2), (2, 3, 0), (1, 2, 3)])
    found = known.satisfied(hierarchy=linkage(X, "average"))
    assert found.relative.tolist() == [True, True, False]
    named = Constraints(relative=[("a", "b", "c")])
    assert named.satisfied(hierarchy="((a,b),c);")
    assert named.satisfied(hierarchy=linkage(X, "average"), sample_ids=list("abcd"))
    both = Constraints(must_link=[(0, 1)], relative=[(0, 1, 2)])
    assert both.satisfied([0, 0, 1, 1], hierarchy=linkage(X, "average"))


def test_labels_by_id():
    known = Constraints(must_link=[("a", "b")], cannot_link=[("a", "c")])
    assert known.satisfied({"a": "x", "b": "x", "c": "y"})
    assert known.satisfied(["x", "y", "x"], sample_ids=["a", "c", "b"])
    assert known.satisfied(pd.Series([1, 1, 0], index=["a", "b", "c"]))


def test_wrong_use():
    with pytest.raises(ValueError, match="give labels .* a hierarchy, or both"):
        KNOWN.satisfied()
    with pytest.raises(ValueError, match="judged by a partition: give labels as well"):
        KNOWN.satisfied(hierarchy="((0,1),2);")
    with pytest.raises(ValueError, match="row 4 is out of range; there are rows 0 to 3"):
        KNOWN.satisfied([0, 0, 1, 1])
    with pytest.raises(ValueError, match="labels must be one-dimensional"):
        KNOWN.satisfied(np.zeros((5, 2)))
