"""Base of the methods in which violated constraints have a cost."""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Real
from typing import Literal, NamedTuple

import numpy as np
from sklearn.base import clone

from linkwise._help import see
from linkwise._types import Bools, Floats, RandomState
from linkwise._validation import MAX_ENTAILED, Knowledge, check_choice, check_number
from linkwise.constraints import Constraints, most_wrong
from linkwise.geometry import Mahalanobis
from linkwise.kmeans.rows._local_rows import LocalRows
from linkwise.kmeans.solver import _noise
from linkwise.kmeans.solver._constrained_costs import ConstrainedCosts
from linkwise.kmeans.solver._init_centers import (
    from_clustered_neighborhoods,
    from_contracted_rows,
    from_kmeans_plusplus,
    uncovered,
)
from linkwise.kmeans.solver._link_graph import LinkGraph
from linkwise.kmeans.solver._penalties import Penalty, WeightPenalty
from linkwise.kmeans.solver._problem import Problem, Solution
from linkwise.kmeans.solver._spectral_start import from_linked_neighbors
from linkwise.report import Report

from ._base import N_STARTS, BaseKMeans, too_many_labels

FULL_NEEDS_DENSE = (
    'metric="full" needs dense data: a full matrix over sparse features would not fit; use '
    'metric="diagonal", or reduce the dimensions first (TruncatedSVD)'
) + see("methods")
_AUTO_RUNS = 5  # of one start each, or the time of so many for three starts and swaps
# Links that may be wrong are worse guides: more runs, where they are cheap (rows, runs).
_NOISE_RUNS = ((5_000, 30), (50_000, 15))
_JUDGED = 5_000  # rows that the unit of likelihood is estimated from
_MOST_TRIED = 5_000  # rows up to which the objective is chosen by held-out links
_TRIAL_RUNS = {"right": 3, "doubted": 8, "ignored": 8}  # starts for that, or of a short search
_IGNORED = (
    "the links held out agree better with k-means than with clusters made by the other links, so "
    "that the links do not count; they may be wrong, or about something that the features do not "
    "show"
) + see("noise")

Noise = float | Literal["auto"] | None
Shape = Literal["identity", "diagonal", "full", "linked"]
Belief = Literal["right", "doubted", "ignored"]


class Reading(NamedTuple):
    """How links are read.

    Attributes
    ----------
    belief : {"right", "doubted", "ignored"}
        The published objective, log odds, or k-means.
    shape : {"identity", "diagonal", "full", "linked"} or None
        Of the metric, if held-out links choose it; "linked" is one that links alone have taught.
    by_neighbors : bool
        Whether the one run starts from clusters of neighbors and links, instead of a search for
        the lowest objective.
    """

    belief: Belief = "right"
    shape: Shape | None = None
    by_neighbors: bool = False


