"""How things are measured here: ratios in one run, with the quality reached beside them.

A benchmark is a function that yields `Row`s. Times are the best of a few repetitions, ours and the
reference's taken in turn, so that a busy machine slows both. Memory is the peak of a process of its
own.
"""

from __future__ import annotations

import importlib.metadata
import multiprocessing
import platform
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

PACKAGES = ("numpy", "scipy", "scikit-learn")


@dataclass(frozen=True)
class Row:
    """One measured thing, and the bar it has to pass."""

    work: str
    measured: str
    bar: str
    passed: bool | None
    quality: str = ""


def seconds(work: Callable[[], Any], repeat: int = 3) -> float:
    """The shortest of a few runs."""
    return min(_once(work) for _ in range(repeat))


def _once(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def in_turn(
    ours: Callable[[], Any], theirs: Callable[[], Any], repeat: int = 3
) -> tuple[float, float]:
    """Shortest times of both, measured alternately."""
    pairs = [(_once(ours), _once(theirs)) for _ in range(repeat)]
    return min(a for a, _ in pairs), min(b for _, b in pairs)


def peak_megabytes(work: Callable[..., Any], *args: Any, whole: bool = False) -> float:
    """Peak memory of ``work(*args)`` beyond a fresh process that has imported its module.

    With `whole`, of the whole process.
    """
    context = multiprocessing.get_context("spawn")
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=_report_peak, args=(work, args, send, whole))
    process.start()
    peak = receive.recv()
    process.join()
    return float(peak)


def _report_peak(work: Callable[..., Any], args: tuple[Any, ...], send: Any, whole: bool) -> None:
    before = 0.0 if whole else _memory("VmRSS")
    work(*args)
    send.send(_memory("VmHWM") - before)


def _memory(field: str) -> float:
    """Megabytes of this process. (`getrusage` would count the parent's peak as ours.)"""
    with open("/proc/self/status") as file:
        line = next(line for line in file if line.startswith(field))
    return int(line.split()[1]) / 1024


def versions() -> str:
    """What the figures were measured with."""
    found = [f"{name} {importlib.metadata.version(name)}" for name in PACKAGES]
    cores = multiprocessing.cpu_count()
    return f"Python {platform.python_version()}, {', '.join(found)}; {cores} cores"


def markdown(title: str, rows: Iterable[Row]) -> Iterator[str]:
    """A section of RESULTS.md."""
    yield f"## {title}\n"
    yield f"{date.today():%Y-%m-%d}; {versions()}\n"
    yield "| work | measured | bar | passed | quality |"
    yield "|---|---|---|---|---|"
    for row in rows:
        passed = "" if row.passed is None else ("yes" if row.passed else "**no**")
        yield f"| {row.work} | {row.measured} | {row.bar} | {passed} | {row.quality} |"
    yield ""
