"""The strategies: what they ask, what they never ask, and that a replay asks the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import entropy

from linkwise.active import (
    ExploreConsolidate,
    LabelOracle,
    MinMax,
    NextMerges,
    Question,
    RandomPairs,
    Repair,
    Session,
    Strategy,
)
from linkwise.active._incremental_closure import IncrementalClosure
from linkwise.active._neighborhood_strategies import (
    NormalizedPointUncertainty,
    normalized_uncertainty,
)
from linkwise.active._neighborhoods import Nearest, find_neighborhoods
from linkwise.active._settings import STRATEGIES
from linkwise.active._strategy import QueryContext

from .cases import NAMES, PLACING, blobs, pairs_asked, run, session, small, truth

# -------------------------------------------------------------------- the same for all


@pytest.mark.parametrize("name", NAMES)
def test_a_replay_asks_the_same_question_after_every_answer(name):
    X, y = blobs(20)
    oracle = LabelOracle(y, noise=0.1, unsure=0.1)
    live, told = session(X, name), []
    for _ in range(30):
        question = live.ask()
        if question is None:
            break
        again = session(X, name)  # a new session that is told the same answers, not asked first
        for asked, said in told:
            again.tell(said, asked)
        assert again.ask() == question
        told.append((question, oracle(*question)))
        live.tell(told[-1][1])


@pytest.mark.parametrize("name", NAMES)
def test_a_generator_sent_all_answers_ends_where_a_new_one_begins(name):
    """The contract: the next question depends on the context alone, not on the generator's past."""
    X, y = blobs(25)
    oracle = LabelOracle(y, unsure=0.1)
    context = QueryContext(X, 3, seed=1)
    questions = small(name).questions(context)
    question = next(questions)
    for _ in range(80):
        said = oracle(*question)
        context.known.add(*question, said)
        try:
            question = questions.send(said)
        except StopIteration:
            assert next(small(name).questions(context), None) is None
            return
        assert question == next(small(name).questions(context))
        assert question == questions.send(None)  # asked to look again, it asks the same
    assert name in ("RandomPairs", "ClosestPairs", "FarthestPairs")  # these take more questions


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "oracle", [{}, {"noise": 0.2}, {"unsure": 0.3}, {"noise": 0.1, "unsure": 0.2}]
)
def test_nothing_decided_or_unsure_is_asked_and_the_end_is_clean(name, oracle):
    X, y = blobs(24)
    strategy = Repair(noise=0.0) if name == "Repair" else name  # else it checks some answers
    work = session(X, strategy, refit_every=10 if "Norm" in name else None)
    answers = LabelOracle(y, **oracle)
    seen = set()
    while (question := work.ask()) is not None:
        relation = work.constraints.closure().relation(*question)
        assert relation is None
        assert question.pair not in seen
        seen.add(question.pair)
        assert not work.tell(answers(*question))
    assert work.ask() is None
    assert work.ask(5) == []
    assert work.constraints.closure().consistent
    if not oracle:
        assert sorted(map(len, work.snapshot().neighborhoods)) == sorted(np.bincount(y).tolist())
        assert all(len(classes) == 1 for classes in truth(work, y))


@pytest.mark.parametrize("name", NAMES)
def test_an_oracle_that_is_always_unsure(name):
    X, _ = blobs(9)
    work = session(X, name, refit_every=None if "Norm" not in name else 10)
    assert work.run(lambda i, j: "unsure") == 9 * 8 // 2  # every pair once, and then the end
    assert len(set(pairs_asked(work))) == 36
    assert not work.constraints


@pytest.mark.parametrize("name", NAMES)
def test_more_clusters_than_classes(name):
    X, y = blobs(20, k=2)
    work = run(X, y, name, n_clusters=5)
    assert work.ask() is None
    assert len(work.snapshot().neighborhoods) == 2
    assert sorted(map(len, work.snapshot().neighborhoods)) == sorted(np.bincount(y).tolist())


