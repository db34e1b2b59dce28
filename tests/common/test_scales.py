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
    HMRFKMeans,
    ReCon,
    SpectralLearning,
)
from tests.methods import instances

RNG = np.random.default_rng(0)
GROUP = np.repeat([0, 1, 2], 12)
X = RNG.normal(size=(36, 3)) * 0.1 + 1.0 + GROUP[:, None] * [1.0, 0.2, 0.1]
KNOWN = Constraints.from_labels(GROUP, 20, random_state=0)
RELATIVE = Constraints.from_labels(GROUP, 20, "triplets", random_state=0)
MODELS = [m for m in instances() if hasattr(m, "fit_predict")] + [ReCon(linkage="single")]


def is_scaled_by_row(model):
    """Divergences need no squares of the data."""
    return isinstance(model, HMRFKMeans) and model.distortion == "divergence"


@pytest.mark.parametrize("scale", [1e-160, 1e150, 1e155, 1e200])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: str(model)[:40])
def test_extreme_scales_are_refused_with_the_range_that_works(model, scale):
    cosine = getattr(model, "distortion", None) == "cosine"
    if is_scaled_by_row(model) or (cosine and scale < 1):
        pytest.skip("each row is scaled by itself")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=r"1e-140 and 1e\+140: rescale"):
            clone(model).fit(scale * X, constraints=KNOWN)


@pytest.mark.parametrize("scale", [1e-160, 1e155])
@pytest.mark.parametrize("model", [RCA(), ITML(), ComparisonMetric()], ids=str)
def test_metrics_refuse_them_too(model, scale):
    known = RELATIVE if isinstance(model, ComparisonMetric) else KNOWN
    with pytest.raises(ValueError, match="rescale the features"):
        model.fit(scale * X, constraints=known)


@pytest.mark.parametrize("scale", [1e-100, 1e100])
@pytest.mark.parametrize(
    "model", [SpectralLearning(3, random_state=0), ConstrainedHDBSCAN(), ReCon(3)], ids=str
)
def test_scales_within_the_range_change_nothing(model, scale):
    labels = clone(model).fit(X, constraints=KNOWN).labels_
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        np.testing.assert_array_equal(model.fit(scale * X, constraints=KNOWN).labels_, labels)


@pytest.mark.parametrize("model", [SpectralLearning(3, random_state=0), ConstrainedHDBSCAN()])
def test_new_rows_are_checked_as_well(model):
    model.fit(X, constraints=KNOWN)
    with pytest.raises(ValueError, match="rescale"):
        model.predict(1e170 * X)


def test_boosting_fewer_rows_than_clusters_names_the_base_that_nobody_gave():
    with pytest.raises(ValueError, match="n_samples=5: the default base, KMeans.n_clusters=8."):
        BoostCluster().fit(X[:5])


def test_one_row_has_no_spectrum():
    with pytest.raises(ValueError, match="n_samples=1: a graph of one row has no neighbors"):
        SpectralLearning(1).fit(X[:1])
