"""`linkwise label` and `linkwise sessions`: in a pseudo-terminal, as a person uses them."""

from __future__ import annotations

import fcntl
import io
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

import pytest
from rich.console import Console
from typer.testing import CliRunner

from linkwise import Constraints
from linkwise.active import LabelOracle, Session, TerminalOracle
from linkwise.active._terminal import Keys
from linkwise.cli import app
from linkwise.cli._label import Label
from linkwise.cli._session_options import read_session_input
from linkwise.tables import read_table, table_features

runner = CliRunner()
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
PROMPT = "q quit"
N_BEANS = 18


def run(*arguments, **settings):
    return runner.invoke(app, [str(argument) for argument in arguments], **settings)


def flat(text: str) -> str:
    return " ".join(text.replace("│", " ").split())


@pytest.fixture
def beans(tmp_path):
    """Three origins far apart; a name and a description that no distance can be measured in."""
    path = tmp_path / "beans.csv"
    lines = ["bean,notes,acidity,body,roast"]
    for row in range(N_BEANS):
        notes = f"cup {row} tastes of number {row} and of {'cocoa ' * (row % 4)}"
        lines.append(
            f"bean{row},{notes},{row % 3 * 5 + row / 100},{row % 3},{['dark', 'light'][row % 2]}"
        )
    path.write_text("\n".join(lines) + "\n")
    return path


def answer_about(screen: str) -> str:
    """What a person who knows the origins presses."""
    one, two = re.findall(r"bean(\d+)", screen)[:2]
    return "s" if int(one) % 3 == int(two) % 3 else "d"


class Terminal:
    """A command in a plain terminal of 80 columns and 24 lines."""

    def __init__(self, *arguments, rows=24, columns=80, **more):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        environment = {**os.environ, "TERM": "xterm", "OMP_NUM_THREADS": "1", **more}
        for name in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR"):
            environment.pop(name, None)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "linkwise", *map(str, arguments)],
            stdin=slave, stdout=slave, stderr=slave, env=environment, start_new_session=True,
        )  # fmt: skip
        os.close(slave)
        self.screens: list[str] = []

    def read_until(self, wanted: str, seconds: float = 60) -> str:
        """What the terminal shows from the last clearing of the screen on.

        `wanted` is a regular expression.
        """
        text, end = "", time.monotonic() + seconds
        while not re.search(wanted, ESCAPES.sub("", text)):
            ready, _, _ = select.select([self.master], [], [], max(0, end - time.monotonic()))
            try:
                data = os.read(self.master, 65536) if ready else b""
            except OSError:  # the command has ended
                data = b""
            if not data:
                raise AssertionError(f"{wanted!r} did not appear in {text!r}")
            text += data.decode(errors="replace")
        screen = ESCAPES.sub("", text.rpartition("\x1b[2J")[2]).replace("\r", "")
        self.screens.append(screen)
        return screen

    def press(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def finish(self) -> str:
        text = ""
        while True:
            try:
                data = os.read(self.master, 65536)
            except OSError:
                break
            if not data:
                break
            text += data.decode()
        self.process.wait(30)
        return ESCAPES.sub("", text).replace("\r", "")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)


OPTIONS = ("--id-column", "bean", "--show", "bean,notes,acidity,roast")


def test_labeling_in_a_plain_terminal(tmp_path, beans):
    work, links = tmp_path / "work.db", tmp_path / "links.csv"
    command = ("label", beans, "-k", 3, "--session", work, *OPTIONS, "--constraints-out", links)
    with Terminal(*command) as terminal:
        screen = terminal.read_until(PROMPT)
        assert "Do these two belong together?" in screen
        assert "0 of 3 groups" in screen
        marked = [line for line in screen.splitlines() if line.startswith("*")]
        assert any("notes" in line for line in marked)  # differs, so it is marked
        for n in range(1, 7):
            terminal.press(answer_about(screen))
            screen = terminal.read_until(PROMPT)
            assert re.search(rf"\b{n} answers?: ", screen)
        terminal.press("x\x1b[A")  # keys that mean nothing
        assert "x: no such key" in terminal.read_until(PROMPT)
        terminal.press("u")
        assert "1 unsure" in terminal.read_until(PROMPT)
        terminal.press("z")
        screen = terminal.read_until(PROMPT)
        assert "0 unsure" in screen
        assert "taken back: bean" in screen
        terminal.press("q")
        rest = terminal.finish()
    assert terminal.process.returncode == 0
    assert "6 in all" in flat(rest)
    for shown in terminal.screens:
        lines = shown.rstrip("\n").split("\n")
        assert len(lines) <= 24
        assert max(map(len, lines)) <= 80
    written = Constraints.read(links, ids="text")
    assert written.n_constraints == 6
    assert all(str(name).startswith("bean") for name in written.rows)


