"""IncrementalClosure that grows answer by answer, against the closure of all at once."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from linkwise.active._incremental_closure import explain, fold, links
from linkwise.active._questions import ANSWERS, Answer

ROWS = 7
NOW = datetime.now(UTC)


def answers(told):
    return [Answer(k, i, j, said, 1.0, "ana", NOW) for k, (i, j, said) in enumerate(told, 1)]


row = st.integers(0, ROWS - 1)
told = st.lists(
    st.tuples(row, row, st.sampled_from(ANSWERS)).filter(lambda t: t[0] != t[1]), max_size=14
)


@given(told)
def test_it_knows_what_the_closure_knows(told):
    known, counted, disputed = fold(answers(told))
    closure = links(counted).closure()
    assert closure.consistent
    for i, j in combinations(range(ROWS), 2):
        wanted = {"must": "same", "cannot": "different", None: None}[closure.relation(i, j)]
        assert known.relation(i, j) == known.relation(j, i) == wanted
    for answer in disputed:
        assert not links([*counted, answer]).closure().consistent


@given(told)
def test_a_dispute_names_a_shortest_chain_and_any_of_it_resolves_it(told):
    given_ = answers(told)
    _, counted, disputed = fold(given_)
    for answer in disputed:
        dispute = explain(answer, counted)
        assert {dispute.rows[0], dispute.rows[-1]} == {answer.i, answer.j}
        assert len(dispute.rows) == len(dispute.against) + 1
        for one, two, step in zip(dispute.rows, dispute.rows[1:], dispute.against, strict=False):
            assert {one, two} == {step.i, step.j}
            assert step in counted
        n_apart = sum(step.said == "different" for step in dispute.against)
        assert n_apart == (answer.said == "same")
        for wrong in dispute.choices:  # the chain alone, without one of its answers, can hold
            left = [step for step in dispute.choices if step is not wrong]
            assert not fold(left)[2]
        assert str(answer.who) in str(dispute)


def test_the_chain_is_the_shortest():
    long_way = [(0, 1, "same"), (1, 2, "same"), (2, 3, "same"), (0, 3, "same")]
    _, counted, disputed = fold(answers([*long_way, (3, 0, "different")]))
    dispute = explain(disputed[0], counted, ["a", "b", "c", "d"])
    assert dispute.rows == ("d", "a")
    assert str(dispute) == (
        "d and a are different, says ana; but earlier answers say the opposite: d = a"
    )
