"""The server: JSON interface, who may talk to it, several studios, the command line."""

from __future__ import annotations

import json
import socket
import sqlite3
from urllib.parse import urlsplit

import pytest
from typer.testing import CliRunner

from linkwise import Session, Studio
from linkwise.cli import app
from linkwise.studio._security import LARGEST_BODY

from .cases import blobs, get, post, url, write_iris


@pytest.fixture
def session():
    X, y = blobs(60)
    with Session(X, n_clusters=3, sample_ids=[f"r{row}" for row in range(60)]) as made:
        made.truth = y
        yield made


@pytest.fixture
def studio(session):
    with Studio(session, port=0) as made:
        yield made


@pytest.fixture
def guarded(session):
    with Studio(session, host="127.0.0.1", port=0) as made:
        yield made


def test_interview_in_json(studio, session):
    asked = json.loads(post(url(studio, "/api/question"), {"who": "llm"})[1])["question"]
    assert asked["ids"] == [f"r{asked['i']}", f"r{asked['j']}"]
    assert asked["records"][0]["x0"] == f"{session.X[asked['i'], 0]:.6g}"
    given = {"i": asked["i"], "j": asked["j"], "said": "different", "who": "llm", "weight": 0.5}
    reply = json.loads(post(url(studio, "/api/answer"), given)[1])
    assert reply["disputes"] == []
    following = json.loads(post(url(studio, "/api/question"), {"who": "llm"})[1])["question"]
    assert reply["question"] == following
    assert reply["version"] == session.snapshot().version
    kept = session.snapshot().answers[-1]
    assert (kept.who, kept.weight, kept.said) == ("llm", 0.5, "different")
    [clash] = json.loads(post(url(studio, "/api/answer"), {**given, "said": "same"})[1])["disputes"]
    assert [answer["said"] for answer in clash["answers"]] == ["different", "same"]
    status, text = post(url(studio, "/api/take-back"), {"id": clash["answers"][1]["id"]})
    assert status == 200, text
    assert json.loads(get(url(studio, "/api/answers"))[1])["disputes"] == []
    undone = json.loads(post(url(studio, "/api/undo"), {"who": "llm"})[1])["undone"]
    assert undone[0]["said"] == "different"
    reply = post(url(studio, "/api/clusters"), {"n_clusters": 4, "who": "llm"})
    assert json.loads(reply[1]) == {"n_clusters": 4}
    assert post(url(studio, "/api/clusters"), {"n_clusters": 0})[0] == 422
    undone = json.loads(post(url(studio, "/api/undo"), {"who": "llm"})[1])["undone"]
    assert [one["n_clusters"] for one in undone] == [4]
    progress = json.loads(get(url(studio, "/api/progress"))[1])
    assert progress["n_answers"] == 0
    assert progress["n_undone"] == 2


def test_results_in_json(studio, session):
    for row in range(1, 8):
        session.tell(bool(session.truth[row] == session.truth[0]), (row, 0))
    found = json.loads(post(url(studio, "/api/refit"), {})[1])
    assert found["labels"] == session.refit().labels.tolist()
    assert found["n_answers"] == 7
    assert found["ids"][:2] == ["r0", "r1"]
    assert json.loads(get(url(studio, "/api/labels"))[1]) == found
    assert (
        post(url(studio, "/api/export/labels.csv"), {})[1].splitlines()[0]
        == "\ufeffid,cluster,cluster_name"
    )
    assert post(url(studio, "/api/export/../../etc/passwd"), {})[0] == 404
    assert post(url(studio, "/api/export/secrets.csv"), {})[0] == 404


def test_set_questions_through_the_interface(studio, session):
    reply = post(url(studio, "/api/set-question"), {"size": 5, "who": "llm"})
    asked = json.loads(reply[1])["set"]
    assert len(asked["rows"]) == len(asked["ids"]) == len(asked["records"]) <= 5
    assert asked["reason"]
    first, *rest = asked["rows"]
    given = {"groups": [[first, rest[0]], rest[1:]], "who": "llm", "weight": 0.5}
    assert json.loads(post(url(studio, "/api/set-answer"), given)[1]) == {"disputes": []}
    n_links = len(session.snapshot().answers)
    assert n_links == len(asked["rows"]) - 1
    assert json.loads(post(url(studio, "/api/set-answer"), given)[1]) == {"disputes": []}
    assert len(session.snapshot().answers) == n_links  # sent again: counts once
    undone = json.loads(post(url(studio, "/api/undo"), {"who": "llm"})[1])["undone"]
    assert len(undone) == n_links
    assert post(url(studio, "/api/set-answer"), {"groups": [[0, 0]]})[0] == 422
    assert post(url(studio, "/api/set-question"), {"size": 13})[0] == 422


