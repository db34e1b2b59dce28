"""The studio for everybody: contrast, sizes, themes, the keyboard alone."""

from __future__ import annotations

import pytest

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
    for tab in ("Progress", "History", "People", "Take home", "Clusters"):
        me.page.get_by_role("tab", name=tab).click()
        assert me.page.evaluate(CONTRAST) == []
    assert me.page.evaluate("document.documentElement.scrollWidth") <= width
    assert me.page.locator(".lw-same").bounding_box()["y"] < height - 40
    if width == 1280:
        assert me.page.evaluate("document.documentElement.scrollHeight") <= height


def test_keyboard_alone(visit, small):
    me = visit(small.url)
    me.page.locator(ASKED).wait_for()
    seen = []
    for _ in range(30):
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
