"""Every estimator behaves as scikit-learn's do: checks, clone, pipelines, routing, pickling."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import ClassifierTags, get_tags
from sklearn.utils.estimator_checks import (
    check_estimator,
    check_estimator_sparse_array,
    check_estimator_sparse_matrix,
)

from linkwise import (
    ITML,
    RCA,
    AutoCluster,
    ComparisonMetric,
    ConstrainedKMeans,
    ConstrainedMixture,
    Constraints,
    COPKMeans,
    MPCKMeans,
    PCKMeans,
    PreIdentifiedKMeans,
    ReCon,
    SeededKMeans,
    SpectralLearning,
    XingMetric,
    _validation,
)
from linkwise.evaluation import LinksScorer
from tests.kmeans.cases import METHODS, blobs, same_partition
from tests.methods import instances

# scikit-learn's own KMeans has the same two in its list.
_DRAWS = "the start is drawn from the rows, so that repeated rows draw another one"
SAMPLE_WEIGHT = {
    "check_sample_weight_equivalence_on_dense_data": _DRAWS,
    "check_sample_weight_equivalence_on_sparse_data": _DRAWS,
}

ZERO_ROW_CHECKS = (
    "check_estimators_dtypes",
    "check_estimator_sparse_tag",
    "check_estimator_sparse_array",
    "check_estimator_sparse_matrix",
)
NEGATIVE_CHECKS = (
    "check_clustering",
    "check_fit2d_1feature",
    "check_sample_weights_pandas_series",
    "check_sample_weights_not_an_array",
)


def expected(estimator) -> dict[str, str]:
    """Checks that cannot pass, and why."""
    failing = {} if isinstance(estimator, RCA) else dict(SAMPLE_WEIGHT)
    if getattr(estimator, "distortion", None) in ("cosine", "divergence"):
        why = "the check's data has rows of zeros, which have no direction and are no distribution"
        failing |= dict.fromkeys(ZERO_ROW_CHECKS, why)
        if estimator.distortion == "divergence":
            failing |= dict.fromkeys(NEGATIVE_CHECKS, "the check's data is not of counts")
    if isinstance(estimator, SpectralLearning):
        why = "the check labels all rows of the fit; the links that makes are not those of new rows"
        checks = ("check_transformer_general", "check_transformer_data_not_an_array")
        failing |= dict.fromkeys(checks, why)
    if hasattr(estimator, "predict_proba") and get_tags(estimator).input_tags.sparse:
        why = "the check takes whatever has predict_proba for a classifier of four classes"
        checks = ("check_estimator_sparse_array", "check_estimator_sparse_matrix")
        failing |= dict.fromkeys(checks, why)
    return failing


class _Unlabeled:
    """A method that does not look at y: the checks give labels of 3 classes to one cluster."""

    def _seeds(self, y, n_samples):
        return None

    _read_seeds = _seeds  # of the k-means methods


class UnlabeledCOP(_Unlabeled, COPKMeans):
    pass


class UnlabeledSeeded(_Unlabeled, SeededKMeans):
    pass


class UnlabeledConstrained(_Unlabeled, ConstrainedKMeans):
    pass


class UnlabeledReCon(_Unlabeled, ReCon):
    pass


class UnlabeledPreIdentified(_Unlabeled, PreIdentifiedKMeans):
    pass


class UnlabeledMixture(_Unlabeled, ConstrainedMixture):
    pass


UNLABELED = [
    UnlabeledCOP(),
    UnlabeledSeeded(),
    UnlabeledConstrained(),
    UnlabeledPreIdentified(),
    UnlabeledMixture(),
    UnlabeledReCon(),
]
BINDING = {type(estimator).__mro__[2] for estimator in UNLABELED}
ESTIMATORS = [
    *(estimator for estimator in instances() if type(estimator) not in BINDING),
    *UNLABELED,
    RCA(),
    ITML(),
    XingMetric(),
    XingMetric(kind="full"),
    ComparisonMetric(),
    AutoCluster(),
]


# Random labels contain no information about a metric, which raises a warning.
@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
@pytest.mark.filterwarnings("ignore:ComparisonMetric. no feature meets:UserWarning")
@pytest.mark.filterwarnings("ignore:GPKMeans did not settle")
@pytest.mark.filterwarnings("ignore:y has [0-9]+ labels, more than")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_sklearn_checks(estimator):
    failing = expected(estimator)
    check_estimator(estimator, expected_failed_checks=failing, on_skip=None, on_fail="raise")


SPARSE_WITH_PROBABILITIES = [PCKMeans(), MPCKMeans(), ConstrainedKMeans()]


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
@pytest.mark.parametrize("estimator", SPARSE_WITH_PROBABILITIES, ids=str)
def test_sparse_checks_with_as_many_clusters_as_their_classes(estimator, monkeypatch):
    """The two checks read the tags of a classifier, which a clusterer has none of (1.9.1).

    With these tags, and a cluster for each of their four classes, they pass.
    """
    of = type(estimator).__sklearn_tags__

    def tags(self):
        return replace(of(self), classifier_tags=ClassifierTags())

    monkeypatch.setattr(type(estimator), "__sklearn_tags__", tags)
    estimator = clone(estimator).set_params(n_clusters=4)
    for check in (check_estimator_sparse_array, check_estimator_sparse_matrix):
        check(type(estimator).__name__, estimator)


# -------------------------------------------------------------------- parameters and state


def drawn(seed: int = 0) -> tuple:
    X, y = blobs(90, seed=seed)
    return X, y, Constraints.from_labels(y, 30, random_state=seed)


def by_name(known: Constraints, names) -> Constraints:
    return Constraints(
        must_link=[(names[i], names[j]) for i, j in known.must_link.tolist()],
        cannot_link=[(names[i], names[j]) for i, j in known.cannot_link.tolist()],
    )


@pytest.mark.parametrize("method", METHODS)
def test_pickled_models_answer_as_before(method):
    X, _, known = drawn()
    model = METHODS[method](n_clusters=3, random_state=0).fit(X, constraints=known)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    assert again.report_.to_dict() == model.report_.to_dict()
    assert str(again.report_) == str(model.report_)


@pytest.mark.parametrize("method", METHODS)
def test_fit_predict_keeps_y_and_constraints(method):
    X, y, known = drawn()
    seeds = np.where((np.arange(90) < 30) & (y == 1), 1, -1)
    options = {"n_clusters": 3, "random_state": 0}
    fitted = METHODS[method](**options).fit(X, seeds, constraints=known)
    labels = METHODS[method](**options).fit_predict(X, seeds, constraints=known)
    np.testing.assert_array_equal(labels, fitted.labels_)
    if method == "preidentified":
        np.testing.assert_array_equal(labels == 0, seeds == 1)
    if method == "constrained":
        assert (labels[seeds == 1] == 1).all()


@pytest.mark.parametrize("method", METHODS)
def test_fitted_attributes(method):
    X, _, known = drawn()
    model = METHODS[method](n_clusters=3, random_state=0).fit(X, constraints=known)
    assert model.labels_.shape == (90,)
    assert model.labels_.dtype.kind == "i"
    assert model.cluster_centers_.shape == (3, 3)
    assert model.objective_path_.shape == (model.n_iter_,)
    assert model.n_features_in_ == 3
    assert np.isfinite(model.metrics_).all()
    assert model.transform(X).shape == (90, 3)
    report = model.report_
    assert report.cluster_sizes.tolist() == np.bincount(model.labels_, minlength=3).tolist()
    assert report.constraints.n_constraints == known.n_constraints
    assert len(report.to_frame()) == known.n_constraints
    assert (report.to_frame()["cost"][report.to_frame()["satisfied"]] == 0).all()
    assert "clusters of" in str(report)
    assert "<ul>" in report._repr_html_()


# -------------------------------------------------------------------- columns


@pytest.mark.parametrize("method", METHODS)
def test_names_of_columns(method):
    pd = pytest.importorskip("pandas")
    X, *_ = drawn()
    frame = pd.DataFrame(X, columns=list("abc"))
    model = METHODS[method](n_clusters=3, random_state=0).set_output(transform="pandas")
    out = model.fit(frame).transform(frame)
    names = [f"{type(model).__name__.lower()}{c}" for c in range(3)]
    assert list(out.columns) == names == list(model.get_feature_names_out())
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["c", "b", "a"]])


# -------------------------------------------------------------------- pipelines and folds


@pytest.mark.parametrize("method", METHODS)
def test_in_a_pipeline(method):
    X, _, known = drawn()
    model = METHODS[method](n_clusters=3, random_state=0)
    pipe = make_pipeline(StandardScaler(), model)
    step = pipe.steps[-1][0]
    pipe.fit(X, **{f"{step}__constraints": known})
    wanted = clone(model).fit(StandardScaler().fit_transform(X), constraints=known)
    np.testing.assert_array_equal(pipe[-1].labels_, wanted.labels_)
    np.testing.assert_array_equal(
        pipe.predict(X), wanted.predict(StandardScaler().fit_transform(X))
    )
    labels = clone(pipe).fit_predict(X, **{f"{step}__constraints": known})
    np.testing.assert_array_equal(labels, wanted.labels_)


@pytest.mark.parametrize("method", METHODS)
def test_cross_validation_hands_constraints_through_and_slices_ids(method):
    X, _, known = drawn()
    names = np.array([f"row {i}" for i in range(90)])
    by_id = by_name(known, names)
    with config_context(enable_metadata_routing=True):
        model = METHODS[method](n_clusters=3, random_state=0)
        model.set_fit_request(constraints=True, sample_ids=True)
        folds = KFold(3, shuffle=True, random_state=0)
        found = cross_validate(
            model,
            X,
            cv=folds,
            params={"constraints": by_id, "sample_ids": names},
            return_estimator=True,
            error_score="raise",
        )
    for (train, _), fold in zip(folds.split(X), found["estimator"], strict=True):
        inside = by_id.restrict(names[train])
        assert fold.report_.constraints.n_constraints == inside.n_constraints
        assert fold.report_.n_dropped == by_id.n_constraints - inside.n_constraints > 0
        wanted = METHODS[method](n_clusters=3, random_state=0)
        wanted.fit(X[train], constraints=inside, sample_ids=names[train])
        np.testing.assert_array_equal(fold.labels_, wanted.labels_)


def test_folds_of_a_frame_bring_their_ids_with_them():
    pd = pytest.importorskip("pandas")
    X, _, known = drawn()
    names = [f"row {i}" for i in range(90)]
    frame = pd.DataFrame(X, index=names)
    part = frame.iloc[30:]
    model = PCKMeans(3, random_state=0).fit(part, constraints=by_name(known, names))
    assert model.report_.constraints.n_constraints < known.n_constraints


def test_constraints_from_a_file(tmp_path):
    X, _, known = drawn()
    known.write(tmp_path / "links.csv")
    a = PCKMeans(3, random_state=0).fit(X, constraints=tmp_path / "links.csv")
    b = PCKMeans(3, random_state=0).fit(X, constraints=known)
    c = PCKMeans(3, random_state=0).fit(X, constraints=known.to_frame())
    assert same_partition(a.labels_, b.labels_)
    assert same_partition(b.labels_, c.labels_)


# -------------------------------------------------------------------- frames and their index


def test_numbers_are_no_positions_where_the_index_has_names():
    X, _, known = drawn()
    frame = pd.DataFrame(X, index=[f"r{i}" for i in range(len(X))])
    with pytest.raises(ValueError, match="labels of its index"):
        PCKMeans(3, random_state=0).fit(frame, constraints=known)


def test_folds_of_a_default_index_keep_their_labels(monkeypatch):
    monkeypatch.setattr(_validation, "_warned_of_index", False)
    X, _, known = drawn()
    search = GridSearchCV(
        PCKMeans(random_state=0), {"n_clusters": [2, 3]}, refit="links",
        cv=KFold(3, shuffle=True, random_state=0), error_score="raise",
        scoring={"links": LinksScorer(known), "own": lambda model, X, y=None: model.score(X)},
    )  # fmt: skip
    with pytest.warns(UserWarning, match="left out") as caught:
        search.fit(pd.DataFrame(X), constraints=known)
    for name in ("links", "own"):
        assert np.isfinite(search.cv_results_[f"mean_test_{name}"]).all()
    assert search.best_params_ == {"n_clusters": 3}
    assert sum("left out" in str(one.message) for one in caught) == 1


def test_an_index_of_numbers_is_meant_and_says_so(monkeypatch):
    monkeypatch.setattr(_validation, "_warned_of_index", False)
    X, _, known = drawn()
    shuffled = pd.DataFrame(X).sample(frac=1, random_state=0)
    with pytest.warns(UserWarning, match="reset_index"):
        model = COPKMeans(3, random_state=0).fit(shuffled, constraints=known)
    by_label = pd.Series(model.labels_, index=shuffled.index).sort_index().to_numpy()
    assert known.satisfied(by_label)
    monkeypatch.setattr(_validation, "_warned_of_index", False)
    with pytest.warns(UserWarning, match="left out"):
        PCKMeans(3, random_state=0).fit(pd.DataFrame(X)[20:], constraints=known)
    away = pd.DataFrame(X, index=np.arange(len(X)) + 1000)
    with pytest.raises(ValueError, match="none of the 30 constraints"):
        PCKMeans(3, random_state=0).fit(away, constraints=known)


def test_strings_in_X_name_the_function_that_reads_them():
    for X in (
        pd.DataFrame({"color": ["red", "blue"]}),
        np.array([["red"], ["blue"]], dtype=object),
    ):
        with pytest.raises(ValueError, match="linkwise.table_features"):
            PCKMeans(2).fit(X)


def test_inertia_is_that_of_k_means():
    X, _, known = drawn()
    weight = np.random.default_rng(0).random(len(X))
    for given in (None, known):
        model = PCKMeans(3, random_state=0).fit(X, constraints=given, sample_weight=weight)
        distances = np.sum((X - model.cluster_centers_[model.labels_]) ** 2, axis=1)
        np.testing.assert_allclose(model.inertia_, weight @ distances)
    assert not hasattr(PCKMeans(3), "inertia_")


def test_constraints_in_the_place_of_y():
    X, _, known = drawn()
    with pytest.raises(TypeError, match="constraints="):
        PCKMeans(3).fit(X, known)


def test_more_runs_are_no_worse_than_the_default():
    X, _, known = drawn()
    few = PCKMeans(3, random_state=0).fit(X, constraints=known)
    many = PCKMeans(3, n_init=10, random_state=0).fit(X, constraints=known)
    assert many.objective_ <= few.objective_ * (1 + 1e-9)
