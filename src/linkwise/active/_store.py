"""The store: one SQLite file per session; a stored answer is durable.

An answer is one transaction, flushed to the disk before `Store.add` returns (write-ahead log,
``synchronous=FULL``). Taking back marks an answer and deletes nothing. Several processes may have
the file open; `changed` tells cheaply whether another one wrote.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import time
import zlib
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwise._types import JsonDict, Labels, PathLike

from ._corrections import Correction, correction_of
from ._grouping import Grouping
from ._questions import Answer, ClusterCountAnswer, Question, Verdict

_APPLICATION = 0x6C6E6B77  # "lnkw": tells a session from any other SQLite file
_VERSION = 1
_PATIENCE = 30.0  # seconds to wait for another process to finish writing
_FIT = "changed, centers, labels, violated, prototypes, owner, asked, guessed"
ANCHOR = "anchor"  # key of the fit from which others continue after the data changed
_LABELS_KEPT = 20  # fits whose labels are kept; centers are kept of all

# The only place where tables are created.
_SCHEMA = """
CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE answer (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    i INTEGER NOT NULL,
    j INTEGER NOT NULL,
    said TEXT NOT NULL CHECK (said IN ('same', 'different', 'unsure')),
    weight REAL NOT NULL,
    who TEXT NOT NULL,
    at TEXT NOT NULL,
    undone_at TEXT,
    undone_by TEXT,
    card INTEGER
);
CREATE TABLE in_hand (
    who TEXT NOT NULL, i INTEGER NOT NULL, j INTEGER NOT NULL, until REAL NOT NULL
);
CREATE TABLE cluster_count (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    n_clusters INTEGER,
    after INTEGER NOT NULL,
    answers TEXT NOT NULL,
    who TEXT NOT NULL,
    at TEXT NOT NULL,
    undone_at TEXT,
    undone_by TEXT
);
CREATE TABLE correction (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL CHECK (kind IN ('merge', 'split', 'move', 'rename')),
    details TEXT NOT NULL,
    overruled TEXT NOT NULL,
    after INTEGER NOT NULL,
    who TEXT NOT NULL,
    at TEXT NOT NULL,
    undone_at TEXT,
    undone_by TEXT
);
CREATE TABLE row_name (row INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE data_row (name TEXT PRIMARY KEY, value BLOB NOT NULL);
CREATE TABLE left_out (names TEXT NOT NULL, line TEXT NOT NULL);
CREATE TABLE fit (
    key TEXT PRIMARY KEY,
    n_answers INTEGER NOT NULL,
    changed REAL,
    centers BLOB,
    labels BLOB,
    at TEXT NOT NULL,
    violated INTEGER,
    prototypes BLOB,
    owner TEXT,
    asked INTEGER,
    guessed INTEGER
);
CREATE TABLE replied (key TEXT PRIMARY KEY, body TEXT NOT NULL, messages TEXT NOT NULL);
"""


@dataclass(frozen=True)
class StoredFit:
    """The part of a fit that is stored: enough to warm-start the next one."""

    changed: float | None  # share of the rows whose cluster was another one in the fit before
    centers: NDArray[np.float64] | None
    labels: Labels | None  # none when they were let go of
    violated: int | None = None  # answers that it does not satisfy
    grouping: Grouping | None = None  # if clusters are not one prototype each
    # answers since the fit before, and how many of them that one agreed with
    asked: int | None = None
    # answers since the fit before, and how many of them that one agreed with
    guessed: int | None = None


class Store:
    """The file of a session. Safe to use from several threads."""

    def __init__(self, path: PathLike | None = None, ids: Sequence[Hashable] | None = None):
        self.path, self._ids = None if path is None else Path(path), ids
        self._lock = threading.RLock()
        self._depth = 0
        if self.path is not None and not self.path.absolute().parent.is_dir():
            raise FileNotFoundError(
                f"session {self.path}: there is no folder {self.path.absolute().parent}"
            )
        if self.path is not None and self.path.is_dir():
            raise ValueError(f"session {self.path} is a folder; name a file in it")
        self._db = self._connect()
        self._file = self._file_id()
        self._seen: int | None = None
        self._n_foreign = 0  # changes by other processes, as seen by `changed`
        self.generation: int | None = None  # of the data; answers name its rows by number

    def _connect(self) -> sqlite3.Connection:
        name = ":memory:" if self.path is None else str(self.path)
        db = sqlite3.connect(name, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
        try:
            self._prepare(db)
        except sqlite3.OperationalError as error:
            db.close()
            raise ValueError(f"session {self.path} cannot be used: {error}") from None
        except sqlite3.DatabaseError as error:
            db.close()
            raise ValueError(_damage(self.path, error, "cannot be used")) from None
        except BaseException:
            db.close()
            raise
        return db

    def _prepare(self, db: sqlite3.Connection) -> None:
        db.execute("BEGIN")  # one look at the whole: another process may be making the tables
        application, version = (
            db.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("application_id", "user_version")
        )
        is_empty = self._is_empty(db)
        db.execute("COMMIT")
        if application == 0 and not is_empty:
            raise ValueError(f"{self.path} is a database, but not a session of linkwise")
        if application not in (0, _APPLICATION):
            raise ValueError(f"{self.path} is a database of another program, not a session")
        if not is_empty and version != _VERSION:
            raise ValueError(
                f"session {self.path} has format {version}; this linkwise reads format {_VERSION}"
            )
        if (found := db.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
            raise sqlite3.DatabaseError(found)
        _write_ahead(db)
        db.execute("PRAGMA synchronous = FULL")
        db.execute("BEGIN IMMEDIATE")
        if self._is_empty(db):
            for statement in _SCHEMA.split(";"):  # `executescript` would end the transaction
                db.execute(statement)
            db.execute(f"PRAGMA application_id = {_APPLICATION}")
            db.execute(f"PRAGMA user_version = {_VERSION}")
        db.execute("COMMIT")

    @staticmethod
    def _is_empty(db: sqlite3.Connection) -> bool:
        return db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Write transaction; may be nested."""
        with self._lock:
            if self._depth == 0:
                self._execute("BEGIN IMMEDIATE")
                self._check_generation()
            self._depth += 1
            try:
                yield
            except BaseException:
                self._depth -= 1
                if self._depth == 0 and self._db.in_transaction:  # SQLite may have done so itself
                    self._db.execute("ROLLBACK")
                raise
            self._depth -= 1
            if self._depth == 0:
                self._execute("COMMIT")
                self._check_file()

    def _check_generation(self) -> None:
        """Refuse to write about rows by numbers that another process has changed."""
        if self.generation is None:
            return
        rows = self._rows("SELECT value FROM setting WHERE name = 'generation'")
        if (int(rows[0][0]) if rows else 0) != self.generation:
            self._db.execute("ROLLBACK")
            raise ValueError(
                f"session {self.path} follows other data now: its answers were carried "
                "over; open it again with that data"
            )

    def _execute(self, statement: str, values: Sequence[object] = ()) -> sqlite3.Cursor:
        with self._naming_the_file():
            return self._db.execute(statement, values)

    def _rows(self, statement: str, values: Sequence[object] = ()) -> list[Any]:
        with self._naming_the_file():
            return self._db.execute(statement, values).fetchall()

    @contextmanager
    def _naming_the_file(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.IntegrityError:
            raise  # a value that the schema refuses is a fault of the caller
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError) and "decode" not in str(error):
                raise OSError(f"session {self.path or 'in memory'}: {error}") from error
            raise OSError(_damage(self.path, error, "is damaged")) from error

    def _file_id(self) -> tuple[int, int] | None:
        """Tells the open file from another one of the same name; None if there is no such file."""
        try:
            found = None if self.path is None else self.path.stat()
        except FileNotFoundError:
            return None
        return None if found is None else (found.st_dev, found.st_ino)

    def _check_file(self) -> None:
        """Raise if the file was deleted or replaced; the next answers go to a new file."""
        if self._file is not None and self._file_id() != self._file:
            what = "replaced by another file" if self._file_id() else "deleted or moved"
            lost = f"session {self.path} was {what} while it was in use"
            raise OSError(f"{lost}. {self._continue()}")

    def _continue(self) -> str:
        """Continue in a copy beside the file that is gone; say where."""
        assert self.path is not None
        stem, suffix = self.path.stem, self.path.suffix
        names = (f"{stem}-rescued{number or ''}{suffix}" for number in count())
        rescue = next(path for name in names if not (path := self.path.with_name(name)).exists())
        try:
            self.save(rescue)
        except (OSError, sqlite3.Error) as error:
            return f"All answers are still in memory: write them by session.save(path) ({error})"
        lost, self.path = self._db, rescue
        self._db, self._file, self._seen = self._connect(), None, None
        self._file = self._file_id()
        self._n_foreign += lost.total_changes  # so that `n_changes` never decreases
        lost.close()
        return f"All answers are in {rescue} now, where this session continues."

    def save(self, path: PathLike) -> None:
        """Write a copy to a new file."""
        target = Path(path)
        if target.exists():
            raise FileExistsError(f"session {target} is there already; name a new file")
        with self._lock:
            copy = sqlite3.connect(str(target))
            try:
                self._db.backup(copy)
            finally:
                copy.close()

    # ---------------------------------------------------------------- settings

    def settings(self) -> JsonDict:
        """Settings of the session; empty for a new one."""
        with self._lock:
            rows = self._rows("SELECT name, value FROM setting")
        try:
            return {name: json.loads(value) for name, value in rows}
        except (TypeError, ValueError) as error:
            raise ValueError(_damage(self.path, error, "is damaged")) from error

    def set(self, **values: object) -> None:
        """Store settings."""
        with self.writing():
            for name, value in values.items():
                self._execute(
                    "INSERT OR REPLACE INTO setting VALUES (?, ?)", (name, json.dumps(value))
                )

    # ---------------------------------------------------------------- answers

    def changed(self) -> bool:
        """Whether another process wrote since the last call (True at the first one)."""
        with self._lock:
            version = self._execute("PRAGMA data_version").fetchone()[0]
            changed = version != self._seen
            self._n_foreign += changed
            self._seen = version
        return changed

    @property
    def n_changes(self) -> int:
        """Increases with every row written here, and with every change that `changed` saw."""
        return self._db.total_changes + self._n_foreign

    def answers(self) -> list[Answer]:
        """All answers in order, including retracted ones."""
        with self._lock:
            rows = self._rows("SELECT * FROM answer ORDER BY id")
        return [answer_of(row) for row in rows]

    def add(self, question: Question, said: Verdict, weight: float, who: str) -> Answer:
        """Store an answer. It is on disk when this returns."""
        return self.add_all([(*question, said, weight)], who)[0]

    def add_all(
        self,
        given: Sequence[tuple[int, int, Verdict, float]],
        who: str,
        *,
        together: bool = False,
    ) -> list[Answer]:
        """Store several answers of one person in one transaction; `together`, as one step."""
        now, kept = datetime.now(UTC), list[Answer]()
        card: int | None = None
        with self.writing():
            for i, j, said, weight in given:
                cursor = self._execute(
                    "INSERT INTO answer (i, j, said, weight, who, at, card) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (i, j, said, weight, who, now.isoformat(), card),
                )
                number = cursor.lastrowid or 0
                if together and card is None:
                    card = number
                    self._execute("UPDATE answer SET card = id WHERE id = ?", (number,))
                self._execute(
                    "DELETE FROM in_hand WHERE who = ? AND min(i, j) = ? AND max(i, j) = ?",
                    (who, *Question(i, j).pair),
                )
                kept.append(Answer(number, i, j, said, weight, who, now, card=card))
                self._keep_names(i, j)
        return kept

    def _keep_names(self, *rows: int) -> None:
        if self._ids is not None:
            for row in rows:
                values = (row, str(self._ids[row]))
                self._execute("INSERT OR IGNORE INTO row_name VALUES (?, ?)", values)

    def names(self) -> dict[int, str]:
        """Ids of the rows that have answers."""
        with self._lock:
            return dict(self._rows("SELECT row, name FROM row_name"))

    def retract(self, ids: Sequence[int], who: str) -> None:
        """Mark answers as undone; they stay in the file."""
        self._mark("answer", ids, who)

    def _mark(self, table: str, ids: Sequence[int], who: str) -> None:
        now = datetime.now(UTC).isoformat()
        with self.writing():
            for number in ids:
                self._execute(
                    f"UPDATE {table} SET undone_at = ?, undone_by = ? "
                    "WHERE id = ? AND undone_at IS NULL",
                    (now, who, number),
                )

    # ---------------------------------------------------------------- how many clusters

    def counts(self) -> list[ClusterCountAnswer]:
        """All cluster counts, in order."""
        with self._lock:
            rows = self._rows("SELECT * FROM cluster_count ORDER BY id")
        return [_count(row) for row in rows]

    def add_count(self, n_clusters: int | None, answers: Sequence[int], who: str) -> None:
        """Store a cluster count together with the answers given with it."""
        with self.writing():
            after = self._execute("SELECT coalesce(max(id), 0) FROM answer").fetchone()[0]
            self._execute(
                "INSERT INTO cluster_count (n_clusters, after, answers, who, at) "
                "VALUES (?, ?, ?, ?, ?)",
                (n_clusters, after, json.dumps(list(answers)), who, datetime.now(UTC).isoformat()),
            )

    def retract_count(self, count: ClusterCountAnswer, who: str) -> None:
        """Mark a cluster count and the answers given with it as undone."""
        with self.writing():
            self.retract(count.answers, who)
            self._mark("cluster_count", [count.id], who)

    # ---------------------------------------------------------------- corrections

    def corrections(self) -> list[Correction]:
        """All corrections, in order."""
        with self._lock:
            rows = self._rows("SELECT * FROM correction ORDER BY id")
        return [correction_of(row) for row in rows]

    def add_correction(
        self, kind: str, details: JsonDict, overruled: Sequence[int], who: str
    ) -> Correction:
        """Store a correction. It is on disk when this returns."""
        with self.writing():
            after = self._execute("SELECT coalesce(max(id), 0) FROM answer").fetchone()[0]
            cursor = self._execute(
                "INSERT INTO correction (kind, details, overruled, after, who, at) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (kind, json.dumps(details), json.dumps(list(overruled)), after, who,
                 datetime.now(UTC).isoformat()),
            )  # fmt: skip
            for rows in details.get("rows", {}).values():
                self._keep_names(*rows)
            made = self._rows("SELECT * FROM correction WHERE id = ?", (cursor.lastrowid,))
            return correction_of(made[0])

    def retract_correction(self, number: int, who: str) -> None:
        """Mark a correction as undone."""
        self._mark("correction", [number], who)

    # ---------------------------------------------------------------- questions being asked

    def pending(self) -> dict[str, list[Question]]:
        """Pending questions by person."""
        with self._lock:
            asked = "SELECT who, i, j FROM in_hand WHERE until > ? ORDER BY rowid"
            rows = self._rows(asked, (time.time(),))
        found: dict[str, list[Question]] = {}
        for who, i, j in rows:
            found.setdefault(who, []).append(Question(i, j))
        return found

    def reserve(self, who: str, questions: Sequence[Question], seconds: float) -> None:
        """Replace the pending questions of a person."""
        with self.writing():
            self._execute("DELETE FROM in_hand WHERE who = ? OR until <= ?", (who, time.time()))
            for i, j in questions:
                values = (who, i, j, time.time() + seconds)
                self._execute("INSERT INTO in_hand VALUES (?, ?, ?, ?)", values)

    # ---------------------------------------------------------------- fits

    def fit(self, key: str) -> StoredFit | None:
        """A stored fit; None if there is none."""
        with self._lock:
            rows = self._rows(f"SELECT {_FIT} FROM fit WHERE key = ?", (key,))
        if not rows:
            return None
        changed, centers, labels, violated, prototypes, owner, asked, guessed = rows[0]
        grouping = None
        if prototypes is not None:
            owners = np.array(json.loads(owner), dtype=np.int64)
            grouping = Grouping(_read_labels(prototypes), owners)
        labels = None if labels is None else _read_labels(labels)
        arrays = _read_array(centers), labels
        return StoredFit(changed, *arrays, violated, grouping, asked, guessed)

    def add_fit(self, key: str, n_answers: int, fit: StoredFit) -> None:
        """Store a fit; labels are kept for the last few only."""
        labels = None if fit.labels is None else _write_labels(fit.labels)
        prototypes = None if fit.grouping is None else _write_labels(fit.grouping.prototypes)
        owner = None if fit.grouping is None else json.dumps(fit.grouping.owner.tolist())
        now = datetime.now(UTC).isoformat()
        with self.writing():
            self._execute(
                "INSERT OR REPLACE INTO fit VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    key, n_answers, fit.changed, _write_array(fit.centers), labels, now,
                    fit.violated, prototypes, owner, fit.asked, fit.guessed,
                ),
            )  # fmt: skip
            self._execute(
                "UPDATE fit SET labels = NULL WHERE labels IS NOT NULL AND key != ? "
                "AND rowid NOT IN (SELECT rowid FROM fit ORDER BY rowid DESC LIMIT ?)",
                (ANCHOR, _LABELS_KEPT),
            )


