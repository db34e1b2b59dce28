"""The map of the architecture names files that exist, and all folders of the package."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "linkwise"
MAP = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`((?:\w+/)*\w+\.py|(?:\w+/)+)`", MAP)))


def test_what_the_map_names_exists():
    places = (PACKAGE, PACKAGE / "kmeans", ROOT, ROOT / "src", ROOT / "papers" / "teja_slides")
    files = {path.name for path in PACKAGE.rglob("*.py")}  # beside a folder that the row names
    missing = [name for name in NAMED if not any((place / name).exists() for place in places)]
    assert not set(missing) - files


def test_every_folder_of_the_package_is_on_the_map():
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert folders <= {name.rstrip("/") for name in NAMED}


def test_the_map_stays_a_map():
    assert len(MAP.split()) < 1_700
