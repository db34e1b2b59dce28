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


def labels(path):
    return [line.split(",")[1] for line in path.read_text().split()[1:]]


def test_sizes_and_outliers(tmp_path):
    data, out = table(tmp_path / "faces.csv"), tmp_path / "out.csv"
    common = (data, "-k", 3, "--id-column", "face", "--features", "x,y", "--algorithm", "pck")
    found = run(*common, "--set", "min_size=12", "--set", "max_size=35%", "-o", out)
    assert found.exit_code == 0, found.output
    sizes = [labels(out).count(str(cluster)) for cluster in range(3)]
    assert min(sizes) >= 12
    assert max(sizes) <= 14
    found = run(*common, "--set", "outliers=2", "-o", out, "--report", tmp_path / "r.html")
    assert found.exit_code == 0, found.output
    assert labels(out).count("-1") == 2
    assert "2 rows in no cluster" in found.output
    found = run(*common, "--set", "min_size=10,12,14", "-o", out)
    assert found.exit_code == 0, found.output
    assert sorted(labels(out).count(str(c)) for c in range(3))[2] >= 14


def test_bad_sizes(tmp_path):
    data = table(tmp_path / "faces.csv")
    common = (data, "-k", 3, "--id-column", "face", "--features", "x,y", "--algorithm", "pck")
    for options, text in (
        (("--set", "min_size=20"), "3 x 20 = 60 rows at least, and there are 40"),
        (("--set", "min_size=a few"), "min_size='a few' must be"),
        (("--set", "outliers=1.0"), "must be at least 0 and below 1"),
        (("--set", "max_size=3,4"), "has 2 values"),
        (("--set", "min_size=12", "--set", "max_size=5"), "is above"),
    ):
        found = run(*common, *options)
        assert found.exit_code == 2, found.output
        assert text in " ".join(found.output.split())
    found = run(data, "-k", 3, "--algorithm", "recon", "--features", "x,y", "--set", "min_size=3")
    assert found.exit_code == 2
