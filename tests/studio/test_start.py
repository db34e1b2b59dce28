"""The start page without a browser: guesses, roles, projects, recent sessions, attacks."""

from __future__ import annotations

import gzip
import importlib.util
import json
import tracemalloc
import zipfile

import numpy as np
import pytest

from linkwise import Session, Studio
from linkwise._errors import InputError
from linkwise.studio import load_records
from linkwise.studio._columns import guess_roles
from linkwise.studio._plan import read_source
from linkwise.studio._start import Start

from .cases import blobs, get, post, url, write_iris

CUSTOMERS = """\
customer_id,name,age,plan,since,comment,photo,empty
{rows}"""


@pytest.fixture
def customers(tmp_path):
    rng = np.random.default_rng(0)
    texts = ["asks for a discount every year", "pays late but always in full by mail"]
    rows = [
        f"C{row:03d},Person {row},{rng.integers(20, 80)},{'free' if row % 3 else 'pro'},"
        f"20{rng.integers(10, 25)}-0{rng.integers(1, 9)}-11,{texts[row % 2]} {row},{row}.png,"
        for row in range(40)
    ]
    path = tmp_path / "customers.csv"
    path.write_text(CUSTOMERS.format(rows="\n".join(rows)))
    return path


def roles_of(path):
    return {guess.name: guess.role for guess in guess_roles(read_source(path))}


def test_columns_are_guessed(customers):
    assert roles_of(customers) == {
        "customer_id": "id",
        "name": "show",
        "age": "number",
        "plan": "category",
        "since": "date",
        "comment": "show",  # three other columns are measured
        "photo": "image",
        "empty": "hide",
    }


def test_a_column_of_texts_is_measured(tmp_path):
    path = tmp_path / "texts.csv"
    told = ["where is my new card now", "the transfer has not arrived yet", "card is lost again"]
    lines = [f"{row},{told[row % 3]} number {row}" for row in range(60)]
    path.write_text("nr,text\n" + "\n".join(lines))
    has_model = importlib.util.find_spec("wordllama") is not None
    assert roles_of(path) == {"nr": "id", "text": "meaning" if has_model else "text"}
    loaded = load_records(path, {"nr": "id", "text": "text"})
    assert loaded.X.shape[0] == 60
    np.testing.assert_allclose((loaded.X**2).sum(1), 1)
    assert "transfer" in loaded.records.features
    by_meaning = {"nr": "id", "text": "meaning"}
    if not has_model:
        with pytest.raises(InputError, match="linkwise.text"):
            load_records(path, by_meaning)
        return
    loaded = load_records(path, by_meaning)
    assert loaded.X.shape == (60, 256)
    assert "transfer" in loaded.records.features


def test_roles_become_features_and_constraints(tmp_path):
    path = tmp_path / "pets.csv"
    path.write_text(
        "pet,kg,kind,born,owner,litter\nmia,4,cat,2020-01-01,a,1\nrex,20,dog,2021-01-01,b,1\n"
        "tom,5,cat,,a,2\n"
    )
    roles = {"pet": "id", "kg": "number", "kind": "category", "born": "date", "owner": "together"}
    loaded = load_records(path, {**roles, "litter": "apart"})
    assert loaded.records.features == ["kg", "kind=cat", "kind=dog", "born"]
    np.testing.assert_allclose(loaded.X.mean(0), 0, atol=1e-12)
    known = loaded.constraints
    assert [set(pair) for pair in known.must_link.tolist()] == [{"mia", "tom"}]
    assert [set(pair) for pair in known.cannot_link.tolist()] == [{"mia", "rex"}]
    assert list(loaded.records.all_columns)[-1] == "litter"
    for wrong, told in (
        ({"kg": "nonsense"}, "expected one of"),
        ({"pet": "show"}, "at least one column"),
        ({"owner": "id", "kg": "number"}, "more than once"),
        ({"none": "number"}, "no column 'none'"),
    ):
        with pytest.raises(ValueError, match=told):
            load_records(path, wrong)


def test_a_folder_of_images(tmp_path):
    from PIL import Image

    folder = tmp_path / "digits"
    (folder / "deep").mkdir(parents=True)
    for row in range(8):
        color = (250, 10, 10) if row % 2 else (10, 10, 250)
        Image.new("RGB", (12, 10), color).save(folder / "deep" / f"{row}.png")
    assert roles_of(folder) == {"file": "image"}
    loaded = load_records(folder, {"file": "image"})
    assert np.ptp(loaded.X, axis=0).max() > 0.1
    assert loaded.records.image(3) is not None
    (folder / "broken.png").write_bytes(b"no image")
    with pytest.raises(ValueError, match="broken.png: not an image"):
        load_records(folder, {"file": "image"})


