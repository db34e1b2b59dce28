"""The studio for everybody: contrast, sizes, themes, the keyboard alone."""

from __future__ import annotations

import pytest

from linkwise import Session
from linkwise.studio._start import Start
from tests.studio.cases import blobs, write_iris

from .visitor import ASKED

pytestmark = pytest.mark.browser

CONTRAST = """() => {
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
  const ground = (at) => {
    for (; at; at = at.parentElement) {
      const color = parse(getComputedStyle(at).backgroundColor);
      if (color.length < 4 || color[3] > 0.9) return color;
    }
    return [255, 255, 255];
  };
  const poor = [];
  for (const at of document.querySelectorAll(".lw-page *")) {
    const own = [...at.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || !at.checkVisibility() || at.closest("svg, :disabled, .q-tooltip")) continue;
    const [a, b] = [light(parse(getComputedStyle(at).color)), light(ground(at))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) poor.push([at.className, at.textContent.slice(0, 30), ratio.toFixed(2)]);
  }
  return poor;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(1280, 720), (768, 1024)])
def test_contrast_and_sizes(visit, small, scheme, width, height):
    small.controller.session.tell("same", (0, 1))
    small.controller.session.tell("same", (0, 11))
    me = visit(small.url, width, height, color_scheme=scheme)
    me.page.locator(".lw-cluster").first.wait_for()
    assert me.page.evaluate("document.body.classList.contains('body--dark')") == (scheme == "dark")
    for tab in ("Progress", "History", "People", "Export", "Clusters"):
        me.page.get_by_role("tab", name=tab).click()
        assert me.page.evaluate(CONTRAST) == []
    assert me.page.evaluate("document.documentElement.scrollWidth") <= width
    assert me.page.locator(".lw-same").bounding_box()["y"] < height - 40
    if width == 1280:
        assert me.page.evaluate("document.documentElement.scrollHeight") <= height


STATES = (
    "Progress",
    "History",
    "People",
    "Export",
    "Clusters",
    "Records",
    "Several at once",
    "Question",
)


def complaints_of_axe(page, rules=None, only=None):
    """What axe-core finds wrong, by all rules or by some only."""
    from axe_playwright_python.sync_playwright import Axe

    options = {"resultTypes": ["violations"], "rules": rules or {}}
    if only is not None:
        options["runOnly"] = only
    found = Axe().run(page, options=options).response["violations"]
    return [
        (one["id"], node["html"][:120], node["failureSummary"][:200])
        for one in found
        for node in one["nodes"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(visit, small, scheme):
    pytest.importorskip("axe_playwright_python")
    small.controller.session.tell("same", (0, 1))
    small.controller.session.tell("unsure", (0, 11))
    me = visit(small.url, color_scheme=scheme, reduced_motion="reduce")
    me.page.locator(".lw-cluster").first.wait_for()
    for state in STATES:
        me.page.get_by_role("tab", name=state).click()
        me.page.mouse.move(640, 2)
        me.page.wait_for_timeout(400)  # until colors have stopped changing
        only = ["color-contrast"] if scheme == "dark" else None  # all else is the same
        assert complaints_of_axe(me.page, only=only) == [], state
    assert me.page.evaluate("document.documentElement.lang") == "en-US"
    assert me.page.locator("main").count() == 1


def test_axe_on_the_start_page_and_dialogs(visit, serve, small, tmp_path):
    pytest.importorskip("axe_playwright_python")
    studio = serve(None, start=Start(tmp_path / "home"))
    me = visit(studio.url, 390, 800)
    me.page.get_by_text("Drop a table here").wait_for()
    assert complaints_of_axe(me.page) == []
    me.page.locator("input[type=file]").first.set_input_files(write_iris(tmp_path / "iris.csv"))
    me.page.get_by_label("what flower is").wait_for()
    assert complaints_of_axe(me.page) == []
    assert me.page.evaluate("document.documentElement.scrollWidth") <= 390
    other = visit(small.url, reduced_motion="reduce")
    other.page.locator(".lw-cluster").first.wait_for()
    other.page.get_by_label("split cluster 1").click()
    other.page.locator(".lw-preview li").first.wait_for()
    other.page.wait_for_timeout(500)
    # axe takes the shade behind a dialog for something in front of its buttons.
    shade = {"color-contrast": {"enabled": False}}
    assert complaints_of_axe(other.page, shade) == []


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (820, 1180), (390, 844), (320, 640)])
def test_no_sideways_scrolling(visit, serve, width, height):
    X, _ = blobs(60)
    names = ["a_very_long_name_of_a_column_in_thousand_dollars", "b", "c", "Dd"]
    studio = serve(Session(X, n_clusters=3), features=names)
    me = visit(studio.url, width, height)
    me.page.locator(".lw-cluster").first.wait_for()
    for state in STATES:
        me.page.get_by_role("tab", name=state).click()
        assert me.page.evaluate("document.documentElement.scrollWidth") <= width, state
    b = me.page.locator(".lw-fields tbody td").nth(1).bounding_box()
    assert b["x"] + b["width"] <= width  # record B is not cut off


def test_buttons_in_view_at_twice_the_size(visit, small):
    me = visit(small.url, 640, 360)
    me.page.locator(ASKED).wait_for()
    me.page.locator(".lw-asked").scroll_into_view_if_needed()
    box = me.page.locator(".lw-same").bounding_box()
    assert 0 <= box["y"] <= 360 - box["height"]


def test_keyboard_alone(visit, small):
    me = visit(small.url)
    me.page.locator(ASKED).wait_for()
    seen = []
    for _ in range(45):
        me.page.keyboard.press("Tab")
        seen.append(
            me.page.evaluate(
                "() => { const at = document.activeElement;"
                " const [own, box] = [at, at.closest('.q-field') || at].map((e) =>"
                " getComputedStyle(e));"
                " return [at.ariaLabel || at.innerText, own.outlineWidth, box.boxShadow]; }"
            )
        )
        if seen[-1][0] == "Split":
            break
    told = " ".join(text for text, *_ in seen)
    for word in ("Same", "Different", "Unsure", "Undo", "Zoom in", "record A", "Clusters"):
        assert word in told
    for text, outline, shadow in seen:
        assert outline == "3px" or "0px 0px 0px 3px" in shadow, text
    me.page.get_by_role("tab", name="Clusters").focus()
    me.page.keyboard.press("ArrowRight")
    me.page.keyboard.press("Enter")
    me.page.get_by_text("Update the clusters now").wait_for()


def test_the_theme_is_remembered(visit, small):
    me = visit(small.url, color_scheme="light")
    me.page.locator(ASKED).wait_for()
    is_dark = "document.body.classList.contains('body--dark')"
    for label, dark in (("system", False), ("light", False), ("dark", True)):
        button = me.page.get_by_text(f"Theme: {label}")
        button.wait_for()
        me.page.wait_for_function(f"() => {is_dark} === {str(dark).lower()}")
        if not dark:
            button.click()
    me.page.wait_for_function("() => document.cookie.includes('linkwise_theme=dark')")
    me.page.reload()
    me.page.get_by_text("Theme: dark").wait_for()
    assert me.page.evaluate(is_dark)
    me.page.emulate_media(color_scheme="dark")
    me.page.get_by_text("Theme: dark").click()
    me.page.get_by_text("Theme: system").wait_for()
    assert me.page.evaluate(is_dark)
