"""A model in a session: cards, replay, undo, kills, audits, names."""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
import pytest

from linkwise.active import Repair
from linkwise.evaluation import score
from linkwise.llm import (
    ChatError,
    answer_cards,
    audit_sample,
    cluster_names,
    disagreements,
    name_clusters,
    overrule,
    spending,
    weighted_links,
)
from linkwise.llm._replies import Replies

from .cases import oracle_of, session_of, texts
from .stand_in import StandIn

X, RECORDS, LABELS = texts()
Y = np.array([LABELS[text] for text in RECORDS])


def said_in(session):
    return [(a.i, a.j, a.said, a.who) for a in session.snapshot().answers if a.is_active]


def test_a_second_run_sends_nothing(tmp_path):
    first, second = tmp_path / "first.db", tmp_path / "second.db"
    with StandIn(LABELS, delay=0.01) as server:
        with session_of(X, first) as session:
            oracle = oracle_of(server, RECORDS, replies=first, parallel=4)
            assert answer_cards(session, oracle) > 0
            assert answer_cards(session, oracle) == 0
            answers, n_calls = said_in(session), server.n_calls
            assert score(Y, session.labels_).ari == 1
            assert {who for *_, who in answers} == {"tiny"}
            session.undo(len(answers), who="tiny")  # all of one author
            assert said_in(session) == []
            answer_cards(session, oracle)
            assert said_in(session) == answers
        with session_of(X, second) as session:  # which names the replies of the first
            answer_cards(session, oracle_of(server, RECORDS, replies=first, parallel=4))
            assert said_in(session) == answers
        assert server.n_calls == n_calls
        assert 1 < server.most_running <= 4
    assert spending(first)["tiny"].calls == n_calls
    assert spending(second) == {}


def test_equal_texts_are_one_call():
    with StandIn({"a": 0, "b": 1}, delay=0.1) as server:
        oracle = oracle_of(server, ["a", "b"] * 20)
        with session_of(X[:40]) as session:
            answer_cards(session, oracle, 12, size=2)
        assert server.n_calls <= 3


def test_a_server_that_dies_loses_nothing(tmp_path):
    path = tmp_path / "work.db"
    with session_of(X, path) as session:
        with StandIn(LABELS) as server:
            oracle = oracle_of(server, RECORDS, replies=path, parallel=3, retries=1)
            answer_cards(session, oracle, 2, size=3)
            server.faults = [404] * 20
            with pytest.raises(ChatError, match="404.*Check model and base_url"):
                answer_cards(session, oracle, 5)
        with pytest.raises(ChatError, match="All replies so far are stored"):
            answer_cards(session, oracle, 5)
        n_answers = len(session.snapshot().answers)
        with StandIn(LABELS) as server:
            answer_cards(session, oracle_of(server, RECORDS, replies=path))
        assert len(session.snapshot().answers) > n_answers > 0
        assert score(Y, session.labels_).ari == 1


def test_kills_lose_nothing_and_nothing_is_paid_twice(tmp_path):
    _, _, labels = texts(120, 4)
    path = tmp_path / "work.db"
    rng = np.random.default_rng(0)
    with StandIn(labels, delay=0.02) as server:
        for _ in range(2):
            command = [sys.executable, "-m", "tests.llm.kill", str(path), server.url, "40"]
            run = subprocess.Popen(command, stdout=subprocess.PIPE)
            run.stdout.readline()  # the first answer
            time.sleep(rng.uniform(0, 0.15))
            run.kill()
            run.communicate()
        subprocess.run([*command[:-1], "10"], check=True, stdout=subprocess.DEVNULL)
    replies = Replies(path)
    stored = replies.spending()["tiny"].calls
    assert len(server.delivered) - 2 * 4 <= stored <= len(server.delivered)
    paid_twice = sum(n - 1 for n in server.delivered.values())
    assert paid_twice <= 2 * 4  # those whose reply was on its way when the process was killed


