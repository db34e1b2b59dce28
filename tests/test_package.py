"""The package as a whole: fast to import, nothing loaded before it is needed."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

import linkwise
from linkwise._optional import optional

HEAVY = ("matplotlib", "pandas", "dask", "nicegui", "sklearn", "scipy", "numpy")


def loaded(code: str) -> set[str]:
    check = f"import sys; {code}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in done.stdout.split()}


def test_importing_loads_nothing_heavy():
    assert not loaded("import linkwise, linkwise.cli") & set(HEAVY)


def test_constraints_need_no_matplotlib():
    names = loaded("from linkwise import Constraints; Constraints([(0, 1)]).diagnose(2)")
    assert "matplotlib" not in names


def test_help_answers_at_once():
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "linkwise", "--help"], capture_output=True, text=True, check=True
    )
    assert "check" in done.stdout
    assert time.perf_counter() - start < 5  # about 0.2 s; a busy machine gets some slack


def test_public_names():
    for name in linkwise.__all__:
        assert getattr(linkwise, name) is not None
    assert set(linkwise.__all__) <= set(dir(linkwise))
    assert linkwise.datasets.load("iris").data.shape == (150, 4)
    for package in ("engines", "report", "active", "kmeans"):
        assert getattr(linkwise, package).__name__ == f"linkwise.{package}"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = linkwise.nothing


def test_a_missing_extra_says_how_to_get_it():
    how = r"Drawing needs nowhere.*pip install 'linkwise\[plot\]', or in a clone .* '\.\[plot\]'"
    with pytest.raises(ImportError, match=how):
        optional("nowhere.at_all", extra="plot", need="Drawing")
