"""AutoCluster: what it chooses, what it says, and what it does with little or wrong knowledge."""

from __future__ import annotations

import json
import time
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from linkwise import RCA, AutoCluster, BoostCluster, Constraints, MPCKMeans, PCKMeans, ReCon
from linkwise.constraints import most_wrong
from linkwise.geometry import one_hot_groups
from linkwise.kmeans.rows._local_rows import LocalRows
from linkwise.selection import _explain as _words
from linkwise.selection import _precompile as _warm
from linkwise.selection._candidates import Candidate
from linkwise.selection._noise import ReweightedClusterer
from linkwise.selection._scaling import ColumnScaler
from linkwise.selection._search import CandidateSearch, Trial
from tests.kmeans.cases import blobs, same_partition

FEW = [("PCK", PCKMeans(n_init=2)), ("k-means", KMeans(n_init=3))]


def drawn(n_links: int = 40, noise: float = 0.0, seed: int = 0) -> tuple:
    X, y = blobs(90, seed=seed)
    known = Constraints.from_labels(y, n_links, random_state=seed)
    return X, y, known.flip(noise, random_state=seed) if noise else known


def few(**options) -> AutoCluster:
    return AutoCluster(FEW, **{"n_clusters": range(2, 6), "random_state": 0, **options})


# -------------------------------------------------------------------- the choice


def test_finds_k_and_says_why():
    X, y, known = drawn()
    model = few().fit(X, constraints=known)
    assert model.n_clusters_ == 3
    assert model.criterion_ == "held-out constraints"
    assert same_partition(model.labels_, y)
    assert model.report_.reasons[0] == "Chosen: PCK, k = 3."
    assert "held back" in str(model.report_)
    assert model.results_[0]["held_out"] > 0.9
    assert sum(row["chosen"] for row in model.results_) == 1
    scores = [row["score"] for row in model.results_ if row["n_used"] == 5]
    assert scores == sorted(scores, reverse=True)
    assert len(model.results_) == 8
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_default_candidates_hidden_groups():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 40)
    X = np.column_stack([rng.normal(0, 5, 80), rng.normal(0, 5, 80), y + rng.normal(0, 0.1, 80)])
    known = Constraints.from_labels(y, 40, random_state=0)
    model = AutoCluster(n_clusters=2, n_folds=2, random_state=0).fit(X, constraints=known)
    assert adjusted_rand_score(y, model.labels_) > 0.9
    names = {row["algorithm"] for row in model.results_}
    assert {"k-means", "PCK-Means", "MPCK-Means", "COP-KMeans", "BoostCluster"} < names
    assert {"HMRF-KMeans", "ReCon", "kernel k-means", "spectral learning"} < names
    assert {"standardized", "as is", "RCA", "ITML"} == {
        row["preprocessing"] for row in model.results_
    }
    json.dumps(model.report_.to_dict(), allow_nan=False)


def test_never_below_k_means_by_its_own_score():
    for seed in range(4):
        X, _, known = drawn(30, 0.3, seed)
        model = few().fit(X, constraints=known)
        plain = [row["score"] for row in model.results_ if row["algorithm"] == "k-means"]
        assert model.best_score_ >= np.nanmax(plain)


def test_k_means_is_added():
    X, _, known = drawn()
    model = AutoCluster([PCKMeans()], 3, random_state=0).fit(X, constraints=known)
    assert {row["algorithm"] for row in model.results_} == {"PCKMeans", "k-means"}


@pytest.mark.parametrize(("k", "n_links"), [(2, 60), (2, 150), (2, 600), (3, 60), (3, 200)])
def test_what_closure_answers_gives_no_advantage(k, n_links):
    """A candidate that only repeats what follows from its training does not beat a guess."""
    X = np.random.default_rng(0).normal(size=(120, 3))  # no structure at all
    y = np.arange(120) % k
    known = Constraints.from_labels(y, n_links, random_state=0)
    model = AutoCluster([_Parrot()], k, random_state=0).fit(X, constraints=known)
    parrot = next(row for row in model.results_ if row["algorithm"] == "_Parrot")
    assert parrot["satisfied"] > 0.95
    assert parrot["held_out"] < 0.65


