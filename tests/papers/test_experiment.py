"""Learning curves: the same draws for all methods, no leak, resuming, recomputing."""

from __future__ import annotations

import csv
import json
import warnings

import matplotlib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import DBSCAN, KMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from linkwise import Constraints, PCKMeans, ReCon
from linkwise.evaluation import score
from papers.experiment import PROTOCOLS, LearningCurve, Protocol, learning_curve

matplotlib.use("Agg")


@pytest.fixture(scope="module")
def blobs():
    y = np.arange(45) % 3
    X = np.array([[0.0, 0.0], [4.0, 0.0], [2.0, 3.0]])[y]
    return X + np.random.default_rng(0).normal(size=X.shape), y


class Spy(ClusterMixin, BaseEstimator):
    """Notes what it is told, and takes the first feature's sign for clusters."""

    seen: list = []  # noqa: RUF012

    def __init__(self, name="a", random_state=None):
        self.name = name
        self.random_state = random_state

    def fit(self, X, y=None, *, constraints=None):
        Spy.seen.append((self.name, constraints, self.random_state, len(X)))
        self.labels_ = (X[:, 0] > 2).astype(int)
        self.n_told_ = constraints.n_constraints
        return self


class Fails(Spy):
    def fit(self, X, y=None, *, constraints=None):
        if constraints.n_constraints > 5:
            raise RuntimeError("too\nmuch")
        return super().fit(X, constraints=constraints)


@pytest.fixture
def seen():
    Spy.seen.clear()
    return Spy.seen


SMALL = Protocol(n_trials=2, n_folds=3)
METHODS = {"k-means": KMeans(3, n_init=2), "PCK": PCKMeans(3, penalty="distance", n_init=1)}


def pairs(known):
    return known.must_link.tolist(), known.cannot_link.tolist(), known.relative.tolist()


# -------------------------------------------------------------------- the protocol


def test_all_methods_see_the_same_and_nothing_of_the_test_fold(blobs, seen):
    curve = learning_curve({"a": Spy("a"), "b": Spy("b")}, *blobs, [0, 12], SMALL)
    ours, theirs = ([entry for entry in seen if entry[0] == name] for name in "ab")
    assert len(ours) == len(theirs) == 12
    for one, other in zip(ours, theirs, strict=True):
        assert pairs(one[1]) == pairs(other[1])
        assert one[2] == other[2]
        assert one[3] == 45  # everything is clustered
    for trial in range(2):
        tests = [curve.draw(12, trial, fold).test for fold in range(3)]
        assert sorted(np.concatenate(tests).tolist()) == list(range(45))
        for fold in range(3):
            draw = curve.draw(12, trial, fold)
            used = {row for kind in pairs(draw.constraints) for link in kind for row in link}
            assert draw.constraints.n_constraints == 12
            assert used <= set(draw.train.tolist())
            assert not used & set(draw.test.tolist())
            assert np.bincount(blobs[1][draw.test]).tolist() == [5, 5, 5]  # stratified


def test_the_test_fold_is_what_is_scored(blobs):
    X, y = blobs
    curve = learning_curve(METHODS, X, y, [9], SMALL, scoring=["ari", "nmi_all", "satisfied"])
    draw = curve.draw(9, 1, 2)
    model = PCKMeans(3, penalty="distance", n_init=1, random_state=0)
    again = curve.recompute("PCK", 9, 1, 2)
    assert again["ari"] == curve.values("ari")[1, 0, 1, 2]
    seed = np.random.RandomState(draw.seed).randint(np.iinfo(np.int32).max)
    labels = model.set_params(random_state=seed).fit_predict(X, constraints=draw.constraints)
    assert again["ari"] == score(y, labels, rows=draw.test).ari
    assert again["nmi_all"] == score(y, labels).nmi
    assert again["satisfied"] == score(y, labels, constraints=draw.constraints).satisfied


