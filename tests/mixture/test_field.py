"""Sums over labelings of linked chunklets, against enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwise import Constraints
from linkwise.mixture import _field
from linkwise.mixture._field import Field

from .reference import chunklets_and_edges, sum_all


def some_field(rng, n, n_links, k, strength=np.inf, per_row=False):
    """A field of n rows, some of them together, on which k labels are possible."""
    pairs = {tuple(sorted(rng.choice(n, 2, replace=False).tolist())) for _ in range(n_links)}
    truth = rng.integers(0, k, n)
    must = [(0, int(i)) for i in range(1, n) if truth[i] == truth[0] and rng.random() < 0.3]
    cannot = [(i, j, float(w)) for (i, j), w in zip(pairs, rng.uniform(0.5, 2, 99), strict=False)
              if truth[i] != truth[j]]  # fmt: skip
    known = Constraints(must_link=must, cannot_link=cannot)
    field = Field.of(known, k, per_row=per_row, strength=strength)
    return field, chunklets_and_edges(known, strength)[1]


@settings(max_examples=60, deadline=None)
@given(
    st.integers(2, 7),
    st.integers(1, 12),
    st.integers(2, 3),
    st.sampled_from([np.inf, 0.7]),
    st.integers(0, 10_000),
)
def test_exact_sums(n, n_links, k, strength, seed):
    rng = np.random.default_rng(seed)
    field, edges = some_field(rng, n, n_links, k, strength, per_row=bool(seed % 2))
    if not field.n_chunklets:
        return
    density = rng.normal(size=(field.n_chunklets, k)) * rng.choice([1.0, 30.0])
    log_weight = np.log(rng.dirichlet(np.ones(k)))
    log_sum, shares = field.sum_labels(density, log_weight, np.zeros((0, k)))
    potential = density + field.exponent[:, None] * log_weight
    total, marginal, best = sum_all(potential, edges)
    assert log_sum == pytest.approx(total, abs=1e-8)
    np.testing.assert_allclose(shares, marginal, atol=1e-8)
    labels = field.best_labels(density, log_weight, np.zeros((0, k)))
    reached = potential[np.arange(len(labels)), labels].sum()
    reached -= sum(cost for i, j, cost in edges if labels[i] == labels[j])
    most = potential[np.arange(len(best)), best].sum()
    most -= sum(cost for i, j, cost in edges if best[i] == best[j])
    assert reached == pytest.approx(most, abs=1e-3)


def test_potentials_far_apart_do_not_underflow():
    """Large chunklets have densities that differ by thousands."""
    known = Constraints(cannot_link=[(0, 1), (1, 2), (0, 2)])
    field = Field.of(known, 3, per_row=False, strength=np.inf)
    density = np.array([[0.0, -4000.0, -9000.0], [0.0, -5000.0, -9000.0], [0.0, -6000.0, -7000.0]])
    log_sum, shares = field.sum_labels(density, np.zeros(3), np.zeros((0, 3)))
    edges = [(0, 1, np.inf), (1, 2, np.inf), (0, 2, np.inf)]
    total, marginal, best = sum_all(density, edges)
    assert log_sum == pytest.approx(total)
    np.testing.assert_allclose(shares, marginal, atol=1e-12)
    assert field.best_labels(density, np.zeros(3), np.zeros((0, 3))).tolist() == list(best)


def test_large_components_are_bounded_from_below(monkeypatch):
    rng = np.random.default_rng(0)
    exact, edges = some_field(rng, 6, 12, 3, strength=1.5)
    rng = np.random.default_rng(0)
    monkeypatch.setattr(_field, "MAX_TERMS", 0)
    loose, _ = some_field(rng, 6, 12, 3, strength=1.5)
    assert len(loose.loose) > 0 == len(exact.loose)
    density, k = rng.normal(size=(exact.n_chunklets, 3)), 3
    share = np.full((len(loose.loose), k), 1 / k)
    bounds = []
    for _ in range(5):
        bounds.append(loose.sum_labels(density, np.zeros(k), share)[0])
    rewards = sum(min(cost, 0.0) for *_, cost in edges)  # bounds count costs only
    total = sum_all(density, edges)[0] + rewards
    assert np.diff(bounds).min() >= -1e-9
    assert total - 1.5 < bounds[-1] <= total


@pytest.mark.parametrize("per_row", [False, True])
def test_normalizer_and_its_derivative(per_row):
    rng = np.random.default_rng(1)
    field, edges = some_field(rng, 7, 9, 3, per_row=per_row)
    log_weight = np.log(rng.dirichlet(np.ones(3)))
    value, counts = field.log_normalizer(log_weight)
    assert value == pytest.approx(sum_all(field.exponent[:, None] * log_weight, edges)[0])
    for step, count in zip(1e-6 * np.eye(3), counts, strict=True):
        up, down = (field.log_normalizer(log_weight + s * step)[0] for s in (1, -1))
        assert count == pytest.approx((up - down) / 2e-6, rel=1e-4)


def test_best_weights_maximize_the_expected_likelihood():
    rng = np.random.default_rng(2)
    field, _ = some_field(rng, 9, 12, 3, per_row=True)
    counts = np.array([9.0, 4.0, 6.0])

    def value(weight):
        return counts @ np.log(weight) - field.log_normalizer(np.log(weight))[0]

    best = field.best_weights(counts, np.full(3, 1 / 3))
    assert best.sum() == pytest.approx(1.0)
    others = rng.dirichlet(np.ones(3), 500)
    assert value(best) >= max(value(weight) for weight in others)
    near = np.exp(np.log(best) + 1e-2 * rng.normal(size=(50, 3)))
    assert value(best) >= max(value(w / w.sum()) for w in near)
