"""The claims of Liu et al. (2007), as far as it takes to see that the command works."""

from __future__ import annotations

import csv
import runpy
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "papers" / "liu2007_boostcluster"


def test_the_command_prints_verdicts_and_writes_tables(tmp_path, capsys):
    main = runpy.run_path(str(FOLDER / "claims.py"))["main"]
    main(["--quick", "--rows", "120", "--draws", "1", "--sets", "wdbc", "--output", str(tmp_path)])
    said = capsys.readouterr().out
    assert "B1 BoostCluster improves k-means, single link and spectral: " in said
    assert "0 of " in said.split("B4")[1]  # rounds above the bound
    with (tmp_path / "quick.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 9  # three bases, three numbers of links
    assert {row["links"] for row in rows} == {"0", "200", "800"}
    assert (tmp_path / "quick_rounds.csv").stat().st_size > 100
