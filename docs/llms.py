"""llms.txt beside the built pages: the title, address and first sentence of every page.

For language models and agents that read the documentation; see https://llmstxt.org.
"""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx

SECTIONS = {
    "tutorials/": "Tutorials",
    "guide/": "How-to guides",
    "explanation/": "Explanation",
    "reference/": "Reference",
}
_TITLE = re.compile(r"^# (.+)$", re.M)


def page_of(folder: Path) -> str:
    """The text of llms.txt for the Markdown pages of a folder."""
    index = (folder / "index.md").read_text(encoding="utf-8")
    lines = ["# linkwise", "", f"> {_summary(index)}"]
    for start, section in SECTIONS.items():
        lines += ["", f"## {section}", ""]
        for path in sorted((folder / start).glob("*.md")):
            text = path.read_text(encoding="utf-8")
            if title := _TITLE.search(text):
                lines.append(f"- [{title[1]}]({start}{path.stem}.html): {_summary(text)}")
    return "\n".join(lines) + "\n"


def _summary(text: str) -> str:
    """The first sentence of a page, without markup."""
    blocks = re.split(r"\n\s*\n", text)
    paragraph = next((b for b in blocks if b[:1].isalpha() or re.match(r"\*\*|`[^`]|\[", b)), "")
    paragraph = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", paragraph.replace("\n", " "))
    return re.split(r"(?<=[.!?])\s", paragraph.replace("*", ""))[0]


def write(app: Sphinx, exception: Exception | None) -> None:
    """Write llms.txt into the output folder of a build that succeeded."""
    if exception is None:
        (Path(app.outdir) / "llms.txt").write_text(page_of(Path(app.srcdir)), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.connect("build-finished", write)
    return {"parallel_read_safe": True}
