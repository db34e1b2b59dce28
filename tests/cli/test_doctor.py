import importlib.util
import json
import sys

import pytest
from typer.testing import CliRunner

from linkwise.cli import app
from linkwise.cli._doctor import EXTRAS


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_doctor_tells_what_a_bug_report_needs():
    found = json.loads(run("doctor", "--json").stdout)
    assert found["linkwise"].startswith("0.")
    assert set(found["extras"]) == set(EXTRAS)
    assert found["threads"]["cores"] >= 1
    assert "missing" not in found["packages"].values()
    shown = run("doctor")
    assert shown.exit_code == 0
    assert "numba" in shown.output


def test_the_extras_are_those_of_the_package():
    tomllib = pytest.importorskip("tomllib")
    from pathlib import Path

    path = Path(__file__).parents[2] / "pyproject.toml"
    given = tomllib.loads(path.read_text())["project"]["optional-dependencies"]
    assert set(given) - {"docs", "test", "dev", "all", "tables"} == set(EXTRAS)
    for extra, packages in EXTRAS.items():
        assert all(any(p in need for need in given[extra]) for p in packages)
        assert extra in given["all"][0]


def test_the_demo_ends_well_without_matplotlib(tmp_path, monkeypatch):
    find = importlib.util.find_spec

    def hidden(name, package=None):
        return None if name == "matplotlib" else find(name, package)

    monkeypatch.setattr("linkwise.cli._demo.find_spec", hidden)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = run("demo", "--folder", tmp_path)
    assert done.exit_code == 0, done.output
    assert "linkwise[plot]" in done.output
    assert not (tmp_path / "demo.png").exists()
    assert json.loads(run("demo", "--folder", tmp_path, "--json").stdout)["picture"] is None


@pytest.mark.parametrize(
    "word", ["outlier", "group", "size", "soft", "probability", "save", "checkpoint"]
)
def test_help_finds_words(word):
    found = run("help", word)
    assert found.exit_code == 0, found.output
    assert "linkwise help " in found.output


def test_completion_is_offered():
    assert "--install-completion" in run("--help").output
