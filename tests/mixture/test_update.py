"""New rows for a fitted mixture: sums are those of all rows, links hold, numbers stay."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from linkwise import ConstrainedMixture, Constraints

X, _ = make_blobs(400, 3, centers=3, random_state=0)


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_parameters_are_those_of_all_rows(kind):
    model = ConstrainedMixture(3, covariance_type=kind, random_state=0, tol=1e-9).fit(X[:300])
    model.update(X[300:])
    share = model.probabilities_
    counts = share.sum(axis=0)
    means = share.T @ X / counts[:, None]
    assert np.allclose(model.means_, means, atol=1e-6)
    assert np.allclose(model.weights_, counts / 400, atol=1e-6)
    away = X[:, None] - means
    full = np.einsum("nk,nki,nkj->kij", share, away, away)
    expected = {
        "full": full / counts[:, None, None],
        "tied": full.sum(axis=0) / 400,
        "diag": np.einsum("kii->ki", full) / counts[:, None],
        "spherical": np.einsum("kii->k", full) / counts / 3,
    }[kind]
    assert np.allclose(model.covariances_, expected, atol=1e-4)
    assert sum(model.changes_.joined.values()) == 100
    assert model.predict_proba(X).shape == (400, 3)


def test_links_hold_and_open_components():
    model = ConstrainedMixture(2, random_state=0).fit(
        X[:100], constraints=Constraints(cannot_link=[(0, 1)])
    )
    before = model.labels_.copy()
    one, two = (int(np.flatnonzero(before == c)[0]) for c in (0, 1))
    new = Constraints(must_link=[(100, one), (101, 102)], cannot_link=[(103, one), (103, two)])
    model.update(X[100:104], constraints=new)
    assert model.labels_[:100].tolist() == before.tolist()
    assert model.report_.satisfaction.n_violated == 0
    assert list(model.changes_.opened) == [2]
    assert model.predict_proba(X).shape == (400, 3)
    with pytest.raises(ValueError, match="out of range"):
        model.update(X[:1], constraints=Constraints(must_link=[(0, 900)]))
    assert len(model.labels_) == 104


def test_weights_count_as_repeated_rows():
    first, twice = (ConstrainedMixture(3, random_state=0).fit(X[:300]) for _ in range(2))
    first.update(X[300:], sample_weight=np.full(100, 2.0))
    twice.update(np.concatenate([X[300:], X[300:]]))
    assert np.allclose(first.means_, twice.means_)
    assert np.allclose(first.covariances_, twice.covariances_)
