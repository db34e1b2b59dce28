"""What the scripts of all documents share: options, resumable tables, figures, where results go.

A script of a document is a `main` of this form::

    def main(arguments=None):
        with Run.from_command(__file__, __doc__, arguments) as run:
            table = run.table("curves", key=("data", "draw"))
            run.fill(table, tasks, work)        # only what the table lacks; Ctrl-C loses nothing
            run.save(figure, "figure_2")
            run.print(findings(run.folder))

Results go to ``papers/<document>/results/quick`` or ``.../full``: CSV files, PNG files, and
``about.json`` with versions, seeds, date and the time taken over all sessions of the run.
None of it is committed: `papers/CLAIMS.md` has the figures of the last full run.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import importlib.metadata
import io
import json
import platform
import sys
import textwrap
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ._claims import Finding

PACKAGES = ("linkwise", "numpy", "scipy", "scikit-learn", "matplotlib")
Cells = dict[str, Any]


class MissingResults(Exception):
    """Results that a finding needs are not there."""


@dataclass
class Run:
    """One run of a document's script.

    Attributes
    ----------
    folder : Path
        Where the results are.
    full : bool
        The document's own number of trials, or a run of minutes.
    jobs : int
        Processes of `fill`.
    sets : tuple of str
        Only these data sets; all if empty. For trials and tests.
    frozen : bool
        Compute nothing: figures and findings from what is there.
    about : dict
        What is written to ``about.json`` beside versions, date and time; add what a reader needs
        to repeat the run ("seeds", "trials", ...).
    """

    folder: Path
    full: bool = False
    jobs: int = 1
    sets: tuple[str, ...] = ()
    frozen: bool = False
    about: Cells = field(default_factory=dict)

    @classmethod
    def from_command(cls, script: str, purpose: str | None, arguments: list[str] | None) -> Run:
        """Read the options that all scripts have."""
        module = _module_of(Path(script))
        parser = argparse.ArgumentParser(
            prog=f"python -m {module}", description=(purpose or "").strip().splitlines()[0]
        )
        size = parser.add_mutually_exclusive_group()
        size.add_argument("--quick", action="store_true", help="minutes (the default)")
        size.add_argument("--full", action="store_true", help="as many trials as the README says")
        parser.add_argument("--jobs", type=int, default=1, help="processes; -1: one for each core")
        parser.add_argument("--sets", default="", help="only these data sets: iris,wine")
        parser.add_argument(
            "--from-results", action="store_true", help="figures and findings of what is there"
        )
        parser.add_argument("--output", type=Path, help="folder in place of results/quick or full")
        given = parser.parse_args(arguments)
        folder = given.output or results_of(Path(script), given.full)
        sets = tuple(name for name in given.sets.split(",") if name)
        return cls(folder, given.full, given.jobs, sets, given.from_results)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._started, self._cpu = time.perf_counter(), time.process_time()

    def __enter__(self) -> Run:
        self.keep_time()
        return self

    def __exit__(self, kind: Any, problem: Any, _: Any) -> bool:
        partial = isinstance(problem, MissingResults)  # a run of some data sets only
        if not self.frozen:
            self._write_about(finished=kind is None or partial)
        if partial:
            print(f"\nno verdicts: {problem}")
        if kind is None or partial:
            print(f"results: {_short(self.folder)}", flush=True)
        return partial

    def keep_time(self) -> None:
        """Write down the time taken so far, in case the run is killed."""
        if not self.frozen:
            self._write_about(finished=False)

    def chosen(self, names: Iterable[str]) -> tuple[str, ...]:
        """Those of the data sets that ``--sets`` asks for."""
        names = tuple(names)
        return tuple(name for name in names if name in self.sets) if self.sets else names

    def table(self, name: str, key: Sequence[str]) -> Table:
        """The resumable table ``<name>.csv``; `key` names the columns that a task fixes."""
        return Table(self.folder / f"{name}.csv", tuple(key))

    def fill(
        self, table: Table, tasks: Iterable[Cells], work: Callable[..., Iterable[Cells]]
    ) -> None:
        """Work through the tasks that the table lacks; their rows are appended as they come.

        ``work(**task)`` returns rows without the columns of the task. It must be a function of a
        module, so that it can run in another process, and depend on the task alone.
        """
        missing = [task for task in tasks if task not in table and not self.frozen]
        if missing:
            print(f"{_short(table.path)}: {len(missing)} tasks to go", flush=True)
        found = Parallel(n_jobs=self.jobs, return_as="generator")(
            delayed(_work)(work, task) for task in missing
        )
        for number, (task, rows) in enumerate(zip(missing, found, strict=True), start=1):
            table.add(task, rows)
            _progress(number, len(missing), task)
            if time.perf_counter() - self._started > 30:
                self.keep_time()

    def save(self, figure: Figure, name: str, note: str = "") -> None:
        """Write a figure as PNG, with a note (trials, what differs from the document) below it."""
        if note:
            width = int(14 * figure.get_figwidth())  # letters of this size
            figure.supxlabel(textwrap.fill(note, width), fontsize=8, color="dimgray")
        path = self.folder / f"{name}.png"
        figure.savefig(path, dpi=90)

    def print(self, findings: Iterable[Finding]) -> None:
        """Say on the terminal what came out."""
        for finding in findings:
            print(f"\n{finding.claim} {finding.statement}: {finding.verdict.upper()}")
            print(f"  {finding.figures}\n  {finding.test}")

    def _write_about(self, *, finished: bool) -> None:
        """Versions, seeds, date, and the time of all sessions together."""
        path = self.folder / "about.json"
        before = json.loads(path.read_text()) if path.exists() else {}
        wall, cpu = time.perf_counter() - self._started, time.process_time() - self._cpu
        self._started, self._cpu = time.perf_counter(), time.process_time()
        about = before | self.about | {
            "size": "full" if self.full else "quick",
            "finished": finished,
            "date": datetime.now(UTC).date().isoformat(),
            "seconds": round(before.get("seconds", 0.0) + wall, 1),
            "cpu_seconds": round(before.get("cpu_seconds", 0.0) + cpu, 1),  # of this process
            "jobs": self.jobs,
            "versions": versions(),
        }  # fmt: skip
        path.write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")


class Table:
    """A CSV file that grows by the rows of whole tasks; what is there is not computed again.

    Parameters
    ----------
    path : Path
        The file; made with the first rows.
    key : tuple of str
        The columns that a task fixes, the first ones of the file.
    """

    def __init__(self, path: Path, key: tuple[str, ...]):
        self.path, self.key = path, key
        self._forget_torn_task()
        rows = read(path) if path.exists() else []
        if rows and not set(key) <= set(rows[0]):
            lacks = ", ".join(sorted(set(key) - set(rows[0])))
            raise ValueError(
                f"{path} has no column {lacks}: it is of another version of this script; "
                "remove it, or give another folder with --output"
            )
        self._done = {self._identity(row) for row in rows}

    def __contains__(self, task: Cells) -> bool:
        return self._identity(task) in self._done

    def add(self, task: Cells, rows: Iterable[Cells]) -> None:
        """Append all rows of a task at once."""
        lines = [task | row for row in rows]
        if not lines:
            raise ValueError(f"the task {task} gave no rows; it would be tried again for ever")
        text = io.StringIO()
        writer = csv.DictWriter(text, list(lines[0]), lineterminator="\n")
        if not self.path.exists():
            writer.writeheader()
        writer.writerows({name: _cell(value) for name, value in line.items()} for line in lines)
        with self.path.open("a", newline="", encoding="utf-8") as file:
            file.write(text.getvalue())
        self._done.add(self._identity(task))

    def rows(self) -> list[Cells]:
        """Everything so far, numbers as numbers."""
        return read(self.path) if self.path.exists() else []

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
    """The rows of a CSV file, numbers as numbers."""
    with path.open(newline="", encoding="utf-8") as file:
        return [{name: _value(cell) for name, cell in row.items()} for row in csv.DictReader(file)]


def results_of(script: Path, full: bool) -> Path:
    """Where a document keeps the results of its quick or full run."""
    name = () if script.stem in ("__main__", "claims") else (script.stem,)
    return script.resolve().parent.joinpath("results", *name, "full" if full else "quick")


def versions() -> dict[str, str]:
    """What the figures were computed with."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def time_words(seconds: float) -> str:
    """For people."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


# -------------------------------------------------------------------- cells


def _cell(value: Any) -> str:
    """As it stands in the file; six digits are enough for scores."""
    return f"{value:.6g}" if isinstance(value, float) else "" if value is None else str(value)


def _value(cell: str) -> Any:
    if cell in ("True", "False"):
        return cell == "True"
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(cell)
    return cell if cell else None


# -------------------------------------------------------------------- work


def _work(work: Callable[..., Iterable[Cells]], task: Cells) -> list[Cells]:
    """Quietly (bases that do not converge, graphs in parts), and in one thread."""
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        return list(work(**task))


def _progress(number: int, total: int, task: Cells) -> None:
    if sys.stderr.isatty() or number == total:
        words = ", ".join(f"{name} {value}" for name, value in task.items())
        end = "\n" if number == total else "\r"
        print(f"{number} of {total}: {words:<60}", end=end, file=sys.stderr, flush=True)


def _module_of(script: Path) -> str:
    parts = script.resolve().relative_to(Path(__file__).parents[1]).with_suffix("").parts
    return ".".join(part for part in parts if part != "__main__")


def _short(path: Path) -> str:
    with contextlib.suppress(ValueError):
        return str(path.resolve().relative_to(Path.cwd()))
    return str(path)
