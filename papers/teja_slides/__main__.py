"""Teja's slides: COP-KMeans with the author's constraint files, and PreIdentify-KMeans.

Each method runs once from each of many random starts, as on the slides, and once as linkwise starts
it (ten k-means++ runs, the best kept). "COP-KMeans, row by row" is the listing on the slides taken
literally: rows choose in the order of the file, each the nearest center that breaks nothing, and a
row without a choice ends the run. PreIdentify is also run on other draws of the slides' clouds,
since the slides' own figure for it comes from one that is not known.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from linkwise import Constraints, COPKMeans, PreIdentifiedKMeans
from linkwise.datasets import make_slides
from linkwise.evaluation import score
from papers.datasets import load
from papers.datasets._folder import data_file

from .._figures import panels
from .._run import Cells, Run
from . import claims
from .literal import cop_row_by_row, pre_identify_open

FILES = {49: "0.0001", 499: "0.001", 4995: "0.01"}  # constraints: share of all pairs
K, TAG = 3, 2
OPEN = "PreIdentify, others may join, other draw"


def main(arguments: list[str] | None = None) -> None:
    with Run.from_command(__file__, __doc__, arguments) as run:
        starts = 100 if run.full else 10
        run.about["trials"] = f"{starts} random starts; {starts} other draws of the clouds"
        run.about["seeds"] = "start"
        table = run.table("starts", key=("method", "constraints", "start"))
        tasks = [
            {"method": method, "constraints": n, "start": start}
            for method in ("COP-KMeans", "COP-KMeans, row by row")
            for n in FILES
            for start in range(starts)
        ]
        tasks += [
            {"method": method, "constraints": 0, "start": start}
            for method in ("k-means", "PreIdentify", "PreIdentify, other draw", OPEN)
            for start in range(starts)
        ]
        tasks += [{"method": "COP-KMeans, default", "constraints": n, "start": 0} for n in FILES]
        tasks += [{"method": "PreIdentify, default", "constraints": 0, "start": 0}]
        run.fill(table, tasks, cluster)
        draw(run)
        run.print(claims.findings(run.folder))


def cluster(method: str, constraints: int, start: int) -> Iterator[Cells]:
    """One clustering of the slides' data."""
    X, y = slides() if "other" not in method else make_slides(random_state=start)
    labels = labels_of(method, constraints, start, X, y)
    if labels is None:
        yield {"nmi": None, "rand": None}
    else:
        found = score(y, labels)
        yield {"nmi": found.nmi, "rand": found.rand}


def labels_of(method: str, n: int, start: int, X: Any, y: Any) -> Any:
    """Labels, or None where the literal algorithm ends without any."""
    rng = np.random.RandomState(start)
    known = author_constraints(n) if n else None
    if method == "k-means":
        return KMeans(K, init=_rows(X, K, rng), n_init=1).fit_predict(X)
    if method == "COP-KMeans, row by row":
        return cop_row_by_row(X, known, _rows(X, K, rng))
    if method.startswith("COP-KMeans"):
        init = "auto" if "default" in method else _rows(X, K, rng)
        return COPKMeans(K, init=init, random_state=start).fit_predict(X, constraints=known)
    tagged = np.where(y == TAG, TAG, -1)
    others = X[tagged < 0]
    init = np.vstack([X[tagged == TAG].mean(axis=0), _rows(others, K - 1, rng)])
    if method == OPEN:
        return pre_identify_open(X, tagged == TAG, init)
    model = PreIdentifiedKMeans(K, init="auto" if "default" in method else init, random_state=start)
    return model.fit_predict(X, tagged)


def _rows(X: Any, k: int, rng: np.random.RandomState) -> Any:
    return X[rng.permutation(len(X))[:k]]


@cache
def slides() -> tuple[Any, Any]:
    bunch = load("slides_2d")
    return bunch.data, bunch.target


@cache
def author_constraints(n: int) -> Constraints:
    return Constraints.read(
        data_file(f"slides_2d_constraints_{FILES[n]}.csv", "the slides' author")
    )


def draw(run: Run) -> None:
    """The scatter plots of the slides: truth, three COP runs, PreIdentify."""
    X, y = slides()
    shown = {"ground truth": y}
    for n in FILES:
        shown[f"COP-KMeans, {n} constraints"] = labels_of("COP-KMeans, default", n, 0, X, y)
    shown["PreIdentify"] = labels_of("PreIdentify, default", 0, 0, X, y)
    figure, axes = panels(len(shown), columns=5)
    for one, (title, labels) in zip(axes, shown.items(), strict=True):
        one.scatter(*X.T, c=_from_left(X, labels), s=4, cmap="viridis")
        one.set_title(f"{title}\nNMI {score(y, labels).nmi:.3f}", fontsize=9)
    run.save(figure, "results", "ten k-means++ starts, the best by objective; the author's links")


def _from_left(X: Any, labels: Any) -> Any:
    """Clusters numbered from left to right, so that colors mean the same in all panels."""
    means = np.array([X[labels == k, 0].mean() for k in range(K)])
    return means.argsort().argsort()[labels]


if __name__ == "__main__":
    main()
