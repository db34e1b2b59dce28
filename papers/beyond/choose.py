"""AutoCluster against every fixed algorithm: does holding back constraints choose well?

``python -m papers.beyond.choose`` clusters every data set with 20, 50, 100 and 200 random
constraints, and once more with 20 % of 100 constraints wrong; ``--others`` does so with eleven
other sets (on which a rule for few must-links was settled afterwards), ``--fresh`` with eleven that
no decision was made on, and ``--protocol`` follows Baumann & Hochbaum (2024) instead. Scores are
added to a CSV file as they come, what is there is not done again, and ``--tables`` only prints
the tables and draws the figure.

A fixed algorithm is one kind of candidate that is told the *true* number of clusters; AutoCluster
is not, except in a row of its own. The best in hindsight is the fixed algorithm with the highest
mean for this data set and number of constraints.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import itertools
import math
import os
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from linkwise import (
    RCA,
    AutoCluster,
    BoostCluster,
    ConstrainedKernelKMeans,
    Constraints,
    COPKMeans,
    HMRFKMeans,
    MPCKMeans,
    PCKMeans,
    ReCon,
    SpectralLearning,
)
from linkwise._adapters import fit, labels_of
from linkwise.selection._candidates import given_kinds, with_counts
from papers._archive import shrink
from papers.datasets import BAUMANN_HOCHBAUM, load

HERE = Path(__file__).parent
# Of the tables of the five documents; a tenth of the two large ones, as Eaton and Basu et al. have.
SETS = (
    "iris", "wine", "protein", "crabs_gender", "ionosphere", "digits389", "letters_ijl",
    "transfusion", "wdbc", "balance_scale", "vowel",
)  # fmt: skip
TENTH = ("digits389", "letters_ijl")
# At most so many rows of each; no rule or number of AutoCluster was settled on the fresh ones.
OTHERS = (
    "seeds", "newthyroid", "dermatology", "zoo", "banknote", "satimage", "texture",
    "movement_libras", "segment", "optdigits", "vertebral_column_3c",
)  # fmt: skip
FRESH = (
    "soybean_small", "led7digit", "mfeat_pix", "usps", "semeion", "mnist", "house_votes", "tae",
    "vehicle", "crabs_sp_sex", "heart_statlog",
)  # fmt: skip
MOST_ROWS = 400
FIRST_SEED = 10  # of the draws; some below were looked at while AutoCluster was written
CASES = ((20, 0.0), (50, 0.0), (100, 0.0), (200, 0.0), (100, 0.2))
PUBLISHED = {5: 0.413, 10: 0.771, 15: 0.923, 20: 0.953}  # PCCC, mean ARI by share of rows
CHOICE, CHOICE_AT_K = "AutoCluster", "AutoCluster, true k given"
SILHOUETTE = "k-means, k by silhouette"
NOT_FIXED = CHOICE, CHOICE_AT_K, SILHOUETTE


def fixed() -> list[tuple[str, Any]]:
    """The kinds of candidates, on standardized features."""

    def scaled(*steps: Any) -> Any:
        return make_pipeline(StandardScaler(), *steps)

    return [
        ("k-means", scaled(KMeans(n_init=10))),
        ("PCK", scaled(PCKMeans(penalty="distance"))),
        ("PCK, RCA", scaled(RCA(), PCKMeans(penalty="distance"))),
        ("COP", scaled(COPKMeans(n_init=5))),
        ("MPCK", scaled(MPCKMeans())),
        ("MPCK, full", scaled(MPCKMeans(metric="full"))),
        ("HMRF", scaled(HMRFKMeans())),
        ("kernel", scaled(ConstrainedKernelKMeans())),
        ("spectral", scaled(SpectralLearning())),
        ("ReCon", scaled(ReCon(2, linkage="ward"))),
        ("boost", scaled(BoostCluster(KMeans(n_init=3)))),
    ]


def read(name: str, most: int | None = None) -> tuple[Any, Any]:
    """Rows and classes; a random part of them where only a tenth, or so many at most, are used."""
    bunch = load(name)
    X, y = np.nan_to_num(np.asarray(bunch.data, dtype=float)), np.asarray(bunch.target)
    most = math.ceil(len(y) / 10) if name in TENTH else most or len(y)
    if len(y) > most:
        rows = np.random.RandomState(0).permutation(len(y))[:most]
        X, y = X[rows], y[rows]
    return X, y


# ------------------------------------------------------------------------ the two measurements


def draws(
    names: Iterable[str], n_draws: int, done: set[tuple], cases: Iterable[tuple[int, float]],
    at_k: bool,
) -> Iterator[list[dict[str, Any]]]:  # fmt: skip
    """Random constraints, right and partly wrong: one list of scores for each draw."""
    for draw, (n, wrong), name in itertools.product(range(n_draws), cases, names):
        if (name, str(n), str(wrong), str(draw)) in done:
            continue
        X, y = read(name, None if name in SETS else MOST_ROWS)
        seed = FIRST_SEED + draw
        known = Constraints.from_labels(y, n, random_state=seed)
        if wrong:
            known = known.flip(wrong, random_state=seed)
        case = {"data": name, "constraints": n, "wrong": wrong, "draw": draw, "k": len(set(y))}
        yield [{**case, **score} for score in scores(X, y, known, seed, at_k)]


def scores(X: Any, y: Any, known: Constraints, seed: int, at_k: bool) -> Iterator[dict[str, Any]]:
    """Method, ARI, number of clusters and processor time of everything that is compared.

    AutoCluster once more with k told if `at_k`.
    """
    k = len(set(y))
    for kind in with_counts(given_kinds(fixed()), [k]):
        started = time.process_time()
        try:
            labels = labels_of(fit(kind.estimator, X, known, np.random.RandomState(seed)), X)
        except ValueError:  # COP-KMeans and ReCon with contradictory links
            labels = fit(KMeans(k, n_init=10), X, known, np.random.RandomState(seed)).labels_
        yield _row(kind.algorithm, y, labels, time.process_time() - started)
    started = time.process_time()
    labels = by_silhouette(X, seed)
    yield _row(SILHOUETTE, y, labels, time.process_time() - started)
    for name, ks in ((CHOICE, None), (CHOICE_AT_K, k))[: 1 + at_k]:
        started = time.process_time()
        model = AutoCluster(n_clusters=ks, random_state=seed).fit(X, constraints=known)
        yield _row(name, y, model.labels_, time.process_time() - started, model)


def by_silhouette(X: Any, seed: int) -> Any:
    """Plain k-means on standardized features, with the k of 2 to 10 of the highest silhouette."""
    X = StandardScaler().fit_transform(X)
    found = [KMeans(k, n_init=10, random_state=seed).fit_predict(X) for k in range(2, 11)]
    return max(found, key=lambda labels: silhouette_score(X, labels))


def _row(method: str, y: Any, labels: Any, seconds: float, model: Any = None) -> dict[str, Any]:
    expected = None if model is None else model.expected_
    chosen = "" if model is None else model.report_.reasons[0]
    low, high = ("", "") if expected is None else expected.ari_interval
    return {
        "method": method, "ari": round(adjusted_rand_score(y, labels), 4),
        "found": len(set(labels.tolist())), "seconds": round(seconds, 2),
        "chosen": chosen.removeprefix("Chosen: ").removesuffix("."),
        "expected": "" if expected is None else expected.ari, "low": low, "high": high,
    }  # fmt: skip


def protocol(n_draws: int, done: set[tuple]) -> Iterator[list[dict[str, Any]]]:
    """Baumann & Hochbaum: m(m - 1)/2 random pairs, m a share of the rows; k is known."""
    for draw, share, name in itertools.product(range(n_draws), PUBLISHED, BAUMANN_HOCHBAUM):
        if (name, str(share), str(draw)) in done:
            continue
        X, y = read(name)
        X, k = StandardScaler().fit_transform(X), len(set(y))
        m = math.ceil(share / 100 * len(y))
        known = Constraints.from_labels(y, m * (m - 1) // 2, random_state=draw)
        case = {"data": name, "share": share, "draw": draw, "k": k}
        started = time.process_time()
        cop = COPKMeans(k, random_state=draw).fit(X, constraints=known)
        rows = [_row("COP", y, cop.labels_, time.process_time() - started)]
        started = time.process_time()
        model = AutoCluster(n_clusters=k, random_state=draw).fit(X, constraints=known)
        seconds = time.process_time() - started
        rows.append(_row(CHOICE, y, model.labels_, seconds, model))
        yield [{**case, **row} for row in rows]


# ------------------------------------------------------------------------ tables


Rows = Sequence[dict[str, Any]]


def mean(rows: Rows, **wanted: Any) -> float:
    """Mean over data sets of the mean ARI of the rows with these values."""
    own: dict[str, list[float]] = {}
    for row in rows:
        if all(row[name] == value for name, value in wanted.items()):
            own.setdefault(row["data"], []).append(row["ari"])
    return float(np.mean([np.mean(values) for values in own.values()])) if own else float("nan")


def methods_of(rows: Rows) -> list[str]:
    return list(dict.fromkeys(r["method"] for r in rows))


def hindsight(rows: Rows, n: int, wrong: float) -> float:
    """Mean over data sets of the best fixed algorithm's mean."""
    own = [r for r in rows if r["constraints"] == n and r["wrong"] == wrong]
    names = [m for m in methods_of(own) if m not in NOT_FIXED]
    data = dict.fromkeys(r["data"] for r in own)
    return float(np.mean([max(mean(own, data=d, method=m) for m in names) for d in data]))