class SoftKMeans(BaseKMeans):
    """Base of the methods in which violated constraints have a cost."""

    noise: Noise = None
    _reading = Reading()
    _agreement: float | None = None  # with held-out links, as links are read

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.noise is None:
            return
        if isinstance(self.noise, str):
            check_choice("noise", self.noise, ("auto",))
            return
        check_number("noise", self.noise, Real, 0)
        if self.noise >= 0.5:
            raise ValueError(
                f"noise={self.noise} must be below 0.5: links that are wrong as often as right say "
                "nothing"
            )

    # ---------------------------------------------------------------- wrong links

    @property
    def _trusts(self) -> bool:
        """Whether links are taken as right."""
        return self._reading.belief == "right"

    @property
    def _is_kmeans(self) -> bool:
        """Whether links do not count, and no metric is learnt: it may fit rows and mean nothing."""
        return self._reading.belief == "ignored"

    @property
    def _is_published(self) -> bool:
        """Whether the objective is the published one, in which every link is right."""
        return self.noise is None or (self.noise == "auto" and self._trusts)

    def _read_links(self, problem: Problem) -> None:
        """Decide whether links are taken as right, and what else they decide (`_shapes`)."""
        self._reading, self._agreement = Reading(), None
        if self.noise is None:
            return
        if self.noise != "auto":
            self._reading = Reading("right" if self.noise <= _noise.TRUSTED else "doubted")
            return
        beliefs = self._beliefs(most_wrong(problem.known))
        readings = [reading for belief in beliefs for reading in self._readings(problem, belief)]
        self._reading = readings[0]
        folds = self._folds(problem)
        if folds is not None and len(readings) > 1:
            parts = [self._held_out(problem, folds, reading) for reading in readings]
            chosen = _noise.first_unless_clear(np.array(parts))
            self._reading, self._agreement = readings[chosen], float(parts[chosen].sum())
            both = np.array([parts[0], parts[chosen]])
            if self._is_kmeans and _noise.first_unless_clear(both, _noise.BEYOND_CHANCE):
                warnings.warn(_IGNORED, UserWarning, stacklevel=4)

    def _folds(self, problem: Problem) -> list[Bools] | None:
        """Links to hold out, a mask for each fold; None with too few links or too many rows."""
        rows = problem.rows
        if rows.n > _MOST_TRIED or not isinstance(rows, LocalRows):
            return None
        return _noise.link_folds(problem.known)

    def _beliefs(self, most: float) -> list[Belief]:
        """Beliefs among which held-out links choose, the first unless another is clearly better."""
        if most <= _noise.TRUSTED:
            return ["right"]
        found: list[Belief] = ["doubted", "right"]
        if most <= _noise.BELIEVED:
            found.reverse()
        return [*found, "ignored"]

    def _readings(self, problem: Problem, belief: Belief) -> list[Reading]:
        """Ways to read links under a belief; the usual one first."""
        if self._may_ask_neighbors(problem, belief):
            return [Reading(belief, by_neighbors=True), Reading(belief)]
        return [Reading(belief)]

    def _may_ask_neighbors(self, problem: Problem, belief: Belief) -> bool:
        """Whether runs may start from clusters of neighbors: links doubted, and enough to test."""
        can_start = self._is_mixed(problem) and problem.rows.n > problem.k
        return belief == "doubted" and can_start and self._folds(problem) is not None

    def _held_out(self, problem: Problem, folds: list[Bools], reading: Reading) -> Floats:
        """What each link adds to the agreement with fits without it, if links are read so."""
        found, labels = [], None
        for held in folds:
            part, asked = (problem.known.take(np.flatnonzero(side)) for side in (~held, held))
            if labels is None or reading.belief != "ignored":  # which links are left is all one
                labels = self._trial(replace(problem, known=part), reading).labels
            found.append(_noise.agreement(LinkGraph.of(asked), labels, problem.k) / len(folds))
        return np.concatenate(found)

    def _trial(self, problem: Problem, reading: Reading) -> Solution:
        """A run with few starts on some of the links."""
        n_init = _TRIAL_RUNS[reading.belief] if self.n_init == "auto" else self.n_init
        trial = clone(self).set_params(
            n_init=n_init, checkpoint=None, callback=None, verbose=0, random_state=0
        )
        trial._reading, trial._limits = reading, None
        return trial._best_run(trial._as_read(problem))

    def _noise_model(self, problem: Problem) -> _noise.NoiseModel | None:
        """What is assumed about wrong links; None for nothing, in the published methods."""
        if self.noise is None:
            return None
        unit = self._likelihood_unit(problem)
        if self.noise != "auto":
            return _noise.NoiseModel(max(float(self.noise), _noise.LEAST), False, unit)
        if self._is_kmeans:
            return _noise.NoiseModel(0.5, False, unit)
        most = min(_noise.MOST, most_wrong(problem.known))
        return _noise.NoiseModel(max(most, 2 * _noise.LEAST), True, unit)

    def _likelihood_unit(self, problem: Problem) -> float:
        """Cost of rows that makes a factor e in likelihood; see `_noise`."""
        geometry = self._geometry(problem)
        if isinstance(geometry, Mahalanobis) and geometry.metric == "full" and geometry.learns:
            return 2.0
        some = problem.rows.sample(problem.k, np.random.RandomState(0))
        chosen = slice(None, None, max(1, some.n // _JUDGED))
        rows = LocalRows(some.X[chosen], None, centered=bool(some.shift.any()))
        try:
            geometry = self._geometry(Problem(rows, problem.k, Constraints()))
            return _noise.rough_unit(rows, problem.k, geometry)
        finally:
            rows.close()

    def _penalty(self, problem: Problem) -> Penalty:
        if self._model is None or self._is_published:
            return self._published_penalty(problem)
        return _noise.LogOddsPenalty(problem.links, self._model)

    def _published_penalty(self, problem: Problem) -> Penalty:
        """What violated links cost in the publication."""
        return WeightPenalty(problem.links)

    def _best_run(self, problem: Problem) -> Solution:
        self._model = self._noise_model(problem)
        best = super()._best_run(problem)
        return self._trial(problem, self._reading) if self._collapsed(problem, best) else best

    def _collapsed(self, problem: Problem, best: Solution) -> bool:
        """Whether a fit agrees less with the links than fits that did not know them.

        A learnt metric can collapse onto a few rows that agree in some feature. The objective is
        low then, whatever the links say, and a long search finds such a place.
        """
        if self._agreement is None or self._limits is not None:
            return False
        parts = _noise.agreement(LinkGraph.of(problem.known), best.labels, problem.k)
        return float(parts.sum()) < self._agreement

    def _report(self, problem: Problem, best: Solution, told: Knowledge, started: float) -> Report:
        report = super()._report(problem, best, told, started)
        if self._model is None:
            self.__dict__.pop("noise_", None)
            return report
        known = problem.known
        kept = np.concatenate([report.satisfaction.must_link, report.satisfaction.cannot_link])
        weight = np.concatenate([known.must_link_weight, known.cannot_link_weight])
        self.noise_ = _noise.estimated_share(~kept, weight)
        wrong = self._wrong(problem, best)
        if problem.uses_entailed:
            wrong = wrong[problem.links.positions(known)]
        wrong = np.concatenate([wrong, np.full(known.n_relative, np.nan)])
        return replace(report, wrong=wrong, noise=self.noise_)

    def _wrong(self, problem: Problem, best: Solution) -> Floats:
        """The probability of each link that it is wrong."""
        links, model = replace(problem, link_unit=1.0).links, self._model
        assert model is not None
        if not len(links.rows):
            return np.zeros(0)
        costs = ConstrainedCosts(problem.rows, links.rows, best.geometry).of_all_rows()
        labels = best.assignments.labels_of(links.rows)
        return _noise.probability_wrong(links, labels, costs, self.noise_, model.unit)

    # ---------------------------------------------------------------- starts

    def _n_runs(self, problem: Problem) -> int:
        if self._reading.by_neighbors:
            return 1
        if self.n_init != "auto":
            return int(self.n_init)
        if not isinstance(self._init(), str) or not problem.known:
            return 1
        if self._overfits(problem):
            return _TRIAL_RUNS[self._reading.belief]
        if not self._is_mixed(problem):
            return self._n_tries(problem)
        return N_STARTS if self._is_published else _AUTO_RUNS

    def _n_replaced(self, problem: Problem) -> int:
        is_auto = self.n_init == "auto" and self._is_mixed(problem) and problem.known
        is_short = self._reading.by_neighbors or self._overfits(problem)
        return self._n_tries(problem) if is_auto and not is_short else 0

    def _overfits(self, problem: Problem) -> bool:
        """Whether there are too few rows for what is learnt: a long search would do harm."""
        return False

    def _n_tries(self, problem: Problem) -> int:
        """Runs of one start each, or the time of so many for some starts and swaps."""
        if self._is_published:
            return _AUTO_RUNS
        few = (runs for rows, runs in _NOISE_RUNS if problem.rows.n <= rows)
        return next(few, _AUTO_RUNS)

    def _is_mixed(self, problem: Problem) -> bool:
        """Whether runs start in different ways: init="auto", and no labels to start from."""
        return self._init_is_auto and (problem.seeds is None or not (problem.seeds >= 0).any())

    def _centers(self, problem: Problem, rng: RandomState, run: int) -> Floats:
        """With init="auto": clusters of neighborhoods and of contracted rows in turn."""
        if not self._is_mixed(problem):
            return super()._centers(problem, rng, run)
        if self._reading.by_neighbors and self._model is not None:
            return from_linked_neighbors(problem, self._model.p, rng)
        if self._is_kmeans or (run and not self._trusts):
            return from_kmeans_plusplus(problem.rows, problem.k, rng)
        if run % 2:
            return from_contracted_rows(problem, rng)
        found = from_clustered_neighborhoods(problem, rng)
        if found is None and run == 0:
            return super()._centers(problem, rng, run)
        drawn = from_kmeans_plusplus(problem.rows, problem.k, rng)
        # Drawn centers are rows, about twice as far (squared) from other rows as means are: if
        # even they are nearer, the neighborhoods do not cover the data.
        return drawn if found is None or uncovered(problem.rows, found, drawn) else found

    def _prepare(self, problem: Problem) -> Problem:
        """Partial labels become constraints like the others, and entailed links take part."""
        known, seeds = problem.known, problem.seeds
        if seeds is not None and (seeds >= 0).any():
            known = known + Constraints(labels=seeds)
            if (excess := too_many_labels(seeds, problem.k)) is not None:
                warnings.warn(
                    f"{excess}: not all of them can be kept apart, so some cannot-links will be "
                    "violated; raise n_clusters, or merge classes",
                    UserWarning,
                    stacklevel=3,
                )
                seeds = None  # no start from their means
        problem = replace(problem, known=known, seeds=seeds)
        self._read_links(problem)
        return self._as_read(problem)

    def _as_read(self, problem: Problem) -> Problem:
        """The problem as its links are read: entailed ones take part if they are right."""
        return replace(problem, max_entailed=MAX_ENTAILED if self._trusts else 0)
