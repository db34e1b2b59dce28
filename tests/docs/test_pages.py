"""Every code block of the guide and of the README runs and gives what the page shows."""

from __future__ import annotations

import shutil
from importlib import resources
from pathlib import Path

import pytest

from .blocks import blocks, run_page

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "docs" / "index.md",
    *sorted((ROOT / "docs" / "guide").glob("*.md")),
]


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    """A folder with the sample of `linkwise demo`, as a reader has it."""
    sample = resources.files("linkwise.datasets") / "sample"
    for name in ("beans.csv", "tastings.csv"):
        with resources.as_file(sample / name) as path:
            shutil.copyfile(path, tmp_path / name)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("workplace")
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_the_code_of_a_page_runs(path):
    run_page(path)


def test_blocks_are_found():
    text = "# A\n\n```pycon\n>>> 1\n1\n```\n\n```{code-block} csv\n:caption: a.csv\n\ni,j\n```\n"
    first, second = blocks(text)
    assert (first.kind, first.caption, first.line) == ("pycon", None, 3)
    assert (second.kind, second.caption, second.body) == ("csv", "a.csv", "i,j\n")
