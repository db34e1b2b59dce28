"""Confidences as weights, and answers of several people combined."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from linkwise import Constraints
from linkwise.constraints import combine_answers, confidence_weight


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


def answers(seed: int = 0, n: int = 400, hits=((0.95, 0.95), (0.7, 0.6), (0.6, 0.7), (0.75, 0.75))):
    """Pairs, of which 40 % belong together, and what people of given reliability say."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < 0.4
    pairs, same, who = [], [], []
    for person, (together, apart) in enumerate(hits):
        right = rng.random(n) < np.where(truth, together, apart)
        pairs += [(2 * i, 2 * i + 1) for i in range(n)]
        same += np.where(right, truth, ~truth).tolist()
        who += [f"p{person}"] * n
    return truth, pairs, same, who


def test_reliabilities_are_found():
    truth, pairs, same, who = answers()
    found = combine_answers(pairs, same, who)
    for name, wanted in (("p0", (0.95, 0.95)), ("p1", (0.7, 0.6)), ("p2", (0.6, 0.7))):
        np.testing.assert_allclose(found.reliability[name], wanted, atol=0.12)
    decided = np.zeros(len(truth), dtype=bool)
    decided[found.constraints.must_link[:, 0].astype(int) // 2] = True
    votes = np.array(same).reshape(4, -1).sum(axis=0) >= 2
    assert (decided == truth).mean() > (votes == truth).mean()


def test_the_evidence_is_the_sum_of_log_ratios():
    _, pairs, same, who = answers()
    found = combine_answers(pairs, same, who)
    hits = found.reliability
    ratio = 0.0
    for said, name in ((same[k * 400], f"p{k}") for k in range(4)):
        together, apart = hits[name]
        ratio += np.log(together / (1 - apart)) if said else np.log((1 - together) / apart)
    known = found.constraints
    ends = np.concatenate([known.must_link, known.cannot_link]).astype(int)
    weight = np.concatenate([known.must_link_weight, known.cannot_link_weight])
    place = np.flatnonzero(ends[:, 0] == 0).item()
    wanted = min(abs(ratio), np.log(0.999 / 0.001)) / np.log(0.85 / 0.15)
    np.testing.assert_allclose(weight[place], wanted)
    assert (place < known.n_must_link) == (ratio > 0)


def test_single_answers_are_links_of_weight_one():
    found = combine_answers([(0, 1), (2, 3)], [True, False], ["a", "b"])
    known = found.constraints
    assert (known.must_link.tolist(), known.cannot_link.tolist()) == ([[0, 1]], [[2, 3]])
    np.testing.assert_allclose([*known.must_link_weight, *known.cannot_link_weight], 1.0)


def test_opposite_answers_cancel_out():
    found = combine_answers([(0, 1), (1, 0), (2, 3)], [True, False, True], ["a", "b", "a"])
    assert (
        found.constraints.n_cannot_link + found.constraints.n_must_link + len(found.undecided) == 2
    )


def test_given_confidences_take_the_place_of_estimates():
    found = combine_answers([("x", "y"), ("y", "x")], [True, False], confidence=[0.95, 0.6])
    wanted = expit(np.log(0.95 / 0.05) - np.log(0.6 / 0.4))
    assert found.constraints.n_must_link == 1
    np.testing.assert_allclose(found.constraints.must_link_weight, confidence_weight([wanted]))


def test_nothing_and_wrong_lengths():
    assert combine_answers([], []).constraints == Constraints()
    with pytest.raises(ValueError, match="1 pairs, 2 answers and 1 annotators"):
        combine_answers([(0, 1)], [True, False])


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
    rng = np.random.default_rng(0)
    pairs = [(i, i + 1) for i in range(0, 120, 2)]
    said, who = [], []
    for place in range(len(pairs)):
        right = place % 2 == 0
        said += [right, right, bool(rng.integers(2))]
        who += ["ana", "bo", "cy"]
    each = [pair for pair in pairs for _ in range(3)]
    lines = ["i,j,link,annotator"] + [
        f"{i},{j},{'must' if yes else 'cannot'},{name}"
        for (i, j), yes, name in zip(each, said, who, strict=True)
    ]
    path = tmp_path / "answers.csv"
    path.write_text("\n".join(lines) + "\n")
    known, wanted = Constraints.read(path), combine_answers(each, said, who).constraints
    np.testing.assert_array_equal(known.must_link, wanted.must_link)
    np.testing.assert_array_equal(known.cannot_link, wanted.cannot_link)
    np.testing.assert_allclose(known.must_link_weight, wanted.must_link_weight)
    np.testing.assert_allclose(known.cannot_link_weight, wanted.cannot_link_weight)
    assert known.closure().consistent
    assert known.at(0).line == 2  # where the first answer like it stands


def test_answers_in_a_file_that_cancel_out_are_no_link(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("i,j,link,annotator\n0,1,must,ana\n1,0,cannot,bo\n")
    assert Constraints.read(path).n_constraints == 0
