"""Liu, Jin & Jain (KDD 2007): figures 3 and 5 to 7, and what claims B1 to B4 need.

Balanced constraints (half must-links, half cannot-links), 0 to 800 of them, NMI and pairwise F over
all rows; three data sets once more with 20 % of the constraints flipped. See README.md for what the
paper leaves open and how it is read here.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import numpy as np
from sklearn.cluster import AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.preprocessing import StandardScaler

from linkwise import (
    BoostCluster,
    ConstrainedKernelKMeans,
    Constraints,
    MPCKMeans,
    SpectralLearning,
)
from papers.datasets import load
from papers.experiment import PROTOCOLS

from .._curves import Experiment, curves_of, grow
from .._run import Cells, Run
from . import figures
from .claims import (
    BASES,
    NOISY,
    PLAIN,
    ROUND_KEY,
    SETS,
    draws_words,
    experiment_name,
    findings,
)
from .single_link import GroupedSingleLink

NOISE = 0.2
ROUNDS = 25
MOST_ROWS = {True: 650, False: 300}  # full, quick
NUMBERS = {True: (0, 100, 200, 400, 800), False: (0, 100, 400)}
TRIALS = {True: 5, False: 2}


def main(arguments: list[str] | None = None) -> None:
    with Run.from_command(__file__, __doc__, arguments) as run:
        run.about["seeds"] = "0, and those that learning_curve makes of it"
        grow(run, experiments(run), (2,))
        rounds = run.table("rounds", key=ROUND_KEY)
        run.fill(rounds, list(round_tasks(run)), measure_rounds)
        grow(run, experiments(run), (2, TRIALS[run.full]))
        run.about["trials"] = (
            f"{draws_words(curves_of(run.folder, SETS))} (the paper: 5) on at most "
            f"{MOST_ROWS[run.full]:,} rows of a data set (the paper: all)"
        )
        figures.draw(run, rounds.rows())
        run.print(findings(run.folder))


# -------------------------------------------------------------------- figures 5 to 7


def experiments(run: Run) -> Iterator[Experiment]:
    """Every data set, and three again with wrong links."""
    for noise in (0.0, NOISE):
        for name in run.chosen(SETS if not noise else NOISY):
            yield Experiment(
                experiment_name(name, bool(noise)), partial(data_of, name, MOST_ROWS[run.full]),
                partial(methods, name), NUMBERS[run.full],
                PROTOCOLS["liu2007"].but(n_trials=TRIALS[run.full], noise=noise),
                ("nmi", "pair_f"),
            )  # fmt: skip


@cache
def data_of(name: str, most_rows: int) -> tuple[Any, Any]:
    """Standardized features and classes."""
    bunch = load(name)
    X, y = np.asarray(bunch.data, dtype=float), np.asarray(bunch.target)
    chosen = np.random.RandomState(0).permutation(len(y))[:most_rows]
    return StandardScaler().fit_transform(X[chosen]), y[chosen]


def bases(k: int, d: int) -> dict[str, Any]:
    """The paper's three as near as we have them, and scikit-learn's single link."""
    return {
        "K-means": KMeans(k, n_init=10),
        "SLINK": GroupedSingleLink(k),
        "SPEC": SpectralClustering(k, gamma=1.0 / d),
        PLAIN: AgglomerativeClustering(k, linkage="single"),
    }


def boosted(name: str, k: int) -> dict[str, BoostCluster]:
    """BoostCluster around each base."""
    d = load(name).data.shape[1]
    return {
        base: BoostCluster(clusterer, ROUNDS, min(SETS[name], d))
        for base, clusterer in bases(k, d).items()
    }


def methods(name: str, k: int) -> dict[str, Any]:
    """The eight of figure 4, and one more."""
    represented = bases(k, k)  # as many eigenvectors as clusters
    return {
        **{f"BoostCluster + {base}": model for base, model in boosted(name, k).items()},
        "MPCKMeans": MPCKMeans(k),
        "SSKK": ConstrainedKernelKMeans(k),
        **{
            f"SpectralLearn + {base}": SpectralLearning(k, clusterer=represented[base])
            for base in BASES
        },
    }


# -------------------------------------------------------------------- figure 3


def round_tasks(run: Run) -> Iterator[Cells]:
    """Runs of BoostCluster whose every round is kept."""
    for name in run.chosen(SETS):
        for base in (*BASES, PLAIN):
            for n in (100, 800) if run.full else (100,):
                for noise in (0.0, NOISE):
                    cells = (name, MOST_ROWS[run.full], base, n, noise, 0)
                    yield dict(zip(ROUND_KEY, cells, strict=True))


def measure_rounds(
    data: str, rows: int, base: str, constraints: int, noise: float, draw: int
) -> Iterator[Cells]:
    """Loss and Theorem 1's bound after each round; round 0 is before the first."""
    X, y = data_of(data, rows)
    known = Constraints.from_labels(y, constraints, "balanced", random_state=draw)
    if noise:
        known = known.flip(noise, random_state=draw)
    model = boosted(data, len(np.unique(y)))[base]
    model.set_params(random_state=draw).fit(X, constraints=known)
    yield {"round": 0, "loss": 1.0, "bound": 1.0}  # as a share of the loss before the first
    first = 4.0 * known.n_must_link * known.n_cannot_link  # each pair counts both ways
    for number, r in enumerate(model.history_, start=1):
        yield {"round": number, "loss": r.loss / first, "bound": r.bound / first}


if __name__ == "__main__":
    main()
