"""Questions and answers in plain values: a pair with its fields, a card, log entries, disputes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from linkwise._types import JsonDict
from linkwise.active import Answer, ClusterCountAnswer, Correction, Dispute, SessionSnapshot

from ._clusters import mark
from ._record_pages import PAGE

if TYPE_CHECKING:
    from ._controller import Controller

Entry = Answer | ClusterCountAnswer | Correction
_N_MEMBERS = 2  # typical records of each cluster beside a question (issue 41)


class Questions:
    """What is asked of a session, and what was answered."""

    def __init__(self, controller: Controller):
        self._controller, self._session = controller, controller.session

    # ---------------------------------------------------------------- asking

    def next(self, who: str | None) -> JsonDict | None:
        """The next question with both records as the page shows them; None if there is none."""
        asked = self._session.ask(who=who)
        if asked is None:
            return None
        reason = self._session.reason(asked)
        why = f"{reason[:1].upper()}{reason[1:]}." if reason else ""
        return {**self.pair(asked.i, asked.j), "why": why}

    def next_for_programs(self, who: str | None) -> JsonDict | None:
        """The next question with all fields of both records; None if there is none."""
        asked = self._session.ask(who=who)
        if asked is None:
            return None
        return {
            "i": asked.i,
            "j": asked.j,
            "ids": self._controller.names(*asked),
            "records": [self._controller.records.fields(row) for row in asked],
            "reason": self._session.reason(asked),
        }

    def card(self, who: str | None, size: int) -> JsonDict | None:
        """The next set question with its records; None if there is none."""
        asked = self._session.ask(set_size=size, who=who)
        if asked is None:
            return None
        return {
            "rows": list(asked.rows),
            "ids": self._controller.names(*asked.rows),
            "records": [self._controller.pages.record(row) for row in asked.rows],
            "reason": self._session.reason(asked),
        }

    def pair(self, i: int, j: int) -> JsonDict:
        """Two records side by side, the most discriminative fields first."""
        records = self._controller.records
        return {
            "i": i,
            "j": j,
            "names": self._controller.names(i, j),
            "fields": self.fields(i, j, PAGE),
            "n_fields": len(records.shown),
            "note": self._controller.notes.of_pair(i, j),
            "images": [records.image(row) is not None for row in (i, j)],
            "around": [self._around(row, {i, j}) for row in (i, j)],
            "earlier": self._earlier(i, j),
            "why": "",
        }

    def _around(self, row: int, both: set[int]) -> JsonDict | None:
        """The cluster of a row with its most typical other members; None before the first fit."""
        now = self._session.snapshot()
        view = self._controller.clusters.view(now)
        if view is None:
            return None
        number = int(view.labels[row])
        typical: list[int] = []
        if number >= 0:
            near = view.typical(number, _N_MEMBERS + len(both))
            typical = [one for one in near if one not in both][:_N_MEMBERS]
        members = [self._controller.pages.record(one) for one in typical]
        return {**mark(number, now.cluster_names), "members": members}

    def fields(self, i: int, j: int, most: int, search: str = "") -> list[JsonDict]:
        """Fields of two records; `search` filters by name or text."""
        records, names = self._controller.records, self._controller.names(i, j)
        wanted, found = search.strip().lower(), []
        for field in self._controller.clusters.fields():
            texts = records.texts(field, i, j)
            if texts == names:
                continue  # the column of ids is in the heading already
            if wanted and wanted not in " ".join([field, *texts]).lower():
                continue
            found.append(records.compare_field(field, i, j))
            if len(found) == most:
                break
        return found

    def _earlier(self, i: int, j: int) -> str:
        """Earlier answers to a pair, as one line."""
        return ", ".join(
            f"{answer.who}: {answer.said}"
            for answer in self._session.snapshot().answers
            if answer.is_active and {answer.i, answer.j} == {i, j}
        )

    # ---------------------------------------------------------------- answering

    def answer(
        self, said: str, pair: tuple[int, int], who: str | None = None, weight: float = 1.0,
        *, replace: bool = False,
    ) -> list[Dispute]:  # fmt: skip
        """Record an answer; return what it contradicts.

        If k is unknown and the answer reveals a new group, a refit is requested at once, so that
        the new group gets a cluster.
        """
        disputes = self._session.tell(said, pair, who=who, weight=weight, replace=replace)
        now = self._session.snapshot()
        if said == "different" and now.n_clusters is None and now.fit is not None:
            n_shown = len(np.unique(now.fit.labels[now.fit.labels >= 0]))
            if now.progress.n_groups > n_shown:
                self._session.refit(wait=False)
        return disputes

    def retract(self, number: int, count: bool, who: str | None = None) -> None:
        """Retract a log entry by the id that `history` gives it."""
        now = self._session.snapshot()
        entries: list[Entry] = []
        if count:
            entries += [one for one in now.cluster_counts if one.id == number]
            entries += [one for one in now.corrections if one.id == -number]
        self._session.undo(entry=entries[0] if entries else number, who=who)

    # ---------------------------------------------------------------- the log

    def dispute(self, dispute: Dispute) -> JsonDict:
        """A dispute in plain values."""
        return {
            "text": str(dispute),
            "chain": [str(name) for name in dispute.rows],
            "answers": [self.entry(answer) for answer in dispute.choices],
        }

    def entry(self, answer: Entry) -> JsonDict:
        """A log entry in plain values."""
        about: JsonDict
        if isinstance(answer, Correction):
            about = {"kind": answer.kind, "clusters": answer.details["clusters"]}
        elif isinstance(answer, ClusterCountAnswer):
            about = {"n_clusters": answer.n_clusters, "answers": list(answer.answers)}
        else:
            names = self._controller.names(answer.i, answer.j)
            about = {"i": answer.i, "j": answer.j, "names": names}
            about |= {"said": answer.said, "weight": answer.weight}
        at = answer.at.isoformat(timespec="seconds")
        return {"id": answer.id, **about, "who": answer.who, "at": at}

    def text(self, answer: Entry) -> str:
        """A log entry as text."""
        if not isinstance(answer, Answer):
            return str(answer)
        return f"{' and '.join(self._controller.names(answer.i, answer.j))}: {answer.said}"

    def history(self, now: SessionSnapshot, most: int) -> list[JsonDict]:
        """Log entries, the newest first, including undone ones."""
        disputed = {dispute.answer.id for dispute in now.disputes}
        entries: list[Entry] = [*now.answers, *now.cluster_counts, *now.corrections]
        entries.sort(key=lambda one: one.at)
        return [
            {
                # The page sends both back to `retract`: corrections have negative ids.
                "id": -one.id if isinstance(one, Correction) else one.id,
                "count": not isinstance(one, Answer),
                "text": self.text(one),
                "who": one.who,
                "at": one.at.isoformat(timespec="seconds"),
                "undone_by": one.undone_by,
                "disputed": isinstance(one, Answer) and one.id in disputed,
                "violated": isinstance(one, Answer) and one.id in now.violated,
                "pair": [one.i, one.j] if isinstance(one, Answer) else None,
            }
            for one in entries[: -most - 1 : -1]
        ]


def counted(n: int, what: str) -> str:
    """A number with its noun."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"
