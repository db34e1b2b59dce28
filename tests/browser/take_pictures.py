"""Pictures of every state of the studio: ``python -m tests.browser.take_pictures FOLDER``.

They are made to be looked at, one by one, after a change of the page. ``--only`` names scenes or
states, ``--sizes`` and ``--themes`` choose some of them.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from linkwise import Session, Studio
from linkwise.studio import load_records
from linkwise.studio._columns import guess_roles
from linkwise.studio._plan import read_source
from linkwise.studio._start import Start

from . import specimens
from .visitor import ASKED

SIZES = {
    "1440": (1440, 900),
    "1280": (1280, 720),
    "1024": (1024, 768),
    "820": (820, 1180),
    "390": (390, 844),
    "320": (320, 640),
    "zoom": (640, 360),  # 1280 x 720 at twice the size
}
THEMES = ("light", "dark")
State = Callable[[Any], None]


# -------------------------------------------------------------------- scenes


@contextmanager
def _studio(
    folder: Path, name: str, write: Callable[[Path], np.ndarray], k: int | None, n_answers: int
) -> Iterator[Studio]:
    """A studio on made data, with answers of two people."""
    source = folder / name
    truth = write(source)
    roles = {guess.name: guess.role for guess in guess_roles(read_source(source))}
    loaded = load_records(source, roles)
    order = np.argsort(loaded.ids) if source.is_dir() and loaded.ids else np.arange(len(truth))
    assert np.array_equal(order, np.arange(len(truth)))
    with (
        Session(loaded.X, n_clusters=k, path=folder / f"{name}.db", sample_ids=loaded.ids,
                random_state=1, who="Ada") as session,
        Studio(session, loaded.records, port=0) as studio,
    ):  # fmt: skip
        for turn in range(n_answers):
            asked = session.ask()
            if asked is None:
                break
            same = "same" if truth[asked.i] == truth[asked.j] else "different"
            session.tell(same, (asked.i, asked.j), who="Ada" if turn % 3 else "Bo")
        session.ask(0, who="Ada")
        if n_answers:
            session.refit()
        yield studio


@contextmanager
def _start_page(folder: Path) -> Iterator[Studio]:
    with Studio(port=0, start=Start(folder / "home")) as studio:
        yield studio


def _scenes(folder: Path) -> dict[str, tuple[Any, dict[str, State]]]:
    """Each scene: a studio, and its states in the order in which they are taken."""

    def customers(n: int) -> Any:
        return _studio(folder, f"customers{n}.csv", specimens.customers, 4, n)

    def long_texts(path: Path) -> np.ndarray:
        return specimens.texts(path, 80, repeats=12)

    return {
        "start": (lambda: _start_page(folder), {
            "empty": lambda page: page.get_by_text("Drop a table here").wait_for(),
            "columns": lambda page: _upload(page, folder / "shop.csv"),
            "columns-many": lambda page: _upload(page, folder / "genes.csv"),
            "wrong-pdf": lambda page: _upload_wrong(page, folder / "letter.pdf"),
            "wrong-empty": lambda page: _upload_wrong(page, folder / "nothing.csv"),
            "wrong-broken": lambda page: _upload_wrong(page, folder / "broken.csv"),
            "recent": _begin_and_leave,
            "changed": lambda page: _reopen_changed(page, folder / "home"),
        }),
        "first": (lambda: customers(0), {"question": _asked}),
        "customers": (lambda: customers(40), {
            "question": _asked,
            "hidden": _hidden,
            "progress": _tab("Progress"),
            "history": _tab("History"),
            "home": _tab("Export"),
            "python": _python,
            "clusters-open": _cluster_details,
            "records": _records,
            "selected": _select,
            "moved": _moved,
            "gallery": _gallery,
            "search-none": _search_none,
            "set": _set_of(12),
            "split": _split,
            "merge": _merge,
            "again": _again,
            "keys": _keys,
            "people": _people,
            "contradiction": _contradiction,
        }),
        "texts": (lambda: _studio(folder, "tickets.csv", specimens.texts, None, 25), {
            "question": _asked, "records": _records, "gallery": _gallery, "set": _set_of(12),
            "split": _split,
        }),
        "long": (lambda: _studio(folder, "letters.csv", long_texts, None, 12), {
            "question": _asked, "records": _records, "set": _set_of(6),
            "clusters-open": _cluster_details,
        }),
        "images": (lambda: _studio(folder, "digits", specimens.digits, 10, 40), {
            "question": _asked, "gallery": _images, "table": _image_table, "set": _set_of(12),
            "split": _split, "merge": _merge, "clusters-open": _cluster_details,
        }),
        "many": (lambda: _studio(folder, "parts.csv", specimens.many, 150, 12), {
            "question": _asked, "records": _records, "history": _tab("History"),
            "home": _tab("Export"),
        }),
        "wide": (lambda: _studio(folder, "genes.csv", specimens.wide, 3, 10), {
            "question": _asked, "records": _records, "search": _field_search, "set": _set_of(12),
        }),
        "errors": (lambda: customers(6), {
            "disk-full": _disk_full, "lost": _lost,
        }),
    }  # fmt: skip


# -------------------------------------------------------------------- states


def _asked(page: Any) -> None:
    page.locator(ASKED).wait_for()
    page.locator(".lw-cluster").first.wait_for()


def _hidden(page: Any) -> None:
    page.get_by_label("Hide clusters").check()
    page.locator(".lw-around").wait_for(state="hidden")


def _left(page: Any, name: str) -> None:
    page.get_by_role("tab", name=name).click()


def _tab(name: str) -> State:
    def show(page: Any) -> None:
        page.get_by_role("tab", name=name).click()
        page.get_by_role("tab", name=name).scroll_into_view_if_needed()

    return show


def _python(page: Any) -> None:
    _tab("Export")(page)
    page.get_by_text("Show the Python lines").click()
    page.locator(".lw-code").wait_for()
    page.locator(".lw-code").scroll_into_view_if_needed()


def _cluster_details(page: Any) -> None:
    page.get_by_role("tab", name="Clusters").click()
    for details in page.locator(".lw-cluster").first.locator("summary").all():
        details.click()
    page.locator(".lw-cluster").first.scroll_into_view_if_needed()


def _records(page: Any) -> None:
    page.get_by_role("tab", name="Clusters").click()
    page.locator(".lw-cluster").first.get_by_role("button", name="records of").click()
    page.locator("[data-row]").first.wait_for()
    if page.get_by_role("button", name="Table", exact=True).count():
        page.get_by_role("button", name="Table", exact=True).click()
    page.locator(".lw-left").scroll_into_view_if_needed()


def _select(page: Any) -> None:
    _left(page, "Records")
    for k in range(3):
        page.locator("[data-row] input").nth(k).click()


def _moved(page: Any) -> None:
    _left(page, "Records")
    page.get_by_role("button", name="These are right").click()
    page.get_by_text("stay where they are").wait_for()


def _gallery(page: Any) -> None:
    _left(page, "Records")
    if page.get_by_role("button", name="Gallery", exact=True).count():
        page.get_by_role("button", name="Gallery", exact=True).click()
    page.locator(".lw-gallery li").first.wait_for()


def _images(page: Any) -> None:
    _records(page)
    _gallery(page)


def _image_table(page: Any) -> None:
    _left(page, "Records")
    page.get_by_role("button", name="Table", exact=True).click()
    page.locator("tr[data-row]").first.wait_for()


def _search_none(page: Any) -> None:
    _left(page, "Records")
    page.get_by_label("search in all records").fill("nobody is called so")
    page.get_by_text("No record").wait_for()


def _set_of(n: int) -> State:
    def show(page: Any) -> None:
        _left(page, "Several at once")
        page.locator(".lw-set li").first.wait_for()
        page.get_by_label("records at once").select_option(str(n))
        page.locator(".lw-set li").nth(n - 1).wait_for()
        for k in (0, 1):
            page.locator(".lw-set button").nth(k).click()
        page.keyboard.press("g")
        page.locator(".lw-set button").nth(2).click()

    return show


def _close(page: Any) -> None:
    if page.locator(".q-dialog").count():
        page.keyboard.press("Escape")
        page.locator(".q-dialog").wait_for(state="detached")


def _split(page: Any) -> None:
    page.get_by_role("tab", name="Clusters").click()
    page.locator(".lw-cluster").first.get_by_role("button", name="split").click()
    page.locator(".lw-preview li").first.wait_for()


def _merge(page: Any) -> None:
    page.get_by_role("tab", name="Clusters").click()
    first = page.locator(".lw-cluster").first
    first.locator("select").select_option(index=1)
    first.get_by_role("button", name="Merge").click()
    page.locator(".lw-preview li").first.wait_for()


def _again(page: Any) -> None:
    _tab("History")(page)
    page.get_by_role("button", name="look again at").first.click()
    page.locator(".lw-own").wait_for()
    page.locator(".lw-left").scroll_into_view_if_needed()


def _keys(page: Any) -> None:
    _left(page, "Question")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    page.locator(".lw-keys").wait_for()


def _people(page: Any) -> None:
    _left(page, "Question")
    page.get_by_role("tab", name="People").click()
    box = page.get_by_label("Guidelines")
    box.fill("Two customers belong together if one offer would suit both. Ask Ines when unsure.")
    box.blur()
    page.locator(".lw-guidelines").wait_for()


def _contradiction(page: Any) -> None:
    """Say the opposite of an answer of Ada's as somebody else."""
    page.locator(".lw-you input").fill("Carla")
    page.locator(".lw-you input").press("Enter")
    _tab("History")(page)
    page.get_by_role("button", name="look again at").nth(1).click()
    page.get_by_text("back (Esc)").wait_for()
    told = page.locator(".lw-own").inner_text()
    page.locator(".lw-different" if "same" in told else ".lw-same").click()
    page.get_by_text("cannot all be right").wait_for()


