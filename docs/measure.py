"""Measure what pictures and tables of the pages show: ``python docs/measure.py [NAME ...]``.

Results go to docs/results, one JSON file per name; `make_pictures.py` draws them and
``python -m tests.tables`` writes them into the pages. ``curves`` takes about ten minutes,
``answers`` about fifteen.
"""

from __future__ import annotations

import json
import platform
import sys
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

import linkwise as lw
from linkwise import Constraints
from linkwise.active import LabelOracle
from linkwise.datasets import load
from linkwise.evaluation import learning_curve, score

FOLDER = Path(__file__).parent / "results"
NUMBERS = (0, 5, 20, 50, 100, 200)
ANSWERS = (0, 10, 20, 50, 100, 200)
N_DRAWS = 10
SHARE_WRONG = 0.2


def measure_curves() -> Any:
    """ARI on rows that no constraint names, by the number of random pairs."""
    found: dict[str, Any] = {}
    for name, k in (("iris", 3), ("wine", 3), ("wdbc", 2), ("digits", 10)):
        X, y = load(name, return_X_y=True) if name == "digits" else _standardized(name)
        methods = {
            "k-means": KMeans(k, n_init=3), "PCKMeans": lw.PCKMeans(k), "MPCKMeans": lw.MPCKMeans(k)
        }  # fmt: skip
        curve = learning_curve(methods, X, y, NUMBERS, n_repetitions=3, n_folds=3)
        means = curve.mean("ari")
        found[name] = {
            m: line.round(4).tolist() for m, line in zip(curve.methods, means, strict=True)
        }
    return {"numbers": NUMBERS, "protocol": "3 repetitions of 3 folds", "ari": found}


def measure_answers() -> Any:
    """ARI on all rows by the number of answers: chosen, random, random and 20 % wrong."""
    found: dict[str, Any] = {}
    for name in ("iris", "wine", "wdbc", "digits389"):
        X, y = _digits389() if name == "digits389" else _standardized(name)
        k = len(np.unique(y))
        plain = score(y, KMeans(k, n_init=10, random_state=0).fit_predict(X)).ari
        ways = {"chosen": _chosen, "random": _random, "wrong": _wrong, "wrong, noise": _tolerant}
        found[name] = {"k-means": plain} | {
            way: [ask(X, y, k, draw) for draw in range(N_DRAWS)] for way, ask in ways.items()
        }
    return {"numbers": ANSWERS, "share_wrong": SHARE_WRONG, "draws": N_DRAWS, "ari": found}


def _model(k: int, noise: str | None = None) -> Any:
    if noise is not None:
        return lw.PCKMeans(k, noise=noise, n_init=5, random_state=0)
    return lw.MPCKMeans(k, metric="full", n_init=5, random_state=0)


def _chosen(X: Any, y: Any, k: int, draw: int) -> list[float]:
    line = []
    with lw.Session(
        X, "ExploreConsolidate", _model(k), k, refit_every=None, random_state=draw, background=False
    ) as session:
        for number in ANSWERS:
            session.run(LabelOracle(y), number - len(session.snapshot().answers))
            line.append(score(y, session.refit().labels).ari)
    return line


def _random(X: Any, y: Any, k: int, draw: int, share: float = 0.0, **how: Any) -> list[float]:
    known = Constraints.from_labels(y, ANSWERS[-1], random_state=draw).flip(
        share, random_state=draw
    )
    order = np.random.default_rng(draw).permutation(ANSWERS[-1])
    return [
        score(
            y, _model(k, **how).fit(X, constraints=known.take(np.sort(order[:number]))).labels_
        ).ari
        for number in ANSWERS
    ]


def _wrong(X: Any, y: Any, k: int, draw: int) -> list[float]:
    return _random(X, y, k, draw, SHARE_WRONG)


def _tolerant(X: Any, y: Any, k: int, draw: int) -> list[float]:
    return _random(X, y, k, draw, SHARE_WRONG, noise="auto")


def _standardized(name: str) -> tuple[Any, Any]:
    X, y = load(name, return_X_y=True)
    return StandardScaler().fit_transform(X), y


def _digits389() -> tuple[Any, Any]:
    """Threes, eights and nines: the first 300 rows, eight principal components."""
    digits = load_digits()
    rows = np.flatnonzero(np.isin(digits.target, (3, 8, 9)))[:300]
    X = PCA(8, random_state=0).fit_transform(digits.data[rows])
    return StandardScaler().fit_transform(X), digits.target[rows]


MEASURED: dict[str, Callable[[], Any]] = {"curves": measure_curves, "answers": measure_answers}


def main(names: list[str]) -> None:
    """Measure and write."""
    warnings.simplefilter("ignore")
    FOLDER.mkdir(exist_ok=True)
    for name in names or MEASURED:
        about = {
            "measured": datetime.now(UTC).date().isoformat(),
            "versions": {
                "python": platform.python_version(),
                "linkwise": lw.__version__,
                "scikit-learn": sklearn.__version__,
            },
        }
        text = json.dumps({**about, **MEASURED[name]()}, indent=1)
        (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
