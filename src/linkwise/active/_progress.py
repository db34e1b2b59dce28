"""Progress of a session, and when to stop."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from linkwise._types import JsonDict

from ._meter import ROUNDS as ROUNDS
from ._meter import Meter, measure


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
    meter : Meter
        How many of the last answers the model would have guessed, and what the next may change.

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
    meter: Meter = field(default_factory=lambda: measure((), 0, 0))

    @property
    def stop(self) -> bool:
        """Whether answers are guessed and twice as many would change little, or all is known."""
        if self.n_covered == self.n_rows:
            return True
        return self.n_groups >= (self.n_clusters or 2) and self.meter.stop

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
            return f"{self.meter}: you may stop"
        if self.n_clusters is not None and self.n_groups < self.n_clusters:
            return f"{self.n_groups} of {self.n_clusters} groups found so far: go on"
        if self.meter.is_blind:
            return (
                f"{self.meter}, at most half: the features hardly reflect the answers; try others"
            )
        return f"{self.meter}: go on" if self.meter.n_asked else str(self.meter)

    def to_dict(self) -> JsonDict:
        """Plain values, for JSON."""
        derived = {name: getattr(self, name) for name in ("stop", "hint")}
        told = {"meter": self.meter._asdict(), "changed": list(self.changed)}
        return {**asdict(self), **told, **derived}
