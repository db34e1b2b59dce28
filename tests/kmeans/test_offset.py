"""CSR rows far from the origin, and fits of one container that are asked about another."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from linkwise import Constraints, COPKMeans, MPCKMeans, PCKMeans

RNG = np.random.default_rng(0)
GROUP = RNG.integers(0, 3, 150)
X = RNG.normal(size=(150, 4)) + 5 * RNG.normal(size=(3, 4))[GROUP]
KNOWN = Constraints.from_labels(GROUP, 60, random_state=0)
MODELS = [
    PCKMeans(3, random_state=0),
    MPCKMeans(3, random_state=0),
    COPKMeans(3, random_state=0),
]


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e8, 1e11])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_csr_with_an_offset_gives_what_an_array_gives(model, offset):
    rows = X + offset
    dense = clone(model).fit(rows, constraints=KNOWN)
    found = clone(model).fit(sparse.csr_array(rows), constraints=KNOWN)
    np.testing.assert_array_equal(found.labels_, dense.labels_)
    assert found.objective_ == pytest.approx(dense.objective_)
    assert (np.diff(found.objective_path_) <= 1e-9 * abs(found.objective_path_[0])).all()


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_constant_csr_rows_settle():
    rows = sparse.csr_array(np.full((60, 3), 1e11))
    known = Constraints.from_labels(GROUP[:60], 20, random_state=0)
    model = MPCKMeans(3, random_state=0).fit(rows, constraints=known)
    path = np.asarray(model.objective_path_)
    assert (np.diff(path) <= 1e-9 * abs(path[0])).all()


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_fit_of_dense_rows_answers_about_sparse_ones(model):
    rows = X + 100.0
    rows[np.abs(rows - 100) < 1.0] = 0.0
    fitted = clone(model).fit(rows, constraints=KNOWN)
    asked = sparse.csr_array(rows)
    np.testing.assert_array_equal(fitted.predict(asked), fitted.predict(rows))
    np.testing.assert_allclose(fitted.transform(asked), fitted.transform(rows), atol=1e-6)
    assert fitted.score(asked) == pytest.approx(fitted.score(rows))
