"""Oracles: labels, functions, language models."""

from __future__ import annotations

import numpy as np
import pytest

from linkwise.active import FunctionOracle, LabelOracle, LanguageModelOracle
from linkwise.active._oracles import read_reply

from .cases import blobs, session


def test_labels():
    oracle = LabelOracle(["a", "a", "b", None, float("nan")])
    assert [oracle(0, 1), oracle(1, 2), oracle(0, 3), oracle(4, 0)] == [
        "same",
        "different",
        "unsure",
        "unsure",
    ]
    assert oracle.n_asked == 4


def test_noise_is_a_share_and_the_same_every_time():
    y = np.repeat([0, 1], 50)
    pairs = [(i, j) for i in range(100) for j in range(i)]
    oracle = LabelOracle(y, noise=0.2, unsure=0.1, random_state=5)
    said = [oracle(i, j) for i, j in pairs]
    assert said == [oracle(j, i) for i, j in pairs]
    assert np.mean([s == "unsure" for s in said]) == pytest.approx(0.1, abs=0.02)
    right = LabelOracle(y)
    wrong = [s != right(*p) for s, p in zip(said, pairs, strict=True) if s != "unsure"]
    assert np.mean(wrong) == pytest.approx(0.2, abs=0.02)
    for bad in ({"noise": 1.5}, {"unsure": -0.1}):
        with pytest.raises(ValueError, match="must be between 0 and 1"):
            LabelOracle(y, **bad)


def test_functions_may_say_it_in_many_ways():
    replies = iter([True, np.True_, False, None, "same", "d"])
    oracle = FunctionOracle(lambda a, b: next(replies), "abcdef")
    said = [oracle(0, 1) for _ in range(6)]
    assert said == ["same", "same", "different", "unsure", "same", "different"]


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        ("same", ("same", 1.0)),
        ("SAME.", ("same", 1.0)),
        ("They are the same company.", ("same", 1.0)),
        ("Different (confidence: 0.75)", ("different", 0.75)),
        ("different, 80 %", ("different", 0.8)),
        ("same 90", ("same", 0.9)),
        ("These are not the same.", ("different", 1.0)),
        ("They aren't the same thing", ("different", 1.0)),
        ("They are not really different.", ("same", 1.0)),
        ("I am not sure.", ("unsure", 1.0)),
        ("I don\u2019t know", ("unsure", 1.0)),
        ("I cannot tell", ("unsure", 1.0)),
        ('{"answer": "same", "confidence": 0.6}', ("same", 0.6)),
        ('```json\n{"answer": "different", "confidence": "70%"}\n```', ("different", 0.7)),
        ('{"answer": "same", "confidence": 0}', ("unsure", 1.0)),
        ("the same, or different", None),
        ("perhaps", None),
        ("", None),
        (None, None),
        ('{"answer": "perhaps"}', None),
        ("sameness", None),
    ],
)
def test_replies_of_language_models(reply, wanted):
    assert read_reply(reply) == wanted


def test_a_language_model_that_has_bad_days():
    replies = iter(["hm", RuntimeError("busy"), "same 0.7", "hm", "hm", "hm"])

    def ask(a, b):
        reply = next(replies)
        if isinstance(reply, Exception):
            raise reply
        return reply

    oracle = LanguageModelOracle(
        ask, ["x", "yy"], wait=0.0, price=lambda a, b, reply: len(a) + len(b)
    )
    assert oracle(0, 1) == ("same", 0.7)
    assert oracle(0, 1) == ("unsure", 1.0)
    assert (oracle.n_calls, oracle.n_unparsed, oracle.n_failed, oracle.cost) == (6, 4, 1, 18)


def test_an_outage_is_no_answer():
    def ask(a, b):
        raise ConnectionError("no network")

    X, _ = blobs(10)
    work = session(X)
    oracle = LanguageModelOracle(ask, ["x"] * 10, retries=1, wait=0.0)
    with pytest.raises(ConnectionError, match="no network"):
        work.run(oracle)
    assert not work.snapshot().answers
    assert oracle.n_failed == 2


@pytest.mark.parametrize("budget", [{"max_calls": 7}, {"max_cost": 0.7, "price": 0.1}])
def test_a_budget_ends_the_interview(budget):
    X, y = blobs(30)
    truth = LabelOracle(y)
    oracle = LanguageModelOracle(
        lambda a, b: truth(int(a), int(b)), [str(i) for i in range(30)], **budget
    )
    work = session(X)
    assert work.run(oracle, who="model") in (7, 8)  # 0.1 seven times is a little below 0.7
    assert {answer.who for answer in work.snapshot().answers} == {"model"}
    with pytest.raises(ValueError, match="must not be negative"):
        LanguageModelOracle(lambda a, b: "", [], retries=-1)
