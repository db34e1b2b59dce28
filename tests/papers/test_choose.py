"""The measurement of AutoCluster: what was measured is shown, and an instance is added whole."""

from __future__ import annotations

import runpy
import shutil
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "papers" / "beyond" / "choose.py"


@pytest.fixture(scope="module")
def script():
    return runpy.run_path(str(SCRIPT))


def test_tables_and_figure_of_what_was_measured(script, tmp_path, capsys):
    shutil.copy(SCRIPT.parent / "choose.csv.gz", tmp_path)
    script["main"](["--tables", "--output", str(tmp_path)])
    said = capsys.readouterr().out
    assert "AutoCluster" in said
    assert "hindsight" in said
    assert (tmp_path / "choose.png").stat().st_size > 10_000


def test_an_instance_is_added_whole_and_read_back(script, tmp_path):
    path = tmp_path / "choose.csv"
    rows = [
        {"data": "iris", "constraints": 20, "wrong": 0.0, "draw": d, "ari": 0.5} for d in range(3)
    ]
    script["add"](path, rows[:2])
    script["add"](path, rows[2:])
    assert script["stored"](path) == rows


def test_the_protocol_has_its_own_table(script, tmp_path, capsys):
    shutil.copy(SCRIPT.parent / "choose_protocol.csv.gz", tmp_path)
    script["main"](["--protocol", "--tables", "--output", str(tmp_path)])
    assert ".413" in capsys.readouterr().out
