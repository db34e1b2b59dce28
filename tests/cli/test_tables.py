"""`linkwise cluster` on tables as people have them, and the table it writes."""

import csv

import numpy as np
import pytest
from typer.testing import CliRunner

from linkwise.cli import app


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def flat(result):
    return " ".join((result.output + result.stderr).split())


ROWS = [
    *[(f"T{n}", f"{10 + n % 3},5 €", "2024-01-0" + str(1 + n % 4), "A") for n in range(12)],
    *[(f"T{n}", f"{90 + n % 3},5 €", "2024-02-0" + str(1 + n % 4), "B") for n in range(12, 24)],
]
HEADER = ("ticket", "price", "when", "who")


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "tickets.csv"
    with path.open("w", newline="", encoding="cp1252") as file:
        writer = csv.writer(file)
        writer.writerows([HEADER, *ROWS])
    return path


@pytest.fixture
def pairs(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("i,j,link\nT0,T1,same\nT0,T12,different\n")
    return path


def read(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_append_writes_the_table_with_clusters(table, pairs, tmp_path):
    target = tmp_path / "out.csv"
    refused = run("cluster", table, "-k", 2, "--id-column", "ticket", "-o", target)
    assert refused.exit_code == 2
    assert "--encoding cp1252" in flat(refused)
    done = run(
        "cluster", table, "-k", 2, "--id-column", "ticket", "--constraints", pairs,
        "--encoding", "cp1252", "--label-column", "who", "--algorithm", "pck", "-o", target,
        "--append",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "'price': read as numbers: amounts of money" in flat(done)
    rows = read(target)
    assert list(rows[0]) == [*HEADER, "cluster", "cluster_name", "probability"]
    assert [tuple(row[name] for name in HEADER) for row in rows] == ROWS
    assert {row["cluster_name"] for row in rows[:12]} == {"A"}
    assert all(float(row["probability"]) > 0.5 for row in rows)


def test_append_needs_a_table(table, tmp_path):
    for more in ((), ("-o", tmp_path / "a.npy")):
        refused = run("cluster", table, "-k", 2, "--append", *more)
        assert refused.exit_code == 2
        assert "--append needs -o" in flat(refused)


def test_columns_of_the_same_name_are_kept(tmp_path):
    path, target = tmp_path / "a.csv", tmp_path / "out.csv"
    path.write_text("x,cluster\n1,a\n2,a\n9,b\n8,b\n")
    done = run("cluster", path, "-k", 2, "--features", "x", "-o", target, "--append")
    assert done.exit_code == 0, done.output
    assert list(read(target)[0])[:3] == ["x", "cluster_before", "cluster"]


def test_excel_in_and_out(tmp_path, pairs):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in [HEADER, *ROWS]:
        book.active.append(row)
    data, target = tmp_path / "a.xlsx", tmp_path / "out.xlsx"
    book.save(data)
    done = run(
        "cluster", data, "-k", 2, "--id-column", "ticket", "--features", "price,when",
        "--constraints", pairs, "-o", target, "--append",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    found = list(openpyxl.load_workbook(target).active.iter_rows(values_only=True))
    assert found[0] == (*HEADER, "cluster", "probability")
    assert [row[:4] for row in found[1:]] == ROWS


def test_embeddings_in_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 0.1, (30, 5)), rng.normal(1, 0.1, (30, 5))])
    data, target = tmp_path / "photos.parquet", tmp_path / "out.parquet"
    columns = {"photo": [f"p{n}" for n in range(60)], "product": [str(n // 2) for n in range(60)]}
    parquet.write_table(pa.table({**columns, "embedding": X.tolist()}), data)
    done = run(
        "cluster", data, "-k", 2, "--id-column", "photo", "--together-column", "product",
        "--algorithm", "pck", "-o", target, "--append",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    found = parquet.read_table(target)
    assert found.column_names == [*columns, "embedding", "cluster", "probability"]
    assert found["embedding"].to_pylist() == X.tolist()
    assert len(set(found["cluster"].to_pylist()[:30])) == 1


def test_missing_marks_and_constraints_on_rows_that_are_not_there(tmp_path):
    data, links = tmp_path / "a.csv", tmp_path / "links.csv"
    data.write_text("id,x\n" + "".join(f"r{n},{'#' if n == 3 else n}\n" for n in range(12)))
    links.write_text("i,j,link\nr0,r1,same\nr0,r99,different\n")
    arguments = ("cluster", data, "-k", 2, "--id-column", "id", "--constraints", links)
    filled = (*arguments, "--missing", "#")
    done = run(*filled)
    assert done.exit_code == 2
    assert "r99" in flat(done)
    links.write_text("i,j,link\nr0,r1,same\n")
    assert run(*filled).exit_code == 0


def test_columns_of_ranks_are_a_tree(tmp_path):
    data = tmp_path / "animals.csv"
    data.write_text(
        "name,class,order,legs\ncat,mammal,carnivore,4\ndog,mammal,carnivore,4\n"
        "bat,mammal,bat,2\neel,fish,,0\ntrout,fish,,0\nwren,bird,,2\n"
    )
    done = run(
        "cluster", data, "-k", 3, "--id-column", "name", "--taxonomy-columns", "class,order",
        "--algorithm", "recon",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "5 of 5 constraints satisfied" in flat(done)
    refused = run("cluster", data, "-k", 3, "--taxonomy-columns", "class,ordre")
    assert "did you mean 'order'" in flat(refused)


def test_a_saved_model_embeds_new_texts(tmp_path):
    pytest.importorskip("wordllama")
    data, new, target = tmp_path / "a.csv", tmp_path / "new.csv", tmp_path / "out.csv"
    texts = ["cancel my contract", "end the subscription", "the camera is broken", "a cracked lens"]
    data.write_text("text\n" + "\n".join(texts) + "\n")
    new.write_text("text\nterminate the contract\n")
    texted = ("--text-column", "text", "--embedding", "wordllama", "--algorithm", "pck")
    done = run("cluster", data, "-k", 2, *texted, "--save", tmp_path / "m.linkwise", "-o", target)
    assert done.exit_code == 0, done.output
    done = run("predict", tmp_path / "m.linkwise", new, "-o", tmp_path / "p.csv", "--append")
    assert done.exit_code == 0, done.output
    first = read(target)
    assert read(tmp_path / "p.csv")[0]["cluster"] == first[0]["cluster"] == first[1]["cluster"]


def test_a_tree_as_constraints(tmp_path):
    data, tree = tmp_path / "animals.csv", tmp_path / "tree.nwk"
    data.write_text("name,legs\ncat,4\ndog,4\nbat,2\neel,0\ntrout,0\nwren,2\n")
    tree.write_text("(((cat,dog),bat),(eel,trout),wren);")
    done = run(
        "cluster", data, "-k", 3, "--id-column", "name", "--constraints", tree,
        "--algorithm", "recon",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "5 of 5 constraints satisfied" in flat(done)
    refused = run("check", tree, "--data", data, "--id-column", "name")
    assert refused.exit_code == 0, refused.output