@pytest.fixture
def studio(tmp_path):
    with Studio(port=0, start=Start(tmp_path / "home")) as made:
        yield made


def test_from_a_file_to_a_session_and_back(studio, customers, tmp_path):
    status, text = get(url(studio, "/api/progress"))
    assert status == 422
    assert "no session is open" in text
    assert json.loads(get(url(studio, "/start/recent"))[1])["recent"] == []
    project = json.loads(post(url(studio, "/start/project"), {"name": "my data.csv"})[1])["project"]
    assert project == "my-data"
    path = f"/start/upload?project={project}&name=customers.csv"
    assert post(url(studio, path), customers.read_bytes())[0] == 200
    looked = json.loads(post(url(studio, "/start/look"), {"name": project})[1])
    assert looked["n_rows"] == 40
    roles = {column["name"]: column["role"] for column in looked["columns"]}
    wrong = {"project": project, "roles": {**roles, "name": "id"}, "n_clusters": 3}
    assert post(url(studio, "/start/begin"), wrong)[0] == 422  # two ids; can be corrected
    begun = {"project": project, "roles": roles, "n_clusters": None}
    assert post(url(studio, "/start/begin"), begun) == (200, '{"open":true}')
    given = {"i": 0, "j": 1, "said": "same", "who": "ana"}
    assert post(url(studio, "/api/answer"), given)[0] == 200
    labels = json.loads(post(url(studio, "/api/refit"), {})[1])["labels"]
    lines = post(url(studio, "/api/export/reproduce.py"), {})[1]
    assert post(url(studio, "/start/leave"), {})[0] == 200
    assert not studio.has_session
    (recent,) = json.loads(get(url(studio, "/start/recent"))[1])["recent"]
    assert (recent["name"], recent["n_answers"], recent["there"]) == ("my-data", 1, True)
    names = {}
    exec(lines, names)
    assert names["labels"].tolist() == labels
    assert post(url(studio, "/start/open"), {"name": recent["path"]})[0] == 200
    assert json.loads(get(url(studio, "/api/progress"))[1])["n_answers"] == 1
    assert post(url(studio, "/start/open"), {"name": "/etc/passwd"})[0] == 422


def test_files_by_path_only_on_this_machine(studio, customers, tmp_path):
    looked = json.loads(post(url(studio, "/start/adopt"), {"name": str(customers)})[1])
    assert looked["name"] == "customers.csv"
    assert post(url(studio, "/start/adopt"), {"name": "/no/such.csv"})[0] == 422
    with Studio(port=0, host="127.0.0.1", start=Start(tmp_path / "other")) as other:
        reply = post(url(other, "/start/adopt"), {"name": str(customers)})
        assert reply[0] == 422
        assert "drop the file" in reply[1]


@pytest.mark.parametrize(
    "name", ["../evil.csv", "/etc/evil.csv/..", "a/../../b.csv", "x.py", "", "..\\\\evil.csv"]
)
def test_uploads_stay_in_their_project(studio, tmp_path, name):
    project = json.loads(post(url(studio, "/start/project"), {"name": "a"})[1])["project"]
    from urllib.parse import quote

    path = f"/start/upload?project={project}&name={quote(name)}"
    assert post(url(studio, path), b"a,b\n1,2\n")[0] == 422
    assert post(url(studio, "/start/upload?project=../x&name=a.csv"), b"x")[0] == 422
    assert [p.name for p in tmp_path.iterdir()] == ["home"]
    assert post(url(studio, path), b"x", Origin="http://evil.example")[0] == 403


def test_sessions_of_others_are_listed(tmp_path):
    X, _ = blobs(20)
    Session(X, n_clusters=2, path=tmp_path / "work.db").close()
    (tmp_path / "other.db").write_bytes(b"no database")

    def reopen(path, kept, carry):
        raise ValueError(f"{path.name} with {kept['n_clusters']}")

    start = Start(tmp_path / "home", (tmp_path,), reopen)
    (recent,) = start.recent()
    assert recent["name"] == "work.db"
    with pytest.raises(ValueError, match=r"work.db with 2"):
        start.open(recent["path"])


