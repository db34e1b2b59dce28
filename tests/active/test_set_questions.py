"""Set questions: what one card says, how it is stored, undone and answered."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from linkwise.active import FunctionOracle, LabelOracle, Session
from linkwise.active._incremental_closure import IncrementalClosure
from linkwise.active._questions import links_of_groups

from .cases import NAMES, blobs, session


@given(st.lists(st.integers(0, 3), min_size=2, max_size=8))
def test_links_say_the_relation_of_every_pair(places):
    groups = [[row for row, p in enumerate(places) if p == place] for place in sorted(set(places))]
    known = IncrementalClosure()
    for i, j, said, _ in links_of_groups(groups, known):
        assert known.relation(i, j) is None  # none is said twice, however few
        assert known.add(i, j, said)
    for i, j in combinations(range(len(places)), 2):
        assert known.relation(i, j) == ("same" if places[i] == places[j] else "different")
    assert links_of_groups(groups, known) == []


@pytest.mark.parametrize("name", NAMES)
def test_every_strategy_makes_cards_and_ends(name):
    X, y = blobs(30)
    with session(X, name, None) as work:
        n = work.run(LabelOracle(y), set_size=6)
        assert work.ask(set_size=8) is None
        assert n < 30  # one row a question would take more
        assert sorted(map(len, work.snapshot().neighborhoods)) == sorted(np.bincount(y).tolist())


def test_a_card_is_replayable_and_is_not_shown_twice():
    X, _ = blobs(60)
    with session(X, "Repair") as work, session(X, "Repair") as other:
        card = work.ask(set_size=7)
        assert len(set(card.rows)) == len(card.rows) <= 7
        assert work.ask(set_size=7) == card == other.ask(set_size=7)
        assert list(work.snapshot().pending["ana"]) == card.pairs
        beside = work.ask(set_size=7, who="bo")
        assert beside is not None
        assert beside.rows[:2] != card.rows[:2]


def test_a_card_is_one_step_and_survives(tmp_path):
    X, y = blobs(40)
    path = tmp_path / "work.db"
    with session(X, "Repair", path=path) as work:
        card = work.ask(set_size=8)
        groups = LabelOracle(y).group(card.rows)
        assert work.tell(groups, weight=0.5) == []
        assert {answer.weight for answer in work.snapshot().answers} == {0.5}
        assert len({answer.card for answer in work.snapshot().answers}) == 1
        n_links = len(work.snapshot().answers)
        after = work.ask(set_size=8)
    with Session.open(path, X, background=False, who="ana") as work:
        assert work.ask(set_size=8) == after
        assert len(work.undo()) == n_links
        assert work.constraints.n_constraints == 0
        assert work.ask(set_size=8) == card


def test_what_contradicts_is_a_dispute():
    X, _ = blobs(10)
    with session(X) as work:
        work.tell("same", (0, 1))
        (dispute,) = work.tell([[0], [1, 2]])
        assert dispute.answer.question.pair == (0, 1)
        assert work.tell([[0, 1]]) == []  # known already: nothing is stored
        assert len(work.snapshot().answers) == 3


@pytest.mark.parametrize(
    ("groups", "told"),
    [
        ({0: 1}, "lists of row numbers"),
        ([0, 1], "not a list"),
        ([[0, 1], [1]], "row 1 stands twice"),
        ([[0, 99]], "no row 99"),
        ([[0, True]], "no row number"),
        ([range(13)], "at most 12"),
    ],
)
def test_wrong_groups_are_refused(groups, told):
    with session(blobs(20)[0]) as work, pytest.raises(ValueError, match=told):
        work.tell(groups)


def test_wrong_sizes_and_weights_are_refused():
    with session(blobs(20)[0]) as work:
        with pytest.raises(ValueError, match="at most 12"):
            work.ask(set_size=13)
        with pytest.raises(ValueError, match="at least 2"):
            work.ask(set_size=1)
        with pytest.raises(ValueError, match="positive"):
            work.tell([[0, 1]], weight=0.0)


def test_a_card_without_an_answer_is_passed():
    X, _ = blobs(12)

    class Silent:
        def group(self, rows):
            return []

    with session(X, "Repair") as work:
        assert work.run(Silent(), 3, set_size=4) == 3
        assert {answer.said for answer in work.snapshot().answers} == {"unsure"}


def test_oracles_group():
    rows = (3, 1, 0, 2)
    assert LabelOracle(["a", "b", "a", "b"]).group(rows) == [[3, 1], [0, 2]]
    assert LabelOracle(["a", None, "a", "b"]).group(rows) == [[3], [0, 2]]
    same_letter = FunctionOracle(lambda a, b: a[0] == b[0], ["ant", "bee", "ape", "bat"])
    assert same_letter.group(rows) == [[3, 1], [0, 2]]
    y = np.repeat(np.arange(6), 2)
    noisy = LabelOracle(y, noise=0.3)
    found = [noisy.group(tuple(np.random.RandomState(s).permutation(12))) for s in range(40)]
    wrong = [sum(len({int(y[row]) for row in group}) > 1 for group in groups) for groups in found]
    assert 0 < np.mean(wrong) < 4


def test_a_card_says_more_than_a_pair():
    X, y = blobs(120, 6, spread=3.0)
    scores = []
    for size in (None, 8):
        with Session(X, background=False) as work:
            work.run(LabelOracle(y), 15, set_size=size)
            scores.append(adjusted_rand_score(y, work.labels_))
    assert scores[1] > scores[0]