@pytest.mark.parametrize("name", NAMES)
def test_fewer_clusters_than_classes_is_noticed(name):
    X, y = blobs(20, k=4, spread=0.5)
    work = run(X, y, name, n_clusters=2)
    assert work.ask() is None
    if name not in PLACING:  # those infer the last group, as K is known to them
        assert work.snapshot().progress.n_groups == 4
        assert "4 groups that are all different, more than the 2" in work.snapshot().progress.hint


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n_clusters", [1, 2, 3, None])
def test_repeated_rows(name, n_clusters):
    X = np.repeat([[0.0, 1.0], [5.0, 2.0]], 6, axis=0)
    y = np.repeat([0, 1], 6)
    work = run(X, y, name, n_clusters=n_clusters)
    assert work.ask() is None
    if n_clusters != 1 or name not in PLACING:
        assert sorted(map(len, work.snapshot().neighborhoods)) == [6, 6]
    same = run(np.zeros((5, 2)), [0, 0, 0, 1, 1], name, n_clusters=n_clusters)
    assert same.ask() is None


@pytest.mark.parametrize("name", NAMES)
def test_a_single_row_leaves_nothing_to_ask(name):
    assert session([[1.0]], name, n_clusters=1).ask() is None
    assert session([[1.0]], name, n_clusters=None).ask() is None


@pytest.mark.parametrize("name", NAMES)
def test_sparse_and_dense_rows_lead_to_the_same_questions(name):
    X, y = blobs(20)
    X = np.maximum(X, 0).round()  # exact sums, so that ties fall the same way
    dense, thin = run(X, y, name, 30), run(sparse.csr_matrix(X), y, name, 30)
    assert pairs_asked(dense) == pairs_asked(thin)


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_asks_different_questions_and_the_first_is_the_usual_one(name):
    X, y = blobs(30)
    work = session(X, name)
    work.run(LabelOracle(y), 25)
    first = work.ask()
    batch = work.ask(4)
    assert batch[0] == first
    assert len({question.pair for question in batch}) == len(batch) == 4
    if name in PLACING:  # no two people are asked about one row at a time
        assert len({question.i for question in batch}) == 4
    work.run(LabelOracle(y), batch=4)
    assert work.ask() is None
    assert all(len(classes) == 1 for classes in truth(work, y))


@given(st.integers(0, 10_000), st.sampled_from(NAMES), st.sampled_from([None, 2, 3, 4]))
@settings(max_examples=40)
def test_undoing_and_answering_again_leads_to_the_same_questions(seed, name, n_clusters):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(12, 2)).round(int(rng.integers(0, 3))), rng.integers(0, 3, 12)
    oracle = LabelOracle(y, unsure=0.2, noise=0.1, random_state=seed)
    straight = session(X, name, n_clusters)
    straight.run(oracle, 20)
    crooked = session(X, name, n_clusters)
    for _ in range(3):
        crooked.run(
            lambda i, j: rng.choice(["same", "different", "unsure"]), int(rng.integers(1, 8))
        )
        crooked.undo(100)
    crooked.run(oracle, 20)
    assert pairs_asked(crooked) == pairs_asked(straight)
    assert crooked.ask() == straight.ask()


# -------------------------------------------------------------------- against the papers


def explore_by_the_paper(X, y, order):
    """Figure 3.4 word by word: farthest-first, each row compared until it has a place."""
    k, found, placed = len(set(y)), [[order[0]]], {order[0]}
    asked = 0
    while len(found) < k:
        distance = [
            -1.0 if row in placed else min(((X[row] - X[p]) ** 2).sum() for p in placed)
            for row in range(len(X))
        ]
        row = int(np.argmax(distance))
        home = next((group for group in found if y[group[0]] == y[row]), None)
        means = [((X[row] - X[group].mean(axis=0)) ** 2).sum() for group in found]
        nearer = sorted(range(len(found)), key=means.__getitem__)
        asked += len(found) if home is None else 1 + [found[h] is home for h in nearer].index(True)
        found.append([row]) if home is None else home.append(row)
        placed.add(row)
    return found, asked


@pytest.mark.parametrize("seed", range(6))
def test_explore_finds_what_the_paper_s_algorithm_finds(seed):
    X, y = blobs(60, k=4, seed=seed)
    work = Session(X, ExploreConsolidate(), n_clusters=4, random_state=seed, refit_every=None)
    wanted, asked = explore_by_the_paper(X, y, QueryContext(X, 4, seed).order.tolist())
    work.run(LabelOracle(y), asked)
    assert tuple(tuple(sorted(group)) for group in wanted) == work.snapshot().neighborhoods


