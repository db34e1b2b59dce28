"""The measurement of AutoCluster, as far as it takes to see that the command works."""

from __future__ import annotations

import csv
import runpy
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "papers" / "beyond" / "choose.py"


def test_the_command_prints_tables_and_writes_scores(tmp_path, capsys):
    main = runpy.run_path(str(SCRIPT))["main"]
    main(["--quick", "--sets", "iris", "--draws", "1", "--seconds", "0", "--output", str(tmp_path)])
    said = capsys.readouterr().out
    assert "best fixed one in hindsight" in said
    assert "k found exactly" in said
    with (tmp_path / "choose_quick.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 10