def _field_search(page: Any) -> None:
    _left(page, "Question")
    page.get_by_label("search in the fields").fill("012")
    page.wait_for_timeout(600)


def _disk_full(page: Any) -> None:
    """The answer cannot be written."""
    _asked(page)

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    PRESENT.controller.session.tell = full  # type: ignore[method-assign]
    page.keyboard.press("s")
    page.get_by_text("not saved").wait_for()
    del PRESENT.controller.session.tell


def _lost(page: Any) -> None:
    _asked(page)
    page.context.set_offline(True)
    page.evaluate("window.socket.disconnect()")
    page.wait_for_timeout(1500)


def _upload(page: Any, path: Path) -> None:
    page.goto(page.url)
    page.locator("input[type=file]").first.set_input_files(path)
    page.get_by_text("How many clusters?").wait_for()


def _upload_wrong(page: Any, path: Path) -> None:
    page.goto(page.url)
    page.locator("input[type=file]").first.set_input_files(path)
    page.locator("[role=alert]").wait_for()


def _begin_and_leave(page: Any) -> None:
    _upload(page, SHOP)
    page.get_by_role("button", name="Go", exact=True).click()
    page.locator(ASKED).wait_for()
    page.keyboard.press("d")
    page.get_by_role("button", name="Other data").click()
    page.get_by_text("Go on with").wait_for()