def found_k(rows: Rows, off: int, n: int, wrong: float) -> float:
    own = [r for r in rows if r["method"] == CHOICE]
    own = [r for r in own if r["constraints"] == n and r["wrong"] == wrong]
    return float(np.mean([abs(r["found"] - r["k"]) <= off for r in own]))


def by_number(rows: Rows) -> Iterator[str]:
    """Means over data sets and draws, and how often k was found."""
    heads = [f"{n}" + (f", {wrong:.0%} wrong" if wrong else "") for n, wrong in CASES]
    yield f"| mean ARI, by number of constraints | {' | '.join(heads)} |"
    yield "|---" * (1 + len(heads)) + "|"
    for method in methods_of(rows):
        cells = [f"{mean(rows, method=method, constraints=n, wrong=w):.3f}" for n, w in CASES]
        yield f"| {method} | {' | '.join(cells)} |"
    best = [f"{hindsight(rows, *case):.3f}" for case in CASES]
    yield f"| best fixed one in hindsight | {' | '.join(best)} |"
    own = [(r["constraints"], r["wrong"]) for r in rows if r["method"] == CHOICE]
    yield f"| instances measured | {' | '.join(str(own.count(case)) for case in CASES)} |"
    for title, off in (("k found exactly", 0), ("k within one", 1)):
        shares = [f"{found_k(rows, off, *case):.0%}" for case in CASES]
        yield f"| {title} (AutoCluster) | {' | '.join(shares)} |"


