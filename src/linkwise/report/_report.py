"""`Report`: every constraint satisfied or violated, and the price of each violation."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from linkwise._optional import optional
from linkwise._types import JsonDict
from linkwise.constraints import Constraints, Given, Satisfaction, table_html
from linkwise.tables import atomic_write

from ._page import Page, Violation, page_html
from ._profiles import Columns, Profile, describe, word_columns

_MAX_VIOLATED, _MAX_VIOLATED_ON_PAGE = 20, 200  # listed as text, on the page; the rest is counted
_ROUNDING = 1e-13  # share of the objective; a few hundred roundings of 64-bit sums
_ENDS = ("i", "j", "a", "b", "c")  # columns of `Constraints.to_frame` that hold rows


@dataclass(frozen=True, eq=False)
class Report:
    """What became of the constraints in a clustering.

    Attributes
    ----------
    algorithm : str
        Name of the method.
    constraints : Constraints
        The constraints that took part, by row number.
    satisfaction : Satisfaction
        Which of them are satisfied.
    costs : ndarray of shape (n_constraints,)
        What each costs in the objective; zero if it is satisfied or the method has no such cost.
    cluster_sizes : ndarray of shape (n_clusters,)
    n_components : int
        Groups of rows that must be together.
    objective : float or None
        None for methods that have none.
    n_iter : int
    converged : bool
    seconds : float
    n_dropped : int
        Constraints on rows that the data does not have.
    n_ignored : int
        Relative constraints that the method does not use; they are not among `constraints`.
    ids : sequence of shape (n_samples,) or None
        What the rows are called where constraints are shown; see `named`.
    n_noise : int
        Rows in no cluster.
    wrong : ndarray like `costs`, or None
        The probability of each constraint that it is wrong, if the method has a noise model.
    noise : float or None
        The estimated share of wrong constraints, if the method has a noise model.
    profiles : tuple of Profile
        What each cluster is like; empty unless `describe` has looked.

    Examples
    --------
    >>> from linkwise import Constraints, PCKMeans
    >>> known = Constraints(must_link=[(0, 1, 0.5)])
    >>> model = PCKMeans(n_clusters=2, penalty="weight", random_state=0)
    >>> model = model.fit([[0.0], [9.0]], constraints=known)
    >>> print(str(model.report_.named(["ana", "bo"])).splitlines()[-1])
      ana and bo must be together [cost 0.5; must_link[0]]
    """

    algorithm: str
    constraints: Constraints
    satisfaction: Satisfaction
    costs: NDArray[np.float64]
    cluster_sizes: NDArray[np.int64]
    n_components: int
    objective: float | None
    n_iter: int
    converged: bool
    seconds: float
    n_dropped: int = 0
    n_ignored: int = 0
    ids: Sequence[Hashable] | None = None
    n_noise: int = 0
    wrong: NDArray[np.float64] | None = None
    noise: float | None = None
    profiles: tuple[Profile, ...] = ()

    def __post_init__(self) -> None:
        # What is left of a cost that cancels out is rounding.
        if self.objective is not None:
            paid = np.flatnonzero(self.costs)
            rounding = paid[~(np.abs(self.costs[paid]) > _ROUNDING * abs(self.objective))]
            if len(rounding):
                costs = self.costs.copy()
                costs[rounding] = 0.0
                object.__setattr__(self, "costs", costs)

    @classmethod
    def of(cls, known: Constraints, labels: NDArray, **facts: Any) -> Report:
        """The report on labels 0, 1, 2, ... and -1 (no cluster); `facts` are the attributes left.

        `costs` may be those of the pairs alone, whether satisfied or not.

        Parameters
        ----------
        known : Constraints
            The constraints by row number.
        labels : ndarray of shape (n_samples,)
            Cluster of each row; -1 is no cluster.
        """
        satisfied = known.satisfied(labels)
        mask = np.concatenate(satisfied.masks)
        costs = np.zeros(known.n_constraints)
        given = facts.pop("costs")
        costs[: len(given)] = given
        report = cls(
            constraints=known,
            satisfaction=satisfied,
            costs=np.where(mask, 0.0, costs),
            cluster_sizes=np.bincount(labels[labels >= 0]),
            n_components=int((known.closure().sizes > 1).sum()),
            n_noise=int((labels < 0).sum()),
            **facts,
        )
        return report.of_pairs()

    def of_pairs(self) -> Self:
        """The report of a method that uses no relative constraints: it counts none as satisfied."""
        found = self.satisfaction
        if not len(found.relative):
            return self
        used = [np.ones_like(mask) for mask in found.masks]
        used[2][:] = False
        known, stays = self.constraints._where(*used), np.concatenate(used)
        return replace(
            self,
            constraints=known,
            satisfaction=replace(found, constraints=known, relative=found.relative[:0]),
            costs=self.costs[stays],
            wrong=None if self.wrong is None else self.wrong[stays],
            n_ignored=len(found.relative),
        )

    @property
    def n_rows(self) -> int:
        """Number of rows, those in no cluster included."""
        return int(self.cluster_sizes.sum()) + self.n_noise

    @property
    def satisfied(self) -> Constraints:
        """The constraints that are satisfied."""
        return self.satisfaction.satisfied

    @property
    def violated(self) -> Constraints:
        """The constraints that are not."""
        return self.satisfaction.violated

    def likely_wrong(self, least: float = 0.5) -> list[tuple[Given, float]]:
        """The constraints that are wrong with at least this probability, likeliest first.

        Empty unless the method has a noise model (``noise=`` is not None).

        Parameters
        ----------
        least : float, default=0.5

        Returns
        -------
        found : list of (Given, float)
            Each constraint, with where it was given, and the probability that it is wrong.

        Examples
        --------
        >>> from linkwise import Constraints, PCKMeans
        >>> X = [[0.0], [0.1], [0.2], [0.3], [9.0], [9.1], [9.2], [9.3]]
        >>> known = Constraints(must_link=[(0, 1), (2, 3), (4, 5), (1, 6)])
        >>> model = PCKMeans(n_clusters=2, noise=0.1, random_state=0).fit(X, constraints=known)
        >>> for link, probability in model.report_.likely_wrong():
        ...     print(link, f"({probability:.2f})")
        1 and 6 must be together (1.00)
        """
        if self.wrong is None:
            return []
        found = np.flatnonzero(self.wrong >= least)
        found = found[np.argsort(-self.wrong[found], kind="stable")]
        return [(self._link(place), float(self.wrong[place])) for place in found.tolist()]

    def named(self, ids: Sequence[Hashable] | None) -> Report:
        """The same report, with constraints shown by these ids instead of row numbers.

        Parameters
        ----------
        ids : sequence of shape (n_samples,) or None
            One id per row; None shows row numbers.
        """
        if ids is not None and len(ids) != self.n_rows:
            raise ValueError(f"{len(ids):,} ids for {self.n_rows:,} rows; give one id per row")
        return replace(self, ids=ids)

    def describe(
        self,
        X: Any,
        labels: NDArray,
        features: Sequence[str] | None = None,
        *,
        texts: Sequence[str] | None = None,
    ) -> Report:
        """The same report, with what each cluster is like: typical rows, what sets it apart.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The data, in units that people know: before it was standardized.
        labels : ndarray of shape (n_samples,)
            Clusters of the rows, -1 for none.
        features : sequence of str, default=None
            What the columns are called; those of a DataFrame, or x0, x1, ... if not given.
        texts : sequence of str, default=None
            The texts of the rows, if columns are words: then words are named, not columns.

        Returns
        -------
        report : Report
        """
        names = [] if texts is not None else features
        names = getattr(X, "columns", None) if names is None else names
        X = X.tocsr() if hasattr(X, "tocsr") else np.asarray(X, dtype=np.float64)
        if X.shape[0] != self.n_rows:
            raise ValueError(f"X has {X.shape[0]:,} rows, the report is on {self.n_rows:,}")
        if names is None:
            names = [f"x{column}" for column in range(X.shape[1])]
        found = describe(np.asarray(labels), Columns(X, names), word_columns(texts))
        return replace(self, profiles=tuple(found))

    # ---------------------------------------------------------------- as values

    def to_frame(self) -> Any:
        """One row per constraint, with columns ``satisfied`` and ``cost`` (pandas).

        With a noise model also ``wrong``, the probability that the constraint is wrong.
        """
        optional("pandas", extra="parquet", need="A DataFrame of the report")
        frame = self.constraints.to_frame()
        if self._by_id:
            names = dict(enumerate(self.ids or ()))
            for column in frame.columns.intersection(list(_ENDS)):
                frame[column] = frame[column].astype(object).map(names, na_action="ignore")
        frame["satisfied"] = self._mask()
        frame["cost"] = self.costs
        if self.wrong is not None:
            frame["wrong"] = self.wrong
        return frame

    def to_dict(self) -> JsonDict:
        """The totals as plain values, ready for JSON."""
        found = self.satisfaction
        return {
            "algorithm": self.algorithm,
            "objective": None if self.objective is None else float(self.objective),
            "iterations": int(self.n_iter),
            "converged": bool(self.converged),
            "seconds": round(self.seconds, 4),
            "cluster_sizes": self.cluster_sizes.tolist(),
            "noise": self.n_noise,
            "constraints": self.constraints.n_constraints,
            "satisfied": found.n_satisfied,
            "violated": found.n_violated,
            "satisfied_weight": float(found.weight_share),
            "violation_cost": float(self.costs.sum()),
            "groups": int(self.n_components),
            "dropped": int(self.n_dropped),
            "ignored": int(self.n_ignored),
            **({} if self.noise is None else {"noise_estimate": float(self.noise)}),
        }

    def to_html(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        about: Mapping[str, str] | None = None,
        weights: Mapping[str, float] | None = None,
        names: Sequence[str] = (),
    ) -> str:
        """One page for a browser, self-contained and without scripts.

        Parameters
        ----------
        path : str or path, default=None
            Also write the page there: whole, or not at all.
        about : mapping of str to str, default=None
            What it was made of, shown below the title: files, date.
        weights : mapping of str to float, default=None
            Learned weights of the columns, to be shown.
        names : sequence of str, default=()
            Names of the clusters, shown instead of their numbers.

        Returns
        -------
        html : str
        """
        shown = replace(self._page(), about=dict(about or {}), weights=dict(weights or {}))
        page = page_html(replace(shown, names=names))
        if path is not None:
            # A lone surrogate, which an id out of Python may have, is no UTF-8.
            with atomic_write(path) as file:
                file.write(page.encode("utf-8", "xmlcharrefreplace"))
        return page

    # ---------------------------------------------------------------- as words

    def __str__(self) -> str:
        lines = self._lines()
        costliest = self._costliest(_MAX_VIOLATED)
        if costliest:
            lines.append("violated (costliest first):" if self._has_costs else "violated:")
            lines.extend(f"  {link} [{self._price(cost)}{link.where}]" for link, cost in costliest)
        if more := self.satisfaction.n_violated - len(costliest):
            lines.append(f"  ... and {more:,} more")
        return "\n".join(lines)

    def __repr__(self) -> str:
        found = self.satisfaction
        share = f"{found.n_satisfied} of {self.constraints.n_constraints} satisfied"
        return f"Report({self.algorithm}, {share})"

    def _repr_html_(self) -> str:
        facts = "".join(f"<li>{escape(line)}</li>" for line in self._lines())
        costliest = self._costliest(_MAX_VIOLATED)
        table = tail = ""
        if costliest:
            rows = [
                (str(link), f"{cost:.4g}" if self._has_costs else "", link.where)
                for link, cost in costliest
            ]
            head = ("constraint", "cost", "where")
            order = ", costliest first" if self._has_costs else ""
            table = f"<p>Violated{order}:</p>" + table_html(head, rows)
        if more := self.satisfaction.n_violated - len(costliest):
            tail = f"<p>... and {more:,} more</p>"
        return f"<div><ul>{facts}</ul>{table}{tail}</div>"

    def _lines(self) -> list[str]:
        found, state = self.satisfaction, "" if self.converged else ", not converged"
        sizes = ", ".join(f"{size:,}" for size in self.cluster_sizes[:12])
        more = ", ..." if len(self.cluster_sizes) > 12 else ""
        many = len(self.cluster_sizes)
        lines = [
            f"{self.algorithm}: {many:,} cluster{'s' * (many > 1)} of {sizes}{more} rows",
            self._course() + f"{state}, {self.seconds:.2f} s",
        ]
        if self.n_noise:
            lines.append(f"{self.n_noise:,} rows in no cluster")
        total = self.constraints.n_constraints
        if total:
            share = f"{found.n_satisfied:,} of {total:,} constraints satisfied"
            if found.n_violated:
                share += f" ({found.weight_share:.0%} of their weight)"
                if self._has_costs:
                    share += f"; the others cost {self.costs.sum():.6g}"
            lines.append(share)
        if self.noise is not None and total:
            lines.append(self._noise_line())
        if self.n_dropped:
            lines.append(
                f"{self.n_dropped:,} constraint{'s' * (self.n_dropped != 1)} on rows that are not "
                "in the data left out"
            )
        if self.n_ignored:
            lines.append(
                f"{self.n_ignored:,} relative constraint{'s' * (self.n_ignored != 1)} not used by "
                "this method"
            )
        return lines

    # ---------------------------------------------------------------- the pieces

    def _noise_line(self) -> str:
        n_suspects = 0 if self.wrong is None else int((self.wrong >= 0.5).sum())
        named = (
            f"{n_suspects:,} of them probably are (see likely_wrong)"
            if n_suspects
            else "none stands out"
        )
        return f"about {self.noise:.0%} of the links look wrong; {named}"

    def _course(self) -> str:
        if self.objective is None:
            return f"{self.n_iter:,} merge{'s' * (self.n_iter != 1)}"
        many = f"{self.n_iter} iteration{'s' * (self.n_iter != 1)}"
        return f"objective {self.objective:.6g} after {many}"

    def _price(self, cost: float) -> str:
        return f"cost {cost:.4g}; " if self._has_costs else ""

    @property
    def _has_costs(self) -> bool:
        """Whether the method has a price for what it breaks."""
        return self.objective is not None and bool(self.costs.any())

    @property
    def _by_id(self) -> bool:
        return self.ids is not None and not self.constraints.has_ids

    def _mask(self) -> NDArray[np.bool_]:
        found = self.satisfaction
        return np.concatenate(found.masks)

    def _costliest(self, most: int) -> list[tuple[Given, float]]:
        """The costliest violations and their costs; among equals, the order of the constraints."""
        broken = np.flatnonzero(~self._mask())
        costliest = broken[np.argsort(-self.costs[broken], kind="stable")][:most]
        return [(self._link(place), float(self.costs[place])) for place in costliest.tolist()]

    def _link(self, place: int) -> Given:
        link = self.constraints.at(place)
        if self.ids is None or not self._by_id:
            return link
        return replace(link, rows=tuple(self.ids[int(str(row))] for row in link.rows))

    def _page(self) -> Page:
        found = self.satisfaction
        kinds = {
            "must-link": found.must_link,
            "cannot-link": found.cannot_link,
            "relative": found.relative,
            "apart group": found.apart,
        }
        return Page(
            algorithm=self.algorithm,
            totals=self._totals(),
            sizes=self.cluster_sizes.tolist(),
            satisfied={
                kind: (int(mask.sum()), len(mask)) for kind, mask in kinds.items() if len(mask)
            },
            violations=[
                Violation(
                    str(link),
                    f"{link.weight:g}",
                    f"{cost:.4g}" if self._has_costs else "",
                    link.where,
                )
                for link, cost in self._costliest(_MAX_VIOLATED_ON_PAGE)
            ],
            n_violated=found.n_violated,
            profiles={
                profile.number: (
                    profile.descriptions,
                    [self._called(row) for row in profile.typical],
                )
                for profile in self.profiles
            },
            priced=self._has_costs,
        )

    def _called(self, row: int) -> str:
        return str(row if self.ids is None else self.ids[row])

    def _totals(self) -> dict[str, str]:
        found, known = self.satisfaction, self.constraints
        totals = {
            "rows": f"{self.n_rows:,}",
            "clusters": f"{len(self.cluster_sizes):,}",
            "constraints satisfied": f"{found.n_satisfied:,} of {known.n_constraints:,}",
            "weight satisfied": f"{found.weight_share:.1%}",
            "cost of the others": f"{self.costs.sum():.4g}",
            "groups that must be together": f"{self.n_components:,}",
            "objective": "" if self.objective is None else f"{self.objective:.6g}",
            "iterations": f"{self.n_iter:,}" + ("" if self.converged else " (not converged)"),
            "time": f"{self.seconds:.2f} s",
        }
        if not self._has_costs:
            del totals["cost of the others"]
        if self.objective is None:
            totals.pop("cost of the others", None)
            del totals["objective"]
            totals["merges"] = totals.pop("iterations")
        if self.n_noise:
            totals["rows in no cluster"] = f"{self.n_noise:,}"
        if not known:
            for name in ("constraints satisfied", "weight satisfied", "cost of the others"):
                totals.pop(name, None)
            totals["constraints"] = "none"
        if self.n_dropped:
            totals["constraints left out"] = f"{self.n_dropped:,} (on rows not in the data)"
        if self.n_ignored:
            totals["constraints not used"] = f"{self.n_ignored:,} (relative)"
        return totals
