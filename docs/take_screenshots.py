"""Take the screenshots of the README: ``.venv/bin/python docs/take_screenshots.py``.

The studio on the iris data, thirty-four answers given by keys, in the system's Chromium.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_iris

from linkwise import Session, Studio

FOLDER = Path(__file__).parent / "images"
SHOTS = {
    "studio-light": ("light", 1280, 720, "Clusters"),
    "studio-dark": ("dark", 1280, 720, "Progress"),
}


def main() -> None:
    """Answer, and take one picture a theme and size."""
    from playwright.sync_api import sync_playwright

    FOLDER.mkdir(exist_ok=True)
    iris = load_iris()
    names = [name.removesuffix(" (cm)") for name in iris.feature_names]
    ids = [f"iris {row + 1}" for row in range(len(iris.data))]
    columns = dict(zip(names, np.round(iris.data, 2).T.tolist(), strict=True))
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        path = Path(folder) / "work.db"
        with (
            Session(
                iris.data, n_clusters=3, path=path, sample_ids=ids, random_state=2, who="Ada"
            ) as session,
            Studio(session, columns, features=names, port=0) as studio,
        ):
            _answer(browser, studio.url, iris.target)
            session.refit()
            for number, name in _names(session.labels_, iris).items():
                studio.controller.rename(number, name)
            for name, shot in SHOTS.items():
                _take(browser, studio.url, FOLDER / f"{name}.png", *shot)
        browser.close()


def _answer(browser, url: str, truth: np.ndarray, n: int = 34) -> None:
    page = browser.new_page()
    page.goto(url)
    at = page.locator(".lw-asked[data-i]")
    for _ in range(n):
        at.wait_for()
        i, j = (int(at.get_attribute(name)) for name in ("data-i", "data-j"))
        page.keyboard.press("s" if truth[i] == truth[j] else "d")
        page.wait_for_function(
            "([i, j]) => { const { dataset } = document.querySelector('.lw-asked');"
            " return dataset.i !== String(i) || dataset.j !== String(j); }",
            arg=[i, j],
        )
    page.close()


def _names(labels: np.ndarray, iris) -> dict[int, str]:
    """The species that most flowers of each cluster are of."""
    found = {c: np.bincount(iris.target[labels == c]).argmax() for c in np.unique(labels).tolist()}
    return {number: str(iris.target_names[species]) for number, species in found.items()}


def _take(browser, url: str, path: Path, scheme: str, width: int, height: int, tab: str) -> None:
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    page.goto(url)
    page.locator(".lw-cluster").nth(2).wait_for()
    page.locator(".lw-legend").get_by_text("setosa").wait_for()
    page.get_by_role("tab", name=tab).click()
    page.mouse.move(5, 5)
    page.wait_for_timeout(1200)  # until what moves has come to rest
    page.screenshot(path=path)
    page.close()


if __name__ == "__main__":
    main()
