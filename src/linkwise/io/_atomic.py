"""Writes that survive a crash: a file is complete or not there, an appended line likewise."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


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
        with path.open("wb") as file:
            yield file
        return
    path = Path(os.path.realpath(path))
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with part.open("xb") as file:
            yield file
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def drop_cut_line(path: Path) -> None:
    """Remove a last line without line end, which a crash has cut off, from a file of lines."""
    content = path.read_bytes()
    if not content.endswith(b"\n"):
        with path.open("rb+") as file:
            file.truncate(content.rfind(b"\n") + 1)
