"""Scores against their definitions."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score, rand_score

from linkwise import Constraints
from linkwise.evaluation import score

two_labelings = st.integers(2, 12).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 3), min_size=n, max_size=n)] * 2)
)


@given(two_labelings)
def test_scores_by_counting_pairs(labelings):
    truth, found = labelings
    pairs = list(combinations(range(len(truth)), 2))
    together = {(i, j) for i, j in pairs if found[i] == found[j]}
    belong = {(i, j) for i, j in pairs if truth[i] == truth[j]}
    scores = score(truth, found)
    precision = len(together & belong) / len(together) if together else 1.0
    recall = len(together & belong) / len(belong) if belong else 1.0
    assert scores.pair_precision == pytest.approx(precision)
    assert scores.pair_recall == pytest.approx(recall)
    f = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    assert scores.pair_f == pytest.approx(f)
    assert scores.rand == pytest.approx(rand_score(truth, found))
    assert scores.ari == pytest.approx(adjusted_rand_score(truth, found))
    assert scores.nmi == pytest.approx(
        normalized_mutual_info_score(truth, found, average_method="arithmetic")
    )


@given(two_labelings)
def test_names_of_clusters_do_not_matter(labelings):
    truth, found = labelings
    renamed = np.array(["d", "b", "a", "c"])[found]
    assert score(truth, renamed).to_dict() == pytest.approx(score(truth, found).to_dict())


def test_only_the_rows_of_a_fold():
    truth, found = [0, 0, 1, 1, 1], [0, 0, 1, 0, 1]
    fold = [0, 1, 2, 4]
    assert score(truth, found, rows=fold).ari == 1.0
    assert score(truth, found, rows=[True, True, True, False, True]).n_rows == 4
    assert score(truth, found, rows=fold).pair_f == 1.0
    known = Constraints(must_link=[(0, 1), (3, 4)], cannot_link=[(0, 3, 2.0)])
    assert score(truth, found, constraints=known).satisfied == pytest.approx(1 / 3)
    assert score(truth, found, constraints=known).satisfied_weight == pytest.approx(1 / 4)
    assert score(truth, found, rows=fold, constraints=known).satisfied == 1.0


def test_constraints_by_id():
    known = Constraints(must_link=[("a", "b")])
    assert score([0, 0], [1, 1], constraints=known, sample_ids=["a", "b"]).satisfied == 1.0
    assert "satisfied" not in score([0, 0], [1, 1]).to_dict()


def test_no_share_of_no_constraints():
    known = Constraints(must_link=[(0, 1)], cannot_link=[(2, 3)])
    truth = [0, 0, 1, 1]
    for scores in (
        score(truth, truth, rows=[1, 2], constraints=known),
        score(truth, truth, constraints=Constraints()),
    ):
        assert scores.satisfied is None
        assert scores.satisfied_weight is None
        assert not {"satisfied", "satisfied_weight"} & scores.to_dict().keys()
    assert score(truth, truth, rows=[2, 3], constraints=known).satisfied == 0.0


def test_rows_in_any_order():
    truth, found = [0, 0, 1, 1, 1], [0, 0, 1, 0, 1]
    assert score(truth, found, rows=[4, 0, 2, 1]) == score(truth, found, rows=[0, 1, 2, 4])
    assert score(truth, found, rows=np.array([0, 4], dtype=np.uint8)).n_rows == 2


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([0, 5], "`rows`: row 5 is out of range; there are rows 0 to 2"),
        ([-1, 0], "`rows`: row -1 is out of range; there are rows 0 to 2"),
        ([3, 0, 7], "`rows`: row 3 is out of range (and 1 more); there are rows 0 to 2"),
        ([0, 0, 1], "`rows`: row 0 is given more than once; give each row once"),
        ([2, 1, 2, 1, 2], "`rows`: row 1 is given more than once (and 1 more); give each row once"),
        ([0.0, 1.0], "`rows` must hold row numbers or be a mask of True and False, not float64"),
        (["a", "b"], "`rows` must hold row numbers or be a mask"),
        ([[0], [1]], "`rows` must be one-dimensional, not of shape (2, 1)"),
        (1, "`rows` must be one-dimensional, not of shape ()"),
    ],
)
def test_wrong_rows(rows, message):
    with pytest.raises(ValueError) as caught:
        score([0, 0, 1], [0, 1, 1], rows=rows)
    assert message in str(caught.value)


def test_wrong_input():
    with pytest.raises(ValueError, match="3 true labels but 2 clusters"):
        score([0, 1, 1], [0, 1])
    with pytest.raises(ValueError, match="one-dimensional"):
        score([[0], [1]], [0, 1])
    with pytest.raises(ValueError, match="no rows to score"):
        score([0, 1], [0, 1], rows=[])
    with pytest.raises(ValueError, match="the mask `rows` has 3 entries for 2 rows"):
        score([0, 1], [0, 1], rows=[True, False, True])
