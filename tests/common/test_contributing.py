"""CONTRIBUTING.md: the code of every "Adding ..." section runs and does what the page says."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from linkwise import Constraints, HMRFKMeans, PCKMeans, Session, open_blocks
from linkwise.active import LabelOracle
from linkwise.cli._options import as_command
from linkwise.kmeans.estimators import _base

ROOT = Path(__file__).resolve().parents[2]
SECTIONS = dict(
    re.findall(
        r"^## (Adding .*?)\n(.*?)(?=^## |\Z)",
        (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"),
        flags=re.M | re.S,
    )
)
CODED = [title for title, text in SECTIONS.items() if "```python" in text]
Y = np.repeat([0, 1, 2], 20)
X = np.random.default_rng(0).normal(size=(60, 2)) + np.array([[0, 0], [9, 0], [0, 9]])[Y]
KNOWN = Constraints.from_labels(Y, 30, random_state=0)


def built(title: str) -> dict:
    """What the code of a section defines."""
    names = {"np": np, "__name__": __name__}
    for code in re.findall(r"```python\n(.*?)```", SECTIONS[f"Adding {title}"], flags=re.S):
        exec(compile(code, title, "exec", dont_inherit=True), names)
    return names


def test_sections():
    assert {f"Adding {what}" for what in (
        "a k-means method", "a distortion", "a query strategy", "a command", "an engine",
    )} <= set(CODED)  # fmt: skip


@pytest.mark.parametrize("title", CODED)
def test_files_that_are_named_exist_and_are_few(title):
    steps = re.findall(r"(?:^|; |\n)(\d)\. ", SECTIONS[title])
    assert 3 <= len(steps) <= 7
    for name in re.findall(r"`((?:src|tests|docs)/[\w/.]+)`", SECTIONS[title]):
        new = re.search(r"(_toy|test_toy|_count|test_count)\.py$", name)
        assert (ROOT / name).exists() != bool(new), name


def test_a_kmeans_method():
    model = built("a k-means method")["ToyKMeans"](3, random_state=0).fit(X, constraints=KNOWN)
    same = PCKMeans(3, random_state=0).fit(X, constraints=KNOWN)
    np.testing.assert_array_equal(model.labels_, same.labels_)


def test_a_distortion():
    toy = built("a distortion")["ToyDistortion"]
    model = HMRFKMeans(3, distortion=toy, learn=False, random_state=0).fit(X, constraints=KNOWN)
    assert KNOWN.satisfied(model.labels_)


def test_a_query_strategy():
    with Session(X, built("a query strategy")["ToyStrategy"](), n_clusters=3) as session:
        assert session.run(LabelOracle(Y), 20) == 20


def test_a_command(tmp_path):
    (tmp_path / "data.csv").write_text("a,b\n1,2\n3,4\n")
    app = typer.Typer()
    app.command()(as_command(built("a command")["count"]))
    assert CliRunner().invoke(app, [str(tmp_path / "data.csv")]).output == "2 rows\n"
    done = CliRunner().invoke(app, [str(tmp_path / "nothing.csv")])
    assert done.exit_code == 2
    assert "no such file" in done.stderr


def test_an_engine(tmp_path, monkeypatch):
    np.save(tmp_path / "rows.npy", X)
    engines = []

    def engine_of(rows):
        engines.append(built("an engine")["ToyEngine"](rows))
        return engines[-1]

    monkeypatch.setattr(_base, "engine_of", engine_of)
    far = PCKMeans(3, random_state=0).fit(open_blocks(tmp_path / "rows.npy"), constraints=KNOWN)
    near = PCKMeans(3, random_state=0).fit(X, constraints=KNOWN)
    np.testing.assert_array_equal(far.labels_, near.labels_)
    assert engines[0].n_passes > 0
