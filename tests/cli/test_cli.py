"""The command line, run as a person runs it."""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import subprocess
import sys
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from linkwise import Constraints
from linkwise._errors import InputError
from linkwise.cli import _input, _output, app, main
from linkwise.evaluation import score

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
    assert "2 clusters can satisfy all cannot-links" in text
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
    assert "-k 1 is too small" in flat(result)
    result = run("check", links, "--data", data, "--id-column", "name", "-k", 9)
    assert result.exit_code == 2
    assert "-k 9 is larger than the number of rows, 5" in result.stderr
    result = run("check", links, "--data", data, "--id-column", "name", "-k", 4)
    assert result.exit_code == 1
    assert "-k 4 is too large: must-links leave only 3 groups of rows" in flat(result)


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


PYTHON_WORDS = ("sample_ids", "DataFrame", "columns=", "columns:", "ids=", "n_clusters", "`")


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("i,j,link\nana,zoe,must\n", ["--data"], "no row has the id 'zoe'"),
        ("i,j,link\nX,Y,must\n", ["--data", "--id-column", "city"],
         "line 2 and line 4 have the same 'city', 'X'"),
        ("p,q,link\n0,1,must\n", [],
         "the columns 'p', 'q', 'link' do not define links; expected i, j, link[, weight or "
         "confidence][, annotator]; "
         "or a, b, c[, weight]; or group, row, kind, or name them with "
         "--column i=NAME --column j=NAME"),
        ("i,j\n0,1\n", [], "or name them with --column i=NAME --column j=NAME"),
        ("i,j,link\n0,1,must\n", ["--column", "k=i"], "--column: unknown role 'k'; roles are i,"),
        ("i,j,link\n0,1,must\nana,2,must\n", [], "read them with --data and --id-column"),
        ("i,j,link\n" + "1,1,must\n" * 30, [], "... and 10 more"),
        ("i,j,link\n0,1,must\n", ["--data", "-k", "9"], "-k 9 is larger than"),
    ],
)  # fmt: skip
def test_messages_name_options_not_arguments(links, data, content, options, message):
    links.write_text(content)
    if options[:1] == ["--data"]:
        options = ["--data", data, *options[1:]]
    result = run("check", links, *options)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert not [word for word in PYTHON_WORDS if word in result.stderr]


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("i,j,link\n0,99,must\n", ["--data"], "row 99 is out of range; there are rows 0 to 4"),
        ("i,j,link\nana,zoe,must\n", ["--data", "--id-column", "name"],
         "line 2 of links.csv: no row has the id 'zoe'"),
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


def plain(text):
    """Without the frame of a panel and line breaks."""
    return " ".join(text.replace("│", " ").split())


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
    assert json.loads(result.stdout)["satisfied"] == 0.5


@pytest.mark.parametrize(
    ("labels", "truth", "options", "message"),
    [
        ("cluster\n0\n1\n", "class\n0\n1\n1\n", [], "has 2 rows, .* has 3"),
        ("id,cluster\na,0\nb,0\n", "id,class\nb,0\n", ["--id-column", "id"],
         "1 rows of .* are not in .* 'a'"),
        ("id,cluster\na,0\n", "id,class\nb,0\n", ["--id-column", "id"],
         "no row of .*l.csv is in .*t.csv: .* 'a', .* 'b'; is --id-column the right one"),
        ("0\n0\n1\n", "class\n0\n0\n1\n", [], "l.csv: line 1 holds only numbers .* add a line"),
        ("cluster\n0\n0\n1\n", "0\n0\n1\n", [], "t.csv: line 1 holds only numbers .* add a line"),
        ("id,cluster\na,0\na,1\n", "id,class\na,0\n", ["--id-column", "id"], "have the same .id."),
        ("x,z\n0,1\n", "class\n0\n", [], "which column holds the labels. Give --label-column"),
        ("cluster\n0\n", "class,x\n0,1\n", ["--truth-column", "klass"], "klass"),
        ("a,cluster\n1,\n2,3\n", "class\n0\n1\n", [], "line 2 has no 'cluster'"),
    ],
)  # fmt: skip
def test_score_wrong_usage(tmp_path, labels, truth, options, message):
    import re

    (tmp_path / "l.csv").write_text(labels)
    (tmp_path / "t.csv").write_text(truth)
    result = run("score", tmp_path / "l.csv", tmp_path / "t.csv", *options)
    assert result.exit_code == 2
    assert re.search(message, " ".join(result.stderr.split()))


