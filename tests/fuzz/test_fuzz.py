"""Random cases over every estimator of the registry and every reader: `make fuzz SECONDS=600`.

Environment: LINKWISE_FUZZ_SECONDS for all tests together, LINKWISE_FUZZ_SEED (0). Without a time,
as in `make test`, the number of cases is fixed (half a minute), so that the suite does not depend
on the machine's speed. A failure names the seed of its case.
"""

import gzip
import json
import os
import time
import warnings
from itertools import count

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils import get_tags

from linkwise import Constraints, PCKMeans
from linkwise.active import Session
from linkwise.constraints import Tree
from linkwise.persistence import load_model, save_model
from linkwise.tables import read_table
from tests.fuzz.cases import as_container, links, models, mutated, rows
from tests.fuzz.checks import check_fit

SECONDS = os.environ.get("LINKWISE_FUZZ_SECONDS")
CASES = {"estimators": 30, "readers": 200, "slow readers": 40}  # without a time given
FIRST = int(os.environ.get("LINKWISE_FUZZ_SEED", "0"))
# What docs/guide says a fit may warn of.
_DOCUMENTED = (
    "Number of distinct clusters", ".* did not (converge|settle)", ".*clusters have one row",
    ".*relative constraints have no effect", ".*eigenvalues", ".*links",
)  # fmt: skip


def seeds(what, share):
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


def test_estimators(tmp_path):
    done = 0
    for seed in seeds("estimators", 0.7):
        rng = np.random.default_rng(seed)
        model = clone(models()[seed % len(models())])
        X, group, k = rows(rng)
        X = as_container(rng, X, get_tags(model).input_tags.sparse)
        model = set_known(model, k, seed % 1000)
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # above all NumPy's own: nobody should see them
            for message in _DOCUMENTED:
                warnings.filterwarnings("ignore", message=message, category=UserWarning)
            try:
                done += check_fit(model, X, links(rng, group), tmp_path, rng)
            except Exception as error:
                error.add_note(f"seed {seed}: {model!r} on {type(X).__name__} {X.shape}")
                raise
    print(f"{seed - FIRST + 1} cases, {done} of them fits, the others refused")  # for pytest -s
    assert done > 0.4 * (seed - FIRST)


# -------------------------------------------------------------------- files

_CSV = b'id;x;kind\n1;1,5;"a"\n2;2;b\n3;;c\n'
_LINKS = b"i,j,link,weight\n0,1,must,1\n1,2,cannot,0.5\n"
_JSON = b'{"i": 0, "j": 1, "link": "must"}\n{"i": 1, "j": 2, "link": -1}\n'
_TREE = b"((a:1,'b c':2)x:0.5,(d,e)[note]);\n"
_TEXTS = {
    "csv": _CSV, "csv.gz": gzip.compress(_CSV), "links.csv": _LINKS, "jsonl": _JSON, "nwk": _TREE,
}  # fmt: skip
_SLOW = ("xlsx", "db", "linkwise")
X = np.random.default_rng(0).normal(size=(12, 3))


def write_valid(kind, file):
    """A small file of a kind that can be read."""
    if kind in _TEXTS:
        file.write_bytes(_TEXTS[kind])
    elif kind in ("npy", "npz"):
        (np.save if kind == "npy" else np.savez)(file, np.arange(12.0).reshape(4, 3))
    elif kind == "parquet":
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        pq.write_table(pa.table({"a": [1.0, 2.0], "b": ["u", "v"]}), file)
    elif kind == "xlsx":
        book = pytest.importorskip("openpyxl").Workbook()
        for row in (["a", "b"], [1.5, "u"], [2, "v"]):
            book.active.append(row)
        book.save(file)
    elif kind == "linkwise":
        save_model(PCKMeans(2, random_state=0).fit(X), file)
    else:
        with Session(X, "RandomPairs", PCKMeans(), 2, path=file, who="ana", background=False) as s:
            for said in (True, False):
                s.ask()
                s.tell(said)


def read(kind, file):
    """What a reader makes of the file."""
    if kind == "nwk":
        Tree.from_newick(file.read_text(encoding="utf-8", errors="strict")).to_newick()
    elif kind in ("links.csv", "jsonl"):
        json.dumps(Constraints.read(file).diagnose(time_limit=0.1).to_dict())
    elif kind == "linkwise":
        load_model(file).model.predict(X)
    elif kind == "db":
        with Session.open(file, X, background=False) as session:
            session.ask(who="ben")
    else:
        read_table(file)


KINDS = (*_TEXTS, "npy", "npz", "parquet", *_SLOW)


@pytest.mark.parametrize("kind", KINDS)
def test_readers_refuse_what_they_cannot_read(kind, tmp_path):
    file = tmp_path / f"x.{kind}"
    write_valid(kind, file)
    read(kind, file)
    original = file.read_bytes()
    for seed in seeds("slow readers" if kind in _SLOW else "readers", 0.3 / len(KINDS)):
        file.write_bytes(mutated(np.random.default_rng(seed), original))
        for left in tmp_path.glob("x.db-*"):
            left.unlink()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                read(kind, file)
        except ValueError:  # ConstraintError, FileFormatError and UnicodeDecodeError are
            pass
        except Exception as error:
            if kind == "db" and "is damaged" in str(error):
                continue
            error.add_note(f"seed {seed}, {kind}")
            raise