def test_it_goes_on_where_it_was_even_after_kill_9(tmp_path, beans):
    work = tmp_path / "work.db"
    with Terminal("label", beans, "-k", 3, "--session", work, *OPTIONS) as terminal:
        screen = terminal.read_until(PROMPT)
        for _ in range(4):
            terminal.press(answer_about(screen))
            screen = terminal.read_until(PROMPT)
        os.killpg(terminal.process.pid, signal.SIGKILL)
        terminal.process.wait(30)
    with Terminal("label", beans, "--session", work) as terminal:  # options are remembered
        again = terminal.read_until(PROMPT)
        assert "4 answers: " in again
        assert re.findall(r"bean(\d+)", again)[:2] == re.findall(r"bean(\d+)", screen)[:2]
        for n in (3, 2, 1, 0):
            terminal.press("z")
            terminal.read_until(rf"\b{n} answers?: (.|\n)*{PROMPT}")
        terminal.press("z")  # one more than there is
        terminal.read_until(f"nothing of yours to take back(.|\\n)*{PROMPT}")
        terminal.press("q")
        assert "0 in all" in flat(terminal.finish())


def test_keys_before_the_question_do_not_answer_it(tmp_path, beans):
    with Terminal("label", beans, "--session", tmp_path / "work.db", *OPTIONS) as terminal:
        terminal.press("ssss")  # while it is loading
        assert "loading" in terminal.read_until("loading")
        screen = terminal.read_until(PROMPT)
        assert "0 answers" in screen
        assert "Why: " in screen
        terminal.press("d")
        assert "1 answer: 0 same, 1 different" in terminal.read_until(PROMPT)
        terminal.press("q")
        assert "1 in all" in flat(terminal.finish())


def test_the_screen_is_drawn_again_when_the_window_changes(tmp_path, beans):
    with Terminal("label", beans, "--session", tmp_path / "work.db", *OPTIONS) as terminal:
        terminal.read_until(PROMPT)
        size = struct.pack("HHHH", 16, 60, 0, 0)
        fcntl.ioctl(terminal.master, termios.TIOCSWINSZ, size)
        os.kill(terminal.process.pid, signal.SIGWINCH)
        lines = terminal.read_until(PROMPT).rstrip("\n").split("\n")
        assert len(lines) <= 16
        assert max(map(len, lines)) <= 60
        terminal.press("q")
        assert "0 in all" in flat(terminal.finish())


@pytest.mark.parametrize(("height", "width"), [(12, 30), (16, 40), (24, 80)])
def test_a_question_fits_the_screen(height, width):
    shown = Console(file=io.StringIO(), force_terminal=True, height=height, width=width)
    record = {f"field {number}": number for number in range(30)}
    why = "these two represent two groups, of 20 and 20 records, that look alike and may be one"
    keys = Keys(io.StringIO("q"))
    with Session([[0.0], [0.1], [5.0]]) as work, TerminalOracle(
        lambda row: {**record, "row": row}, progress=lambda: work.snapshot().progress,
        reason=lambda rows: why, console=shown, keys=keys,
    ) as oracle:  # fmt: skip
        oracle(0, 1)
    lines = ESCAPES.sub("", shown.file.getvalue()).splitlines()
    assert len(lines) < height
    assert max(map(len, lines)) <= width
    assert re.search(r"q quit.* m ", lines[-1])


