"""Repair: its agglomeration, curve and cut against slow versions, and its questions."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import ward
from sklearn.metrics import adjusted_rand_score

from linkwise import Constraints
from linkwise.active import (
    LabelOracle,
    QueryContext,
    Repair,
    RepairedClustering,
    Session,
)
from linkwise.active._incremental_closure import IncrementalClosure
from linkwise.active._merge_tree import (
    Stage,
    are_large,
    families,
    follow_neighbors,
    grow,
    merge_curve,
)
from linkwise.active._parts import make_parts, split_parts
from linkwise.active._repair_model import RepairModel
from linkwise.active._wrong_answers import fold_history, share_of_wrong

from .cases import blobs


def stage_of(X):
    parts = make_parts(X)
    return Stage(0, parts, parts.center)


@given(st.integers(0, 10_000))
@settings(max_examples=30)
def test_without_answers_it_is_ward_s_tree(seed):
    X = np.random.default_rng(seed).normal(size=(15, 3))
    merges = stage_of(X).free
    # Scipy's height is the root of twice the increase of the sum of squares.
    np.testing.assert_allclose(np.sqrt(2 * merges[:, 2]), ward(X)[:, 2])


def slow_merges(X, known):
    """All clusters compared anew in every step; families follow answers."""
    clusters = [{row} for row in range(len(X))]
    family, apart = families(stage_of(X).parts, known)
    found = []
    while True:
        best = (np.inf, 0, 0)
        for a in range(len(clusters)):
            for b in range(a):
                f, g = (family[min(clusters[c])] for c in (a, b))
                if not apart[f, g]:
                    one, two = (X[sorted(clusters[c])] for c in (a, b))
                    rise = len(one) * len(two) / (len(one) + len(two))
                    rise *= ((one.mean(axis=0) - two.mean(axis=0)) ** 2).sum()
                    best = min(best, (rise, a, b))
        if best[0] == np.inf:
            return found
        height, a, b = best
        f, g = (family[min(clusters[c])] for c in (a, b))
        family[family == g] = f
        apart[f] |= apart[g]
        apart[:, f] |= apart[:, g]
        found.append(height)
        clusters[b] |= clusters[a]
        del clusters[a]


@given(st.integers(0, 10_000))
@settings(max_examples=20)
def test_merges_under_answers_are_those_of_a_slow_version(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(12, 2)), rng.integers(0, 3, 12)
    known = IncrementalClosure()
    for i, j in rng.integers(0, 12, (8, 2)).tolist():
        if i != j:
            known.add(i, j, "same" if y[i] == y[j] else "different")
    pairs = rng.integers(0, 12, (9, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    stage = stage_of(X)
    merges, _ = grow(stage, *families(stage.parts, known), pairs)
    np.testing.assert_allclose(merges[:, 2], slow_merges(X, known))


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.1]))
@settings(max_examples=15, deadline=None)
def test_labels_keep_all_answers_that_are_true(seed, noise):
    X, y = blobs(30, seed=seed % 50)
    rng = np.random.default_rng(seed)
    known = IncrementalClosure()
    for i, j in rng.integers(0, 30, (25, 2)).tolist():
        if i != j:
            known.add(i, j, "same" if y[i] == y[j] else "different")
    labels = RepairModel(X, 0, noise).at(known).labels
    if noise == 0:
        for i, j, said, _ in known.history:
            assert (labels[i] == labels[j]) == (said == "same")


def test_the_curve_is_the_most_probable_one():
    """Steps in any direction lower the log posterior."""
    rng = np.random.default_rng(0)
    height = rng.uniform(0.01, 1, 80)
    same = (rng.uniform(size=80) < 1 / (1 + (height / 0.1) ** 2)).astype(float)

    def posterior(slope, middle):
        odds = slope * (middle - np.log(height))
        a = slope * middle
        prior = -((a - 1.5 * np.log(0.1)) ** 2) / 18 - (slope - 1.5) ** 2 / 2
        return (same * odds - np.logaddexp(0, odds)).sum() + prior

    slope, middle = merge_curve(height, same)
    best = posterior(slope, middle)
    for step in (1e-3, -1e-3):
        assert posterior(slope + step, middle) < best
        assert posterior(slope, middle + step) < best


def test_it_finds_clusters_without_their_number():
    X, y = blobs(200, k=5, spread=1.0, seed=3)
    with Session(X, background=False) as work:
        work.run(LabelOracle(y), 40)
        assert adjusted_rand_score(y, work.labels_) > 0.9


@pytest.mark.parametrize("noise", [0.1, "auto"])
def test_wrong_answers_are_outweighed(noise):
    X, y = blobs(120, k=3, spread=0.5, seed=1)
    with Session(X, Repair(noise=noise), background=False) as work:
        work.run(LabelOracle(y, noise=0.1), 80)
        assert work.snapshot().progress.n_disputed  # the model is told these too
        assert adjusted_rand_score(y, work.labels_) > 0.9
        assert np.array_equal(work.refit().labels, work.labels_)


def test_the_share_of_wrong_answers_is_learnt():
    X, y = blobs(120, k=3, spread=0.5, seed=1)
    shares = []
    for noise in (0.0, 0.1):
        with Session(X, background=False, refit_every=None) as work:
            work.run(LabelOracle(y, noise=noise), 60)
            shares.append(work._strategy.state(work._context).stage.noise)
    assert shares[0] < 0.02 < 0.05 < shares[1] < 0.2


def test_answers_that_agree_are_all_believed():
    """Closeness never outweighs them while nothing contradicts them."""
    X, y = np.array([[0.0], [0.01], [0.02], [5.0], [5.01]]), [0, 1, 0, 2, 2]
    known = IncrementalClosure()
    for i, j in ((0, 1), (1, 3), (0, 2)):
        known.add(i, j, "same" if y[i] == y[j] else "different")
    labels = RepairModel(X, 0, "auto").at(known).labels
    assert labels[0] == labels[2] != labels[1]


def test_a_light_answer_yields_to_heavier_ones_and_to_closeness():
    """The sum of the log odds decides, not which answer came first; see `weigh`."""
    X = np.array([[0.0], [0.01], [0.02], [5.0], [5.01], [5.02]])
    for weight in (0.3, 2.5):
        known = IncrementalClosure()
        known.add(0, 3, "same", weight)
        for i, j in ((0, 4), (1, 3)):
            known.add(i, j, "different")
        for i, j in ((0, 1), (1, 2), (3, 4), (4, 5)):
            known.add(i, j, "same", 1.0)
        labels = RepairModel(X, 0, 0.1).at(known).labels
        assert (labels[0] == labels[3]) == (weight > 2)


def test_checks_end_and_no_pair_is_asked_twice():
    X, y = blobs(40, k=3)
    with Session(X, background=False) as work:
        n = work.run(LabelOracle(y, noise=0.2, random_state=1))
        pairs = [answer.question.pair for answer in work.snapshot().answers]
        assert n == len(pairs) == len(set(pairs)) < 40 * 39 // 2
        assert work.snapshot().progress.n_covered == 40


def test_a_check_says_that_it_is_one():
    X, y = blobs(60)
    with Session(X, Repair(noise=0.1), background=False, refit_every=None) as work:
        reasons = []
        for _ in range(25):
            question = work.ask()
            reasons.append(work.reason(question))
            if work._context.known.relation(*question) is not None:
                assert "checks earlier answers" in reasons[-1]
            work.tell(LabelOracle(y)(*question))
    assert any("checks earlier answers" in reason for reason in reasons)


def test_states_do_not_depend_on_what_was_asked_for_before():
    X, y = blobs(60)
    oracle, context, fresh = LabelOracle(y), QueryContext(X, None, 0), IncrementalClosure()
    strategy, model = Repair(), RepairModel(X, 0)
    questions = strategy.questions(context)
    question = next(questions)
    for _ in range(25):
        said = oracle(*question)
        context.known.add(*question, said)
        fresh.add(*question, said)
        question = questions.send(said)
        model.labels(context.known.history[:7])  # in between, an earlier one
        assert np.array_equal(model.at(fresh).labels, strategy.state(context).labels)
    assert np.array_equal(RepairModel(X, 0).at(fresh).labels, strategy.state(context).labels)


def test_reasons_are_sentences_with_counts():
    X, y = blobs(60)
    with Session(X, background=False) as work:
        for _ in range(20):
            question = work.ask()
            reason = work.reason(question)
            assert any(letter.isdigit() for letter in reason)
            assert len(reason) < 150  # two lines of a terminal
            work.tell(LabelOracle(y)(*question))


def test_a_given_number_of_clusters_is_kept():
    X, _ = blobs(50, k=4)
    for k in (1, 2, 5, 50):
        assert len(set(RepairedClustering(k).fit_predict(X))) == k
    known = Constraints(cannot_link=[(0, 1), (1, 2), (0, 2)])
    assert len(set(RepairedClustering(2).fit_predict(X, constraints=known))) >= 3


def test_large_data_are_taken_in_parts_that_answers_split():
    X, y = blobs(2500, k=3)
    told = [[0, 1], [2]]
    whole = make_parts(X, 50)
    parts = split_parts(X, whole, told)
    mean = [X[parts.of_row == part].mean(axis=0) for part in range(parts.n_parts)]
    assert np.allclose(parts.center, mean)
    assert len({int(parts.of_row[row]) for row in (0, 2)}) == 2
    assert np.array_equal(parts.of_row[parts.row], np.arange(parts.n_parts))
    assert parts.weight.sum() == 2500
    state = RepairModel(X, 0).at(IncrementalClosure())
    assert len(state.labels) == len(y)
    assert state.labels.max() > 0


def test_very_large_data_are_divided_like_a_sample_of_them():
    X, y = blobs(12_000, k=3, spread=0.5)
    parts = make_parts(X)
    assert 1_000 < parts.n_parts <= 1_500
    assert all(len(set(y[parts.of_row == part])) == 1 for part in range(0, parts.n_parts, 50))


@pytest.mark.parametrize("noise", [-0.1, 0.5, "yes", None, float("nan")])
def test_wrong_noise_is_refused(noise):
    with pytest.raises(ValueError, match="noise"):
        Repair(noise=noise)
    with pytest.raises(ValueError, match="noise"):
        RepairedClustering(noise=noise).fit([[0.0], [1.0]])


def test_answers_that_nothing_tests_say_nothing_about_wrong_ones():
    untested = fold_history([(0, row, "same", 1.0) for row in range(1, 40)])
    tested = fold_history([(a, b, "same", 1.0) for a in range(9) for b in range(a)])
    at_first = share_of_wrong(fold_history([]), 0)
    assert share_of_wrong(untested, 39) == pytest.approx(at_first)
    assert share_of_wrong(tested, 36) < at_first / 3
    assert share_of_wrong(tested, 40) == pytest.approx(0.1, abs=0.03)  # 4 are not believed
    assert share_of_wrong(tested, 80) == 0.15


def test_the_state_after_answers_were_taken_back_is_that_of_the_rest():
    X, y = blobs(80, k=3, spread=1.0, seed=2)
    context, oracle = QueryContext(X), LabelOracle(y, noise=0.15, random_state=0)
    questions = Repair().questions(context)
    question = next(questions)
    for _ in range(70):
        said = oracle(*question)
        context.known.add(*question, said)
        question = questions.send(said)
    history = context.known.history
    model = RepairModel(X, 0, "auto")
    for n in (70, 66, 69, 61, 65):
        known, fresh = fold_history(history[:n]), RepairModel(X, 0, "auto")
        one, two = model.at(known), fresh.at(fold_history(history[:n]))
        assert np.array_equal(one.labels, two.labels)
        assert one.curve == two.curve


def test_neighbors_vote_as_in_the_dense_formula():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(20, 2)), rng.normal(size=(20, 2)) + 4])
    family = np.where(rng.random(40) < 0.15, 20, np.repeat([0, 20], 20))
    told = rng.random(40) < 0.2
    parts = make_parts(X)
    dense, votes = parts.walk.toarray(), np.zeros((40, 2))
    votes[np.arange(40), (family == 20).astype(int)] = np.where(told, 1.0, 0.3)
    F = votes.copy()
    for _ in range(20):
        F = 0.9 * dense @ F + 0.1 * votes
    cluster = follow_neighbors(parts, family, told)
    assert np.array_equal(cluster, np.where(told, family, np.where(F[:, 1] > F[:, 0], 20, 0)))
    assert (cluster != family).any()


def test_no_family_is_lost_to_its_neighbors():
    X = np.arange(10.0)[:, None]
    family = np.array([0, 0, 0, 0, 4, 0, 0, 0, 0, 0])
    cluster = follow_neighbors(make_parts(X), family, np.zeros(10, dtype=bool))
    assert np.array_equal(cluster, family)


def test_no_family_is_lost_when_another_one_comes_back():
    """Part 0 would go to the family of parts 1 and 2, and these to the told parts 3 and 4."""
    walk = np.array(
        [
            [0.0, 1.0, 1.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.04, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.04],
            [0.0, 0.0, 0.0, 1.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 1.0],
        ]
    )
    family, told = np.array([0, 1, 1, 3, 4]), np.arange(5) > 2
    cluster = follow_neighbors(SimpleNamespace(walk=walk), family, told)
    assert np.array_equal(cluster, family)


def test_rows_of_small_clusters_stay_in_the_tree():
    assert are_large(np.repeat([0, 30], 30))
    assert not are_large(np.repeat([0, 20, 40], 20))
    assert not are_large(np.zeros(10, dtype=int))
