"""Figure 1 of the paper: the data in the projected space, round by round.

`python -m papers.liu2007_boostcluster.projections` writes results/figure_1.png.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from linkwise import BoostCluster, Constraints
from papers import datasets

from .._figures import panels

_ROUNDS = (1, 2, 7)  # those that the paper shows
_ROWS, _LINKS = 200, 60  # of "scale", and the links of either kind together
_MARKS = "^ox"
_FILE = Path(__file__).parent / "results" / "figure_1.png"


def draw() -> None:
    """Principal components, then the projections of three rounds, with the links in each."""
    X, y = datasets.load("scale", sample=_ROWS, return_X_y=True)
    X = StandardScaler().fit_transform(X)
    known = Constraints.from_labels(y, _LINKS, "balanced", random_state=0)
    base = KMeans(3, n_init=10, random_state=0)
    model = BoostCluster(base, n_components=3, random_state=0).fit(X, constraints=known)
    figure, axes = panels(1 + len(_ROUNDS), columns=2, height=3.4)
    score = adjusted_rand_score(y, base.fit_predict(X))
    _scatter(axes[0], PCA(2).fit_transform(X), y, known)
    axes[0].set_title(f"principal components (k-means: ARI {score:.2f})", fontsize=9)
    for one, number in zip(axes[1:], _ROUNDS, strict=True):
        number = min(number, model.n_iter_)
        seen = model._work.rounds[number - 1].project(X)
        label = adjusted_rand_score(y, base.fit_predict(seen))
        _scatter(one, PCA(2).fit_transform(seen) if seen.shape[1] > 1 else seen, y, known)
        one.set_title(f"round {number} (k-means there: ARI {label:.2f})", fontsize=9)
    final = adjusted_rand_score(y, model.labels_)
    figure.suptitle(
        f"balance scale, {_ROWS} rows, {_LINKS} links; after all {model.n_iter_} rounds: ARI "
        f"{final:.2f}",
        fontsize=10,
    )
    _FILE.parent.mkdir(exist_ok=True)
    figure.savefig(_FILE, dpi=80, bbox_inches="tight")
    print(_FILE)


def _scatter(one: Axes, at: np.ndarray, y: np.ndarray, known: Constraints) -> None:
    """Rows by class; must-links solid, cannot-links dotted."""
    at = np.column_stack([at, np.zeros(len(at))])[:, :2]
    for pairs, style in ((known.must_link, "-"), (known.cannot_link, ":")):
        for i, j in pairs:
            one.plot(*at[[i, j]].T, style, color="0.6", linewidth=0.6, zorder=1)
    for value, mark in zip(np.unique(y), _MARKS, strict=True):
        one.scatter(*at[y == value].T, marker=mark, s=14, zorder=2)
    one.set(xticks=[], yticks=[])


if __name__ == "__main__":
    draw()