@pytest.mark.parametrize("name", PLACING)
@pytest.mark.parametrize("k", [2, 3, 5])
def test_with_k_known_a_row_takes_at_most_k_minus_1_questions(name, k):
    """Claim H5, exactly: K - 1 suffice, since the last neighborhood is inferred."""
    X, y = blobs(50, k=k, spread=6.0)
    work = run(X, y, name, n_clusters=k)
    about = np.bincount([answer.i for answer in work.snapshot().answers], minlength=50)
    assert about.max() <= k - 1
    assert len(work.snapshot().neighborhoods) == k
    assert sum(map(len, work.snapshot().neighborhoods)) == 50
    assert all(len(classes) == 1 for classes in truth(work, y))
    assert bool(work.snapshot().inferred) == any(
        np.bincount([a.i for a in work.snapshot().answers]) == k - 1
    )
    assert (work.constraints + work.snapshot().inferred).closure().consistent


def test_consolidate_takes_rows_at_random_once_all_groups_are_found():
    X, y = blobs(60)
    work = session(X, refit_every=None)
    while len(work.snapshot().neighborhoods) < 3:
        work.run(LabelOracle(y), 1)
    context = QueryContext(X, 3, 0)
    placed = {row for group in work.snapshot().neighborhoods for row in group}
    wanted = [row for row in context.order.tolist() if row not in placed]
    work.run(LabelOracle(y))
    late = [answer.i for answer in work.snapshot().answers]
    assert list(dict.fromkeys(row for row in late if row in wanted)) == wanted


def test_unknown_number_of_clusters_is_explored_for_ever():
    X, y = blobs(40, k=5, spread=0.3)
    work = run(X, y, "ExploreConsolidate", n_clusters=None)
    assert len(work.snapshot().neighborhoods) == 5
    assert sum(map(len, work.snapshot().neighborhoods)) == 40
    assert not work.snapshot().inferred  # nothing can be inferred without K
    assert set(work.refit().labels.tolist()) == set(range(5))  # the model looks for as many


@pytest.mark.parametrize("width", [0.1, 1.0, 10.0])
def test_min_max_chooses_the_row_of_least_largest_similarity(width):
    X, y = blobs(40)
    work = session(X, MinMax(), refit_every=None)
    work.run(LabelOracle(y), 12)
    placed = [row for group in work.snapshot().neighborhoods for row in group]
    rest = np.setdiff1d(np.arange(40), placed)
    squared = ((X[rest][:, None] - X[placed][None]) ** 2).sum(axis=2)
    # Logarithms: the similarities themselves vanish for narrow Gaussians.
    largest = (-squared / (2 * width**2)).max(axis=1)
    question = work.ask()
    assert question.i == rest[np.argmin(largest)]
    closest = placed[int(np.argmin(((X[question.i] - X[placed]) ** 2).sum(axis=1)))]
    assert next(g for g in work.snapshot().neighborhoods if closest in g) == next(
        g for g in work.snapshot().neighborhoods if question.j in g
    )


def test_normalized_uncertainty_is_entropy_per_expected_question():
    rng = np.random.default_rng(0)
    chances = rng.dirichlet([0.3] * 4, size=50)
    chances[0], chances[1] = [1, 0, 0, 0], [0.25] * 4
    slow = [
        entropy(row) / sum(place * p for place, p in enumerate(sorted(row, reverse=True), 1))
        for row in chances
    ]
    np.testing.assert_allclose(normalized_uncertainty(chances), slow, atol=1e-12)


def test_uncertainty_takes_similarity_from_the_forest():
    from sklearn.ensemble import RandomForestClassifier

    X, y = blobs(60)
    strategy = NormalizedPointUncertainty(n_trees=7, max_samples=40)
    work = session(X, strategy)
    work.run(LabelOracle(y), 23)
    seen = session(X, strategy)  # what questions 20 to 29 are chosen with: the fit to 10 answers
    seen.run(LabelOracle(y), 10)
    forest = RandomForestClassifier(7, max_samples=40, random_state=0).fit(X, seen.fit_.labels)
    leaves = forest.apply(X)
    groups = work.snapshot().neighborhoods
    similarity = np.array(
        [[np.mean(leaves[row] == leaves[list(group)]) for group in groups] for row in range(60)]
    )
    chances = similarity / similarity.sum(axis=1, keepdims=True)
    placed = [row for group in groups for row in group]
    worth = normalized_uncertainty(chances)
    worth[placed] = -1
    question = work.ask()
    assert worth[question.i] == pytest.approx(worth.max())


