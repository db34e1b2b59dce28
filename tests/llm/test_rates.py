"""Error rates: the posterior, compared with a slow one, and what replies show."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from linkwise.llm import Count, ErrorRates, Evidence
from linkwise.llm._cards import order_count
from linkwise.llm._rates import triangles
from linkwise.llm._replies import Reply


def slow_posterior(seen, steps=14):
    """Means of a, b, e, f, written out; see the docstring of `_rates`."""
    total, sums = 0.0, np.zeros(4)
    for a in (np.arange(steps) + 0.5) / steps / 2:
        for b in (np.arange(steps) + 0.5) / steps / 2:
            for q in (np.arange(steps) + 0.5) / steps:
                s = q * (1 - b) + (1 - q) * a
                e, f = (1 - q) * a / s, q * b / (1 - s)
                t, u = (1 - e) ** 2, f * (1 - e) + q * e
                wrong = q * b + (1 - q) * a
                p = binom.pmf(*seen.said_same, s)
                p *= binom.pmf(*seen.audit_same, e) * binom.pmf(*seen.audit_different, f)
                p *= binom.pmf(*seen.orders, 2 * np.linspace(0, 1, 201) * wrong).max()
                p *= binom.pmf(*seen.after_same, t * (1 - b) + (1 - t) * a)
                p *= binom.pmf(*seen.after_different, u * (1 - b) + (1 - u) * a)
                total, sums = total + p, sums + p * np.array([a, b, e, f])
    return sums / total


@pytest.mark.parametrize(
    "seen",
    [
        Evidence(),
        Evidence(Count(30, 100), Count(1, 15), Count(3, 15)),
        Evidence(Count(30, 100), orders=Count(6, 40)),
        Evidence(Count(50, 90), after_same=Count(20, 25), after_different=Count(3, 40)),
    ],
    ids=["prior", "audit", "orders", "triangles"],
)
def test_the_posterior_is_the_slow_one(seen):
    found = ErrorRates.estimate(seen)
    rates = (found.false_same, found.false_different, found.wrong_same, found.wrong_different)
    assert [one.mean for one in rates] == pytest.approx(slow_posterior(seen), abs=0.02)
    assert all(one.low < one.mean < one.high for one in rates)


def test_the_interval_holds_the_truth():
    rng, held = np.random.default_rng(0), []
    for a, b in [(0.02, 0.05), (0.05, 0.2), (0.3, 0.1)]:
        for _ in range(10):
            same = rng.random(600) < 0.4
            said = np.where(same, rng.random(600) >= b, rng.random(600) < a)
            audit = [
                Count(int((same[rows] != said[rows]).sum()), 15)
                for rows in (np.flatnonzero(said)[:15], np.flatnonzero(~said)[:15])
            ]
            seen = Evidence(Count(int(said.sum()), 600), *audit)
            found = ErrorRates.estimate(seen)
            held += [found.false_same.low <= a <= found.false_same.high]
            held += [found.false_different.low <= b <= found.false_different.high]
    assert np.mean(held) >= 0.85


def test_weights_are_log_odds_of_each_kind():
    seen = Evidence(Count(4000, 10_000), Count(60, 1000), Count(150, 1000))
    found = ErrorRates.estimate(seen)
    a, b = found.false_same.mean, found.false_different.mean
    unit = np.log(0.85 / 0.15)
    assert found.weight("same") == pytest.approx(np.log((1 - b) / a) / unit)
    assert found.weight("different") == pytest.approx(np.log((1 - a) / b) / unit)
    assert ErrorRates.estimate(Evidence()).weight("same") < 1  # nothing known: less than a person


def test_triangles_share_no_answer():
    links = [("a", "b", "same", 0), ("b", "c", "same", 1), ("a", "c", "different", 2),
             ("a", "d", "same", 3), ("b", "d", "same", 4)]  # fmt: skip
    assert triangles(links) == (Count(0, 1), Count(0, 0))  # a-b was used
    links = [("a", "b", "same", 0), ("b", "c", "different", 1), ("a", "c", "different", 2)]
    assert triangles(links) == (Count(0, 0), Count(0, 1))
    assert triangles([(i, j, said, 0) for i, j, said, _ in links])[1].n == 0  # of one card


def test_orders_are_compared_by_decisions():
    def reply(records, text):
        return Reply(text, tuple(records), "m", "p", text, 1, 1, 0.0, 0.0)

    seen = order_count(
        [reply("abc", '{"groups": [[1, 2], [3]]}'), reply("cba", '{"groups": [[1], [2], [3]]}')]
    )
    assert seen == Count(1, 2)  # one pair of three, of two decisions