def test_only_whole_groups_that_are_unsure_are_left_open():
    replies = ['{"groups": []}', "what?"] * 50
    with StandIn(LABELS, faults=replies) as server, session_of(X) as session:
        assert answer_cards(session, oracle_of(server, RECORDS), 6, size=3) == 6
        assert {a.said for a in session.snapshot().answers} == {"unsure"}
        with pytest.raises(ValueError, match="n=-1"):
            answer_cards(session, oracle_of(server, RECORDS), -1)


def test_an_audit_measures_and_a_person_overrules(tmp_path):
    path = tmp_path / "work.db"
    server = StandIn(LABELS, false_same=0.1, false_different=0.3)
    with server, session_of(X, path, strategy=Repair()) as session:
        oracle = oracle_of(server, RECORDS, replies=path, both_orders=0.2)
        answer_cards(session, oracle, 60, size=2)
        before = oracle.error_rates(session)
        drawn = audit_sample(session, "tiny", 20)
        assert len(drawn) == 20
        for answer in drawn:
            assert audit_sample(session, "tiny", 20)[0] == answer  # goes on where it was
            right = "same" if Y[answer.i] == Y[answer.j] else "different"
            session.tell(right, answer.question)
        after = oracle.error_rates(session)
        assert "errs on" in str(after)
        assert after.evidence.audit_same.n + after.evidence.audit_different.n == 20
        width = [one.false_same.high - one.false_same.low for one in (before, after)]
        assert width[1] < width[0]
        wrong = [a for a in drawn if (Y[a.i] == Y[a.j]) != (a.said == "same")]
        gone = overrule(session, "tiny")
        assert {a.id for a in wrong} <= {a.id for a in gone}
        assert overrule(session, "tiny") == []
        assert oracle.error_rates(session) == after  # taking back does not change a count
        people = {a.question.pair for a in session.snapshot().answers if a.who == "ana"}
        first = disagreements(session, "tiny")
        assert not people & {a.question.pair for a in first}
        links = weighted_links(session, {"tiny": after})
        assert after.weight("different") in links.cannot_link_weight
        both = max(after.weight("same"), 1) + after.weight("same")  # of a person and the model
        assert links.must_link_weight.max() == pytest.approx(both)


def test_names_are_tested_and_kept():
    with StandIn(LABELS) as server, session_of(X, n_clusters=3) as session:
        oracle = oracle_of(server, RECORDS)
        answer_cards(session, oracle)
        named = name_clusters(session, oracle)
        assert {one.name for one in named} == {"kind 0", "kind 1", "kind 2"}
        assert all(one.share == 1 and not one.is_doubtful for one in named)
        assert session.snapshot().cluster_names == {one.cluster: one.name for one in named}
        n_calls = server.n_calls
        assert name_clusters(session, oracle) == named
        assert server.n_calls == n_calls
        session.rename(named[0].cluster, "mine")
        session.move([int(np.flatnonzero(session.labels_ == named[1].cluster)[0])],
                     named[2].cluster)  # fmt: skip
        again = name_clusters(session, oracle)
        assert [one.name for one in again] == ["mine", named[1].name, named[2].name]
        assert again[0].share is None
        assert cluster_names(session) == again


def test_a_name_that_says_nothing_is_marked():
    faults = ['{"name": "things"}', '{"members": []}'] * 3
    with StandIn(LABELS, faults=faults) as server, session_of(X, n_clusters=3) as session:
        named = name_clusters(session, oracle_of(server, RECORDS, parallel=1))
        assert [one.name for one in named] == ["things"] * 3
        assert all(one.is_doubtful for one in named)
        assert str(named[0]) == "things (0.50, doubtful)"
        oracle = oracle_of(server, RECORDS, max_cost=0.0, price=(1.0, 1.0))
        assert [one.name for one in name_clusters(session, oracle)] == ["things"] * 3
