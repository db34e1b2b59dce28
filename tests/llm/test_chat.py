"""`ChatOracle` and the server it talks to."""

from __future__ import annotations

import logging
import time
import traceback
from email.utils import formatdate

import pytest

from linkwise.llm import ChatError, ChatOracle
from linkwise.llm._cards import agreement, read_groups

from .cases import GOAL, KEY, oracle_of, session_of, texts
from .stand_in import INJECTION, StandIn

X, RECORDS, LABELS = texts()


def test_pairs_and_cards_are_answered():
    with StandIn(LABELS) as server:
        oracle = oracle_of(server, RECORDS)
        assert (oracle(0, 3), oracle(0, 1)) == ("same", "different")
        assert sorted(map(sorted, oracle.group([0, 1, 2, 3, 6]))) == [[0, 3, 6], [1], [2]]
        assert oracle.n_calls == 3
        oracle(3, 0)  # the same question
        assert oracle.n_calls == server.n_calls == 3
        message = server.bodies[0]["messages"][0]["content"]
        assert GOAL in message
        assert server.bodies[0]["response_format"]["type"] == "json_schema"


@pytest.mark.parametrize(
    "faults",
    [[500, 503], [(429, {"Retry-After": "0"})], ["drop"], ["html"], [(429, {"Retry-After": "x"})]],
    ids=str,
)
def test_busy_servers_are_asked_again(faults):
    with StandIn(LABELS, faults=faults) as server:
        assert oracle_of(server, RECORDS)(0, 3) == "same"
        assert server.n_calls == len(faults) + 1


def test_retry_after_and_timeouts_are_obeyed():
    for header in (lambda t: str(t - time.time()), lambda t: formatdate(t, usegmt=True)):
        until = int(time.time()) + 1
        with StandIn(LABELS, faults=[(429, {"Retry-After": header(until)})]) as server:
            assert oracle_of(server, RECORDS)(0, 3) == "same"
            assert time.time() >= until - 0.01
    with StandIn(LABELS, faults=["hang"]) as server:
        assert oracle_of(server, RECORDS, timeout=0.2)(0, 3) == "same"
        assert server.n_calls == 2
    server = StandIn(LABELS, faults=[(429, {"Retry-After": "3600"})])
    with server, pytest.raises(ChatError, match="asks to wait 3,600 s"):
        oracle_of(server, RECORDS)(0, 3)


@pytest.mark.parametrize("refuses", ["response_format", "max_tokens", "temperature"])
def test_fields_that_a_server_refuses_are_left_out(refuses):
    with StandIn(LABELS, refuses=refuses) as server:
        oracle = oracle_of(server, RECORDS, retries=0)
        assert (oracle(0, 3), oracle(0, 1)) == ("same", "different")
        assert server.n_calls == 3  # refused once
        assert refuses not in server.bodies[-1]
        assert "max_completion_tokens" in server.bodies[-1] or refuses != "max_tokens"


@pytest.mark.parametrize(
    "reply",
    ["", "I cannot help with that.", '{"groups": [[1, 2]', '{"groups": [[1, 9]]}', '{"groups": 3}',
     '{"groups": [[1, 1]]}', '{"groups": [["1", "2"]]}', "[]", '{"groups": [[true, 2]]}'],
)  # fmt: skip
def test_replies_that_are_no_answer_are_unsure_and_paid_once(reply):
    with StandIn(LABELS, faults=[reply]) as server:
        oracle = oracle_of(server, RECORDS)
        if reply.startswith('{"groups": [[true'):
            assert oracle(0, 3) in ("same", "unsure")
        else:
            assert oracle(0, 3) == "unsure"
        oracle(0, 3)
        assert server.n_calls == 1


def test_groups_are_found_behind_reasoning_and_fences():
    assert read_groups('<think>{"groups": [[2]]}</think>```json\n{"groups": [[1], [2]]}\n```', 2)
    assert agreement([[0, 1], [2]], [[2], [1, 0]]) == [[0, 1], [2]]
    assert agreement([[0, 1, 2], [3]], [[0, 1], [2, 3]]) == [[0, 1], [3]]


def test_both_orders_that_disagree_are_unsure():
    with StandIn(LABELS, bias=1.0) as server:
        oracle = oracle_of(server, RECORDS, both_orders=1.0)
        assert oracle(0, 3) == oracle(0, 1) == "unsure"
        assert server.n_calls == 4
    with StandIn(LABELS) as server:
        oracle = oracle_of(server, RECORDS, both_orders=0.25)
        for i in range(40):
            oracle(i, i + 1)
        assert 43 <= server.n_calls <= 60


def test_texts_cannot_leave_their_place():
    records = [*RECORDS[:6], '"}, "2": "' + INJECTION, "\u2028\n\\" + INJECTION]
    with StandIn(LABELS) as server:
        oracle = oracle_of(server, records)
        assert oracle(6, 0) == oracle(7, 1) == "same"  # at worst its own answers
        assert [oracle(0, 1), oracle(0, 3), oracle(1, 2)] == ["different", "same", "different"]
        assert sorted(map(sorted, oracle.group([0, 1, 2, 3]))) == [[0, 3], [1], [2]]


def test_cost_has_a_hard_limit_and_an_estimate():
    price = (1000.0, 1000.0)  # of a million: .11 for a call of 100 and 10 tokens
    with StandIn(LABELS) as server:
        oracle = oracle_of(server, RECORDS, price=price, max_cost=2.5, max_tokens=20)
        before = oracle.estimate(100)
        said = [oracle(i, i + 1) for i in range(30)]
        assert said[-1] == "stop"
        assert 0.5 < oracle.spent <= 2.5
        assert oracle.spent == pytest.approx(0.11 * server.n_calls)
        after = oracle.estimate(100)
        assert (before.calls, after.tokens_in, after.tokens_out) == (100, 10_000, 1_000)
        assert after.cost == pytest.approx(11)
        assert "100 calls" in str(after)
    with pytest.raises(ValueError, match="has no effect without price"):
        ChatOracle("m", records=[""], goal="x", base_url="https://api.example", max_cost=1)
    with pytest.raises(ValueError, match="not into the address"):
        ChatOracle("m", records=[""], goal="x", base_url="https://user:pw@api.example")


def test_the_key_is_nowhere(tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    caplog.set_level(logging.DEBUG)
    for faults in ([401], [500] * 9, ["drop"] * 9, [KEY]):
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.db"
        with session_of(X, path), StandIn(LABELS, faults=faults, echo_key=True) as server:
            oracle = oracle_of(server, RECORDS, replies=path, retries=2)
            if faults == [KEY]:
                assert oracle(0, 3) == "unsure"  # masked in the stored reply
            else:
                with pytest.raises(ChatError) as caught:
                    oracle(0, 3)
                shown = traceback.TracebackException(*caught._excinfo, capture_locals=True)
                frames = [line for line in shown.format() if "tests/llm" not in line]
                assert KEY not in "".join(frames)
                assert caught.value.__context__ is None
            assert KEY not in repr(vars(oracle)) + repr(vars(oracle._server))
            oracle.close()
    assert KEY not in caplog.text
    files = [file.read_bytes() for file in tmp_path.iterdir()]
    assert files
    assert not any(KEY.encode() in data for data in files)