def by_data(rows: Rows, n: int = 100, wrong: float = 0.0) -> Iterator[str]:
    """The same for each data set."""
    own = [r for r in rows if r["constraints"] == n and r["wrong"] == wrong]
    names = list(dict.fromkeys(r["data"] for r in own))
    yield f"| mean ARI, {n} constraints, {wrong:.0%} wrong | {' | '.join(names)} |"
    yield "|---" * (1 + len(names)) + "|"
    for method in methods_of(own):
        cells = [f"{mean(own, method=method, data=name):.3f}" for name in names]
        yield f"| {method} | {' | '.join(cells)} |"


def calibration(rows: Rows) -> Iterator[str]:
    """How far the expected index is from the true one, and how often the interval holds it."""
    heads = [f"{n}" + (f", {wrong:.0%} wrong" if wrong else "") for n, wrong in CASES]
    yield f"| expected_, by number of constraints | {' | '.join(heads)} |"
    yield "|---" * (1 + len(heads)) + "|"
    own = [r for r in rows if r["method"] == CHOICE and isinstance(r.get("expected"), float)]
    known = [r for r in own if not math.isnan(r["expected"])]
    cases = [[r for r in known if (r["constraints"], r["wrong"]) == case] for case in CASES]
    off = [np.array([r["expected"] - r["ari"] for r in case]) for case in cases]
    held = [[r["low"] <= r["ari"] <= r["high"] for r in case] for case in cases]
    yield f"| mean of expected less true | {' | '.join(f'{e.mean():+.3f}' for e in off)} |"
    yield f"| root mean square | {' | '.join(f'{np.sqrt((e**2).mean()):.3f}' for e in off)} |"
    yield f"| true one in the 90 % interval | {' | '.join(f'{np.mean(h):.0%}' for h in held)} |"


def by_share(rows: Rows) -> Iterator[str]:
    """The protocol of Baumann & Hochbaum."""
    yield "| mean ARI | 5 % | 10 % | 15 % | 20 % |"
    yield "|---|---|---|---|---|"
    for method in methods_of(rows):
        cells = [f"{mean(rows, method=method, share=share):.3f}" for share in PUBLISHED]
        yield f"| {method} | {' | '.join(cells)} |"
    yield f"| PCCC, published | {' | '.join(f'{value:.3f}' for value in PUBLISHED.values())} |"
    counts = [
        sum(r["share"] == share and r["method"] == CHOICE for r in rows) for share in PUBLISHED
    ]
    yield f"| instances measured | {' | '.join(map(str, counts))} |"


