"""The list of clusterings that are compared: spaces, methods, and all numbers of clusters."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from linkwise._types import Floats, Matrix, is_sparse
from linkwise.constraints import Constraints
from linkwise.kmeans import PCKMeans

from ._folds import all_links, held_out
from ._score import CONSENSUS, SOUND, Expected, LinkModel, consensus, plausibility
from ._spaces import (
    MOST_SPECTRAL,
    MainDirections,
    learned_metric,
    neighbor_graph,
    spectral_embedding,
    spectral_rows,
)
from ._trees import WardTree, contracted

Numbers = NDArray[np.int64]
Labels = NDArray[np.int32]

_STEP, _STEP_KMEANS = 1.15, 1.25  # ratio of the numbers compared; each k-means needs a separate fit
_ROWS_PER_CLUSTER, _ROWS_PER_VECTOR = 4, 10  # at least, on average; Ward is cheap for every k
_REFINED = 3  # spaces whose best clusters are refined and compared again
_HELD_OUT = 0.632  # weight of held-out links in what is expected (Efron and Tibshirani 1997)
_N_PAIRS = 4000  # random pairs of rows by which clusterings are compared with each other


class Kind(NamedTuple):
    """A space and a method that clusters in it."""

    base: str  # columns that the space starts from
    space: str
    # whether links are used: must-linked rows contracted, or links written into the graph.
    # Metrics are learned from links in any case
    linked: bool = False
    method: str = "Ward"
    refined: bool = False  # whether PCK-Means continues from the clusters, with all links

    @property
    def uses_links(self) -> bool:
        """Whether the clustering depends on links at all."""
        return self.linked or self.refined or self.space in ("ITML", "RCA")

    @property
    def name(self) -> str:
        """Name of the space."""
        own = "linked spectral" if self.linked and self.space == "spectral" else self.space
        return f"{own}, {self.base}"

    def __str__(self) -> str:
        return f"{self.method}{', PCK-Means' * self.refined} ({self.name})"


class Candidate(NamedTuple):
    """One clustering of the list, with its counts of held-out links."""

    kind: Kind
    n_clusters: int
    counts: Floats  # see `Fold.counts`
    share: float  # share of all pairs that it puts together
    together: NDArray[np.bool_]  # whether it puts each of some random pairs together


def numbers_of_clusters(least: int, most: int, step: float = _STEP) -> Numbers:
    """Numbers from `least` to `most`, each about `step` times the one before."""
    n_steps = 2 + int(np.log(most / least) / np.log(step))
    return np.unique(np.geomspace(least, most, n_steps).round().astype(np.int64))


class Spaces:
    """Clusterings of some rows by any kind, with any links; shared results are computed once."""

    def __init__(self, X: Matrix, seed: int):
        self._seed = seed
        names = {"words": False} if is_sparse(X) else {"as given": False, "scaled": True}
        self.bases = {
            name: MainDirections(scale, random_state=seed).fit(X) for name, scale in names.items()
        }
        self.coordinates = {name: base.transform(X) for name, base in self.bases.items()}
        self._made: dict[tuple[str, str, int], Any] = {}
        self._kept: list[Constraints] = []  # so that an id means the same constraints

    def labels(self, kind: Kind, known: Constraints, k: int) -> Labels:
        """A clustering."""
        if kind.method == "Ward":
            return self._tree(kind, known).cut(k)
        Z = self.space(kind, known, k)
        with warnings.catch_warnings():  # fewer distinct rows than clusters
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = KMeans(k, n_init=1, random_state=self._seed).fit(Z)
        return np.asarray(model.labels_, dtype=np.int32)

    def _tree(self, kind: Kind, known: Constraints) -> WardTree:
        def grow() -> WardTree:
            Z = self.space(kind, known)
            return WardTree(contracted(Z, known) if kind.linked else Z)

        own = known if kind.uses_links else _NOTHING
        return cast("WardTree", self._once(kind._replace(space=f"{kind.space} tree"), own, grow))

    def space(self, kind: Kind, known: Constraints, k: int = 0) -> Floats:
        """Coordinates of the rows; k is the number of eigenvectors of the spectral space."""
        Z = self.coordinates[kind.base]
        if kind.space == "plain":
            return Z
        if kind.space == "spectral":
            return spectral_rows(self._embedding(kind, known if kind.linked else _NOTHING), k)
        metric = self.metric(kind, known)
        return Z if metric is None else np.asarray(metric.transform(Z))

    def metric(self, kind: Kind, known: Constraints) -> Any:
        """The fitted metric; None if links are too few."""
        Z = self.coordinates[kind.base]
        return self._once(kind, known, lambda: learned_metric(kind.space, Z, known, self._seed))

    def most(self, method: str) -> int:
        """The largest number of clusters by a method."""
        n_rows = len(next(iter(self.coordinates.values())))
        if method == "Ward":
            return max(2, n_rows // _ROWS_PER_CLUSTER)
        return max(2, min(MOST_SPECTRAL, n_rows // _ROWS_PER_VECTOR))

    def _embedding(self, kind: Kind, known: Constraints) -> Floats:
        graph = self._once(
            kind._replace(space="graph"), _NOTHING,
            lambda: neighbor_graph(self.coordinates[kind.base]),
        )  # fmt: skip
        return np.asarray(
            self._once(kind, known, lambda: spectral_embedding(graph, known, self.most("k-means")))
        )

    def _once(self, kind: Kind, known: Constraints, make: Any) -> Any:
        key = kind.base, kind.space, id(known)
        if key not in self._made:
            self._kept.append(known)
            self._made[key] = make()
        return self._made[key]


_NOTHING = Constraints()


class Comparison:
    """All clusterings of the list, scored by held-out links."""

    def __init__(
        self, X: Matrix, known: Constraints, pairs: Constraints, limits: tuple[int, int], seed: int
    ):
        self.spaces, self._limits, self._seed = Spaces(X, seed), limits, seed
        self._known = known
        self.model: LinkModel | None = None
        closure, n_rows = known.closure(), X.shape[0]
        self.consistent = bool(closure.consistent)
        # Share of all pairs that follow from links.
        self._decided = closure.n_pairs / (n_rows * (n_rows - 1) / 2) if self.consistent else 0.0
        rng = np.random.RandomState(seed)
        self.folds = held_out(known, rng)
        self._asked = all_links(known, pairs, rng)
        self._pairs = rng.randint(X.shape[0], size=(_N_PAIRS, 2))
        self._pairs = self._pairs[self._pairs[:, 0] != self._pairs[:, 1]]
        self.candidates: list[Candidate] = []
        self.ari, self.score, self._n_unrefined = np.zeros(0), np.zeros(0), 0
        for base in self.spaces.bases:
            self._add(Kind(base, "plain"))
            self._add(Kind(base, "plain", method="k-means"))
            self._add(Kind(base, "spectral", method="k-means"))
        self._judge()
        if self.folds:
            self._use_links()
        self.best = self._n_unrefined + int(self.score[self._n_unrefined :].argmax())

    def _use_links(self) -> None:
        """Add spaces that use links, from the columns with the best clusters, and refine."""
        base = self.candidates[int(self.score.argmax())].kind.base
        # Must-linked rows are contracted if no links contradict.
        self._add(Kind(base, "ITML", self.consistent))
        self._add(Kind(base, "RCA", self.consistent))
        self._add(Kind(base, "spectral", True, "k-means"))
        self._judge()
        self._n_unrefined = len(self.candidates)
        best: dict[Kind, int] = {}
        for place in np.argsort(-self.score, kind="stable").tolist():
            best.setdefault(self.candidates[place].kind, place)
        some = [self.candidates[place] for place in list(best.values())[:_REFINED]]
        refined = [self._candidate(one.kind._replace(refined=True), one.n_clusters) for one in some]
        self.candidates += refined
        self._score(refined)

    def _add(self, kind: Kind) -> None:
        least, most = self._limits
        most = max(least, min(most, self.spaces.most(kind.method)))
        step = _STEP if kind.method == "Ward" else _STEP_KMEANS
        for k in numbers_of_clusters(least, most, step).tolist():
            self.candidates.append(self._candidate(kind, k))

    def _candidate(self, kind: Kind, k: int) -> Candidate:
        folds = self.folds if kind.uses_links else self._asked
        if kind.uses_links:
            found = [self._labels(kind, k, fold.known) for fold in folds]
        else:
            found = [self._labels(kind, k, _NOTHING)] * len(folds)
        counts = np.array([f.counts(own) for f, own in zip(folds, found, strict=True)])
        a, b = found[0][self._pairs].T
        share = float(np.mean([_share_together(own) for own in found]))
        return Candidate(kind, k, counts, share, a == b)

    def _labels(self, kind: Kind, k: int, known: Constraints) -> Labels:
        labels = self.spaces.labels(kind._replace(refined=False), known, k)
        if not kind.refined:
            return labels
        Z = self.spaces.space(kind, known, k)
        return np.asarray(refine(Z, labels, known, self.noise, self._seed).labels_)

    @staticmethod
    def _table(candidates: list[Candidate]) -> tuple[Floats, Floats]:
        shares = np.array([one.share for one in candidates])
        return np.array([one.counts.sum(axis=0) for one in candidates]), shares

    def _judge(self) -> None:
        """Prior and model of links by all clusterings so far, and their scores."""
        counts, shares = self._table(self.candidates)
        together = np.array([one.together for one in self.candidates])
        self._plausible = plausibility(counts, shares), together
        if self.folds:
            kinds = dict.fromkeys(one.kind for one in self.candidates)
            spaces = [[one for one in self.candidates if one.kind == kind] for kind in kinds]
            self.model = LinkModel([self._table(some) for some in spaces], self._known)
            n_must, n_cannot = self._known.n_must_link, self._known.n_cannot_link
            self._n = 4 * n_must * n_cannot / (n_must + n_cannot)  # as if kinds were balanced
        self.ari, self.score = np.zeros(0), np.zeros(0)
        self._score(self.candidates)

    def _score(self, some: list[Candidate]) -> None:
        """Append the scores of some candidates."""
        ari = np.full(len(some), np.nan)
        score = self._agreement(np.array([one.together for one in some]))
        if self.model is not None:
            ari = self.model.ari(*self._table(some))
            score = self._combined(ari, score)
        self.ari, self.score = np.append(self.ari, ari), np.append(self.score, score)

    def _agreement(self, together: NDArray[np.bool_]) -> Floats:
        weight, models = self._plausible
        return consensus(together, models, weight)

    def _combined(self, ari: Floats, agreement: Floats) -> Floats:
        return np.asarray((self._n * ari + CONSENSUS * agreement) / (self._n + CONSENSUS))

    def _of_other_folds(self) -> tuple[Floats, float]:
        """Counts of each fold for the choice by the other folds, summed, and the mean share."""
        assert self.model is not None
        counts = np.array([one.counts for one in self.candidates])
        shares = np.array([one.share for one in self.candidates])
        agreement = self._agreement(np.array([one.together for one in self.candidates]))
        total, held = counts.sum(axis=1), []
        for fold in range(counts.shape[1]):
            ari = self.model.rough_ari(total - counts[:, fold], shares)
            held.append(int(self._combined(ari, agreement).argmax()))
        own = counts[held, np.arange(len(held))].sum(axis=0)
        return own, float(shares[held].mean())

    @property
    def noise(self) -> float:
        """Estimated share of wrong links; 0 if it is unknown."""
        return 0.0 if self.model is None else self.model.noise

    @property
    def chosen(self) -> Candidate:
        """The choice."""
        return self.candidates[self.best]

    @property
    def kmeans(self) -> int:
        """Place of the best plain k-means."""
        places = [
            place for place, one in enumerate(self.candidates)
            if one.kind.method == "k-means" and one.kind.space == "plain"
        ]  # fmt: skip
        return max(places, key=lambda place: self.score[place])

    def expected(self, labels: Labels) -> Expected:
        """Expected ARI of the choice, given its labels fitted with all links.

        The choice is the best of many by chance, too: each fold counts what the others would have
        chosen. Folds lack a third of the links, so that held-out links alone would be too
        pessimistic, and the links used too optimistic: they are combined by the .632+ rule of the
        bootstrap, where as much is left out.
        """
        if self.model is None:
            return Expected()
        held_out, share = self._of_other_folds()
        used = np.sum([fold.counts(labels) for fold in self._asked], axis=0)
        overfit = np.clip(1 - _lift(held_out) / max(_lift(used), 1e-9), 0.0, 1.0)
        weight = _HELD_OUT / (1 - (1 - _HELD_OUT) * overfit)
        found = self.model.expected(weight * held_out + (1 - weight) * used, share)
        return found.with_decided(self._decided) if self.noise <= SOUND else found


def _lift(counts: Floats) -> float:
    """How much more often must-links are together than cannot-links."""
    kept, broken, joined, apart = counts
    return float(kept / max(kept + broken, 1e-9) - joined / max(joined + apart, 1e-9))


def refine(Z: Floats, labels: NDArray, known: Constraints, noise: float, seed: int) -> Any:
    """Clusters continued by PCK-Means with links, or by k-means if there are none.

    Links are taken as right if very few seem wrong.
    """
    labels = np.unique(labels, return_inverse=True)[1].reshape(-1)
    centers = means(Z, labels)
    n_clusters = len(centers)
    if not known.n_must_link + known.n_cannot_link:
        return KMeans(n_clusters, init=centers, n_init=1).fit(Z)
    sound = noise <= SOUND
    options = {"penalty": "distance"} if sound else {"noise": noise}
    model = PCKMeans(n_clusters, init=centers, n_init=1, random_state=seed, **options)
    return model.fit(Z, constraints=known)


def means(Z: Floats, labels: NDArray) -> Floats:
    """Mean of each cluster."""
    member = sparse.csr_array((np.ones(len(labels)), (labels, np.arange(len(labels)))))
    return np.asarray((member @ Z) / np.bincount(labels)[:, None])


def _share_together(labels: NDArray) -> float:
    size, n = np.bincount(labels).astype(np.float64), len(labels)
    return float(((size * size).sum() - n) / max(n * (n - 1.0), 1.0))
