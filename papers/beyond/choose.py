"""AutoCluster against every fixed algorithm: does holding back constraints choose well?

``python papers/beyond/choose.py`` clusters every data set with 20, 50, 100 and 200 random
constraints, 10 draws each, and once more with 20 % of 100 constraints wrong; then it follows the
protocol of Baumann & Hochbaum (2024). Every score goes to a CSV file, tables to standard output.
``--quick`` takes six small data sets, two draws, eight kinds of candidates, at most eight clusters
and no Baumann & Hochbaum.

A fixed algorithm is one kind of candidate that is told the *true* number of clusters; AutoCluster
is not. The best in hindsight is the fixed algorithm with the highest mean for this data set and
number of constraints.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import math
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from linkwise import (
    RCA,
    AutoCluster,
    BoostCluster,
    ConstrainedKernelKMeans,
    Constraints,
    COPKMeans,
    MPCKMeans,
    PCKMeans,
    SpectralLearning,
)
from linkwise.datasets import load
from linkwise.datasets._catalogue import BAUMANN_HOCHBAUM
from linkwise.selection._candidates import fit, given_candidates, labels_of

HERE = Path(__file__).parent
QUICK = ("iris", "wine", "protein", "seeds", "glass", "ecoli")
FULL = (*QUICK, "ionosphere", "crabs_gender", "wdbc", "vowel", "digits389", "letters_ijl")
FIRST_SEED = 10  # of the draws; some below were looked at while AutoCluster was written
SIZES, NOISY = (20, 50, 100, 200), (100, 0.2)
PUBLISHED = {5: 0.413, 10: 0.771, 15: 0.923, 20: 0.953}  # PCCC, mean ARI by share of rows
CHOICE, CHOICE_AT_K = "AutoCluster", "AutoCluster, true k given"


def fixed(quick: bool) -> list[tuple[str, Any]]:
    """The kinds of candidates, simplest first."""

    def scaled(*steps: Any) -> Any:
        return make_pipeline(StandardScaler(), *steps)

    found = [
        ("PCK", scaled(PCKMeans(penalty="distance"))),
        ("k-means", scaled(KMeans(n_init=10))),
        ("PCK, RCA", scaled(RCA(), PCKMeans(penalty="distance"))),
        ("COP", scaled(COPKMeans(n_init=5))),
        ("MPCK", scaled(MPCKMeans())),
        ("MPCK, full", scaled(MPCKMeans(metric="full"))),
        ("kernel", scaled(ConstrainedKernelKMeans())),
        ("spectral", scaled(SpectralLearning())),
    ]
    return found if quick else [*found, ("boost", scaled(BoostCluster(KMeans(n_init=3))))]


def read(name: str) -> tuple[Any, Any]:
    bunch = load(name)
    return np.asarray(bunch.data, dtype=float), np.asarray(bunch.target)


def scores(
    X: Any, y: Any, known: Constraints, quick: bool, seed: int
) -> Iterator[tuple[str, float, int | None]]:
    """Name, ARI and number of clusters of everything that is compared."""
    k = len(np.unique(y))
    methods = fixed(quick)
    for kind in given_candidates(methods, [k]):
        try:
            model = fit(kind.estimator, X, known, np.random.RandomState(seed))
            labels = labels_of(model, X)
        except ValueError:  # COP-KMeans with contradictory links, RCA without must-links
            labels = fit(KMeans(k, n_init=10), X, known, np.random.RandomState(seed)).labels_
        yield kind.algorithm, adjusted_rand_score(y, labels), None
    candidates = [(name, clone(method)) for name, method in methods] if quick else "default"
    for name, ks in ((CHOICE, range(2, 9) if quick else None), (CHOICE_AT_K, k)):
        model = AutoCluster(candidates, ks, n_jobs=2, random_state=seed).fit(X, constraints=known)
        yield name, adjusted_rand_score(y, model.labels_), model.n_clusters_


def draws(names: Iterable[str], n_draws: int, quick: bool) -> Iterator[dict[str, Any]]:
    """Random constraints, right and partly wrong."""
    cases = [*((n, 0.0) for n in SIZES), NOISY]
    for draw, name, (n, noise) in itertools.product(range(n_draws), names, cases):
        X, y = read(name)
        seed = FIRST_SEED + draw
        known = Constraints.from_labels(y, n, random_state=seed)
        if noise:
            known = known.flip(noise, random_state=seed)
        for method, ari, found in scores(X, y, known, quick, seed):
            yield {
                "data": name, "k": len(np.unique(y)), "constraints": n, "wrong": noise,
                "draw": draw, "method": method, "ari": round(ari, 4), "found": found,
            }  # fmt: skip


def baumann_hochbaum(n_draws: int) -> Iterator[dict[str, Any]]:
    """All pairs of a share of the rows, on standardised features; only the choice is scored."""
    for name in BAUMANN_HOCHBAUM:
        X, y = read(name)
        for share in PUBLISHED:
            for draw in range(n_draws):
                chosen = np.random.RandomState(draw).permutation(len(y))
                seen = np.full(len(y), -1)
                rows = chosen[: math.ceil(share / 100 * len(y))]
                seen[rows] = np.unique(y, return_inverse=True)[1][rows]
                model = AutoCluster(
                    n_clusters=len(np.unique(y)), time_budget=60, n_jobs=2, random_state=draw
                ).fit(StandardScaler().fit_transform(X), seen)
                ari = adjusted_rand_score(y, model.labels_)
                yield {"data": name, "share": share, "draw": draw, "ari": round(ari, 4)}


# ------------------------------------------------------------------------ tables


def mean(rows: Iterable[dict[str, Any]], **wanted: Any) -> float:
    """Mean ARI of the rows with these values."""
    own = [r["ari"] for r in rows if all(r[name] == value for name, value in wanted.items())]
    return float(np.mean(own)) if own else float("nan")


def tables(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Means over data sets, and how often k was found."""
    cases = sorted({(r["wrong"], r["constraints"]) for r in rows})
    heads = [f"{n}" + (f", {wrong:.0%} wrong" if wrong else "") for wrong, n in cases]
    yield f"| mean ARI, by number of constraints | {' | '.join(heads)} |"
    yield "|---" * (1 + len(heads)) + "|"
    for method in dict.fromkeys(r["method"] for r in rows):
        cells = [f"{mean(rows, method=method, constraints=n, wrong=w):.3f}" for w, n in cases]
        yield f"| {method} | {' | '.join(cells)} |"
    best = [f"{hindsight(rows, *case):.3f}" for case in cases]
    yield f"| best fixed one in hindsight | {' | '.join(best)} |"
    for title, off in (("k found exactly", 0), ("k within one", 1)):
        shares = [f"{found_k(rows, off, *case):.0%}" for case in cases]
        yield f"| {title} (AutoCluster) | {' | '.join(shares)} |"


