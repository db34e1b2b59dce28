"""A real Chromium, through Playwright; without one these tests are skipped, saying why."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from linkwise import Session, Studio

from .visitor import Visitor


@pytest.fixture(scope="session")
def chromium():
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("no chromium on this machine (Debian: apt-get install chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(chromium):
    page = chromium.new_page()
    yield page
    page.close()


@pytest.fixture
def visit(chromium, serve):  # pages are closed before the studios are
    visitors = []

    def visiting(url, *arguments, **settings):
        visitors.append(Visitor(chromium, url, *arguments, **settings))
        return visitors[-1]

    yield visiting
    for visitor in visitors:
        visitor.close()


@pytest.fixture
def serve():
    """Studios of sessions in this process."""
    opened = []

    def serving(session, *arguments, **settings):
        studio = Studio(session, *arguments, port=0, **settings)
        opened.append((studio, session))
        return studio

    yield serving
    for studio, session in opened:
        studio.close()
        if session is not None:
            session.close()


@pytest.fixture
def small(serve):
    """Twelve rows in two groups that one sees at once."""
    X = np.r_[np.arange(6), 20 + np.arange(6)].reshape(-1, 1).astype(float)
    session = Session(X, n_clusters=2, sample_ids=[f"r{row}" for row in range(12)])
    return serve(session, {"size": X[:, 0]}, features=["size"])
