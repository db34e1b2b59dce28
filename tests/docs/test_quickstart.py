"""The recipe of the quickstart is as good as k-means that is given the number of clusters."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner

from linkwise import Constraints
from linkwise.cli import app
from linkwise.datasets import load

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "quickstart.md"
RECIPE = re.search(r"^ *linkwise (cluster customers\.csv .*)$", PAGE.read_text("utf-8"), re.M)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["iris", "wine", "wdbc"])
def test_the_recipe_reaches_kmeans_that_is_given_k(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = load(name)
    ids = [f"c{row}" for row in range(len(data.target))]
    table = pd.DataFrame(data.data, index=pd.Index(ids, name="customer")).add_prefix("column ")
    table.to_csv("customers.csv")
    scores = []
    for draw in range(3):
        links = Constraints.from_labels(data.target, 50, "balanced", ids=ids, random_state=draw)
        pairs = pd.DataFrame([*links.must_link, *links.cannot_link], columns=["i", "j"])
        pairs["link"] = ["same"] * links.n_must_link + ["different"] * links.n_cannot_link
        pairs.to_csv("pairs.csv", index=False)
        done = CliRunner().invoke(app, shlex.split(RECIPE[1]))
        assert done.exit_code == 0, done.output
        found = pd.read_csv("clusters.csv", index_col="customer")["cluster"]
        scores.append(adjusted_rand_score(data.target, found.loc[ids]))
    X = StandardScaler().fit_transform(data.data)
    plain = KMeans(len(set(data.target)), n_init=10, random_state=0).fit_predict(X)
    assert sum(scores) / len(scores) >= adjusted_rand_score(data.target, plain) - 0.02
