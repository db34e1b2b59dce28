"""Imports of optional packages, with an error that names the extra to install."""

from __future__ import annotations

import importlib
from types import ModuleType

from ._help import see


def optional(module: str, *, extra: str, need: str) -> ModuleType:
    """Import `module`, or raise an error that names the extra and the purpose."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(
            f"{need} needs {package}, which is not installed: pip install 'linkwise[{extra}]', "
            f"or in a clone of linkwise pip install '.[{extra}]'" + see("extras")
        ) from error
