"""Take the screenshots of the README: ``.venv/bin/python docs/take_screenshots.py``.

The studio on the beans of ``linkwise demo``, thirty answers given by keys, in the system's
Chromium. The origins answer.
"""

from __future__ import annotations

import shutil
import tempfile
from importlib import resources
from pathlib import Path

import numpy as np

from linkwise import Session, Studio, read_table, table_features
from linkwise.studio import Records

FOLDER = Path(__file__).parent / "images"
FEATURES = ["acidity", "roast"]
N_ANSWERS = 30
SHOTS = {
    "studio-light": ("light", 1280, 720, "Clusters"),
    "studio-dark": ("dark", 1280, 720, "Clusters"),
}


def main() -> None:
    """Answer, and take one picture a theme."""
    from playwright.sync_api import sync_playwright

    beans = read_table(Path(str(resources.files("linkwise.datasets") / "sample" / "beans.csv")))
    made = table_features(beans, FEATURES)  # as `linkwise studio` without options
    X = made.X
    columns = {name: beans.columns[name].tolist() for name in FEATURES}
    records = Records(columns, made.names, units=made.units)
    origins = np.array(beans.text("origin"))
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        with (
            Session(
                X,
                n_clusters=3,
                path=Path(folder) / "work.db",
                sample_ids=beans.text("bean"),
                random_state=0,
                who="Ada",
            ) as session,
            Studio(session, records, port=0) as studio,
        ):
            _answer(browser, studio.url, origins)
            session.refit()
            for number, name in _names(session.labels_, origins).items():
                session.rename(number, name)
            for name, shot in SHOTS.items():
                _take(browser, studio.url, FOLDER / f"{name}.png", *shot)
        browser.close()


def _answer(browser, url: str, truth: np.ndarray) -> None:
    page = browser.new_page()
    page.goto(url)
    at = page.locator(".lw-asked[data-i]")
    for _ in range(N_ANSWERS):
        at.wait_for()
        i, j = (int(at.get_attribute(name)) for name in ("data-i", "data-j"))
        page.keyboard.press("s" if truth[i] == truth[j] else "d")
        page.wait_for_function(
            "([i, j]) => { const { dataset } = document.querySelector('.lw-asked');"
            " return dataset.i !== String(i) || dataset.j !== String(j); }",
            arg=[i, j],
        )
    page.close()


def _names(labels: np.ndarray, origins: np.ndarray) -> dict[int, str]:
    """The origin that most beans of each cluster have."""
    names, codes = np.unique(origins, return_inverse=True)
    return {
        number: str(names[np.bincount(codes[labels == number]).argmax()])
        for number in np.unique(labels).tolist()
    }


def _take(browser, url: str, path: Path, scheme: str, width: int, height: int, tab: str) -> None:
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    page.goto(url)
    page.locator(".lw-cluster").nth(2).wait_for()
    page.locator(".lw-legend").get_by_text("Huila").wait_for()
    page.locator(".lw-loading").wait_for(state="hidden")
    page.get_by_role("tab", name=tab).click()
    page.mouse.move(5, 5)
    page.wait_for_timeout(1200)  # until what moves has come to rest
    page.screenshot(path=path)
    page.close()


if __name__ == "__main__":
    main()
