"""Liu, Zhang & Wang (KDD 2011): figures 2 to 5, and what claims R1 to R4 need.

Five schemes on six data sets with random (figure 2) and informative (figure 4) relative
constraints, scored by pairwise F: hierarchical and k-means clustering without constraints, k-means
and ReCon with the metric learnt from the constraints, ReCon with the Euclidean one. See README.md
for what the paper leaves open and how it is read here.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler

from linkwise import ComparisonMetric, Constraints, ReCon
from linkwise.evaluation import score
from papers.datasets import load

from .._run import Cells, Run
from . import claims, feasibility, figures

SMALL = ("iris", "wine", "ionosphere", "transfusion")
LARGE = ("digits389", "letters_ijlt")
SHARES = (0.1, 0.25, 0.5, 0.75, 1.0)  # of |D|; of all informative constraints, beyond |D|
# The paper's cut (section 4.2.1): outliers go to the nearest cluster. It does not say how small an
# outlier is; a fifth of an average cluster is our reading, see README.md.
CUT = {"outliers": "nearest", "min_branch": 0.2}
# As in the paper.
DRAWS = dict.fromkeys((*SMALL, *LARGE), 50)
QUICK_DRAWS = dict.fromkeys(SMALL, 4) | dict.fromkeys(LARGE, 2)
STRICT = {"outliers": "strict", "min_branch": 0.05}  # linkwise's default
TIMED = ("letters_ijlt", "digits389", "letters3000", "digits3000")
KEY = ("data", "scaled", "kind", "constraints", "draw")
FIRST_SEED = 100  # lower ones were looked at while the cut was studied


def main(arguments: list[str] | None = None) -> None:
    with Run.from_command(__file__, __doc__, arguments) as run:
        run.about["seeds"] = f"[{FIRST_SEED} + draw, number of constraints]"
        cases = run.table("feasibility", key=("case", "rows", "constraints", "draw"))
        run.fill(cases, list(feasibility.tasks(100 if run.full else 20)), feasibility.check)
        curves = run.table("curves", key=KEY)
        timed = run.table("times", key=("data", "constraints", "draw"))
        for most in (2, 5, 50):  # a few draws of everything first
            run.fill(curves, list(tasks(run, most)), cluster)
            run.fill(timed, list(timed_tasks(run)), measure)
        run.about["trials"] = claims.draws_words(curves.rows())
        figures.draw(run, curves.rows(), timed.rows())
        run.print(claims.findings(run.folder))


# -------------------------------------------------------------------- figures 2 to 4


def tasks(run: Run, most: int) -> Iterator[Cells]:
    """Random constraints, then informative ones; raw features too where that is cheap."""
    for name in run.chosen((*SMALL, *LARGE)):
        draws = min(most, DRAWS[name] if run.full else QUICK_DRAWS[name])
        kinds = [("random", True), ("informative", True)]
        kinds += [("random", False)] if name in SMALL else []
        for kind, scaled in kinds:
            for n in numbers(name)[kind]:
                for draw in range(draws):
                    cells = (name, scaled, kind, n, draw)
                    yield dict(zip(KEY, cells, strict=True))


def numbers(name: str) -> dict[str, list[int]]:
    """How many constraints: up to |D| random ones, up to all informative ones."""
    y = read(name, True)[1]
    k, shares = len(np.unique(y)), SHARES if name in SMALL else SHARES[:3] + SHARES[4:]
    total = (k - 1) * (len(y) - k)  # of informative ones
    random = sorted({round(share * len(y)) for share in shares})
    same = {n for n in random if n < total}
    more = {round(s * total) for s in shares if s * total > len(y)} if name in SMALL else set()
    return {"random": [0, *random], "informative": sorted({*same, *more, total})}


def cluster(data: str, scaled: bool, kind: str, constraints: int, draw: int) -> Iterator[Cells]:
    """All schemes with one draw of constraints."""
    X, y = read(data, scaled)
    k = len(np.unique(y))
    known = drawn(y, kind, constraints, draw)
    learnt = ComparisonMetric(C=1.0).fit_transform(X, constraints=known)
    plain = KMeans(k, n_init=10, random_state=FIRST_SEED + draw)
    recon = ReCon(k, **CUT).fit(X, constraints=known)
    found = {
        "Hierarchical + Euclidean": _unsupervised(data, scaled),
        "K-Means + Euclidean": plain.fit_predict(X),
        "ReCon + Euclidean": recon.labels_,
        "ReCon + Euclidean, strict cut": recon.set_params(outliers="strict", min_branch=0.05).cut(
            k
        ),
        "ReCon + learnt": ReCon(k, **CUT).fit(learnt, constraints=known).labels_,
        "K-Means + learnt": plain.fit_predict(learnt),
    }
    for method, labels in found.items():
        yield {
            "method": method,
            "f": score(y, labels).pair_f,
            "kept": known.satisfied(labels).share,  # by the partition, Definition 4.2
            "hierarchy_kept": recon.report_.satisfaction.share,
        }


def drawn(y: Any, kind: str, n: int, draw: int) -> Constraints:
    """Another draw for each number, so that the points of a curve are independent."""
    seed = np.random.RandomState([FIRST_SEED + draw, n])
    how = "triplets" if kind == "random" else "informative"
    return Constraints.from_labels(y, n, how, random_state=seed)


@cache
def read(name: str, scaled: bool) -> tuple[Any, Any]:
    """Features and classes."""
    if name.endswith("3000"):
        bunch = load({"letters3000": "letter", "digits3000": "pendigits"}[name])
        rows = np.random.RandomState(0).permutation(len(bunch.target))[:3000]
    else:
        bunch, rows = load(name), slice(None)
    X, y = np.asarray(bunch.data, dtype=float)[rows], np.asarray(bunch.target)[rows]
    return (StandardScaler().fit_transform(X) if scaled else X), y


@cache
def _unsupervised(name: str, scaled: bool) -> Any:
    X, y = read(name, scaled)
    return ReCon(len(np.unique(y)), **CUT).fit_predict(X)


# -------------------------------------------------------------------- figure 5


def timed_tasks(run: Run) -> Iterator[Cells]:
    """0 to 3,000 random constraints on four sets of some 3,000 rows."""
    numbers = (0, 1000, 2000, 3000) if run.full else (0, 3000)
    for name in run.chosen(TIMED):
        for n in numbers:
            yield {"data": name, "constraints": n, "draw": 0}


def measure(data: str, constraints: int, draw: int) -> Iterator[Cells]:
    """Seconds of computing of one fit."""
    X, y = read(data, True)
    known = drawn(y, "random", constraints, draw)
    model = ReCon(len(np.unique(y)), **CUT)
    start = time.process_time()
    model.fit(X, constraints=known)
    yield {"seconds": round(time.process_time() - start, 3)}


if __name__ == "__main__":
    main()
