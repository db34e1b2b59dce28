"""The studio in a browser: from a key press to the next question, and the map's frames.

The session is in a file, every answer is flushed to the disk, and refits run in the background. A
person is played by a pause that is quicker than any real one.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_blobs

from linkwise import Session, Studio

from ._harness import Row

K, QUESTIONS, PAUSE = 10, 50, 300  # PAUSE in milliseconds
_PRESS = """([key, asked]) => new Promise((done) => {
  const start = performance.now();
  const look = () => {
    const at = document.querySelector(".lw-asked");
    if (at.dataset.i + " " + at.dataset.j !== asked) done(performance.now() - start);
    else requestAnimationFrame(look);
  };
  document.dispatchEvent(new KeyboardEvent("keydown", { key }));
  look();
})"""
_FRAMES = """() => new Promise((done) => {
  const canvas = document.querySelector(".lw-map canvas"), drawn = [];
  const step = (k) => {
    if (k) drawn.push(Number(canvas.dataset.ms));
    if (k === 40) return done(drawn);
    canvas.dispatchEvent(new WheelEvent("wheel", { deltaY: k % 2 ? 40 : -40, cancelable: true }));
    requestAnimationFrame(() => requestAnimationFrame(() => step(k + 1)));
  };
  step(0);
})"""


def run() -> Iterator[Row]:
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield _answers(browser, Path(folder) / "work.db", 10_000, 150)
        yield _answers(browser, Path(folder) / "large.db", 100_000, 100)
        yield _frames(browser)
        browser.close()


def _data(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    return make_blobs(n_rows, 16, centers=K, cluster_std=7.0, random_state=0)


def _page(browser: Any, studio: Studio) -> Any:
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    page.goto(studio.url)
    page.locator(".lw-asked[data-i]").wait_for()
    page.locator(".lw-cluster").first.wait_for(timeout=120_000)
    return page


def _answers(browser: Any, path: Path, n_rows: int, bar: int) -> Row:
    X, y = _data(n_rows)
    with Session(X, n_clusters=K, path=path) as session, Studio(session, port=0) as studio:
        page = _page(browser, studio)
        spent = []
        for _ in range(QUESTIONS):
            page.wait_for_timeout(PAUSE)
            at = page.locator(".lw-asked")
            i, j = (int(at.get_attribute(name)) for name in ("data-i", "data-j"))
            key = "s" if y[i] == y[j] else "d"
            spent.append(page.evaluate(_PRESS, [key, f"{i} {j}"]))
        page.close()
        kept = session.snapshot().progress.n_answers
    return Row(
        f"key press to the next question on the page, {n_rows:,} x 16, {QUESTIONS} answers",
        f"{np.median(spent):.0f} ms in the median, {np.quantile(spent, 0.95):.0f} ms at 95 %",
        f"{bar} ms in the median",
        bool(np.median(spent) < bar),
        f"{kept} of {QUESTIONS} answers kept; refits in the background",
    )


def _frames(browser: Any) -> Row:
    X, _ = _data(20_000)
    with Session(X, n_clusters=K) as session, Studio(session, port=0) as studio:
        page = _page(browser, studio)
        page.wait_for_timeout(1000)
        drawn = page.evaluate(_FRAMES)
        page.close()
    return Row(
        "one frame of the map while zooming, 20,000 points, 1280 x 720",
        f"{np.median(drawn):.1f} ms in the median, {max(drawn):.1f} ms at most",
        "33 ms in the median",
        bool(np.median(drawn) < 33),
        "software rendering (headless)",
    )
