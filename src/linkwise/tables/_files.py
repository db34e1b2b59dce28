"""Files: formats by suffix, errors that name the file, atomic writes, JSON, memory."""

from __future__ import annotations

import json
import math
import os
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import IO, Any

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


# -------------------------------------------------------------------- writes that survive a crash


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a temporary file that gets its name when it is complete; an error removes it.

    Parameters
    ----------
    path : str or path
        An existing file is replaced; a symbolic link keeps pointing to its target. Pipes and
        devices are written to directly.
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        with _named(path), path.open("wb") as file:
            yield file
        return
    path = Path(os.path.realpath(path))
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with _named(path):
            with part.open("xb") as file:
                yield file
            os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Errors of the disk, with the name of the file that could not be written."""
    try:
        yield
    except OSError as error:
        if error.errno is None or isinstance(error, BrokenPipeError):
            raise
        raise type(error)(error.errno, f"cannot write {path}: {error.strerror}") from error


# -------------------------------------------------------------------- JSON, memory


def to_json(value: object, *, indent: int | None = None) -> str:
    """A value as JSON text; objects that JSON does not know become text."""
    return json.dumps(
        _finite(value), indent=indent, ensure_ascii=False, default=_plain, allow_nan=False
    )


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(own) for name, own in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(own) for own in value]
    return value


def _plain(value: Any) -> Any:
    """Values of NumPy as Python's, anything else as text."""
    return _finite(value.tolist()) if hasattr(value, "tolist") else str(value)


def half_of_memory() -> int:
    """Half of the memory of this machine (or container)."""
    try:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError):  # not every system reports it
        total = 8 * 2**30
    with suppress(OSError, ValueError):  # no container, or one without a limit
        total = min(total, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return total // 2
