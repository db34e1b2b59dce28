"""Random cases over every estimator of the registry and every reader: `make fuzz SECONDS=600`.

Environment: LINKWISE_FUZZ_SECONDS per test, LINKWISE_FUZZ_SEED (0). Without a time, as in
`make test`, the number of cases is fixed, so that the suite does not depend on the machine's speed.
A failure names the seed of its case.
"""

import json
import os
import pickle
import time
import warnings
from itertools import count

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import get_tags

from linkwise import Constraints, open_blocks
from linkwise._methods import find_method
from linkwise.constraints import ConstraintError
from linkwise.datasets import read_table
from tests.fuzz.cases import as_container, links, mutated, rows
from tests.methods import instances

SECONDS = os.environ.get("LINKWISE_FUZZ_SECONDS")
CASES = {"estimators": 120, "readers": 300}  # without a time given
FIRST = int(os.environ.get("LINKWISE_FUZZ_SEED", "0"))


def seeds(what, share=1.0):
    """Seeds of cases, until the time or the number of cases is used up."""
    end = None if SECONDS is None else time.monotonic() + share * float(SECONDS)
    for seed in count(FIRST):
        if seed - FIRST >= CASES[what] if end is None else time.monotonic() >= end:
            return
        yield seed


def set_known(model, k, seed):
    known = model.get_params(deep=False)
    wanted = {"n_clusters": k, "random_state": seed}
    fit = {name: value for name, value in wanted.items() if name in known}
    if fit.get("n_clusters") == 1 and known["n_clusters"] is None:
        fit["n_clusters"] = None
    return model.set_params(**fit)


def fitted(model, X, known):
    """A fit, or the error with which it was refused; only documented ones are let through."""
    try:
        return clone(model).fit(X, constraints=known)
    except (ValueError, TypeError) as error:  # ConstraintError is a ValueError
        return error


def check_repeats(model, first, X, known):
    """Same seed, refit, clone and pickle: the same result."""
    again = clone(model).fit(X, constraints=known)
    np.testing.assert_array_equal(first.labels_, again.labels_, "same seed, other labels")
    np.testing.assert_array_equal(again.fit(X, constraints=known).labels_, first.labels_, "refit")
    copy = pickle.loads(pickle.dumps(first))
    np.testing.assert_array_equal(copy.labels_, first.labels_, "pickle")
    if hasattr(first, "predict"):
        np.testing.assert_array_equal(copy.predict(X), first.predict(X), "pickle predicts")


def check_report(first, known):
    """The report counts what `Constraints.satisfied` counts, and only what the method uses."""
    report = getattr(first, "report_", None)
    if report is None:
        return
    used = report.constraints
    assert used.n_constraints + report.n_ignored == known.n_constraints
    if not used.n_relative:
        assert report.satisfaction.n_satisfied == used.satisfied(first.labels_).n_satisfied
    json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert str(report)


def check_hard(first, known):
    """Methods that keep constraints always do; others were refused with a proof before."""
    method = find_method(type(first).__name__)
    if not method.is_hard or "pairs" not in method.takes or not hasattr(first, "report_"):
        return
    if getattr(first, "strength", np.inf) == np.inf:
        assert not first.report_.satisfaction.n_violated, str(first.report_)


def check_monotone(first):
    """No step raises the objective."""
    path = getattr(first, "objective_path_", None)
    if path is None or np.asarray(path).ndim != 1 or hasattr(first, "n_propagated_"):
        return
    steps = np.diff(np.asarray(path, dtype=float))
    assert (steps <= 1e-5 * np.abs(path[0]) + 1e-9).all(), f"the objective rises: {path}"


def check_predicts_alike(first, X):
    """New rows get the same cluster in every container."""
    if not hasattr(first, "predict") or not get_tags(first).input_tags.sparse:
        return
    dense = np.asarray(X.toarray() if sparse.issparse(X) else X)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X (does not have|has feature names)")
        found = first.predict(sparse.csr_array(dense)), first.predict(dense)
    assert (found[0] == found[1]).mean() > 0.9, "CSR rows are predicted otherwise"  # ties


def check_names(model, first, X, known):
    """Constraints by id, in any order of the rows, are constraints by number."""
    if sparse.issparse(X) or hasattr(X, "columns") or not known.n_constraints:
        return
    ids = [f"r{row}" for row in range(X.shape[0])]
    named = Constraints(
        must_link=[(ids[i], ids[j]) for i, j in known.must_link.tolist()],
        cannot_link=[(ids[i], ids[j]) for i, j in known.cannot_link.tolist()],
    )
    found = clone(model).fit(X, constraints=named, sample_ids=ids)
    np.testing.assert_array_equal(found.labels_, first.labels_, "ids are not row numbers")