class _Parrot(ClusterMixin, BaseEstimator):
    """Keeps what it is told and what follows; guesses the rest."""

    def __init__(self, n_clusters=2, random_state=None):
        self.n_clusters = n_clusters
        self.random_state = random_state

    def fit(self, X, y=None, *, constraints=None):
        count = constraints.diagnose(self.n_clusters).clusters
        self.labels_ = np.random.RandomState(self.random_state).randint(
            self.n_clusters, size=len(X)
        )
        for row, label in (count.example or {}).items():
            self.labels_[row] = label
        return self


def test_reproducible_under_a_seed_and_in_parallel():
    X, _, known = drawn(30, 0.1)
    a, b, c = (few(n_jobs=n).fit(X, constraints=known) for n in (None, None, 2))
    for other in (b, c):
        np.testing.assert_array_equal(a.labels_, other.labels_)
        for mine, theirs in zip(a.results_, other.results_, strict=True):
            assert without_seconds(mine) == without_seconds(theirs)


def without_seconds(row: dict) -> dict:
    return {name: str(value) for name, value in row.items() if name != "seconds"}


def test_other_peoples_clusterers_and_pipelines():
    X, y, known = drawn(60)
    candidates = [
        AgglomerativeClustering(),
        GaussianMixture(),
        make_pipeline(StandardScaler(), RCA(), MPCKMeans()),
        BoostCluster(KMeans(n_init=2), 3),
        ("linked", make_pipeline(StandardScaler(), AgglomerativeClustering(linkage="average"))),
    ]
    model = AutoCluster(candidates, [2, 3], random_state=0).fit(X, constraints=known)
    assert same_partition(model.labels_, y)
    assert {row["note"] for row in model.results_} <= {"", "dropped: clearly worse"}
    assert len(model.results_) == 12


def test_ids_frames_and_labels():
    pd = pytest.importorskip("pandas")
    X, y, known = drawn(40)
    names = [f"row {i}" for i in range(90)]
    by_id = Constraints(
        must_link=[(names[i], names[j]) for i, j in known.must_link.tolist()],
        cannot_link=[(names[i], names[j]) for i, j in known.cannot_link.tolist()],
    )
    frame = pd.DataFrame(X, index=names, columns=list("abc"))
    a, b = few().fit(frame, constraints=by_id), few().fit(X, constraints=known)
    np.testing.assert_array_equal(a.labels_, b.labels_)
    seeds = np.where(np.arange(90) < 30, y, -1)
    assert few().fit(X, seeds).n_clusters_ == 3
    assert few().fit(X, seeds).criterion_ == "held-out constraints"


def test_least_number_of_clusters_comes_from_the_diagnosis():
    X, _ = blobs(60)
    apart = [(i, j) for i in range(5) for j in range(i)]
    model = AutoCluster([PCKMeans(n_init=1)], random_state=0).fit(
        X, constraints=Constraints(cannot_link=apart)
    )
    assert min(row["n_clusters"] for row in model.results_) == 5


@pytest.mark.parametrize(
    "base", [ReCon(2, linkage="single"), AgglomerativeClustering(linkage="single")]
)
def test_clusterers_without_an_objective_can_be_chosen(base):
    angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    X, y = np.concatenate([ring, 5 * ring]), np.repeat([0, 1], 60)
    known = Constraints.from_labels(y, 60, random_state=0)
    model = AutoCluster([("merging", base)], 2, random_state=0).fit(X, constraints=known)
    assert model.report_.reasons[0] == "Chosen: merging, k = 2."
    assert same_partition(model.labels_, y)
    assert model.report_.objective is None
    json.dumps(model.report_.to_dict(), allow_nan=False)


