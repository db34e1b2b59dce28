"""Controller of a session in plain values, for the page and the JSON API.

Nothing here knows of the web, and everything may be called from any thread.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwise._types import JsonDict
from linkwise.active import (
    Answer,
    ClusterCountAnswer,
    Correction,
    Dispute,
    Session,
    SessionSnapshot,
)

from ._clusters import (
    Cluster,
    Columns,
    Proposal,
    describe,
    pairs_to_merge,
    pairs_to_split,
    split_in_two,
    word_columns,
)
from ._map import project, projections, sample_rows
from ._membership import Membership
from ._model_choice import ModelChoice
from ._notes import Notes
from ._people import to_review
from ._record_pages import RecordPages
from ._records import Records
from ._telling import by_separation

Entry = Answer | ClusterCountAnswer | Correction
LONGEST_NAME = 60
_SHOWN_FIELDS = 24  # of a question; the others are found by search
_MOST_LINKS = 2000  # drawn on the map, the newest
_MOST_SAID = 200  # shown in the history, the newest
# Okabe and Ito's colors in an order in which neighbors are easy to tell apart; the pale ones are
# replaced, so that all have a contrast of 3 to 1 with the map, in the dark theme too.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#5a5fd0", "#b37700", "#7b1e3a", "#6e6e6e")
# Outlines of marks as SVG paths; another one when the colors come again.
_SHAPES = (
    "M5 0A5 5 0 1 1 -5 0A5 5 0 1 1 5 0Z",  # circle
    "M-4.4 -4.4H4.4V4.4H-4.4Z",  # square
    "M0 -5.4L5 4.2H-5Z",  # triangle
    "M0 -5.8L5 0L0 5.8L-5 0Z",  # diamond
)


class Controller:
    """A session and its records, as plain values to show.

    Parameters
    ----------
    session : Session
    records : Records
    """

    def __init__(self, session: Session, records: Records):
        self.session, self.records = session, records
        self.rows = sample_rows(session.X.shape[0], session.random_state)
        self.model_choice = ModelChoice(session)
        self._lock = threading.Lock()
        self._rows_by_name: dict[str, int] = {}
        self._places: dict[str, NDArray[np.float32]] = {}
        self._columns: Columns | None = None
        self._words: Columns | None = None
        self._described: tuple[Any, list[Cluster]] = (None, [])
        self._newest: tuple[Any, int] = (None, 0)
        self._members: tuple[Any, Any] = (None, None)
        self._telling: tuple[Any, list[str]] = (None, [])
        self.notes = Notes(session)
        self.pages = RecordPages(self)

    # ---------------------------------------------------------------- questions

    def question(self, who: str | None = None) -> JsonDict | None:
        """The next question, with both records; None when nothing is left to ask."""
        asked = self.session.ask(who=who)
        if asked is None:
            return None
        return {**self.pair(asked.i, asked.j), "why": _sentence(self.session.reason(asked))}

    def card(self, who: str | None, size: int) -> JsonDict | None:
        """The next set question with its records; None when nothing is left to ask."""
        asked = self.session.ask_set(size, who=who)
        if asked is None:
            return None
        return {
            "rows": list(asked.rows),
            "records": [self.pages.record(row) for row in asked.rows],
            "why": _sentence(self.session.reason(asked)),
        }

    def tell_groups(self, groups: list[list[int]], who: str | None) -> int:
        """Record which records of a card belong together; the number of contradictions."""
        return len(self.session.tell_set(groups, who=who))

    def pair(self, i: int, j: int) -> JsonDict:
        """Two records side by side, with the fields that tell most."""
        names = [self.name(i), self.name(j)]
        fields = self.fields(i, j, _SHOWN_FIELDS)
        return {
            "i": i,
            "j": j,
            "names": names,
            "fields": fields,
            "n_fields": len(self.records.shown),
            "why": "",
            "note": self.notes.of_pair(i, j),
            "images": [self.records.image(row) is not None for row in (i, j)],
            "guess": self._guess(i, j),
            "reason": self.session.reason((i, j)),
        }

    def fields(self, i: int, j: int, most: int, search: str = "") -> list[JsonDict]:
        """Fields of two records, the most telling first; `search` filters by name or text."""
        names = [self.name(i), self.name(j)]
        wanted, found = search.strip().lower(), []
        for field in self.telling():
            texts = self.records.texts(field, i, j)
            if texts == names:
                continue  # the column of ids stands above the records already
            if wanted and wanted not in " ".join([field, *texts]).lower():
                continue
            found.append(self.records.compare_field(field, i, j))
            if len(found) == most:
                break
        return found

    def telling(self) -> list[str]:
        """Names of the shown fields, those first that tell most about the clusters."""
        fit = self.session.latest
        if fit is None:
            return self.records.shown
        with self._lock:
            if self._telling[0] is not fit:
                columns = self._all_columns()
                self._telling = (fit, by_separation(self.records.shown, columns, fit.labels))
            return self._telling[1]

    def _guess(self, i: int, j: int) -> str:
        """The model's prediction about a question."""
        fit = self.session.latest
        if fit is None:
            return "The model has no opinion yet."
        names = self.session.snapshot().cluster_names
        a, b = (name_of(int(fit.labels[row]), names) for row in (i, j))
        return f"The model puts both in {a}." if a == b else f"The model: A in {a}, B in {b}."

    def names(self, *rows: int) -> list[str]:
        """Ids of rows as text."""
        return [self.name(row) for row in rows]

    def name(self, row: int) -> str:
        """Id of a row as text."""
        return str(self.session.name(row))

    def find_row(self, name: str) -> int:
        """The row with this id; ValueError if there is none."""
        if not self._rows_by_name:
            rows = range(self.session.X.shape[0] - 1, -1, -1)
            self._rows_by_name = {self.name(row).strip(): row for row in rows}
        row = self._rows_by_name.get(name.strip())
        if row is None:
            raise ValueError(f"there is no record called {name.strip()!r}")
        return row

    def tell(
        self, said: str, pair: tuple[int, int], who: str | None = None, weight: float = 1.0
    ) -> Dispute | None:
        """Record an answer; return what it contradicts.

        If k is unknown and the answer reveals a new group, a refit is requested at once, so that
        the new group gets a cluster.
        """
        session = self.session
        dispute = session.tell(said, pair, who=who, weight=weight)
        fit = session.latest
        if said == "different" and session.n_clusters is None and fit is not None:
            n_shown = len(np.unique(fit.labels[fit.labels >= 0]))
            if session.progress.n_groups > n_shown:
                session.refit(wait=False)
        return dispute

    def dispute(self, dispute: Dispute) -> JsonDict:
        """A dispute in plain values."""
        return {
            "text": str(dispute),
            "chain": [str(name) for name in dispute.rows],
            "answers": [self.answer(answer) for answer in dispute.choices],
        }

    def answer(self, answer: Entry) -> JsonDict:
        """A log entry in plain values."""
        about: JsonDict
        if isinstance(answer, Correction):
            about = {"kind": answer.kind, "clusters": answer.details["clusters"]}
        elif isinstance(answer, ClusterCountAnswer):
            about = {"n_clusters": answer.n_clusters, "answers": list(answer.answers)}
        else:
            about = {
                "i": answer.i,
                "j": answer.j,
                "names": [self.name(answer.i), self.name(answer.j)],
                "said": answer.said,
                "weight": answer.weight,
            }
        at = answer.at.isoformat(timespec="seconds")
        return {"id": answer.id, **about, "who": answer.who, "at": at}

    def told(self, answer: Entry) -> str:
        """A log entry as text."""
        if not isinstance(answer, Answer):
            return str(answer)
        return f"{self.name(answer.i)} and {self.name(answer.j)}: {answer.said}"

    def history(self, now: SessionSnapshot) -> list[JsonDict]:
        """Log entries, the newest first, including undone ones."""
        disputed = {dispute.answer.id for dispute in now.disputes}
        said: list[Entry] = [*now.answers, *now.cluster_counts, *now.corrections]
        said.sort(key=lambda one: one.at)
        violated = now.violated
        return [
            {
                # The page sends both back to `retract`: corrections have negative ids.
                "id": -one.id if isinstance(one, Correction) else one.id,
                "count": not isinstance(one, Answer),
                "text": self.told(one),
                "who": one.who,
                "at": one.at.isoformat(timespec="seconds"),
                "undone_by": one.undone_by,
                "disputed": isinstance(one, Answer) and one.id in disputed,
                "violated": isinstance(one, Answer) and one.id in violated,
                "pair": [one.i, one.j] if isinstance(one, Answer) else None,
            }
            for one in said[: -_MOST_SAID - 1 : -1]
        ]

    def retract(self, number: int, count: bool, who: str | None = None) -> None:
        """Retract a log entry."""
        found: list[Entry] = [
            one for one in self.session.snapshot().cluster_counts if count and one.id == number
        ]
        found += [one for one in self.session.snapshot().corrections if count and one.id == -number]
        self.session.retract(found[0] if found else number, who=who)

    # ---------------------------------------------------------------- the map

    def places(self, kind: str) -> NDArray[np.float32]:
        """Coordinates of all rows in the plane."""
        with self._lock:
            if kind not in self._places:
                seed = self.session.random_state
                self._places[kind] = project(self.session.X, kind, seed)
            return self._places[kind]

    def points(self, kind: str) -> JsonDict:
        """The points of the map; constant during a session."""
        drawn = self.places(kind)[self.rows]
        return {
            "rows": self.rows.tolist(),
            "x": [round(x, 4) for x in drawn[:, 0].tolist()],
            "y": [round(y, 4) for y in drawn[:, 1].tolist()],
            "n_rows": self.session.X.shape[0],
            "projections": projections(),
        }

    def picture(self, kind: str) -> JsonDict:
        """Clusters and links on the map; updated after each change."""
        now, places = self.session.snapshot(), self.places(kind)
        labels = np.full(len(places), -1) if now.fit is None else now.fit.labels
        links = [a for a in now.counted if a.said != "unsure"][-_MOST_LINKS:]
        return {
            "labels": labels[self.rows].tolist(),
            "links": [
                {
                    "ends": places[[a.i, a.j]].round(4).ravel().tolist(),
                    "same": a.said == "same",
                    "violated": a.id in now.violated,
                }
                for a in links
            ],
            "clusters": [
                mark(c, now.cluster_names) for c in np.unique(labels[labels >= 0]).tolist()
            ],
        }

    def fit_number(self) -> int:
        """Counter that increases with every new fit."""
        fit = self.session.latest
        with self._lock:
            if fit is not self._newest[0]:
                self._newest = (fit, self._newest[1] + 1)
            return self._newest[1]

    def review(self, now: SessionSnapshot) -> list[JsonDict]:
        """Pairs to look at again: disputed, violated, unsure."""
        disputed = {dispute.answer.id for dispute in now.disputes}
        return [
            {"id": one.id, "pair": [one.i, one.j], "names": self.names(one.i, one.j), "why": why}
            for one, why in to_review(now.answers, disputed, set(now.violated))
        ]

    def earlier(self, i: int, j: int) -> str:
        """What was said of a pair so far, in words."""
        said = [
            f"{answer.who} said {answer.said}"
            for answer in self.session.snapshot().answers
            if answer.is_active and {answer.i, answer.j} == {i, j}
        ]
        return ", ".join(said)

    def answer_again(self, said: str, pair: tuple[int, int], who: str) -> Dispute | None:
        """Answer a pair anew: what the same person said of it before is taken back."""
        for answer in self.session.answers:
            mine = answer.is_active and answer.who == who
            if mine and {answer.i, answer.j} == set(pair) and answer.said != said:
                self.session.retract(answer, who=who)
        return self.tell(said, pair, who)

    def membership(self) -> Membership:
        """Distances to the clusters of the newest fit."""
        fit = self.session.latest or self.session.fit_
        with self._lock:
            if self._members[0] is not fit:
                self._members = (fit, Membership.of(self.session.X, fit.labels))
            return self._members[1]

    # ---------------------------------------------------------------- clusters

    def cluster_name(self, number: int) -> str:
        """What a cluster is called."""
        return name_of(number, self.session.snapshot().cluster_names)

    def rename(self, number: int, name: str) -> None:
        """Rename a cluster; an empty name restores the default."""
        self.session.rename(number, name)

    def clusters(self) -> list[Cluster]:
        """Profiles of the clusters of the newest fit."""
        fit = self.session.latest
        if fit is None:
            return []
        with self._lock:
            if self._described[0] is not fit:
                found = describe(fit.labels, self._all_columns(), self._words)
                # A merged cluster leaves a number that nothing has.
                self._described = (fit, [cluster for cluster in found if cluster.size])
            return self._described[1]

    def _all_columns(self) -> Columns:
        if self._columns is None:
            units = self.session.X if self.records.units is None else self.records.units
            self._columns = Columns(units, self.records.features)
            self._words = word_columns(self.records.passages)
        return self._columns

    def proposal(self, number: int, other: int | None) -> Proposal:
        """Proposal to merge two clusters, or (no other) to split one."""
        fit = self.session.fit_  # what a correction changes: also waits for a refit that is due
        found = {cluster.number: cluster for cluster in self.clusters()}
        for c in (number, number if other is None else other):
            if c not in found:
                raise ValueError(f"there is no cluster {c}")
        k = len(found)
        if other is None:
            with self._lock:
                columns, seed = self._all_columns(), self.session.random_state
                halves = split_in_two(fit.labels, number, columns, seed)
                pairs = pairs_to_split(halves, columns)
            parts = tuple(half.tolist() for half in halves)
            return Proposal("different", pairs, k + 1, (number,), fit.labels, parts)
        if k <= 2:
            raise ValueError("These are the only two clusters; merged, nothing is left to tell.")
        pairs = pairs_to_merge(found[number], found[other])
        return Proposal("same", pairs, k - 1, (number, other), fit.labels)

    def correct(self, kind: str, rows: list[int], cluster: int | None, who: str | None) -> str:
        """Do what was chosen for selected rows, in one step that undo reverts; tell it."""
        session, n = self.session, _counted(len(set(rows)), "record")
        if kind == "move" and cluster is not None:
            session.move(rows, cluster, who=who)
            return f"{n} moved to {self.cluster_name(cluster)}"
        if kind == "new":
            session.move(rows, None, who=who)
            return f"{n} made a new cluster"
        if kind == "right":
            session.move(rows, session.fit_.labels[rows].tolist(), who=who)
            return f"{n} stay{'s where it is' if len(set(rows)) == 1 else ' where they are'}"
        if kind == "out":
            aims = self.membership().runner_up[rows].tolist()
            if -1 in aims:
                raise ValueError("There is no other cluster; make a new one of these records.")
            session.move(rows, aims, who=who)
            return f"{n} moved to the next best cluster"
        if kind == "together":
            if len(set(rows)) < 2:
                raise ValueError("Select at least two records that belong together.")
            first, *others = rows
            answers = [("same", (first, other)) for other in others]
            session.set_n_clusters(session.n_clusters, answers, who=who)
            return f"{n} belong together"
        raise ValueError(f"unknown correction {kind!r}")

    def preview(self, proposal: Proposal) -> list[JsonDict]:
        """What will be together after a merge or split: some records of each part."""
        labels = proposal.labels
        if proposal.said == "same":
            rows = np.flatnonzero(np.isin(labels, proposal.clusters))
            parts = [rows]
            titles = [" and ".join(self.cluster_name(c) for c in proposal.clusters)]
            some = [[r for c in proposal.clusters for r in self._typical(labels == c)]]
        else:
            parts = [np.array(part, dtype=np.int64) for part in proposal.parts]
            titles = [f"Part {'AB'[k] if k < 2 else k + 1}" for k in range(len(parts))]
            some = [self._typical(np.isin(np.arange(len(labels)), part)) for part in parts]
        return [
            {"title": title, "n": len(part), "records": [self.pages.record(row) for row in rows]}
            for title, part, rows in zip(titles, parts, some, strict=True)
        ]

    def _typical(self, mine: NDArray[np.bool_], n: int = 5) -> list[int]:
        with self._lock:
            return self._all_columns().nearest(np.flatnonzero(mine), n)

    def say(self, proposal: Proposal, who: str | None = None) -> None:
        """Apply a merge or split as it was shown; one undo reverts it."""
        if not np.array_equal(self.session.fit_.labels, proposal.labels):
            raise ValueError("The clusters have changed meanwhile. Look at the preview again.")
        if proposal.said == "same":
            self.session.merge(proposal.clusters, who=who)
        else:
            self.session.split(proposal.clusters[0], proposal.parts, who=who)


def name_of(number: int, names: Mapping[int, str]) -> str:
    """What a cluster is called: the name that somebody gave, else its number counted from 1."""
    return names.get(number, f"cluster {number + 1}")


def mark(number: int, names: Mapping[int, str]) -> JsonDict:
    """Color and shape of a cluster; constant, since clusters keep their numbers."""
    color = COLORS[number % len(COLORS)]
    return {
        "number": number,
        "name": name_of(number, names),
        "color": color,
        "dark": _lighter(color),
        "shape": _SHAPES[number // len(COLORS) % len(_SHAPES)],
    }


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _counted(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def _lighter(color: str) -> str:
    """A color for a dark background: the same hue, a third of the way to white."""
    parts = (int(color[at : at + 2], 16) for at in (1, 3, 5))
    return "#" + "".join(f"{part + (255 - part) // 3:02x}" for part in parts)