def test_all_fields_can_be_reached(tmp_path):
    path = tmp_path / "wide.csv"
    names = [f"field{n:02d}" for n in range(40)]
    rows = [",".join(["x", *names])]
    rows += [",".join([str(r), *(f"word{r}of{n:02d}" for n in range(40))]) for r in range(3)]
    path.write_text("\n".join(rows) + "\n")
    options = ("--features", "x", "--session", tmp_path / "work.db")
    with Terminal("label", path, *options) as terminal:
        screen = terminal.read_until(PROMPT)
        assert "more fields" in screen
        n_pages = int(re.search(r"all fields \(1/(\d+)\)", screen)[1])
        seen = ""
        for _ in range(n_pages - 1):
            terminal.press("m")
            screen = terminal.read_until(PROMPT)
            assert len(screen.rstrip("\n").split("\n")) <= 24
            seen += screen
        assert all(name in seen for name in names)
        terminal.press("m")  # round again
        assert "(1/" in terminal.read_until(PROMPT)
        terminal.press("q")
        terminal.finish()


def test_letters_that_the_terminal_lacks(tmp_path):
    path = tmp_path / "names.csv"
    path.write_text("x,name\n1,\u017bubr\n2,\u65e5\u672c " + "long " * 40 + "\n9,caf\u00e9\n")
    options = ("--features", "x", "--session", tmp_path / "work.db")
    with Terminal("label", path, *options, PYTHONIOENCODING="latin-1", PYTHONUTF8="0") as terminal:
        for _ in range(2):
            screen = terminal.read_until(PROMPT)
            assert "belong together" in screen
            terminal.press("d")
        terminal.read_until(f"{PROMPT}|left to ask")
        terminal.press("q")
        terminal.finish()
        assert terminal.process.returncode == 0


def test_cards_at_a_terminal_and_from_a_pipe(tmp_path, beans):
    work = tmp_path / "work.db"
    with Terminal("label", beans, "--session", work, *OPTIONS, "--set-size", 4) as terminal:
        screen = terminal.read_until("\n> ")
        numbers = [int(n) for n in re.findall(r"^  [a-d]  bean(\d+)", screen, re.MULTILINE)]
        assert len(numbers) == 4
        groups: dict[int, str] = {}
        for letter, number in zip("abcd", numbers, strict=True):
            groups[number % 3] = groups.get(number % 3, "") + letter
        for key in " ".join(groups.values()):
            terminal.press(key)
            screen = terminal.read_until("\n> .*")
        terminal.press("\n")
        screen = terminal.read_until("rows placed(.|\n)*\n> ")
        terminal.press("z")
        assert "taken back" in terminal.read_until("taken back(.|\n)*\n> ")
        terminal.press("q")
        assert "0 in all" in flat(terminal.finish())
    options = ("--session", work, "--set-size", 4, "--questions", 1)
    result = run("label", beans, *options, input="aa\nab cd\n")
    assert result.exit_code == 0, result.output
    assert "a letter stands twice" in result.output
    assert "3 in all, 2 same, 1 different" in flat(result.output)


def test_to_the_end_and_a_terminal_that_is_small(tmp_path, beans):
    with Terminal(
        "label", beans, "-k", 3, "--session", tmp_path / "work.db", "--id-column", "bean",
        "--features", "acidity,body", rows=12, columns=50,
    ) as terminal:  # fmt: skip
        screen = terminal.read_until(PROMPT)
        assert len(screen.rstrip("\n").split("\n")) <= 12
        assert "more fields" in screen
        while PROMPT in screen:
            terminal.press(answer_about(screen))
            screen = terminal.read_until(f"{PROMPT}|nothing is left to ask")
        terminal.process.wait(30)
    X = table_features(beans, ["acidity", "body"]).X
    y = [row % 3 for row in range(N_BEANS)]
    ids = read_table(beans).text("bean").tolist()
    with Session.open(tmp_path / "work.db", X, sample_ids=ids) as session:
        assert sorted(map(len, session.snapshot().neighborhoods)) == [6, 6, 6]
        assert len({y[row] for row in session.snapshot().neighborhoods[0]}) == 1