def test_described_by_openapi_and_nothing_from_elsewhere(studio):
    described = json.loads(get(url(studio, "/api/openapi.json"))[1])
    assert {"/api/question", "/api/answer", "/api/labels", "/api/export/{name}"} <= set(
        described["paths"]
    )
    assert get(url(studio, "/docs"))[0] == 404
    status, page = get(url(studio, "/", token=False), studio.token)
    assert status == 200
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "https://" not in page


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("/api/answer", {"i": 0, "j": 99, "said": "same"}),
        ("/api/answer", {"i": 0, "j": 0, "said": "same"}),
        ("/api/answer", {"i": 0, "j": 1, "said": "perhaps"}),
        ("/api/answer", {"i": 0, "j": 1, "said": "same", "weight": 0}),
        ("/api/answer", {"i": 0, "j": 1, "said": "same", "who": "x" * 201}),
        ("/api/answer", b"not json"),
        ("/api/take-back", {"id": 5}),
        ("/api/undo", {"n": 0}),
    ],
)
def test_wrong_input_is_told(studio, session, path, value):
    status, text = post(url(studio, path), value)
    assert status == 422
    assert "detail" in json.loads(text)
    assert not session.snapshot().answers


def test_large_requests_are_refused(studio):
    large = f"Content-Length: {LARGEST_BODY + 1}"
    for header, status in ((large, b"413"), ("Transfer-Encoding: chunked", b"411")):
        with socket.create_connection(("127.0.0.1", studio.port), timeout=10) as line:
            token = f"Authorization: Bearer {studio.token}"
            lines = ["POST /api/answer HTTP/1.1", "Host: localhost", token, header, "", ""]
            line.sendall("\r\n".join(lines).encode())
            assert line.recv(100).startswith(b"HTTP/1.1 " + status)


def test_other_sites_are_refused(studio, session):
    page = url(studio, "/", token=False)
    assert get(page, studio.token, Host="evil.example")[0] == 403
    assert get(page, studio.token, Host=f"localhost:{studio.port}")[0] == 200
    given = {"i": 0, "j": 1, "said": "same"}
    for host in ("[", "127.0.0.1.evil.example", "evil.example:80", "", "127.0.0.1@evil.example"):
        assert get(url(studio, "/api/progress"), Host=host)[0] in (400, 403)
    for origin in ("http://evil.example", "null", "http://127.0.0.1:1", "http://["):
        assert post(url(studio, "/api/answer"), given, Origin=origin)[0] == 403
    assert not session.snapshot().answers
    status, _ = post(url(studio, "/api/answer"), given, Origin=url(studio, "", token=False))
    assert status == 200


