"""`ChoiceReport`: which constraints the choice satisfies, and why it was chosen, in words."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from linkwise._types import JsonDict
from linkwise.constraints import Given
from linkwise.report import Report

from ._expected import Expected

_MAX_SUSPECTS = 10


@dataclass(frozen=True, eq=False)
class ChoiceReport(Report):
    """The report on the chosen clustering, with the reasons of the choice.

    Attributes
    ----------
    reasons : tuple of str
        Sentences.
    expected : Expected
        How good the clustering can be expected to be, with intervals.
    next_step : str
        What to do next, in one sentence.
    suspects : tuple of Given
        Constraints that look wrong, for review; empty unless some clearly are.
    algorithm, constraints, satisfaction, costs, cluster_sizes, n_components, objective, n_iter
        As in `Report`.
    converged, seconds, n_dropped, n_not_inferred, n_ignored, ids, n_noise, wrong, noise, profiles
        As in `Report`.

    Examples
    --------
    >>> import numpy as np
    >>> from linkwise import AutoCluster, Constraints, PCKMeans
    >>> y = np.repeat([0, 1], 20)
    >>> X = np.random.default_rng(0).normal(size=(40, 1)) + 9 * y[:, None]
    >>> known = Constraints.from_labels(y, 20, random_state=0)
    >>> model = AutoCluster([PCKMeans()], n_clusters=2, n_folds=2, random_state=0)
    >>> report = model.fit(X, constraints=known).report_
    >>> print(report.reasons[0])
    Chosen: PCKMeans, k = 2.
    """

    reasons: tuple[str, ...] = ()
    suspects: tuple[Given, ...] = ()
    expected: Expected = field(default_factory=Expected)
    next_step: str = ""

    def to_dict(self) -> JsonDict:
        """The totals as plain values, ready for JSON, with reasons and suspects."""
        suspects = [
            {"link": link.kind, "rows": [self._name(row) for row in link.rows], "at": link.where}
            for link in self.suspects
        ]
        own = {"reasons": list(self.reasons), "suspects": suspects, "next_step": self.next_step}
        return {**super().to_dict(), **own, "expected": self.expected.to_dict()}

    def _lines(self) -> list[str]:
        lines = [*self._told, *super()._lines()]
        if self.suspects:
            lines.append(f"for review, {len(self.suspects):,} constraints that look wrong:")
            lines.extend(
                f"  {self._said(link)} [{link.where}]" for link in self.suspects[:_MAX_SUSPECTS]
            )
            if len(self.suspects) > _MAX_SUSPECTS:
                lines.append(f"  ... and {len(self.suspects) - _MAX_SUSPECTS:,} more")
        return lines

    @property
    def _told(self) -> tuple[str, ...]:
        """The reasons, how sure they are, and what to do next."""
        more = (str(self.expected), self.next_step) if self.next_step else ()
        return (*self.reasons, *more)

    def _page(self) -> Any:
        return replace(super()._page(), reasons=self._told)

    def _name(self, row: Any) -> Any:
        return self.ids[int(row)] if self.ids is not None and self._by_id else row

    def _said(self, link: Given) -> str:
        i, j = (self._name(row) for row in link.rows)
        return f"{i} and {j} must be {'together' if link.kind == 'must' else 'apart'}"
