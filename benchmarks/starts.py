"""How near the default fit is to the best of many starts, and how good its clusters are.

Run ``python -m benchmarks.starts [STARTS]``. 36 problems, k 3 to 150, clusters of equal and unequal
sizes, 50 to 3,000 random links; COP-KMeans, PCK-Means and MPCK-Means with their defaults, with the
starts of former versions, and the best of many mixed starts without swaps (200, or as many as are
asked for; MPCK-Means a quarter of them).
"""

from __future__ import annotations

import itertools
import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from linkwise import Constraints, COPKMeans, MPCKMeans, PCKMeans

_COUNTS = 3, 7, 20, 50, 100, 150
_LINKS = 50, 500, 3000
_ROWS = 1200
# The method, the parameters of former versions, and the share of the starts that it is given.
METHODS: dict[str, tuple[Any, dict[str, Any], float]] = {
    "COP": (COPKMeans, {"n_init": 10, "init": "k-means++"}, 1.0),
    "PCK": (PCKMeans, {"n_init": 5}, 1.0),
    "MPCK": (MPCKMeans, {"n_init": 5}, 0.25),
}


class Fit(NamedTuple):
    """The model of one fit, its adjusted Rand index, CPU seconds."""

    model: Any
    ari: float
    seconds: float

    @property
    def objective(self) -> float:
        """What the loop minimizes."""
        return float(self.model.objective_)


def problems() -> Iterator[tuple[int, bool, int, NDArray[np.float64], NDArray[np.int64]]]:
    """k, whether sizes are equal, number of links, rows and classes."""
    for k, equal, n_links in itertools.product(_COUNTS, (True, False), _LINKS):
        rng = np.random.RandomState(1000 * k + equal)
        shares = np.full(k, 1 / k) if equal else rng.dirichlet(np.full(k, 1.5))
        y = np.concatenate([np.arange(k), rng.choice(k, _ROWS - k, p=shares)])
        d = 4 if k <= 7 else 8
        centers = rng.normal(size=(k, d)) * (2.0 if k <= 7 else 1.6)
        yield k, equal, n_links, centers[y] + 0.7 * rng.normal(size=(_ROWS, d)), y


def unequal() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """2,000 rows in 20 dimensions, seven clusters of 48 to 848 rows."""
    rng = np.random.RandomState(3)
    y = np.repeat(np.arange(7), [848, 424, 272, 200, 128, 80, 48])
    return rng.normal(size=(7, 20))[y] * 0.9 + 0.6 * rng.normal(size=(2000, 20)), y


def fitted(method: Any, X: Any, y: Any, known: Constraints) -> Fit:
    """Fit, and judge by the classes."""
    started = time.process_time()
    model = method.fit(X, constraints=known)
    seconds = time.process_time() - started
    return Fit(model, adjusted_rand_score(y, model.labels_), seconds)


def compare(
    X: Any, y: Any, known: Constraints, k: int, n_starts: int, seed: int
) -> dict[str, dict[str, Fit]]:
    """Each method in three ways: the default, the starts of former versions, many starts."""
    found = {}
    for short, (method, former, share) in METHODS.items():
        many = max(10, round(share * n_starts))
        ways = {"default": {}, "former": former, "many": {"n_init": many}}
        found[short] = {
            way: fitted(method(k, random_state=seed, **given), X, y, known)
            for way, given in ways.items()
        }
    return found


def gap(fits: dict[str, Fit], way: str) -> float:
    """Per cent that an objective is above the best of all ways."""
    best = min(fit.objective for fit in fits.values())
    return 100 * (fits[way].objective - best) / (abs(best) or 1.0)


def told(X: Any, y: Any, k: int, seed: int, found: dict[str, dict[str, Fit]]) -> str:
    """One line: gap, adjusted Rand index and CPU seconds of each method and way."""
    lines = []
    for short, fits in found.items():
        each = (
            f"{way} {gap(fits, way):.2f} % {fit.ari:.3f} {fit.seconds:.2f} s"
            for way, fit in fits.items()
        )
        lines.append(f"{short}: {', '.join(each)}")
    plain = adjusted_rand_score(y, KMeans(k, n_init=10, random_state=seed).fit_predict(X))
    cop, pck = (_inertia(X, found[short]["default"].model.labels_) for short in ("COP", "PCK"))
    return f"{'; '.join(lines)}; k-means {plain:.3f}; inertia of COP / PCK {cop / pck:.4f}"


def summary(all_found: list[dict[str, dict[str, Fit]]]) -> Iterator[str]:
    """One line per method over all problems."""
    for short in METHODS:
        fits = [found[short] for found in all_found]
        for way in ("default", "former"):
            gaps = np.array([gap(own, way) for own in fits])
            ari = np.mean([own[way].ari for own in fits])
            seconds = [sum(own[one].seconds for own in fits) for one in (way, "former")]
            ratios = [own[way].seconds / max(own["former"].seconds, 1e-9) for own in fits]
            yield (
                f"{short}, {way}: mean gap {gaps.mean():.2f} %, within .5 % "
                f"{(gaps <= 0.5).mean():.0%}, ARI {ari:.3f}, "
                f"time {seconds[0] / seconds[1]:.2f} of the former in all, "
                f"{np.median(ratios):.2f} at the median"
            )


def _inertia(X: Any, labels: Any) -> float:
    """Squared distances to the means of the clusters."""
    found = np.unique(labels, return_inverse=True)[1]
    sizes = np.bincount(found)
    means = np.array([np.bincount(found, column) / sizes for column in X.T]).T
    return float(((X - means[found]) ** 2).sum())


def main(n_starts: int = 200) -> None:
    """Print one line per problem, then one per method."""
    warnings.simplefilter("ignore")
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(200, 4)), rng.randint(3, size=200)
    compare(X, y, Constraints.from_labels(y, 50, random_state=0), 3, 10, 0)  # imports
    all_found = []
    for number, (k, equal, n_links, X, y) in enumerate(problems()):
        known = Constraints.from_labels(y, n_links, random_state=number)
        all_found.append(compare(X, y, known, k, n_starts, number))
        sizes = "equal" if equal else "unequal"
        print(f"k {k}, {sizes}, {n_links}: {told(X, y, k, number, all_found[-1])}", flush=True)
    print(*summary(all_found), sep="\n", flush=True)
    X, y = unequal()
    for draw in range(3):
        found = compare(X, y, Constraints.from_labels(y, 300, random_state=draw), 7, n_starts, draw)
        print(f"2,000 x 20, 48 to 848 rows, 300, {draw}: {told(X, y, 7, draw, found)}", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
