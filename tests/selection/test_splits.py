"""Folds over constraints leak nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwise import Constraints
from linkwise.selection._splits import Probes, decided_share, held_out, resampled


def answers(fold) -> list:
    """What the training says about the pairs that are asked."""
    closure = fold.known.closure()
    return [closure.relation(i, j) for i, j in fold.pairs.tolist()]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 6), st.integers(6, 120), st.integers(2, 4))
def test_no_held_out_link_follows_from_the_training(seed, n_folds, n_links, k):
    rng = np.random.RandomState(seed)
    y = rng.randint(k, size=40)
    n_links = min(n_links, 700)
    known = Constraints.from_labels(y, n_links, random_state=seed)
    folds = held_out(known, n_folds, rng)
    for fold in folds or ():
        assert set(answers(fold)) == {None}
        assert len(fold.pairs)


@pytest.mark.parametrize("n_links", [40, 400])  # single links, and components of many
def test_every_given_link_is_asked_with_its_own_answer(n_links):
    y = np.arange(60) % 3
    known = Constraints.from_labels(y, n_links, random_state=1)
    folds = held_out(known, 5, np.random.RandomState(0))
    places = np.concatenate([fold.place[fold.place >= 0] for fold in folds])
    assert set(places.tolist()) == set(range(n_links))
    for fold in folds:
        a, b = fold.pairs.T
        np.testing.assert_array_equal(fold.must, y[a] == y[b])
        for place, (i, j), must in zip(fold.place, fold.pairs.tolist(), fold.must, strict=True):
            if place >= 0:
                link = known.at(int(place))
                assert sorted(link.rows) == sorted((i, j))
                assert (link.kind == "must") == must


def test_components_are_kept_whole_where_there_are_many():
    chains = [(4 * g + s, 4 * g + s + 1) for g in range(12) for s in range(3)]
    apart = [(4 * g, 4 * g + 4) for g in range(11)]
    known = Constraints(must_link=chains, cannot_link=apart)
    whole = {frozenset(group) for group in known.closure().components}
    for fold in held_out(known, 4, np.random.RandomState(0)):
        groups = {frozenset(g) for g in fold.known.closure().components if len(g) > 1}
        assert groups <= whole


def test_labels_are_dealt_out_by_row():
    y = np.where(np.arange(90) < 30, np.arange(90) % 3, -1)
    folds = held_out(Constraints(labels=y), 5, np.random.RandomState(0))
    assert len(folds) == 5
    for fold in folds:
        assert set(answers(fold)) == {None}
        assert fold.must.any()
        assert not fold.must.all()
        assert len(fold.known.rows) == 24


@pytest.mark.parametrize(
    "known",
    [
        Constraints(),
        Constraints(must_link=[(0, 1)]),
        Constraints(must_link=[(2 * i, 2 * i + 1) for i in range(15)]),
        Constraints(cannot_link=[(2 * i, 2 * i + 1) for i in range(15)]),
    ],
)
def test_too_few_for_folds(known):
    assert held_out(known, 5, np.random.RandomState(0)) is None


def test_contradictory_links_never_face_each_other():
    y = np.arange(60) % 3
    known = Constraints.from_labels(y, 100, random_state=0).flip(0.3, random_state=0)
    assert not known.closure().consistent
    for fold in held_out(known, 5, np.random.RandomState(0)):
        assert set(answers(fold)) == {None}


def test_resamples_hold_the_probes():
    known = Constraints(must_link=[(3, 77), (5, 60)])
    rng = np.random.RandomState(0)
    probes = Probes.drawn(80, 0.5, rng)
    assert len(probes.rows) == 40
    folds = resampled(known, 80, 4, probes, rng)
    assert len({len(fold.rows) for fold in folds}) > 1
    for fold in folds:
        np.testing.assert_array_equal(fold.rows[probes.within(fold)], probes.rows)
        for i, j in fold.known.must_link:
            assert tuple(sorted((fold.rows[i], fold.rows[j]))) in {(3, 77), (5, 60)}


@pytest.mark.parametrize("n_rows", [1, 2, 3, 1000])
def test_probes_of_any_size(n_rows):
    probes = Probes.drawn(n_rows, 1.0, np.random.RandomState(0))
    assert len(probes.rows) == min(n_rows, 400)
    assert probes.pairs.max() < len(probes.rows)


def test_what_constraints_decide():
    known = Constraints(must_link=[(0, 1), (1, 2)], cannot_link=[(0, 3)])
    assert decided_share(known, 5) == pytest.approx(6 / 10)  # 3 together, 3 apart
    assert decided_share(Constraints(), 1) == 0
    clash = Constraints(must_link=[(0, 1)], cannot_link=[(0, 1)])
    assert decided_share(clash, 4) == 0


def test_a_large_component_counts_as_much_as_its_links():
    """Twenty must-links in one component entail 190 pairs; ten others one each."""
    chain = [(i, i + 1) for i in range(20)]
    pairs = [(30 + 2 * i, 31 + 2 * i) for i in range(10)]
    apart = [(i, 60 + i) for i in range(30)]
    known = Constraints(must_link=chain + pairs, cannot_link=apart)
    folds = held_out(known, 5, np.random.RandomState(0))
    inside = large = 0.0
    for fold in folds:
        own = (fold.pairs[fold.must] <= 20).all(axis=1)
        large += fold.weight[fold.must][own].sum()
        inside += fold.weight[fold.must].sum()
    assert large / inside == pytest.approx(2 / 3, abs=0.1)
