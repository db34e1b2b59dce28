"""What a new user meets on the command line: hints, errors that help, words on the choice."""

from __future__ import annotations

import re

import pytest
from typer.testing import CliRunner

from linkwise.cli import _output, app

runner = CliRunner()


def run(*arguments):
    return runner.invoke(app, [*map(str, arguments)])


def flat(text: str) -> str:
    return " ".join(text.replace("│", " ").split())


@pytest.fixture
def shop(tmp_path):
    """Thirty customers in three groups, with ids from 100 on, and five links by id."""
    data, links = tmp_path / "shop.csv", tmp_path / "links.csv"
    rows = [f"{100 + i},{20 + 20 * (i % 3) + i / 10},{'abc'[i % 3]}" for i in range(30)]
    data.write_text("cid,age,plan\n" + "\n".join(rows) + "\n")
    links.write_text(
        "i,j,link\n100,103,must\n101,104,must\n102,105,must\n100,101,cannot\n101,102,cannot\n"
    )
    return data, links


def test_ids_out_of_range_name_the_column(shop):
    data, links = shop
    result = run("cluster", data, "-k", 3, "--constraints", links)
    assert result.exit_code == 2
    assert "name the column that holds the ids" in result.stderr
    assert result.stderr.endswith("More: linkwise help ids\n")


def test_a_slip_in_a_column_of_numbers_is_no_category(shop):
    data, _ = shop
    data.write_text(data.read_text().replace("104,40.4", "104,about 40"))
    result = run("cluster", data, "-k", 3, "--id-column", "cid")
    assert result.exit_code == 2
    assert "column 'age' has numbers, but also 'about 40' in line 6; " in result.stderr
    assert "--features" in result.stderr


def test_codes_of_a_category_may_be_numbers(tmp_path):
    data = tmp_path / "loans.csv"
    cells = ["0", "1", "2", "0", "1", "2", "0", "1", "2", "0", "1", "3+"]
    rows = [f"{row},{cell}" for row, cell in enumerate(cells)]
    data.write_text("x,children\n" + "\n".join(rows) + "\n")
    result = run("cluster", data, "-k", 2, "--algorithm", "pck")
    assert result.exit_code == 0, result.output


def test_ids_must_differ_even_without_constraints(shop):
    data, _ = shop
    data.write_text(data.read_text().replace("104,", "101,"))
    result = run("cluster", data, "-k", 3, "--id-column", "cid")
    assert result.exit_code == 2
    assert "line 3 and line 6 have the same 'cid', '101'; ids must differ" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "topic"),
    [
        (["-k", 31], "clusters"),
        (["-k", 3, "--features", "wage"], "data"),
        (["-k", 3, "--constraints", "wrong.csv"], "files"),
        (["-k", 3, "--constraints", "empty.csv"], "files"),
        (["-k", 3, "--features", "age", "--id-column", "plan"], "ids"),
    ],
)
def test_errors_say_where_to_read_on(shop, monkeypatch, arguments, topic):
    data, _ = shop
    monkeypatch.chdir(data.parent)
    (data.parent / "wrong.csv").write_text("who,whom,link\n1,2,must\n")
    (data.parent / "empty.csv").write_text("")
    result = run("cluster", data, *arguments)
    assert result.exit_code == 2
    assert result.stderr.endswith(f"More: linkwise help {topic}\n")
    assert run("help", topic).exit_code == 0


@pytest.mark.parametrize("command", ["cluster", "check"])
def test_missing_files_are_told_alike(command, tmp_path):
    result = run(command, tmp_path / "nothing.csv", "-k", 3)
    assert "nothing.csv: no such file (looked for in " in flat(result.stderr).replace("\n", "")


@pytest.mark.parametrize("k", ["three", "0", "2.5"])
def test_k_is_a_whole_number(shop, k):
    result = run("cluster", shop[0], "-k", k)
    assert result.exit_code == 2
    assert f"'{k}': expected a whole number, at least 1" in flat(result.stderr)