@pytest.mark.parametrize(
    ("kind", "counts"),
    [("balanced", (5, 5, 0)), ("triplets", (0, 0, 10)), ("informative", (0, 0, 10))],
)
def test_kinds_of_constraints(blobs, seen, kind, counts):
    learning_curve(Spy(), *blobs, 10, Protocol(1, 2, kind=kind))
    for _, known, *_ in seen:
        assert (known.n_must_link, known.n_cannot_link, known.n_relative) == counts


def test_noise_makes_that_share_wrong(blobs, seen):
    X, y = blobs
    learning_curve(Spy(), X, y, 20, Protocol(2, 2, noise=0.2))
    for _, known, *_ in seen:
        wrong = np.sum(y[known.must_link[:, 0]] != y[known.must_link[:, 1]])
        wrong += np.sum(y[known.cannot_link[:, 0]] == y[known.cannot_link[:, 1]])
        assert wrong == 4


def test_one_fold_holds_nothing_back(blobs):
    curve = learning_curve(Spy(), *blobs, 10, PROTOCOLS["liu2007"].but(n_trials=1))
    draw = curve.draw(10, 0, 0)
    assert draw.train.tolist() == draw.test.tolist() == list(range(45))


def test_constraints_of_ones_own_must_not_leak(blobs):
    def first(X, y, rows, n, random_state):
        return Constraints(must_link=[(rows[0], rows[1])])

    def leak(X, y, rows, n, random_state):
        return Constraints(must_link=[(0, row) for row in range(1, len(y))])

    curve = learning_curve(Spy(), *blobs, 1, Protocol(1, 2, kind=first))
    assert curve.draw(1, 0, 0).constraints.n_must_link == 1
    with pytest.raises(ValueError, match="held back for the score"):
        learning_curve(Spy(), *blobs, 1, Protocol(1, 2, kind=leak))


def test_draws_do_not_depend_on_what_else_is_asked(blobs):
    few = learning_curve(METHODS, *blobs, [10], SMALL)
    many = learning_curve(METHODS, *blobs, [5, 10], SMALL.but(n_trials=3))
    assert pairs(few.draw(10, 1, 1).constraints) == pairs(many.draw(10, 1, 1).constraints)
    same = many.values("ari", 10)[:, :, :2]
    assert np.array_equal(few.values("ari"), same)
    assert pairs(few.draw(10, 1, 1).constraints) != pairs(few.draw(10, 0, 1).constraints)


def test_frames_sparse_data_pipelines_and_minus_one_as_a_class(blobs):
    import pandas

    X, y = blobs
    frame = pandas.DataFrame(X, index=np.arange(45)[::-1])  # constraints still go by position
    plain = learning_curve(METHODS, X, y, [10], SMALL)
    assert np.array_equal(
        learning_curve(METHODS, frame, y - 1, [10], SMALL).values("ari"), plain.values("ari")
    )
    learning_curve(METHODS, sparse.csr_array(X), y, [10], Protocol(1, 2))
    piped = {"piped": make_pipeline(StandardScaler(), PCKMeans(3, n_init=1))}
    curve = learning_curve(piped, X, y, [20], SMALL, scoring="satisfied")
    assert curve.mean("satisfied")[0, 0] > 0.8


def test_parallel_and_one_after_the_other_agree(blobs):
    one = learning_curve(METHODS, *blobs, [0, 10], SMALL)
    two = learning_curve(METHODS, *blobs, [0, 10], SMALL, n_jobs=2)
    assert np.array_equal(one.values("ari"), two.values("ari"))
    assert list(one.points) == list(two.points)  # in the same order


# -------------------------------------------------------------------- files


class Stopped(Exception):
    pass


def stop_at(number):
    def callback(n_done, n_total):
        if n_done >= number:
            raise Stopped

    return callback


def without_time(curve):
    return curve.frame.drop(columns="seconds")


