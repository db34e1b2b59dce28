"""Closure and diagnosis against brute force."""

from __future__ import annotations

from itertools import combinations, product
from itertools import pairwise as pairwise_rows

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from linkwise import Constraints
from tests import reference
from tests.strategies import constraints, labelings, pairs, pairwise, triplets

N = 8
ALL_PARTITIONS = [
    labels
    for labels in product(range(5), repeat=5)
    if all(x <= max(labels[:i], default=-1) + 1 for i, x in enumerate(labels))
]


@given(pairwise(N))
def test_closure_decides_the_pairs_that_brute_force_decides(known):
    closure = known.closure()
    label = reference.components(N, known.must_link.tolist())
    apart = {frozenset((label[i], label[j])) for i, j in known.cannot_link.tolist()}
    touched = set(known.rows)
    n_must = n_cannot = 0
    for i, j in combinations(range(N), 2):
        together = label[i] == label[j]
        expected = None
        if together:
            expected = "must"
        elif frozenset((label[i], label[j])) in apart:
            expected = "cannot"
        assert closure.relation(i, j) == expected
        n_must += together
        n_cannot += expected == "cannot"
    assert closure.n_must_link == n_must
    assert closure.n_cannot_link == n_cannot
    assert set(closure.nodes.tolist()) == touched


@given(constraints(N))
def test_closure_is_idempotent(known):
    closure = known.closure()
    assert closure.expand().closure().components == closure.components


@given(pairs(N), pairs(N), st.randoms(use_true_random=False))
def test_closure_does_not_depend_on_the_order(must, cannot, random):
    known = Constraints(must_link=must, cannot_link=cannot)
    shuffled = [[pair[::-1] for pair in random.sample(p, len(p))] for p in (must, cannot)]
    other = Constraints(must_link=shuffled[0], cannot_link=shuffled[1])
    assert other == known
    assert other.closure() == known.closure()
    assert hash(other) == hash(known)


@given(labelings)
def test_the_constraints_of_a_labeling_are_consistent(labels):
    known = Constraints(labels=labels)
    k = max(1, len({label for label in labels if label >= 0}))
    diagnosis = known.diagnose(k, n_rows=len(labels))
    assert diagnosis.consistent
    assert diagnosis.clusters.least == k
    assert known.satisfied(labels)
    for i, j in combinations(range(len(labels)), 2):
        if -1 not in (labels[i], labels[j]) and len(set(labels) - {-1}) > 0:
            expected = "must" if labels[i] == labels[j] else "cannot"
            both_touched = {i, j} <= set(known.rows)
            assert known.closure().relation(i, j) == expected or not both_touched


@given(pairs(6, 8), pairs(6, 8))
def test_each_contradiction_has_the_shortest_chain(must, cannot):
    known = Constraints(must_link=must, cannot_link=cannot)
    diagnosis = known.diagnose(limit=1000)
    given_must = [tuple(p) for p in known.must_link.tolist()]
    lengths = {}
    for i, j in known.cannot_link.tolist():
        shortest = reference.shortest_chain(6, given_must, i, j)
        if shortest is not None:
            lengths[i, j] = shortest
    assert diagnosis.n_contradictions == len(lengths) == len(diagnosis.contradictions)
    for contradiction in diagnosis.contradictions:
        *chain, last = contradiction.links
        assert last.kind == "cannot"
        assert len(chain) == lengths[last.rows]
        # The links lead from one row of the chain to the next, from one end to the other.
        assert [set(link.rows) for link in chain] == [
            {a, b} for a, b in pairwise_rows(contradiction.rows)
        ]
        assert all(tuple(link.rows) in given_must for link in chain)
        assert {contradiction.rows[0], contradiction.rows[-1]} == set(last.rows)


@given(pairwise(N), st.integers(1, 5))
def test_the_verdict_on_k_agrees_with_brute_force(known, k):
    diagnosis = known.diagnose(k)
    count = diagnosis.clusters
    closure = known.closure()
    possible = reference.colorable(
        closure.n_components, [tuple(p) for p in closure.cannot_link.tolist()], k
    )
    possible = possible and closure.consistent
    assert count.status == "feasible" if possible else count.status in ("too small", "infeasible")
    if possible:
        labels = [count.example.get(row, 0) for row in range(N)]
        assert max(labels, default=0) < k
        assert known.satisfied(labels)
    elif count.status == "too small":
        assert len(count.proof) > k
        for a, b in combinations(count.proof, 2):
            assert closure.relation(a[0], b[0]) == "cannot"
    elif count.proof and k == 2:  # an odd ring, in order
        assert len(count.proof) % 2 == 1
        ring = [*count.proof, count.proof[0]]
        for a, b in pairwise_rows(ring):
            assert closure.relation(a[0], b[0]) == "cannot"


@given(pairwise(N))
def test_redundant_links_follow_from_the_others(known):
    diagnosis = known.diagnose()
    rest = known - diagnosis.redundant
    assert rest.closure() == known.closure()
    assert not rest.diagnose().redundant


@given(constraints(N), constraints(N), st.integers(0, 100))
def test_set_algebra(a, b, seed):
    if a and b and a.has_ids != b.has_ids:
        return
    union = a + b
    assert union == b + a
    assert (a + a) == a
    assert not (a - a)
    assert (union - b) + b == union or (a - b).n_constraints < a.n_constraints
    assert (union - b).n_constraints == union.n_constraints - b.n_constraints
    n = seed % (a.n_constraints + 1)
    part = a.sample(n, random_state=seed)
    assert part.n_constraints == n
    assert not (part - a)


@given(constraints(N))
def test_restrict_keeps_what_lies_inside(known):
    rows = known.rows[::2]
    inside = known.restrict(rows)
    assert set(inside.rows) <= set(rows)
    assert inside.restrict(rows) == inside
    assert known.restrict(known.rows) == known


@given(constraints(N))
def test_ids_and_rows_say_the_same(known):
    if not known.has_ids:
        return
    names = [f"r{i}" for i in range(N)]
    by_row = known.to_rows(N, names)
    assert not by_row.has_ids
    labels = np.arange(N) % 3
    assert np.array_equal(
        known.satisfied(labels, sample_ids=names).relative, by_row.satisfied(labels).relative
    )
    assert by_row.diagnose(3).n_contradictions == known.diagnose(3).n_contradictions


@given(pairs(5, 5), pairs(5, 4), triplets(5, 5))
def test_pairs_and_triplets_together_against_all_partitions(must, cannot, relative):
    known = Constraints(must_link=must, cannot_link=cannot, relative=relative)
    found = [c for c in known.diagnose(limit=100).contradictions if c.kind != "relative"]
    possible = any(known.satisfied(labels) for labels in ALL_PARTITIONS)
    assert bool(found) != possible
    for contradiction in found:
        proof = contradiction.proof
        assert not (proof - known)
        assert not any(proof.satisfied(labels) for labels in ALL_PARTITIONS)
        for position in range(proof.n_constraints):  # dropping any one makes the rest possible
            rest = proof - _alone(proof, position)
            assert any(rest.satisfied(labels) for labels in ALL_PARTITIONS)


def _alone(known, position):
    link = known.at(position)
    return Constraints(
        **{{"must": "must_link", "cannot": "cannot_link"}.get(link.kind, link.kind): [link.rows]}
    )
