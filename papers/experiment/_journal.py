"""Points in a file as they are measured, so that a run that was stopped goes on.

The CSV file has a line for each point; a JSON file beside it says what run it is: data, protocol,
seed, the parameters of each method, versions and time taken. A file of another run is refused.
"""

from __future__ import annotations

import csv
import io
import json
import platform
from collections.abc import Iterable, Iterator
from pathlib import Path

import joblib
import numpy as np
import scipy
import sklearn

from linkwise._fingerprint import another_run
from linkwise._types import JsonDict, PathLike
from linkwise._version import __version__
from linkwise.tables import atomic_write, drop_cut_line

from ._experiment import Experiment, Key, Point


class Journal:
    """Measured points, in memory and (with a path) in a file.

    Parameters
    ----------
    path : str, path or None
        A CSV file; continued if it is there.
    experiment : Experiment
        What the points must belong to.
    """

    def __init__(self, path: PathLike | None, experiment: Experiment):
        self.path = None if path is None else Path(path)
        self.experiment = experiment
        self.points: dict[Key, Point] = {}
        self._others: JsonDict = {}  # methods in the file that are not asked for now
        if self.path is not None:
            self._open(self.path)

    @property
    def head(self) -> list[str]:
        """The columns of the file."""
        return [*Key._fields, *self.experiment.columns, "seconds", "note"]

    def _open(self, path: Path) -> None:
        if path.suffix.lower() != ".csv":
            raise ValueError(f"file={str(path)!r}: points are appended to a .csv file")
        if path.is_file() and path.stat().st_size:
            self._check(path)
            drop_cut_line(path)
            self.points.update(read_points(path))
            self._describe()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._describe()  # before the points, which are useless without it
            path.write_text(_lines([self.head]), encoding="utf-8")

    def _check(self, path: Path) -> None:
        """Refuse a file whose points belong to another run."""
        beside = _beside(path)
        if not beside.is_file():
            raise ValueError(
                f"{path} is there but {beside.name} is not, so its run is "
                "unknown; name another file"
            )
        with path.open(encoding="utf-8", newline="") as file:
            head = next(csv.reader(file), [])
        kept = json.loads(beside.read_text(encoding="utf-8"))
        now = self.experiment.fingerprint()
        for name, value in now.items():
            if kept.get(name) != value:
                raise _another(path, f"the {name.replace('_', ' ')}", kept.get(name), value)
        if head != self.head:
            raise _another(path, "what is recorded", ", ".join(head), ", ".join(self.head))
        described = self.experiment.described()
        self._others = {k: v for k, v in kept["methods"].items() if k not in described}
        for method, parameters in described.items():
            before = kept["methods"].get(method, parameters)
            for name in sorted(before.keys() | parameters.keys()):
                if before.get(name) != parameters.get(name):
                    what = f"{name or 'the class'} of {method}"
                    raise _another(path, what, before.get(name), parameters.get(name))

    def _describe(self) -> None:
        """Write the description of the run."""
        assert self.path is not None
        seconds = sum(p.seconds for p in self.points.values() if not p.failed)
        kept = {
            **self.experiment.fingerprint(),
            "n_trials": self.experiment.protocol.n_trials,
            "n_constraints": list(self.experiment.n_constraints),
            "points": len(self.points),
            "seconds_fitting": round(seconds, 1),
            "versions": versions(),
            "methods": {**self._others, **self.experiment.described()},
        }
        with atomic_write(_beside(self.path)) as file:
            file.write((json.dumps(kept, indent=1, ensure_ascii=False) + "\n").encode("utf-8"))

    def add(self, measured: Iterable[tuple[Key, Point]]) -> None:
        """Add points; they are in the file when this returns."""
        measured = list(measured)
        self.points.update(measured)
        if self.path is not None:
            lines = ([*key, *point.values.values(), point.seconds, point.note]
                     for key, point in measured)  # fmt: skip
            with self.path.open("a", encoding="utf-8", newline="") as file:
                file.write(_lines(lines))

    def close(self) -> None:
        """Bring the description up to date."""
        if self.path is not None:
            self._describe()


def read_points(path: Path) -> Iterator[tuple[Key, Point]]:
    """The points of a file."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file)
        names = next(rows)[len(Key._fields) : -2]
        for row in rows:
            method, n, trial, fold, *values, seconds, note = row
            key = Key(method, int(n), int(trial), int(fold))
            scores = dict(zip(names, map(float, values), strict=True))
            yield key, Point(scores, float(seconds), note)


def versions() -> dict[str, str]:
    """Versions of the packages that a run depends on."""
    return {
        "linkwise": __version__, "python": platform.python_version(), "numpy": np.__version__,
        "scipy": scipy.__version__, "scikit-learn": sklearn.__version__,
        "joblib": joblib.__version__,
    }  # fmt: skip


def _beside(path: Path) -> Path:
    return path.with_suffix(".json")


def _another(path: Path, what: str, before: object, now: object) -> ValueError:
    return another_run(path, f"{what} was {before!r} there and is {now!r} now")


def _lines(rows: Iterable[Iterable[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
