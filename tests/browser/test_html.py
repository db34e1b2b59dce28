"""What notebooks show: tables a browser renders, in which ids stay text."""

from __future__ import annotations

import pytest

from linkwise import Constraints

pytestmark = pytest.mark.browser

EVIL = "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"


def test_constraints_and_diagnosis_render(page):
    known = Constraints(must_link=[(EVIL, "b"), ("b", "c", 2.5)], cannot_link=[(EVIL, "c")])
    page.set_content(f"<title>safe</title>{known._repr_html_()}{known.diagnose(2)._repr_html_()}")
    assert page.title() == "safe"
    assert page.locator("img").count() == 0
    rows = page.locator("tbody tr")
    assert rows.count() == 3
    assert rows.nth(1).inner_text().split("\t") == ["must", "b, c", "2.5", "must_link[1]"]
    assert EVIL in rows.nth(0).inner_text()
    text = page.inner_text("body")
    assert "contradictory: 1 contradiction" in text
    assert "must be together, but" in text
