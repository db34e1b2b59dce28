"""scikit-learn to the letter: routing through pipelines and searches, with and without ids."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from linkwise import (
    BoostCluster,
    ConstrainedHDBSCAN,
    ConstrainedMixture,
    Constraints,
    GPKMeans,
    MPCKMeans,
    PCKMeans,
    SeededKMeans,
    SpectralLearning,
)
from linkwise.datasets import load
from linkwise.evaluation import LinksScorer

pd = pytest.importorskip("pandas")

X, Y = load("iris").data, load("iris").target
IDS = [f"flower {row}" for row in range(len(X))]
KNOWN = Constraints.from_labels(dict(zip(IDS, Y.tolist(), strict=True)), 300, random_state=0)
FRAME = pd.DataFrame(X, index=IDS, columns=["a", "b", "c", "d"])
FOLDS = KFold(3, shuffle=True, random_state=0)


def routed(model=None):
    model = PCKMeans(3, random_state=0) if model is None else model
    return model.set_fit_request(constraints=True, sample_ids=True)


def scaled(last, columns=False):
    scale = StandardScaler()
    if columns:
        scale = ColumnTransformer([("left", scale, [0, 1]), ("right", StandardScaler(), [2, 3])])
    return Pipeline([("scale", scale), ("cluster", last)])


@pytest.mark.parametrize("columns", [False, True])
def test_every_method_of_a_routed_pipeline(columns):
    with config_context(enable_metadata_routing=True):
        pipe = scaled(routed(), columns).fit(X, constraints=KNOWN, sample_ids=IDS)
        assert pipe[-1].report_.constraints.n_constraints == 300
        assert pipe.predict(X).shape == (150,)
        assert pipe.transform(X).shape == (150, 3)
        assert pipe.predict_proba(X).shape == (150, 3)
        assert pipe.score(X) < 0


def test_grid_search_over_a_pipeline_by_held_out_links():
    with config_context(enable_metadata_routing=True):
        scorer = LinksScorer(KNOWN).set_score_request(sample_ids=True)
        search = GridSearchCV(
            scaled(routed()), {"cluster__n_clusters": [2, 3]}, scoring=scorer, cv=FOLDS
        )
        search.fit(X, constraints=KNOWN, sample_ids=IDS)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_params_ == {"cluster__n_clusters": 3}


def test_grid_search_by_the_score_of_the_pipeline():
    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(scaled(routed()), {"cluster__n_clusters": [2, 3]}, cv=FOLDS)
        search.fit(X, constraints=KNOWN, sample_ids=IDS)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize("columns", [False, True])
def test_searches_without_routing(columns):
    pipe, given = scaled(PCKMeans(3, random_state=0), columns), {"constraints": KNOWN}
    given = {f"cluster__{name}": value for name, value in {**given, "sample_ids": IDS}.items()}
    search = GridSearchCV(pipe, {"cluster__n_clusters": [2, 3]}, cv=FOLDS).fit(X, **given)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_[-1].report_.constraints.n_constraints == 300
    found = cross_validate(pipe, X, cv=FOLDS, params=given)
    assert np.isfinite(found["test_score"]).all()


def test_as_a_transformer_of_columns():
    def made(one):
        return ColumnTransformer([("near", one, [0, 1]), ("scale", StandardScaler(), [2, 3])])

    with config_context(enable_metadata_routing=True):
        union = made(routed())
        rows = union.fit_transform(X, constraints=KNOWN, sample_ids=IDS)
        assert union.named_transformers_["near"].report_.constraints.n_constraints == 300
        np.testing.assert_allclose(union.transform(X), rows)
        pipe = Pipeline([("union", made(routed())), ("cluster", routed())])
        pipe.fit(X, constraints=KNOWN, sample_ids=IDS)
    assert rows.shape == (150, 5)
    assert pipe[-1].report_.constraints.n_constraints == 300


def test_weights_are_routed_to_fit_and_score():
    weight = np.linspace(0.5, 2, 150)
    with config_context(enable_metadata_routing=True):
        model = routed().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        pipe = Pipeline([("scale", StandardScaler().set_fit_request(sample_weight=False)),
                         ("cluster", model)])  # fmt: skip
        pipe.fit(X, constraints=KNOWN, sample_ids=IDS, sample_weight=weight)
        assert pipe.score(X, sample_weight=weight) != pipe.score(X)


def test_cross_validate_of_a_frame_needs_no_routing():
    found = cross_validate(
        PCKMeans(3, random_state=0), FRAME, scoring=LinksScorer(KNOWN), cv=FOLDS,
        params={"constraints": KNOWN},
    )  # fmt: skip
    assert (found["test_score"] > 0.5).all()


def test_only_links_inside_the_fold_count():
    known = Constraints(must_link=[("a", "b"), ("a", "z")], cannot_link=[("a", "c"), ("b", "c")])

    class Fixed:
        def predict(self, rows):
            return np.array([0, 0, 0])

    scorer = LinksScorer(known)
    frame = pd.DataFrame([[0], [1], [2]], index=["a", "b", "c"])
    assert scorer(Fixed(), frame) == 0.5  # the must-link holds, neither cannot-link does
    assert scorer(Fixed(), frame.to_numpy(), sample_ids=["a", "b", "c"]) == 0.5
    assert np.isnan(scorer(Fixed(), frame.to_numpy(), sample_ids=["x", "y", "z"]))
    with pytest.raises(ValueError, match="need the ids"):
        scorer(Fixed(), frame.to_numpy())


@pytest.mark.parametrize(
    "model",
    [
        PCKMeans(3, random_state=0), SeededKMeans(3, random_state=0),
        MPCKMeans(3, random_state=0), ConstrainedMixture(3, random_state=0),
        SpectralLearning(3, random_state=0), ConstrainedHDBSCAN(5),
        GPKMeans(3, random_state=0), BoostCluster(PCKMeans(3), random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)  # fmt: skip
def test_which_label_is_which_cluster(model):
    names = np.array(["setosa", "versicolor", "virginica"], dtype=object)[Y]
    some = np.where(np.arange(150) % 5 == 0, names, None)
    model = clone(model).fit(X, some)
    assert set(model.cluster_labels_) <= {"setosa", "versicolor", "virginica", None}
    called = np.array([*model.cluster_labels_, None], dtype=object)[model.labels_]
    assert np.mean(called == names) > 0.6
    assert clone(model).fit(X).cluster_labels_ is None


def test_frames_as_rows():
    expected = PCKMeans(3, random_state=0).fit(X).labels_
    polars = pytest.importorskip("polars")
    arrow = pytest.importorskip("pyarrow")
    frame = polars.DataFrame(X, schema=["a", "b", "c", "d"])
    for rows in (frame, frame.lazy(), arrow.table(FRAME.reset_index(drop=True))):
        found = PCKMeans(3, random_state=0).fit(rows)
        np.testing.assert_array_equal(found.labels_, expected)


def test_other_arrays_are_refused_clearly():
    class Tensor:
        shape = (3, 2)

        def __array_namespace__(self, api_version=None):
            return np

    with pytest.raises(TypeError, match=r"does not dispatch on other arrays: give np.asarray\(X\)"):
        PCKMeans(2).fit(Tensor())


def test_html_and_output_of_frames():
    model = PCKMeans(3, random_state=0)
    assert "PCKMeans" in model._repr_html_()
    found = model.set_output(transform="pandas").fit(FRAME).transform(FRAME)
    assert list(found.columns) == ["pckmeans0", "pckmeans1", "pckmeans2"]
    assert list(found.index) == IDS
    assert list(model.feature_names_in_) == ["a", "b", "c", "d"]


def test_weights_multiply_the_cost_of_each_row():
    model = PCKMeans(3, random_state=0).fit(X)
    weight = np.linspace(0.5, 2, 150)
    each = np.array([model.score(row[None]) for row in X])
    assert model.score(X, sample_weight=weight) == pytest.approx(float(each @ weight))
    with pytest.raises(ValueError, match="one weight per row"):
        model.score(X, sample_weight=weight[:5])
