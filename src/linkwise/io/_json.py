"""JSON that every reader takes: NaN and infinity, which JSON does not know, are null."""

from __future__ import annotations

import json
import math
from typing import Any


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