def draw_figure(rows: Rows, path: Path) -> None:
    """Mean ARI against the number of constraints, one line for each method."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 5), layout="constrained", width_ratios=[3, 2])
    names, clean = methods_of(rows), [n for n, wrong in CASES if not wrong]
    colors = [plt.get_cmap("tab20")(place) for place in range(len(names))]
    for method, color in zip(names, colors, strict=True):
        bold = method in (CHOICE, CHOICE_AT_K)
        values = [mean(rows, method=method, constraints=n, wrong=0.0) for n in clean]
        axes[0].plot(clean, values, marker="o", ms=3, lw=3 if bold else 1, color=color)
    best = [hindsight(rows, n, 0.0) for n in clean]
    axes[0].plot(clean, best, "k--", label="best fixed one in hindsight")
    axes[0].set(xlabel="constraints", ylabel="mean ARI (colors as on the right)", xscale="log")
    axes[0].set_xticks(clean, [str(n) for n in clean])
    axes[0].minorticks_off()
    axes[0].legend()
    noisy = [mean(rows, method=method, constraints=100, wrong=0.2) for method in names]
    axes[1].barh(names[::-1], noisy[::-1], color=colors[::-1])
    axes[1].set(xlabel="mean ARI, 100 constraints, 20 % of them wrong")
    figure.savefig(path, dpi=110)
    shrink(path)


# ------------------------------------------------------------------------ files


def stored(path: Path) -> list[dict[str, Any]]:
    """The rows of a file, numbers as numbers."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [
            {name: _number(value) for name, value in row.items()} for row in csv.DictReader(file)
        ]


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def add(path: Path, rows: Rows) -> None:
    """Append one instance in one write, so that an interruption leaves no part of it."""
    new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerows(rows)
        file.flush()
        os.fsync(file.fileno())


def measure(work: Iterator[Rows], path: Path, seconds: float) -> None:
    """Add to the file what is missing, until it is done or the time is over."""
    started = time.perf_counter()
    while time.perf_counter() - started < seconds:
        if (rows := next(work, None)) is None:
            return
        add(path, rows)
        for row in rows[-2:]:
            print(*row.values(), flush=True)


def _case(text: str) -> tuple[int, float]:
    n, _, wrong = text.partition(":")
    return int(n), float(wrong or 0.0)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, write the scores, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--protocol", action="store_true", help="that of Baumann & Hochbaum")
    which.add_argument("--others", action="store_true", help="sets that decided little")
    which.add_argument("--fresh", action="store_true", help="sets that decided nothing")
    parser.add_argument("--sets", nargs="+", help="some of the data sets")
    parser.add_argument("--cases", nargs="+", type=_case, default=CASES, help="such as 20 100:0.2")
    parser.add_argument("--draws", type=int, default=10, help="number of draws")
    parser.add_argument("--seconds", type=float, default=math.inf, help="start nothing after that")
    parser.add_argument("--output", type=Path, default=HERE, help="folder for the scores")
    parser.add_argument("--tables", action="store_true", help="only show what has been measured")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    kinds = {"_protocol": options.protocol, "_others": options.others, "_fresh": options.fresh}
    kind = next((name for name, asked in kinds.items() if asked), "")
    path = options.output / f"choose{kind}.csv"
    keys = ["data", "share" if options.protocol else "constraints", "wrong", "draw"]
    archive = path.with_suffix(".csv.gz")
    if archive.exists() and not path.exists():
        path.write_bytes(gzip.decompress(archive.read_bytes()))
    done = {tuple(str(row[key]) for key in keys if key in row) for row in stored(path)}
    if options.protocol:
        work = protocol(options.draws, done)
    else:
        sets = options.sets or (OTHERS if options.others else FRESH if options.fresh else SETS)
        work = draws(sets, options.draws, done, options.cases, not options.fresh)
    if not options.tables:
        measure(work, path, options.seconds)
        archive.write_bytes(gzip.compress(path.read_bytes(), 9, mtime=0))  # what is committed
    rows = stored(path)
    if options.protocol:
        print("\n".join(by_share(rows)))
        return
    shown = ((100, 0.0), (20, 0.0), (100, 0.2))
    tables = by_number(rows), calibration(rows), *(by_data(rows, *case) for case in shown)
    for table in tables:
        print("\n".join(table), "\n")
    draw_figure(rows, path.with_suffix(".png"))


if __name__ == "__main__":
    main()
