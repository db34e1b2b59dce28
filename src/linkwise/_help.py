"""The guide at hand: errors name the page that helps, and ``linkwise help`` shows it, offline.

The pages are those of the documentation (``docs/guide``); a wheel has them in ``linkwise/guide``.
"""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import NamedTuple

# Words for sections that errors send people to: page and heading.
SECTIONS = {
    "data": ("quickstart", "Your own file"),
    "ids": ("knowledge", "Rows by number or by id"),
    "files": ("knowledge", "Files"),
    "labels": ("knowledge", "Labels"),
    "clusters": ("consistency", "Required number of clusters"),
    "triplets": ("consistency", "Triplets"),
    "methods": ("choose", "Comparison of all methods"),
    "scaling": ("choose", "Scale features"),
    "auto": ("choose", "Choose method and k automatically (AutoCluster)"),
    "missing": ("pipelines", "Missing values"),
    "folds": ("pipelines", "Folds"),
    "extras": ("quickstart", "Extras"),
}


# What people look for under another word; stems.
_SYNONYMS = {
    "outlier": ("noise",),
    "size": ("balanc", "min_cluster_size", "capacity"),
    "soft": ("probab", "membership"),
    "group": ("together",),
    "probabilit": ("proba",),
}
_MOST_PLACES = 8


def see(topic: str) -> str:
    """The line that an error ends with."""
    return f"\nMore: linkwise help {topic}"


def topics() -> dict[str, str]:
    """Topics with help, with the title of each page or section."""
    pages = {path.stem: _title(path.read_text(encoding="utf-8")) for path in _pages()}
    return pages | {word: heading for word, (_, heading) in SECTIONS.items()}


def text(topic: str) -> str:
    """A page, or one section of it, in plain Markdown."""
    name, heading = SECTIONS.get(topic, (topic, None))
    path = _folder() / f"{name}.md"
    if not path.is_file():
        known = topics()
        close = difflib.get_close_matches(topic, known, n=1, cutoff=0.5)
        hint = f"; did you mean {close[0]!r}?" if close else "."
        raise ValueError(f"no help on {topic!r}{hint} There is help on {', '.join(known)}")
    page = _plain(path.read_text(encoding="utf-8"))
    return page if heading is None else _section(page, heading)


class Place(NamedTuple):
    """A section of a page in which a word stands: what to type, its heading, a sentence of it."""

    topic: str
    heading: str
    sentence: str


def find(word: str) -> list[Place]:
    """Sections that contain a word, sorted by matches in headings, then by frequency.

    None for words that are topics. Other forms count too: outlier, outliers.
    """
    if word in topics() or len(word) < 3:
        return []
    stem = re.sub(r"(?<=\w{4})(?:ies|y|s)$", "", word.lower())
    also = "|".join(map(re.escape, (stem, *_SYNONYMS.get(stem, ()))))
    form = re.compile(rf"\b(?:{also})\w*", re.IGNORECASE)
    found: list[tuple[int, Place]] = []
    for path in _pages():
        page = _plain(path.read_text(encoding="utf-8"))
        for section in re.split(r"^(?=##? )", page, flags=re.M):
            heading, _, rest = section.strip().partition("\n")
            prose = re.sub(r"^```.*?^```$", "", rest, flags=re.M | re.S)
            times = len(form.findall(prose)) + 5 * len(form.findall(heading))
            if times and (said := _sentence(prose, form)):
                found.append((times, Place(path.stem, heading.lstrip("# "), said)))
    found.sort(key=lambda own: -own[0])
    return [place for _, place in found[:_MOST_PLACES]]


def _sentence(prose: str, form: re.Pattern[str]) -> str:
    lines = [part.strip(" -*|") for part in re.split(r"(?<=[.:]) |\n", prose)]
    return next((line for line in lines if form.search(line)), "")


def _folder() -> Path:
    here = Path(__file__).resolve().parent
    inside = here / "guide"
    return inside if inside.is_dir() else here.parents[1] / "docs" / "guide"


def _pages() -> list[Path]:
    order = re.findall(r"\]\(([\w-]+)\.md\)", (_folder() / "index.md").read_text(encoding="utf-8"))
    return [_folder() / f"{name}.md" for name in dict.fromkeys(order)]


def _title(page: str) -> str:
    return next(line[2:] for line in page.splitlines() if line.startswith("# "))


def _section(page: str, heading: str) -> str:
    start = page.index(f"## {heading}\n")
    end = page.find("\n## ", start)
    return page[start : end if end > 0 else None].strip() + "\n"


def _plain(page: str) -> str:
    """The page without what only a browser can show."""
    page = re.sub(r"<!-- [\w -]+ -->\n*", "", page)  # marks of tests/figures.py
    page = re.sub(r"^```\{(?:image|toctree)\}.*?^```\n", "", page, flags=re.M | re.S)
    page = re.sub(
        r"^```\{code-block\} *\w*\n:caption: (\S+)\n\n", r"`\1`:\n\n```\n", page, flags=re.M
    )
    page = re.sub(r"^:::\{admonition\} (.*)\n(?::class:.*\n)?", r"**\1**\n\n", page, flags=re.M)
    page = re.sub(r"^(?::::|\([\w-]+\)=)\n", "", page, flags=re.M)
    page = re.sub(r"\[([^\]]*)\]\(#[\w.-]*\)", r"\1", page)
    return re.sub(r"\]\(([\w-]+)\.md(?:#[\w-]*)?\)", r"](linkwise help \1)", page)