CROSS_SITE = [
    {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"},
    {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"},
    {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
]


@pytest.mark.parametrize("headers", CROSS_SITE)
def test_what_other_pages_load_is_refused(studio, session, headers):
    for path in ("/", "/api/progress", "/api/labels", "/view/points", "/view/picture"):
        assert get(url(studio, path), **headers)[0] == 403
    opened = {**headers, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    page = url(studio, "/", token=False)
    assert get(page, studio.token, **opened)[0] == 200  # a link to the studio works
    assert get(url(studio, "/api/labels"), **opened)[0] == 403
    assert get(page, studio.token, **{"Sec-Fetch-Site": "same-origin"})[0] == 200
    assert session.snapshot().pending == {}


def test_no_get_asks_or_writes(studio, session):
    described = json.loads(get(url(studio, "/api/openapi.json"))[1])["paths"]
    reading = {path for path, ways in described.items() if "get" in ways}
    assert reading == {"/api/answers", "/api/progress", "/api/labels"}
    for path in ("/", *described):
        get(url(studio, path))
    assert session.snapshot().pending == {}
    assert not session.snapshot().answers


def test_repeated_requests_count_once(studio, session):
    given = {"i": 0, "j": 1, "said": "same", "who": "llm"}
    for _ in range(3):
        assert post(url(studio, "/api/answer"), given)[0] == 200
    assert len(session.snapshot().answers) == 1
    post(url(studio, "/api/answer"), {**given, "j": 2})
    key = {"Idempotency-Key": "u1"}
    replies = [post(url(studio, "/api/undo"), {"who": "llm"}, **key) for _ in range(3)]
    assert len(set(replies)) == 1
    assert [answer.is_active for answer in session.snapshot().answers] == [True, False]
    assert post(url(studio, "/api/undo"), {"who": "bo"}, **key)[0] == 422
    assert post(url(studio, "/api/undo"), {"who": "llm"}, **{"Idempotency-Key": "u2"})[0] == 200
    assert [answer.is_active for answer in session.snapshot().answers] == [False, False]


def test_a_replayed_request_counts_once_after_a_restart(tmp_path):
    X, _ = blobs(30)
    key = {"Idempotency-Key": "u1"}
    replies = []
    with Session(X, n_clusters=2, path=tmp_path / "work.db", who="ana") as session:
        for pair in ((0, 1), (2, 3), (4, 5)):
            session.tell("same", pair)
        for _ in range(2):
            with Studio(session, port=0) as studio:
                replies += [post(url(studio, "/api/undo"), {"who": "ana"}, **key)]
        assert [answer.is_active for answer in session.snapshot().answers] == [True, True, False]
    assert replies[0] == replies[1]


def test_full_disk_is_told_and_can_be_tried_again(tmp_path):
    X, _ = blobs(30)
    with Session(X, n_clusters=2, path=tmp_path / "work.db") as session:
        session.fit_  # noqa: B018
        with Studio(session, port=0) as studio:
            given, key = {"i": 0, "j": 1, "said": "same"}, {"Idempotency-Key": "a"}
            fill_disk(session, full=True)
            for path, value in (("answer", given), ("question", {}), ("undo", {})):
                status, text = post(url(studio, f"/api/{path}"), value, **key)
                assert status == 507
                assert "full" in json.loads(text)["detail"]
            fill_disk(session, full=False)
            assert post(url(studio, "/api/answer"), given, **key)[0] == 200
            assert len(session.snapshot().answers) == 1


class FullDisk:
    """A connection that finds no room for what is written."""

    def __init__(self, db):
        self.db = db

    def __getattr__(self, name):
        return getattr(self.db, name)

    def execute(self, statement, values=()):
        if statement.startswith(("INSERT", "UPDATE", "DELETE", "BEGIN")):
            raise sqlite3.OperationalError("database or disk is full")
        return self.db.execute(statement, values)


def fill_disk(session, full):
    db = session._store._db
    session._store._db = FullDisk(db) if full else db.db


def test_damaged_session_is_told(tmp_path):
    X, _ = blobs(200)
    path = tmp_path / "work.db"
    with Session(X, n_clusters=2, path=path) as session:
        for row in range(1, 150):
            session.tell("unsure", (0, row))
    data = bytearray(path.read_bytes())
    data[4096:-4096] = b"\x5a" * (len(data) - 8192)  # everything but the first and last page
    path.write_bytes(data)
    with pytest.raises((OSError, ValueError), match="damaged|cannot be used"):
        Session.open(path, X)


def websocket(studio, *headers):
    """The first line that the server says to somebody who wants a websocket."""
    with socket.create_connection(("127.0.0.1", studio.port), timeout=10) as line:
        head = [
            "GET /_nicegui_ws/socket.io/?EIO=4&transport=websocket HTTP/1.1",
            f"Host: 127.0.0.1:{studio.port}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
            "Sec-WebSocket-Version: 13",
            *headers,
        ]
        line.sendall(("\r\n".join(head) + "\r\n\r\n").encode())
        return line.recv(200).decode("latin-1").splitlines()[0]


def test_token_is_needed_for_everything(guarded, session):
    paths = ["/", "/api/question", "/api/openapi.json", "/view/points", "/no-such", "/?token=wrong"]
    paths += ["/view/image/0", "/api/export/labels.csv", "/_nicegui/none.js", "//", "/%2e%2e/"]
    assert {get(url(guarded, path, token=False))[0] for path in paths} == {401}
    assert (
        post(url(guarded, "/api/answer", token=False), {"i": 0, "j": 1, "said": "same"})[0] == 401
    )
    assert get(url(guarded, "/api/progress", token=False), token="wrong")[0] == 401
    assert (
        get(url(guarded, "/api/progress", token=False), token="wröng".encode().decode("latin-1"))[0]
        == 401
    )
    assert get(url(guarded, "/api/progress", token=False), token=guarded.token)[0] == 200
    assert get(url(guarded, "/api/progress"))[0] == 200
    assert not session.snapshot().answers
    assert len(guarded.token) >= 32
    assert guarded.token in guarded.url


def test_websocket_needs_token_and_origin(guarded, studio):
    assert " 403 " in websocket(guarded)
    assert " 403 " in websocket(guarded, f"Cookie: linkwise_{guarded.port}=wrong")
    right = f"linkwise_{guarded.port}={guarded.token}"
    assert " 101 " in websocket(guarded, f"Cookie: {right}")
    assert " 101 " in websocket(guarded, f'Cookie: other={{"a": [1]}}; odd name; {right}')
    assert " 403 " in websocket(guarded, f"Cookie: {right}", "Origin: http://evil.example")
    right = f"Cookie: linkwise_{studio.port}={studio.token}"
    assert " 403 " in websocket(studio, right, "Origin: http://evil.example")
    assert " 101 " in websocket(studio, right, f"Origin: http://127.0.0.1:{studio.port}")


def test_only_this_machine_by_default(studio):
    assert urlsplit(studio.url).hostname == "127.0.0.1"
    assert get(url(studio, "/api/progress", token=False))[0] == 401
    assert get(url(studio, "/api/progress"))[0] == 200
    (server,) = studio._server._server.servers
    assert {where.getsockname()[0] for where in server.sockets} == {"127.0.0.1"}


def test_two_studios_in_one_process(studio):
    X, _ = blobs(10, seed=1)
    with Session(X, n_clusters=2) as other, Studio(other, port=0) as second:
        assert second.port != studio.port
        assert json.loads(get(url(second, "/api/progress"))[1])["n_rows"] == 10
        assert json.loads(get(url(studio, "/api/progress"))[1])["n_rows"] == 60
        assert second.url in second._repr_html_()
    assert "closed" in second._repr_html_()
    assert get(url(studio, "/api/progress"))[0] == 200


def test_port_that_is_taken_is_told(studio, session):
    with pytest.raises(OSError, match=f"port {studio.port}.*try another port"):
        Studio(session, port=studio.port)
    with pytest.raises(ValueError, match="host no.such.host.invalid"):
        Studio(session, host="no.such.host.invalid")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--image-column", "file"], "--image-column and --images belong together"),
        (["--id-column", "nope"], "nope"),
        (["--strategy", "nope"], "expected one of repair, explore"),
        (["--host", "no.such.host.invalid"], "host no.such.host.invalid"),
    ],
)
def test_command_line_tells_what_is_wrong(options, told, tmp_path):
    data = write_iris(tmp_path / "iris.csv")
    ids = ["--id-column", "flower", "--session", tmp_path / "work.db", "--no-open"]
    arguments = ["studio", data, *ids, *options]
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 2, result.output
    assert told in " ".join(result.output.split())


def test_a_new_group_is_refitted_at_once_also_through_the_interface():
    """With k unknown, a third group gets a cluster before `refit_every` answers have come in."""
    X, y = blobs(60)
    rows = [int((y == c).argmax()) for c in range(3)]
    settings = {"strategy": "ExploreConsolidate", "refit_every": 1000}
    with Session(X, **settings) as session, Studio(session, port=0) as studio:
        assert len(set(session.refit().labels.tolist())) == 2
        for i, j in ((0, 1), (0, 2), (1, 2)):
            given = {"i": rows[i], "j": rows[j], "said": "different", "who": "llm"}
            assert post(url(studio, "/api/answer"), given)[0] == 200
        assert len(set(session.fit_.labels.tolist())) == 3