def test_a_run_that_was_stopped_goes_on(blobs, tmp_path, seen):
    whole = learning_curve({**METHODS, "spy": Spy()}, *blobs, [0, 10], SMALL)
    seen.clear()
    file = tmp_path / "new" / "curve.csv"
    methods = {**METHODS, "spy": Spy()}
    with pytest.raises(Stopped):
        learning_curve(methods, *blobs, [0, 10], SMALL, file=file, callback=stop_at(10))
    assert len(seen) == 4  # three methods a draw: 12 points are there
    assert json.loads(file.with_suffix(".json").read_text())["points"] == 12
    with file.open("a") as cut:
        cut.write("PCK,10,1,2,0.123")  # a crash in the middle of a line
    resumed = learning_curve(methods, *blobs, [0, 10], SMALL, file=file)
    assert len(seen) == 12  # nothing was done twice
    assert without_time(resumed).equals(without_time(whole))
    again = learning_curve(methods, *blobs, [0, 10], SMALL, file=file)
    assert again.frame.equals(resumed.frame)  # nothing is left to do: even the times agree
    assert len(seen) == 12
    read = LearningCurve.read(file)
    assert np.array_equal(read.values("ari"), whole.values("ari"))
    with pytest.raises(ValueError, match="does not hold the data"):
        read.recompute("PCK", 10)


def test_more_methods_trials_and_numbers_take_what_is_there(blobs, tmp_path, seen):
    file = tmp_path / "curve.csv"
    learning_curve({"spy": Spy()}, *blobs, [10], SMALL, file=file)
    assert len(seen) == 6
    more = {"spy": Spy(), **METHODS}
    curve = learning_curve(more, *blobs, [0, 10], SMALL.but(n_trials=3), file=file)
    assert len(seen) == 3 * 2 * 3
    told = json.loads(file.with_suffix(".json").read_text())
    assert told["points"] == len(curve.points) == 54
    assert told["versions"]["scikit-learn"]
    assert set(told["methods"]) == set(more)
    with file.open() as lines:
        assert len(list(csv.reader(lines))) == 55
    fewer = learning_curve({"spy": Spy()}, *blobs, [10], SMALL, file=file)
    assert len(fewer.points) == 6


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": 1.0}, "another run: the data"),
        ({"protocol": Protocol(2, 3, noise=0.1)}, "another run: the protocol"),
        ({"random_state": 1}, "another run: the random state"),
        ({"scoring": "nmi"}, "another run: what is recorded"),
        ({"methods": {"PCK": PCKMeans(2)}}, "another run: n_clusters of PCK was '3'"),
        ({"methods": {"PCK": KMeans(3)}}, "another run: the class of PCK"),
    ],
)
def test_a_file_of_another_run_is_refused(blobs, tmp_path, change, message):
    X, y = blobs
    file = tmp_path / "curve.csv"
    learning_curve(METHODS, X, y, [5], SMALL, scoring="ari", file=file)
    before = file.read_bytes()
    asked = {"protocol": SMALL, "scoring": "ari", "methods": METHODS, "X": 0.0, **change}
    with pytest.raises(ValueError, match=message):
        learning_curve(
            asked.pop("methods"), X + asked.pop("X"), y, [5], file=file, **asked
        )  # fmt: skip
    assert file.read_bytes() == before


def test_sparse_data_is_known_again(blobs, tmp_path):
    X, y = blobs
    data = sparse.csr_matrix(X)
    file = tmp_path / "curve.csv"
    learning_curve(METHODS, data, y, [5], SMALL, file=file)
    assert data.has_sorted_indices  # asking makes it remember the answer
    for same in (data, data.copy(), sparse.csc_array(X), sparse.coo_array(X)):
        learning_curve(METHODS, same, y, [5], SMALL, file=file)
    with pytest.raises(ValueError, match="another run: the data"):
        learning_curve(METHODS, 2 * data, y, [5], SMALL, file=file)


