"""Every code block of the guide and of the README runs and gives what the page shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from .blocks import blocks, run_page

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "docs" / "index.md",
    *(
        path
        for folder in ("tutorials", "guide", "explanation", "reference")
        for path in sorted((ROOT / "docs" / folder).glob("*.md"))
    ),
]


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    """An empty folder, as a reader has it: a page makes the files that it uses."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("workplace")
@pytest.mark.parametrize("path", PAGES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_the_code_of_a_page_runs(path):
    run_page(path)


def test_blocks_are_found():
    text = "# A\n\n```pycon\n>>> 1\n1\n```\n\n```{code-block} csv\n:caption: a.csv\n\ni,j\n```\n"
    first, second = blocks(text)
    assert (first.kind, first.caption, first.line) == ("pycon", None, 3)
    assert (second.kind, second.caption, second.body) == ("csv", "a.csv", "i,j\n")
