"""The start page: take files in, guess columns, begin and reopen sessions.

Everything is kept below one folder, a subfolder per project: the data and ``session.db``.
"""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import threading
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from linkwise._errors import InputError
from linkwise._types import JsonDict
from linkwise.active import DataChanges, Session
from linkwise.active._carry import CARRY, REFUSE, preview
from linkwise.active._settings import stored_settings
from linkwise.tables import DELIMITED, EXCEL, NUMPY, PARQUET, Table, suffix_of

from ._columns import IMAGES, ROLES, guess_roles
from ._images import write_digits
from ._plan import begin_session, load_again, read_source, reopen_session
from ._records import Records
from ._upload_limits import check_upload

_DATA = (*DELIMITED, *PARQUET, *NUMPY, *EXCEL)
_SESSION = "session.db"
_MOST_RECENT = 12  # fit on a page without scrolling

# A session and its records; or how its data changed, to be shown before going on.
Opened = tuple[Session, Records] | DataChanges
# Opens a session that another program began, such as `linkwise label`; True: carry answers over.
Reopen = Callable[[Path, JsonDict, bool], Opened]


def home() -> Path:
    """The folder of all projects: LINKWISE_HOME, or ``linkwise`` in the user's home."""
    given = os.environ.get("LINKWISE_HOME")
    return Path(given) if given else Path.home() / "linkwise"