def test_a_contradiction_is_settled_at_the_terminal(tmp_path, beans):
    work = tmp_path / "work.db"
    assert run("label", beans, "-k", 3, "--session", work, *OPTIONS, input="q\n").exit_code == 0
    table = read_table(beans)
    from linkwise.tables import table_features

    X = table_features(table, leave_out=["bean"]).X
    ids = table.text("bean").tolist()
    with Session.open(work, X, sample_ids=ids, who="bo") as session:
        session.tell("same", (0, 3))
        session.tell("same", (3, 6))
        session.tell("different", (0, 6), who="cy")
    with Terminal("label", beans, "--session", work) as terminal:
        screen = terminal.read_until("q later")
        assert "These answers cannot all be right" in screen
        assert "bean0 and bean6 are different (cy" in screen
        key = re.search(r"(\w)  bean0 and bean6 are different", screen)[1]
        terminal.press(key)
        terminal.read_until(PROMPT)
        terminal.press("q")
        terminal.finish()
    result = run("sessions", work, "--json")
    found = json.loads(result.stdout)[0]
    assert found["contradictions"] == []
    assert found["answers"] == {"same": 2, "different": 0, "unsure": 0, "undone": 1}


def test_control_characters_in_records_never_reach_the_terminal(tmp_path):
    path = tmp_path / "evil.csv"
    path.write_text('x,text\n1,"\x1b[2Jgone\x07"\n2,"[red]not markup[/red]"\n9,plain\n')
    result = run(
        "label", path, "-k", 2, "--session", tmp_path / "work.db", "--features", "x", input="d\nd\n"
    )
    assert result.exit_code == 0, result.output
    assert "\x1b[2Jgone" not in result.output
    assert "\x07" not in result.output
    assert "?[2Jgone?" in result.output or "[red]not markup[/red]" in result.output


# -------------------------------------------------------------------- without a terminal


def test_answers_from_a_pipe(tmp_path, beans):
    work = tmp_path / "work.db"
    result = run(
        "label", beans, "-k", 3, "--session", work, *OPTIONS, "--who", "ana", input="d\nd\nsame\n"
    )
    assert result.exit_code == 0, result.output
    assert "3 in all" in flat(result.output)
    shown = flat(run("sessions", work).output)
    assert "3 (1 same, 2 different, 0 unsure)" in shown
    assert "by ana" in shown
    assert "18 rows, 4 features" in shown
    assert "Repair" in shown
    found = json.loads(run("sessions", work, "--json").stdout)[0]
    assert found["n_clusters"] == 3
    assert found["answers"]["different"] == 2


def test_without_a_name_the_session_is_beside_the_data(tmp_path, beans):
    result = run("label", beans, "-k", 3, *OPTIONS, input="d\n")
    assert result.exit_code == 0, result.output
    assert "1 in all" in flat(result.output)
    result = run("label", beans, input="d\n")  # and goes on there
    assert "2 in all" in flat(result.output)
    assert (tmp_path / "beans.session.db").is_file()


@pytest.mark.parametrize("text_column", ["notes", None])
def test_the_recipe_reads_the_data_in_the_same_way(beans, text_column):
    given = Label(data=beans, id_column="bean", text_column=text_column, show="bean,notes")
    task, names = read_session_input(beans, given), {}
    exec(task.recipe, names)
    assert names["ids"] == task.ids
    assert (names["X"] != task.X).sum() == 0


def test_files_are_read_as_for_cluster(tmp_path):
    path = tmp_path / "old.csv"
    path.write_bytes("name,x,y\ncafé,1,?\nthé,2,3\neau,9,8\n".encode("cp1252"))
    how = ["--encoding", "cp1252", "--missing", "?", "--id-column", "name"]
    result = run("label", path, *how, input="d\n")
    assert result.exit_code == 0, result.output
    assert "1 in all" in flat(run("label", path, input="q\n").output)  # they are kept
    given = Label(data=path, id_column="name", missing=["?"], encoding="cp1252")
    task, names = read_session_input(path, given), {}
    exec(task.recipe, names)
    assert names["ids"] == ["café", "thé", "eau"]
    assert (names["X"] == task.X).all()


