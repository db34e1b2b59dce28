"""The page's own code where it has logic, run by Node without a browser."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import linkwise.studio

LIB = Path(linkwise.studio.__file__).parent / "web" / "lib"

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="no node on this machine")


def run(module, expression, tmp_path):
    """The value of an expression in which `m` is a module of the page."""
    for file in LIB.glob("*.js"):
        code = re.sub(r'"linkwise/lib/(\w+)\.js"', r'"./\1.mjs"', file.read_text())
        (tmp_path / f"{file.stem}.mjs").write_text(code)
    copy = tmp_path / f"{module}.mjs"
    code = (
        f"import * as m from {json.dumps(copy.as_uri())}; console.log(JSON.stringify({expression}))"
    )
    command = ["node", "--input-type=module", "-e", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_selection(tmp_path):
    expression = """(() => {
      const s = new m.Selection(); const rows = [10, 11, 12, 13, 14];
      const one = [...s.click(rows, 1)];
      const many = [...s.click(rows, 3, true)];
      const fewer = [...s.click(rows, 2)];
      s.set([]);
      const walked = [...s.click(rows, 2, true, 1)];
      return [one, many, fewer, walked];
    })()"""
    assert run("selection", expression, tmp_path) == [[11], [11, 12, 13], [11, 13], [11, 12]]


def test_files_that_are_dropped(tmp_path):
    def files(*paths):
        return json.dumps([{"path": path} for path in paths])

    mixed = files("a/x.csv", "a/1.png", "a/notes.md")
    expression = f"m.trimmed(m.choose({mixed})).map((f) => f.path)"
    assert run("files", expression, tmp_path) == ["x.csv", "1.png"]
    names = f"[m.nameOf({mixed}), m.nameOf({files('digits/1.png')}), m.nameOf({files('1.png')})]"
    assert run("files", names, tmp_path) == ["x.csv", "digits", "images"]
    for wrong, told in ((files("a.csv", "b.xlsx"), "One table"), (files("a.py"), "Drop a CSV")):
        error = f"(() => {{ try {{ m.choose({wrong}) }} catch (e) {{ return e.message }} }})()"
        assert told in run("files", error, tmp_path)


def test_keys_by_letter_then_by_position(tmp_path):
    keys = [("s", "KeyS"), ("S", "KeyS"), ("ы", "KeyS"), ("z", "KeyY"), ("1", "Digit1")]
    events = json.dumps([{"key": key, "code": code} for key, code in keys])
    found = run("keys", f"{events}.map(m.letter)", tmp_path)
    assert found == ["s", "s", "s", "z", ""]


def test_clusters_are_found_and_sorted(tmp_path):
    few = (
        "[{name: 'Élan', number: 9, size: 2, traits: []},"
        " {name: 'b', number: 1, size: 3, traits: [['', 'high age']]}]"
    )
    names = "m.arranged({}, {!r}, {!r}).map((c) => c.name)"
    assert run("words", names.format(few, "elan", "number"), tmp_path) == ["Élan"]
    assert run("words", names.format(few, "high AGE", "number"), tmp_path) == ["b"]
    assert run("words", names.format(few, "10", "number"), tmp_path) == ["Élan"]
    assert run("words", names.format(few, "", "size"), tmp_path) == ["b", "Élan"]


def test_words(tmp_path):
    assert run("words", "m.breakable('a_b-c.dE')", tmp_path) == "a_\u200bb-\u200bc.\u200bd\u200bE"
    assert run("words", "[m.count(1, 'row'), m.count(2000, 'row')]", tmp_path) == [
        "1 row",
        "2,000 rows",
    ]
    assert run("words", "m.breakable('1.5 at 2020-01-02')", tmp_path) == "1.5 at 2020-01-02"
    assert run("words", "[0.84, 9.96, 811.7].map(m.rate)", tmp_path) == ["0.8", "10", "812"]
    told = "[m.explain('{\"detail\":\"no\"}', 422), m.explain('', 500)]"
    assert run("request", told, tmp_path) == ["no", "The studio answered with 500."]


def test_groups_of_a_card(tmp_path):
    expression = """(() => {
      const g = new m.Grouping(); g.join([1, 2]); g.join([3, 4]); g.join([2, 5]);
      return [g.result([1, 2, 3, 4, 5, 6], true), g.result([1, 2, 3, 4, 5, 6], false)];
    })()"""
    groups = [[1], [3, 4], [2, 5]]
    assert run("grouping", expression, tmp_path) == [[*groups, [6]], groups]


def test_what_becomes_of_a_session_whose_data_changed(tmp_path):
    changes = {
        "n_answers": 4, "added": ["n"], "removed": [f"r{k}" for k in range(7)], "changed": ["a"],
        "reordered": True, "n_features": [3, 3], "dropped": ["r0 and a: same"], "restored": [],
    }  # fmt: skip
    lines = run("changes", f"m.changeLines({json.dumps(changes)}, 10)", tmp_path)
    assert lines == [
        "4 answers kept",
        "1 record new: n",
        "7 records gone: r0, r1, r2, r3, r4, …",
        "1 record changed: a",
        "the records are in another order",
    ]
    (left_out,) = run("changes", f"m.changeLists({json.dumps(changes)})", tmp_path)
    assert left_out[1] == ["r0 and a: same"]
    changes["changed"] = ["a", "b", "c"]  # all that stay
    lines = run("changes", f"m.changeLines({json.dumps(changes)}, 10)", tmp_path)
    assert not any("changed" in line for line in lines)


def test_formats_of_one_file_stand_together(tmp_path):
    files = [{"group": g, "about": "", "name": n} for g, n in (("a", "1"), ("b", "2"), ("a", "3"))]
    found = run("files", f"m.byGroup({json.dumps(files)})", tmp_path)
    assert [[file["name"] for file in group["files"]] for group in found] == [["1", "3"], ["2"]]


def test_a_lasso_and_lines_of_density(tmp_path):
    square = "[[0, 0], [4, 0], [4, 4], [0, 4]]"
    found = run("plane", f"[[2, 2], [5, 2], [-1, 4]].map((p) => m.inside(p, {square}))", tmp_path)
    assert found == [True, False, False]
    assert run("plane", "m.median([3, 1, 2])", tmp_path) == 2
    points = """(() => { const x = [], y = [];
      for (let k = 0; k < 6000; k++) {
        const a = k * 2.39996, r = Math.sqrt(k / 6000) ** 3;
        x.push(r * Math.cos(a)); y.push(r * Math.sin(a));
      }
      return m.contours({ x, y }, { x: [-1, 1], y: [-1, 1] }); })()"""
    levels = run("plane", points, tmp_path)
    radii = [max(abs(c) for line in one["segments"] for c in line) for one in levels]
    assert radii == sorted(radii, reverse=True)  # denser levels lie inside
    assert all(one["segments"] for one in levels)
