"""Tables of results: what is in them, and a run that adds what is missing.

The tables of the full run are committed (``papers/<document>/tables``), so that verdicts can be
computed in seconds. A quick run writes to ``papers/<document>/results``, which is not committed.
"""

from __future__ import annotations

import contextlib
import csv
import importlib.metadata
import io
import json
import platform
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

HERE = Path(__file__).parent
PACKAGES = ("linkwise", "numpy", "scipy", "scikit-learn")
Cells = dict[str, Any]


class MissingResults(Exception):
    """Results that a finding needs are not there."""


@dataclass(frozen=True)
class Experiment:
    """A table of a document.

    Attributes
    ----------
    table : str
        Name of its file.
    key : tuple of str
        The columns that a task fixes; one of them is "trial".
    tasks : callable
        From the number of trials (None: as many as the document has) to all tasks.
    work : callable
        ``work(**task)`` returns rows without the columns of the task. It depends on the task alone.
    claims : callable
        From a task to the ids of the claims that need it, "E1 E4".
    """

    table: str
    key: tuple[str, ...]
    tasks: Callable[[int | None], Iterable[Cells]]
    work: Callable[..., Iterable[Cells]]
    claims: Callable[[Cells], str]


def run(
    experiments: Sequence[Experiment], folder: Path, n_trials: int | None = None,
    claims: Sequence[str] = (), jobs: int = 1,
) -> None:  # fmt: skip
    """Compute the tasks that the tables lack, the first trial of everything first."""
    tables = {one.table: Table(folder / f"{one.table}.csv", one.key) for one in experiments}
    missing = [
        (one, task)
        for one in experiments
        for task in one.tasks(n_trials)
        if task not in tables[one.table]
        and (not claims or set(claims) & set(one.claims(task).split()))
    ]
    missing.sort(key=lambda pair: pair[1]["trial"])
    about = About(folder / "about.json")
    done = Parallel(n_jobs=jobs, return_as="generator")(
        delayed(_quietly)(one.work, task) for one, task in missing
    )
    for number, ((one, task), (rows, seconds)) in enumerate(zip(missing, done, strict=True), 1):
        tables[one.table].add(task, rows)
        about.add(one.table, seconds)
        words = ", ".join(f"{name} {value}" for name, value in task.items())
        end = "\r" if sys.stderr.isatty() and number < len(missing) else "\n"
        if sys.stderr.isatty() or number in (1, len(missing)):
            print(f"{number} of {len(missing)}: {words:<70}", end=end, file=sys.stderr, flush=True)


def _quietly(work: Callable[..., Iterable[Cells]], task: Cells) -> tuple[list[Cells], float]:
    """Rows of a task and the seconds of computing; one thread, no warnings."""
    began = time.process_time()
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        return list(work(**task)), time.process_time() - began


class Table:
    """A CSV file that grows by the rows of whole tasks; what is there is not computed again."""

    def __init__(self, path: Path, key: tuple[str, ...]):
        self.path, self.key = path, key
        self._forget_torn_task()
        rows = read(path) if path.exists() else []
        if rows and not set(key) <= set(rows[0]):
            lacks = ", ".join(sorted(set(key) - set(rows[0])))
            raise ValueError(
                f"{path} has no column {lacks}: it is of another version of this script; remove it"
            )
        self._done = {self._identity(row) for row in rows}

    def __contains__(self, task: Cells) -> bool:
        return self._identity(task) in self._done

    def add(self, task: Cells, rows: Iterable[Cells]) -> None:
        """Append all rows of a task at once."""
        lines = [task | row for row in rows]
        if not lines:
            raise ValueError(f"the task {task} gave no rows; it would be tried again for ever")
        head = list(lines[0])
        if self.path.exists():
            with self.path.open(newline="", encoding="utf-8") as file:
                head = next(csv.reader(file))
        text = io.StringIO()
        writer = csv.DictWriter(text, head, lineterminator="\n")
        if not self.path.exists():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            writer.writeheader()
        writer.writerows({name: _cell(value) for name, value in line.items()} for line in lines)
        with self.path.open("a", newline="", encoding="utf-8") as file:
            file.write(text.getvalue())
        self._done.add(self._identity(task))

    def _identity(self, cells: Cells) -> tuple[str, ...]:
        return tuple(_cell(cells[name]) for name in self.key)

    def _forget_torn_task(self) -> None:
        """A run that was killed while writing may have left half a task: compute it again."""
        if not self.path.exists():
            return
        text = self.path.read_text(encoding="utf-8")
        if text.endswith("\n"):
            return
        head, *rows = list(csv.reader(io.StringIO(text[: text.rfind("\n") + 1]))) or [[]]
        place = [head.index(name) for name in self.key] if rows else []
        last = [rows[-1][p] for p in place] if rows else None
        kept = [row for row in rows if [row[p] for p in place] != last]
        if not kept:
            self.path.unlink()
            return
        with self.path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([head, *kept])


def read(path: Path) -> list[Cells]:
    """The rows of a CSV file, numbers as numbers; not to be changed."""
    if not path.exists():
        raise MissingResults(f"{path.name} is missing")
    return _parsed(path, path.stat().st_mtime_ns, path.stat().st_size)


@lru_cache(maxsize=4)  # findings look at one table many times
def _parsed(path: Path, changed: int, size: int) -> list[Cells]:
    with path.open(newline="", encoding="utf-8") as file:
        return [{name: _value(cell) for name, cell in row.items()} for row in csv.DictReader(file)]


class About:
    """``about.json``: date, commit, versions, and seconds of computing per table."""

    def __init__(self, path: Path):
        self.path = path
        self.words = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}

    def add(self, table: str, seconds: float) -> None:
        """Count the time of a task."""
        spent = self.words.get("cpu_seconds", {})
        spent[table] = round(spent.get(table, 0.0) + seconds, 1)
        self.words |= {"date": _today(), "commit": _commit(), "versions": _versions()}
        self.words["cpu_seconds"] = spent
        self.path.write_text(json.dumps(self.words, indent=1) + "\n", encoding="utf-8")


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def _commit() -> str:
    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        command = ["git", "-C", str(HERE), "rev-parse", "--short", "HEAD"]
        return subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()
    return "unknown"


def _versions() -> dict[str, str]:
    found = {name: importlib.metadata.version(name) for name in PACKAGES}
    return {"python": platform.python_version(), **found}


def _cell(value: Any) -> str:
    """As it stands in the file; five digits are enough for scores."""
    return f"{value:.5g}" if isinstance(value, float) else "" if value is None else str(value)


def _value(cell: str) -> Any:
    if cell in ("True", "False"):
        return cell == "True"
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(cell)
    return cell or None