@pytest.mark.parametrize(
    "clusters",
    [
        ["-1", "-1", "0", "0", "1"],
        ["-1.0", "-1.0", "0.0", "0.0", "1.0"],
        ["-1", "-1", "a", "a", "b"],
    ],
)
def test_score_knows_minus_one_as_no_cluster(tmp_path, clusters):
    labels, truth, links = (tmp_path / name for name in ("l.csv", "t.csv", "links.csv"))
    classes = [0, 0, 1, 1, 1]
    labels.write_text("\n".join(["cluster", *clusters]))
    truth.write_text("\n".join(["class", *map(str, classes)]))
    links.write_text("i,j,link\n0,1,must\n2,3,must\n0,1,cannot\n0,4,cannot\n")
    result = run("score", labels, truth, "--constraints", links, "--json")
    found = json.loads(result.stdout)
    expected = score(classes, [-1, -1, 0, 0, 1], constraints=Constraints.read(links)).to_dict()
    assert found == {**expected, "rows_without_label": 0}
    assert found["satisfied"] == 0.75


def test_score_counts_rows_without_a_label(tmp_path):
    labels, truth = tmp_path / "labels.csv", tmp_path / "truth.csv"
    labels.write_text("id,cluster\nd,0\nb,1\n")
    truth.write_text("id,class\na,P\nb,P\nc,Q\nd,Q\n")
    result = run("score", labels, truth, "--id-column", "id", "--json")
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert (found["n_rows"], found["rows_without_label"]) == (2, 2)
    note = f"note: rows of {truth} that {labels} lacks are not scored: 2 of 4, the first 'a'"
    assert note in result.stderr
    assert note in run("score", labels, truth, "--id-column", "id").stderr
    labels.write_text("id,cluster\nd,0\nb,1\na,1\nc,0\n")
    result = run("score", labels, truth, "--id-column", "id", "--json")
    assert json.loads(result.stdout)["rows_without_label"] == 0
    assert not result.stderr


def test_score_with_own_columns_of_constraints(tmp_path):
    labels, links = tmp_path / "labels.csv", tmp_path / "links.csv"
    labels.write_text("cluster\n0\n0\n1\n")
    links.write_text("p,q,link\n0,1,must\n")
    result = run("score", labels, labels, "--constraints", links)
    assert result.exit_code == 2
    assert "--column i=NAME --column j=NAME" in result.stderr
    columns = ["--column", "i=p", "--column", "j=q"]
    result = run("score", labels, labels, "--constraints", links, *columns, "--json")
    assert json.loads(result.stdout)["satisfied"] == 1.0


# -------------------------------------------------------------------- demo, algorithms, and all


def test_demo(tmp_path):
    folder = tmp_path / "a demo"
    result = run("demo", "--folder", folder)
    assert result.exit_code == 0, result.output
    assert "consistent" in result.output
    assert "must be together, but" in flat(result)
    assert "Plain k-means" in flat(result)
    assert {path.name for path in folder.iterdir()} == {"beans.csv", "tastings.csv"}
    # What it tells people to try works.
    lines = result.output.partition("try it yourself:")[2].strip().splitlines()
    commands = [shlex.split(line)[1:] for line in lines]
    assert [command[0] for command in commands] == ["check", "cluster", "score"]
    for command in commands:
        found = run(*command)
        assert found.exit_code == 0, found.output
    assert {"clusters.csv", "report.html"} <= {path.name for path in folder.iterdir()}
    assert json.loads(run(*commands[-1], "--json").stdout)["ari"] > 0.9


def test_version_and_help():
    assert "linkwise 0." in run("--version").output
    for command in ("cluster", "check", "score", "demo"):
        assert run(command, "--help").exit_code == 0
    assert "linkwise check pairs.csv" in run("check", "--help").output


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


