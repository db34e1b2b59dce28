"""What the docs promise of every method, as checks of one fit."""

from __future__ import annotations

import json
import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import get_tags

from linkwise import Constraints, open_blocks
from linkwise._methods import find_method
from linkwise.persistence import load_model, save_model

_ROUNDING = 1e-9  # of an objective in float64
_FLOAT32 = 0.3  # objectives of float32 and float64 data may be of different minima


def fitted(model, X, known):
    """A fit, or the error with which it was refused; only documented ones are let through."""
    try:
        return clone(model).fit(X, constraints=known)
    except (ValueError, TypeError) as error:  # ConstraintError is a ValueError
        return error


def check_fit(model, X, known, folder, rng):
    """All of the checks; returns False if the case is refused."""
    first = fitted(model, X, known)
    if isinstance(first, Exception):
        again = fitted(model, X, known)
        assert str(again) == str(first), "refused otherwise the second time"
        assert len(str(first)) > 20, f"an error without words: {first!r}"
        return False
    assert len(first.labels_) == X.shape[0]
    assert first.labels_.min() >= -1
    _check_repeats(model, first, X, known)
    _check_report(first, known)
    _check_hard(first)
    _check_limits(first)
    _check_monotone(first, X)
    _check_predicts_alike(first, X)
    _check_names(model, first, X, known)
    _check_permutation(model, first, X, known, rng)
    _check_blocks(model, first, X, known, folder)
    _check_precision(model, first, X, known)
    _check_saved(first, X, folder)
    return True


def _plain(X):
    return not sparse.issparse(X) and not hasattr(X, "columns")


def _check_repeats(model, first, X, known):
    """Same seed, refit, clone and pickle: the same result."""
    again = clone(model).fit(X, constraints=known)
    np.testing.assert_array_equal(first.labels_, again.labels_, "same seed, other labels")
    np.testing.assert_array_equal(again.fit(X, constraints=known).labels_, first.labels_, "refit")
    copy = pickle.loads(pickle.dumps(first))
    np.testing.assert_array_equal(copy.labels_, first.labels_, "pickle")
    if hasattr(first, "predict"):
        np.testing.assert_array_equal(copy.predict(X), first.predict(X), "pickle predicts")


def _check_report(first, known):
    """The report counts what `Constraints.satisfied` counts, and only what the method uses."""
    report = getattr(first, "report_", None)
    if report is None:
        return
    used = report.constraints
    assert used.n_constraints + report.n_ignored == known.n_constraints
    if not used.n_relative and first.labels_.min() >= 0:  # outliers are judged in their own way
        assert report.satisfaction.n_satisfied == used.satisfied(first.labels_).n_satisfied
    json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert str(report)


def _check_hard(first):
    """Methods that keep constraints always do; others were refused with a proof before."""
    method = find_method(type(first).__name__)
    if not method.is_hard or "pairs" not in method.takes or not hasattr(first, "report_"):
        return
    if getattr(first, "on_infeasible", "raise") == "relax" or first.labels_.min() < 0:
        return
    if getattr(first, "strength", np.inf) == np.inf:
        assert not first.report_.satisfaction.n_violated, str(first.report_)


def _check_limits(first):
    """Sizes are within their limits, and outliers are as many as allowed at most."""
    sizes = np.bincount(first.labels_[first.labels_ >= 0], minlength=1)
    n = len(first.labels_)
    if (least := getattr(first, "min_size", None)) is not None:
        assert sizes[sizes > 0].min() >= least, f"sizes {sizes}"
    if (most := getattr(first, "max_size", None)) is not None:
        assert sizes.max() <= np.ceil(most * n), f"sizes {sizes}"
    if isinstance(allowed := getattr(first, "outliers", None), int):  # a word for ReCon
        assert (first.labels_ < 0).sum() <= allowed


def _check_monotone(first, X):
    """No step raises the objective."""
    path = getattr(first, "objective_path_", None)
    if path is None or np.asarray(path).ndim != 1 or hasattr(first, "n_propagated_"):
        return
    share = 1e-5 if getattr(X, "dtype", None) == np.float32 else _ROUNDING
    if hasattr(first, "reg_covar"):  # which, as documented, is not part of the objective
        share = 1e-6
    steps, size = np.diff(np.asarray(path, dtype=float)), np.abs(path).max()
    assert (steps <= share * size + 1e-12).all(), f"the objective rises: {path}"


