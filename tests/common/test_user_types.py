"""Code of users under ``mypy --strict`` sees real types."""

from pathlib import Path

import pytest

CODE = """
import numpy as np
import linkwise
from linkwise import Constraints, MPCKMeans, ConstrainedMixture, Session, TextEmbedder
from linkwise.tables import Table, as_table, read_table, table_features
from linkwise.evaluation import LinksScorer, score

known = Constraints(must_link=[(0, 1)])
model = MPCKMeans(n_clusters=3, random_state=0)
fitted = model.fit(np.zeros((4, 2)), constraints=known)
reveal_type(known.n_must_link)
reveal_type(fitted)
reveal_type(fitted.predict(np.zeros((4, 2))))
reveal_type(fitted.predict_proba(np.zeros((4, 2))))
reveal_type(fitted.report_)
reveal_type(fitted.labels_)
reveal_type(read_table("a.csv"))
reveal_type(table_features(as_table({"a": [1]})).names)
reveal_type(TextEmbedder().fit(["a"]).transform(["a"]))
reveal_type(score([0, 1], [0, 1]).ari)
reveal_type(linkwise.load_model("a.linkwise").labels)
wrong: str = known.n_must_link
"""
EXPECTED = [
    "int", "MPCKMeans", "_32Bit", "float64", "Report", "_32Bit", "Table", "list[str]", "floating",
    "float", "_32Bit",
]  # fmt: skip


def test_strict_users(tmp_path, monkeypatch):
    api = pytest.importorskip("mypy.api")
    file = tmp_path / "user.py"
    file.write_text(CODE)
    root = Path(__file__).parents[2]
    monkeypatch.chdir(root)  # the cache of `make lint` counts for the same options only
    told, _, _ = api.run([str(file)])
    own = [line for line in told.splitlines() if "user.py" in line]
    seen = [line.partition("Revealed type is ")[2] for line in own if "Revealed" in line]
    assert len(seen) == len(EXPECTED), told
    for found, part in zip(seen, EXPECTED, strict=True):
        assert part in found, told
    errors = [line for line in own if "error:" in line]
    assert len(errors) == 1, told
    assert "Incompatible types in assignment" in errors[0]