def _reopen_changed(page: Any, home: Path) -> None:
    """Twenty rows are gone and one is new when a session is opened again."""
    for file in home.glob("*/shop.csv"):
        lines = file.read_text("utf-8").splitlines()
        new = lines[1].replace(lines[1].split(",")[0], "Newcomer 1")
        file.write_text("\n".join([lines[0], new, *lines[21:]]) + "\n", "utf-8")
    page.goto(page.url)
    page.locator(".lw-recent button").first.click()
    page.wait_for_timeout(3000)


# -------------------------------------------------------------------- taking them

PRESENT: Studio  # the studio whose pictures are taken
SHOP = Path()


def main() -> None:
    """Take the pictures."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--sizes", nargs="*", default=list(SIZES), choices=list(SIZES))
    parser.add_argument("--themes", nargs="*", default=list(THEMES), choices=THEMES)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for theme in given.themes:
            for size in given.sizes:
                with tempfile.TemporaryDirectory() as made:
                    _take_all(browser, Path(made), given, theme, size)
        browser.close()


def _take_all(browser: Any, made: Path, given: argparse.Namespace, theme: str, size: str) -> None:
    global PRESENT, SHOP
    SHOP = made / "shop.csv"
    specimens.customers(SHOP)
    (made / "nothing.csv").write_text("")
    (made / "letter.pdf").write_bytes(b"%PDF-1.7 no table")
    (made / "broken.csv").write_text('name,size\nann,1\nbo,2,3,4\ncarl,"5\n')
    specimens.wide(made / "genes.csv")
    for scene, (open_studio, states) in _scenes(made).items():
        wanted = {
            name: state
            for name, state in states.items()
            if not given.only or scene in given.only or f"{scene}-{name}" in given.only
        }
        if not wanted:
            continue
        width, height = SIZES[size]
        with open_studio() as PRESENT:
            context = browser.new_context(
                viewport={"width": width, "height": height}, color_scheme=theme
            )
            page = context.new_page()
            page.set_default_timeout(20_000)
            page.goto(PRESENT.url)
            for name, state in wanted.items():
                _take(page, state, given.folder / f"{size}-{theme}-{scene}-{name}.png")
            context.close()


def _take(page: Any, state: State, path: Path) -> None:
    try:
        _close(page)
        state(page)
    except Exception as error:  # the picture shows what went wrong
        print(f"{path.name}: {str(error).splitlines()[0]}", flush=True)
    page.wait_for_timeout(700)  # until what moves has come to rest
    is_dialog = page.locator(".q-dialog").count() > 0
    page.screenshot(path=path, full_page=page.viewport_size["width"] < 1000 and not is_dialog)


if __name__ == "__main__":
    main()
