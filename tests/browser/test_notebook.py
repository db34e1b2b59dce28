"""The labelling widget in a real notebook: JupyterLab and Chromium, where both are installed."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request

import pytest

from linkwise.active import Session
from linkwise.datasets import load

pytestmark = [pytest.mark.browser, pytest.mark.slow]
CELL = """\
from linkwise import Session
from linkwise.datasets import load
from linkwise.integrations import LabelWidget
rows = load("iris").data
session = Session(rows, n_clusters=3, random_state=0, path="work.db")
LabelWidget(session, [{"note": f"<b>{row}</b>"} for row in range(len(rows))])"""


@pytest.fixture
def notebook(tmp_path):
    """The address of a notebook with one cell."""
    pytest.importorskip("jupyterlab")
    pytest.importorskip("anywidget")
    code = {"cell_type": "code", "source": CELL, "metadata": {}, "outputs": [], "id": "one",
            "execution_count": None}  # fmt: skip
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    page = {"cells": [code], "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "page.ipynb").write_text(json.dumps(page))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}",
               "--IdentityProvider.token=", f"--ServerApp.root_dir={tmp_path}"]  # fmt: skip
    server = subprocess.Popen(command, env={**os.environ, "HOME": str(tmp_path)})
    try:
        address = f"http://127.0.0.1:{port}"
        _wait_for(f"{address}/api")
        yield f"{address}/lab/tree/page.ipynb"
    finally:
        server.terminate()
        server.wait()


def _wait_for(address, seconds=120):
    end = time.monotonic() + seconds
    while True:
        try:
            urllib.request.urlopen(address, timeout=5)
            return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.5)


def test_three_answers_in_a_notebook(page, notebook, tmp_path):
    page.set_default_timeout(120_000)
    page.goto(notebook)
    page.get_by_text("| Idle").wait_for()  # the kernel; before, nothing runs
    page.click(".jp-CodeCell .cm-content")
    page.keyboard.press("Control+Enter")
    shown = page.locator(".jp-OutputArea-output")
    shown.get_by_role("button", name="same").click()
    shown.get_by_text("1 answers").wait_for()
    shown.get_by_role("button", name="different").click()
    shown.get_by_text("2 answers").wait_for()
    page.keyboard.press("d")
    shown.get_by_text("3 answers").wait_for()
    assert "<b>" in shown.first.inner_text()  # text, not markup
    with Session.open(tmp_path / "work.db", load("iris").data) as session:
        assert [answer.said for answer in session.answers] == ["same", "different", "different"]
