"""Progress of a session, and when to stop."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import ceil

from linkwise._types import JsonDict

ROUNDS, LITTLE = 3, 0.01  # so many refits in a row that change so few labels: time to stop


@dataclass(frozen=True)
class Progress:
    """Progress of a session.

    Attributes
    ----------
    n_rows : int
    n_clusters : int or None
    n_answers : int
        Answers that stand, disputed ones included.
    n_same, n_different, n_unsure, n_disputed, n_undone : int
    n_groups : int
        Groups of rows that are known to be in different clusters.
    n_covered : int
        Rows that are known to be in one of them.
    changed : tuple of float
        Share of labels that changed in the last refits, the newest last.

    Examples
    --------
    >>> from linkwise import Session
    >>> with Session([[0.0], [0.1], [5.0]], n_clusters=2) as session:
    ...     _ = session.tell("different", (0, 2))
    ...     progress = session.progress
    >>> progress.n_answers, progress.n_groups, progress.n_covered
    (1, 2, 2)
    """

    n_rows: int
    n_clusters: int | None
    n_answers: int
    n_same: int
    n_different: int
    n_unsure: int
    n_disputed: int
    n_undone: int
    n_groups: int
    n_covered: int
    changed: tuple[float, ...]

    @property
    def expected_remaining(self) -> int:
        """Estimated number of questions until every row has a group, at the present rate.

        The clustering is good long before; see `stop`.
        """
        # A row takes at most one question less than there are groups.
        most = max(self.n_clusters or self.n_groups, 2) - 1
        told = self.n_same + self.n_different + self.n_unsure
        per_row = min(most, told / self.n_covered) if self.n_covered else (most + 1) / 2
        return ceil((self.n_rows - self.n_covered) * per_row)

    @property
    def stop(self) -> bool:
        """Whether the last refits changed few labels."""
        if self.n_covered == self.n_rows:
            return True
        all_found = self.n_groups >= (self.n_clusters or 2)
        return all_found and len(self.changed) == ROUNDS and max(self.changed) < LITTLE

    @property
    def hint(self) -> str:
        """Whether to stop, as a sentence."""
        if self.n_disputed:
            return "answers contradict each other: take one of them back"
        if self.n_clusters is not None and self.n_groups > self.n_clusters:
            return (
                f"the answers name {self.n_groups} groups that are all different, more than the "
                f"{self.n_clusters} clusters asked for"
            )
        if self.n_covered == self.n_rows:
            return "every row has its group: nothing is left to ask"
        if self.stop:
            return (
                f"the last {ROUNDS} refits changed fewer than {LITTLE:.0%} of the labels: you may "
                "stop"
            )
        if self.n_clusters is not None and self.n_groups < self.n_clusters:
            return f"{self.n_groups} of {self.n_clusters} groups found so far: go on"
        if self.changed:
            return f"the last refit changed {self.changed[-1]:.1%} of the labels: go on"
        return "too early to tell when to stop"

    def to_dict(self) -> JsonDict:
        """Plain values, for JSON."""
        derived = {name: getattr(self, name) for name in ("expected_remaining", "stop", "hint")}
        return {**asdict(self), "changed": list(self.changed), **derived}