def _check_predicts_alike(first, X):
    """New rows get the same cluster in every container, and in every order."""
    if not hasattr(first, "predict"):
        return
    dense = np.asarray(X.toarray() if sparse.issparse(X) else X)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X (does not have|has feature names)")
        found = first.predict(dense)
        np.testing.assert_array_equal(first.predict(dense[::-1]), found[::-1], "order of rows")
        if get_tags(first).input_tags.sparse:
            same = first.predict(sparse.csr_array(dense)) == found
            assert same.mean() > 0.9, "CSR rows are predicted otherwise"  # ties


def _check_names(model, first, X, known):
    """Constraints by id are constraints by number."""
    if not _plain(X) or not known.n_constraints:
        return
    ids = [f"r{row}" for row in range(X.shape[0])]
    found = clone(model).fit(X, constraints=_renamed(known, ids), sample_ids=ids)
    np.testing.assert_array_equal(found.labels_, first.labels_, "ids are not row numbers")


def _renamed(known, names):
    return Constraints(
        must_link=[
            (names[i], names[j], w)
            for (i, j), w in zip(known.must_link.tolist(), known.must_link_weight, strict=True)
        ],
        cannot_link=[
            (names[i], names[j], w)
            for (i, j), w in zip(known.cannot_link.tolist(), known.cannot_link_weight, strict=True)
        ],
    )


def _check_permutation(model, first, X, known, rng):
    """Rows in another order: the same partition from methods that draw nothing.

    Others draw rows by their number: only their constraints must hold as well.
    """
    method = find_method(type(model).__name__)
    if not _plain(X) or len(np.unique(X, axis=0)) < len(X):  # ties
        return
    if method.family == "density" and X.shape[1] == 1:  # reachability ties: of neighbors on a line
        return
    order = rng.permutation(len(X))
    place = np.argsort(order).tolist()
    other = fitted(model, X[order], _renamed(known, place))
    assert not isinstance(other, Exception), f"refused in another order: {other}"
    _check_hard(other)
    if method.family in ("hierarchy", "density") and X.dtype == np.float64:
        assert _same_partition(other.labels_, first.labels_[order]), "another partition"


def _same_partition(one, two):
    """Whether two clusterings differ only in their numbers; noise is noise."""
    pairs = set(zip(one.tolist(), two.tolist(), strict=True))
    sizes = {len(pairs), len({a for a, _ in pairs}), len({b for _, b in pairs})}
    return len(sizes) == 1 and all((a == -1) == (b == -1) for a, b in pairs)


def _check_blocks(model, first, X, known, folder):
    """Rows read block by block give what rows in memory give."""
    if not find_method(type(model).__name__).blocks or not _plain(X):
        return
    np.save(folder / "rows.npy", X)
    found = fitted(model, open_blocks(folder / "rows.npy"), known)
    if isinstance(found, Exception):
        assert "memory" in str(found), f"refused on disk only: {found}"
        return
    assert found.objective_ == pytest.approx(first.objective_, rel=1e-4, abs=1e-6)


def _check_precision(model, first, X, known):
    """float32 is near float64, where the data has a scale of one."""
    if not _plain(X) or X.dtype == np.float32 or not 1e-2 < np.abs(X).max() < 1e3:
        return
    other = fitted(model, X.astype(np.float32), known)
    assert not isinstance(other, Exception), f"refused in float32 only: {other}"
    if hasattr(first, "objective_"):
        path = getattr(first, "objective_path_", first.objective_)
        scale = np.abs(np.atleast_1d(path)).max() + np.abs(X).max() ** 2
        far = abs(other.objective_ - first.objective_)
        assert far <= _FLOAT32 * scale * len(X), "float32 is far from float64"


def _check_saved(first, X, folder):
    """A saved model predicts as the one in memory."""
    if not hasattr(first, "predict"):
        return
    save_model(first, folder / "m.linkwise")
    again = load_model(folder / "m.linkwise").model
    np.testing.assert_array_equal(again.labels_, first.labels_)
    np.testing.assert_array_equal(again.predict(X), first.predict(X), "a saved model predicts")
