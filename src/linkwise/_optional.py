"""Imports of packages that linkwise uses when they are there, with help when they are not."""

from __future__ import annotations

import importlib
from typing import Any

from ._help import see


def optional(module: str, *, extra: str, need: str) -> Any:
    """Import `module`, or say which extra brings it and what it was needed for.

    Parameters
    ----------
    module : str
        Name of the module, such as ``"matplotlib.pyplot"``.
    extra : str
        The extra of linkwise that installs it.
    need : str
        What the caller was about to do, as the start of a sentence.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(
            f"{need} needs {package}, which is not installed: pip install 'linkwise[{extra}]', "
            f"or in a clone of linkwise pip install '.[{extra}]'" + see("extras")
        ) from error
