"""Columns of groups on the command line."""

import json

import numpy as np
from typer.testing import CliRunner

from linkwise.cli import app


def table(path):
    rng = np.random.default_rng(0)
    lines = ["face,photo,house,x,y"]
    for photo in range(20):
        for person in rng.permutation(3)[:2]:
            x, y = 4 * person + rng.normal(), rng.normal()
            lines.append(f"f{len(lines)},p{photo},h{len(lines) // 2},{x},{y}")
    path.write_text("\n".join(lines) + "\n")
    return path


def run(*arguments):
    return CliRunner().invoke(app, ["cluster", *map(str, arguments)])


def test_apart_column(tmp_path):
    data = table(tmp_path / "faces.csv")
    found = run(data, "-k", 3, "--id-column", "face", "--apart-column", "photo",
                "--features", "x,y", "--algorithm", "cop", "-o", tmp_path / "out.csv",
                "--json")  # fmt: skip
    assert found.exit_code == 0, found.output
    clusters = [line.split(",")[1] for line in (tmp_path / "out.csv").read_text().split()[1:]]
    assert all(a != b for a, b in zip(clusters[::2], clusters[1::2], strict=True))
    json.loads(found.stdout)


def test_together_column_and_doubtful_labels(tmp_path):
    data = table(tmp_path / "faces.csv")
    common = (data, "-k", 3, "--id-column", "face", "--features", "x,y", "--algorithm", "pck")
    found = run(*common, "--together-column", "house")
    assert found.exit_code == 0, found.output
    found = run(*common, "--label-column", "house")
    text = " ".join(found.output.split())
    assert "--together-column house" in text
