"""`ChoiceReport`: satisfied constraints and the reasons of the choice."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from linkwise._types import JsonDict
from linkwise.report import Report

from ._score import Expected


@dataclass(frozen=True, eq=False, repr=False)
class ChoiceReport(Report):
    """The report on the chosen clustering, with the reasons of the choice.

    Attributes
    ----------
    reasons : tuple of str
        Sentences.
    expected : Expected
        Expected adjusted Rand index, with its interval.
    algorithm, constraints, satisfaction, costs, cluster_sizes, n_components, objective, n_iter
        As in `Report`.
    converged, seconds, n_dropped, n_not_inferred, n_ignored, ids, n_noise, wrong, noise, profiles
        As in `Report`.

    Examples
    --------
    >>> import numpy as np
    >>> from linkwise import AutoCluster
    >>> X = np.random.default_rng(0).normal(size=(40, 1)) + 20 * np.repeat([0, 1], 20)[:, None]
    >>> print(AutoCluster(n_clusters=2, random_state=0).fit(X).report_.reasons[-1])
    There are too few links to hold some out: how good the clusters are is unknown.
    """

    reasons: tuple[str, ...] = ()
    expected: Expected = field(default_factory=Expected)

    def to_dict(self) -> JsonDict:
        """The totals as plain values, ready for JSON, with reasons and suspects."""
        suspects = [
            {"link": link.kind, "rows": [self._name(row) for row in link.rows], "at": link.where}
            for link, _ in self.likely_wrong()
        ]
        own = {"reasons": list(self.reasons), "suspects": suspects}
        return {**super().to_dict(), **own, "expected": self.expected.to_dict()}

    def _lines(self) -> list[str]:
        return [*self.reasons, *super()._lines()]

    def _course(self) -> str:
        return "compared and fitted" if self.objective is None else super()._course()

    def _page(self) -> Any:
        return replace(super()._page(), reasons=self.reasons)

    def _name(self, row: Any) -> Any:
        return self.ids[int(row)] if self.ids is not None and self._by_id else row