def test_a_file_that_nobody_knows_is_refused(blobs, tmp_path):
    file = tmp_path / "notes.csv"
    file.write_text("my,own,data\n")
    with pytest.raises(ValueError, match="name another file"):
        learning_curve(METHODS, *blobs, [5], SMALL, file=file)
    with pytest.raises(ValueError, match=r"\.csv file"):
        learning_curve(METHODS, *blobs, [5], SMALL, file=tmp_path / "a.parquet")


# -------------------------------------------------------------------- what is noted


def test_failed_fits_are_nan_and_told(blobs):
    with pytest.warns(
        UserWarning, match="Fails: 6 of 12 fits failed, first with: RuntimeError: too m"
    ):
        curve = learning_curve([Fails(), KMeans(3, n_init=1)], *blobs, [3, 9], SMALL)
    assert np.isnan(curve.values("ari")[0, 1]).all()
    assert np.isfinite(curve.values("ari")[0, 0]).all()
    assert curve.best("ari")[1]["method"] == "KMeans"
    with pytest.raises(RuntimeError, match="too"):
        learning_curve([Fails()], *blobs, [9], SMALL, on_error="raise")


def test_anything_about_a_model_can_be_recorded(blobs):
    record = {"told": "n_told_", "half": lambda model: model.n_told_ / 2}
    curve = learning_curve([Spy()], *blobs, [4, 8], SMALL, record=record)
    assert curve.mean("told").tolist() == [[4, 8]]
    assert curve.mean("half").tolist() == [[2, 4]]
    assert (curve.mean("seconds") >= 0).all()


def test_warnings_of_fits_are_told_once(blobs):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        learning_curve(PCKMeans(3, max_iter=1, n_init=1), *blobs, [5], SMALL)
    assert len(caught) == 1
    assert "of 6 fits warned, first with: PCKMeans did not converge" in str(caught[0].message)


def test_relative_constraints_and_clusterers_that_find_noise(blobs):
    methods = {"ReCon": ReCon(3), "DBSCAN": DBSCAN(0.5)}
    curve = learning_curve(methods, *blobs, [0, 20], Protocol(1, 2, kind="triplets"))
    assert np.isfinite(curve.values("ari")).all()


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"estimators": {}}, ValueError, "estimators is empty"),
        ({"estimators": [KMeans]}, TypeError, "is a class"),
        ({"estimators": ["pck"]}, TypeError, "is no clusterer"),
        ({"estimators": [KMeans(2), KMeans(3)]}, ValueError, "two estimators are called 'KMeans'"),
        ({"y": [0, 1]}, ValueError, "one class per row"),
        ({"y": [0] * 45}, ValueError, "fewer than two classes"),
        ({"y": [None] + [1] * 44}, ValueError, "row 0 has no class"),
        ({"n_constraints": []}, ValueError, "n_constraints is empty"),
        ({"n_constraints": [2.5]}, TypeError, "must be an integer"),
        ({"n_constraints": [-1]}, ValueError, "at least 0"),
        ({"n_constraints": [9999]}, ValueError, "n_constraints=9999 are too many for trial 0"),
        ({"protocol": "mine"}, ValueError, "'eaton2005'"),
        ({"protocol": Protocol(1, 30)}, ValueError, "fewer than two rows"),
        ({"scoring": "accuracy"}, ValueError, "expected among"),
        ({"scoring": []}, ValueError, "scoring is empty"),
        ({"record": {"ari": "inertia_"}}, ValueError, "is a column already"),
        ({"random_state": None}, TypeError, "must be an integer"),
        ({"on_error": "ignore"}, ValueError, "'nan', 'raise'"),
    ],
)
def test_wrong_input(blobs, change, error, message):
    asked = {"estimators": METHODS, "X": blobs[0], "y": blobs[1], "protocol": SMALL, **change}
    with pytest.raises(error, match=message):
        learning_curve(**{"n_constraints": [5], **asked})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n_trials": 0}, "n_trials=0 must be at least 1"),
        ({"noise": 1.5}, "must be a share"),
        ({"kind": "pair"}, "kind='pair'"),
    ],
)
def test_wrong_protocols(given, message):
    with pytest.raises(ValueError, match=message):
        Protocol(**given)