def _write_ahead(db: sqlite3.Connection) -> None:
    """Switch to the write-ahead log; SQLite's busy timeout does not cover this step."""
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError:
            if time.monotonic() > end:
                raise
            time.sleep(0.01)


def _damage(path: Path | None, error: Exception, what: str) -> str:
    return f"session {path or 'in memory'} {what}: {error}; use a copy, or begin a new session"


def answer_of(row: Sequence[Any]) -> Answer:
    """The answer in a row of its table."""
    number, i, j, said, weight, who, at, undone_at, undone_by, card = row
    given = datetime.fromisoformat(at)
    return Answer(number, i, j, said, weight, who, given, time_of(undone_at), undone_by, card)


def time_of(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _count(row: Sequence[Any]) -> ClusterCountAnswer:
    number, n_clusters, after, answers, who, at, undone_at, undone_by = row
    given = tuple(json.loads(answers))
    said = datetime.fromisoformat(at)
    return ClusterCountAnswer(
        number, n_clusters, after, given, who, said, time_of(undone_at), undone_by
    )


def _write_labels(labels: Labels) -> bytes:
    return zlib.compress(labels.astype(np.int32).tobytes(), 1)


def _read_labels(data: bytes) -> Labels:
    return np.frombuffer(zlib.decompress(data), np.int32)


def _write_array(array: NDArray[np.float64] | None) -> bytes | None:
    if array is None:
        return None
    return json.dumps(array.shape).encode() + b"\n" + array.astype("<f8").tobytes()


def _read_array(data: bytes | None) -> NDArray[np.float64] | None:
    if data is None:
        return None
    shape, _, cells = data.partition(b"\n")
    return np.frombuffer(cells, "<f8").reshape(json.loads(shape))