def test_texts_by_their_meaning(tmp_path, beans):
    pytest.importorskip("wordllama")
    work = tmp_path / "work.db"
    begin = ["--id-column", "bean", "--text-column", "notes", "--embedding", "wordllama"]
    result = run("label", beans, "-k", 2, "--session", work, *begin, input="d\ns\n")
    assert result.exit_code == 0, result.output
    result = run("label", beans, "--session", work, input="d\n")  # what it was begun with is kept
    assert "3 in all" in flat(result.output)
    task = read_session_input(
        beans, Label(data=beans, id_column="bean", text_column="notes", embedding="wordllama")
    )
    names = {}
    exec(task.recipe, names)
    assert (names["X"] == task.X).all()
    assert task.X.shape[1] == 256
    assert task.units.shape[1] == len(task.features)  # words, that people can read


def test_an_unknown_number_of_clusters_and_a_limit(tmp_path, beans):
    work = tmp_path / "work.db"
    result = run("label", beans, "--session", work, *OPTIONS, "--questions", 2, input="d\n" * 9)
    assert "2 in all" in flat(result.output)
    assert "clusters unknown" in flat(run("sessions", work).output)


@pytest.mark.parametrize(
    "strategy", ["explore", "minmax", "uncertainty", "random", "closest", "farthest"]
)
def test_every_strategy(tmp_path, beans, strategy):
    work = tmp_path / "work.db"
    result = run(
        "label",
        beans,
        "-k",
        3,
        "--session",
        work,
        "--strategy",
        strategy,
        *OPTIONS,
        input="d\ns\nu\n",
    )
    assert result.exit_code == 0, result.output
    assert "3 in all" in flat(result.output)


def test_what_is_known_beforehand(tmp_path, beans):
    links = tmp_path / "links.csv"
    links.write_text("i,j,link\nbean0,bean3,same\nbean0,bean1,different\n")
    work = tmp_path / "work.db"
    result = run(
        "label", beans, "-k", 3, "--session", work, *OPTIONS, "--constraints", links, input="q\n"
    )
    assert result.exit_code == 0, result.output
    assert "by known beforehand" in flat(run("sessions", work).output)
    out = tmp_path / "out.jsonl"
    assert run("sessions", work, "--constraints-out", out).exit_code == 0
    assert Constraints.read(out) == Constraints([("bean0", "bean3")], [("bean0", "bean1")])


def test_wrong_usage_is_told_plainly(tmp_path, beans):
    work = tmp_path / "work.db"
    assert run("label", beans, "-k", 3, "--session", work, *OPTIONS, input="d\n").exit_code == 0
    other = tmp_path / "other.csv"
    other.write_text(beans.read_text().replace("bean17", "bean99"))
    cases = [
        (("label", beans, "-k", 4, "--session", work), "-k 4: .* was begun with 3; leave it out"),
        (("label", beans, "--session", work, "--strategy", "random"), "--strategy RandomPairs"),
        (
            ("label", beans, "--session", work, "--strategy", "best"),
            "--strategy best: expected one of",
        ),
        (("label", beans, "--session", work, "--seed", 4), "--seed 4"),
        (("label", other, "--session", work), "begun with other data .*ids of the rows differ"),
        (("label", beans, "--session", work, "--show", "taste"), "no column 'taste'"),
        (("label", beans, "--session", beans), "cannot be used: file is not a database"),
        (("label", beans, "--session", tmp_path / "no" / "w.db", *OPTIONS), "there is no folder"),
        (
            ("label", beans, "--session", work, "--constraints-out", beans),
            "read from or written to",
        ),
        (("label", beans, "-k", 99, "--session", tmp_path / "b.db", *OPTIONS), "-k 99 is larger"),
        (("sessions", tmp_path / "none.db"), "no such session"),
        (("sessions", work, work, "--constraints-out", tmp_path / "l.csv"), "name one file"),
    ]
    for arguments, message in cases:
        result = run(*arguments, input="q\n")
        assert result.exit_code == 2, (arguments, result.output)
        assert re.search(message, flat(result.stderr)), result.stderr


