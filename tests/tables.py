"""Tables of the pages, made from the registry: ``python -m tests.tables`` writes them."""

from __future__ import annotations

import re
from pathlib import Path

from linkwise import _methods
from linkwise._methods import listed, on_blocks

ROOT = Path(__file__).resolve().parents[1]


def guide() -> str:
    """The table of docs/guide/choose.md."""
    lines = [
        "| method | takes | satisfied | metric | sparse | cost | rows |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| [`{m.name}`](#linkwise.{m.name}) | {m.takes} | {m.satisfied} | {m.metric} | {m.sparse} "
        f"| {m.cost} | {m.rows} |"
        for m in _methods.METHODS
    ]
    return "\n".join(lines) + "\n"


def scale() -> str:
    """The list of docs/scale.md."""
    return f"The methods {listed(f'`{m.name}`' for m in on_blocks())} also fit rows "


# File: what is there now, and what should be.
PLACES = {
    "docs/guide/choose.md": (r"\| method \|.*?(?=\n\n)\n", guide),
    "docs/scale.md": (r"The (?:k-means )?methods (?:\()?`.*?also fit rows ", scale),
}


def renewed(name: str) -> tuple[str, str]:
    """A page as it is, and as the registry has it."""
    pattern, made = PLACES[name]
    text = (ROOT / name).read_text(encoding="utf-8")
    return text, re.sub(pattern, lambda _: made(), text, count=1, flags=re.S)


if __name__ == "__main__":
    for name in PLACES:
        (ROOT / name).write_text(renewed(name)[1], encoding="utf-8")