def test_iris_ids(tmp_path):
    roles = roles_of(write_iris(tmp_path / "iris.csv"))
    assert list(roles.values()) == ["id", "number", "number", "number", "number"]


def test_changed_data_is_shown_before_going_on(tmp_path):
    file = write_iris(tmp_path / "iris.csv")
    start = Start(tmp_path / "home")
    session, _ = start.begin(start.adopt(str(file)), roles_of(file), 3, "ana")
    session.tell("same", (0, 1))
    session.tell("different", (0, 100))
    session.close()
    lines = file.read_text().splitlines()
    file.write_text("\n".join([*lines[:100], *lines[102:], "iris-new,5,3,4,1"]) + "\n")
    (recent,) = start.recent()
    with Studio(port=0, start=start) as studio:

        def reopen(**more):
            given = {"name": recent["path"], **more}
            return json.loads(post(url(studio, "/start/open"), given)[1])

        first = reopen()
        assert not first["open"]
        assert not studio.has_session
        assert first["changes"]["added"] == ["iris-new"]
        assert first["changes"]["removed"] == ["iris-099", "iris-100"]
        assert first["changes"]["n_answers"] == 1
        assert len(first["changes"]["dropped"]) == 1
        assert reopen(carry=True)["open"]
        assert len(studio.controller.session.snapshot().answers) == 1
        assert studio.controller.session.X.shape[0] == 149


def test_the_example(tmp_path):
    start = Start(tmp_path / "home")
    found = start.look(start.example())
    assert found["n_rows"] == 300
    assert [column["role"] for column in found["columns"]] == ["image"]


def test_a_file_that_cannot_be_read_leaves_nothing(tmp_path):
    (tmp_path / "broken.csv").write_text('a,b\n1,"2\n')
    start = Start(tmp_path / "home")
    with pytest.raises(ValueError, match="^broken.csv: line 2"):
        start.look(start.adopt(str(tmp_path / "broken.csv")))
    assert list((tmp_path / "home").iterdir()) == []


def test_a_session_outlives_wrong_roles_and_data_that_can_no_longer_be_read(tmp_path):
    write_iris(tmp_path / "iris.csv")
    start = Start(tmp_path / "home")
    project = start.adopt(str(tmp_path / "iris.csv"))
    roles = {column["name"]: column["role"] for column in start.look(project)["columns"]}
    session, _ = start.begin(project, roles, 3, None)
    session.close()
    with pytest.raises(InputError, match="at least one column"):
        start.begin(project, {"flower": "id"}, 3, None)
    (tmp_path / "iris.csv").write_text('a,b\n1,"2\n')
    with pytest.raises(ValueError, match="line 2"):
        start.look(project)
    assert (tmp_path / "home" / project / "session.db").exists()


@pytest.mark.parametrize("kind", ["csv.gz", "xlsx", "columns"])
def test_uploads_are_limited_after_decompression(tmp_path, kind):
    start = Start(tmp_path)
    project = start.new_project("big")
    if kind == "csv.gz":
        place = start.place(project, "big.csv.gz")
        with gzip.open(place, "wb") as file:
            file.write(b"x,y\n")
            for _ in range(600):
                file.write(b"1,2\n" * (1024**2 // 4))
        limit = "500 MB"
    elif kind == "xlsx":
        place = start.place(project, "big.xlsx")
        with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr("xl/worksheets/sheet1.xml", b"<c/>" * (30 * 1024**2))
        limit = "100 MB"
    else:
        place = start.place(project, "wide.csv")
        place.write_text(",".join(f"c{n}" for n in range(20_000)) + "\n")
        limit = "5,000"
    assert place.stat().st_size < 2 * 1024**2
    tracemalloc.start()
    with pytest.raises(InputError, match=limit):
        start.look(project)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 20 * 1024**2


def test_a_file_is_opened_with_the_roles_of_the_start_page(tmp_path):
    from linkwise.cli._studio import StudioRequest, _open

    path = tmp_path / "customers.csv"
    lines = [f"c{n},{n % 3},2024-01-{1 + n % 28:02},{'' if n == 4 else n}" for n in range(40)]
    path.write_text("\n".join(["name,plan,since,spent", *lines]))
    for _ in range(2):  # begun, and reopened
        with _open(path, tmp_path / "s.db", StudioRequest())[0] as work:
            assert work.X.shape[0] == 40
            assert work.ask() is not None
