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
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags

from linkwise import Constraints
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


def check_fit(model, X, known):
    """Whatever the docs promise of every method; returns False if the case is refused."""
    try:
        first = clone(model).fit(X, constraints=known)
    except (ValueError, TypeError):  # refused with a message: ConstraintError is a ValueError
        return False
    again = clone(model).fit(X, constraints=known)
    np.testing.assert_array_equal(first.labels_, again.labels_, "same seed, other labels")
    np.testing.assert_array_equal(first.fit(X, constraints=known).labels_, again.labels_, "refit")
    copy = pickle.loads(pickle.dumps(first))
    np.testing.assert_array_equal(copy.labels_, first.labels_, "pickle")
    if hasattr(first, "predict"):
        np.testing.assert_array_equal(copy.predict(X), first.predict(X), "pickle predicts")
    assert len(first.labels_) == X.shape[0]
    report = getattr(first, "report_", None)
    if report is not None and known:
        n_kept = known.satisfied(first.labels_).n_kept
        assert report.satisfaction.n_kept == n_kept, "the report counts otherwise"
    path = getattr(first, "objective_path_", None)
    if path is not None and np.asarray(path).ndim == 1 and not hasattr(first, "n_propagated_"):
        steps = np.diff(np.asarray(path, dtype=float))
        assert (steps <= 1e-5 * np.abs(path[0]) + 1e-9).all(), f"the objective rises: {path}"
    return True


def test_estimators():
    models = [m for m in instances() if hasattr(m, "fit_predict")]
    done = 0
    for seed in seeds("estimators"):
        rng = np.random.default_rng(seed)
        model = clone(models[seed % len(models)])
        X, group, k = rows(rng)
        X = as_container(rng, X, get_tags(model).input_tags.sparse)
        model = set_known(model, k, seed % 1000)
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)  # NumPy's own: nobody should see them
            warnings.simplefilter("ignore", UserWarning)
            warnings.simplefilter("ignore", ConvergenceWarning)
            try:
                done += check_fit(model, X, links(rng, group))
            except Exception as error:
                error.add_note(f"seed {seed}: {model!r} on {type(X).__name__} {X.shape}")
                raise
    assert done


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
