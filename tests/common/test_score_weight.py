"""`score` takes weights, by itself and through a pipeline under metadata routing."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from linkwise import PCKMeans

X = np.random.default_rng(0).normal(size=(60, 3))
WEIGHT = np.random.default_rng(1).random(60)


def test_weights_multiply_the_cost_of_each_row():
    model = PCKMeans(3, random_state=0).fit(X)
    each = np.array([model.score(row[None]) for row in X])
    assert model.score(X, sample_weight=WEIGHT) == pytest.approx(float(each @ WEIGHT))
    with pytest.raises(ValueError, match="one weight per row"):
        model.score(X, sample_weight=WEIGHT[:5])


def test_a_grid_search_over_a_pipeline_under_routing():
    with config_context(enable_metadata_routing=True):
        step = PCKMeans(3, random_state=0).set_fit_request(sample_weight=True)
        step = step.set_score_request(sample_weight=True)
        pipe = Pipeline([("scale", StandardScaler().set_fit_request(sample_weight=False)),
                         ("cluster", step)])  # fmt: skip
        pipe.fit(X, sample_weight=WEIGHT)
        assert np.isfinite(pipe.score(X, sample_weight=WEIGHT))
        found = GridSearchCV(pipe, {"cluster__n_clusters": [2, 3]}, cv=2, error_score="raise")
        found.fit(X, sample_weight=WEIGHT)
        assert np.isfinite(found.cv_results_["mean_test_score"]).all()
