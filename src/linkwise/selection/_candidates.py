"""The list of clusterings that are compared: spaces, methods, and all numbers of clusters."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from linkwise._types import Floats, Matrix, is_sparse
from linkwise.constraints import Constraints

from ._folds import Fold, all_links, held_out
from ._score import CONSENSUS, Expected, LinkModel, consensus, plausibility
from ._spaces import (
    MOST_SPECTRAL,
    MainDirections,
    learned_metric,
    neighbor_graph,
    spectral_embedding,
    spectral_rows,
)
from ._trees import contracted, ward_cuts

Numbers = NDArray[np.int64]

_STEP, _STEP_KMEANS = 1.15, 1.25  # ratio of the numbers compared; each k-means is a fit of its own
_ROWS_PER_CLUSTER, _ROWS_PER_VECTOR = 4, 5  # at least, on average
_N_PAIRS = 4000  # random pairs of rows by which clusterings are compared with each other


class Kind(NamedTuple):
    """A space and a method that clusters in it.

    Attributes
    ----------
    space : {"as given", "scaled", "words", "ITML", "RCA", "spectral"}
    method : {"k-means", "Ward"}
    linked : bool
        Whether links are used: must-linked rows contracted, or links written into the graph.
        Metrics are learned from links in any case.
    """

    space: str
    method: str
    linked: bool

    @property
    def uses_links(self) -> bool:
        """Whether the clustering depends on links at all."""
        return self.linked or self.space in ("ITML", "RCA")

    def __str__(self) -> str:
        if self.space == "spectral":
            return "linked spectral" if self.linked else "spectral"
        if not self.uses_links and self.method == "k-means":
            return f"plain k-means ({self.space})"
        return f"{self.space} {self.method}{' with links' * self.linked}"


class Candidate(NamedTuple):
    """One clustering of the list, and what held-out links say about it.

    Attributes
    ----------
    kind : Kind
    n_clusters : int
    counts : ndarray of shape (4,)
        See `Fold.counts`, over all folds.
    share : float
        Share of all pairs that it puts together.
    together : ndarray of shape (n_pairs,)
        Whether it puts each of some random pairs together.
    """

    kind: Kind
    n_clusters: int
    counts: Floats
    share: float
    together: NDArray[np.bool_]


def numbers_of_clusters(least: int, most: int, step: float = _STEP) -> Numbers:
    """Numbers from `least` to `most`, each about `step` times the one before."""
    n_steps = 2 + int(np.log(most / least) / np.log(step))
    return np.unique(np.geomspace(least, most, n_steps).round().astype(np.int64))


class Spaces:
    """Clusterings of some rows by any kind, with any links; what folds share is computed once.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
    seed : int
    """

    def __init__(self, X: Matrix, seed: int):
        self._seed = seed
        names = {"words": False} if is_sparse(X) else {"as given": False, "scaled": True}
        self.bases = {
            name: MainDirections(scale, random_state=seed).fit(X) for name, scale in names.items()
        }
        self.coordinates = {name: base.transform(X) for name, base in self.bases.items()}
        self.base = next(reversed(self.bases))  # that learned and spectral spaces start from
        self._made: dict[tuple[str, int], Any] = {}
        self._kept: list[Constraints] = []  # so that an id means the same constraints
        self._graph: Any = None

    def labels(self, kind: Kind, known: Constraints, numbers: Numbers) -> NDArray[np.int32]:
        """Clusterings of shape (n_numbers, n_samples)."""
        if kind.method == "Ward":
            Z = self.space(kind, known)
            return ward_cuts(contracted(Z, known) if kind.linked else Z, numbers)
        found = [self._kmeans(self.space(kind, known, int(k)), int(k)).labels_ for k in numbers]
        return np.array(found, dtype=np.int32)

    def _kmeans(self, Z: Floats, k: int, n_init: int = 1) -> KMeans:
        return KMeans(k, n_init=n_init, random_state=self._seed).fit(Z)

    def space(self, kind: Kind, known: Constraints, k: int = 0) -> Floats:
        """Coordinates of the rows; k is the number of eigenvectors of the spectral space."""
        if kind.space in self.bases:
            return self.coordinates[kind.space]
        if kind.space == "spectral":
            return spectral_rows(self._embedding(known if kind.linked else None), k)
        Z, metric = self.coordinates[self.base], self.metric(kind.space, known)
        return Z if metric is None else np.asarray(metric.transform(Z))

    def metric(self, name: str, known: Constraints) -> Any:
        """The fitted metric; None if links are too few."""

        def learn() -> Any:
            return learned_metric(name, self.coordinates[self.base], known, self._seed)

        return self._once(name, known, learn)

    def most(self, kind: Kind) -> int:
        """The largest number of clusters of a kind."""
        n_rows = len(self.coordinates[self.base])
        if kind.method == "Ward":
            return max(2, n_rows // _ROWS_PER_CLUSTER)
        return max(2, min(MOST_SPECTRAL, n_rows // _ROWS_PER_VECTOR))

    def _embedding(self, known: Constraints | None) -> Floats:
        if self._graph is None:
            self._graph = neighbor_graph(self.coordinates[self.base])
        n_vectors = self.most(Kind("spectral", "k-means", False))
        return np.asarray(
            self._once(
                "spectral",
                known if known is not None else _NOTHING,
                lambda: spectral_embedding(self._graph, known, n_vectors),
            )
        )

    def _once(self, name: str, known: Constraints, make: Any) -> Any:
        key = name, id(known)
        if key not in self._made:
            self._kept.append(known)
            self._made[key] = make()
        return self._made[key]


_NOTHING = Constraints()


class Comparison:
    """All clusterings of the list, scored by held-out links.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
    known : Constraints
        By row number.
    limits : pair of int
        The least and the most clusters.
    seed : int

    Attributes
    ----------
    candidates : list of Candidate
    score : ndarray of shape (n_candidates,)
        What the choice is made by.
    model : LinkModel or None
        What held-out links say; None if there are too few to hold some out.
    best : int
        Place of the choice in the list.
    """

    def __init__(self, X: Matrix, known: Constraints, limits: tuple[int, int], seed: int):
        self.spaces, self._limits = Spaces(X, seed), limits
        self.consistent = bool(known.closure().consistent)
        rng = np.random.RandomState(seed)
        self.folds = held_out(known, rng)
        self._asked = all_links(known)
        self._n_rows = X.shape[0]
        self._pairs = rng.randint(X.shape[0], size=(_N_PAIRS, 2))
        self._pairs = self._pairs[self._pairs[:, 0] != self._pairs[:, 1]]
        self.candidates: list[Candidate] = []
        for base in self.spaces.bases:
            self._add(Kind(base, "Ward", False))
        self.spaces.base = self._better_base()
        base = self.spaces.base
        self._add(Kind(base, "k-means", False))
        self._add(Kind("spectral", "k-means", False))
        if self.folds:
            for kind in self._linked_kinds(base):
                self._add(kind)
        self._judge(known)

    def _linked_kinds(self, base: str) -> list[Kind]:
        """Kinds that use links; must-linked rows are contracted if no links contradict."""
        trees = [Kind("ITML", "Ward", False)]
        if self.consistent:
            trees += [Kind(base, "Ward", True), Kind("ITML", "Ward", True)]
        return [*trees, Kind("RCA", "Ward", self.consistent), Kind("spectral", "k-means", True)]

    def _add(self, kind: Kind) -> None:
        least, most = self._limits
        most = max(least, min(most, self.spaces.most(kind)))
        numbers = numbers_of_clusters(least, most, _STEP if kind.method == "Ward" else _STEP_KMEANS)
        folds = self.folds if kind.uses_links else [self._asked]
        found = [self.spaces.labels(kind, fold.known, numbers) for fold in folds]
        for place, k in enumerate(numbers.tolist()):
            own = [labels[place] for labels in found]
            counts = np.sum([f.counts(one) for f, one in zip(folds, own, strict=True)], axis=0)
            a, b = own[0][self._pairs].T
            share = float(np.mean([_share_together(one) for one in own]))
            self.candidates.append(Candidate(kind, k, counts, share, a == b))

    def _better_base(self) -> str:
        """The scaling of columns in which the hierarchy agrees better with all links."""
        names = list(self.spaces.bases)
        weight = plausibility(*self._table(self.candidates))
        of_base = [one.kind.space for one in self.candidates]
        total = [sum(w for w, own in zip(weight, of_base, strict=True) if own == n) for n in names]
        return names[int(np.argmax(total))] if self._asked.must.size else names[-1]

    @staticmethod
    def _table(candidates: list[Candidate]) -> tuple[Floats, Floats]:
        shares = np.array([one.share for one in candidates])
        return np.array([one.counts for one in candidates]).reshape(-1, 4), shares

    def _judge(self, known: Constraints) -> None:
        counts, shares = self._table(self.candidates)
        free = [place for place, one in enumerate(self.candidates) if not one.kind.uses_links]
        together = np.array([one.together for one in self.candidates])
        self.plausible = plausibility(counts[free], shares[free])
        self.score = consensus(together, together[free], self.plausible)
        self.model = None
        if self.folds:
            self.model = LinkModel(counts, shares, not self.consistent)
            n_must, n_cannot = known.n_must_link, known.n_cannot_link
            n = 4 * n_must * n_cannot / (n_must + n_cannot)  # as many as if kinds were balanced
            self.score = (n * self.model.ari + CONSENSUS * self.score) / (n + CONSENSUS)
        self.best = int(self.score.argmax())

    @property
    def chosen(self) -> Candidate:
        """The choice."""
        return self.candidates[self.best]

    @property
    def kmeans(self) -> int:
        """Place of the best plain k-means."""
        places = [
            place for place, one in enumerate(self.candidates)
            if one.kind.method == "k-means" and one.kind.space in self.spaces.bases
        ]  # fmt: skip
        return max(places, key=lambda place: self.score[place])

    def expected(self, place: int) -> Expected:
        """Expected ARI of a candidate."""
        return Expected() if self.model is None else self.model.expected(place)


def _share_together(labels: NDArray) -> float:
    size, n = np.bincount(labels).astype(np.float64), len(labels)
    return float(((size * size).sum() - n) / max(n * (n - 1.0), 1.0))


__all__ = ["Candidate", "Comparison", "Fold", "Kind", "Spaces"]
