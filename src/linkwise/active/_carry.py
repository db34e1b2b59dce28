"""A session follows its data: rows added, changed, removed or reordered, matched by their ids.

`DataCarry` compares the rows that a session knows with new ones and renumbers, in one transaction,
whatever the file says about rows. What speaks of a row that is gone is left out, and comes back
when the row does. The clusters of the last fit become the anchor of the fits that follow: numbers
and names of clusters go on from there.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances_argmin

from linkwise._errors import InputError
from linkwise._types import Ints, JsonDict, Labels, Matrix, is_sparse

from . import _settings
from ._answer_log import AnswerLog, AnswerPrefix
from ._corrections import Correction
from ._grouping import Grouping
from ._refit import FitAnchor
from ._settings import check_same_data, fingerprint
from ._store import ANCHOR, Store, StoredFit

_MAX_SHOWN = 5
REFUSE, CARRY = "refuse", "carry"
_ROWS = ("added", "removed", "changed")


@dataclass(frozen=True)
class DataChanges:
    """How the data of a session changed, and what became of its answers.

    Examples
    --------
    >>> from linkwise.active import DataChanges
    >>> print(DataChanges(added=["d"], n_answers=2))
    1 row added (d); 2 answers carried over
    """

    added: list[Hashable] = field(default_factory=list)  # ids of rows
    removed: list[Hashable] = field(default_factory=list)  # ids of rows
    changed: list[Hashable] = field(default_factory=list)  # ids of rows
    reordered: bool = False  # whether rows that stayed are in another order
    n_answers: int = 0  # answers that were carried over
    # answers and corrections on rows that are gone
    dropped: list[str] = field(default_factory=list)
    # answers and corrections that came back with their rows
    restored: list[str] = field(default_factory=list)
    n_features: tuple[int, int] = (0, 0)  # number of features before and now

    def to_dict(self) -> JsonDict:
        """Plain values, for JSON."""
        named = {name: [str(id) for id in getattr(self, name)] for name in _ROWS}
        return {**asdict(self), **named}

    def __str__(self) -> str:
        parts = [
            f"{len(rows):,} row{'' if len(rows) == 1 else 's'} {what} ({_some(rows)})"
            for rows, what in (
                (self.added, "added"), (self.removed, "removed"), (self.changed, "changed"),
            )
            if rows
        ]  # fmt: skip
        parts += ["rows reordered"] if self.reordered else []
        if self.n_features[0] != self.n_features[1]:
            parts.append(f"{self.n_features[1]:,} features in place of {self.n_features[0]:,}")
        parts.append(f"{self.n_answers:,} answer{'' if self.n_answers == 1 else 's'} carried over")
        text = "; ".join(parts)
        lines = [f"dropped: {what}" for what in self.dropped]
        return "\n".join([text, *lines, *(f"back again: {what}" for what in self.restored)])


def _some(names: Sequence[Hashable]) -> str:
    shown = ", ".join(map(str, names[:_MAX_SHOWN]))
    return shown + (", ..." if len(names) > _MAX_SHOWN else "")


# -------------------------------------------------------------------- rows that a session knows


def row_digests(X: Matrix) -> NDArray[np.uint64]:
    """One number per row that changes when a value of the row does."""
    if is_sparse(X):
        ends, at, values = X.indptr, X.indices.astype(np.int64), X.data.astype(np.float64)
        rows = (at[a:b].tobytes() + values[a:b].tobytes() for a, b in pairwise(ends.tolist()))
    else:
        rows = (row.tobytes() for row in np.asarray(X, dtype=np.float64) + 0.0)  # -0.0 is 0.0
    found = b"".join(blake2b(row, digest_size=8).digest() for row in rows)
    return np.frombuffer(found, dtype=np.uint64)


def remember_rows(store: Store, X: Matrix, ids: Sequence[Hashable] | None) -> None:
    """Keep ids and digests of the rows, to compare later data with."""
    if ids is None:
        return
    with store.writing():
        _keep(store, "ids", json.dumps([str(name) for name in ids]).encode())
        _keep(store, "digests", row_digests(X).tobytes())


def _keep(store: Store, name: str, value: bytes) -> None:
    store._execute("INSERT OR REPLACE INTO data_row VALUES (?, ?)", (name, zlib.compress(value, 1)))


def _kept(store: Store, name: str) -> bytes | None:
    row = store._execute("SELECT value FROM data_row WHERE name = ?", (name,)).fetchone()
    return None if row is None else zlib.decompress(row[0])


# -------------------------------------------------------------------- following


class DataCarry:
    """The way from the rows of a session to new ones."""

    def __init__(self, store: Store, kept: JsonDict, X: Matrix, ids: Sequence[Hashable] | None):
        self._store, self._kept, self._X, self._ids = store, kept, X, ids
        self._n_old = int(kept["data"]["n_rows"])
        self._place = None if ids is None else {str(name): row for row, name in enumerate(ids)}
        old = self._old_ids()
        self._to_new = self._mapping(old)
        self._stays, self._goes = self._sorted_answers()
        self._corrections = [self._renumbered(one) for one in store.corrections()]
        self._returning = self._find_returning()
        self.changes = self._compare(old)

    def _old_ids(self) -> dict[int, str]:
        """Ids of the earlier rows; empty if they have none."""
        found = _kept(self._store, "ids")
        return {} if found is None else dict(enumerate(json.loads(found)))

    def _mapping(self, old: dict[int, str]) -> Ints:
        """New number of each earlier row; -1 if it is gone."""
        if self._place is None:
            return np.arange(self._n_old)
        found = np.full(self._n_old, -1, dtype=np.int64)
        for row, name in old.items():
            found[row] = self._place.get(name, -1)
        return found

    # ---------------------------------------------------------------- what is compared

    def _compare(self, old: dict[int, str]) -> DataChanges:
        stays = self._to_new[self._to_new >= 0]
        gone = [old[row] for row in np.flatnonzero(self._to_new < 0).tolist() if row in old]
        names: Sequence[Hashable] = range(self._X.shape[0]) if self._ids is None else self._ids
        new = np.setdiff1d(np.arange(self._X.shape[0]), stays).tolist()
        return DataChanges(
            added=[names[row] for row in new],
            removed=list(gone),
            changed=self._changed_rows(names),
            reordered=bool(len(stays) > 1 and (np.diff(stays) < 0).any()),
            n_answers=sum(line["undone_at"] is None for line in self._stays),
            dropped=[*map(self._answer_text, self._goes), *self._dropped_corrections()],
            restored=[text for text, _, _ in self._returning],
            n_features=(int(self._kept["data"]["n_features"]), int(self._X.shape[1])),
        )

    def _changed_rows(self, names: Sequence[Hashable]) -> list[Hashable]:
        found = _kept(self._store, "digests")
        if found is None or self._X.shape[1] != self._kept["data"]["n_features"]:
            return []
        before, now = np.frombuffer(found, np.uint64), row_digests(self._X)
        rows = np.flatnonzero(self._to_new >= 0)
        other = before[rows] != now[self._to_new[rows]]
        return [names[row] for row in self._to_new[rows[other]].tolist()]

    def _sorted_answers(self) -> tuple[list[JsonDict], list[JsonDict]]:
        """Lines of the table of answers: with new numbers if both rows are there, and others."""
        cursor = self._store._execute("SELECT * FROM answer ORDER BY id")
        columns = [column[0] for column in cursor.description]
        stays, goes = [], []
        for values in cursor.fetchall():
            line = dict(zip(columns, values, strict=True))
            i, j = (int(self._to_new[line[end]]) for end in "ij")
            if min(i, j) < 0:
                goes.append(line)
            else:
                stays.append({**line, "i": i, "j": j})
        return stays, goes

    def _answer_text(self, line: JsonDict) -> str:
        called = self._store.names()
        i, j = (called.get(line[end], f"row {line[end]}") for end in "ij")
        back = "" if line["undone_at"] is None else ", taken back"
        return f"{i} and {j}: {line['said']} ({line['who']}{back})"

    def _renumbered(self, one: Correction) -> tuple[Correction, JsonDict | None]:
        """A correction, and its details with new row numbers; None if a part has no rows left."""
        if "rows" not in one.details:
            return one, one.details
        rows = {
            number: [int(new) for new in self._to_new[mine] if new >= 0]
            for number, mine in one.details["rows"].items()
        }
        whole = all(rows.values())
        return one, {**one.details, "rows": rows} if whole else None

    def _dropped_corrections(self) -> list[str]:
        return [f"{one} ({one.who})" for one, details in self._corrections if details is None]

    # ---------------------------------------------------------------- what comes back

    def _find_returning(self) -> list[tuple[str, int, JsonDict]]:
        """Answers that were left out and whose rows are back: text, line of the table, values."""
        if self._place is None:
            return []
        lines = self._store._execute("SELECT rowid, names, line FROM left_out")
        found = []
        for number, names, line in lines.fetchall():
            i, j = (self._place.get(name, -1) for name in json.loads(names))
            if min(i, j) >= 0:
                values = {**json.loads(line), "i": i, "j": j}
                pair = " and ".join(json.loads(names))
                found.append((f"{pair}: {values['said']} ({values['who']})", number, values))
        return found

    # ---------------------------------------------------------------- carrying

    def apply(self, data: JsonDict, refit_every: int | None, model: str, who: str) -> DataChanges:
        """Write the new numbers and the anchor."""
        store = self._store
        with store.writing():
            anchor = self._find_anchor(refit_every, model)
            self._write_answers()
            self._write_corrections()
            store._execute("DELETE FROM in_hand")
            store._execute("DELETE FROM fit")
            self._write_names()
            remember_rows(store, self._X, self._ids)
            if anchor is not None:
                store.add_fit(ANCHOR, len(self._stays), anchor.fit)
                about = {"after": anchor.after, "corrections": anchor.corrections}
                store.set(anchor=about)
            told = {"at": datetime.now(UTC).isoformat(), "who": who, "what": str(self.changes)}
            settings = store.settings()
            store.set(
                data={**data, "source": data["source"] or self._kept["data"]["source"]},
                carried=[*settings.get("carried", []), told],
                generation=settings.get("generation", 0) + 1,
            )
        return self.changes

    def _write_answers(self) -> None:
        store = self._store
        for line in self._goes:
            names = [self._store.names().get(line[end], str(line[end])) for end in "ij"]
            values = (json.dumps(names), json.dumps(line))
            store._execute("INSERT INTO left_out VALUES (?, ?)", values)
            store._execute("DELETE FROM answer WHERE id = ?", (line["id"],))
        for line in self._stays:
            store._execute(
                "UPDATE answer SET i = ?, j = ? WHERE id = ?", (line["i"], line["j"], line["id"])
            )
        for _, number, line in self._returning:
            marks = ", ".join("?" * len(line))
            store._execute(
                f"INSERT INTO answer ({', '.join(line)}) VALUES ({marks})", tuple(line.values())
            )
            store._execute("DELETE FROM left_out WHERE rowid = ?", (number,))

    def _write_corrections(self) -> None:
        store = self._store
        for one, details in self._corrections:
            if details is None:
                store._execute("DELETE FROM correction WHERE id = ?", (one.id,))
            else:
                values = (json.dumps(details), one.id)
                store._execute("UPDATE correction SET details = ? WHERE id = ?", values)

    def _write_names(self) -> None:
        store = self._store
        store._execute("DELETE FROM row_name")
        if self._ids is None:
            return
        rows = {line[end] for line in self._stays for end in "ij"}
        rows |= {line[end] for _, _, line in self._returning for end in "ij"}
        for _, details in self._corrections:
            rows |= {row for mine in (details or {}).get("rows", {}).values() for row in mine}
        for row in sorted(rows):
            store._execute("INSERT INTO row_name VALUES (?, ?)", (row, str(self._ids[row])))

    # ---------------------------------------------------------------- the anchor

    def _find_anchor(self, every: int | None, about: str) -> FitAnchor | None:
        """The last fit that is stored, on the new rows; the earlier anchor if there is none."""
        kept = self._kept
        weighs = _settings.weighs(kept["strategy"], kept["model"])
        log = AnswerLog(self._store, kept["n_clusters"], None, weighs)
        whole = AnswerPrefix(tuple(log.told), log.phases, every)
        earlier = load_anchor(self._store)
        for at in _back(whole):
            fit = self._store.fit(f"{about}:{at.key}")
            if fit is not None and fit.labels is not None and len(fit.labels) == self._n_old:
                return self._on_new_rows(
                    fit, at.answers[-1].id if at.answers else 0, at.corrections
                )
        if earlier is None or len(earlier.fit.labels) != self._n_old:  # type: ignore[arg-type]
            return None
        standing = [one for one in log.standing if one.id in earlier.corrections]
        return self._on_new_rows(earlier.fit, earlier.after, standing)

    def _on_new_rows(
        self, fit: StoredFit, after: int, corrections: Sequence[Correction]
    ) -> FitAnchor:
        assert fit.labels is not None
        labels = self._spread(fit.labels)
        before = fit.grouping
        grouping = (
            None if before is None else Grouping(self._spread(before.prototypes), before.owner)
        )
        centers = None
        if fit.centers is not None:
            centers = (grouping or Grouping.of(labels)).centers(self._X)
        there = {one.id for one, details in self._corrections if details is not None}
        kept = tuple(one.id for one in corrections if one.id in there)
        return FitAnchor(StoredFit(None, centers, labels, None, grouping), after, kept)

    def _spread(self, labels: Labels) -> Labels:
        """Labels of the new rows: as before where a row was there, else of the nearest mean."""
        found = np.full(self._X.shape[0], -1, dtype=np.int32)
        stays = np.flatnonzero(self._to_new >= 0)
        found[self._to_new[stays]] = labels[stays]
        known, new = np.flatnonzero(found >= 0), np.flatnonzero(found < 0)
        if not len(known):
            return np.zeros_like(found)
        if len(new):
            clusters = Grouping.of(found[known])
            nearest = pairwise_distances_argmin(self._X[new], clusters.centers(self._X[known]))
            found[new] = clusters.owner[nearest]
        return found


def _back(prefix: AnswerPrefix) -> list[AnswerPrefix]:
    """A prefix and those before it, the last first."""
    found: list[AnswerPrefix] = [prefix]
    at: AnswerPrefix | None = prefix.due
    while at is not None and len(found) < 50:
        found.append(at)
        at = at.before
    return found


def load_anchor(store: Store) -> FitAnchor | None:
    """Clusters from which fits continue, if the data changed once."""
    fit = store.fit(ANCHOR)
    if fit is None:
        return None
    about = store.settings()["anchor"]
    return FitAnchor(fit, about["after"], tuple(about["corrections"]))


# -------------------------------------------------------------------- opening a session


def follow(
    store: Store, kept: JsonDict, data: JsonDict, X: Matrix, ids: Sequence[Hashable] | None,
    data_changed: str, refit_every: int | None, about: str, who: str,
) -> DataChanges | None:  # fmt: skip
    """Carry a session over to data that changed; None if it did not. Refused unless "carry"."""
    if data_changed not in (REFUSE, CARRY):
        raise InputError(f"data_changed={data_changed!r}: expected 'refuse' or 'carry'")
    if _is_same(kept["data"], data):
        return None
    if data_changed == REFUSE or ids is None or kept["data"]["ids"] is None:
        check_same_data(kept["data"], data, store.path)
        return None
    return DataCarry(store, kept, X, ids).apply(data, refit_every, about, who)


def _is_same(kept: JsonDict, given: JsonDict) -> bool:
    return all(kept[name] == given[name] for name in ("values", "ids", "n_rows"))


def preview(
    path: Any, kept: JsonDict, X: Matrix, ids: Sequence[Hashable] | None
) -> DataChanges | None:
    """What `follow` would change; None if nothing, or if rows have no ids, then or now."""
    if ids is None or kept["data"]["ids"] is None or _is_same(kept["data"], fingerprint(X, ids)):
        return None
    store = Store(path)
    try:
        return DataCarry(store, kept, X, ids).changes
    finally:
        store.close()
