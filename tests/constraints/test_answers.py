"""Confidences as weights, and answers of several annotators combined."""

from __future__ import annotations

import numpy as np
import pytest

from linkwise import Constraints
from linkwise.constraints import confidence_weight


def test_confidences_are_log_odds():
    c = np.array([0.55, 0.7, 0.85, 0.99])
    np.testing.assert_allclose(
        confidence_weight(c), np.log(c / (1 - c)) / np.log(0.85 / 0.15), rtol=1e-12
    )
    assert confidence_weight(1.0) == confidence_weight(0.9999)


@pytest.mark.parametrize("wrong", [0.5, 0.2, 1.1, float("nan")])
def test_wrong_confidences(wrong):
    with pytest.raises(ValueError, match=r"must be above 0\.5 and at most 1"):
        confidence_weight([0.9, wrong])


def test_files_have_confidences(tmp_path):
    path = tmp_path / "links.csv"
    path.write_text("i,j,link,confidence\n0,1,must,0.95\n2,3,cannot,0.6\n4,5,must,\n")
    known = Constraints.read(path)
    np.testing.assert_allclose(known.must_link_weight, [*confidence_weight([0.95]), 1.0])
    np.testing.assert_allclose(known.cannot_link_weight, confidence_weight([0.6]))
    path.write_text("i,j,link,weight,confidence\n0,1,must,3,0.95\n")
    np.testing.assert_allclose(
        Constraints.read(path).must_link_weight, 3 * confidence_weight([0.95])
    )
    path.write_text("i,j,link,confidence\n0,1,must,0.95\n2,3,cannot,0.4\n")
    with pytest.raises(Exception, match=r"links.csv: line 3: confidence 0.4 must be above 0.5"):
        Constraints.read(path)


def test_a_file_with_annotators_has_one_link_per_pair(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text(
        "i,j,link,weight,annotator\n"
        "0,1,cannot,1,ana\n0,1,must,1,bo\n1,0,must,1.5,cy\n"
        "4,9,cannot,1,ana\n9,4,cannot,1,bo\n"
        "2,3,must,2,ana\n"
    )
    known = Constraints.read(path)
    assert sorted(known.must_link.tolist()) == [[0, 1], [2, 3]]
    assert known.cannot_link.tolist() == [[4, 9]]
    assert sorted(known.must_link_weight) == [1.5, 2.0]
    assert known.cannot_link_weight.tolist() == [2.0]
    assert sorted(known.at(p).line for p in range(3)) == [3, 5, 7]  # the first that agrees


def test_answers_in_a_file_that_cancel_out_are_no_link(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("i,j,link,annotator\n0,1,must,ana\n1,0,cannot,bo\n")
    assert Constraints.read(path).n_constraints == 0