def check_blocks(model, first, X, known, folder):
    """Rows read block by block give what rows in memory give."""
    if not find_method(type(model).__name__).blocks or sparse.issparse(X) or hasattr(X, "columns"):
        return
    np.save(folder / "rows.npy", X)
    found = clone(model).fit(open_blocks(folder / "rows.npy"), constraints=known)
    assert found.objective_ == pytest.approx(first.objective_, rel=1e-4, abs=1e-6)


def check_precision(first, model, X, known):
    """float32 is near float64: the objective is, where the data has a scale of one."""
    if sparse.issparse(X) or hasattr(X, "columns") or X.dtype == np.float32:
        return
    if not 1e-2 < np.abs(X).max() < 1e3 or not hasattr(first, "objective_"):
        return
    other = fitted(model, X.astype(np.float32), known)
    assert not isinstance(other, Exception), f"refused in float32 only: {other}"
    assert len(other.labels_) == len(first.labels_)


def check_fit(model, X, known, folder):
    """Whatever the docs promise of every method; returns False if the case is refused."""
    first = fitted(model, X, known)
    if isinstance(first, Exception):
        again = fitted(model, X, known)
        assert str(again) == str(first), "refused otherwise the second time"
        assert len(str(first)) > 20, f"an error without words: {first!r}"
        return False
    assert len(first.labels_) == X.shape[0]
    assert first.labels_.min() >= -1
    check_repeats(model, first, X, known)
    check_report(first, known)
    check_hard(first, known)
    check_monotone(first)
    check_predicts_alike(first, X)
    check_names(model, first, X, known)
    check_blocks(model, first, X, known, folder)
    check_precision(first, model, X, known)
    return True


# What docs/guide says a fit may warn of.
_DOCUMENTED = (
    "Number of distinct clusters", ".* did not converge", ".*relative constraints have no effect",
    ".*clusters have one row", ".*eigenvalues", ".*links",
)  # fmt: skip


def test_estimators(tmp_path):
    models = [m for m in instances() if hasattr(m, "fit_predict")]
    done = 0
    for seed in seeds("estimators"):
        rng = np.random.default_rng(seed)
        model = clone(models[seed % len(models)])
        X, group, k = rows(rng)
        X = as_container(rng, X, get_tags(model).input_tags.sparse)
        model = set_known(model, k, seed % 1000)
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # above all NumPy's own: nobody should see them
            for message in _DOCUMENTED:
                warnings.filterwarnings("ignore", message=message, category=UserWarning)
            try:
                done += check_fit(model, X, links(rng, group), tmp_path)
            except Exception as error:
                error.add_note(f"seed {seed}: {model!r} on {type(X).__name__} {X.shape}")
                raise
    assert done > 0.4 * (seed - FIRST)


_CSV = b'id;x;kind\n1;1,5;"a"\n2;2;b\n3;;c\n'
_LINKS = b"i,j,link,weight\n0,1,must,1\n1,2,cannot,0.5\n"
_JSON = b'{"i": 0, "j": 1, "link": "must"}\n{"i": 1, "j": 2, "link": -1}\n'


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "npy", "npz", "parquet", "links.csv", "jsonl"])
def test_readers_refuse_what_they_cannot_read(kind, tmp_path):
    import gzip

    file = tmp_path / f"x.{kind}"
    content = {"csv": _CSV, "csv.gz": gzip.compress(_CSV), "links.csv": _LINKS, "jsonl": _JSON}
    if kind in ("npy", "npz"):
        (np.save if kind == "npy" else np.savez)(file, np.arange(12.0).reshape(4, 3))
    elif kind == "parquet":
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        pq.write_table(pa.table({"a": [1.0, 2.0], "b": ["u", "v"]}), file)
    else:
        file.write_bytes(content[kind])
    read = Constraints.read if kind in ("links.csv", "jsonl") else read_table
    original = file.read_bytes()
    for seed in seeds("readers", 1 / 7):
        file.write_bytes(mutated(np.random.default_rng(seed), original))
        try:
            found = read(file)
            if isinstance(found, Constraints):
                json.dumps(found.diagnose(time_limit=0.1).to_dict())
        except (ConstraintError, ValueError):
            pass
        except Exception as error:
            error.add_note(f"seed {seed}, {kind}")
            raise