def seen_in_a_terminal(monkeypatch, path) -> str:
    """What people see while the file is read as a large one."""
    screen = StringIO()
    monkeypatch.setattr(_input, "_LARGE_FILE", 0)
    monkeypatch.setattr(_output, "errors", Console(file=screen, force_terminal=True))
    assert _input.read_constraints(path, "auto", []).n_must_link == 1
    return screen.getvalue()


@pytest.mark.parametrize("name", ["links.parquet", "LINKS.PQ"])
def test_spinner_for_large_parquet_files(tmp_path, monkeypatch, name):
    """Their reader does not tell how far it is: a bar would stand still."""
    pytest.importorskip("pyarrow")
    Constraints(must_link=[(0, 1)]).write(tmp_path / name)
    shown = seen_in_a_terminal(monkeypatch, tmp_path / name)
    assert f"reading {name}" in shown
    assert "%" not in shown


# -------------------------------------------------------------------- exit codes of main


@pytest.fixture
def exit_code(monkeypatch):
    """Run `main` as the shell does, with reading that raises, and return the exit code."""

    def exit_code(*arguments, raising=None):
        def fail(*_, **__):
            raise raising

        # typer sets a hook of its own for exceptions; this puts the old one back afterwards.
        monkeypatch.setattr(sys, "excepthook", sys.excepthook)
        monkeypatch.setattr(sys, "argv", ["linkwise", *map(str, arguments)])
        if raising is not None:
            monkeypatch.setattr(Constraints, "read", fail)
        with pytest.raises(SystemExit) as caught:
            main()
        return caught.value.code

    return exit_code


def test_main_exits_as_the_commands_say(exit_code, links, capsys):
    assert exit_code("--version") == 0
    assert exit_code("check", links) == 0
    assert exit_code("check", links, "-k", 1) == 1
    assert exit_code("check", links.with_name("nothing.csv")) == 2
    assert exit_code("chekc") == 2
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "fault", [RuntimeError("boom"), KeyError("boom"), ZeroDivisionError("boom")]
)
def test_main_asks_to_report_a_fault(exit_code, links, capsys, fault):
    assert exit_code("check", links, raising=fault) == 70
    shown = capsys.readouterr()
    assert not shown.out
    assert "Traceback" in shown.err
    assert "boom" in shown.err
    assert "Please report it" in shown.err.splitlines()[-1]


@pytest.mark.parametrize(
    "work", [lambda: None + 1, lambda: int("x"), lambda: np.ones(2) + np.ones(3)]
)
def test_an_operation_that_fails_is_a_fault_with_its_traceback_in_a_file(
    exit_code, links, capsys, monkeypatch, work
):
    monkeypatch.setattr(Constraints, "diagnose", lambda *_, **__: work())
    assert exit_code("check", links) == 70
    shown = capsys.readouterr().err
    assert not shown.startswith("error:")
    (path,) = re.findall(r"Traceback: (\S+)", shown)
    assert "Traceback (most recent call last)" in Path(path).read_text()
    assert "/issues" in shown.splitlines()[-1]
    Path(path).unlink()


def test_errors_carry_what_is_needed():
    with pytest.raises(InputError) as caught:
        Constraints([(0, 1)]).diagnose(3, n_rows=2)
    error = caught.value
    assert (error.parameter, error.value, error.limit) == ("n_clusters", "3", 2)
    assert str(error).startswith("n_clusters=3 is larger")
    assert _output.in_words(error).startswith("-k 3 is larger")


def test_main_interrupted(exit_code, links, capsys):
    assert exit_code("check", links, raising=KeyboardInterrupt()) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_main_with_a_file_that_ends_early(exit_code, links, capsys):
    assert exit_code("check", links, raising=EOFError("ends too early")) == 2
    assert "error: ends too early" in capsys.readouterr().err


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_reader_that_goes_away_is_no_contradiction(links, options):
    """As in `linkwise check pairs.csv | head -0`."""
    command = [sys.executable, "-m", "linkwise", "check", str(links), *options]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert done.returncode == 141
    assert not done.stderr


def test_ids_with_markup_stay_text(tmp_path):
    path = tmp_path / "links.csv"
    path.write_text("i,j,link\n[red]x,[/red]y,must\n[red]x,[/red]y,cannot\n")
    result = run("check", path)
    assert result.exit_code == 1
    assert "[red]x - [/red]y" in flat(result)
    assert Path(path).exists()