def test_random_pairs_are_random():
    X = np.zeros((40, 1))
    asked = []
    for seed in range(400):
        work = Session(X, RandomPairs(), n_clusters=2, random_state=seed, refit_every=None)
        asked += work.ask()
        work.close()
    counts = np.bincount(asked, minlength=40)
    assert ((counts - 20) ** 2 / 20).sum() < 73  # chi-square, 39 degrees of freedom, 0.1 %


@pytest.mark.parametrize("name", ["ClosestPairs", "FarthestPairs"])
@pytest.mark.parametrize("max_rows", [7, 1000])
def test_pairs_by_distance(name, max_rows):
    X, _ = blobs(20)
    work = session(X, STRATEGIES[name](max_rows=max_rows), refit_every=None)
    work.run(lambda i, j: "unsure")
    asked = pairs_asked(work)
    assert len(set(asked)) == len(asked) == 190
    if max_rows == 1000:
        distance = [((X[i] - X[j]) ** 2).sum() for i, j in asked]
        assert distance == sorted(distance, reverse=name == "FarthestPairs")


# -------------------------------------------------------------------- pieces


@given(st.integers(0, 10_000))
def test_nearest_follows_a_changing_set_of_rows(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 2)).round(1)
    nearest = Nearest(X)
    for _ in range(6):
        rows = rng.choice(30, rng.integers(0, 12), replace=False).tolist()
        wanted = Nearest(X).to(rows).copy()
        assert np.array_equal(nearest.to(rows), wanted)  # to the last digit
        slow = [min([((x - X[r]) ** 2).sum() for r in rows], default=np.inf) for x in X]
        np.testing.assert_allclose(wanted, slow)


@pytest.mark.parametrize("bad", [{"n_trees": 0}, {"max_samples": 0}])
def test_wrong_parameters_are_refused(bad):
    with pytest.raises(ValueError, match="must be at least 1"):
        NormalizedPointUncertainty(**bad)


def test_a_strategy_of_one_s_own():
    class WithTheFirst(Strategy):
        def questions(self, context):
            for row in range(1, context.n_rows):
                while context.can_ask(row, 0):
                    yield Question(row, 0)

    X, y = blobs(8)
    work = session(X, WithTheFirst())
    assert work.run(LabelOracle(y)) == 7
    work.undo(3)
    assert work.ask() == (5, 0)


def test_components_that_are_apart_are_not_both_inferred_into_the_last_neighborhood():
    """2 and 3 are both apart from neighborhood 1, but also from each other."""
    known = IncrementalClosure()
    for i, j in [(0, 1), (2, 1), (3, 1), (2, 3)]:
        assert known.add(i, j, "different")
    found = find_neighborhoods(known, 2)
    inferred = [row for row, _ in found.inferred]
    assert len(inferred) <= 1
    for group in found.groups:
        assert not any(known.relation(a, b) == "different" for a in group for b in group)


@pytest.mark.parametrize("name", NAMES)
def test_every_question_says_why(name):
    X, y = blobs(30)
    with session(X, name, refit_every=10 if "Norm" in name else None) as work:
        for _ in range(12):
            asked = work.ask()
            reason = work.reason(asked)
            assert len(reason.split()) > 5
            assert not reason.endswith(".")
            work.tell(bool(y[asked.i] == y[asked.j]))
        assert work.reason(work.ask(set_size=5))


# -------------------------------------------------------------------- the next merges


def test_next_merges_asks_about_typical_rows_of_the_next_two_groups():
    X = np.array([[0.0], [0.2], [0.4], [10.0], [10.2], [10.4], [13.0], [13.2], [13.4]])
    context = QueryContext(X, 2, seed=0)
    strategy = NextMerges(n_groups=3)
    first = next(strategy.questions(context))
    assert first.pair == (4, 7)  # the middles of the two groups that complete link merges next
    context.known.add(*first, "different")
    second = next(strategy.questions(context))  # those two stay apart, whatever their distance
    assert second.pair in {(1, 4), (1, 7)}


def test_next_merges_finds_clusters_with_fewer_answers_than_random_pairs():
    X, y = blobs(60)
    scores = [
        sum(len(part) ** 2 for part in run(X, y, name, 20).snapshot().neighborhoods)
        for name in ("NextMerges", "RandomPairs")
    ]
    assert scores[0] > scores[1]
