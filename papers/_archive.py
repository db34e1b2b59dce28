"""Committed results are small: all tables of a run in one ``tables.zip``, figures with few colors.

The points of a run (CSV files, each with a JSON file that describes it) are kept out of Git; their
archive is a tenth of the size and loses nothing. `unpack` puts the files beside it when a script
starts, so that findings and figures are computed again in seconds and a run can go on.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

NAME = "tables.zip"
_COLORS = 48  # lines, text and their antialiasing need no more
_DATE = (2026, 1, 1, 0, 0, 0)  # the same tables give the same bytes


def unpack(folder: Path) -> None:
    """Extract the archive of a folder, unless there are tables already."""
    archive = folder / NAME
    if archive.exists() and not any(folder.glob("*.csv")):
        with zipfile.ZipFile(archive) as file:
            file.extractall(folder)


def pack(folder: Path) -> None:
    """Write all tables of a folder, and what describes them, into its archive."""
    tables = sorted(path for path in folder.glob("*.csv"))
    beside = [path.with_suffix(".json") for path in tables]
    with zipfile.ZipFile(folder / NAME, "w") as file:
        for path in (*tables, *(path for path in beside if path.exists())):
            entry = zipfile.ZipInfo(path.name, _DATE)
            entry.compress_type = zipfile.ZIP_LZMA
            file.writestr(entry, path.read_bytes())


def shrink(path: Path) -> None:
    """Store a PNG with a palette, a fifth of the size."""
    from PIL import Image

    with Image.open(path) as image:
        small = image.convert("RGB").quantize(
            _COLORS, Image.Quantize.MAXCOVERAGE, kmeans=2, dither=Image.Dither.NONE
        )
    small.save(path, optimize=True)