def test_help_names_the_keys():
    text = flat(run("label", "--help").output)
    assert "s same, d different, u unsure, z undo, q quit" in text


def test_a_session_and_an_oracle_by_hand(tmp_path, beans):
    """What the README shows."""
    table = read_table(beans)
    X = table.matrix(["acidity", "body"])
    with Session(X, n_clusters=3, path=tmp_path / "work.db") as session:
        session.run(LabelOracle([row % 3 for row in range(N_BEANS)]), 20)
        assert session.fit_.model.labels_.shape == (N_BEANS,)


def test_a_key_that_means_nothing_is_named(beans, tmp_path):
    result = run(
        "label", beans, "-k", 3, "--session", tmp_path / "work.db", "--id-column", "bean",
        "--show", "bean,notes", input="x\n\nd\nq\n",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert result.output.count("no such key") == 1
    assert "x: no such key" in result.output


def test_from_a_pipe_a_word_is_taken_as_a_whole(beans, tmp_path):
    result = run(
        "label", beans, "--session", tmp_path / "x.db", *OPTIONS,
        input="skip\nsame\ndifferent\nquit\nd\n",
    )  # fmt: skip
    assert "skip: no such key" in result.output
    assert "2 in all, 1 same, 1 different" in flat(result.output)
    assert "the same command continues here" in flat(result.output)


def test_sets_from_a_pipe_take_the_words_of_keys_too(beans, tmp_path):
    options = ("--session", tmp_path / "x.db", *OPTIONS, "--set-size", 4)
    result = run("label", beans, *options, input="ab cd\nundo\nquit\nab cd\n")
    assert "is unknown" not in result.output
    assert "taken back" in result.output
    assert "0 in all" in flat(result.output)


def test_standardized_rows_are_described_in_their_units(beans):
    task = read_session_input(beans, Label(data=beans, id_column="bean", features="acidity,body"))
    assert abs(task.X.mean()) < 1e-9
    assert task.units[:, 0].max() == pytest.approx(10.17)


def test_a_studio_without_nicegui_leaves_no_session(beans, monkeypatch):
    monkeypatch.setitem(sys.modules, "nicegui", None)
    result = run("studio", beans, "--id-column", "bean", "--show", "bean,notes", "--no-open")
    assert result.exit_code == 2
    assert "pip install 'linkwise[studio]'" in result.stderr
    assert list(beans.parent.iterdir()) == [beans]


def test_data_that_changed_is_carried_over_by_id(tmp_path, beans):
    work = tmp_path / "work.db"
    options = ("label", beans, "--session", work, "--id-column", "bean", "--show", "bean,notes")
    assert run(*options, "-k", 3, input="s\nd\ns\n").exit_code == 0
    lines = beans.read_text().splitlines()
    beans.write_text("\n".join([lines[0], *lines[:0:-1], "bean99,new,1,1,dark"]) + "\n")
    refused = run(*options, input="s\n")
    assert refused.exit_code == 2
    assert "--data-changed carry carries the answers over by id" in flat(refused.output)
    carried = run(*options, "--data-changed", "carry", input="d\n")
    assert carried.exit_code == 0, carried.output
    assert "1 row added (bean99)" in flat(carried.output)
    shown = run("sessions", work)
    assert "4 (" in flat(shown.output)
    assert "1 row added" in flat(shown.output)
    assert run(*options, "--data-changed", "perhaps").exit_code == 2
    other = (
        "label",
        beans,
        "--session",
        tmp_path / "b.db",
        "--id-column",
        "bean",
        "-k",
        3,
        "--show",
        "bean,notes",
    )
    begun = run(*other, "--constraints", work, input="")
    assert begun.exit_code == 0, begun.output
    assert "4 in all" in flat(begun.output)
