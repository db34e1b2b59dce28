"""Values whose squares overflow or underflow are refused with the range that works."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone

from linkwise import (
    ITML,
    RCA,
    BoostCluster,
    ComparisonMetric,
    ConstrainedHDBSCAN,
    Constraints,
    ReCon,
    SpectralLearning,
    XingMetric,
)
from tests.methods import instances

RNG = np.random.default_rng(0)
GROUP = np.repeat([0, 1, 2], 12)
X = RNG.normal(size=(36, 3)) * 0.1 + 1.0 + GROUP[:, None] * [1.0, 0.2, 0.1]
KNOWN = Constraints.from_labels(GROUP, 20, random_state=0)
RELATIVE = Constraints.from_labels(GROUP, 20, "triplets", random_state=0)
MODELS = [
    *(
        model
        for model in instances()
        if hasattr(model, "fit_predict")
        and getattr(model, "distortion", None) != "divergence"  # which squares no data
    ),
    ReCon(linkage="single"),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: str(model)[:40])
def test_extreme_scales_are_refused_with_the_range_that_works(model):
    cosine = getattr(model, "distortion", None) == "cosine"
    for scale in (1e150, 1e200) if cosine else (1e-160, 1e150, 1e200):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(ValueError, match=r"1e-140 and 1e\+140: rescale"):
                clone(model).fit(scale * X, constraints=KNOWN)


@pytest.mark.parametrize("model", [RCA(), ITML(), XingMetric(), ComparisonMetric()], ids=str)
def test_metrics_refuse_them_too(model):
    known = RELATIVE if isinstance(model, ComparisonMetric) else KNOWN
    for scale in (1e-160, 1e155):
        with pytest.raises(ValueError, match="rescale the features"):
            model.fit(scale * X, constraints=known)


@pytest.mark.parametrize(
    "model", [SpectralLearning(3, random_state=0), ConstrainedHDBSCAN(), ReCon(3)], ids=str
)
def test_scales_within_the_range_change_nothing(model):
    labels = clone(model).fit(X, constraints=KNOWN).labels_
    for scale in (1e-100, 1e100):
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            np.testing.assert_array_equal(model.fit(scale * X, constraints=KNOWN).labels_, labels)
    if hasattr(model, "predict"):
        with pytest.raises(ValueError, match="rescale"):
            model.predict(1e200 * X)


def test_boosting_fewer_rows_than_clusters_names_the_base_that_nobody_gave():
    with pytest.raises(ValueError, match="n_samples=5: the default base, KMeans.n_clusters=8."):
        BoostCluster().fit(X[:5])


def test_one_row_has_no_spectrum():
    with pytest.raises(ValueError, match="n_samples=1: a graph of one row has no neighbors"):
        SpectralLearning(1).fit(X[:1])