def hindsight(rows: Sequence[dict[str, Any]], wrong: float, n: int) -> float:
    """Mean over data sets of the best fixed algorithm's mean."""
    names = {r["method"] for r in rows} - {CHOICE, CHOICE_AT_K}
    return float(np.mean([
        max(mean(rows, data=data, method=m, constraints=n, wrong=wrong) for m in names)
        for data in {r["data"] for r in rows}
    ]))  # fmt: skip


def found_k(rows: Sequence[dict[str, Any]], off: int, wrong: float, n: int) -> float:
    own = [r for r in rows if r["method"] == CHOICE]
    own = [r for r in own if r["constraints"] == n and r["wrong"] == wrong]
    return float(np.mean([abs(r["found"] - r["k"]) <= off for r in own]))


def by_data(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """The same for each data set, at 100 right constraints."""
    own = [r for r in rows if r["constraints"] == 100 and not r["wrong"]]
    names = list(dict.fromkeys(r["data"] for r in own))
    yield f"| mean ARI at 100 constraints | {' | '.join(names)} |"
    yield "|---" * (1 + len(names)) + "|"
    for method in dict.fromkeys(r["method"] for r in own):
        cells = [f"{mean(own, method=method, data=name):.3f}" for name in names]
        yield f"| {method} | {' | '.join(cells)} |"


def write(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, write the scores, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="six data sets, two draws")
    parser.add_argument("--sets", nargs="+", help="data sets instead of the usual ones")
    parser.add_argument("--draws", type=int, help="number of draws; 10, or 2 with --quick")
    parser.add_argument("--seconds", type=float, default=math.inf, help="start no draw after that")
    parser.add_argument("--output", type=Path, default=HERE, help="folder for the scores")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    n_draws = options.draws or (2 if options.quick else 10)
    names = options.sets or (QUICK if options.quick else FULL)
    started, rows = time.perf_counter(), []
    path = options.output / ("choose_quick.csv" if options.quick else "choose.csv")
    for row in draws(names, n_draws, options.quick):
        rows.append(row)
        if row["method"] == CHOICE_AT_K:
            write(path, rows)  # after each: an interruption loses nothing
            if time.perf_counter() - started > options.seconds:
                break
    print("\n".join(tables(rows)), "\n")
    print("\n".join(by_data(rows)), "\n")
    if not options.quick:
        protocol = list(baumann_hochbaum(n_draws))
        write(options.output / "choose_baumann_hochbaum.csv", protocol)
        for share, published in PUBLISHED.items():
            print(f"{share} %: {mean(protocol, share=share):.3f}, published {published:.3f}")
    print(f"{time.perf_counter() - started:.0f} s; scores: {path}")


if __name__ == "__main__":
    main()