# -------------------------------------------------------------------- the result


@pytest.fixture(scope="module")
def curve(blobs):
    return learning_curve(METHODS, *blobs, [0, 10, 30], Protocol(4, 3))


def test_words_and_pictures(curve, capsys):
    assert str(curve).splitlines()[0].split() == ["ARI", "0", "10", "30"]
    said = curve.summary()
    assert said.startswith("Best with 30 constraints: ")
    assert "over k-means" in said or "better than k-means" in said
    figure = curve.plot("nmi", title="blobs")
    assert [ax.get_xlabel() for ax in figure.axes][-1] == "number of constraints"
    assert len(figure.axes) == 2
    top = figure.axes[0]
    assert {line.get_label() for line in top.lines if line.get_linestyle() == "--"} == {"k-means"}
    assert max(path.vertices[:, 1].max() for c in top.collections for path in c.get_paths()) <= 1
    assert "95 % interval" in top.get_legend().get_title().get_text()
    left, right = top.get_xlim()
    assert -3 < left < 0 < 30 < right < 33
    even = curve.plot(band="deviation", spacing="even", figure=matplotlib.figure.Figure())
    assert [label.get_text() for label in even.axes[-1].get_xticklabels()] == ["0", "10", "30"]
    assert len(curve.plot(band="none", strip=False).axes) == 1
    matplotlib.pyplot.close("all")
    with pytest.raises(ValueError, match="band='wide'"):
        curve.plot(band="wide")


def test_one_trial_of_one_method_can_be_drawn(blobs):
    one = learning_curve(METHODS["PCK"], *blobs, [5], Protocol(1, 2))
    assert len(one.plot().axes) == 1
    assert one.summary().startswith("Best with 5 constraints: PCKMeans")
    matplotlib.pyplot.close("all")


def test_the_bar_is_drawn_on_standard_error(blobs, capsys):
    learning_curve([Spy()], *blobs, [5], SMALL, verbose=1)
    said = capsys.readouterr()
    assert "6/6" in said.err
    assert not said.out


def test_parts_of_a_curve(curve):
    part = curve.only(["PCK"]).first(2)
    assert part.methods == ("PCK",)
    assert np.array_equal(part.values("ari")[0], curve.values("ari")[1, :, :2])
    assert curve.with_numbers([30, 0]).n_constraints == (0, 30)
    assert np.array_equal(curve.with_numbers(30).values("ari"), curve.values("ari", 30))
    with pytest.raises(ValueError, match="method='x'"):
        curve.only(["x"])


def test_curves_are_joined(blobs, curve):
    informed = learning_curve(METHODS["PCK"], *blobs, [0, 10, 30], Protocol(4, 3, kind="balanced"))
    joined = LearningCurve.join({"random": curve, "balanced": informed})
    assert joined.methods == ("random: k-means", "random: PCK", "balanced")
    assert np.array_equal(joined.values("ari")[2], informed.values("ari")[0])
    other = learning_curve(METHODS["PCK"], *blobs, [0], Protocol(4, 3))
    with pytest.raises(ValueError, match="cannot be joined: n_constraints"):
        LearningCurve.join({"a": curve, "b": other})


def test_what_is_not_there_is_named(curve):
    with pytest.raises(ValueError, match="there are ari, nmi, pair_f, seconds"):
        curve.values("accuracy")
    with pytest.raises(ValueError, match="n_constraints=7"):
        curve.values("ari", 7)
    with pytest.raises(ValueError, match="baseline='x'"):
        curve.compare("x")
    with pytest.raises(ValueError, match="method='x'"):
        curve.recompute("x", 10)
