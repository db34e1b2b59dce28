"""Help where it is needed: pages in the terminal, examples, and errors that name a page."""

from __future__ import annotations

import pickle
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from linkwise import ConstraintError, Constraints, COPKMeans, MPCKMeans, ReCon, _help
from linkwise._optional import optional
from linkwise.cli import app

SOURCE = Path(_help.__file__).parent
COMMANDS = {
    command.name or command.callback.__name__: command for command in app.registered_commands
}


def run(*arguments):
    return CliRunner().invoke(app, list(arguments))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_shows_examples(name):
    shown = run(name, "--help")
    assert shown.exit_code == 0
    assert "Examples" in shown.output
    assert f"linkwise {name}" in shown.output


@pytest.mark.parametrize("name", COMMANDS)
def test_options_of_the_examples_exist(name):
    text = " ".join((COMMANDS[name].callback.__doc__ or "").split())
    known = run(name, "--help").output
    for example in text.split(f"linkwise {name}")[1:]:
        for word in shlex.split(example.split(" linkwise ")[0]):
            if re.fullmatch(r"--[a-z-]+", word):
                assert word in known, word


@pytest.mark.parametrize("topic", _help.topics())
def test_a_topic_can_be_read(topic):
    text = _help.text(topic)
    assert text.startswith("#")
    for left in ("{image}", "{code-block}", "{toctree}", ":::", "](#"):
        assert left not in text
    assert run("help", topic).output == text


def test_help_lists_topics_and_corrects():
    assert "consistency" in run("help").output
    wrong = run("help", "consistencey")
    assert wrong.exit_code == 2
    assert "did you mean 'consistency'?" in wrong.stderr


def test_errors_name_topics_that_there_are():
    used = set()
    for path in SOURCE.rglob("*.py"):
        used |= set(re.findall(r'(?:topic=|see\()"([\w-]+)"', path.read_text(encoding="utf-8")))
    assert {"consistency", "clusters", "ids", "extras", "labels", "methods"} <= used
    assert used <= set(_help.topics())


def raised(function) -> str:
    with pytest.raises((ValueError, TypeError, ImportError)) as caught:
        function()
    return str(caught.value)


ROWS = [[0.0], [1.0], [2.0], [3.0]]


@pytest.mark.parametrize(
    ("function", "topic"),
    [
        (
            lambda: COPKMeans(2).fit(ROWS, constraints=Constraints([(0, 1)], [(0, 1)])),
            "consistency",
        ),
        (
            lambda: COPKMeans(2).fit(
                ROWS, constraints=Constraints(cannot_link=[(0, 1), (1, 2), (0, 2)])
            ),
            "clusters",
        ),
        (lambda: MPCKMeans(2).fit(ROWS, constraints=Constraints([("a", "b")])), "ids"),
        (lambda: MPCKMeans(2).fit(ROWS, constraints=Constraints([(0, 9)])), "ids"),
        (lambda: MPCKMeans(2).fit(ROWS, constraints=[(0, 1)]), "knowledge"),
        (lambda: MPCKMeans(2).fit(ROWS, [0, 1]), "labels"),
        (lambda: MPCKMeans(2).fit([[0.0], [np.nan], [1.0]]), "missing"),
        (lambda: Constraints(must_link=[(0, 0)]), "knowledge"),
        (
            lambda: ReCon().fit(
                ROWS, constraints=Constraints(relative=[(0, 1, 2), (1, 2, 0)])
            ),
            "consistency",
        ),
        (lambda: optional("nowhere", extra="plot", need="Drawing"), "extras"),
    ],
)  # fmt: skip
def test_errors_say_where_to_read_on(function, topic):
    assert raised(function).endswith(f"\nMore: linkwise help {topic}")


def test_sparse_data_where_it_cannot_be():
    from scipy import sparse

    rows = sparse.csr_matrix(np.eye(4))
    assert raised(lambda: ReCon().fit(rows)).endswith("linkwise help methods")
    assert raised(lambda: MPCKMeans(2, metric="full").fit(rows)).endswith("linkwise help methods")


def test_the_error_keeps_its_topic():
    error = ConstraintError("no", ["this", "that"], topic="ids")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.problems, again.topic) == (str(error), ("this", "that"), "ids")
    assert ConstraintError("no", topic="ids").problems == ("no",)