def test_sparse_words():
    from scipy import sparse

    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    X = sparse.csr_matrix(rng.poisson(np.where(np.arange(8) // 4 == y[:, None], 3.0, 0.3)) + 0.0)
    known = Constraints.from_labels(y, 30, random_state=0)
    model = AutoCluster(n_clusters=[2, 3], random_state=0).fit(X, constraints=known)
    assert adjusted_rand_score(y, model.labels_) > 0.9


# -------------------------------------------------------------------- little knowledge


@pytest.mark.parametrize(
    "known",
    [
        None,
        Constraints(must_link=[(0, 3)]),
        Constraints(must_link=[(3 * i, 3 * i + 3) for i in range(20)]),
        Constraints(cannot_link=[(3 * i, 3 * i + 1) for i in range(20)]),
    ],
    ids=["none", "one", "only must", "only cannot"],
)
def test_too_few_for_folds_falls_back_and_says_so(known):
    y = np.arange(90) % 3
    X = np.array([[0.0, 0.0], [9.0, 0.0], [4.5, 8.0]])[y]
    X += np.random.default_rng(0).normal(size=X.shape)
    model = few().fit(X, constraints=known)
    assert model.criterion_ == "stability"
    assert "Too few independent constraints" in str(model.report_)
    assert np.isnan(model.noise_)
    assert same_partition(model.labels_, y)


@pytest.mark.parametrize("n_links", [0, 30])
def test_description_length_finds_k(n_links, tmp_path):
    X, y, known = drawn(n_links)
    model = few(criterion="description_length", checkpoint=tmp_path / "log")
    model.fit(X, constraints=known)
    assert model.criterion_ == "description length"
    assert model.n_clusters_ == 3
    assert same_partition(model.labels_, y)
    assert "nats per row" in str(model.report_)
    again = few(criterion="description_length", checkpoint=tmp_path / "log")
    assert again.fit(X, constraints=known).best_score_ == model.best_score_


def test_description_length_needs_dense_rows_and_a_known_name():
    with pytest.raises(ValueError, match="needs dense rows"):
        few(criterion="description_length").fit(sparse.csr_matrix(np.eye(20)))
    with pytest.raises(ValueError, match="criterion"):
        few(criterion="silhouette").fit(np.eye(20))


def test_without_links_what_would_be_k_means_again_is_not_tried():
    X, _ = blobs(60)
    model = AutoCluster(n_clusters=3, n_folds=2, random_state=0).fit(X)
    names = {row["algorithm"] for row in model.results_}
    assert {"k-means", "MPCK-Means", "HMRF-KMeans", "ReCon"} <= names
    assert not {"PCK-Means", "COP-KMeans", "BoostCluster"} & names
    assert {row["preprocessing"] for row in model.results_} <= {"standardized", "as is"}


# -------------------------------------------------------------------- wrong knowledge


def test_wrong_links_are_noticed_and_listed():
    X, y, right = drawn(120)
    known = right.flip(0.2, random_state=1)
    model = few().fit(X, constraints=known)
    assert 0.1 < model.noise_ < 0.3
    wrong = {str(known.at(p)) for p in range(known.n_constraints)}
    wrong -= {str(right.at(p)) for p in range(right.n_constraints)}
    listed = {str(link) for link in model.suspects_}
    assert len(listed & wrong) >= 0.9 * len(wrong)
    assert len(listed - wrong) <= 3
    assert any("doubts" in row["algorithm"] for row in model.results_)
    assert adjusted_rand_score(y, model.labels_) > 0.95
    assert "look wrong" in str(model.report_)


def test_right_links_are_not_doubted():
    X, _, known = drawn(120)
    model = few().fit(X, constraints=known)
    assert model.noise_ == 0
    assert model.suspects_ == ()
    assert not any("doubts" in row["algorithm"] for row in model.results_)


def test_constraints_that_confirm_each_other_are_not_doubted():
    """Nothing but mistakes of the candidates: classes without any structure, all links right."""
    y = np.arange(40) % 2
    dense = Constraints.from_labels(y, 400, random_state=0)
    assert most_wrong(dense) < 0.01
    assert most_wrong(Constraints(must_link=[(0, 1)], cannot_link=[(1, 2)])) == 1
    assert most_wrong(dense.flip(0.2, random_state=0)) == 1  # they contradict


def test_doubting_weighs_wrong_links_less():
    X, y, right = drawn(120)
    known = right.flip(0.2, random_state=1)
    model = ReweightedClusterer(PCKMeans(3), random_state=0).fit(X, constraints=known)
    pairs = [known.at(place) for place in range(known.n_constraints)]
    wrong = np.array([(y[p.rows[0]] == y[p.rows[1]]) != (p.kind == "must") for p in pairs])
    assert model.trust_[wrong].mean() < 0.2
    assert model.trust_[~wrong].mean() > 0.8


def test_contradictory_constraints():
    X, y = blobs(60)
    known = Constraints.from_labels(y, 40, random_state=0) + Constraints(
        must_link=[(0, 3), (3, 6)], cannot_link=[(0, 6)]
    )
    model = few().fit(X, constraints=known)
    assert "contradict" in str(model.report_)
    assert same_partition(model.labels_, y)


# -------------------------------------------------------------------- failures, time, interruptions


class _Broken(ClusterMixin, BaseEstimator):
    def __init__(self, n_clusters=2):
        self.n_clusters = n_clusters

    def fit(self, X, y=None):
        raise ValueError("out of order")


class _OnlyInPart(_Broken):
    """Works with some constraints, not with all of them."""

    def fit(self, X, y=None, *, constraints=None):
        if constraints.n_constraints == 40:
            raise ValueError("too many")
        self.labels_ = PCKMeans(3, random_state=0).fit(X, constraints=constraints).labels_
        return self


def test_failing_candidates_are_noted():
    X, _, known = drawn()
    model = AutoCluster([_Broken(), *FEW], 3, random_state=0).fit(X, constraints=known)
    row = next(row for row in model.results_ if row["algorithm"] == "_Broken")
    assert row["note"] == "ValueError: out of order"
    assert np.isnan(row["score"])
    assert "1 candidate failed" in str(model.report_)


def test_all_candidates_failing():
    X, _, known = drawn()
    with pytest.raises(ValueError, match=r"(?s)none of the 2 candidates.*out of order"):
        AutoCluster([_Broken(), KMeans(tol=-1.0)], 3).fit(X, constraints=known)


def test_what_fails_with_everything_gives_way_to_the_next():
    X, _, known = drawn()
    model = AutoCluster([_OnlyInPart(), *FEW], 3, random_state=0).fit(X, constraints=known)
    assert str(model.report_.reasons[0]) == "Chosen: PCK, k = 3."


def test_time_budget_drops_candidates_but_never_k_means():
    X, _, known = drawn()
    slow = [(f"slow {i}", _Slow(pause=0.1)) for i in range(10)]
    started = time.perf_counter()
    model = AutoCluster([*slow, *FEW], [2, 3], time_budget=3, random_state=0)
    model.fit(X, constraints=known)
    assert time.perf_counter() - started < 30
    said = str(model.report_)  # on a slow machine the first round is all there is time for
    assert "dropped to keep to the time" in said or "The time was enough for" in said
    assert any(row["algorithm"] == "k-means" and row["score"] > 0 for row in model.results_)
    assert any(row["n_used"] < 5 for row in model.results_)
    dropped = [row for row in model.results_ if row["note"] == "dropped: time"]
    assert all(row["n_used"] < 5 for row in dropped)


def test_short_of_time_nothing_below_k_means_is_taken(monkeypatch):
    class Coin(ClusterMixin, BaseEstimator):
        def fit(self, X, y=None):
            self.labels_ = np.random.RandomState(0).randint(3, size=len(X))
            return self

    def seconds(self, candidate):
        return 0.0 if candidate.algorithm == "coin" else 1e6

    monkeypatch.setattr(CandidateSearch, "seconds", seconds)
    X, _, known = drawn()
    both = [("coin", Coin()), ("k-means", KMeans(n_init=3))]
    model = AutoCluster(both, 3, time_budget=30, random_state=0).fit(X, constraints=known)
    assert str(model.report_.reasons[0]) == "Chosen: k-means, k = 3."


def test_the_clearly_worse_leave_the_race_and_the_choice_is_the_same():
    X, _, known = drawn(80)
    short, full = (few(race=race).fit(X, constraints=known) for race in (True, False))
    assert {row["n_used"] for row in full.results_} == {5}
    out = [row for row in short.results_ if row["note"] == "dropped: clearly worse"]
    assert out
    assert all(row["n_used"] < 5 and row["score"] < short.best_score_ for row in out)
    assert any(row["algorithm"] == "k-means" and row["n_used"] == 5 for row in short.results_)
    np.testing.assert_array_equal(short.labels_, full.labels_)
    assert "clearly worse" in str(short.report_)


def test_who_does_not_listen_is_fitted_once():
    X, _, known = drawn(60)
    fits = []

    class Counting(KMeans):
        def fit(self, X, y=None, sample_weight=None):
            fits.append(len(X))
            return super().fit(X, y, sample_weight)

    AutoCluster([("counting", Counting())], 3, random_state=0).fit(X, constraints=known)
    assert len(fits) == 2  # one for all folds, and the last


def test_no_time_at_all_still_gives_an_answer():
    X, _, known = drawn()
    reasons = few(time_budget=0).fit(X, constraints=known).report_.reasons
    assert reasons[0].startswith("Chosen")
    assert "Low confidence: only one fold finished; raise the time budget." in reasons


def test_compiling_is_done_before_the_clock_starts(monkeypatch):
    fitted = []
    monkeypatch.setattr(_warm, "fit", lambda model, X, known, rng: fitted.append((X, known)))
    X, _, known = drawn()
    few(time_budget=5).fit(X, constraints=known)
    ((rows, links),) = fitted  # of PCK once, of k-means never
    assert len(rows) < len(X)
    assert links.n_must_link
    assert links.n_cannot_link
    few().fit(X, constraints=known)
    assert len(fitted) == 1


def test_kernels_of_larger_fits_are_compiled_too(monkeypatch):
    calls = []
    for name in ("assign", "extremes"):
        real = getattr(LocalRows, name)

        def spy(self, *args, name=name, real=real):
            calls.append((name, *args[5:]))
            return real(self, *args)

        monkeypatch.setattr(LocalRows, name, spy)
    X, _, known = drawn()
    _warm.compile_first([Candidate("PCK", "", 3, PCKMeans(3, n_init=1), 0)], X, known)
    assert ("extremes",) in calls
    assert any(name == "assign" and bounds and bounds[0] is not None for name, *bounds in calls)


def test_the_largest_k_that_was_tried_is_noted():
    X, _, known = drawn()
    told = (
        "k = 3 is the largest that was tried; there may be more clusters: try "
        "n_clusters=(3, 12), or -k 3-12."
    )
    assert told in few(n_clusters=[2, 3]).fit(X, constraints=known).report_.reasons
    assert told not in few(n_clusters=3).fit(X, constraints=known).report_.reasons


def test_k_is_searched_upwards_as_long_as_links_ask_for_more():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 20
    X = rng.normal(size=(20, 12))[y] * 3 + rng.normal(size=(200, 12))
    must = [(i, i + 20) for i in range(0, 180, 2)]
    apart = [(i, i + 1) for i in range(0, 199, 2)]
    known = Constraints(must_link=must, cannot_link=apart)
    one = [PCKMeans(n_init=1)]
    model = AutoCluster(one, n_folds=3, random_state=0).fit(X, constraints=known)
    assert 15 <= model.n_clusters_ <= 28
    assert adjusted_rand_score(y, model.labels_) > 0.9
    tried = {row["n_clusters"] for row in model.results_}
    assert {2, 4, 8, 16, 32} <= tried
    limited = AutoCluster(one, (4, 10), n_folds=3, random_state=0).fit(X, constraints=known)
    tried = {row["n_clusters"] for row in limited.results_}
    assert min(tried) == 4
    assert max(tried) == 10
    k = limited.n_clusters_
    assert k >= 9
    assert any(f"-k {k}-{4 * k}" in reason for reason in limited.report_.reasons)


def test_large_data_is_tried_on_a_sample_and_fitted_on_everything():
    X, y = blobs(9000)
    known = Constraints.from_labels(y, 60, random_state=0)
    model = AutoCluster([PCKMeans()], [2, 3], n_folds=2, random_state=0).fit(X, constraints=known)
    assert len(model.labels_) == 9000
    assert adjusted_rand_score(y, model.labels_) > 0.95
    assert any("sample of 5,000 rows" in reason for reason in model.report_.reasons)


def test_the_result_says_how_sure_it_is_and_what_to_do_next():
    X, y, known = drawn(60)
    model = few().fit(X, constraints=known)
    (low, high), truth = model.expected_.ari_interval, adjusted_rand_score(y, model.labels_)
    assert low <= model.expected_.ari <= high
    assert low - 0.01 <= truth <= high + 0.01  # nearly all pairs are decided
    assert 0.9 < model.expected_.pairs_right <= 1
    assert "Expected adjusted Rand index" in str(model.report_)
    assert model.report_.next_step.startswith("Next: ")
    assert model.report_.to_dict()["expected"]["ari"] == model.expected_.ari
    without = few().fit(X)
    assert not without.expected_.is_known
    assert "give links" in without.report_.next_step


def test_results_are_rows_columns_and_a_frame():
    pytest.importorskip("pandas")
    X, _, known = drawn()
    found = few().fit(X, constraints=known).results_
    assert found["score"][0] == found[0]["score"]
    frame = found.to_frame()
    assert list(frame.columns) == found.columns
    assert len(frame) == len(found)
    assert "<table>" in found._repr_html_()


def test_progress_bar_moves(monkeypatch):
    from linkwise.selection import _progress

    with _progress.progress_bar(True) as move:
        move(1, 2, "a [candidate]")
    with _progress.progress_bar(False) as none:
        assert none is None
    X, _, known = drawn()
    few(progress=True, n_clusters=3).fit(X, constraints=known)


def test_equals_with_other_clusters_make_a_choice_weak():
    one, two, three = candidates = [Candidate(name, "", 3, None, 0) for name in "abc"]
    answers = {one: [True, False], two: [True, False], three: [False, False]}
    work = SimpleNamespace(
        trials={c: [Trial(np.zeros(0, bool), np.array(answers[c]))] for c in candidates},
        n_complete=2,
        folds=[None, None],
    )
    ranking = SimpleNamespace(order=candidates, scores=[0.5] * 3, best_score=0.5, work=work)
    (told,) = _words._weak(one, ranking)
    assert told.startswith("The choice is weak: 1 candidate with other clusters has the same score")
    work.trials[three] = work.trials[one]
    assert not list(_words._weak(one, ranking))


class _Slow(PCKMeans):
    def __init__(self, n_clusters=2, *, pause=0.0, random_state=None):
        super().__init__(n_clusters, random_state=random_state)
        self.pause = pause

    def get_params(self, deep=True):
        return {
            "n_clusters": self.n_clusters, "pause": self.pause, "random_state": self.random_state
        }  # fmt: skip

    def fit(self, X, y=None, *, constraints=None):
        time.sleep(self.pause)
        return super().fit(X, y, constraints=constraints)


def test_interrupted_and_resumed(tmp_path):
    X, _, known = drawn(30, 0.1)
    file = tmp_path / "search.jsonl"
    done = []

    def interrupt(n_done, n_total, candidate):
        done.append(candidate)
        if n_done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        few(checkpoint=file, callback=interrupt).fit(X, constraints=known)
    with file.open("a") as out:
        out.write('["cut off')  # as a crash may leave it
    again = []
    model = few(checkpoint=file, callback=lambda *told: again.append(told))
    model.fit(X, constraints=known)
    assert again[0][0] == 6
    assert again[0][1] == 40
    np.testing.assert_array_equal(model.labels_, few().fit(X, constraints=known).labels_)
    third = []
    few(checkpoint=file, callback=lambda *told: third.append(told)).fit(X, constraints=known)
    assert third == []
    few(checkpoint=file, callback=lambda *told: third.append(told)).fit(X + 1, constraints=known)
    assert third  # other data is another search


def test_verbose(capsys):
    X, _, known = drawn()
    AutoCluster([PCKMeans(3)], 3, verbose=1, n_folds=2, random_state=0).fit(X, constraints=known)
    assert "4 of 4: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"candidates": "all"}, 'expected "default" or a list'),
        ({"candidates": 3}, "list of clusterers"),
        ({"candidates": [PCKMeans]}, "is a class"),
        ({"n_clusters": []}, "n_clusters is empty"),
        ({"n_clusters": 0}, "at least 1"),
        ({"n_clusters": 1000}, "n_samples=90 should be >= n_clusters=1000"),
        ({"n_clusters": (5, 2)}, "the first should be the least"),
        ({"n_clusters": (100, 200)}, "n_samples=90 should be >= n_clusters=100"),
        ({"n_folds": 1}, "at least 2"),
        ({"time_budget": -1}, "at least 0"),
        ({"checkpoint": "x", "random_state": None}, "integer random_state"),
    ],
)
def test_wrong_parameters(options, message):
    X, _, known = drawn()
    with pytest.raises((ValueError, TypeError), match=message):
        few().set_params(**options).fit(X, constraints=known)


def test_plot(tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    X, _, known = drawn()
    ax = few().fit(X, constraints=known).plot()
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert "chosen: PCK, k = 3" in labels
    ax.figure.savefig(tmp_path / "choice.png")


def test_the_report_names_rows_by_their_ids():
    X, y = blobs(60)
    names = [f"id{row}" for row in range(60)]
    rows = Constraints.from_labels(y, 40, random_state=0)
    known = Constraints(
        must_link=[(names[i], names[j]) for i, j in [*rows.must_link.tolist(), (0, 59)]],
        cannot_link=[(names[i], names[j]) for i, j in rows.cannot_link.tolist()],
    )
    model = AutoCluster([PCKMeans()], 2, n_folds=2, random_state=0)
    model.fit(X, constraints=known, sample_ids=names)
    assert set(model.report_.to_frame()["i"]) <= set(names)
    assert model.report_.ids == names


def test_a_category_counts_as_much_as_a_number():
    rng = np.random.default_rng(0)
    kind, flag = rng.integers(0, 4, 80), rng.integers(0, 2, 80)
    number = rng.normal(3.0, 20.0, 80)
    X = np.column_stack([number, np.eye(4)[kind], flag, np.full(80, 5.0)])
    scaler = ColumnScaler().fit(X)
    assert scaler.groups_ == [(1, 5)]
    variance = scaler.transform(X).var(axis=0)
    np.testing.assert_allclose(variance[[0, 5, 6]], [1.0, 1.0, 0.0])
    assert variance[1:5].sum() == pytest.approx(1.0)
    assert one_hot_groups(np.column_stack([flag, 1 - flag, np.eye(4)[kind]])) == [
        (0, 2), (2, 6)
    ]  # fmt: skip
