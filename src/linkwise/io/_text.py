"""Text files, plain or compressed with gzip, in UTF-8 or with a byte order mark in UTF-16.

Entry points: `text_blocks` for files too large for memory, `read_text` for the others.
"""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO

from ._formats import FileFormatError, is_gzip

Progress = Callable[[int, int], None]
BLOCK_LINES = 65_536

_GZIP_MAGIC = b"\x1f\x8b"
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # a spreadsheet's "Unicode text"


def _open_binary(path: Path, raw: IO[bytes]) -> IO[bytes]:
    compressed = raw.read(2) == _GZIP_MAGIC or is_gzip(path)
    raw.seek(0)
    return io.BufferedReader(gzip.GzipFile(fileobj=raw)) if compressed else raw


@contextmanager
def _open_text(path: Path) -> Iterator[tuple[IO[str], IO[bytes]]]:
    """Open a file as text, and as the bytes on disk, whose position tells the progress."""
    try:
        with path.open("rb") as raw:
            binary = _open_binary(path, raw)
            start = binary.peek(4096)[:4096]  # type: ignore[attr-defined]
            wide = start[:2] in _UTF16
            if b"\0" in start and not wide:
                raise FileFormatError(path, "is a binary file; expected text in UTF-8")
            encoding = "utf-16" if wide else "utf-8-sig"  # "-sig" skips a byte order mark
            with io.TextIOWrapper(binary, encoding=encoding, newline="") as text:
                yield text, raw
    except UnicodeDecodeError as error:
        raise _undecodable(path, error) from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        problem = f"not a gzip file, or a damaged gzip file ({error}); fetch it again"
        raise FileFormatError(path, problem) from None


def _undecodable(path: Path, error: UnicodeDecodeError) -> FileFormatError:
    """Find the line in a second pass: the first one may have decoded part of a buffer only."""
    where, byte = "the file", error.object[error.start]
    with path.open("rb") as raw:
        for number, line in enumerate(_open_binary(path, raw), 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as found:
                where, byte = f"line {number:,}", line[found.start]
                break
    return FileFormatError(
        path,
        f"{where} is not UTF-8 text (byte 0x{byte:02x}); save the file as UTF-8 (in a "
        "spreadsheet: 'CSV UTF-8')",
    )


def read_text(path: Path) -> str:
    """Read a whole text file; line ends stay as they are."""
    with _open_text(path) as (text, _):
        return text.read()


def text_blocks(path: Path, progress: Progress | None = None) -> Iterator[list[str]]:
    """Yield the lines of a text file, with their ends, in blocks.

    Parameters
    ----------
    path : Path
    progress : callable, default=None
        Called after each block with the bytes read so far and the size of the file.
    """
    total = path.stat().st_size
    with _open_text(path) as (text, raw):
        while block := list(islice(text, BLOCK_LINES)):
            yield block
            if progress is not None:
                progress(raw.tell(), total)
