"""Saved models: the same predictions, no pickle, whole or not at all, clear refusals."""

from __future__ import annotations

import json
import os
import pickle
import re
import signal
import subprocess
import sys
import time
import warnings
import zipfile

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from skops import io as skops
from typer.testing import CliRunner

from linkwise import Constraints, MPCKMeans, PCKMeans, load_model, save_model
from linkwise.cli import app
from linkwise.tables import Preparation, read_table, table_features
from tests.methods import instances

X, Y = make_blobs(40, 3, centers=3, random_state=0)
X = np.abs(X) + 1.0
MODELS = instances()


def fitted(model):
    known = Constraints(must_link=[(0, 1)], cannot_link=[(0, 2)])
    y = np.full(40, -1)
    if type(model).__name__ in ("SeededKMeans", "ConstrainedKMeans"):
        y[:6] = [0, 0, 1, 1, 2, 2]
    if type(model).__name__ == "PreIdentifiedKMeans":
        y[:3] = 0
        known = None
    if type(model).__name__ == "ReCon":
        known = Constraints(relative=[(0, 1, 2)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y, constraints=known) if (y >= 0).any() else model.fit(
            X, constraints=known
        )  # fmt: skip


@pytest.mark.parametrize("place", range(len(MODELS)), ids=lambda n: type(MODELS[n]).__name__)
def test_every_estimator_is_saved_by_us_and_by_pickle(place, tmp_path):
    model = fitted(MODELS[place])
    save_model(model, tmp_path / "m.linkwise")
    again = [
        load_model(tmp_path / "m.linkwise").model,
        pickle.loads(pickle.dumps(model)),
    ]
    for other in again:
        assert other.labels_.tolist() == model.labels_.tolist()
        assert str(other.report_) == str(model.report_)
        if hasattr(model, "predict"):
            assert other.predict(X).tolist() == model.predict(X).tolist()


@pytest.mark.parametrize("place", range(len(MODELS)), ids=lambda n: type(MODELS[n]).__name__)
def test_every_estimator_is_saved_without_its_rows(place, tmp_path):
    model = fitted(MODELS[place])
    save_model(model, tmp_path / "m.linkwise")
    save_model(model, tmp_path / "slim.linkwise", keep_rows=False, sample_ids=range(40))
    slim = load_model(tmp_path / "slim.linkwise")
    sizes = [(tmp_path / f"{name}.linkwise").stat().st_size for name in ("slim", "m")]
    assert sizes[0] < sizes[1]
    assert slim.ids is None
    assert not {"report_", "probabilities_"} & vars(slim.model).keys()
    assert hasattr(slim.model, "labels_") == getattr(model, "_predicts_by_rows", False)
    if hasattr(model, "predict"):
        assert slim.predict(X).tolist() == model.predict(X).tolist()


def test_constraints_ids_and_names_are_kept(tmp_path):
    known = Constraints(must_link=[("a", "b", 0.5)])
    model = PCKMeans(2, random_state=0).fit(
        [[0.0], [1.0], [9.0]], constraints=known, sample_ids=["a", "b", "c"]
    )
    path = tmp_path / "m.linkwise"
    save_model(model, path, sample_ids=["a", "b", "c"], constraints=known, names={0: "low"})
    saved = load_model(path)
    assert saved.ids == ["a", "b", "c"]
    assert saved.constraints == known
    assert saved.names == {0: "low"}
    assert saved.labels.tolist() == model.labels_.tolist()
    assert saved.facts["linkwise"]
    save_model(model, path, sample_ids=["a", "b", "c"], constraints=known, keep_rows=False)
    slim = load_model(path)
    assert slim.ids is None
    assert slim.constraints is None
    assert slim.predict([[0.2]]).tolist() == model.predict([[0.2]]).tolist()


def test_the_path_of_a_checkpoint_is_left_out(tmp_path):
    model = PCKMeans(3, random_state=0, checkpoint=tmp_path / "state").fit(X)
    save_model(model, tmp_path / "m.linkwise")
    assert load_model(tmp_path / "m.linkwise").model.checkpoint is None
    assert model.checkpoint == tmp_path / "state"


def test_a_small_file_without_rows(tmp_path):
    big = np.random.default_rng(0).normal(size=(20_000, 4))
    model = MPCKMeans(3, random_state=0, max_iter=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(big)
    save_model(model, tmp_path / "m.linkwise", keep_rows=False)
    assert (tmp_path / "m.linkwise").stat().st_size < 10_000


def test_files_that_are_none_of_ours_are_refused(tmp_path):
    path = tmp_path / "m.linkwise"
    path.write_text("hello")
    with pytest.raises(ValueError, match="not a model saved by linkwise, or is damaged"):
        load_model(path)
    path.write_bytes(skops.dumps({"a": 1}))
    with pytest.raises(ValueError, match="holds a dict, not a model"):
        load_model(path)
    # A class elsewhere, and one that a module of linkwise only imports.
    for evil in ("subprocess.Popen", "linkwise.persistence._saved_model.Path"):
        module, _, name = evil.rpartition(".")
        save_model(PCKMeans(2, random_state=0).fit(X), path)
        with zipfile.ZipFile(path) as archive:
            parts = {part: archive.read(part) for part in archive.namelist()}
        schema = parts["schema.json"].decode()
        own = '"__class__": "PCKMeans", "__module__": "linkwise.kmeans.estimators._pck"'
        plain = json.dumps(json.loads(schema))
        assert own in plain
        parts["schema.json"] = plain.replace(
            own, f'"__class__": "{name}", "__module__": "{module}"'
        ).encode()
        with zipfile.ZipFile(path, "w") as archive:
            for part, content in parts.items():
                archive.writestr(part, content)
        with pytest.raises(TypeError, match=rf"holds {re.escape(evil)}"):
            load_model(path)
    with pytest.raises(TypeError, match="cannot be saved"):
        save_model(PCKMeans(2, init=lambda X, k, rng: X[:k]).fit(X), path)


def test_the_preparation_gives_the_same_numbers(tmp_path):
    path = tmp_path / "pets.csv"
    path.write_text("name,weight,kind\nmia,4.5,cat\nrex,20,dog\ntom,,cat\nkim,7,\n")
    table = read_table(path)
    for standardize in (False, True):
        made = table_features(table, leave_out=["name"], scale=standardize)
        kept = Preparation.from_dict(json.loads(json.dumps(made.preparation.to_dict())))
        assert np.array_equal(kept.transform(table), made.X)
    text = tmp_path / "notes.csv"
    text.write_text("text\ngood dog\ngood cat\n")
    made = table_features(read_table(text), texts=["text"], embedding="words")
    found = made.preparation.transform(read_table(text))
    assert np.allclose(found, made.X)


def test_the_commands(tmp_path):
    data, new, model = tmp_path / "a.csv", tmp_path / "b.csv", tmp_path / "m.linkwise"
    rng = np.random.default_rng(0)
    lines = [f"r{i},{10 * (i % 2) + rng.normal():.3f},{'xy'[i % 2]}" for i in range(40)]
    data.write_text("\n".join(["id,size,kind", *lines]) + "\n")
    run = CliRunner().invoke
    made = run(
        app, ["cluster", str(data), "-k", "2", "--id-column", "id",
              "--save", str(model), "-o", str(tmp_path / "labels.csv")],
    )  # fmt: skip
    assert made.exit_code == 0, made.output
    assert f"model: {model}" in made.output.replace("\n", "")
    new.write_text("kind,more,id,size\nx,1,p,0.3\ny,1,q,9.7\nz,1,r,9.9\n")
    found = run(app, ["predict", str(model), str(new), "-o", str(tmp_path / "new.csv")])
    assert found.exit_code == 0, found.output
    assert "1 row has a category that the model has not seen" in found.output
    clusters = [line.split(",") for line in (tmp_path / "new.csv").read_text().splitlines()]
    assert clusters[0] == ["id", "cluster"]
    assert clusters[1][1] != clusters[2][1] == clusters[3][1]
    first = (tmp_path / "labels.csv").read_text().splitlines()[1].split(",")[1]
    assert clusters[1] == ["p", first]
    assert f"clusters of all rows: {tmp_path / 'new.csv'}" in found.output.replace("\n", "")
    swapped = run(app, ["predict", str(new), str(model)])
    assert swapped.exit_code == 2
    assert "the model comes first: linkwise predict" in swapped.output
    new.write_text("id,size\np,0.3\n")
    refused = run(app, ["predict", str(model), str(new)])
    assert refused.exit_code == 2
    assert "'kind' is not there" in refused.output.replace("\n", " ")


def written(path, rows):
    path.write_text("\n".join(["kind,id,size", *rows]) + "\n")
    return str(path)


@pytest.fixture
def pets(tmp_path):
    """A model of two clusters, called small and large, and the folder it is in."""
    rng = np.random.default_rng(0)
    rows = [f"{'xy'[i % 2]},r{i},{10 * (i % 2) + rng.normal():.3f}" for i in range(40)]
    data, model = written(tmp_path / "a.csv", rows), str(tmp_path / "m.linkwise")
    run("cluster", data, "-k", "2", "--algorithm", "pck", "--id-column", "id", "--save", model)
    saved = load_model(model)
    small = int(saved.labels[0])
    saved.names.update({small: "small", 1 - small: "large"})
    saved.save(model)
    return tmp_path, model, small


def run(*arguments, code=0):
    found = CliRunner().invoke(app, list(map(str, arguments)))
    assert found.exit_code == code, found.output
    return found.output.replace("\n", " ")


def test_update_keeps_ids_names_and_clusters(pets):
    folder, model, small = pets
    before = load_model(model)
    new = written(folder / "b.csv", ["x,p,0.3", "y,q,9.7", "z,r,9.9"])
    links = folder / "links.csv"
    links.write_text("i,j,kind\np,r1,must\n")
    told = run("update", model, new, "--constraints", links, "-o", folder / "new.csv")
    assert "1 row has a category that the model has not seen" in told
    assert "3 new rows" in told
    assert "(large)" in told
    after = load_model(model)
    assert after.ids == [*before.ids, "p", "q", "r"]
    assert after.labels[:40].tolist() == before.labels.tolist()
    assert after.names == before.names
    assert after.constraints.n_must_link == 1
    assert after.facts["n_rows"] == 43
    assert after.facts["id_column"] == "id"
    lines = (folder / "new.csv").read_text().splitlines()
    assert lines[0] == "id,cluster,cluster_name"
    assert lines[1] == f"p,{1 - small},large"  # where r1 is
    again = run("update", model, new, code=2)
    assert "3 of the 3 new rows are in the model already ('p', 'q', 'r')" in again
    assert "all of its 3 rows already" in run("update", model, new, "--skip-known", code=2)
    more = written(folder / "c.csv", ["x,p,0.3", "x,s,0.1"])
    told = run("update", model, more, "--skip-known", "--json")
    assert json.loads(told[told.index("{") :])["new_rows"] == 1
    assert load_model(model).ids[-1] == "s"


def test_a_new_fit_continues_numbers_and_names(pets):
    folder, model, small = pets
    rng = np.random.default_rng(1)
    rows = [f"{'xy'[i % 2]},r{i},{10 * (i % 2) + rng.normal():.3f}" for i in range(50)]
    data = written(folder / "b.csv", rows[::-1])
    for seed in (3, 4, 5):
        told = run(
            "cluster", data, "-k", "2", "--algorithm", "pck", "--id-column", "id", "--seed", seed,
            "--continue", model, "--save", folder / "n.linkwise", "-o", folder / "labels.csv",
        )  # fmt: skip
        assert "40 rows in both: 0 moved (0.0%), 10 added" in told
        found = load_model(folder / "n.linkwise")
        assert found.labels[found.ids.index("r0")] == small
        assert found.names == load_model(model).names
        assert f"r0,{small},small" in (folder / "labels.csv").read_text().splitlines()
    told = run("cluster", data, "-k", "2", "--id-column", "id", "--algorithm", "complete-link",
               "--continue", model, code=2)  # fmt: skip
    assert "no k-means method" in told


def test_update_of_wrong_files_leaves_the_model(pets):
    folder, model, _ = pets
    with open(model, "rb") as file:
        before = file.read()
    (folder / "b.csv").write_text("id,size\np,0.3\n")
    assert "'kind' is not there" in run("update", model, folder / "b.csv", code=2)
    text = written(folder / "d.csv", ["x,p,tall"])
    assert "holds text" in run("update", model, text, code=2)
    new, links = written(folder / "e.csv", ["x,p,1"]), folder / "links.csv"
    links.write_text("i,j,kind\np,nobody,must\n")
    assert "nobody" in run("update", model, new, "--constraints", links, code=2)
    with open(model, "rb") as file:
        assert file.read() == before
    run("update", model, new, "--save", folder / "other.linkwise")
    with open(model, "rb") as file:
        assert file.read() == before
    assert len(load_model(folder / "other.linkwise").labels) == 41


def test_models_without_rows_are_updated_too(tmp_path):
    path = tmp_path / "m.linkwise"
    model = PCKMeans(3, random_state=0).fit(X[:30])
    save_model(model, path, keep_rows=False)
    assert not hasattr(load_model(path).model, "labels_")
    found = load_model(path).update(X[30:])
    model.update(X[30:])
    assert np.allclose(found.model.cluster_centers_, model.cluster_centers_)
    assert found.labels.tolist() == model.labels_[30:].tolist()
    found.save(path)
    assert not hasattr(load_model(path).model, "labels_")
    assert load_model(path).facts["n_updates"] == 1


def test_methods_that_take_no_rows_say_so(tmp_path):
    from linkwise import ConstrainedCompleteLink

    save_model(ConstrainedCompleteLink(3).fit(X), tmp_path / "m.linkwise")
    with pytest.raises(ValueError, match="ConstrainedCompleteLink cannot be updated"):
        load_model(tmp_path / "m.linkwise").update(X)


def test_a_kill_while_saving_leaves_the_old_file(tmp_path):
    path = tmp_path / "m.linkwise"
    code = (
        "import sys, numpy as np\n"
        "from linkwise import PCKMeans, save_model\n"
        "X = np.random.default_rng(0).normal(size=(50_000, 2))\n"
        "model = PCKMeans(2, random_state=0, max_iter=300).fit(X)\n"
        "print('ready', flush=True)\n"
        "while True:\n"
        "    save_model(model, sys.argv[1])\n"
        "    print('saved', flush=True)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    for delay in (0.01, 0.05):
        child = subprocess.Popen(
            [sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, env=environment
        )
        assert child.stdout is not None
        child.stdout.readline()
        child.stdout.readline()
        time.sleep(delay)
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        assert len(load_model(path).labels) == 50_000
