"""File formats by suffix, the error for a file of another format, and lists in messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from linkwise._errors import InputError

DELIMITED = (".csv", ".tsv", ".tab", ".txt")
JSON_LINES = (".jsonl", ".ndjson")
PARQUET = (".parquet", ".pq")
NUMPY = (".npy", ".npz")
EXCEL = (".xlsx", ".xlsm")
MAX_LISTED = 20  # items that a message lists before it says "... and 7 more"


class FileFormatError(InputError):
    """A file whose content cannot be used.

    Parameters
    ----------
    path : path
        As `where` in the error.
    problem : str
        What is wrong, and what to do; parameters may stand in braces, see `InputError`.
    """

    def __init__(self, path: str | Path, problem: str):
        super().__init__(f"{path}: {problem}", where=str(path))
        self.problem = problem

    def __reduce__(self) -> tuple[type, tuple[str | None, str]]:
        return type(self), (self.where, self.problem)


def suffix_of(path: Path) -> str:
    """Return the suffix that names the format, in lower case: ``.csv`` for ``a.CSV.gz``."""
    return (path.with_suffix("") if is_gzip(path) else path).suffix.lower()


def is_gzip(path: Path) -> bool:
    """Whether the name says that the file is compressed."""
    return path.suffix.lower() == ".gz"


def require_file(path: Path) -> None:
    """Refuse a path that is not there, or is a folder or a pipe."""
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such file (looked for in {Path.cwd()})")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file in it")
    if path.is_fifo():  # to open it would wait for somebody who writes
        raise OSError(f"{path} is a pipe, which cannot be read twice; write it to a file first")


def listed(items: Iterable[str], most: int = MAX_LISTED) -> str:
    """Join the first items with commas and count the rest: "a, b ... and 7 more"."""
    rest = iter(items)
    shown = ", ".join(islice(rest, most)) or "none"
    n_more = sum(1 for _ in rest)
    return f"{shown} ... and {n_more:,} more" if n_more else shown


def quoted(names: Iterable[object], most: int = MAX_LISTED) -> str:
    """`listed`, with each name in quotes."""
    return listed(map(repr, names), most)


def repeated(names: Iterable[str]) -> list[str]:
    """List the names that occur more than once."""
    return [name for name, times in Counter(names).items() if times > 1]