def test_labels_against_links_are_noted(shop):
    data, links = shop
    lines = data.read_text().splitlines()
    labeled = [
        f"{line},{'label' if not row else 'XY'[row % 2] if row < 3 else ''}"
        for row, line in enumerate(lines)
    ]
    data.write_text("\n".join(labeled) + "\n")
    links.write_text("i,j,link\n100,101,must\n")
    result = run(
        "cluster", data, "-k", 3, "--id-column", "cid", "--label-column", "label",
        "--constraints", links, "--algorithm", "pck",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "the constraints and labels contradict each other" in result.stderr
    assert re.search(r"line 2 of links.csv and line [23] of shop.csv", result.stderr)


def test_what_sets_clusters_apart_with_an_output_too(shop, tmp_path):
    result = run("cluster", shop[0], "-k", 3, "--id-column", "cid", "-o", tmp_path / "labels.csv")
    assert "what sets it apart" in flat(result.stdout)


def test_the_report_says_what_it_was_made_of(shop, tmp_path, monkeypatch):
    data, links = shop
    page = tmp_path / "report.html"
    monkeypatch.setattr(_output, "_said", ["cluster", "<shop>.csv"])
    result = run(
        "cluster", data, "-k", 3, "--id-column", "cid", "--constraints", links, "--report", page
    )
    assert result.exit_code == 0, result.output
    text = page.read_text()
    for part in ("shop.csv", "links.csv", "linkwise cluster &#x27;&lt;shop&gt;.csv&#x27;"):
        assert part in text
    assert re.search(r"date: <code>\d{4}-\d\d-\d\d \d\d:\d\d</code>", text)
    assert "cost of the others" not in text
    assert 'style="width:33.33%"' in text


@pytest.mark.parametrize(
    ("typed", "line"),
    [
        ("cluster D --standardize -k 3", "cluster D -k 3"),
        ("cluster D --k 3 --n-init 10", "cluster D -k 3"),
        (
            "cluster D -k 3 --algorithm pck --n-init=2",
            "cluster D -k 3 --algorithm pck --set n_init=2",
        ),
        ("cluster --features age plan D -k 3", "cluster --features age,plan D -k 3"),
        ("cluster D --features age, plan -k 3", "cluster D --features age,plan -k 3"),
        ("cluster D -k auto --random-state 1", "cluster D --seed 1"),
        ("cluster D --pairs L --id cid -k 3", "cluster D --constraints L --id-column cid -k 3"),
        ("cluster D L -k 3 --id-column cid", "cluster D --constraints L -k 3 --id-column cid"),
        ("check D L --id-column cid", "check L --data D --id-column cid"),
        ("check D --constraints L --id-column cid", "check L --data D --id-column cid"),
    ],
)
def test_wrong_lines_name_the_line_to_type(shop, monkeypatch, typed, line):
    monkeypatch.chdir(shop[0].parent)
    names = {"D": shop[0].name, "L": shop[1].name}
    wrong, right = ([names.get(word, word) for word in text.split()] for text in (typed, line))
    result = run(*wrong)
    assert result.exit_code == 2
    assert "type: linkwise " + " ".join(right) in flat(result.stderr)
    assert run(*right).exit_code == 0


@pytest.mark.parametrize("name", ["kmeans", "K-Means", "dbscan", "gmm", "agglomerative"])
def test_names_of_other_methods_name_the_one_to_type(shop, name):
    result = run("cluster", shop[0], "-k", 3, "--algorithm", name)
    assert result.exit_code == 2
    assert "; type --algorithm " in result.stderr


def test_links_in_german_and_one_note_on_a_comment_column(shop):
    data, links = shop
    data.write_text(data.read_text().replace("cid", "id"))  # recognized: the links are read twice
    text = links.read_text().replace("must", "ja,seen").replace("cannot", "nein,seen")
    links.write_text(text.replace("link", "link,comment"))
    result = run("cluster", data, "-k", 3, "--constraints", links)
    assert result.exit_code == 0, result.output
    assert result.stderr.count("'comment'") == 1
