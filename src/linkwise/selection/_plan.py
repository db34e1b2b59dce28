"""Which candidates are tried when the number of clusters is open.

Entry points: `look_at_cuts`, what links say about a hierarchy of the rows, and `search_counts`. A
few cheap kinds scout numbers of clusters by doubling, from the least, or from a first guess where
rows are many, as long as evidence asks for more; and then between the best and its neighbors. All
kinds race at the best numbers, and the best kinds look for a number of their own.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from linkwise.constraints import Constraints

from ._candidates import Candidate, takes_clusters, with_clusters
from ._hierarchy import Cuts
from ._ranking import Ranking
from ._search import CandidateSearch
from ._splits import all_links

_SCOUTED, _MANY_LINKS = 2, 500  # folds that decide about k; with many links one will do
_GUIDED = 50  # links that a first guess of k needs
_BEYOND = 2  # doublings without a gain that end the search upwards
_CLEARLY = 0.1  # of the score: one doubling is enough to see that it falls
_REFINED = 4  # rounds between the best number and its neighbors
_FINE = 0.12  # share of k that a smaller step does not pay for
_N_COUNTS, _FEW_ROWS = 3, 1000  # numbers of clusters at which all kinds race; one for more rows
_N_KINDS = 4  # best kinds that look for a number of their own
_OWN_ROUNDS = 3
_SHARE_SCOUTS, _SHARE_RACE = 0.35, 0.8  # of the time, when it is limited


class Limits(NamedTuple):
    """The least and the most clusters, both included."""

    least: int
    most: int


def search_counts(
    work: CandidateSearch, kinds: Sequence[Candidate], limits: Limits, tolerance: float
) -> None:
    """Try kinds of candidates with numbers of clusters that evidence asks for.

    Parameters
    ----------
    work : CandidateSearch
        With folds of held-out constraints.
    kinds : sequence of Candidate
        Without a number of clusters.
    limits : Limits
    tolerance : float
        As in `Ranking.of`.
    """
    free = [kind for kind in kinds if takes_clusters(kind)]
    fixed = [kind for kind in kinds if not takes_clusters(kind)]
    made = _Made()
    with work.until(_SHARE_SCOUTS):
        counts = _scouted(work, made, _scouts(free), limits)
    with work.until(_SHARE_RACE):
        work.run([*fixed, *(made(kind, k) for k in counts for kind in free)])
    for _ in range(_OWN_ROUNDS):
        ranking = Ranking.of(work, tolerance)
        best = [c for c in ranking.best_of_each_kind() if c.n_clusters is not None][:_N_KINDS]
        new = [
            made(made.kind_of[candidate], k)
            for candidate in best
            for k in between(candidate.n_clusters or 0, made.counts(candidate), limits)
        ]
        if not new or work.out_of_time:
            return
        work.run(new)


class _Made:
    """Candidates by kind and number of clusters, each made once."""

    def __init__(self) -> None:
        self.found: dict[tuple[Candidate, int], Candidate] = {}
        self.kind_of: dict[Candidate, Candidate] = {}

    def __call__(self, kind: Candidate, k: int) -> Candidate:
        if (kind, k) not in self.found:
            self.found[kind, k] = with_clusters(kind, k)
            self.kind_of[self.found[kind, k]] = kind
        return self.found[kind, k]

    def counts(self, candidate: Candidate) -> set[int]:
        """Numbers of clusters that the kind of a candidate has been tried with."""
        return {k for kind, k in self.found if kind is self.kind_of[candidate]}


def _scouts(kinds: Sequence[Candidate]) -> list[Candidate]:
    """Kinds that are cheap and differ: plain k-means and the simplest that listen."""
    chosen = [kind for kind in kinds if kind.is_scout]
    return chosen or list(kinds[:3])


def _scouted(
    work: CandidateSearch, made: _Made, scouts: Sequence[Candidate], limits: Limits
) -> list[int]:
    """The most promising numbers of clusters, best first: by doubling, then by halving gaps."""
    guess = _guess(work)
    found = _Scouting(work, made, scouts)
    found.double(limits.least if guess is None else guess, limits, 1 if guess else _BEYOND)
    if guess is None and work.cuts is not None:  # doubling may step over it
        found.explore([work.cuts.most_plausible])
    found.refine(limits)
    return found.promising(_N_COUNTS if work.X.shape[0] <= _FEW_ROWS else 1)


class _Scouting:
    """Scores of numbers of clusters, the best of some cheap kinds at each."""

    def __init__(self, work: CandidateSearch, made: _Made, scouts: Sequence[Candidate]):
        self.work, self.made, self.scouts = work, made, scouts
        self.score: dict[int, float] = {}

    @property
    def best(self) -> int:
        return max(self.score, key=lambda k: self.score[k])

    def explore(self, counts: Sequence[int]) -> None:
        asked = [self.made(kind, k) for k in counts for kind in self.scouts]
        self.work.explore(asked, _SCOUTED if self.work.n_telling < _MANY_LINKS else 1)
        # All again: they depend on a base rate that all trials tell.
        for k in dict.fromkeys([*self.score, *counts]):
            own = (self.work.interim_score(self.made(kind, k)) for kind in self.scouts)
            self.score[k] = max(own)

    def double(self, begin: int, limits: Limits, enough: int) -> None:
        """From a number and its neighbors upwards, then downwards, while that gains.

        So many doublings without a gain are enough.
        """
        steps = doubling(begin, limits)
        first = max(steps.index(begin) - 1, 0)
        # The beginning first: the time may be too short for its neighbors.
        self.explore(sorted(steps[first : first + 3], key=lambda k: abs(np.log(k / begin))))
        for k in steps[first + 3 :]:
            if self._falls(enough) or self.work.out_of_time:
                break
            self.explore([k])
        for k in reversed(steps[:first]):
            if self.best > min(self.score) or self.work.out_of_time:
                break
            self.explore([k])

    def _falls(self, enough: int) -> bool:
        """Whether numbers beyond the best have been tried in vain often enough, or fall clearly."""
        beyond = [k for k in self.score if k > self.best]
        lost = max((self.score[self.best] - self.score[k] for k in beyond), default=0.0)
        return len(beyond) >= enough or lost > _CLEARLY

    def refine(self, limits: Limits) -> None:
        """Try numbers between the best and its neighbors."""
        for _ in range(_REFINED):
            near = between(self.best, set(self.score), limits)
            if not near or self.work.out_of_time:
                return
            self.explore(near)

    def promising(self, n_counts: int) -> list[int]:
        """The best numbers, and the next one below the best.

        Shapes that k-means has to cut into pieces need fewer clusters than the scouts.
        """
        order = sorted(self.score, key=lambda k: -self.score[k])
        fewer = [k for k in sorted(self.score) if k < order[0]][-1:]
        return list(dict.fromkeys([*order[:n_counts], *fewer]))


def _guess(work: CandidateSearch) -> int | None:
    """A number of clusters to begin with; None for few rows, where all numbers are cheap."""
    few = work.X.shape[0] <= _FEW_ROWS or work.n_telling < _GUIDED
    return None if few or work.cuts is None else work.cuts.best


def look_at_cuts(
    work: CandidateSearch, kinds: Sequence[Candidate], known: Constraints, limits: Limits
) -> None:
    """Ask all links about the cuts of a hierarchy, if they can tell and a number is to be chosen.

    The hierarchy is that of the rows as plain k-means sees them. Must-links alone cannot tell: two
    rows that are near are together in most cuts.
    """
    n_links = known.n_must_link + known.n_cannot_link
    is_open = limits.least < min(limits.most, work.X.shape[0] - 1)
    if not known.n_cannot_link or not is_open or work.description is not None:
        return
    plain = next((kind for kind in _scouts(kinds) if kind.is_kmeans), None)
    steps = [] if plain is None else [step for _, step in getattr(plain.estimator, "steps", ())]
    asked, number = (work.folds, 0) if work.n_links else ([all_links(known)], -1)
    try:
        with warnings.catch_warnings(), threadpool_limits(1):  # as in a trial, which shares it
            warnings.simplefilter("ignore")
            X = work.in_space(steps[:-1], work.X, asked[0], number)
    except Exception:  # its trials fail, too, and say why
        return
    if sparse.issparse(X):  # candidates of a user
        return
    X = np.asarray(X, dtype=np.float64)
    if np.isfinite(X).all():
        work.cuts = Cuts.of(X, asked, n_links, *limits)


def doubling(begin: int, limits: Limits) -> list[int]:
    """A number, its halves and its doubles; the limits are the first and the last."""
    n_up = int(np.ceil(np.log2(limits.most / begin)))
    found = [begin << step for step in range(n_up)] + [begin >> step for step in range(1, 64)]
    return sorted({begin, *limits, *(k for k in found if limits.least < k < limits.most)})


def between(best: int, tried: set[int], limits: Limits) -> list[int]:
    """Numbers halfway (geometrically) from the best to its neighbors among those tried."""
    below = max((k for k in tried if k < best), default=None)
    above = min((k for k in tried if k > best), default=None)
    step = max(1, round(_FINE * best))
    found = set()
    for near, beyond in ((below, best - step), (above, best + step)):
        if near is None:
            found.add(beyond)
        elif abs(near - best) > step:
            middle = round(float(np.sqrt(near * best)))
            found.add(middle if middle not in (near, best) else (near + best) // 2)
    return sorted(k for k in found - tried if limits.least <= k <= limits.most)
