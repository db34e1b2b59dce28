"""Where the data files lie: the folder named by ``LINKWISE_DATA``, else the user's cache."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "LINKWISE_DATA"


def data_folder() -> Path:
    """Find the folder with the data files; it need not exist."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named).expanduser()
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "linkwise"


def data_file(name: str, source: str) -> Path:
    """Find a data file, or say where it was looked for and where it comes from.

    Parameters
    ----------
    name : str
        Its name in the data folder.
    source : str
        Where the data comes from, for the message.
    """
    folder = data_folder()
    path = folder / name
    if path.exists():
        return path
    why = f"the folder that {VARIABLE} names" if os.environ.get(VARIABLE) else "the default folder"
    raise FileNotFoundError(
        f"{name} is not in {folder} ({why}). linkwise does not ship this data: put the file there, "
        f"or set the environment variable {VARIABLE} to the folder that holds it. "
        f"Source of the data: {source}"
    )
