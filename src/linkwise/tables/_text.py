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
from typing import IO, TYPE_CHECKING

from linkwise._errors import InputError

from ._files import FileFormatError, half_of_memory, is_gzip

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer as Buffer

Progress = Callable[[int, int], None]
BLOCK_LINES = 65_536
_CHUNK = 2**24  # characters
_COPIES = 11  # bytes of memory that reading a table takes per byte of text

_GZIP_MAGIC = b"\x1f\x8b"
_LONGEST_LINE = 10**9  # bytes of a line of a compressed file
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # a spreadsheet's "Unicode text"


def _open_binary(path: Path, raw: IO[bytes]) -> IO[bytes]:
    compressed = raw.read(2) == _GZIP_MAGIC or is_gzip(path)
    raw.seek(0)
    return io.BufferedReader(_Unpacked(path, raw)) if compressed else raw


class _Unpacked(io.RawIOBase):
    """A compressed file; refuses endless lines, which a small file may hold (a gzip bomb)."""

    def __init__(self, path: Path, raw: IO[bytes]):
        self._path, self._file, self._since_line_end = path, gzip.GzipFile(fileobj=raw), 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer) -> int:
        size = self._file.readinto(buffer)
        last = bytes(memoryview(buffer)[:size]).rfind(b"\n")
        self._since_line_end = size - last - 1 if last >= 0 else self._since_line_end + size
        if self._since_line_end > _LONGEST_LINE:
            raise FileFormatError(
                self._path,
                f"the compressed file holds a line of more than {_LONGEST_LINE / 1e9:,.0f} GB; "
                "this is no table",
            )
        return size


@contextmanager
def _open_text(path: Path, encoding: str | None = None) -> Iterator[tuple[IO[str], IO[bytes]]]:
    """Open a file as text, and as the bytes on disk, whose position tells the progress."""
    _check_encoding(encoding)
    try:
        with path.open("rb") as raw:
            binary = _open_binary(path, raw)
            start = binary.peek(4096)[:4096]  # type: ignore[attr-defined]
            wide = start[:2] in _UTF16
            if b"\0" in start and not wide and encoding is None:
                raise FileFormatError(path, "is a binary file; expected text in UTF-8")
            if encoding is None or encoding.lower() in ("utf-8", "utf8"):
                encoding = "utf-16" if wide else "utf-8-sig"  # "-sig" skips a byte order mark
            with io.TextIOWrapper(binary, encoding=encoding, newline="") as text:
                yield text, raw
    except UnicodeDecodeError as error:
        raise _undecodable(path, error, encoding) from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        problem = f"not a gzip file, or a damaged gzip file ({error}); fetch it again"
        raise FileFormatError(path, problem) from None


def _check_encoding(encoding: str | None) -> None:
    try:
        codecs.lookup(encoding or "utf-8")
    except LookupError:
        raise InputError(
            f"{{encoding={encoding}}} is not known; expected a name such as cp1252 (Windows), "
            "latin-1, utf-8 or utf-16"
        ) from None


def _undecodable(path: Path, error: UnicodeDecodeError, encoding: str | None) -> FileFormatError:
    """Find the line in a second pass: the first one may have decoded part of a buffer only."""
    if encoding not in (None, "utf-8-sig"):
        return FileFormatError(path, f"is not text in {{encoding={encoding}}} ({error.reason})")
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
        f"{where} is not UTF-8 text (byte 0x{byte:02x}); for a file of Windows or Excel give "
        "{encoding=cp1252}, or save the file as UTF-8 (in a spreadsheet: 'CSV UTF-8')",
    )


def read_text(path: Path, encoding: str | None = None) -> str:
    """Read a whole text file; line ends stay as they are."""
    most, parts, size = half_of_memory() // _COPIES, [], 0
    with _open_text(path, encoding) as (text, _):
        while part := text.read(_CHUNK):
            size += len(part)
            if size > most:
                raise FileFormatError(
                    path,
                    f"the text is larger than {most / 1e9:,.1f} GB, which would take half of the "
                    "memory to read; convert the file to Parquet, which can be read by blocks (see "
                    "`linkwise help scale`)",
                )
            parts.append(part)
    return "".join(parts)


def text_blocks(
    path: Path, progress: Progress | None = None, encoding: str | None = None
) -> Iterator[list[str]]:
    """Yield the lines of a text file, with their ends, in blocks.

    Parameters
    ----------
    path : Path
    progress : callable, default=None
        Called after each block with the bytes read so far and the size of the file.
    encoding : str, default=None
        UTF-8 (or UTF-16 with a byte order mark) if not given.
    """
    total = path.stat().st_size
    with _open_text(path, encoding) as (text, raw):
        while block := list(islice(text, BLOCK_LINES)):
            yield block
            if progress is not None:
                progress(raw.tell(), total)