@dataclass
class Start:
    """Projects of one folder."""

    folder: Path = field(default_factory=home)
    elsewhere: tuple[Path, ...] = ()
    reopen: Reopen | None = None
    may_read: bool = True
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _seen: tuple[str, Table] | None = field(default=None, repr=False)

    # ---------------------------------------------------------------- files

    def new_project(self, name: str) -> str:
        """Make a folder for a project; return its name, which nothing else has."""
        stem = re.sub(r"[^\w\-]+", "-", Path(name).stem).strip("-_")[:40] or "data"
        with self._lock:
            for number in range(1, 10_000):
                project = stem if number == 1 else f"{stem}-{number}"
                path = self.folder / project
                if not path.exists():
                    path.mkdir(parents=True)
                    return project
        raise InputError(f"{self.folder}: too many projects called {stem!r}")

    def place(self, project: str, name: str) -> Path:
        """Where an uploaded file goes; it cannot leave the folder of its project."""
        folder = self._project(project)
        parts = [part for part in PurePosixPath(name.replace("\\", "/")).parts if part != "/"]
        if not parts or any(part in ("", ".", "..") or "\0" in part for part in parts):
            raise InputError(f"{name!r} is not a file name")
        path = folder.joinpath(*parts)
        if suffix_of(path) not in (*_DATA, *IMAGES):
            raise InputError(
                f"{parts[-1]}: cannot be read; drop a table ({', '.join(_DATA)}) or images "
                f"({', '.join(IMAGES)})"
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def _project(self, project: str) -> Path:
        path = self.folder / project
        if not re.fullmatch(r"[\w\-]+", project) or not path.is_dir():
            raise InputError(f"there is no project {project!r}")
        return path

    def source(self, project: str) -> Path:
        """The data of a project: its table, or the folder itself if it has images only."""
        folder = self._project(project)
        tables = sorted(file for file in folder.iterdir() if suffix_of(file) in _DATA)
        if len(tables) > 1:
            raise InputError(f"drop one table at a time: {', '.join(t.name for t in tables)}")
        return tables[0] if tables else folder

    def adopt(self, text: str) -> str:
        """A project for a file or folder that is on this machine already."""
        if not self.may_read:
            raise InputError("files by path are for this machine alone; drop the file instead")
        path = Path(text.strip().strip("\"'")).expanduser()
        if not path.exists():
            raise InputError(f"{path}: no such file or folder")
        project = self.new_project(path.name)
        (self.folder / project / "source.txt").write_text(str(path.resolve()), "utf-8")
        return project

    def example(self) -> str:
        """A project with images of handwritten digits, to try the studio with."""
        project = self.new_project("digits")
        write_digits(self.folder / project)
        return project

    def _data_of(self, project: str) -> Path:
        pointer = self._project(project) / "source.txt"
        return Path(pointer.read_text("utf-8")) if pointer.exists() else self.source(project)

    # ---------------------------------------------------------------- sessions

    def look(self, project: str) -> JsonDict:
        """Columns of a project with guesses."""
        path = self._data_of(project)
        try:
            if path.is_relative_to(self.folder):
                check_upload(path)
            table = read_source(path)
        except ValueError as error:
            if not (self._project(project) / _SESSION).exists():  # answers are never deleted
                shutil.rmtree(self._project(project))  # a copy that cannot be read
            raise InputError(str(error).replace(str(path), path.name)) from None
        self._seen = (project, table)  # `begin` need not read it again
        return {
            "project": project,
            "name": path.name,
            "n_rows": table.n_rows,
            "columns": [guess.to_dict() for guess in guess_roles(table)],
            "roles": ROLES,
            "kept_in": str(self.folder / project),
        }

    def begin(
        self, project: str, roles: Mapping[str, str], n_clusters: int | None, who: str | None
    ) -> tuple[Session, Records]:
        """Begin the session of a project."""
        path = self._project(project) / _SESSION
        was_there = path.exists()  # begun in another window
        try:
            seen, self._seen = self._seen, None
            table = seen[1] if seen is not None and seen[0] == project else None
            return begin_session(path, self._data_of(project), roles, n_clusters, who, table)
        except BaseException:
            if not was_there:
                path.unlink(missing_ok=True)  # so that corrected roles can be tried
            raise

    def recent(self) -> list[JsonDict]:
        """Sessions of the folder and those elsewhere, the newest first."""
        found = list(self.folder.glob("*/session*.db")) if self.folder.is_dir() else []
        for folder in self.elsewhere if self.reopen is not None else ():
            found += [path for path in folder.glob("*.db") if path not in found]
        found.sort(key=lambda path: path.stat().st_mtime, reverse=True)
        summaries = (_summary(path) for path in found)
        return [one for one in summaries if one is not None][:_MOST_RECENT]

    def open(self, path: str, carry: bool = False, who: str | None = None) -> Opened:
        """Continue a session that `recent` lists.

        If its data changed, the changes are returned; with `carry`, the session follows them.
        """
        if path not in {one["path"] for one in self.recent()}:
            raise InputError(f"{path} is none of the recent sessions")
        kept = stored_settings(path)
        if "roles" in kept.get("about", {}):
            loaded = load_again(kept)
            changes = None if carry else preview(path, kept, loaded.X, loaded.ids)
            if changes is not None:
                return changes
            how = CARRY if carry else REFUSE
            return reopen_session(Path(path), loaded, who, how), loaded.records
        if self.reopen is None:
            raise InputError(f"{path} was begun by another program; open it with that")
        return self.reopen(Path(path), kept, carry)


def _summary(path: Path) -> JsonDict | None:
    """Summary of a session in a list; None if the file is damaged or no session."""
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as db:
            kept = dict(db.execute("SELECT name, value FROM setting").fetchall())
            (n_answers,) = db.execute(
                "SELECT count(*) FROM answer WHERE undone_at IS NULL AND who != 'known beforehand'"
            ).fetchone()
        data = _json(kept["data"])
    except (sqlite3.Error, KeyError, ValueError):
        return None
    source = str(data.get("source", ""))
    name = path.name
    if path.name.startswith("session"):  # of a project; also one that was rescued
        name = path.parent.name + path.stem.removeprefix("session").replace("-", ", ")
    return {
        "path": str(path),
        "name": name,
        "data": Path(source).name,
        "there": not source or Path(source).exists(),
        "n_rows": data["n_rows"],
        "n_answers": n_answers,
        "when": path.stat().st_mtime,
    }


def _json(text: str) -> JsonDict:
    import json

    return dict(json.loads(text))
