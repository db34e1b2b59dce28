"""Three sittings from an empty page to the file: ``python -m tests.browser.sittings FOLDER``.

Customers, 500 short texts and 300 images of digits, by mouse and keys as a person would. Each step
is timed, and leaves a picture to look at.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from linkwise import Studio
from linkwise.studio._start import Start

from . import specimens
from .visitor import ASKED, wait_for_other

N_ANSWERS = 15
SITTINGS: dict[str, tuple[str, Callable[[Path], np.ndarray]]] = {
    "customers": ("customers.csv", lambda path: specimens.customers(path, 600)),
    "texts": ("tickets.csv", specimens.texts),
    "digits": ("digits", specimens.digits),
}


class Sitting:
    """A person at the page, with a clock.

    Parameters
    ----------
    page : playwright page
    name : str
    folder : Path
        Where pictures go.
    """

    def __init__(self, page: Any, name: str, folder: Path):
        self.page, self._name, self._folder = page, name, folder
        self._began = self._last = time.monotonic()

    def step(self, told: str) -> None:
        """Tell how long a step took, and take a picture."""
        now = time.monotonic()
        print(f"{self._name:10s} {told:32s} {now - self._last:6.1f} s", flush=True)
        self.page.screenshot(path=self._folder / f"{self._name}-{told.replace(' ', '-')}.png")
        self._last = time.monotonic()

    def done(self) -> None:
        """Tell how long all of it took."""
        print(f"{self._name:10s} {'in all':32s} {time.monotonic() - self._began:6.1f} s\n")


def sit(page: Any, url: str, name: str, data: Path, truth: np.ndarray, folder: Path) -> None:
    """From the empty page to the Excel file."""
    me = Sitting(page, name, folder)
    page.goto(url)
    page.get_by_text("Drop a table here").wait_for()
    me.step("the empty page")
    page.locator("input[type=file]").nth(1 if data.is_dir() else 0).set_input_files(data)
    page.get_by_text("How many clusters?").wait_for()
    me.step("columns")
    page.get_by_role("button", name="Go", exact=True).click()
    page.locator(ASKED).wait_for()
    me.step("first question")
    page.locator(".lw-cluster").first.wait_for()
    me.step("first clusters")
    answer(page, truth, N_ANSWERS)
    me.step(f"{N_ANSWERS} answers")
    page.locator(".lw-cluster").first.get_by_role("button", name="records of").click()
    page.locator("[data-row]").first.wait_for()
    me.step("records")
    page.locator("[data-row] input").first.click()
    page.get_by_role("button", name="These are right").click()
    page.get_by_text("stay where they are").or_(page.get_by_text("stays where it is")).wait_for()
    me.step("one confirmed")
    box = page.get_by_label("name of cluster 1", exact=True)
    box.fill("the first kind")
    box.press("Enter")
    page.get_by_role("tab", name="Take home").click()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Excel").click()
    waiting.value.save_as(folder / f"{name}.xlsx")
    me.step("the file")
    me.done()


def answer(page: Any, truth: np.ndarray, n: int) -> None:
    """Answer questions by keys."""
    at = page.locator(ASKED)
    for _ in range(n):
        if not at.count():
            return
        i, j = int(at.get_attribute("data-i")), int(at.get_attribute("data-j"))
        page.keyboard.press("s" if truth[i] == truth[j] else "d")
        wait_for_other(page, i, j)


def main() -> None:
    """Sit down three times."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as made:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for name, (file, write) in SITTINGS.items():
            truth = write(Path(made) / file)
            with Studio(port=0, start=Start(Path(made) / "home" / name)) as studio:
                page = browser.new_page(viewport={"width": 1280, "height": 720})
                page.set_default_timeout(120_000)
                sit(page, studio.url, name, Path(made) / file, truth, folder)
                page.close()
        browser.close()


if __name__ == "__main__":
    main()
