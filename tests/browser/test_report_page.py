"""The HTML report in a browser: it renders by itself, and ids stay text."""

from __future__ import annotations

import numpy as np
import pytest

from linkwise import Constraints, PCKMeans

pytestmark = pytest.mark.browser

EVIL = "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"
QUOTE = "\"'></style></title><b onmouseover=alert(1)>"


def test_report_page(page, tmp_path):
    X = np.repeat([[0.0], [5.0], [9.0]], [6, 3, 3], axis=0)
    known = Constraints([(0, 6, 0.5), (1, 9, 0.25), (0, 1)], cannot_link=[(0, 11)])
    model = PCKMeans(3, penalty="weight", init=[[0.0], [5.0], [9.0]]).fit(X, constraints=known)
    ids = [f"id {row}" for row in range(12)]
    ids[0], ids[9] = EVIL, QUOTE
    path = tmp_path / "report.html"
    model.report_.named(ids).to_html(path)

    asked, complaints = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.goto(path.as_uri())
    assert page.title() == "PCKMeans: 3 clusters"
    assert asked == [path.as_uri()]
    assert complaints == []
    assert page.locator("img, script, b").count() == 0

    rows = page.locator("#violated tbody tr")
    assert rows.count() == 2
    assert rows.nth(0).inner_text().split("\t") == [
        f"{EVIL} and id 6 must be together",
        "0.5",
        "0.5",
        "must_link[0]",
    ]
    assert QUOTE in rows.nth(1).inner_text()

    bars = [bar.bounding_box() for bar in page.locator("#clusters .bar").all()]
    assert bars[0]["width"] == pytest.approx(2 * bars[1]["width"], rel=0.02)
    assert bars[0]["height"] > 5
    page.set_viewport_size({"width": 400, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
