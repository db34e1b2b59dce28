"""What questions buy: ARI after so many answers, per strategy, with COBRAS as a baseline.

Run: ``LINKWISE_DATA=... python -m benchmarks.questions DATA [STRATEGY ...] [--wrong SHARE]``
with DATA one of digits, clinc150, massive, small. The number of clusters is told to nobody but
KMeans, which hears no answers, nor is the share of wrong answers. Rows are in another order for
every seed; the oracle is the same for all. ``python -m benchmarks.questions time --rows 100000
--features 256``: CPU seconds from an answer to the next question of `Repair`.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn import datasets as sk
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from linkwise.active import LabelOracle, QueryContext, Repair, Session
from linkwise.active._incremental_closure import IncrementalClosure

MARKS = {
    "digits": (100, 250, 500),
    "clinc150": (100, 250, 500, 1000, 2000),
    "massive": (100, 250, 500, 1000),
    "small": (25, 50, 100, 200, 400, 1000),
}
OTHERS = (
    "ExploreConsolidate",
    "MinMax",
    "NormalizedPointUncertainty",
    "RandomPairs",
    "ClosestPairs",
    "FarthestPairs",
)
Problem = tuple[str, np.ndarray, np.ndarray]


class Cobras:
    """COBRAS (Van Craenendonck et al. 2018, algorithms 1 to 3), written from the paper.

    Super-instances are split and merged in turn. The largest super-instance is split by k-means
    into as many parts as the split level says: it is halved until the medoids of both halves must
    link. The new ones are clusters of their own, then clusters merge, the closest first, by answers
    about the closest medoids. While this goes on, the clustering of the last round stands.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
    oracle : callable
    marks : sequence of int
        Numbers of questions after which labels are kept.
    seed : int
    """

    def __init__(
        self, X: np.ndarray, oracle: Callable[[int, int], str], marks: Sequence[int], seed: int
    ):
        self.X, self.oracle, self.marks, self.seed = X, oracle, marks, seed
        self.known, self.n_asked = IncrementalClosure(), 0
        self.clusters: list[list[np.ndarray]] = [[np.arange(len(X))]]
        self.shown = np.zeros(len(X), dtype=int)
        self.found: list[np.ndarray] = []

    def run(self) -> list[np.ndarray]:
        """Labels at the marks."""
        while len(self.found) < len(self.marks):
            sizes = [(len(s), c, p) for c, group in enumerate(self.clusters)
                     for p, s in enumerate(group)]  # fmt: skip
            size, c, p = max(sizes)
            if size < 2:
                break
            whole = self.clusters[c].pop(p)
            if not self.clusters[c]:
                del self.clusters[c]
            self.clusters += [[part] for part in self._halves(whole, 2 ** self._level(whole))]
            self._merge()
            for number, group in enumerate(self.clusters):
                self.shown[np.concatenate(group)] = number
        return self.found + [self.shown] * (len(self.marks) - len(self.found))

    def _level(self, rows: np.ndarray) -> int:
        level = 1
        while len(rows) > 2:
            first, *rest = self._halves(rows, 2)
            if not rest or self._linked(self._medoid(first), self._medoid(rest[0])):
                break
            rows, level = (first if len(first) >= len(rest[0]) else rest[0]), level + 1
        return level

    def _merge(self) -> None:
        merged = True
        while merged and len(self.found) < len(self.marks):
            merged = False
            for a, b, i, j in self._closest():
                if self._linked(i, j):
                    self.clusters[a] += self.clusters.pop(b)
                    merged = True
                    break

    def _closest(self) -> Iterator[tuple[int, int, int, int]]:
        """Pairs of clusters that nothing keeps apart, by their closest medoids."""
        medoids = [[self._medoid(s) for s in group] for group in self.clusters]
        pairs = []
        for b in range(len(medoids)):
            for a in range(b):
                relation = {self.known.relation(i, j) for i in medoids[a] for j in medoids[b]}
                if "different" in relation and "same" not in relation:
                    continue
                gap, i, j = min(
                    (float(((self.X[i] - self.X[j]) ** 2).sum()), i, j)
                    for i in medoids[a]
                    for j in medoids[b]
                )
                pairs.append((gap, a, b, i, j))
        yield from (pair[1:] for pair in sorted(pairs))

    def _linked(self, i: int, j: int) -> bool:
        relation = self.known.relation(i, j)
        if relation is None:
            relation = self.oracle(i, j)
            self.known.add(i, j, relation)  # type: ignore[arg-type]
            self.n_asked += 1
            if self.n_asked in self.marks:
                self.found.append(self.shown.copy())
        return relation == "same"

    def _halves(self, rows: np.ndarray, k: int) -> list[np.ndarray]:
        k = min(k, len(rows))
        labels = KMeans(k, n_init=1, random_state=self.seed).fit_predict(self.X[rows])
        return [rows[labels == c] for c in range(k) if (labels == c).any()]

    def _medoid(self, rows: np.ndarray) -> int:
        gap = ((self.X[rows] - self.X[rows].mean(axis=0)) ** 2).sum(axis=1)
        return int(rows[gap.argmin()])


def problems(name: str, seed: int) -> Iterator[Problem]:
    """The data of a bar, rows in an order of the seed."""
    if name == "digits":
        yield "digits", *_drawn(*sk.load_digits(return_X_y=True), 10**6, seed)
    elif name == "small":
        yield from _small(seed)
    else:
        file = {"clinc150": "clinc150.npz", "massive": "massive_scenario.npz"}[name]
        with np.load(_folder() / "many" / file) as found:
            X, y = found["X"].astype(float), pd.factorize(found["y"])[0]
        yield name, *_drawn(X, y, 10**6, seed)


def _small(seed: int) -> Iterator[Problem]:
    for name in ("iris", "wine", "breast_cancer"):
        X, y = getattr(sk, f"load_{name}")(return_X_y=True)
        yield name, *_drawn(_standardized(X), y, 400, seed)
    files = {
        "seeds": "seeds.csv", "wisconsin": "breast_wisconsin_original.csv",
        "letters IJL": "letter.csv.gz", "pendigits": "pendigits.csv.gz",
        "segment": "segment.csv.gz", "dermatology": "dermatology.csv",
        "letters 26": "letter.csv.gz",
    }  # fmt: skip
    for name, file in files.items():
        table = pd.read_csv(_folder() / file)
        if name == "letters IJL":
            table = table[table["class"].isin(list("IJL"))]
        cells = table.drop(columns="class").apply(pd.to_numeric, errors="coerce")
        y = pd.factorize(table["class"])[0]
        yield name, *_drawn(_standardized(cells.to_numpy(float)), y, 400, seed)
    yield "digits", *_drawn(*sk.load_digits(return_X_y=True), 400, seed)


def _folder() -> Path:
    return Path(os.environ["LINKWISE_DATA"])


def _standardized(X: np.ndarray) -> np.ndarray:
    X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    X = X[:, X.std(axis=0) > 0]
    return (X - X.mean(axis=0)) / X.std(axis=0)


def _drawn(X: np.ndarray, y: np.ndarray, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rows = np.random.RandomState(seed).permutation(len(X))[:n]
    return np.ascontiguousarray(X[rows]), y[rows]


class Curve(NamedTuple):
    """What a session brought.

    Attributes
    ----------
    scores : list of float
        ARI at the marks.
    stop : int or None
        Answers when stopping was suggested first.
    at_stop, doubled : float
        ARI then, and with twice the answers (or at the last mark, if that comes first).
    """

    scores: list[float]
    stop: int | None = None
    at_stop: float = np.nan
    doubled: float = np.nan


def curve(
    strategy: str, X: np.ndarray, y: np.ndarray, marks: Sequence[int], seed: int, wrong: float
) -> Curve:
    """ARI at the marks, and at the first suggestion to stop; looked at after each 10 answers."""
    oracle = LabelOracle(y, noise=wrong, random_state=seed)
    if strategy == "COBRAS":
        found = Cobras(X, oracle, marks, seed).run()
        return Curve([adjusted_rand_score(y, labels) for labels in found])
    if strategy == "KMeans":
        labels = KMeans(len(np.unique(y)), n_init=10, random_state=seed).fit_predict(X)
        return Curve([adjusted_rand_score(y, labels)] * len(marks))
    repairs = strategy == "Repair"
    every = 10 if repairs or strategy == "NormalizedPointUncertainty" else None
    scores: dict[int, float] = {}
    stop, done, ends = None, 0, {*marks, *(range(10, marks[-1], 10) if repairs else ())}
    with Session(X, strategy, background=False, refit_every=every, random_state=seed) as session:
        for end in sorted(ends):
            done += session.run(oracle, end - done)
            labels = session.labels_ if repairs else session.refit().labels
            scores[end] = adjusted_rand_score(y, labels)
            if repairs and stop is None and session.snapshot().progress.stop:
                stop = end
    at_marks = [scores[mark] for mark in marks]
    if stop is None:
        return Curve(at_marks)
    return Curve(at_marks, stop, scores[stop], scores[min(2 * stop, marks[-1])])


def time_questions(n_rows: int, n_features: int, wrong: float, n_questions: int = 60) -> None:
    """Print CPU times of questions about 40 overlapping clusters; a first round does not count."""
    for n in (2_500, n_rows):
        rng = np.random.default_rng(0)
        y = rng.integers(0, 40, n)
        X = rng.normal(size=(40, n_features))[y] + 1.2 * rng.normal(size=(n, n_features))
        context, oracle, seconds = QueryContext(X), LabelOracle(y, noise=wrong), []
        questions = Repair().questions(context)
        started = time.process_time()
        question = next(questions)
        first = time.process_time() - started
        for _ in range(n_questions):
            said = oracle(*question)
            context.known.add(*question, said)
            started = time.process_time()
            question = questions.send(said)
            seconds.append(time.process_time() - started)
    middle, most = 1000 * np.median(seconds), 1000 * np.max(seconds)
    print(f"{n_rows:,} x {n_features}: first question {first:.1f} s; then {middle:.0f} ms at the "
          f"median, {most:.0f} ms at the most of {n_questions}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", choices=[*MARKS, "time"])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--features", type=int, default=256)
    parser.add_argument("strategies", nargs="*", default=["Repair", "COBRAS", *OTHERS])
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(5)))
    parser.add_argument("--wrong", type=float, default=0.0)
    parser.add_argument("--most", type=int, default=10**6, help="leave out marks above")
    given = parser.parse_args()
    if given.data == "time":
        time_questions(given.rows, given.features, given.wrong)
        return
    marks = [mark for mark in MARKS[given.data] if mark <= given.most]
    for strategy in given.strategies:
        means = []
        for seed in given.seeds:
            started, scores = time.process_time(), []
            for name, X, y in problems(given.data, seed):
                found = curve(strategy, X, y, marks, seed, given.wrong)
                scores.append(found.scores)
                told = f"stop {found.stop}: {found.at_stop:.3f}, doubled {found.doubled:.3f}"
                print(f"  {name}: {_row(found.scores)} {told}", flush=True)
            means.append(np.mean(scores, axis=0))
            seconds = time.process_time() - started
            print(f"{strategy} seed {seed}: {_row(means[-1])} CPU {seconds:.0f} s", flush=True)
        error = np.std(means, axis=0, ddof=1) / np.sqrt(len(means)) if len(means) > 1 else [np.nan]
        print(f"{strategy} at {marks}: {_row(np.mean(means, axis=0))} +- {_row(error)}", flush=True)


def _row(values: Sequence[float] | np.ndarray) -> str:
    return " / ".join(f"{value:.3f}".removeprefix("0") for value in values)


if __name__ == "__main__":
    main()
