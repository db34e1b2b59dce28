"""The command line, run as a person runs it."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from linkwise.cli import app

runner = CliRunner()


def run(*arguments):
    return runner.invoke(app, [str(argument) for argument in arguments])


def flat(result) -> str:
    """The output without the frame that rich draws and breaks lines at."""
    return " ".join(result.output.replace("│", " ").split())


@pytest.fixture
def links(tmp_path):
    path = tmp_path / "links.csv"
    path.write_text("i,j,link\nana,bo,must\nbo,cy,must\nana,di,cannot\ndi,eve,cannot\n")
    return path


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(
        "name,age,height,city\nana,20,1.5,X\nbo,21,1.6,Y\ncy,50,1.7,X\ndi,80,1.8,Y\neve,81,1.5,X\n"
    )
    return path


# -------------------------------------------------------------------- check


def test_check_consistent(links, data):
    result = run("check", links, "--data", data, "--id-column", "name", "-k", 2)
    assert result.exit_code == 0
    text = flat(result)
    assert "links.csv: consistent" in text
    assert "they touch 5 rows of 5" in text
    assert "2 clusters can keep all cannot-links" in text
    assert "informativeness" in text
    assert "coherence" in text


def test_check_without_data(links):
    result = run("check", links)
    assert result.exit_code == 0
    assert "it follows that 3 pairs must be together and 4 apart" in flat(result)


def test_check_contradiction(links):
    links.write_text(links.read_text() + "cy,ana,cannot\n")
    result = run("check", links)
    assert result.exit_code == 1
    assert "rows ana - bo - cy must be together, but ana and cy must be apart" in flat(result)
    assert "lines 2, 3 and 6 of links.csv" in flat(result)


def test_check_triplets(tmp_path):
    path = tmp_path / "triplets.csv"
    path.write_text("a,b,c\n1,2,3\n1,3,2\n")
    result = run("check", path)
    assert result.exit_code == 1
    assert "these 2 cannot hold together" in flat(result)


def test_check_too_few_and_too_many_clusters(links, data):
    result = run("check", links, "-k", 1)
    assert result.exit_code == 1
    assert "n_clusters=1 is too small" in flat(result)
    result = run("check", links, "--data", data, "--id-column", "name", "-k", 9)
    assert result.exit_code == 2
    assert "n_clusters=9 is larger than the number of rows, 5" in result.stderr
    result = run("check", links, "--data", data, "--id-column", "name", "-k", 4)
    assert result.exit_code == 1
    assert "must-links leave only 3 groups of rows" in flat(result)


def test_check_json(links, data):
    result = run("check", links, "--data", data, "--id-column", "name", "-k", 2, "--json")
    found = json.loads(result.stdout)
    assert found["consistent"] is True
    assert found["entailed"] == {"must_link": 3, "cannot_link": 4}
    assert found["clusters"]["status"] == "feasible"
    assert 0 <= found["worth"]["informativeness"] <= 1
    links.write_text(links.read_text() + "cy,ana,cannot\n")
    result = run("check", links, "--json")
    assert result.exit_code == 1
    (shown,) = json.loads(result.stdout)["contradictions"]["shown"]
    assert [link["where"] for link in shown["constraints"]] == [
        "line 2 of links.csv",
        "line 3 of links.csv",
        "line 6 of links.csv",
    ]


def test_check_by_row_number_and_own_columns(tmp_path, data):
    path = tmp_path / "pairs.csv"
    path.write_text("one,two,verdict,by\n0,1,same,me\n1,3,different,me\n")
    columns = ["--column", "i=one", "--column", "j=two", "--column", "link=verdict"]
    assert run("check", path, *columns, "--data", data, "-k", 2).exit_code == 0
    result = run("check", path, "--column", "one")
    assert result.exit_code == 2
    assert "expected ROLE=NAME" in result.stderr


def test_ids_that_look_like_numbers_are_ids_with_an_id_column(tmp_path):
    links, data = tmp_path / "links.csv", tmp_path / "data.csv"
    links.write_text("i,j,link\n007,12,must\nx1,12,cannot\n")
    data.write_text("id,v\n007,1\n12,2\nx1,3\n")
    assert run("check", links, "--data", data, "--id-column", "id").exit_code == 0
    result = run("check", links)
    assert result.exit_code == 2
    assert "--ids text" in result.stderr
    assert run("check", links, "--ids", "text").exit_code == 0


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("i,j,link\n0,99,must\n", ["--data"], "row 99 is out of range; there are rows 0 to 4"),
        ("i,j,link\nana,zoe,must\n", ["--data", "--id-column", "name"],
         "line 2 of links.csv: no row has the id 'zoe'"),
        ("i,j,link\nana,bo,must\n", ["--data"], "speak of ids"),
        ("i,j,link\nana,bo,must\n", ["--data", "--id-column", "nome"], "nome"),
        ("i,j,link\n0,-1,must\n", [], "row -1 is out of range"),
        ("i,j,link\n0,0,must\n1,2,perhaps\n", [], "2 problems"),
        ("", [], "is empty"),
        ("i,j,link\nana,bo,must\n", ["--id-column", "name"], "give --data too"),
        ("i,j,link\n0,1,must\n", ["--data", "--features", "age,weight"], "weight"),
    ],
)  # fmt: skip
def test_check_wrong_usage(links, data, content, options, message):
    links.write_text(content)
    if options[:1] == ["--data"]:
        options = ["--data", data, *options[1:]]
    result = run("check", links, *options)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert "Traceback" not in result.output


def test_missing_files_and_options(tmp_path, links):
    assert "no such file" in run("check", tmp_path / "nothing.csv").stderr
    assert run("check", tmp_path / "nothing.csv").exit_code == 2
    assert run("check", links, "--data", tmp_path / "nothing.csv").exit_code == 2
    assert run("check").exit_code == 2
    assert run("check", links, "-k", "0").exit_code == 2
    assert run("chekc").exit_code == 2


def test_data_with_gaps_is_measured_on_complete_columns(links, data):
    data.write_text(data.read_text().replace("20,1.5", ",1.5"))
    result = run("check", links, "--data", data, "--id-column", "name", "-k", 2, "--json")
    assert json.loads(result.stdout)["worth"]["features"] == 1


# -------------------------------------------------------------------- score


def test_score(tmp_path):
    labels, truth = tmp_path / "labels.csv", tmp_path / "truth.csv"
    labels.write_text("id,cluster\na,0\nb,0\nc,1\nd,1\n")
    truth.write_text("id,class,x\nd,P,1\nc,P,2\nb,Q,3\na,Q,4\n")
    result = run("score", labels, truth, "--id-column", "id", "--json")
    assert json.loads(result.stdout)["ari"] == 1.0
    assert "adjusted Rand index" in run("score", labels, truth, "--id-column", "id").output
    by_order = run("score", labels, truth, "--truth-column", "class", "--json")
    assert json.loads(by_order.stdout)["ari"] == 1.0
    links = tmp_path / "links.csv"
    links.write_text("i,j,link\na,b,must\na,d,must\n")
    result = run("score", labels, truth, "--id-column", "id", "--constraints", links, "--json")
    assert json.loads(result.stdout)["kept"] == 0.5


@pytest.mark.parametrize(
    ("labels", "truth", "options", "message"),
    [
        ("cluster\n0\n1\n", "class\n0\n1\n1\n", [], "has 2 rows, .* has 3"),
        ("id,cluster\na,0\n", "id,class\nb,0\n", ["--id-column", "id"], "are not in .* 'a'"),
        ("id,cluster\na,0\na,1\n", "id,class\na,0\n", ["--id-column", "id"], "more than one row"),
        ("x,z\n0,1\n", "class\n0\n", [], "which column holds the labels. Give --label-column"),
        ("cluster\n0\n", "class,x\n0,1\n", ["--truth-column", "klass"], "klass"),
        ("a,cluster\n1,\n2,3\n", "class\n0\n1\n", [], "row 1 has no 'cluster'"),
    ],
)
def test_score_wrong_usage(tmp_path, labels, truth, options, message):
    import re

    (tmp_path / "l.csv").write_text(labels)
    (tmp_path / "t.csv").write_text(truth)
    result = run("score", tmp_path / "l.csv", tmp_path / "t.csv", *options)
    assert result.exit_code == 2
    assert re.search(message, " ".join(result.stderr.split()))


# -------------------------------------------------------------------- demo, algorithms, and all


def test_demo(tmp_path):
    folder = tmp_path / "demo"
    result = run("demo", "--folder", folder)
    assert result.exit_code == 0, result.output
    assert "consistent" in result.output
    assert "must be together, but" in flat(result)
    assert {path.name for path in folder.iterdir()} == {"beans.csv", "tastings.csv", "demo.png"}
    assert (folder / "demo.png").read_bytes().startswith(b"\x89PNG")
    # What it tells people to try works.
    command = flat(result).rpartition("linkwise check ")[2].split()
    assert run("check", *command).exit_code == 0


def test_algorithms():
    listed = json.loads(run("algorithms", "--json").stdout)
    assert {"COPKMeans", "MPCKMeans", "ReCon", "BoostCluster"} <= {m["name"] for m in listed}
    assert "MPCKMeans" in run("algorithms").output


def test_version_and_help():
    assert "linkwise 0." in run("--version").output
    for command in ("check", "score", "demo", "algorithms"):
        assert run(command, "--help").exit_code == 0
    assert "linkwise check links.csv" in run("check", "--help").output


def test_large_files_show_progress(tmp_path):
    """In a terminal a bar appears while a large file is read; the answer is the same."""
    path = tmp_path / "links.csv"
    lines = "".join(f"{i},{i + 1},must\n" for i in range(100_000))
    path.write_text("i,j,link\n" + lines * 14)
    primary, secondary = pty.openpty()
    done = subprocess.Popen(
        [sys.executable, "-m", "linkwise", "check", str(path), "--json"],
        stdout=subprocess.PIPE,
        stderr=secondary,
        env={**os.environ, "TERM": "xterm"},
        text=True,
    )
    output = done.communicate(timeout=300)[0]
    os.close(secondary)
    shown = b""
    while True:
        try:
            part = os.read(primary, 65536)
        except OSError:  # the other end is closed and everything is read
            break
        if not part:
            break
        shown += part
    os.close(primary)
    assert json.loads(output)["must_link"] == 100_000
    assert b"reading links.csv" in shown


def test_ids_with_markup_stay_text(tmp_path):
    path = tmp_path / "links.csv"
    path.write_text("i,j,link\n[red]x,[/red]y,must\n[red]x,[/red]y,cannot\n")
    result = run("check", path)
    assert result.exit_code == 1
    assert "[red]x - [/red]y" in flat(result)
    assert Path(path).exists()
